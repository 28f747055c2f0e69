#!/bin/sh
# Multicast objects: memory of several devices, and of several processes, under one address, in the interpreter and
# compiled; wrong uses; the device attribute.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
unset CUMU_JIT CUMU_CHECK || true
export CUMU_BACKEND=host CUMU_HOST_DEVICES=4 CUMU_COMPUTE_CAPABILITY=9.0

here=$(cd "$(dirname "$0")" && pwd)
cumu=$(realpath "$cumu")
"${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/multicast" "$here/multicast.c" -ldl
cp "$here/kernels.ptx" "$tmp"
cd "$tmp"
LIMIT=120
for jit in 0 wait; do
    for what in one peers wrong plain other unbound read; do
        check "$what, CUMU_JIT=$jit" 0 "^right $what\$" -- env CUMU_JIT=$jit "$cumu" run ./multicast kernels.ptx $what
    done
done
check "racecheck: two blocks that write a word" 0 '^right races$' 'Race in global memory .*at clash' \
    -- "$cumu" memcheck --tool racecheck ./multicast kernels.ptx races
absent "and none where a multimem operation tells another block" 'hand_over'
for what in one peers; do
    check "racecheck: $what" 0 '^========= RACECHECK SUMMARY: 0 hazards' -- \
        "$cumu" memcheck --tool racecheck ./multicast kernels.ptx $what
done
check "memcheck: a misaligned address" 0 'Invalid __global__ atomic of size 4 bytes' 'Address 0x[0-9a-f]*2 is misaligned' \
    -- "$cumu" memcheck ./multicast kernels.ptx odd
check "a fault names kernel and line" 0 'kernel count: illegal address' 'multimem\.red' -- \
    "$cumu" run ./multicast kernels.ptx other
check "a capability that has no multicast" 1 'not ok device 0 has multicast' -- \
    env CUMU_COMPUTE_CAPABILITY=8.6 "$cumu" run ./multicast kernels.ptx one
exit "$bad"
