#!/bin/sh
# Places that lack something: calls that a container refuses, no execution in /tmp and home, no /proc, no /sys, no
# folder to write to, another user, another C library.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -o "$tmp/refuse" "$here/refuse.c"
here=$(pwd)
case $B in /*) ;; *) B=$here/$B ;; esac
cumu=$B/bin/cumu
program=$B/tests/fixtures/vectoradd
export CUMU_CACHE_DIR="$tmp/cache"

if "$tmp/refuse" -- true 2>/dev/null; then
    for jit in 0 wait; do
        CUMU_JIT=$jit check "seccomp: docker's profile, CUMU_JIT=$jit" 0 '^PASS' -- \
            "$tmp/refuse" docker -- "$cumu" run --backend host -- "$program"
        CUMU_JIT=$jit check "no code in memory that is of no file (execmem), CUMU_JIT=$jit" 0 '^PASS' -- \
            "$tmp/refuse" execmem -- "$cumu" run --backend host -- "$program"
    done
    for call in clone3 mincore madvise fallocate membarrier sched_getaffinity pidfd_open; do
        CUMU_JIT=0 check "seccomp: no $call" 0 '^PASS' -- "$tmp/refuse" $call -- "$cumu" run --backend host -- "$program"
    done
    CUMU_JIT=0 check "seccomp: no memfd_create is said" 1 'memfd_create: Function not implemented' -- \
        "$tmp/refuse" memfd_create -- "$cumu" run --backend host -- "$program"
else
    echo "skip places: system calls cannot be refused here"
fi

# within NAME COMMANDS: in a mount namespace of its own, after the commands.
unset CUMU_CACHE_DIR
within() {
    CUMU_JIT="wait" check "place: $1" 0 '^PASS' -- unshare -m sh -c "$2; cd /; exec $cumu run --backend host -- $program"
}
if unshare -m true 2>/dev/null; then
    case $B in
    /tmp/* | "$HOME"/*) echo "skip places: the build lies where nothing would run" ;;
    *) within "nothing runs from /tmp and home" "mount -t tmpfs -o noexec none /tmp; mount -t tmpfs -o noexec none $HOME" ;;
    esac
    within "no /proc" "umount -l /proc"
    within "an empty /proc" "mount -t tmpfs none /proc"
    within "no /sys" "umount -l /sys"
    within "no devices but null" "mount -t tmpfs none /dev; mknod -m 666 /dev/null c 1 3"
    within "nothing to write to" "mount -o bind,ro / /"
    # The setting is the process namespace's own.
    if unshare -m -p -f sh -c 'mount -t proc none /proc && echo 2 >/proc/sys/vm/memfd_noexec' 2>/dev/null; then
        CUMU_JIT="wait" check "place: files in memory are never to be executed" 0 '^PASS' -- unshare -m -p -f sh -c \
            'mount -t proc none /proc; echo 2 >/proc/sys/vm/memfd_noexec; exec "$@"' - "$cumu" run --backend host -- "$program"
    else
        echo "skip places: no vm.memfd_noexec here"
    fi
else
    echo "skip places: no mount namespaces here"
fi
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1 && setpriv --reuid=65534 test -r "$program"; then
    CUMU_JIT="wait" HOME=/nonexistent check "place: a user without a home" 0 '^PASS' -- \
        setpriv --reuid=65534 --regid=65534 --clear-groups "$cumu" run --backend host -- "$program"
fi
printf 'int main(void) { return 0; }\n' >"$tmp/main.c"
if command -v musl-gcc >/dev/null 2>&1 && musl-gcc -o "$tmp/musl" "$tmp/main.c"; then
    check "musl: glibc is asked for" 126 'linked to musl; cumu needs glibc' -- "$cumu" run --backend host -- "$tmp/musl"
fi
exit $bad
