#!/bin/sh
# Compiled kernels through `cumu run`: the same results as on tier 0, a cache that many processes share and
# that trusts nobody, and programs that do not notice when there is no compiler.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

if ! command -v cc >/dev/null 2>&1; then
    echo "no C compiler on PATH: nothing would be compiled"
    exit 77
fi

run="$cumu run --backend host --"
export CUMU_CACHE_DIR="$tmp/cache" CUMU_LOG=info

# Every fixture gives with compiled kernels what it gives without: output, errors and exit status.
same() { # NAME COMMAND...
    name=$1
    shift
    want=0 got=0
    CUMU_JIT=0 CUMU_LOG=gap timeout 60 "$@" >"$tmp/want" 2>"$tmp/want.err" || want=$?
    CUMU_JIT="wait" CUMU_LOG=gap timeout 120 "$@" >"$tmp/got" 2>"$tmp/got.err" || got=$?
    sed -i 's/0x[0-9a-f]*/ADDRESS/' "$tmp/want.err" "$tmp/got.err" # not the same in any two runs
    if [ "$want" = "$got" ] && cmp -s "$tmp/want" "$tmp/got" && cmp -s "$tmp/want.err" "$tmp/got.err"; then
        echo "ok same: $name"
    else
        echo "not ok same: $name: exit $want and $got"
        { diff "$tmp/want" "$tmp/got" || diff "$tmp/want.err" "$tmp/got.err"; } | sed 's/^/    /' | head -n 8
        bad=1
    fi
}
for f in vectoradd lz4 raw matmul reduce histogram mandelbrot nbody pipeline symbols language errors driver print waiting capture graphs; do
    # shellcheck disable=SC2086
    same "$f" $run "$fix/$f"
done
for f in $("$fix/faults" list); do
    # shellcheck disable=SC2086
    same "faults $f" $run "$fix/faults" "$f"
done

# Threads that wait for each other come to an end with any number of CPUs, in the interpreter, in compiled
# code, and where one takes over from the other.
for threads in 1 2 4; do
    for mode in 0 1 wait; do
        # shellcheck disable=SC2086
        CUMU_HOST_THREADS=$threads CUMU_JIT=$mode check "waiting: $threads threads, CUMU_JIT=$mode" 0 '^PASS' -- $run "$fix/waiting"
    done
done
for threads in 2 1; do
    for mode in wait 0; do
        # shellcheck disable=SC2086
        CUMU_HOST_THREADS=$threads CUMU_JIT=$mode check "residents: $threads threads, CUMU_JIT=$mode" 0 '^PASS' -- $run "$fix/residents"
    done
done
for threads in 1 2; do
    for mode in 0 wait; do
        # shellcheck disable=SC2086
        CUMU_COMPUTE_CAPABILITY=9.0 CUMU_HOST_THREADS=$threads CUMU_JIT=$mode \
            check "clusters: $threads threads, CUMU_JIT=$mode" 0 "^PASS" -- $run "$fix/cluster"
    done
done
# shellcheck disable=SC2086
CUMU_JIT="wait" check "no kernel of it stays in the interpreter" 0 'tier 1 ready.* 0 refused' -- $run "$fix/waiting"
absent "indeed none" 'stays on tier 0'

# A kernel with variables of its module is bound by the thread that compiles, too; a short program may end
# before that begins.
tries=0
until [ "$tries" = 20 ]; do
    tries=$((tries + 1))
    # shellcheck disable=SC2086
    CUMU_JIT=eager CUMU_LOG=info $run "$fix/symbols" >"$tmp/out" 2>&1 || break
    if grep -q 'jit: _Z3usePf' "$tmp/out"; then break; fi
done
absent "a compiled kernel finds its module's variables" 'stays on tier 0|FAIL'
if ! grep -q '_Z3usePf: tier 1 ready' "$tmp/out"; then
    echo "not ok a compiled kernel takes over: see $tries runs"
    bad=1
fi

