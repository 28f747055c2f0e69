#!/bin/sh
# A program that uses cuSPARSELt through `cumu run`, against plain loops.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

"${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$tmp/structured" "$here/structured.c" \
    "$B/lib/cumu/facade/libcusparseLt.so.0" "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -lm
passes "$cumu" run --backend host -- "$tmp/structured"
exit $bad
