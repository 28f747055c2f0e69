#!/bin/sh
# Programs that use nvJPEG through `cumu run`: damaged files, wrong objects, pictures turned; each allocation fails.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
test_library libnvjpeg.so.12 12 "$failing_nvjpeg" damaged turned
exit $bad