# jit NAME MODE STATUS [PATTERN...] -- PROGRAM: one run in a mode
jit() {
    name=$1 mode=$2 status=$3
    shift 3
    CUMU_JIT=$mode check "$name" "$status" "$@"
}
rm -rf "$tmp/cache"
# shellcheck disable=SC2086
{
    jit "wait compiles before the first launch" wait 0 '^PASS' 'tier 1 ready: compiled in' -- $run "$fix/vectoradd"
    jit "a second process finds it" wait 0 '^PASS' 'tier 1 ready: from the cache' -- $run "$fix/vectoradd"
    absent "and compiles nothing" 'compiled in [1-9]'
    jit "what was compiled is told at the end" wait 0 'jit: all: 0 kernels compiled in 0.0 s, 1 from the cache' -- $run "$fix/vectoradd"
    jit "0 compiles nothing" 0 0 '^PASS' -- $run "$fix/vectoradd"
    absent "nor looks" 'jit'
    jit "the background does not disturb" 1 0 '^PASS' -- $run "$fix/nbody"
}
check "cache list" 0 'linear|any|half' '^[1-9][0-9]* kernels' -- "$cumu" cache list
check "cache path" 0 "^$tmp/cache\$" -- "$cumu" cache path

# What is wrong with an entry makes it compiled again, and said at level warn.
entry() {
    find "$tmp/cache" -name '*.kernel' | head -n 1
}
rm -rf "$tmp/cache"
CUMU_JIT="wait" $run "$fix/vectoradd" >/dev/null 2>&1
for harm in "chmod 644" "truncate -s 1000" "truncate -s 20" "truncate -s 0" "chown 1"; do
    if [ "$harm" = "chown 1" ] && [ "$(id -u)" != 0 ]; then
        echo "skip after chown: only root can give files away"
        continue
    fi
    # shellcheck disable=SC2086
    $harm "$(entry)"
    # shellcheck disable=SC2086
    jit "after $harm" wait 0 '^PASS' 'cumu: warn: cache: .*made again' 'compiled in' -- $run "$fix/vectoradd"
    # shellcheck disable=SC2086
    jit "and then it is good" wait 0 '^PASS' 'from the cache' -- $run "$fix/vectoradd"
done
patch_bytes "$(entry)" 2000 5a5a5a5a
# shellcheck disable=SC2086
jit "after a changed byte" wait 0 '^PASS' 'damaged; made again' 'compiled in' -- $run "$fix/vectoradd"
chmod 755 "$tmp/cache"
# shellcheck disable=SC2086
jit "a folder open to others is left alone" wait 0 '^PASS' 'warn: cache' 'compiled in' -- $run "$fix/vectoradd"
chmod 700 "$tmp/cache"
CUMU_CACHE_DIR=/proc/none
# shellcheck disable=SC2086
jit "no folder at all" wait 0 '^PASS' 'warn: cache' 'compiled in' -- $run "$fix/vectoradd"
CUMU_CACHE_DIR=$tmp/cache
# shellcheck disable=SC2086
CUMU_CACHE_SIZE=0 jit "a cache of no size" wait 0 '^PASS' 'compiled in' -- $run "$fix/vectoradd"

# Processes at once, and processes killed at any point, leave a good cache.
rm -rf "$tmp/cache"
pids=
for i in 1 2 3; do
    CUMU_JIT="wait" $run "$fix/matmul" >"$tmp/out.$i" 2>&1 &
    pids="$pids $!"
done
ok=0
for p in $pids; do
    wait "$p" && ok=$((ok + 1))
done
if [ "$ok" = 3 ]; then echo "ok three processes at once"; else
    echo "not ok three processes at once: $ok came through"
    bad=1
fi
rm -rf "$tmp/cache"
for delay in 0.02 0.05 0.08 0.12 0.2; do
    CUMU_JIT="wait" timeout -s KILL "$delay" $run "$fix/vectoradd" >/dev/null 2>&1 || :
done
# shellcheck disable=SC2086
jit "after processes that were killed" wait 0 '^PASS' 'tier 1 ready' -- $run "$fix/vectoradd"
absent "nothing of theirs was damaged" 'made again'
touch -d '1 hour ago' "$tmp/cache"/tmp.* 2>/dev/null || :
check "cache clear" 0 '^[0-9]* kernels removed' -- "$cumu" cache clear
if [ -z "$(ls -A "$tmp/cache")" ]; then echo "ok what they left is swept up"; else
    echo "not ok what they left is swept up: $(ls -A "$tmp/cache")"
    bad=1
