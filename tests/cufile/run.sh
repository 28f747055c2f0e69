#!/bin/sh
# A program that uses cuFile through `cumu run`, against a model of its files and memories; each allocation fails.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
test_library libcufile.so.0 12 "$failing_cufile" wrong
exit $bad
