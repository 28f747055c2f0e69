#!/bin/sh
# Programs that use cuSPARSELt through `cumu run`: against plain loops, with one thing wrong, without memory.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
test_library libcusparseLt.so.0 8 "$failing_cusparselt" structured wrong
exit $bad