fi

# Modules that are unloaded while they are compiled; kernels swapped while they are launched.
cc -std=c11 -D_GNU_SOURCE -O1 -o "$tmp/churn" "$(dirname "$0")/programs/churn.c" -ldl -pthread
# shellcheck disable=SC2086
{
    jit "modules come and go" eager 0 '^PASS' 'tier 1 ready' -- $run "$tmp/churn" 12
    jit "and wait for their kernels" wait 0 '^PASS' 'tier 1 ready' -- $run "$tmp/churn" 2
}

# A launch that begins in the interpreter does not stay there: it is compiled while it runs, and blocks that have not
# begun take that. Its module may be unloaded at any time.
cc -std=c11 -D_GNU_SOURCE -O1 -w -o "$tmp/long" "$(dirname "$0")/programs/long.c" -ldl
for threads in 1 2; do
    rm -rf "$tmp/cache"
    # shellcheck disable=SC2086
    {
        CUMU_HOST_THREADS=$threads jit "a long launch is compiled: $threads threads" 1 0 '^PASS' \
            'tier 1 ready: compiled' '^[1-9][0-9]* of 600 blocks were quick' -- $run "$tmp/long" 600 1000000 0
        CUMU_HOST_THREADS=$threads jit "the next one takes it from the cache: $threads threads" 1 0 '^PASS' \
            'tier 1 ready: from the cache' -- $run "$tmp/long" 60 1000000 6
    }
done
CUMU_JIT=0 check "without a compiler it stays" 0 '^PASS' -- $run "$tmp/long" 60 100000 0
absent "indeed" 'tier 1 ready'

# A compiler that takes longer than the program, twice: what was begun in vain is begun first by the next process, which
# has it in the end.
# shellcheck disable=SC2016
printf '#!%s\necho >>"$0.begun"\n[ "$(wc -l <"$0.begun")" -gt 2 ] || exec sleep 50\nexec cc "$@"\n' "$(command -v sh)" >"$tmp/tardy"
chmod +x "$tmp/tardy"
rm -rf "$tmp/cache"
runs=0
: >"$tmp/tardy.begun"
long_run() {
    runs=$((runs + 1))
    # shellcheck disable=SC2086
    CUMU_CC="$tmp/tardy" CUMU_JIT=1 timeout 60 $run "$tmp/long" 600 100000 0 >"$tmp/out" 2>&1
}
while [ ! -s "$tmp/tardy.begun" ] && [ "$runs" -lt 20 ] && long_run; do :; done
if [ "$(cut -d " " -f 3 "$tmp/cache/hot" 2>&1)" = 1 ]; then echo "ok a process leaves what it began to compile"; else
    echo "not ok a process leaves what it began to compile: $(cat "$tmp/cache/hot" 2>&1)"
    bad=1
fi
while [ "$runs" -lt 40 ] && ! grep -q 'tier 1 ready: from the cache' "$tmp/out" && long_run; do :; done
if grep -q 'tier 1 ready: from the cache' "$tmp/out" && [ "$(wc -l <"$tmp/tardy.begun")" = 3 ] && [ ! -e "$tmp/cache/hot" ]; then
    echo "ok the third one that begins it has it"
else
    echo "not ok the third one that begins it has it: $runs runs, $(wc -l <"$tmp/tardy.begun") began, $(cat "$tmp/cache/hot" 2>&1)"
    sed 's/^/    /' "$tmp/out"
    bad=1
fi

# Many kernels at once: a line of progress on a terminal, nothing elsewhere.
cc -std=c11 -D_GNU_SOURCE -O1 -w -o "$tmp/many" "$(dirname "$0")/programs/many.c" -ldl
rm -rf "$tmp/cache"
# shellcheck disable=SC2086
CUMU_LOG=gap jit "many kernels" eager 0 '^PASS many' -- $run "$tmp/many"
absent "no progress in a file" 'compiling kernels'
rm -rf "$tmp/cache"
if script -qec true /dev/null >/dev/null 2>&1; then
    # shellcheck disable=SC2086
    CUMU_LOG=gap jit "progress on a terminal" eager 0 'compiling kernels: [0-9]* done, [0-9]* to go' 'PASS many' -- \
        script -qec "$run $tmp/many" /dev/null
