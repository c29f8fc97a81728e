#!/bin/sh
# kernel-af_xdp.toml flies on what kernel-ping.toml flies on.
exec "$(dirname "$0")/kernel-ping.sh" "$@"
