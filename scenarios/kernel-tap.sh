#!/bin/sh
# Waits until kernel-tap.toml has made its interface and gives the kernel's end 10.77.1.1. Needs root.
set -eu

interface=wt-tap
address=10.77.1.1/24
patience=10 # seconds

if [ "$(id -u)" -ne 0 ]; then
    echo "$0: needs root: sudo $0" >&2
    exit 2
fi
command -v ip >/dev/null || { echo "$0: ip is missing: apt-get install iproute2" >&2; exit 2; }

polls=$((patience * 20))
until ip link show dev "$interface" up 2>/dev/null | grep -q .; do
    polls=$((polls - 1))
    if [ "$polls" -eq 0 ]; then
        echo "$0: no interface $interface after $patience s: does kernel-tap.toml run?" >&2
        exit 1
    fi
    sleep 0.05
done
ip address replace "$address" dev "$interface"
