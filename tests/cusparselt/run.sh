#!/bin/sh
# Programs that use cuSPARSELt through `cumu run`: against plain loops, with one thing wrong, without memory.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
build() { # NAME SOURCE...
    out=$tmp/$1
    shift
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$out" "$@" \
        "$B/lib/cumu/facade/libcusparseLt.so.0" "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -lm
}
for t in structured wrong; do
    build "$t" "$here/$t.c"
    passes "$cumu" run --backend host -- "$tmp/$t"
done
build failing "$here/structured.c" "$here/../lib/fail_at.c"
fail_allocations structured 8 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
