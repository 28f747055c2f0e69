#!/bin/sh
# Programs that use NPP through `cumu run`: against models, with one thing wrong, without memory.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
library=libnppig.so.12
for t in pictures wrong; do
    client "$t" "$here/$t.c"
    passes "$cumu" run --backend host -- "$tmp/$t"
done
client failing "$here/wrong.c" "$here/../lib/fail_at.c"
fail_allocations npp 12 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
