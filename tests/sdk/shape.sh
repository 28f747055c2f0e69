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
SDK_ATTRIBUTES=1001 check "device attributes that this driver has" 0 '^1 0 0 1 status 0$' -- $run "$B/tests/sdk/attributes"
check "device attributes that it lacks" 0 '^0 1 1 0 status 0$' -- $run "$B/tests/sdk/attributes"

# Doctor sees this SDK as it is, and its report becomes the fixture again.
export CUMU_TEST_DOCTOR_SECONDS=1000 # a machine under load is no fault
case $1 in
3.1.0 | 4.0) form=four ;;
*) form=three ;;
esac
check "doctor" 0 "the update of graphs takes $form arguments, answers 0" '^  - 43 of 43 kernels' -- "$cumu" doctor -o "$tmp/report"
SDK_UPDATE=801 check "doctor, where graphs cannot be updated" 0 '^graph update	writes nothing, answers 801$' -- "$cumu" doctor -o -
check "the report as a fixture" 0 'libmusa\.so[^ ]*\.names: [0-9]+ names' -- "$cumu" doctor --fixture "$tmp/report" -o "$tmp/names"
for f in "$here/$1"/*.names; do
    grep '^[A-Za-z_]' "$f" | tr ' ' '\n' | LC_ALL=C sort -u >"$tmp/want"
    # forward.c brings functions of its own along.
    check "which is this one, ${f##*/}" 1 -- sh -c 'comm -23 "$1" "$2" | grep .' - "$tmp/want" "$tmp/names/${f##*/}"
done

exit $bad
