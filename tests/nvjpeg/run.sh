#!/bin/sh
# Programs that use nvJPEG through `cumu run`: damaged files, wrong objects; each allocation fails.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
library=libnvjpeg.so.12
client damaged "$here/damaged.c"
passes "$cumu" run --backend host -- "$tmp/damaged"
client failing "$here/damaged.c" "$here/../lib/fail_at.c"
fail_allocations nvjpeg 12 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
