#!/usr/bin/env bash
# compile.sh SOURCE OBJECT DEPFILE FLAG...: with clang, whatever compiles the engine.
set -euo pipefail
source=$1 object=$2 depfile=$3
shift 3
case $source in
    *.c) compiler=(clang -std=gnu11) ;;
    *) compiler=(clang++ -std=c++20) ;;
esac
read -ra dpdk <<<"$(pkg-config --cflags libdpdk)"
"${compiler[@]}" "$@" "${dpdk[@]}" -w -MD -MF "$depfile" -c "$source" -o "$object"
