#!/bin/sh
# Kernels that launch kernels, in the interpreter and compiled: the order of what trees of launches do, what the calls of
# the device runtime answer, limits, faults of children, and what tools see of them.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
unset CUMU_JIT CUMU_CHECK || true
export CUMU_BACKEND=host

here=$(cd "$(dirname "$0")" && pwd)
cumu=$(realpath "$cumu")
for p in trees calls; do
    "${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/$p" "$here/$p.c" -ldl
done
cp "$here/kernels.ptx" "$here/first.ptx" "$tmp"
cd "$tmp"
sed 's/__cudaCDP2/cuda/g' kernels.ptx >eleven.ptx # CUDA 11's names
seed=${SEED:-1}
LIMIT=120

tree() { # NAME PTX COUNT ENVIRONMENT...
    name=$1 ptx=$2 count=$3
    shift 3
    check "$name" 0 "^$count trees, [0-9]+ launches by kernels\$" -- env "$@" "$cumu" run ./trees "$ptx" "$seed" "$count"
}
tree "trees of launches" kernels.ptx 100 CUMU_JIT=0
tree "on one thread" kernels.ptx 30 CUMU_JIT=0 CUMU_HOST_THREADS=1
tree "on many" kernels.ptx 30 CUMU_JIT=0 CUMU_HOST_THREADS=13
tree "by CUDA 11's names" eleven.ptx 20 CUMU_JIT=0
tree "compiled" kernels.ptx 100 CUMU_JIT=wait
for tool in memory race init sync; do
    tree "under $tool" kernels.ptx 3 CUMU_CHECK=$tool
    absent "silent" '====|cumu: (error|gap)'
done

# call NAME PTX WHICH [TIER]: on both tiers, or in the interpreter only.
call() {
    for jit in 0 ${4-wait}; do
        check "$1, CUMU_JIT=$jit" 0 "^right $3\$" -- env CUMU_JIT=$jit "$cumu" run ./calls "$2" "$3"
    done
}
check "answers" 0 '^right calls$' '^cudaErrorInvalidValue: invalid argument$' -- \
    env CUMU_JIT=0 "$cumu" run ./calls kernels.ptx calls
check "by CUDA 11's names" 0 '^right calls$' -- env CUMU_JIT=0 "$cumu" run ./calls eleven.ptx calls
call "an error for each thread" kernels.ptx own
call "tail launches of tail launches, 20,000" kernels.ptx chain
call "3,000 deep" kernels.ptx fall ""
call "more tail launches than may be pending" kernels.ptx pending ""
call "more launches than may be pending" kernels.ptx many ""
call "a fault of a child" kernels.ptx child
call "a fault of a tail launch" kernels.ptx tail ""
call "a block waits for its children" first.ptx waits
check "a fault names the kernel" 0 'kernel bad: illegal address' -- "$cumu" run ./calls kernels.ptx child

check "a trace shows them" 0 'kernel add \{3 2 1\} \{8 1 4\} shared 0 by a kernel .*on the device' 'kernel waits \{1 1 1\}' -- \
    "$cumu" trace ./calls first.ptx waits
check "and before it runs" 0 '14 can be translated' 'will run' -- "$cumu" check kernels.ptx

# What a program declares otherwise than the runtime has it, and what that has not.
sed 's/__cudaCDP2DeviceGetLimit/__cudaCDP2DeviceGetLimits/g' kernels.ptx >unknown.ptx
check "an unknown function is refused by name" 1 'call of `__cudaCDP2DeviceGetLimits`' '^launch: 801' -- \
    "$cumu" run ./calls unknown.ptx calls
exit "$bad"
