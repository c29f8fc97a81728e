#!/usr/bin/env bash
# fuzz.sh NAME SECONDS SOURCE... : compiles one fuzzer with clang and runs it from its seeds for so long. GENERATED is where the built headers are.
# The seeds are copied first: what the fuzzer finds on its way stays out of the source tree. An input that fails
# is left in the working directory. Exit 77 (a skip) without clang or its fuzzer runtime.
set -euo pipefail
name=$1 seconds=$2
shift 2
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
engine=$(readlink -f -- "$here/../..")

command -v clang++ >/dev/null || { echo "skipped: fuzzing needs clang++ (Debian: clang)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
flags=(-g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
if ! clang++ "${flags[@]}" -x c++ - -o "$work/probe" <<<'extern "C" int LLVMFuzzerTestOneInput(const char *, unsigned long) { return 0; }'; then
    echo "skipped: clang++ finds no fuzzer runtime (Debian: libclang-rt-dev)"
    exit 77
fi

read -ra dpdk <<<"$(pkg-config --cflags libdpdk)"
objects=()
for source in "$@"; do
    case $source in
        *.c) compiler=(clang -std=gnu11) ;;
        *) compiler=(clang++ -std=c++20) ;;
    esac
    objects+=("$work/${#objects[@]}.o")
    "${compiler[@]}" "${flags[@]}" -w "${dpdk[@]}" -I"$engine" -I"$GENERATED" -I"$engine/../include" -c "$source" -o "${objects[-1]}"
done
read -ra libraries <<<"${LIBRARIES:-}"
clang++ "${flags[@]}" "${objects[@]}" "${libraries[@]}" -o "$work/fuzzer"
cp -r -- "$here/corpus/$name" "$work/corpus"
# -error_exitcode: libFuzzer's own for a failure is 77, which would pass for a skip
"$work/fuzzer" "$work/corpus" -max_total_time="$seconds" -runs=5000000 -timeout=10 -rss_limit_mb=1024 \
    -max_len="${MAX_LEN:-1600}" -error_exitcode=1 -artifact_prefix="$PWD/$name-"
