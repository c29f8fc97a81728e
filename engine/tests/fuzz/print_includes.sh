#!/usr/bin/env bash
# print_includes.sh SOURCE...: prints one source that is all of them.
for source in "$@"; do
    printf '#include "%s"\n' "$(realpath -- "$source")"
done
