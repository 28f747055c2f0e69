#!/bin/sh
# Every function of every runtime's and the driver's facade with bad input.
set -eu
: "${B:=build}"
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$B" && pwd)
# What a call writes under a name that is none lands in an empty folder.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$B/tests/badinput"
"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -o "$B/tests/badinput/sweep" "$here/sweep.c" -ldl
bad=0
while read -r library map toolkit; do
    (cd "$tmp" && "$B/bin/cumu" run --backend host -- "$B/tests/badinput/sweep" "$library" \
        "$here/../../mapping/api/$map" "$toolkit") 2>/dev/null || bad=1
done <<END
libcudart.so.11.0 cudart.map 11
libcudart.so.12 cudart.map 12
libcudart.so.13 cudart.map 13
libcuda.so.1 cuda.map 13
END
exit $bad
