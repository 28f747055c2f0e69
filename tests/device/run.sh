#!/bin/sh
# Kernels on a MUSA device, as far as a machine without one can tell: unmodified CUDA programs over a driver that
# takes what the stand-in for mcc (or MTRTC) has compiled and runs it; the cache; every way it can go wrong.
# shellcheck disable=SC2086 # $run is words
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

command -v "${CXX:-g++}" >/dev/null 2>&1 || { echo "skip: no C++ compiler"; exit 77; }
unset MUSA_PATH MUSA_INSTALL_PATH CUMU_MCC CUMU_MUSA_COMPILER CUMU_BACKEND CUDA_MODULE_LOADING || true

# An SDK: the runtime and MCCL are the CPU's, the driver is the one with a device, mcc is the stand-in.
sdk=$tmp/sdk
mkdir -p "$sdk/bin" "$sdk/lib" "$sdk/rtc/bin"
cp "$B"/lib/cumu/host/libmusart.so.5 "$B"/lib/cumu/host/libmccl.so.2 "$B/tests/device/libmusa.so.1" "$sdk/lib/"
for at in "$sdk" "$sdk/rtc"; do
    cp "$here/mcc" "$at/bin/mcc"
    realpath "$here/.." >"$at/tests"
    echo good >"$at/mode"
done
export MUSA_HOME="$sdk" CUMU_CACHE_DIR="$tmp/cache" DEVICE_LOG="$tmp/device"
run="$cumu run --backend musa --"
mode() { echo "$1" >"$sdk/mode"; }
# calls NAME WANT: how often the compiler was called since the last time.
calls() {
    n=0
    [ ! -e "$sdk/calls" ] || n=$(grep -c . "$sdk/calls")
    rm -f "$sdk/calls"
    if [ "$n" = "$2" ]; then echo "ok $1"; else echo "not ok $1: $n calls, want $2"; bad=1; fi
}
# kernels NAME WANT MOST: that were compiled since the last time, in how many runs at most.
kernels() {
    n=$(awk '{ n += $1 } END { print n + 0 }' "$sdk/kernels")
    runs=$(grep -c . "$sdk/kernels")
    rm -f "$sdk/kernels" "$sdk/calls"
    if [ "$n" = "$2" ] && [ "$runs" -le "$3" ]; then echo "ok $1"; else echo "not ok $1: $n kernels in $runs runs, want $2"; bad=1; fi
}
# on_device NAME LINE COUNT: how often the driver noted that (what, kernel, shared memory) since it was removed.
on_device() {
    n=$(grep -c "^$2\$" "$tmp/device" || :)
    if [ "$n" = "$3" ]; then echo "ok $1"; else echo "not ok $1: $n, want $3"; bad=1; fi
}

