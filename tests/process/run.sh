#!/bin/sh
# Threads, fork, exec, exit, unloading, setuid: what a process may do around its CUDA calls.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
: "${CC:=cc}"
run="$cumu run --backend host --"
lib=$(cd "$B/lib/cumu" && pwd)

compile() { # OUTPUT FLAGS...
    out=$1
    shift
    $CC -std=c11 -D_GNU_SOURCE -O1 -pthread -I"$B/gen" -o "$out" "$here/process.c" "$lib/facade/libcudart.so.13" \
        "$lib/facade/libcuda.so.1" -Wl,--allow-shlib-undefined "$@"
}
compile "$tmp/process"

mode() { # NAME MODE
    # shellcheck disable=SC2086
    check "$1" 0 '^done$' -- timeout -k 1 40 $run "$tmp/process" "$2"
    absent "$1: nothing wrong" 'wrong|^line|error|not a'
}
mode "64 threads" threads
mode "64 threads, all in the first call" first
mode "fork before and after first use, other threads busy" forks
mode "children by exec, vfork, posix_spawn, system" children
mode "calls from atexit and destructors" exits
mode "exit while kernels run" running
mode "exit from a thread, main waits for kernels" running_thread
mode "main leaves by pthread_exit" thread_exit

cuda=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
if [ -x "$cuda" ]; then
    "$cuda" -cudart shared -gencode arch=compute_75,code=compute_75 -shared -Xcompiler -fPIC \
        -o "$tmp/kernel.so" "$here/../reach/kernel.cu"
    export REACH_LIBRARY="$tmp/kernel.so"
    mode "a library with kernels, opened and closed" unload
else
    echo "skip unload: no nvcc"
fi

# A setuid program ignores the environment: cumu stays out, although the facades are found by RPATH.
if ldconfig -p 2>/dev/null | grep -q 'libcuda.so.1 '; then
    echo "skip setuid: there is an NVIDIA driver here, which would be used"
elif [ "$(id -u)" = 0 ] && compile "$tmp/setuid" -Wl,--disable-new-dtags "-Wl,-rpath,$lib/facade" &&
    chmod 755 "$tmp" && chown 65534 "$tmp/setuid" && chmod 4755 "$tmp/setuid" &&
    [ -z "$(findmnt -no OPTIONS -T "$tmp" 2>/dev/null | grep nosuid)" ] &&
    setpriv --reuid=65534 --clear-groups test -r "$lib/facade/libcudart.so.13"; then
    "$cumu" env >"$tmp/env"
    check "setuid: CUMU is not read" 1 'not opted in' -- \
        sh -c ". '$tmp/env'; '$tmp/setuid' first"
else
    echo "skip setuid: needs root, and a file system and folders that allow it"
fi
exit $bad
