#!/bin/sh
# The files by which programs recognise NVIDIA's driver: there for what opted in, and for nobody else.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

"${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/looks" "$(dirname "$0")/looks.c"
"$cumu" run --backend host "$tmp/looks" 1 || bad=1
check "as many as CUMU_HOST_DEVICES says" 0 '^ok /dev/nvidia2$' '^ok no more than these$' -- \
    env CUMU_HOST_DEVICES=3 "$cumu" run --backend host "$tmp/looks" 3
check "none where there are none" 0 '^ok no device is seen$' -- \
    env CUMU_HOST_DEVICES=0 "$cumu" run --backend host "$tmp/looks" 0
check "nothing for who has not opted in" 0 '^ok no device is seen$' -- \
    env LD_PRELOAD="$(realpath "$B")/lib/cumu/libcumu-nodes.so" "$tmp/looks" 0
check "a shell and what it starts see them" 0 '^char$' 'Kernel Module' -- "$cumu" run --backend host sh -c \
    'if [ -c /dev/nvidia0 ]; then echo char; fi; cat /proc/driver/nvidia/version'
"${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/signals" "$(dirname "$0")/signals.c" -ldl
for jit in 0 wait; do
    check "handlers that the program installs between launches, CUMU_JIT=$jit" 0 '^ok 60 rounds' -- \
        env CUMU_JIT=$jit "$cumu" run --backend host "$tmp/signals" "${NODES_SEED:-1}" 60
done
if command -v python3 >/dev/null 2>&1; then
    check "Python sees them" 0 '^True False$' "^\['nvidia0'\]$" -- "$cumu" run --backend host python3 -c '
import glob, os
print(os.path.exists("/dev/nvidia0"), os.path.exists("/dev/nvidia7"))
print([os.path.basename(f) for f in glob.glob("/dev/nvidia[0-9]")])'
else
    echo "skip Python sees them: no python3"
fi
if [ ! -e /dev/nvidia0 ]; then
    check "nothing was made on the machine" 2 -- sh -c 'ls /dev/nvidia*'
fi
exit "$bad"
