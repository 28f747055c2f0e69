#!/bin/sh
# A program that uses cuFile through `cumu run`, against a model of its files and memories; each allocation fails.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
library=libcufile.so.0
client wrong "$here/wrong.c"
passes "$cumu" run --backend host -- "$tmp/wrong"
client failing "$here/wrong.c" "$here/../lib/fail_at.c"
fail_allocations cufile 12 status_first "$cumu" run --backend host -- "$tmp/failing" few
exit $bad
