#!/bin/sh
# What the maths libraries make of addresses where nothing is, of memory that runs out, of threads that share a stream,
# and of handles that end.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
facade=$B/lib/cumu/facade
export CUMU_HOST_STRICT=1 # an address beside an allocation faults

for t in faults memory order ends; do
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$tmp/$t" "$here/$t"*.c "$facade/libcudart.so.12" \
        "$facade/libcublas.so.12" "$facade/libcublasLt.so.12" "$facade/libcudnn.so.9" "$facade/libcufft.so.11" \
        "$facade/libcurand.so.10" "$facade/libcusparse.so.12" "$facade/libcusolver.so.11" \
        "$facade/libcusolverMg.so.11" "$facade/libcufftw.so.11" "$facade/libnvjpeg.so.12" \
        "$facade/libcufile.so.0" "$facade/libcusparseLt.so.0" -Wl,--allow-shlib-undefined -ldl -lm
    if "$cumu" run --backend host -- "$tmp/$t" >"$tmp/out" 2>&1; then
        tail -n 1 "$tmp/out"
    else
        tail -n 40 "$tmp/out"
        bad=1
    fi
done
exit $bad
