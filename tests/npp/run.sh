#!/bin/sh
# Programs that use NPP through `cumu run`: against models, with one thing wrong, without memory.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
test_library libnppig.so.12 12 "$failing_npp" pictures wrong
exit $bad
