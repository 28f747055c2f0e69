#!/bin/sh
# Programs written for MUSA, compiled as GUIDE.md says against cumu's headers and run on its CPU libraries.
# shellcheck disable=SC2086 # lists of words
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
host=$(cd "$B/lib/cumu/host" && pwd)
headers="-I$root/shim/abi/native -I$root/shim -I$(cd "$B/gen" && pwd)"
libraries="-L$host -l:libmusart.so.5 -l:libmusa.so.1 -Wl,-rpath,$host"

check "C compiles" 0 -- "${CC:-cc}" -std=c11 -Wall -Wextra -Werror $headers -o "$tmp/sum" "$here/sum.c" $libraries -l:libmccl.so.2
check "and runs" 0 '^devices 1 error 0 last 999 char 0$' -- "$tmp/sum"
if ! command -v "${CXX:-g++}" >/dev/null 2>&1; then
    echo "skip C++: no compiler"
    exit $bad
fi
fft='' first=1 seventh=0
if [ -e "$host/libmufft.so.1" ]; then fft='-DWITH_FFT -l:libmufft.so.1' seventh=1; fi
for std in c++11 c++17; do
    check "$std compiles" 0 -- "${CXX:-g++}" -std=$std -Wall -Wextra -Werror $headers -o "$tmp/typed" "$here/typed.cc" $libraries $fft
    check "and runs" 0 "^error 0 first $first seventh $seventh block 8\$" -- "$tmp/typed"
done
for h in mublas mublaslt mufft murand musparse musolver mccl musa; do
    echo "#include <$h.h>" >>"$tmp/all.cc"
done
check "all headers together" 0 -- "${CXX:-g++}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only $headers "$tmp/all.cc"

# Installed, one folder has them all.
check "installed" 0 -- env B="$B" PREFIX="$tmp/prefix" "$root/scripts/install"
check "C against what is installed" 0 -- "${CC:-cc}" -I"$tmp/prefix/include/cumu" -o "$tmp/sum" "$here/sum.c" \
    -L"$tmp/prefix/lib/cumu/host" -l:libmusart.so.5 -l:libmusa.so.1 -l:libmccl.so.2 -Wl,-rpath,"$tmp/prefix/lib/cumu/host"
check "runs" 0 '^devices 1 error 0 last 999 char 0$' -- "$tmp/sum"
exit $bad
