#!/bin/sh
# The shim over libraries that have no function at all. What SDKs have: shape.sh.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../e2e/lib.sh"
unset MUSA_PATH MUSA_INSTALL_PATH CUMU_BACKEND || true

# Each function that is missing is named once; wrappers that succeed all the same are those of alone.names.
nothing=$(cd "$B/tests/sdk/nothing" && pwd)
if MUSA_HOME="$nothing" LD_LIBRARY_PATH="$nothing/lib" timeout 60 "$cumu" run --backend musa -- \
    "$B/tests/sdk/missing" >"$tmp/calls" 2>"$tmp/said"; then
    grep '^ok' "$tmp/calls"
else
    grep '^not ok' "$tmp/calls" | head -n 20 || echo "not ok missing: died"
    bad=1
fi
sed -n 's/^missing //p' "$tmp/calls" | sort -u >"$tmp/missing"
sed -n 's/^cumu: gap: .*: \(.*\): the MUSA library lacks it$/\1/p; s/^cumu: gap: .* the MUSA library lacks //p' "$tmp/said" |
    sort -u >"$tmp/named"
sed 's/.* //' "$tmp/missing" | sort -u | comm -23 - "$tmp/named" >"$tmp/silent"
if [ -s "$tmp/silent" ] || [ ! -s "$tmp/missing" ]; then
    echo "not ok every function that is missing is named: $(head -n 8 "$tmp/silent" | tr '\n' ' ')"
    bad=1
else
    echo "ok $(wc -l <"$tmp/missing") missing functions are named"
fi
sed -n 's/^alone //p' "$tmp/calls" | LC_ALL=C sort -u >"$tmp/alone"
if grep -v '^#' "$here/alone.names" | diff - "$tmp/alone" >"$tmp/out"; then
    echo "ok what succeeds without MUSA needs none"
else
    echo "not ok what succeeds without MUSA is not what alone.names has: $(grep '^[<>]' "$tmp/out" | head -n 8 | tr '\n' ' ')"
    bad=1
fi
maths=$B/tests/sdk/maths
if [ -e "$maths/lib" ]; then
    maths=$(cd "$maths" && pwd)
    MUSA_HOME="$maths" LD_LIBRARY_PATH="$maths/lib:${maths%maths}5.2/lib" timeout 60 "$cumu" run --backend musa -- \
        "$B/tests/sdk/maths-program" || bad=1
else
    echo "skip maths: not built without assembly"
fi
exit $bad
