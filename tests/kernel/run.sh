#!/bin/sh
# Programs nvcc 13 does not build in one piece: relocatable device code, plug-ins, several devices, and
# host code as older compilers wrote it.
set -eu

: "${B:=build}"
NVCC=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if ! [ -x "$NVCC" ]; then
    echo "skip programs of several modules: no nvcc"
    exit 77
fi
here=$(dirname "$0")
# shellcheck source=tests/e2e/lib.sh
. "$here/../e2e/lib.sh"

"$NVCC" -cudart shared -rdc=true "$here/cuda/unit_a.cu" "$here/cuda/unit_b.cu" -o "$tmp/rdc"
"$NVCC" -cudart shared -rdc=true -G "$here/cuda/unit_a.cu" "$here/cuda/unit_b.cu" -o "$tmp/rdc_debug"
check 'units linked' 0 'first sees 5' 'second sees 37' 'host sees 37' 'bad 0, no error' -- \
    "$cumu" run --backend host -- "$tmp/rdc"
check 'units linked, debug' 0 'first sees 5' 'second sees 37' 'bad 0, no error' -- \
    "$cumu" run --backend host -- "$tmp/rdc_debug"

"$NVCC" -cudart shared -shared -Xcompiler -fPIC "$here/cuda/plugin.cu" -o "$tmp/libplugin.so"
cp "$tmp/libplugin.so" "$tmp/opened.so"
"$NVCC" -cudart shared "$here/cuda/lifetime.cu" -L"$tmp" -lplugin -Xlinker "-rpath=$tmp" -o "$tmp/lifetime"
for devices in 1 2; do
    check "lifetimes on $devices devices" 0 'linked 4 5' 'opened 4' "managed $((devices + 1))" \
        'own of device 0: 101' "own of device $((devices - 1)): 10$devices" 'after reset 101 2' \
        'no error' -- env CUMU_HOST_DEVICES=$devices "$cumu" run --backend host -- "$tmp/lifetime" "$tmp/opened.so"
done

# Host code of older compilers, linked to the facades of their runtimes.
cat >"$tmp/k.cu" <<'CU'
extern "C" __global__ void some_kernel(int *p) { p[threadIdx.x] = threadIdx.x * 3; }
CU
"$NVCC" -fatbin -compress-mode=speed "$tmp/k.cu" -o "$tmp/k.fatbin"
for soname in libcudart.so.11.0 libcudart.so.12; do
    ${CC:-cc} -O1 "-DFATBIN=\"$tmp/k.fatbin\"" "$here/cuda/legacy.c" -L"$B/lib/cumu/facade" "-l:$soname" \
        "-Wl,-rpath-link,$B/lib/cumu" -o "$tmp/legacy"
    check "host code for $soname" 0 'runtime 1[12]0*[89]0, bad 0' -- "$cumu" run --backend host -- "$tmp/legacy"
done
exit $bad
