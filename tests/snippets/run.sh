#!/bin/sh
# The snippets in every situation, all through `cumu run`; and a check that each wrapper has one.
# BACKEND=musa: on the SDK that MUSA_HOME names (tests/sdk).
set -eu
: "${B:=build}"
here=$(dirname "$0")
bad=0

missing=$(sed -n 's/^.*[ *]wrap_\([A-Za-z_0-9]*\)(.*/\1/p' "$B/gen/wraps.h" | while read -r s; do
    base=$(printf %s "$s" | sed 's/_v1\{0,1\}[128]\(_pts[zd]\)\{0,1\}$/\1/')
    grep -qwE "$s|$base" "$here"/*.c || echo "$s"
done)
if [ -n "$missing" ]; then
    echo "not ok every wrapper has a snippet:" $missing
    bad=1
else
    echo "ok every wrapper has a snippet"
fi

replay() {
    name=$1
    shift
    status=0
    out=$("$B/bin/cumu" run --backend "${BACKEND:-host}" -- "$@" 2>&1) || status=$?
    if [ "$status" = 0 ]; then
        printf '%s\n' "$out" | grep '^ok' || :
    else
        printf '%s\n' "$out" | grep '^not ok' | head -n 20 | grep . || {
            echo "not ok $name: it died, exit $status"
            printf '%s\n' "$out" | grep -v '^ok' | tail -n 10
        }
        bad=1
    fi
}
for mode in main thread twothreads manythreads fork; do
    replay "$mode" "$B/tests/snippets/linked" "$mode"
done
CUMU_HOST_DEVICES=2 replay devices "$B/tests/snippets/linked" main
SNIPPET_CONSTRUCTOR=1 replay constructor "$B/tests/snippets/linked"
for mode in dlsym procaddress; do
    replay "$mode" "$B/tests/snippets/lookup" "$mode"
done
if command -v python3 >/dev/null 2>&1 && python3 -c 'import ctypes' 2>/dev/null; then
    replay ctypes python3 -c "import ctypes, sys; sys.exit(ctypes.CDLL('$B/tests/snippets/lookup.so').snippets_run())"
else
    echo "skip ctypes: no python3"
fi
exit $bad
