#!/bin/sh
# Fat binaries as nvcc makes them: every compression mode, several architectures, machine code only.
set -eu

: "${B:=build}"
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if ! [ -x "$NVCC" ]; then
    echo "skip nvcc's fat binaries: no nvcc"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/k.cu" <<'CU'
extern "C" __global__ void some_kernel(int *p) { p[threadIdx.x] = threadIdx.x * 3; }
CU
for mode in none speed balance size; do
    "$NVCC" -fatbin -compress-mode=$mode "$dir/k.cu" -o "$dir/$mode.fatbin"
done
"$NVCC" -fatbin -arch=sm_90a "$dir/k.cu" -o "$dir/sm_90a.fatbin"
"$NVCC" -fatbin -G "$dir/k.cu" -o "$dir/debug.fatbin"
"$NVCC" -fatbin -gencode arch=compute_90,code=sm_90 "$dir/k.cu" -o "$dir/sass.fatbin"
"$B/tests/fatbin/fatbin_test" -k some_kernel "$dir/none.fatbin" "$dir/speed.fatbin" \
    "$dir/balance.fatbin" "$dir/size.fatbin" "$dir/sm_90a.fatbin" "$dir/debug.fatbin" \
    -s "$dir/sass.fatbin" | sed "s|$dir/||"
