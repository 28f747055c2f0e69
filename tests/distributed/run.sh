#!/bin/sh
# What distributed programs do, by 2, 4 and 8 ranks as threads, processes and on two
# hosts, each against one device's result.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

here=$(dirname "$0")
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -I"$B/gen" -o "$tmp/workloads" "$here"/*.c \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcublas.so.13" "$B/lib/cumu/facade/libcudart.so.13" \
    -Wl,--allow-shlib-undefined -pthread
workloads() { # HOW N NAME
    status=0
    CUMU_HOST_DEVICES=$2 timeout "${LIMIT:-120}" "$cumu" run --backend host -- "$tmp/workloads" "$1" "$2" "${SEED:-1}" \
        >"$tmp/out" 2>&1 || status=$?
    sed -n "s/^ok.*/&$3/p; /^not ok/p; /^#/p" "$tmp/out"
    if [ $status != 0 ] || ! grep -q '^PASS' "$tmp/out"; then
        echo "not ok $2 $1$3: exit $status"
        sed 's/^/    /' "$tmp/out" | tail -n 8
        bad=1
    fi
}
for n in 2 4 8; do
    workloads threads $n ''
    workloads processes $n ''
done
# shellcheck source=../netns.sh
. "$(dirname "$0")/../netns.sh"
if plug_in_hosts 2; then
    export TEAM_HOSTS="$hosts" UCX_TLS=tcp
    for n in 2 4 8; do
        workloads processes $n ' on two hosts'
    done
else
    echo "skip distributed over namespaces: not permitted to make them"
fi
exit "$bad"
