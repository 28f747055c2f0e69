#!/bin/sh
# What distributed programs do, by 2, 4 and 8 ranks as threads and processes, each against one device's result.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

here=$(dirname "$0")
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -I"$B/gen" -o "$tmp/workloads" "$here"/*.c \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcublas.so.13" "$B/lib/cumu/facade/libcudart.so.13" \
    -Wl,--allow-shlib-undefined -pthread
for n in 2 4 8; do
    for how in threads processes; do
        status=0
        CUMU_HOST_DEVICES=$n timeout "${LIMIT:-120}" "$cumu" run --backend host -- "$tmp/workloads" $how $n "${SEED:-1}" \
            >"$tmp/out" 2>&1 || status=$?
        grep -E '^(ok|not ok|#)' "$tmp/out" || :
        if [ $status != 0 ] || ! grep -q '^PASS' "$tmp/out"; then
            echo "not ok $n $how: exit $status"
            sed 's/^/    /' "$tmp/out" | tail -n 8
            bad=1
        fi
    done
done
exit $bad
