#!/bin/sh
# Forward progress: every case of the fixture `progress` comes to an end, in the interpreter and in compiled code. A case
# that does not is ended by a time limit. exit_parked has a status of its own, which the process keeps.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

: "${LIMIT:=120}" # the longest takes 2 s of one CPU
: "${CUMU_HOST_THREADS:=2}" # as many multiprocessors: 48 blocks of a warp are promised to be resident, and a few of 256 threads
export CUMU_HOST_THREADS
export CUMU_CACHE_DIR="$tmp/cache"
run="$cumu run --backend host --"

try() { # CUMU_JIT CASE
    got=0 want=0
    [ "$2" != exit_parked ] || want=7
    CUMU_JIT=$1 timeout -s KILL "$LIMIT" $run "$fix/progress" "$2" >"$tmp/$1.$2" 2>&1 || got=$?
    if [ "$got" = "$want" ]; then
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
