#!/usr/bin/env bash
# fuzz.sh FUZZER CORPUS RUNS LONGEST: runs a fuzzer from its seeds: the same inputs every time, or $FUZZ_SECONDS of new ones.
# The seeds are copied first: what the fuzzer finds on its way stays out of the source tree. An input that fails is left in the
# working directory.
set -euo pipefail
fuzzer=$1 corpus=$2 runs=$3 longest=$4
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
cp -r -- "$corpus" "$work/corpus"
limit=(-runs="$runs" -seed=1)
[[ -z ${FUZZ_SECONDS-} ]] || limit=(-max_total_time="$FUZZ_SECONDS")
# -error_exitcode: libFuzzer's own for a failure is 77, which would pass for a skip
"$fuzzer" "$work/corpus" "${limit[@]}" -timeout=10 -rss_limit_mb=1024 -max_len="$longest" -error_exitcode=1 \
    -artifact_prefix="$PWD/$(basename -- "$corpus")-"
