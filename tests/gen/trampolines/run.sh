#!/bin/sh
# Random signatures through the assembly trampolines and through the C twins: every byte of every argument
# and result must arrive, on the first call (which resolves) and on the second.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
: "${B:=build}" "${CC:=cc}" "${TRAMPOLINE_SEEDS:=1 2 3}" "${TRAMPOLINE_COUNT:=60}"
case $B in /*) gen=$B/bin/gen ;; *) gen=$top/$B/bin/gen ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
forms=twin
case $(uname -m) in x86_64) forms="tramp twin" ;; esac
flags="-std=c11 -D_GNU_SOURCE -O1 -g -w -fno-strict-aliasing -I$here -I$top/shim"
failed=0

$CC -std=c11 -Wall -Wextra -Werror -o "$work/make" "$here/make.c"
for seed in $TRAMPOLINE_SEEDS; do
    dir=$work/$seed
    mkdir "$dir"
    "$work/make" "$dir" "$seed" "$TRAMPOLINE_COUNT"
    printf 'facade toy libtoy.so - 1\nbelow mutoy mu 801 35 libmutoy.so\n' >"$dir/sonames.map"
    printf 'enum cudaError = musaError equal\ncudaSuccess 0\n' >"$dir/toy.enum"
    "$gen" emit "$dir/out" "$dir/toy.enum" "$dir/sonames.map" "$dir/toy.map"
    sources="$dir/callees.c $here/recorder.c"
    for file in libtoy.so.slots.c libtoy.so.symbols.c tables.c mu.c; do
        sources="$sources $dir/out/$file"
    done
    for form in $forms; do
        twin="$dir/out/libtoy.so.twin.c $dir/out/mu.twin.c"
        [ "$form" = twin ] || twin="$dir/out/libtoy.so.tramp.S $dir/out/mu.thunks.S"
        # The twin is exact C: no tail call may be needed for it to be right.
        # shellcheck disable=SC2086
        $CC $flags -I"$dir/out" -I"$top" -fPIC -rdynamic -o "$dir/$form" "$dir/callers.c" $sources $twin
        if "$dir/$form"; then
            echo "ok gen/trampolines $form seed $seed"
        else
            echo "not ok gen/trampolines $form seed $seed"
            failed=1
        fi
    done
done
exit "$failed"
