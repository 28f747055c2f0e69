#!/bin/sh
# Signals that end a program do so within a second, wherever in CUDA it is; no compiler is left behind.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
lib=$B/lib/cumu/facade
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -I"$B/gen" -o "$tmp/signals" "$here/signals.c" \
    "$lib/libcuda.so.1" "$lib/libnccl.so.2" "$lib/libcublas.so.12" "$lib/libcurand.so.10" -Wl,--allow-shlib-undefined
export CUMU_HOST_DEVICES=1 CUMU_CACHE_DIR="$tmp/cache"
LIMIT=120

CUMU_JIT=0 check "signals: the interpreter, calls that wait for it, callbacks, communicators, exit" 0 '^done$' -- \
    "$cumu" run --backend host -- "$tmp/signals" kernel reset free callback nccl exit leave
CUMU_JIT=0 check "signals: busy devices, and calls that wait for them" 0 '^done$' -- \
    "$cumu" run --backend host -- "$tmp/signals" grid
CUMU_JIT=0 check "signals: under cumu memcheck" 0 '^done$' -- "$cumu" memcheck -- "$tmp/signals" kernel reset
if command -v cc >/dev/null 2>&1; then
    CUMU_JIT="wait" check "signals: compiled code" 0 '^done$' -- \
        "$cumu" run --backend host -- "$tmp/signals" kernel reset leave
    # A compiler that tells its name's version and never ends otherwise.
    cat >"$tmp/cc" <<END
#!/bin/sh
case "\$*" in *--version* | *-dumpversion* | *-dumpmachine*) exec cc "\$@" ;; esac
echo \$\$ >>"$tmp/pids"
exec sleep 1000
END
    chmod +x "$tmp/cc"
    : >"$tmp/pids"
    CUMU_JIT="wait" CUMU_CC="$tmp/cc" CUMU_CACHE_DIR="$tmp/other" check "signals: while the compiler runs" 0 '^done$' -- \
        "$cumu" run --backend host -- "$tmp/signals" compiler
    # Of each the state, but for zombies that nobody fetches; a second is what they have on an idle machine.
    running() { xargs -r -n 1 ps -o stat= -p <"$tmp/pids" | grep -cv '^Z' || :; }
    none_runs() { [ "$(running)" = 0 ]; }
    until_true 10 none_runs || :
    left=$(running)
    if [ -s "$tmp/pids" ] && [ "$left" = 0 ]; then
        echo "ok signals: $(wc -l <"$tmp/pids") compilers are gone with their programs"
    else
        echo "not ok signals: $left of $(wc -l <"$tmp/pids") compilers outlive their programs"
        bad=1
    fi
fi
exit $bad
