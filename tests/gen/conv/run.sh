#!/bin/sh
# Builds the conversions of a small map and calls them.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../../.." && pwd)
: "${B:=build}" "${CC:=cc}"
case $B in /*) gen=$B/bin/gen ;; *) gen=$top/$B/bin/gen ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$gen" emit "$work" "$here/toy.enum" "$here/sonames.map" "$here/toy.map"
$CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -I"$work" -I"$top/shim" -I"$top" \
    -o "$work/conv_test" "$work/conv.c" "$here/conv_test.c"
"$work/conv_test"
