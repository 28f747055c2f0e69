#!/bin/sh
# Kernels that are missing or cannot be translated: each call's error, and CUMU_MISSING_KERNEL=exit.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

"${CC:-cc}" -std=gnu11 -I"$here/../../shim" -I"$B/gen" -o "$tmp/client" "$here/client.c" \
    "$B/lib/cumu/facade/libcudart.so.13" "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined

# missing WHAT CALL ERROR REASON: an error by default, and with the option the end, with kernel and reason.
missing() {
    kernel=bad
    case $1 in gone) kernel=gone ;; machine) kernel=module ;; esac
    check "$1, $2" 0 "^end $3\$" -- "$cumu" run --backend host -- "$tmp/client" "$1" "$2"
    check "$1, $2: the end" 86 "^cumu: error: kernel: $kernel: cannot be used \($3\): .*$4.*; CUMU_MISSING_KERNEL=exit" \
        -- env CUMU_LOG=off CUMU_MISSING_KERNEL=exit "$cumu" run --backend host -- "$tmp/client" "$1" "$2"
    absent "$1, $2: nothing after it" '^end'
}

for call in launch attribute load occupancy; do
    missing driver $call 801 'PTX line 10: tcgen05.shift.cta_group::1.down'
done
for call in launch attributes attribute occupancy symbol; do
    missing untranslatable $call 801 'PTX line 10: tcgen05.shift.cta_group::1.down'
    missing gone $call 98 'no PTX of its module defines'
    missing sass $call 209 'machine code'
done
missing machine load 209 'machine code'

# What CUDA answers too is no missing kernel, nor is one that is not used.
check "a name that the module does not define" 86 '^load 0$' '^absent 500$' '^good 0$' '^get 0$' -- \
    env CUMU_MISSING_KERNEL=exit "$cumu" run --backend host -- "$tmp/client" driver launch
exit $bad
