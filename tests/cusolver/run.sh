#!/bin/sh
# Programs that use cuSOLVER through `cumu run`: factors multiply back to their matrices, by plain loops; and the
# tables of its enums, which no change survives.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0") types=$(dirname "$0")/../../mapping/types

for t in factor orthogonal eigen svd wide sparse kept; do
    [ -f "$here/$t.c" ] || continue
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Wno-deprecated-non-prototype -I"$here" -I"$here/../cublas" \
        -o "$tmp/$t" "$here/$t.c" "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -ldl -lm
    if "$cumu" run --backend host -- "$tmp/$t" >"$tmp/out" 2>&1; then
        tail -n 1 "$tmp/out" | sed 's/^PASS/ok/'
    elif grep -q '^skip' "$tmp/out"; then
        grep '^skip' "$tmp/out"
    else
        grep -v gap: "$tmp/out" | head -n 20
        bad=1
    fi
done
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/cusolver.enum" "$here" "$tmp/enums" || bad=1
exit $bad
