#!/bin/sh
# The shim over an SDK's names: the snippets and programs as over the CPU libraries themselves, and what such an SDK
# answers otherwise. usage: shape.sh SHAPE, a folder beside this.
# shellcheck disable=SC2086 # $run is words
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../e2e/lib.sh"

sdk=$B/tests/sdk/$1
[ -e "$sdk/lib" ] || { echo "skip: not built without assembly"; exit 77; }
sdk=$(cd "$sdk" && pwd)
unset MUSA_PATH MUSA_INSTALL_PATH CUMU_BACKEND || true
export MUSA_HOME="$sdk" LD_LIBRARY_PATH="$sdk/lib" BACKEND=musa
run="$cumu run --backend musa --"
case $1 in
5.2) ;;
*) export LACKS="capture graphs" ;; # allocation within a capture; conditional nodes
esac

sh "$here/../snippets/run.sh" || bad=1
sh "$here/../e2e/run.sh" || bad=1
check "perthread lacks nothing" 0 '^PASS perthread$' -- $run "$fix/perthread"
absent "perthread lacks nothing" 'the MUSA library lacks'
CUMU_HOST_DEVICES=4 check "NCCL among four devices" 0 '^PASS tensor_parallel$' -- $run "$fix/tensor_parallel"
SDK_UPDATE=801 check "a graph that cannot be updated is CUDA's failed update" 1 'cudaGraphExecUpdate.*cudaErrorGraphExecUpdateFailure' \
    -- $run "$fix/perthread"

exit $bad
