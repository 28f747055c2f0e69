#!/bin/sh
# Programs that use cuBLAS through `cumu run`, against plain loops; and the tables of its enums, which no change survives.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
types=$here/../../mapping/types

for t in vectors products mixed rest; do
    [ -f "$here/$t.c" ] || continue
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$tmp/$t" "$here/$t.c" \
        "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -ldl -lm
    passes "$cumu" run --backend host -- "$tmp/$t"
done

# An SDK whose muBLAS leaves errors behind.
mkdir "$tmp/sdk"
ln -s "$(realpath "$B")"/lib/cumu/host/libmusa*.so* "$tmp/sdk/"
"${CC:-cc}" -shared -fPIC -Wl,-soname,libmublas.so.1 -o "$tmp/sdk/libmublas.so.1" "$here/loud.c" \
    "$tmp/sdk/libmusart.so.5" "$tmp/sdk/libmusa.so.1"
"${CC:-cc}" -I"$B/gen" -o "$tmp/quiet" "$here/quiet.c" "$B/lib/cumu/facade/libcublas.so.12" \
    "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined
LD_LIBRARY_PATH=$tmp/sdk "$cumu" run --backend musa -- "$tmp/quiet" || bad=1

sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/cublas.enum" "$here" "$tmp/enums" || bad=1
exit $bad
