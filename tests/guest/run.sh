#!/bin/sh
# Tests cumu as a guest: what a debugger sees, preloads with static TLS, limits of the process, folders of other users. What
# becomes of its own compilers is tests/jit/orphan_test.c, of archives tests/unit/zip_test.c.
# shellcheck disable=SC2016,SC2046
set -u
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
: "${CC:=cc}"
export CUMU_JIT=wait CUMU_CACHE_DIR="$tmp/cache" CUMU_LOG=warn
prog=$fix/vectoradd
run="$cumu run --backend host --"

# ---- debuggers
if command -v gdb >/dev/null 2>&1; then
    printf '%s\n' 'set confirm off' 'set pagination off' 'set width 0' 'set breakpoint pending on' 'break _Z3addPKfS0_Pfi' run bt \
        'info sharedlibrary' 'info line *$pc' kill quit >"$tmp/commands"
    gdb_run='exec "$1" run -g --backend host -- "$2" <"$3"'
    CUMU_JIT_DEBUG=0 check "gdb does not wait for a kernel's object, and shows the kernel" 0 \
        'hit Breakpoint 1, .* in add\(float const\*' '/proc/[0-9]+/fd/[./]*[0-9]+$' -- sh -c "$gdb_run" - "$cumu" "$prog" "$tmp/commands"
    check "cumu run -g: the lines of its PTX" 0 '_Z3addPKfS0_Pfi \(.* at .*/module\.ptx:[0-9]+$' \
        'Yes +.*/cache/[0-9a-f]+\.kernel$' -- sh -c "$gdb_run" - "$cumu" "$prog" "$tmp/commands"
else
    echo "skip debuggers: no gdb"
fi
# What looks at a process that runs: a kernel that does not end by itself.
$CC -std=c11 -D_GNU_SOURCE -O1 -I"$B/gen" -o "$tmp/spin" "$(dirname "$0")/spin.c" "$B/lib/cumu/facade/libcuda.so.1" \
    -Wl,--allow-shlib-undefined
for debug in 0 1; do
    CUMU_JIT_DEBUG=$debug $run "$tmp/spin" 60 >"$tmp/spin.out" &
    until_true 30 grep -q ready "$tmp/spin.out" || :
    pid=$(awk '{ print $2 }' "$tmp/spin.out")
    where='spin_kernel .* from /proc/[0-9]+/fd/'
    [ $debug = 0 ] || where='spin_kernel .* at .*/module\.ptx:[0-9]+'
    command -v gdb >/dev/null 2>&1 && check "gdb -p: a kernel that runs, CUMU_JIT_DEBUG=$debug" 0 "$where" -- \
        gdb -p "$pid" -batch -ex 'set pagination off' -ex 'set width 0' -ex 'thread apply all bt'
    if [ $debug = 0 ]; then
        :
    elif perf record -o "$tmp/perf" -p "$pid" -- sleep 2 >/dev/null 2>&1; then
        check "perf report: the kernel's name" 0 '[0-9a-f]+\.kernel +\[\.\] spin_kernel' -- perf report -i "$tmp/perf" --stdio
    else
        echo "skip perf: not here, or not allowed"
    fi
    kill "$pid"
    wait
done
if command -v valgrind >/dev/null 2>&1; then
    CUMU_JIT_DEBUG=1 check "valgrind: its own compiler run works" 0 '^PASS' -- \
        $run valgrind --tool=callgrind --callgrind-out-file="$tmp/callgrind" "$tmp/spin" 1
    check "callgrind: the kernel's name and lines" 0 'module\.ptx:spin_kernel' -- callgrind_annotate "$tmp/callgrind"
else
    echo "skip valgrind: not here"
fi
if command -v nm >/dev/null 2>&1; then
    check "a kernel's name is in its object" 0 ' t _Z3addPKfS0_Pfi$' -- sh -c 'nm "$1"/cache/*.kernel' - "$tmp"
    check "line tables when asked for" 0 'module\.ptx' -- sh -c 'readelf --debug-dump=decodedline "$1"/cache/*.kernel' - "$tmp"
fi

# ---- static TLS
cat >"$tmp/big.c" <<'END'
static __thread __attribute__((tls_model("initial-exec"))) char big[20000];
char *touch_big(void);
char *touch_big(void) { return big; }
END
if $CC -shared -fPIC -o "$tmp/libbig.so" "$tmp/big.c" && $CC -fPIC -o "$tmp/main" -x c - -L"$tmp" -lbig -Wl,-rpath,"$tmp" <<'END'
char *touch_big(void);
int main(void) { return touch_big()[100]; }
END
then
    check "a preload with 20 KB of static TLS" 0 '^PASS' -- env LD_PRELOAD="$tmp/libbig.so" $run "$prog"
    check "a program's library with as much" 0 -- $run "$tmp/main"
    check "without the launcher" 0 '^PASS' -- sh -c 'export LD_PRELOAD="$2"; eval "$("$1" env)"; export CUMU_BACKEND=host; "$3"' - \
        "$cumu" "$tmp/libbig.so" "$prog"
    check "which fails without the tunable" 1 'static TLS' -- sh -c 'export LD_PRELOAD="$2"; eval "$("$1" env)"
        unset GLIBC_TUNABLES; "$3" || exit 1' - "$cumu" "$tmp/libbig.so" "$prog"
    check "tunables that are set stay" 0 'GLIBC_TUNABLES=glibc\.malloc\.perturb=1:glibc\.rtld\.optional_static_tls=[0-9]+ ' -- \
        env GLIBC_TUNABLES=glibc.malloc.perturb=1 "$cumu" run -n "$prog"
    check "a larger one, too" 0 'GLIBC_TUNABLES=glibc\.rtld\.optional_static_tls=99999 ' -- \
        env GLIBC_TUNABLES=glibc.rtld.optional_static_tls=99999 "$cumu" run -n "$prog"
