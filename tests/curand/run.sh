#!/bin/sh
# The device header of cuRAND in kernels, against the library; and the tables of its enums, which no change survives.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
if [ ! -x "$nvcc" ] || [ ! -f "$(dirname "$nvcc")/../include/curand_kernel.h" ]; then
    echo "skip cuRAND's device header: no nvcc with curand_kernel.h"
elif ! "$nvcc" -cudart shared -arch=compute_80 -Wno-deprecated-gpu-targets -o "$tmp/device" "$here/device.cu" \
    -Xlinker "$B/lib/cumu/facade/libcurand.so.10" -Xlinker --allow-shlib-undefined >"$tmp/out" 2>&1; then
    cat "$tmp/out"
    bad=1
else
    "$cumu" run --backend host -- "$tmp/device" || bad=1
fi
types=$here/../../mapping/types
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/curand.enum" "$here" "$tmp/enums" || bad=1
exit $bad
