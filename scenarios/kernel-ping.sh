#!/bin/sh
# Makes or removes what kernel-ping.toml runs on: the interface wt0 for the engine, and behind it the namespace wt-ping
# with 10.77.0.1. Needs root.
set -eu

namespace=wt-ping
engine_side=wt0
kernel_side=wt1
address=10.77.0.1/24

up() {
    for tool in ip ethtool; do
        command -v "$tool" >/dev/null || { echo "$0: $tool is missing: apt-get install iproute2 ethtool" >&2; exit 2; }
    done
    ip netns add "$namespace"
    ip link add "$engine_side" type veth peer name "$kernel_side" netns "$namespace"
    # The kernel would leave UDP checksums to a NIC that is not there, and the engine would drop them as wrong.
    ip netns exec "$namespace" ethtool -K "$kernel_side" tx off >/dev/null
    # The engine replies for itself; without this the kernel would send IPv6 on its interface.
    echo 1 >"/proc/sys/net/ipv6/conf/$engine_side/disable_ipv6" 2>/dev/null || true
    ip -n "$namespace" address add "$address" dev "$kernel_side"
    ip -n "$namespace" link set "$kernel_side" up
    ip link set "$engine_side" up
}

down() {
    ip link delete "$engine_side" 2>/dev/null || true
    ip netns delete "$namespace" 2>/dev/null || true
}

case "${1:-}" in
up | down)
    if [ "$(id -u)" -ne 0 ]; then
        echo "$0: needs root: sudo $0 $1" >&2
        exit 2
    fi
    if [ "$1" = up ]; then
        down
        trap down EXIT # half of it is worse than none
    fi
    "$1"
    trap - EXIT
    ;;
*)
    echo "usage: $0 up|down" >&2
    exit 2
    ;;
esac
