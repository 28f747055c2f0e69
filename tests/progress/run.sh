#!/bin/sh
# Forward progress: every case of the fixture `progress` comes to an end, in the interpreter and in compiled code. A case
# that does not is ended by a time limit.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

: "${LIMIT:=20}"
export CUMU_CACHE_DIR="$tmp/cache"
run="$cumu run --backend host --"

# Whose threads do not get on yet, by CUMU_JIT.
starving_0='spin_cas_blocks ticket_atomic_blocks ticket_volatile_blocks called_blocks buckets_blocks up_blocks down_blocks'
starving_wait='called_blocks buckets_blocks'

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
# shellcheck disable=SC2086
for mode in $modes; do
    [ "$mode" = 0 ] && starving=$starving_0 || starving=$starving_wait
    for case in $($run "$fix/progress" list); do
        case " $(echo $starving) " in
        *" $case "*) ;;
        *) try "$mode" "$case" ;;
        esac
    done
done
exit $bad