else
    echo "skip progress on a terminal: script(1) makes none here"
fi

# Compilers: none, a wrong one, one that fails, one that never ends is not waited for in the background.
mkdir "$tmp/empty"
sh=$(command -v sh)
# shellcheck disable=SC2016
printf '#!%s\necho "k.c:7: error: no such thing" >&2\nexit 1\n' "$sh" >"$tmp/failing"
printf '#!%s\nexec sleep 50\n' "$sh" >"$tmp/slow"
chmod +x "$tmp/failing" "$tmp/slow"
# shellcheck disable=SC2086
{
    jit "no compiler on PATH" wait 0 '^PASS' 'stays on tier 0: no C compiler' -- "$(command -v env)" PATH="$tmp/empty" $run "$fix/vectoradd"
    CUMU_CC=/none/cc jit "a compiler that is not there" wait 0 '^PASS' 'CUMU_CC names no program' -- $run "$fix/vectoradd"
    CUMU_CC="$tmp/failing" jit "a compiler that fails" wait 0 '^PASS' 'stays on tier 0: .*error: no such thing' -- $run "$fix/vectoradd"
    CUMU_CC="$tmp/slow" jit "a compiler that hangs" 1 0 '^PASS' -- $run "$fix/nbody"
}

# A signal that ends the program ends it at once, and the compiler with it, while a launch waits for that one.
# shellcheck disable=SC2016
printf '#!%s\necho $$ >"$0.pid"\nexec sleep 50\n' "$sh" >"$tmp/slow"
state_of() { # PID: its letter, of one that has ended nothing
    sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null || :
}
gone() { # PID
    case $(state_of "$1") in '' | Z) return 0 ;; *) return 1 ;; esac
}
for signal in TERM HUP INT; do
    rm -f "$tmp/slow.pid"
    # shellcheck disable=SC2086
    CUMU_CC="$tmp/slow" CUMU_JIT=wait timeout -k 20 50 $run "$fix/vectoradd" >"$tmp/out" 2>&1 &
    until_true 30 test -s "$tmp/slow.pid" || :
    began=$(date +%s)
    kill -s "$signal" $! # timeout(1) sends it on
    wait $! || true
    took=$(($(date +%s) - began))
    # The kernel ends the compiler with its parent, but not in the same moment.
    until_true 10 gone "$(cat "$tmp/slow.pid" || echo none)" || :
    state=$(state_of "$(cat "$tmp/slow.pid")")
    case $(wc -l <"$tmp/slow.pid"),$took,$state in
    1,[0-9], | 1,[0-9],Z | 1,[1-3][0-9], | 1,[1-3][0-9],Z) echo "ok SIG$signal while the compiler runs" ;;
    *)
        echo "not ok SIG$signal while the compiler runs: $took s, compiler '$state'"
        bad=1
        ;;
    esac
done

# A process that is killed while it compiles leaves a folder, in the cache or without one where temporary files go. The
# next process that compiles removes it, but not the folder of one that still runs.
mkdir "$tmp/temporary"
folders() { find "$tmp/cache" "$tmp/temporary" -type d \( -name 'tmp.*' -o -name 'cumu-*' \) "$@" 2>/dev/null; }
both() { [ "$(folders | wc -l)" = 2 ]; }
for size in 512 0; do
    rm -rf "$tmp/cache"
    # shellcheck disable=SC2086
    {
        TMPDIR="$tmp/temporary" CUMU_CACHE_SIZE=$size CUMU_CC="$tmp/slow" CUMU_JIT=wait timeout 50 $run "$fix/vectoradd" >"$tmp/out" 2>&1 &
        running=$!
        TMPDIR="$tmp/temporary" CUMU_CACHE_SIZE=$size CUMU_CC="$tmp/slow" CUMU_JIT=wait $run "$fix/vectoradd" >"$tmp/killed" 2>&1 &
    }
    until_true 30 both || :
    kill -KILL $!
    wait $! 2>/dev/null || :
    before=$(folders | wc -l)
    folders -exec touch -d '2 minutes ago' {} + || :
    # shellcheck disable=SC2086
    TMPDIR="$tmp/temporary" CUMU_CACHE_SIZE=$size jit "after one that was killed, CUMU_CACHE_SIZE=$size" wait 0 '^PASS' 'tier 1 ready: compiled' -- $run "$fix/vectoradd"
    after=$(folders | wc -l)
    kill "$running"
    wait "$running" 2>/dev/null || :
    folders -exec rm -rf {} + || :
    if [ "$before,$after" = 2,1 ]; then echo "ok its folder is gone, a live one's is not"; else
        echo "not ok its folder is gone, a live one's is not: $before before, $after after"
        bad=1
    fi
