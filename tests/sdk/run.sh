#!/bin/sh
# The shim over SDK 3.1.0's names: the snippets and programs as over the CPU libraries themselves, and what that SDK
# answers otherwise. And over libraries that have no function at all.
# shellcheck disable=SC2086 # $run is words
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../e2e/lib.sh"
unset MUSA_PATH MUSA_INSTALL_PATH CUMU_BACKEND || true

# Each function that is missing is named once; wrappers that succeed all the same are those of alone.names.
nothing=$(cd "$B/tests/sdk/nothing" && pwd)
if MUSA_HOME="$nothing" LD_LIBRARY_PATH="$nothing/lib" timeout 60 "$cumu" run --backend musa -- \
    "$B/tests/sdk/missing" >"$tmp/calls" 2>"$tmp/said"; then
    grep '^ok' "$tmp/calls"
else
    grep '^not ok' "$tmp/calls" | head -n 20 || echo "not ok missing: died"
    bad=1
fi
sed -n 's/^missing //p' "$tmp/calls" | sort -u >"$tmp/missing"
sed -n 's/^cumu: gap: .*: \(.*\): the MUSA library lacks it$/\1/p; s/^cumu: gap: .* the MUSA library lacks //p' "$tmp/said" |
    sort -u >"$tmp/named"
sed 's/.* //' "$tmp/missing" | sort -u | comm -23 - "$tmp/named" >"$tmp/silent"
if [ -s "$tmp/silent" ] || [ ! -s "$tmp/missing" ]; then
    echo "not ok every function that is missing is named: $(head -n 8 "$tmp/silent" | tr '\n' ' ')"
    bad=1
else
    echo "ok $(wc -l <"$tmp/missing") missing functions are named"
fi
sed -n 's/^alone //p' "$tmp/calls" | LC_ALL=C sort -u >"$tmp/alone"
if grep -v '^#' "$here/alone.names" | diff - "$tmp/alone" >"$tmp/out"; then
    echo "ok what succeeds without MUSA needs none"
else
    echo "not ok what succeeds without MUSA is not what alone.names has: $(grep '^[<>]' "$tmp/out" | head -n 8 | tr '\n' ' ')"
    bad=1
fi

sdk=$B/tests/sdk/3.1.0
[ -e "$sdk/lib/libmusa.so.1.0" ] || { echo "skip: not built without assembly"; exit 77; }
sdk=$(cd "$sdk" && pwd)
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
