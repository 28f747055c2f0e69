#!/bin/sh
# Cancels threads inside CUDA calls: no lock stays held, no stream stuck, nothing half done.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

# glibc's cancellation points (POSIX.1-2017, 2.9.5, and those of its optional ones and of glibc's own that are), without
# what of stdio reads text.
points='accept accept4 clock_nanosleep close connect copy_file_range creat dlclose dlmopen dlopen dprintf epoll_pwait
epoll_wait fallocate fclose fcntl fdatasync fflush fopen fprintf fputc fputs fread freopen fsync fwrite getrandom lockf
mkostemp mkstemp mq_receive mq_send msgrcv msgsnd msync nanosleep open open_by_handle_at openat pause pclose perror poll
popen posix_fallocate ppoll pread preadv printf pselect pthread_clockjoin_np pthread_cond_clockwait
pthread_cond_timedwait pthread_cond_wait pthread_join pthread_testcancel pthread_timedjoin_np putc putchar puts pwrite
pwritev read readv recv recvfrom recvmmsg recvmsg select sem_clockwait sem_timedwait sem_wait send sendmmsg sendmsg
sendto sigsuspend sigtimedwait sigwait sigwaitinfo sleep splice sync_file_range syslog system tcdrain tee tmpfile usleep
vdprintf vfprintf vmsplice vprintf wait wait3 wait4 waitid waitpid write writev'
for folder in "$B/obj"/*; do
    case ${folder##*/} in
    cli | tools | generator | tests | cancel) ;; # programs, and the points themselves
    *) find "$folder" -name '*.o' -exec nm -u {} + ;;
    esac
done |
    sed -nE 's/^ *U (__)?([a-z0-9_]+)$/\2/p' | sed -E 's/(64)?(_chk|_2)?$//' | sort -u >"$tmp/called"
# shellcheck disable=SC2086
printf '%s\n' $points | sort >"$tmp/points"
sed -nE 's/^(POINT|VARYING)\([^,]*, ([a-z0-9_]+),.*/\2/p' "$here/../../shim/cancel/points.c" | sort >"$tmp/safe"
comm -12 "$tmp/called" "$tmp/points" | comm -23 - "$tmp/safe" >"$tmp/out"
if [ -s "$tmp/called" ] && [ -s "$tmp/safe" ] && ! [ -s "$tmp/out" ]; then
    echo "ok the libraries call no cancellation point that shim/cancel/points.c lacks"
else
    echo "not ok called, but not in shim/cancel/points.c: $(tr '\n' ' ' <"$tmp/out")"
    bad=1
fi

lib=$B/lib/cumu/facade
if [ ! -e "$B/lib/cumu/host/libmublas.so.1" ]; then
    echo "skip calls that are cancelled: cuBLAS is one of them, and no OpenBLAS is here"
    exit $bad
fi
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread -I"$B/gen" -o "$tmp/cancel" "$here/cancel.c" \
    "$lib/libcuda.so.1" "$lib/libnccl.so.2" "$lib/libcublas.so.13" -Wl,--allow-shlib-undefined
export CUMU_HOST_DEVICES=2 CUMU_CACHE_DIR="$tmp/cache"
mode() { # NAME ROUNDS [new]
    name=$1
    shift
    # shellcheck disable=SC2086
    check "cancelled: $name" 0 '^done$' -- "$cumu" run --backend host -- "$tmp/cancel" "$@"
}
CUMU_JIT=0 mode "the interpreter" 300
CUMU_JIT=0 CUMU_LOG=debug CUMU_LOG_FILE="$tmp/log" CUMU_TRACE="$tmp/trace" mode "with log and trace" 100
if command -v cc >/dev/null 2>&1; then
    CUMU_JIT="wait" mode "compiled code" 100
    CUMU_JIT="wait" mode "while it is compiled" 4 new
    CUMU_JIT=1 mode "compiled in the background" 20 new
fi
exit $bad
