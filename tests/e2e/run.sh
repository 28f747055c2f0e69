#!/bin/sh
# Unmodified CUDA binaries through `cumu run` on the CPU libraries: results, errors, process behaviour.
# BACKEND=musa: on the SDK that MUSA_HOME names (tests/sdk); LACKS: fixtures that need what it has not.
set -eu
. "$(dirname "$0")/lib.sh"

run="$cumu run --backend ${BACKEND:-host} --"

for f in vectoradd lz4 raw matmul reduce histogram mandelbrot nbody pipeline perthread symbols language errors driver texture capture graphs; do
    name=$f
    case $f in lz4 | raw) name=vectoradd ;; esac
    # shellcheck disable=SC2086
    case " ${LACKS:-} " in
    *" $f "*) check "$f: what the SDK lacks is an error" 1 '^FAIL .*cudaError(NotSupported|StreamCaptureUnsupported)' \
        -- $run "$fix/$f" ;;
    *) check "$f" 0 "^PASS $name\$" -- $run "$fix/$f" ;;
    esac
done

check "print: order and formats" 0 '^before$' \
    '^int -7 hex 0xff char x string text float 1\.500 wide \[    42\|42    \] percent % long 1099511627776$' \
    '^thread 3 of block 0$' -- $run "$fix/print"

# Two devices, and a machine that is not one.
CUMU_HOST_DEVICES=2 check "two devices" 0 '^devices 2$' -- $run "$fix/spawn"
CUMU_HOST_DEVICES=abc check "a wrong device count is named" 1 'CUMU_HOST_DEVICES' -- $run "$fix/spawn"
CUMU_HOST_DEVICES=0 check "no device" 1 'cudaErrorNoDevice' -- $run "$fix/spawn"
CUMU_HOST_MEMORY=16M check "little memory is enough for a little program" 0 '^PASS' -- $run "$fix/vectoradd"

# Faults: CUDA's error, sticky, and the log names kernel, block, thread and address.
check "illegal address" 0 '^PASS faults$' 'wild' 'block.*1.*0.*0' 'thread.*5.*0.*0' '0x10' -- $run "$fix/faults" address
check "trap" 0 '^PASS faults$' -- $run "$fix/faults" trap
check "assert" 0 '^PASS faults$' 'Assertion .*failed' -- $run "$fix/faults" assert
check "misaligned" 0 '^PASS faults$' -- $run "$fix/faults" misaligned
if [ -x "$fix/nested" ]; then
    check "a kernel that launches another" 0 '^PASS nested$' -- $run "$fix/nested"
    # By cumu's own driver. Another has no such thing: refused by name, and its child runs from the host.
    if [ "${BACKEND-host}" = musa ]; then
        check "is refused" 0 'refused' 'gap: .*parent.* launches kernels, which this MUSA library does not do' -- $run "$fix/nested"
    else
        absent "is not refused" 'refused|gap:'
    fi
    check "before it runs, too" 0 'verdict +will run$' -- "$cumu" check "$fix/nested"
else
    echo "skip a kernel that launches another: its fixture needs nvcc"
fi
check "machine code only" 0 '^PASS sass_only$' 'only_sass' -- $run "$fix/sass_only"

# Exit status, signals, children.
check "exit status passes" 7 '^devices' -- $run "$fix/spawn" exit 7
check "signals pass" 143 '^devices' -- $run "$fix/spawn" kill 15
check "children inherit" 0 '^PASS vectoradd$' -- $run "$fix/spawn" exec "$fix/vectoradd"
check "a program of no CUDA runs" 0 '^hello$' -- $run echo hello
absent "and hears nothing of cumu" 'cumu'

# What cumu run refuses.
check "missing program" 127 'no-such-program' -- $run "$tmp/no-such-program"
check "a folder" 126 '.' -- $run "$tmp"
printf 'just text\n' >"$tmp/text"
chmod +x "$tmp/text"
check "not an ELF" 126 'text' -- $run "$tmp/text"
cp "$fix/vectoradd" "$tmp/elf32"
patch_bytes "$tmp/elf32" 4 01
check "a 32-bit ELF" 126 '32' -- $run "$tmp/elf32"
cp "$fix/vectoradd" "$tmp/setuid"
chmod u+s "$tmp/setuid"
check "setuid" 126 'set-?uid' -- $run "$tmp/setuid"
printf 'int main(void){return 0;}' >"$tmp/s.c"
if ${CC:-cc} -static -o "$tmp/static" "$tmp/s.c" 2>/dev/null; then
    check "statically linked" 126 'static' -- $run "$tmp/static"
