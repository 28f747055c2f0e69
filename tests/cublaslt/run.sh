#!/bin/sh
# Programs that use cuBLASLt through `cumu run`, against plain loops; and its enums.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
types=$here/../../mapping/types

for t in matmul scaled rest; do
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$tmp/$t" "$here/$t.c" \
        "$B/lib/cumu/facade/libcublasLt.so.12" "$B/lib/cumu/facade/libcublas.so.12" \
        "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -lm
    passes "$cumu" run --backend host -- "$tmp/$t"
done
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/cublaslt.enum" "$here" "$tmp/enums" || bad=1
exit $bad
