#!/bin/sh
# Programs that use cuSPARSELt through `cumu run`: against plain loops, with one thing wrong, without memory.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
library=libcusparseLt.so.0
for t in structured wrong; do
    client "$t" "$here/$t.c"
    passes "$cumu" run --backend host -- "$tmp/$t"
done
client failing "$here/structured.c" "$here/../lib/fail_at.c"
fail_allocations structured 8 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
