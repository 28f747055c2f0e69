#!/bin/sh
# Functions that no map knows: programs and libraries that are bound at once ask for them, and a stub answers. And names
# of graphics and video, without which loaders refuse a driver.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
: "${CC:=cc}"
run="$cumu run --backend host --"

compile() { # OUTPUT SOURCE FLAGS...
    out=$1 src=$2
    shift 2
    $CC -std=c11 -D_GNU_SOURCE -O1 -o "$out" "$here/$src" "$@"
}
newer() { # SONAME FLAGS...
    soname=$1
    shift
    compile "$tmp/$soname" newer.c -shared -fPIC "-Wl,-soname,$soname" "$@"
}
for soname in libcudart.so.12 libcublas.so.12; do
    printf '%s { global: *; };\n' "$soname" >"$tmp/$soname.map"
done
newer libcudart.so.12 -DRUNTIME "-Wl,--version-script=$tmp/libcudart.so.12.map"
newer libcublas.so.12 "-Wl,--version-script=$tmp/libcublas.so.12.map"
newer libnccl.so.2 -DNCCL
newer libcuda.so.1 -DDRIVER
newer libmine.so -DMINE
# The program's own library stands last: what it has is found there all the same.
libs="$tmp/libcudart.so.12 $tmp/libcublas.so.12 $tmp/libnccl.so.2 $tmp/libcuda.so.1 $tmp/libmine.so -Wl,-rpath,$tmp"
# shellcheck disable=SC2086
{
    compile "$tmp/now" asks.c $libs -Wl,-z,now
    compile "$tmp/lazy" asks.c $libs -Wl,-z,lazy
    compile "$tmp/fixed" asks.c $libs -no-pie -fno-pie -Wl,-z,now
    compile "$tmp/exporting" asks.c $libs -rdynamic -Wl,-z,now
    compile "$tmp/together" asks.c $libs -Wl,-z,noseparate-code -Wl,-z,now # names and code in one page, as linkers before 2.31
    compile "$tmp/oldhash" asks.c $libs -Wl,--hash-style=sysv -Wl,-z,now
    compile "$tmp/asks.so" asks.c $libs -DLIBRARY -shared -fPIC -Wl,-z,now
    compile "$tmp/data.so" asks.c $libs -DLIBRARY -DDATA -shared -fPIC -Wl,-z,now
}
compile "$tmp/opener" asks.c -DOPENER -ldl

answer='^cudart 801 nccl 5 cublas 15 driver 801 table 801 mine 77$'
line='cumu: gap: audit: .*: cudaFuture of libcudart.so.12 is newer than what cumu knows'
for program in now lazy fixed exporting oldhash together; do
    # shellcheck disable=SC2086
    check "$program: stubs answer" 0 '^count 0 1$' "$answer" "$line" -- $run "$tmp/$program"
    if [ "$(grep -c 'cudaFuture of' "$tmp/out")" = 1 ] && [ "$(grep -c 'newer than' "$tmp/out")" = 4 ]; then
        echo "ok $program: one line a function"
    else
        echo "not ok $program: one line a function"
        bad=1
    fi
done
# shellcheck disable=SC2086
{
    check "a library opened with RTLD_NOW" 0 "$answer" "audit: $tmp/asks.so: ncclFuture of libnccl.so.2" -- \
        $run "$tmp/opener" "$tmp/asks.so"
    check "data: it says so, and the loader ends it" 1 'cudaFutureData of libcudart.so.12 is data' 'not opened' -- \
        $run "$tmp/opener" "$tmp/data.so"
    check "quiet, when the user wants that" 0 "$answer" -- env CUMU_LOG=off $run "$tmp/now"
}
absent "quiet: no line" 'newer than'
compile "$tmp/loader" loader.c -ldl
# shellcheck disable=SC2086
{
    check "loaders of whole drivers find what they ask for" 0 '^driver 13050 gl 801 caps 801 create 1 newest 1$' -- $run "$tmp/loader"
    check "CUMU_DRIVER_VERSION claims another" 0 '^driver 12040 ' -- env CUMU_DRIVER_VERSION=12.4 $run "$tmp/loader"
}
check "not opted in: the program's own" 0 '^cudart 3 nccl 3 cublas 6 driver 4 table 3 mine 77$' -- "$tmp/now"
stub='newer than cumu: a stub answers "not supported"'
check "cumu check names and counts them" 1 '4 missing$' "missing cudaFuture: libcudart.so.12, $stub" \
    "missing ncclFuture: libnccl.so.2, $stub" 'verdict .*will run with gaps' -- "$cumu" check "$tmp/now"
absent "cumu check: what the program has is none of them" ncclMine
check "cumu check: data" 2 'will not run: imports the variable cudaFutureData' -- "$cumu" check "$tmp/data.so"
exit $bad
