#!/bin/sh
# Every function of every facade with bad input: a sample (drawn by BRUTE_SEED), or what BRUTE_PERCENT says.
# Drawn arguments (BRUTE_MIXED a function) are for `make check-brute`: what they find is looked at by somebody.
# usage: tests/brute/run.sh [SONAME...]
set -eu
: "${B:=build}" "${BRUTE_PERCENT:=3}" "${BRUTE_SEED:=1}" "${BRUTE_MIXED:=0}"
export BRUTE_PERCENT BRUTE_SEED BRUTE_MIXED
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "$B" && pwd)
# What a call writes under a name that is none lands in an empty folder.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck disable=SC2046
[ $# != 0 ] || set -- $(sed -n 's/^facade  *[^ ]*  *\([^ ]*\).*/\1/p' "$here/../../mapping/sonames.map")
cd "$tmp"
bad=0
for soname in "$@"; do
    "$B/bin/cumu" run --backend host -- "$B/tests/brute/brute" "$soname" 2>/dev/null || bad=1
done
exit $bad
