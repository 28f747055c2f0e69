#!/bin/sh
# What tests/run itself counts as passed, failed and skipped, and what it says of it.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
run=$(dirname "$0")/../run

export B="$tmp/build" TEST_TIMEOUT=2
mkdir -p "$B/tests/x"

test_that() { # NAME COMMAND
    printf '#!/bin/sh\n%s\n' "$2" >"$B/tests/x/$1"
    chmod +x "$B/tests/x/$1"
}
test_that good 'echo ok one; echo ok two'
test_that bad 'echo ok one; echo not ok two'
test_that silent 'echo hello'
test_that dead 'echo ok one; kill -SEGV $$'
test_that leaves 'echo skip: no compiler; exit 77'
test_that partly 'echo ok one; echo skip two: no device'
test_that hangs 'sleep 60'
# shellcheck disable=SC2016  # the test's own arguments
test_that unsteady 'if [ -e "$0.ran" ]; then echo ok now; else : >"$0.ran"; echo not ok yet; fi'
# shellcheck disable=SC2016
test_that given 'echo ok "$1"'

verdict() { # NAME STATUS COUNTS TEST...
    name=$1 status=$2 counts=$3
    shift 3
    # shellcheck disable=SC2046  # names without blanks
    check "$name" "$status" "^$counts\$" -- sh "$run" "$tmp/logs" $(printf "$B/tests/x/%s " "$@")
}
verdict "lines are counted" 0 "2 passed, 0 failed, 0 skipped" good
verdict "a failure fails, whatever the status" 1 "1 passed, 1 failed, 0 skipped" bad
verdict "a test that prints no result fails" 1 "0 passed, 1 failed, 0 skipped" silent
check "and that is said" 0 "not ok x.silent prints no result" -- cat "$tmp/logs/x.silent.log"
verdict "so does one that dies" 1 "1 passed, 1 failed, 0 skipped" dead
verdict "so does one that hangs" 1 "0 passed, 1 failed, 0 skipped" hangs
verdict "one that is skipped is no failure" 0 "2 passed, 0 failed, 1 skipped" good leaves
verdict "a part may be skipped" 0 "1 passed, 0 failed, 1 skipped" partly
verdict "nothing passed is a failure" 1 "0 passed, 0 failed, 1 skipped" leaves
verdict "an argument behind a colon" 0 "1 passed, 0 failed, 0 skipped" given:word
check "one that fails beside others, but not alone: both are shown" 0 '^FAIL x.unsteady' '^    not ok yet' \
    '^again, alone: ok   x.unsteady' '^3 passed, 0 failed, 0 skipped$' -- \
    sh "$run" "$tmp/logs" "$B/tests/x/good" "$B/tests/x/unsteady"
rm "$B/tests/x/unsteady.ran"
verdict "where many fail none gets a second chance" 1 "2 passed, 5 failed, 0 skipped" bad silent dead hangs unsteady
verdict "several add up" 1 "3 passed, 2 failed, 0 skipped" good bad silent
exit $bad