# ---- programs ----
passed=0 all=0
for f in vectoradd lz4 raw matmul reduce histogram mandelbrot nbody pipeline symbols language errors driver capture \
    graphs print spawn static_runtime nested sass_only texture "faults address" "faults trap" "faults assert"; do
    file=${f%% *}
    [ -x "$fix/$file" ] || continue
    says=$file
    case $file in lz4 | raw | static_runtime) says=vectoradd ;; esac
    check "$f" 0 "^PASS $says\$" -- $run "$fix/$file" ${f#"$file"}
    all=$((all + 1))
    grep -q "^PASS $says\$" "$tmp/out" && passed=$((passed + 1))
done
echo "# $passed of $all fixtures pass"
"${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/calls" "$here/../devrt/calls.c" -ldl
check "kernels that launch kernels are refused by name" 1 '^launch: 801' \
    'gap: kernel: waits: .*call of `cuda[A-Za-z]*`: MUSA devices have no kernels that launch kernels' -- \
    $run "$tmp/calls" "$here/../devrt/first.ptx" waits
CUMU_HOST_DEVICES=4 check "NCCL among four devices" 0 '^PASS tensor_parallel$' -- $run "$fix/tensor_parallel"
rm -f "$sdk/calls" "$tmp/device"

check "a second process" 0 '^PASS vectoradd$' -- $run "$fix/vectoradd"
on_device "runs the device's code" "run cumu__Z3addPKfS0_Pfi 0" 1
calls "and finds it compiled" 0
echo '# another release' >>"$sdk/bin/mcc"
check "another toolkit" 0 '^PASS vectoradd$' -- $run "$fix/vectoradd"
calls "compiles again" 1
check "another device" 0 '^PASS vectoradd$' -- env DEVICE_CC=22 $run "$fix/vectoradd"
if grep -q -e '--offload-arch=mp_22 ' "$sdk/calls"; then echo "ok for its architecture"; else echo "not ok for its architecture"; bad=1; fi
calls "compiles again" 1
for cc in 32 41 42 43 51; do
    check "a device to come, mp_$cc" 0 '^PASS vectoradd$' -- env DEVICE_CC=$cc $run "$fix/vectoradd"
done
rm -f "$sdk/calls"
check "another architecture by option" 0 '^PASS vectoradd$' -- env CUMU_MUSA_ARCH=31 CUMU_MCC_FLAGS='-mllvm -x' \
    CUMU_CACHE_DIR="$tmp/option" $run "$fix/vectoradd"
if grep -q -e '--offload-arch=mp_31 .*-ffp-contract=off -mllvm -x -c ' "$sdk/calls"; then
    echo "ok and flags by option"
else
    echo "not ok and flags by option"
    bad=1
fi
check "the vendor's flags" 0 '^PASS vectoradd$' -- env CUMU_MCC_FLAGS=vendor CUMU_CACHE_DIR="$tmp/option" $run "$fix/vectoradd"
if grep -q -e '-ffp-contract=off -mllvm -mtgpu-if-convert=1 .*-misched=mtgpu-max-ilp -c ' "$sdk/calls"; then
    echo "ok by one word"
else
    echo "not ok by one word"
    bad=1
fi
rm -f "$sdk/calls"
check "ahead of time" 0 ' 1 compiled, 0 were there' -- "$cumu" cache warm --target mp_21 "$fix/vectoradd"
calls "by the same compiler" 1
check "a device of that kind" 0 '^PASS vectoradd$' -- env DEVICE_CC=21 CUMU_JIT=0 $run "$fix/vectoradd"
calls "needs none" 0
rm -rf "$tmp/cache"
check "a trace shows the compilation and the tier" 0 'compile _Z3addPKfS0_Pfi compiled in [0-9]+ ms' \
    'kernel _Z3addPKfS0_Pfi .* shared 0 tier musa stream NULL' -- \
    "$cumu" trace --backend musa --filter kernel:,compile: "$fix/vectoradd"

# ---- doctor: kernels on the device ----
# The whole of it: 43 kernels as programs' are, some in MUSA C++; the report keeps within its two minutes itself.
# Here they may take longer: a machine under load is no fault.
export CUMU_TEST_DOCTOR_SECONDS=1000 LIMIT=200
check "doctor runs kernels" 0 'the first is .*, mp_31$' '^  - 43 of 43 kernels' 'compiles 22 of 22' \
    '^  - mcc: a product and a sum, each rounded: right$' '^  - mcc: operator / of f32: right$' \
    '__fadd_rz and its like: right$' \
    '^  - mcc: atomicAdd of float: right$' '^  - mcc: atomicAdd of __half: right$' '^  - mcc: fragments of __musa_wmma_m16n8k16_mma: right$' \
    'the compiler takes [0-9]+ ms for a kernel, [0-9]+ ms of which' '^  - mcc: __shfl_up_sync: right$' '^  - mcc: bits of __ballot_sync: 32$' \
    '^  - mcc: __musa_memcpy_g2s: right$' '^  - mcc: a return inside a condition: right$' -- "$cumu" doctor -o "$tmp/report"
check "what the toolkit has of its own" 0 '^directed	right: ' '^div32	right: ' '^half2	right: ' '^copy	right: ' '^mma-fp8	right: ' -- \
    "$B/libexec/cumu-tool" --native mp_31 all
DEVICE_IDLE=1 check "and sees what is wrong" 0 'kernel "a kernel": wrong: thread 0 has 0x0, not 0x7 .no kernel runs' \
    '^  - 0 of 43 kernels' -- "$cumu" doctor -o "$tmp/report"
mode fail
check "or not compiled" 0 "^a kernel	no: not compiled: .*mcc: status 1: error: no such builtin" -- \
    env CUMU_CACHE_DIR="$tmp/doctor" "$cumu" doctor -o -
absent "or a ladder" '^a kernel by -O2	[0-9]'
mode garbage
check "or not taken" 0 '^a kernel	no: the driver answers 200$' -- env CUMU_CACHE_DIR="$tmp/doctor" "$cumu" doctor -o -
mode hang
check "a compiler that hangs is not waited for longer than the report may take" 0 \
    '^a kernel	not tried: no time was left' '^== end' -- env CUMU_TEST_DOCTOR_SECONDS=3 CUMU_CACHE_DIR="$tmp/doctor" "$cumu" doctor -o -
mode good
unset CUMU_TEST_DOCTOR_SECONDS LIMIT

# ---- the driver API ----
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$here/../../shim" -I"$B/gen" -o "$tmp/client" "$here/client.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined -pthread
rm -f "$sdk/calls" "$tmp/device"
check "PTX text" 0 '^load 0$' '^launch 0 value 149$' '^unload 0$' -- $run "$tmp/client"
on_device "has its static shared memory in front of the 16 bytes that are asked for" "run cumu_both 32" 1
on_device "is unloaded with its module" "unload cumu_both 0" 1
check "attributes and occupancy, with static shared memory in front" 0 \
    '^static 4 threads 1024 set 0 most 50000 fewer 1 left 1$' '^hint 0 1$' -- $run "$tmp/client" attributes
DEVICE_PLAIN=1 check "attributes that the driver does not know" 0 \
    '^static 4 threads 1024 set 0 most 50000 fewer 1 left 1$' -- $run "$tmp/client" attributes
check "arguments in one buffer" 0 '^packed 0 value 649 small 1$' -- $run "$tmp/client" packed
check "warps of 128 are four of ours" 0 '^warp 32$' '^launch 0 value 149$' -- env DEVICE_CC=22 $run "$tmp/client" warp
check "a first launch inside a capture" 0 '^capture 0 0 nodes 1 asked 0 shared 64 made 0 ran 0 value 1149$' -- \
    $run "$tmp/client" capture
on_device "which adds to it as well" "run cumu_both 80" 1
check "an S80's limits are told" 0 '^limit 0 28672 limit 0 28672 limit 0 8192 limit 0 64 $' -- \
    sh -c "DEVICE_CC=21 $run $tmp/client limits | tr '\\n' ' '"
check "an S4000's" 0 '^limit 0 73728 limit 0 73728 limit 0 8192 limit 0 64 $' -- \
    sh -c "DEVICE_CC=22 $run $tmp/client limits | tr '\\n' ' '"
check "what a driver says itself stays" 0 '^limit 0 49152 limit 0 232448 limit 0 65536 limit 0 2 $' -- \
    sh -c "$run $tmp/client limits | tr '\\n' ' '"
CUMU_HOST_DEVICES=2 check "variables of each device" 0 '^devices 149 110$' -- $run "$tmp/client" devices
rm -rf "$tmp/cache" "$sdk/calls"
check "first launches of eight threads" 0 '^threads 0 value 150$' -- $run "$tmp/client" threads
calls "compile once" 1
check "lazy loading is the default" 0 '^mode 2$' -- $run "$tmp/client" mode
check "eager loading" 0 '^mode 1$' -- env CUDA_MODULE_LOADING=EAGER $run "$tmp/client" mode
rm -f "$sdk/calls" "$sdk/kernels"
check "of a program's kernels" 0 '^PASS language$' -- env CUDA_MODULE_LOADING=EAGER CUMU_CACHE_DIR="$tmp/eager" $run "$fix/language"
kernels "is all of them" 7 6

# ---- several kernels by one run of the compiler ----
warm="env CUMU_CACHE_DIR=$tmp/joined $cumu cache warm --target mp_31 $fix/language"
for m in good joined joined-crash one:cumu__Z5votesPj; do
    mode "$m"
    rm -rf "$tmp/joined" "$sdk/kernels"
    check "kernels together, a compiler that is $m" 0 '^7 kernels for mp_31: 7 compiled' -- $warm
    case $m in
    good) kernels "takes fewer runs than kernels" 7 6 ;;
    esac
    rm -f "$sdk/kernels"
    check "each is found by itself, $m" 0 '^PASS language$' -- env CUMU_JIT=0 CUMU_CACHE_DIR="$tmp/joined" $run "$fix/language"
    check "and by a second warming, $m" 0 '^7 kernels for mp_31: 0 compiled, 7 were there' -- \
        env CUMU_CACHE_DIR="$tmp/joined" "$cumu" cache warm --target mp_31 "$fix/language"
