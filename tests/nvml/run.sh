#!/bin/sh
# NVML in whole processes: beside CUDA, in children, in threads, with other devices and without opting in. What each
# function answers is in tests/snippets.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

"${CC:-cc}" -std=gnu11 -Wno-deprecated-non-prototype -w -o "$tmp/client" "$here/client.c" -ldl -pthread
"$cumu" run --backend host "$tmp/client" all || bad=1
check "every function answers to nothing" 0 '^ok every function is there$' '^ok and none succeeds' -- \
    sh -c '"$1" run --backend host "$2" hostile <"$3"' - "$cumu" "$tmp/client" \
    "$here/../../mapping/known/libnvidia-ml.so.1.symbols"
check "CUDA_VISIBLE_DEVICES hides nothing from NVML" 0 '^NVML 3 CUDA 1$' -- \
    env CUMU_HOST_DEVICES=3 CUDA_VISIBLE_DEVICES=1 "$cumu" run --backend host "$tmp/client" count
check "no devices are none" 0 '^NVML 0 CUDA 0$' -- \
    env CUMU_HOST_DEVICES=0 "$cumu" run --backend host "$tmp/client" count
check "a wrong description of the machine is said" 0 'CUMU_HOST_DEVICES=x' '^init 9$' -- \
    env CUMU_HOST_DEVICES=x "$cumu" run --backend host "$tmp/client" init
check "who has not opted in has no NVML" 0 'not opted in' '^init 9$' -- \
    env LD_LIBRARY_PATH="$B/lib/cumu/facade" "$tmp/client" init
exit "$bad"
