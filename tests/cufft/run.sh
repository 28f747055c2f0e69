#!/bin/sh
# The tables of cuFFT's enums, which no change survives. What cuFFT's functions do is in tests/snippets and tests/mufft.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$here/../../mapping/types/cufft.enum" "$here" "$tmp/enums" || bad=1
exit $bad
