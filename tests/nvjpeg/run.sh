#!/bin/sh
# Programs that use nvJPEG through `cumu run`: damaged files, wrong objects, pictures turned; each allocation fails.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
library=libnvjpeg.so.12
for t in damaged turned; do
    client $t "$here/$t.c"
    passes "$cumu" run --backend host -- "$tmp/$t"
done
client failing "$here/damaged.c" "$here/../lib/fail_at.c"
fail_allocations nvjpeg 12 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