done

# The compiler of code that somebody waits for has as much of the CPUs as the workers have.
# shellcheck disable=SC2016
printf '#!%s\ncut -d " " -f 19 /proc/$$/stat >>"$0.nice"\nexec cc "$@"\n' "$sh" >"$tmp/priority"
chmod +x "$tmp/priority"
rm -rf "$tmp/cache"
# shellcheck disable=SC2086
{
    CUMU_CC="$tmp/priority" jit "a launch that waits" wait 0 '^PASS' -- $run "$fix/vectoradd"
    CUMU_HOST_THREADS=2 CUMU_CC="$tmp/priority" jit "a launch that runs meanwhile" 1 0 '^PASS' -- $run "$tmp/long" 400 100000 0
}
if [ "$(sort -u "$tmp/priority.nice")" = "$(cut -d " " -f 19 /proc/$$/stat)" ] && [ "$(wc -l <"$tmp/priority.nice")" = 2 ]; then
    echo "ok their compilers are not at low priority"
else
    echo "not ok their compilers are not at low priority: $(tr '\n' ' ' <"$tmp/priority.nice")"
    bad=1
fi

# warm
rm -rf "$tmp/cache"
check "cache warm" 0 '^2 kernels, 5 with their block shapes: 5 compiled, 0 were there, 0 stay' -- "$cumu" cache warm "$fix/vectoradd" "$fix/matmul"
check "cache warm again" 0 'shapes: 0 compiled, 5 were there' -- "$cumu" cache warm "$fix/vectoradd" "$fix/matmul"
# shellcheck disable=SC2086
jit "a warmed program compiles nothing" wait 0 '^PASS' 'from the cache' -- $run "$fix/vectoradd"
absent "indeed nothing" 'ready: compiled'
# shellcheck disable=SC2086
jit "nor one with blocks 16 wide" wait 0 '^PASS' 'from the cache' -- $run "$fix/matmul"
absent "indeed nothing again" 'ready: compiled'
check "cache warm for other CPUs" 0 'shapes: 2 compiled, 0 were there' -- "$cumu" cache warm --isa plain "$fix/vectoradd"
# shellcheck disable=SC2086
CUMU_ISA=plain CUMU_CACHE_DIR="$tmp/carried" jit "not in another folder" wait 0 '^PASS' 'ready: compiled' -- $run "$fix/vectoradd"
cp -a "$tmp/cache" "$tmp/carried.2"
# shellcheck disable=SC2086
CUMU_ISA=plain CUMU_CACHE_DIR="$tmp/carried.2" jit "a cache is carried" wait 0 '^PASS' 'from the cache' -- $run "$fix/vectoradd"
absent "and nothing compiled" 'ready: compiled'
check "cache warm for no CPU" 125 'none of plain, avx2, avx512' -- "$cumu" cache warm --isa avx1024 "$fix/vectoradd"
check "cache warm says what stays" 1 'deeper|endless.* stays on tier 0 .*recursion' '[1-9] stay on tier 0' -- "$cumu" cache warm "$fix/faults"
check "cache warm of nothing" 127 'cannot be read|not found' -- "$cumu" cache warm "$tmp/none"
check "cache wants a verb" 125 'list, clear, path' -- "$cumu" cache
exit $bad
