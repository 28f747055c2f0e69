#!/bin/sh
# Plans over several GPUs, over a stand-in for an SDK that has them; and the tables of cuFFT's enums, which no change
# survives. What cuFFT's functions do is in tests/snippets and tests/mufft.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

mkdir "$tmp/sdk"
ln -s "$(realpath "$B")"/lib/cumu/host/libmusa*.so* "$tmp/sdk/"
"${CC:-cc}" -shared -fPIC -Wl,-soname,libmufft.so.1 -o "$tmp/sdk/libmufft.so.1" "$here/sdk.c"
"${CC:-cc}" -I"$B/gen" -o "$tmp/descriptors" "$here/descriptors.c" "$B/lib/cumu/facade/libcufft.so.12" \
    "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined
LD_LIBRARY_PATH=$tmp/sdk "$cumu" run --backend musa -- "$tmp/descriptors" || bad=1

sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$here/../../mapping/types/cufft.enum" "$here" "$tmp/enums" || bad=1
exit $bad
