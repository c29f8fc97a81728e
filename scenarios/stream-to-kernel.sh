#!/bin/sh
# stream-to-kernel.toml runs on what kernel-ping.toml runs on.
exec "$(dirname "$0")/kernel-ping.sh" "$@"
