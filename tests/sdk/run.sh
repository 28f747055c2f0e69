#!/bin/sh
# The shim over SDK 3.1.0's names: the snippets and programs as over the CPU libraries themselves, and what that SDK
# answers otherwise.
# shellcheck disable=SC2086 # $run is words
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

sdk=$B/tests/sdk/3.1.0
[ -e "$sdk/lib/libmusa.so.1.0" ] || { echo "skip: not built without assembly"; exit 77; }
sdk=$(cd "$sdk" && pwd)
unset MUSA_PATH MUSA_INSTALL_PATH CUMU_BACKEND || true
export MUSA_HOME="$sdk" LD_LIBRARY_PATH="$sdk/lib"
run="$cumu run --backend musa --"

for mode in main thread; do
    if $run "$B/tests/snippets/linked" "$mode" >"$tmp/out" 2>&1; then
        grep '^ok' "$tmp/out" || :
    else
        grep '^not ok' "$tmp/out" || echo "not ok snippets $mode: died"
        bad=1
    fi
done
for f in vectoradd matmul reduce pipeline symbols language errors driver graphs print perthread; do
    [ -x "$fix/$f" ] || continue
    check "$f" 0 "^PASS $f\$" -- $run "$fix/$f"
    absent "$f lacks nothing" 'the MUSA library lacks'
done
CUMU_HOST_DEVICES=4 check "NCCL among four devices" 0 '^PASS tensor_parallel$' -- $run "$fix/tensor_parallel"
SDK_UPDATE=801 check "a graph that cannot be updated is CUDA's failed update" 1 'cudaGraphExecUpdate.*cudaErrorGraphExecUpdateFailure' \
    -- $run "$fix/perthread"

exit $bad
