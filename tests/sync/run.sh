#!/bin/sh
# CUMU_CHECK=sync: what clashes with a collective is reported, with both calls named; what is ordered is not.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/race" "$(dirname "$0")/race.c" \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcudart.so.13" "$B/lib/cumu/facade/libcuda.so.1" \
    "$B/lib/cumu/facade/libcublas.so.13" -Wl,--allow-shlib-undefined
run="$cumu run --backend host --"
export CUMU_CHECK=sync

# clash NAME PATTERN ARGUMENTS...: one report, which matches.
clash() {
    name=$1 pattern=$2
    shift 2
    # shellcheck disable=SC2086
    check "$name" 0 '^done$' "$pattern" -- $run "$tmp/race" "$@"
    [ "$(grep -c 'cumu: error: check:' "$tmp/out")" = 1 ] || {
        echo "not ok $name: reports:"
        grep 'check:' "$tmp/out" || :
        bad=1
    }
}
# fine NAME ARGUMENTS...: no report.
fine() {
    name=$1
    shift
    # shellcheck disable=SC2086
    check "$name" 0 '^done$' -- $run "$tmp/race" "$@"
    if grep 'check:' "$tmp/out"; then
        echo "not ok $name: reported"
        bad=1
    fi
}

here='cumu: error: check: ncclAllReduce: reads 0x[0-9a-f]+ \(ncclAllReduce on stream 0x[0-9a-f]+ at race\+0x[0-9a-f]+\)'
clash "a kernel, then a collective" "$here.* may write it \(cuLaunchKernel of fill on stream 0x[0-9a-f]+ at race\+" \
    kernel nothing
for how in copy copy2d memset; do
    clash "a $how, then a collective" "$here.* writes it \(cudaMem(cpy|cpy2D|set)Async on stream" $how nothing
done
for how in copy3d:cudaMemcpy3DAsync memset2d:cudaMemset2DAsync memset3d:cudaMemset3DAsync \
    fromarray:cudaMemcpy2DFromArrayAsync cucopy2d:cuMemcpy2DAsync_v2 cucopy3d:cuMemcpy3DAsync_v2 \
    symbol:cudaMemcpyToSymbolAsync words:cuMemsetD32Async halves:cuMemsetD2D16Async peer:cuMemcpyPeerAsync; do
    clash "${how%:*}, then a collective" "$here.* writes it \(${how#*:} on stream" "${how%:*}" nothing
done
fine "a box that ends before it" beside3d nothing
clash "the device's own memset, then a collective" "$here.* writes it \(cudaMemset on stream \(nil\)" memset0 nothing
clash "two collectives" "$here.* writes it \(ncclAllGather on stream" gather nothing
clash "a collective, then a kernel" \
    'check: cuLaunchKernel: may write 0x.*fill.* reads it \(ncclAllReduce on stream' kernel nothing after
clash "a collective, then a copy" 'check: cudaMemcpyAsync: writes' copy nothing after
clash "cuBLAS, then a collective" "$here.* may write it \(cublasSscal_v2 on stream 0x" blas nothing
clash "a group whose second send is what its first receive gets" \
    'check: ncclSend: reads .* writes it \(ncclRecv on stream .*: messages of one group' dependent same
fine "a group of messages" messages same
clash "the wrong stream is waited for" "$here" kernel other
clash "an event that was never recorded" "$here" kernel unrecorded
clash "two blocking streams" "$here" memset blocking

for how in event host query stream device same; do
    fine "ordered by: $how" kernel $how
    fine "ordered by: $how, a memset" memset $how
    fine "ordered by: $how, the collective first" copy $how after
done
fine "the legacy default stream" kernel legacy
fine "the legacy default stream, a memset" memset0 legacy
fine "the legacy default stream, the collective first" memset legacy after
fine "a copy that the host waits for" copy0 nothing
fine "cuBLAS, ordered by an event" blas event
fine "both read" read nothing
fine "the bytes beside it" beside nothing
fine "a capture is let alone" captured nothing
CUMU_CHECK=0 fine "nothing is asked for" kernel nothing

CUMU_TRACE=$tmp/trace CUMU_TRACE_FILTER='nccl:*' clash "beside the tracer" "$here" kernel nothing
check "which shows what its filter says" 0 'ncclAllReduce' -- cat "$tmp/trace"
absent "and nothing else" cuLaunchKernel
exit $bad