else
    echo "skip statically linked: no static libc"
fi
check "unknown option" 125 'usage|unknown' -- "$cumu" run --no-such-option -- true
check "-n prints and stops" 0 'LD_PRELOAD=' -- "$cumu" run -n -- "$fix/vectoradd"
absent "-n does not run it" '^PASS'

# By hand, as `cumu env` prints it; and not opted in.
"$cumu" env >"$tmp/env"
check "the environment of cumu env" 0 '^PASS vectoradd$' -- sh -c ". '$tmp/env' && '$fix/vectoradd'"
check "without opting in there is no CUDA here" 1 '^FAIL' 'cumu: ' -- sh -c ". '$tmp/env' && unset CUMU && '$fix/vectoradd'"

# Fat binaries that are damaged: the container starts with 50 ed 55 ba, the entry 16 bytes later.
container=$(last_of "$fix/vectoradd" 50ed55ba0100)
for damage in "bad container magic:0:51ed55ba" \
    "entry runs past the container:24:ffffff7f" "unknown entry kind:16:7700"; do
    cp "$fix/vectoradd" "$tmp/damaged"
    rest=${damage#*:}
    patch_bytes "$tmp/damaged" $((container + ${rest%%:*})) "${rest#*:}"
    # shellcheck disable=SC2086
    check "damaged fat binary: ${damage%%:*}" 1 '^FAIL .*cudaError' 'cumu: ' -- $run "$tmp/damaged"
done
cp "$fix/vectoradd" "$tmp/damaged"
patch_bytes "$tmp/damaged" $(($(last_of "$tmp/damaged" 28b52ffd) + 20)) ffffffffffffffff
# shellcheck disable=SC2086
check "damaged fat binary: corrupt payload" 1 '^FAIL .*cudaError' 'cumu: ' -- $run "$tmp/damaged"

cp "$fix/vectoradd" "$tmp/damaged"
patch_bytes "$tmp/damaged" $((container + 56)) 00001000
patch_bytes "$tmp/damaged" "$(last_of "$tmp/damaged" 28b52ffd)" 01020304
# shellcheck disable=SC2086
check "damaged fat binary: unknown compression" 1 '^FAIL .*cudaError' 'cumu: ' -- $run "$tmp/damaged"

# PTX given at run time.
head=".version 7.0
.target sm_70
.address_size 64
.visible .entry k()
{"
printf '%s\n  .reg .b32 %%r<4>;\n  add.s32 %%r1, %%r2\n  ret;\n}\n' "$head" >"$tmp/syntax.ptx"
check "PTX syntax error" 0 'CUDA_ERROR_INVALID_PTX' 'line 8|:8' -- $run "$fix/driver" "$tmp/syntax.ptx" k
printf '%s\n  .reg .b32 %%r<4>;\n  frobnicate.s32 %%r1, %%r2;\n  ret;\n}\n' "$head" >"$tmp/unknown.ptx"
check "PTX unknown instruction" 0 'CUDA_ERROR_INVALID_PTX' 'frobnicate' -- $run "$fix/driver" "$tmp/unknown.ptx" k
printf '%s\n  .shared .b8 big[4000000];\n  .reg .b32 %%r<4>;\n  mov.u32 %%r1, big;\n  st.shared.u32 [%%r1], %%r1;\n  ret;\n}\n' "$head" >"$tmp/shared.ptx"
check "too much shared memory" 0 'CUDA_ERROR_INVALID_(PTX|VALUE|IMAGE)' 'shared' -- $run "$fix/driver" "$tmp/shared.ptx" k

# What check says agrees with what run did.
for f in vectoradd matmul language driver; do
    check "check $f: will run" 0 'will run' -- "$cumu" check "$fix/$f"
done
check "check sass_only: will not run" 2 'only_sass' 'will not run' -- "$cumu" check "$fix/sass_only"
check "check on no ELF" 2 '.' -- "$cumu" check "$tmp/text"
check "check --format tsv" 0 'verdict' -- "$cumu" check --format tsv "$fix/vectoradd"
if [ -x "$fix/static_runtime" ]; then
    # shellcheck disable=SC2086
    check "a runtime linked in statically is led to the facade" 0 '^PASS vectoradd$' -- $run "$fix/static_runtime"
    check "check sees the static runtime" 0 'static' 'will run' -- "$cumu" check "$fix/static_runtime"
else
    echo "skip check sees the static runtime: the fixture needs nvcc"
fi
exit $bad
