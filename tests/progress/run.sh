#!/bin/sh
# Forward progress: every case of the fixture `progress` comes to an end, in the interpreter and in compiled code. A case
# that does not is ended by a time limit.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

: "${LIMIT:=20}"
: "${CUMU_HOST_THREADS:=2}" # as many multiprocessors: all 48 blocks of a case are promised to be resident
export CUMU_HOST_THREADS
export CUMU_CACHE_DIR="$tmp/cache"
run="$cumu run --backend host --"

try() { # CUMU_JIT CASE
    got=0
    CUMU_JIT=$1 timeout -s KILL "$LIMIT" $run "$fix/progress" "$2" >"$tmp/$1.$2" 2>&1 || got=$?
    if [ "$got" = 0 ]; then
        echo "ok $2, CUMU_JIT=$1"
    else
        echo "not ok $2, CUMU_JIT=$1: exit $got"
        sed 's/^/    /' "$tmp/$1.$2" | head -n 4
        bad=1
    fi
}

command -v cc >/dev/null 2>&1 && modes="0 wait" || modes=0
for mode in $modes; do
    for case in $($run "$fix/progress" list); do
        try "$mode" "$case"
    done
done
exit $bad
