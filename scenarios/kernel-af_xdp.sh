#!/bin/sh
# kernel-af_xdp.toml runs on what kernel-ping.toml runs on.
exec "$(dirname "$0")/kernel-ping.sh" "$@"
