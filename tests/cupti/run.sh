#!/bin/sh
# CUPTI over the tracer: records, callbacks, wrong input and threads, with and without a trace at the same time.
# shellcheck disable=SC2086  # $cuda is meant to be split
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
lib=$B/lib/cumu/facade

# build SONAME-OF-CUPTI RUNTIME VERSION
build() {
    "${CC:-cc}" -std=gnu11 -Wall -Wextra -I"$B/gen" -DVERSION="$3" -o "$tmp/client.$1" "$here/client.c" \
        "$lib/libcupti.so.$1" "$lib/$2" "$lib/libcuda.so.1" "$lib/libnvtx3interop.so.1" -Wl,--allow-shlib-undefined -pthread
}
build 11.8 libcudart.so.11.0 18
build 12 libcudart.so.12 28
build 13 libcudart.so.13 130001
for n in 11.8 12 13; do
    if "$cumu" run --backend host -- "$tmp/client.$n" "$here/../devrt/first.ptx" >"$tmp/out" 2>"$tmp/err"; then
        echo "ok CUPTI $n: $(grep -c '^ok' "$tmp/out") checks"
    else
        grep -v '^ok' "$tmp/out" || :
        head -n 5 "$tmp/err"
        echo "not ok CUPTI $n"
        bad=1
    fi
done
passes "$cumu" run --backend host -- "$tmp/client.12" forked
check "beside a trace" 0 '^ok have all their records' -- "$cumu" trace --backend host -o "$tmp/trace" "$tmp/client.13" "$here/../devrt/first.ptx"
check "a child's alone" 0 "^ok the child's is right" -- "$cumu" trace --backend host -o "$tmp/forked" "$tmp/client.12" forked
check "of which a trace has the kernel" 0 'kernel add .* on the device' -- grep kernel "$tmp/forked"
check "which has its kernels" 0 'kernel add .* on the device' 'range "range"' -- grep -E 'kernel|range' "$tmp/trace"
# Drawn settings, buffers, threads and calls against a model.
"${CC:-cc}" -std=gnu11 -Wall -Wextra -I"$B/gen" -o "$tmp/drawn" "$here/drawn.c" "$lib/libcupti.so.12" \
    "$lib/libcudart.so.12" "$lib/libcuda.so.1" "$lib/libnvtx3interop.so.1" -Wl,--allow-shlib-undefined -pthread
passes "$cumu" run --backend host -- "$tmp/drawn" "${SEED:-1}"
# Each allocation of our libraries fails once.
complete() {
    grep -m1 '^not ok' "$tmp/out" || :
    [ "$r" = 0 ] && grep -q '^ok' "$tmp/out"
}
"${CC:-cc}" -std=gnu11 -Wall -Wextra -I"$B/gen" -o "$tmp/failing" "$here/failing.c" "$here/../lib/fail_at.c" \
    "$lib/libcupti.so.12" "$lib/libcudart.so.12" "$lib/libcuda.so.1" "$lib/libnvtx3interop.so.1" \
    -Wl,--allow-shlib-undefined -pthread
fail_allocations records 0 complete "$cumu" run --backend host -- "$tmp/failing"
exit "$bad"
