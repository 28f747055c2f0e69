#!/bin/sh
# Tests for longer what tests/guest, tests/jit/orphan_test.c and tests/unit/zip_test.c do.
# usage: tests/hostile/guest.sh [ROUNDS]
# shellcheck disable=SC2016,SC3045
set -u
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
rounds=${1:-60}
export CUMU_BACKEND=host CUMU_LOG=warn

# ---- compilers: a driver with children that would go on for hours, and programs that end at any moment
mark=86400.$$
cat >"$tmp/slow" <<END
#!/bin/sh
sleep $mark &
sh -c 'sleep $mark; :' &
wait
END
chmod +x "$tmp/slow"
left=0 seen=0
for i in $(seq "$rounds"); do
    signal=$(echo KILL TERM INT HUP SEGV ABRT XCPU PIPE | cut -d' ' -f$((i % 8 + 1)))
    (ulimit -c 0; CUMU_CACHE_DIR="$tmp/c$i" CUMU_CC="$tmp/slow" CUMU_JIT=wait exec "$cumu" run -- "$fix/vectoradd") >/dev/null 2>&1 &
    pid=$!
    sleep "0.$((i * 37 % 60 + 5))"
    [ "$(pgrep -cf "sleep $mark")" -gt 0 ] && seen=$((seen + 1))
    kill -"$signal" $pid 2>/dev/null
    wait $pid 2>/dev/null
    sleep 0.2
    if pgrep -f "sleep $mark" >/dev/null; then
        sleep 0.8
        pgrep -f "sleep $mark" >/dev/null && left=$((left + 1))
    fi
done
if [ $left = 0 ] && [ $seen -gt 0 ]; then
    echo "ok $rounds programs ended by 8 signals, $seen while a compiler ran: none is left a second later"
else
    echo "not ok $rounds programs ended by 8 signals, $seen while a compiler ran: after $left of them one is left"
    bad=1
    pgrep -f "sleep $mark" | xargs -r kill -9
fi

# ---- the compiler's folder is swept by the next process that compiles
mkdir -p "$tmp/sweep"
chmod 700 "$tmp/sweep"
mkdir "$tmp/sweep/tmp.1.2.3"
touch -d '1 hour ago' "$tmp/sweep/tmp.1.2.3"
check "a folder that a killed process left is swept" 0 -- sh -c \
    'CUMU_JIT=wait CUMU_CACHE_DIR="$3" "$1" run -- "$2" && ! ls "$3" | grep -q "^tmp"' - "$cumu" "$fix/vectoradd" "$tmp/sweep"

# ---- line tables: every fixture with them
n=0
for prog in "$fix"/*; do
    [ -x "$prog" ] && [ -f "$prog" ] || continue
    want=0
    timeout 120 env CUMU_JIT=wait CUMU_CACHE_DIR="$tmp/plain" "$cumu" run -- "$prog" >"$tmp/want" 2>&1 || want=$?
    got=0
    timeout 120 env CUMU_JIT=wait CUMU_JIT_DEBUG=1 CUMU_CACHE_DIR="$tmp/lines" "$cumu" run -- "$prog" >"$tmp/got" 2>&1 || got=$?
    n=$((n + 1))
    if [ $got != $want ] || grep 'stays on tier 0' "$tmp/got"; then
        echo "not ok $(basename "$prog") with line tables: $got, without $want"
        bad=1
    fi
done
echo "ok $n programs run the same with line tables"

# ---- a container of 512 MB
group=/sys/fs/cgroup/memory/cumu.$$
if mkdir "$group" 2>/dev/null && echo 536870912 >"$group/memory.limit_in_bytes" 2>/dev/null; then
    for prog in vectoradd matmul nbody mandelbrot; do
        check "512 MB: $prog, compiled" 0 '^PASS' -- sh -c \
            'echo $$ >"$1/cgroup.procs"; CUMU_JIT=wait CUMU_CACHE_DIR="$4" exec "$2" run -- "$3"' - \
            "$group" "$cumu" "$fix/$prog" "$tmp/small"
    done
    check "512 MB: a device of half of it" 0 '256 ?MiB' -- sh -c 'echo $$ >"$1/cgroup.procs"; exec "$2" run -- "$3"' - \
        "$group" "$cumu" "$B/libexec/cumu/nvidia-smi"
    rmdir "$group"
else
    echo "skip a container of 512 MB: no control group of our own"
fi

# ---- a wheel that unpacks to 4 GB
if command -v python3 >/dev/null 2>&1; then
    python3 - "$tmp/bomb.whl" <<'END'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z:
    with z.open("big.so", "w", force_zip64=True) as f:
        f.write(b"\x7fELF" + bytes(4092))
        for _ in range(1024):
            f.write(bytes(4 << 20))
END
    mkdir "$tmp/unpacked"
    ls -l "$tmp/bomb.whl" | awk '{ printf "# 4 GB in %d KB\n", $5 / 1024 }'
    LIMIT=120 check "a wheel that unpacks to 4 GB is read" 1 -- env TMPDIR="$tmp/unpacked" sh -c '"$1" check "$2" & pid=$!
        most=0
        while kill -0 $pid 2>/dev/null; do
            now=$(du -sk "$3" | cut -f1); [ "$now" -gt $most ] && most=$now; sleep 0.1
        done
        [ $most -lt 1000 ] && exit 1; echo "$most KB were written"; exit 3' - "$cumu" "$tmp/bomb.whl" "$tmp/unpacked"
    check "and leaves nothing" 0 -- rmdir "$tmp/unpacked"
fi
exit $bad
