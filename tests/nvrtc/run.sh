#!/bin/sh
# A program's own run-time compiler behind its facade: found by path, by link, by soname, beside Python
# packages; or missing. The compiler is a fake built here; nothing of NVIDIA's is needed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/e2e/lib.sh
. "$here/../e2e/lib.sh"
: "${CC:=cc}"
run="$cumu run --backend host --"

lib=$tmp/cuda/lib64
site=$tmp/site-packages
mkdir -p "$lib" "$site/nvidia/cuda_nvrtc/lib" "$site/some"
$CC -shared -fPIC -Wl,-soname,libnvrtc.so.12 -o "$lib/libnvrtc.so.12.7.77" "$here/fake_nvrtc.c"
ln -s libnvrtc.so.12.7.77 "$lib/libnvrtc.so.12"
ln -s libnvrtc.so.12 "$lib/libnvrtc.so"
cp "$lib/libnvrtc.so.12.7.77" "$site/nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
$CC -o "$tmp/client" "$here/client.c" -ldl
$CC -shared -fPIC -o "$site/some/module.so" "$here/client.c" -ldl

rewritten='^ptx .*--gpu-architecture=compute_86;-O3;'
same='^cubin [1-9][0-9]* --gpu-architecture=compute_86;'
for name in libnvrtc.so.12 libnvrtc.so; do
    # shellcheck disable=SC2086
    check "by the path of $name" 0 '^version 12.77 status 0$' '^compile 0$' "$rewritten" "$same" '^destroy 0$' -- \
        $run "$tmp/client" "$lib/$name" --gpu-architecture=sm_86 -O3
done
# shellcheck disable=SC2086
check "by soname, on the library path" 0 '^version 12.77 status 0$' "$rewritten" "$same" -- \
    env LD_LIBRARY_PATH="$lib" $run "$tmp/client" libnvrtc.so.12 --gpu-architecture=sm_86 -O3
# shellcheck disable=SC2086
check "beside Python packages" 0 '^version 12.77 status 0$' "$rewritten" "$same" -- \
    env LD_PRELOAD="$site/some/module.so" $run "$tmp/client" libnvrtc.so.12 --gpu-architecture=sm_86 -O3
# shellcheck disable=SC2086
check "a virtual architecture has no cubin" 0 '^ptx .*-arch=compute_80;' '^cubin 0 $' -- \
    $run "$tmp/client" "$lib/libnvrtc.so.12" -arch=compute_80
# shellcheck disable=SC2086
check "the compiler's own errors" 0 '^compile 6$' -- $run "$tmp/client" "$lib/libnvrtc.so.12" --bad
# shellcheck disable=SC2086
check "no copy: the error says where one is from" 1 'create: NVRTC_ERROR_INTERNAL_ERROR' \
    'cumu: gap: .*libnvrtc.so.11.2.*pip install' -- $run "$tmp/client" libnvrtc.so.11.2 -arch=sm_86
check "not opted in: nothing is rewritten" 0 '^version 12.77 status 0$' '^cubin 4 SASS$' -- \
    env LD_PRELOAD="$B/lib/cumu/facade/libnvrtc.so.12" LD_LIBRARY_PATH="$lib" "$tmp/client" libnvrtc.so.12 -arch=sm_86

# Over MTRTC: the SDK is the generated logging library, which answers 0 to everything.
mkdir -p "$tmp/sdk/lib"
cp "$B"/lib/cumu/stub/* "$tmp/sdk/lib/"
check "MTRTC stands in where there is no copy" 0 '^compile 0$' -- \
    env MUSA_HOME="$tmp/sdk" CUMU_STUB_LOG="$tmp/below" LD_LIBRARY_PATH="$tmp/sdk/lib" \
    "$cumu" run --backend musa -- "$tmp/client" libnvrtc.so.11.2 -arch=sm_86 -O3
check "MTRTC gets the options but the architecture" 0 'mtrtcCreateProgram\(.*"x.cu"' 'mtrtcCompileProgram\(.*, 1, ' \
    'mtrtcGetFatBinSize' 'mtrtcDestroyProgram' -- cat "$tmp/below"
exit "$bad"
