#!/bin/sh
# Programs that use cuSPARSE through `cumu run`, against plain loops; and the tables of its enums, which no change
# survives.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

for t in generic legacy eleven; do
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -o "$tmp/$t" "$here/$t.c" \
        "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -ldl -lm
    if "$cumu" run --backend host -- "$tmp/$t" >"$tmp/out" 2>&1; then
        tail -n 1 "$tmp/out" | sed 's/^PASS/ok/'
    else
        grep -v gap: "$tmp/out" | head -n 20
        bad=1
    fi
done
types=$here/../../mapping/types
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/cusparse.enum" "$here" "$tmp/enums" || bad=1
exit $bad
