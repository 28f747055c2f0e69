#!/bin/sh
# Blocks that take over others which have not begun (clusterlaunchcontrol): whatever is drawn, each index is worked on
# once; in the interpreter and compiled, by one thread and by many, under tools.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
unset CUMU_JIT CUMU_CHECK || true
export CUMU_BACKEND=host CUMU_COMPUTE_CAPABILITY=10.0

here=$(cd "$(dirname "$0")" && pwd)
cumu=$(realpath "$cumu")
"${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/takeover" "$here/takeover.c" -ldl
cp "$here/kernels.ptx" "$tmp"
cd "$tmp"
seed=${SEED:-1}
LIMIT=120
for jit in 0 wait; do
    for threads in 1 2 7; do
        check "drawn grids, CUMU_JIT=$jit, $threads threads" 0 '^right 40$' -- \
            env CUMU_JIT=$jit CUMU_HOST_THREADS=$threads "$cumu" run ./takeover kernels.ptx "$seed" 40
    done
    check "all are taken over, CUMU_JIT=$jit" 0 '^right taken$' -- \
        env CUMU_JIT=$jit CUMU_HOST_THREADS=1 "$cumu" run ./takeover kernels.ptx "$seed" taken
    check "a fault, CUMU_JIT=$jit" 0 '^right fails$' 'kernel fails: illegal address' -- \
        env CUMU_JIT=$jit "$cumu" run ./takeover kernels.ptx "$seed" fails
done
check "the interpreter names its line" 0 'st\.global\.u32' -- \
    env CUMU_JIT=0 "$cumu" run ./takeover kernels.ptx "$seed" fails
for tool in memcheck racecheck initcheck synccheck; do
    check "$tool is silent" 0 '^right 4$' '^========= (ERROR|RACECHECK) SUMMARY: 0 (errors|hazards)' -- \
        "$cumu" memcheck --tool $tool --error-exitcode 9 ./takeover kernels.ptx "$seed" 4
done
exit "$bad"
