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

# Transforms by MKL's names in place of FFTW's, and by nothing.
if [ -x "$B/tests/mufft/transforms" ]; then
    mkdir "$tmp/mkl"
    "${CC:-cc}" -shared -fPIC -Wl,-soname,libmkl_rt.so.3 -o "$tmp/mkl/libmkl_rt.so.3" "$here/mkl.c"
    export LD_LIBRARY_PATH="$tmp/mkl" CUMU_HOST_FFT=mkl
    check "MKL's interface: transforms" 0 '^ok' -- "$B/tests/mufft/transforms"
    check "MKL's interface: columns" 0 '^ok' -- "$B/tests/mufft/blocks"
    check "no library: plans fail" 1 'not ok 7, not 0' -- env CUMU_HOST_FFT=other "$B/tests/mufft/transforms"
    unset LD_LIBRARY_PATH CUMU_HOST_FFT
else
    echo "skip MKL's interface: the programs of tests/mufft are not built"
fi

sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$here/../../mapping/types/cufft.enum" "$here" "$tmp/enums" || bad=1
exit $bad
