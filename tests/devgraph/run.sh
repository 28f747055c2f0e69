#!/bin/sh
# Graphs that kernels launch, in the interpreter and compiled: order, what is refused, limits, faults.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
unset CUMU_JIT CUMU_CHECK || true
export CUMU_BACKEND=host

here=$(cd "$(dirname "$0")" && pwd)
cumu=$(realpath "$cumu")
"${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/graphs" "$here/graphs.c" -ldl
cp "$here/kernels.ptx" "$tmp"
cd "$tmp"
LIMIT=120
for jit in 0 wait; do
    for what in behind beside sibling again errors many fault; do
        check "$what, CUMU_JIT=$jit" 0 "^right $what\$" -- env CUMU_JIT=$jit "$cumu" run ./graphs kernels.ptx $what
    done
done
check "on one thread" 0 '^right beside$' -- env CUMU_JIT=0 CUMU_HOST_THREADS=1 "$cumu" run ./graphs kernels.ptx beside
exit "$bad"
