#!/bin/sh
# Every jump of every facade, called with made-up arguments over the logging stub libraries: what the
# application called and what arrived below must be the same lines.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
: "${B:=build}"
cd "$here/../../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# The core takes the libraries of the folder host/ beside it.
mkdir -p "$work/cumu"
cp "$B/lib/cumu/libcumu-core.so" "$work/cumu/"
cp -r "$B/lib/cumu/facade" "$work/cumu/facade"
cp -r "$B/lib/cumu/stub" "$work/cumu/host"

for facade in "$work"/cumu/facade/*; do
    [ ! -L "$facade" ] || continue # libcudart.so, another name of one that has its turn
    soname=$(basename "$facade")
    grep -q CUMU_JUMP "$B/gen/$soname.symbols.c" || continue # run-time compilers: nothing goes below
    rm -f "$work/below"
    if CUMU=1 CUMU_BACKEND=host CUMU_LOG=error,-config CUMU_STUB_LOG="$work/below" \
        "$B/tests/gen/$soname.calls" "$facade" "$work/app" &&
        [ -s "$work/app" ] && diff -u "$work/app" "$work/below"; then
        echo "ok gen/stublog $soname ($(wc -l <"$work/app") calls)"
    else
        echo "not ok gen/stublog $soname"
        failed=1
    fi
done
exit "$failed"
