#!/bin/sh
# Programs that use nvJPEG through `cumu run`: damaged files, wrong objects; each allocation fails.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
build() { # NAME SOURCE...
    out=$tmp/$1
    shift
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$out" "$@" "$B/lib/cumu/facade/libnvjpeg.so.12" \
        "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined
}
build damaged "$here/damaged.c"
passes "$cumu" run --backend host -- "$tmp/damaged"
build failing "$here/damaged.c" "$here/../lib/fail_at.c"
fail_allocations nvjpeg 12 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