done
mode joined-hang
rm -rf "$tmp/joined"
CUMU_COMPILE_SECONDS=8 check "a compiler that hangs on several" 0 '^7 kernels for mp_31: 7 compiled' -- $warm
mode good
rm -rf "$tmp/joined"
check "together again" 0 ' 7 compiled' -- $warm
check "without a compiler" 0 '^PASS language$' -- env CUMU_MCC=/nowhere CUMU_CACHE_DIR="$tmp/joined" $run "$fix/language"
check "links are listed" 0 '(2|3|4) kernels' -- env CUMU_CACHE_DIR="$tmp/joined" "$cumu" cache list
for f in "$tmp/joined"/*.kernel; do [ "$(wc -c <"$f")" = 256 ] || rm "$f"; done
rm -f "$sdk/kernels" "$sdk/calls"
check "a cache that has lost the objects" 0 '^PASS language$' -- env CUMU_CACHE_DIR="$tmp/joined" $run "$fix/language"
[ -s "$sdk/kernels" ] && echo "ok compiles again" || { echo "not ok compiles again"; bad=1; }
rm -f "$sdk/kernels" "$sdk/calls"

# ---- mcc's bundles: as public binaries have them, and damaged ----
"${CC:-cc}" -std=c11 -Wall -Wextra -o "$sdk/bundle" "$here/bundle.c"
# bundle KIND: a launch through a bundle of that kind; with patterns an error that has them.
bundle() {
    kind=$1
    shift
    mode "bundle:$kind"
    if [ $# = 0 ]; then
        check "a bundle: $kind" 0 '^launch 0 value 149$' -- env CUMU_CACHE_DIR="$tmp/bundle.$kind" $run "$tmp/client"
    else
        check "a bundle: $kind" 1 '^launch 218 ' "$@" -- env CUMU_CACHE_DIR="$tmp/bundle.$kind" $run "$tmp/client"
    fi
}
for k in good several hyphen; do bundle $k; done
bundle truncated 'mcc: its output is a damaged bundle'
bundle wild 'mcc: its output is a damaged bundle'
bundle count 'mcc: its output is a damaged bundle'
bundle other 'mcc: its output has no code for mp_31, but for musa-mtgpu-mt-musa--mp_99'
bundle nothing 'mcc: its output is a bundle without device code'
bundle compressed 'mcc: its output is a compressed bundle'
mode good
DEVICE_BUNDLES=1 check "a driver that takes bundles alone" 0 '^launch 0 value 149$' -- $run "$tmp/client"

# ---- matrix products: by the device's units, once a probe found them right ----
# forms NAME WANT: of the toolkit's own, in the kernel that was compiled last.
forms() {
    n=$(tail -n 1 "$sdk/forms")
    rm -f "$sdk/forms"
    if [ "$n" = "$2" ]; then echo "ok $1"; else echo "not ok $1: $n forms, want $2"; bad=1; fi
}
for mma in auto device scalar; do
    rm -rf "$tmp/mma" "$sdk/calls"
    LIMIT=200 check "a product, CUMU_MMA=$mma" 0 '^launch 0 value 16$' -- env CUMU_MMA=$mma CUMU_CACHE_DIR="$tmp/mma" $run "$tmp/client" product
    case $mma in
    auto) calls "compiles both forms of five types" 11; forms "and takes what was right" 5 ;;
    device) calls "asks nobody" 1; forms "and takes them all" 5 ;;
    *) calls "asks nobody" 1; forms "and takes none" 0 ;;
    esac
done
for units in no-units wrong-units; do
    mode $units
    rm -rf "$tmp/mma"
    LIMIT=200 check "a device with $units" 0 '^launch 0 value 16$' -- env CUMU_CACHE_DIR="$tmp/mma" $run "$tmp/client" product
    forms "does without" 0
    rm -f "$sdk/calls"
    check "the next process" 0 '^launch 0 value 16$' -- env CUMU_CACHE_DIR="$tmp/mma" $run "$tmp/client" product
    calls "does not ask again" 0
done
mode good

# ---- what goes wrong: an error of CUDA's, and the log names tool, command and first error ----
command='options: -mtgpu --cuda-device-only --offload-arch=mp_31'
export CUMU_CACHE_DIR="$tmp/empty"
mode fail
check "a compiler that fails" 1 'add.* cannot be compiled for mp_31: .*sdk/bin/mcc: status 1: error: no such builtin' \
    "$command" 'cudaErrorInvalidPtx' -- $run "$fix/vectoradd"
rm -f "$sdk/calls"
check "at a load: in its log, too" 1 '^load 0$' '^launch 218 ' '^log cumu: both: .*mcc: status 1: error: no such builtin' -- $run "$tmp/client"
calls "a fault of the text is asked about once" 1
mode spelling
check "a compiler that has another spelling" 0 '^launch 0 value 149$' -- env CUMU_CACHE_DIR="$tmp/spelling" $run "$tmp/client"
calls "is asked twice" 2
check "the next process" 0 '^launch 0 value 149$' -- env CUMU_CACHE_DIR="$tmp/spelling" $run "$tmp/client"
calls "finds what was made" 0
check "and a kernel of its own" 0 '^PASS vectoradd$' -- env CUMU_CACHE_DIR="$tmp/spelling" $run "$fix/vectoradd"
calls "is compiled in the spelling that was kept" 1
mode crash
check "a compiler that crashes" 0 '^launch 0 value 149$' 'compiled with -O0 only: .*status 139' -- \
    env CUMU_LOG=warn CUMU_CACHE_DIR="$tmp/crash" $run "$tmp/client"
calls "is asked for less" 4
check "which is remembered" 0 '^launch 0 value 149$' -- env CUMU_CACHE_DIR="$tmp/crash" $run "$tmp/client"
calls "by the kernel" 0
mode nested
check "a compiler that crashes on nested conditions" 0 '^launch 0 value 149$' \
    'compiled with -O2 and flattened control flow only: .*status 1: Stack dump' -- \
    env CUMU_LOG=warn CUMU_CACHE_DIR="$tmp/nested" $run "$tmp/client"
calls "gets none" 3
check "which is remembered, too" 0 '^launch 0 value 149$' -- env CUMU_CACHE_DIR="$tmp/nested" $run "$tmp/client"
calls "by the kernel" 0
mode good
check "flattened control flow by option" 0 '^PASS language$' -- \
    env CUMU_MUSA_FLAT='_Z3xyz*,_Z*' CUMU_CACHE_DIR="$tmp/flat" $run "$fix/language"
check "is not what others get" 0 '^PASS vectoradd$' -- env CUMU_MUSA_FLAT='_Z9nobody*' CUMU_CACHE_DIR="$tmp/flat" $run "$fix/vectoradd"
rm -f "$sdk/calls"
mode slow
CUMU_COMPILE_SECONDS=2 check "a compiler that hangs on one level" 0 '^launch 0 value 149$' 'compiled with -O1 only: .*too long' -- \
    env CUMU_LOG=warn CUMU_CACHE_DIR="$tmp/slow" $run "$tmp/client"
mode nothing
check "or gives nothing" 0 '^launch 0 value 149$' 'compiled with -O1 only: .*neither an ELF file nor a fat binary' -- \
    env CUMU_LOG=warn CUMU_CACHE_DIR="$tmp/nothing" $run "$tmp/client"
mode hang
CUMU_COMPILE_SECONDS=1 check "a compiler that hangs" 1 '^load 0$' '^launch 218 ' '^log .*mcc: took too long' -- $run "$tmp/client"
mode garbage
check "a driver that does not take the code" 1 'refused its mubin for mp_31' 'cudaErrorInvalidKernelImage|cudaErrorNoKernelImageForDevice' -- $run "$fix/vectoradd"
rm -rf "$tmp/empty"
mode good
check "a kernel that MUSA has no counterpart of" 0 '^load 0$' '^log cumu: sizes: has no code for mp_31: PTX line 8' \
    '^sizes 0 222$' '^launch 0 value 77$' -- $run "$tmp/client" refused
check "or the end, if that is wanted" 86 '^load 0$' 'sizes: cannot be used \(222\): has no code for mp_31: PTX line 8.*MISSING' \
    -- env CUMU_MISSING_KERNEL=exit stdbuf -oL $run "$tmp/client" refused
check "an architecture that nobody knows" 1 '^load 209$' '^log .*mp_17 is no architecture' -- env DEVICE_CC=17 $run "$tmp/client"
check "a block of too many threads never reaches the driver" 0 '^wide 1 1$' -- env CUMU_CACHE_DIR="$tmp/wide" $run "$tmp/client" wide
check "forbidden to compile" 1 '^load 223$' '^log .*CUMU_JIT=0' -- env CUMU_JIT=0 $run "$tmp/client"
check "for machines without" 0 ' 1 compiled, 0 were there' -- env CUMU_CACHE_DIR="$tmp/carried" "$cumu" cache warm --target mp_31 "$fix/vectoradd"
rm "$sdk/bin/mcc"
check "no compiler, but warmed ahead of time" 0 '^PASS vectoradd$' -- env PATH=/usr/bin:/bin CUMU_CACHE_DIR="$tmp/carried" $run "$fix/vectoradd"
check "what was not" 1 'cudaErrorJitCompilerNotFound' -- env PATH=/usr/bin:/bin CUMU_CACHE_DIR="$tmp/carried" $run "$fix/matmul"
check "no compiler" 1 '^load 221$' '^log .*no MUSA compiler' -- env PATH=/usr/bin:/bin $run "$tmp/client"
check "one error, whatever is launched" 1 'cudaErrorJitCompilerNotFound' -- env PATH=/usr/bin:/bin $run "$fix/vectoradd"
check "a named compiler that is none" 1 '^load 221$' 'CUMU_MCC names no program' -- env CUMU_MCC=/nowhere/mcc $run "$tmp/client"

# ---- MTRTC, in a process of its own ----
"${CC:-cc}" -std=c11 -Wall -Wextra -shared -fPIC -o "$sdk/lib/libmtrtc.so.5" "$here/mtrtc.c" -ldl
check "by MTRTC where there is no mcc" 0 '^launch 0 value 149$' -- $run "$tmp/client"
check "which a program's kernels need, too" 0 '^PASS matmul$' -- $run "$fix/matmul"
check "ahead of time" 0 ' 1 compiled, 0 were there' -- "$cumu" cache warm --target mp_31 "$fix/vectoradd"
for how in 'fail:error: MTRTC does not like it' 'crash:status 134' 'hang:took too long'; do
    echo "${how%%:*}" >"$sdk/rtc/how"
    CUMU_COMPILE_SECONDS=2 check "MTRTC: ${how%%:*}" 1 '^load 0$' '^launch 218 ' "^log .*${how#*:}" -- env CUMU_CACHE_DIR="$tmp/rtc" $run "$tmp/client"
done
check "only mcc is wanted" 1 '^load 221$' -- env CUMU_MUSA_COMPILER=mcc $run "$tmp/client"
cp "$here/mcc" "$sdk/bin/mcc"
rm -f "$sdk/calls" "$sdk/rtc/how"
check "MTRTC is wanted though there is an mcc" 0 '^launch 0 value 149$' -- env CUMU_MUSA_COMPILER=mtrtc CUMU_CACHE_DIR="$tmp/rtc" $run "$tmp/client"
calls "which is not called" 0
exit $bad
