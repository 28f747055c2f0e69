#!/bin/sh
# A program that uses cuFile through `cumu run`, against a model of its files and memories; each allocation fails.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
build() { # NAME SOURCE...
    out=$tmp/$1
    shift
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$out" "$@" "$B/lib/cumu/facade/libcufile.so.0" \
        "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined
}
build wrong "$here/wrong.c"
passes "$cumu" run --backend host -- "$tmp/wrong"
build failing "$here/wrong.c" "$here/../lib/fail_at.c"
fail_allocations cufile 12 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