fi
static=
for lib in "$B"/lib/cumu/*.so "$B"/lib/cumu/host/*.so* "$B"/lib/cumu/facade/*.so*; do
    readelf -d "$lib" 2>/dev/null | grep -q STATIC_TLS && static="$static $lib"
done
check "none of our libraries has static TLS" 0 '^$' -- echo "${static# }"

# ---- limits: of the address space in KB, of files in blocks of 1 KB, of descriptors
for kb in 1000000 4000000 13000000 100000000; do
    check "$kb KB of address space" 0 '^PASS' -- sh -c 'ulimit -v "$1"; shift; exec "$@"' - $kb $run "$prog"
done
for blocks in 20000 200000; do # dash counts 512 bytes
    check "files of $blocks blocks at most" 0 '^PASS' -- sh -c 'ulimit -f "$1"; shift; exec "$@"' - $blocks $run "$prog"
done
rm -rf "$tmp/cache"
check "no files at all: a message, no signal" 0 'device memory cannot be had: .*File too large \(ulimit -f' 'status 1$' -- \
    sh -c '{ (ulimit -f 0; "$@"); echo status $?; } 2>&1 | cat' - $run "$prog"
if $CC -o "$tmp/comm" -x c - -x none "$B/lib/cumu/facade/libnccl.so.2" -Wl,--allow-shlib-undefined <<'END'
int printf(const char *, ...), ncclCommInitAll(void **, int, const int *);
void *comms[12];
int main(void) { return printf("ncclCommInitAll: %d\n", ncclCommInitAll(comms, 12, 0)) < 0; }
END
then
    export CUMU_HOST_DEVICES=12
    check "NCCL: the soft limit of files is not for files in memory" 0 '^ncclCommInitAll: 0$' -- \
        sh -c 'ulimit -S -f 1000; exec "$@"' - $run "$tmp/comm"
    check "NCCL: the hard one is a message and ncclSystemError" 0 '^ncclCommInitAll: 2$' \
        'cannot join: no shared memory: File too large' -- sh -c 'ulimit -f 16000; exec "$@"' - $run "$tmp/comm"
    unset CUMU_HOST_DEVICES
fi
check "eight descriptors" 0 '^PASS' -- sh -c 'ulimit -n 8; exec "$@"' - $run "$prog"
if $CC -o "$tmp/refuse" "$(dirname "$0")/refuse.c" 2>/dev/null && "$tmp/refuse" 9999 1 /bin/true; then
    set -- $(printf '#include <sys/syscall.h>\nSYS_memfd_create SYS_clone3 SYS_close_range\n' | $CC -E -P - | tail -n 1)
    check "memfd_create refused: a message" 1 'device memory cannot be had: memfd_create: Operation not permitted' -- \
        "$tmp/refuse" "$1" 1 $run "$prog"
    check "clone3 refused with EPERM: a message" 1 'no thread mu-stream: Operation not permitted .*clone3' -- \
        "$tmp/refuse" "$2" 1 $run "$prog"
    check "clone3 refused with ENOSYS" 0 '^PASS' -- "$tmp/refuse" "$2" 38 $run "$prog"
    rm -rf "$tmp/cache"
    check "close_range refused" 0 '^PASS' -- "$tmp/refuse" "$3" 38 $run "$prog"
else
    echo "skip refused calls: no seccomp"
fi

# ---- folders that others may exchange
mkdir -p "$tmp/open/sub"
chmod 777 "$tmp/open"
check "a cache below a folder that all may write to is not used" 0 '^PASS' 'another user can exchange it' -- \
    env CUMU_CACHE_DIR="$tmp/open/sub/c" $run "$prog"
check "nothing was kept there" 0 '^0$' -- sh -c 'ls "$1" | wc -l' - "$tmp/open/sub/c"
ln -s open "$tmp/link"
check "nor by a link" 0 'another user can exchange it' -- env CUMU_CACHE_DIR="$tmp/link/sub/c" $run "$prog"
chmod 1777 "$tmp/open"
check "one with the sticky bit is used, as /tmp is" 0 '^PASS' -- env CUMU_CACHE_DIR="$tmp/open/sub/c" $run "$prog"
check "and has the kernel" 0 '^1$' -- sh -c 'ls "$1" | wc -l' - "$tmp/open/sub/c"
exit $bad
