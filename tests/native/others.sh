#!/bin/sh
# Programs that others wrote for MUSA, on cumu's CPU libraries: compiles and runs what lies in a folder, and says what
# became of each. Not part of `make check`; fetches nothing. The folder has any of
#   gpu-compute-driver-bench  tutorial_on_musa  FlagCX
# as their repositories are. usage: B=build tests/native/others.sh FOLDER
# shellcheck disable=SC2086 # lists of words
set -eu
: "${B:=build}" "${LIMIT:=60}"
folder=${1:?usage: others.sh FOLDER}
root=$(cd "$(dirname "$0")/../.." && pwd)
host=$(cd "$B/lib/cumu/host" && pwd)
headers="-I$root/shim/abi/native -I$root/shim -I$(cd "$B/gen" && pwd)"
libraries="-L$host -l:libmusart.so.5 -l:libmusa.so.1 -Wl,-rpath,$host"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cxx="${CXX:-g++} -std=c++17 -w $headers"

# told NAME STEP COMMAND...: ok, or the first error. Benchmarks go on for minutes: one that the limit ends was running.
told() {
    name=$1 step=$2
    shift 2
    limit=$LIMIT status=0
    [ "$step" = run ] || limit=600
    timeout "$limit" "$@" >"$tmp/out" 2>&1 || status=$?
    if [ "$status" = 0 ]; then
        echo "ok $step $name"
    elif [ "$status" = 124 ] && [ "$step" = run ] && ! grep -qaiE 'error|fail' "$tmp/out"; then
        echo "ok $step $name (not done in $limit s)"
    else
        echo "not ok $step $name ($status): $(grep -a -m 1 -iE 'error|fail' "$tmp/out" || tail -n 1 "$tmp/out")"
        return 1
    fi
}

bench=$folder/gpu-compute-driver-bench
if [ -d "$bench" ]; then
    # What it asks libcpuid for stands in a heading only.
    mkdir -p "$tmp/stub" "$tmp/common"
    cat >"$tmp/stub/libcpuid.h" <<'END'
struct cpu_raw_data_t { int none; };
struct cpu_id_t {
    char vendor_str[16], brand_str[64], cpu_codename[64];
    int family, model, stepping, ext_family, ext_model, num_cores, num_logical_cpus, total_logical_cpus, l1_data_cache,
        l1_instruction_cache, l2_cache, l3_cache, l4_cache, l1_assoc, l1_data_assoc,
        l1_instruction_assoc, l2_assoc, l3_assoc, l4_assoc, l1_cacheline, l1_data_cacheline, l1_instruction_cacheline,
        l2_cacheline, l3_cacheline, l4_cacheline, sse_size;
};
static inline int cpuid_present() { return 0; }
static inline int cpuid_get_raw_data(cpu_raw_data_t *) { return -1; }
static inline int cpu_identify(cpu_raw_data_t *, cpu_id_t *) { return -1; }
static inline int cpu_clock() { return 0; }
static inline const char *cpuid_error() { return "no libcpuid"; }
END
    with="-I$tmp/stub -I$bench/common/include"
    for f in "$bench"/common/src/*.cpp; do
        told "${f#"$bench/"}" compile $cxx $with -c -o "$tmp/common/$(basename "$f").o" "$f" || :
    done
    for f in "$bench"/*/*.cpp; do
        name=${f#"$bench/"}
        told "$name" compile $cxx $with -c -o "$tmp/one.o" "$f" || continue
        told "$name" link $cxx -o "$tmp/one" "$tmp/one.o" "$tmp"/common/*.o $libraries -pthread -lstdc++fs -ldl -lrt || continue
        (cd "$bench" && told "$name" run "$tmp/one") || :
    done
fi

tutorial=$folder/tutorial_on_musa
if [ -d "$tutorial" ]; then # what has no device code of its own
    f=$tutorial/musa_quick_start/3_example_fft/main.cpp
    told "${f#"$folder/"}" compile $cxx -o "$tmp/fft" "$f" $libraries -l:libmufft.so.1 &&
        told "${f#"$folder/"}" run "$tmp/fft" && cat "$tmp/out"
fi

flagcx=$folder/FlagCX/flagcx
if [ -d "$flagcx" ]; then # its tuner needs nlohmann's json.hpp
    with="-DUSE_MUSA_ADAPTOR $(find "$flagcx" -type d | sed 's/^/-I/' | tr '\n' ' ')"
    for f in "$flagcx"/adaptor/ccl/m*ccl_adaptor.cc "$flagcx"/adaptor/device/musa_adaptor.cc \
        "$flagcx"/adaptor/tuner/mccl_tuner.cc; do
        [ ! -e "$f" ] || told "${f#"$folder/"}" compile $cxx $with -c -o "$tmp/one.o" "$f" || :
    done
fi

# MCCL by ctypes, as vLLM's port and others call it.
if command -v python3 >/dev/null 2>&1; then
    cat >"$tmp/client.py" <<'END'
import ctypes, sys
musa, mccl = (ctypes.CDLL(sys.argv[1] + "/" + n) for n in ("libmusart.so.5", "libmccl.so.2"))
class Id(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * 128)]
one, comm, p = Id(), ctypes.c_void_p(), ctypes.c_void_p()
def ok(r):
    if r: sys.exit("error %d" % r)
ok(mccl.mcclGetUniqueId(ctypes.byref(one)))
ok(mccl.mcclCommInitRank(ctypes.byref(comm), 1, one, 0))
data = (ctypes.c_float * 4)(1, 2, 3, 4)
ok(musa.musaMalloc(ctypes.byref(p), ctypes.c_size_t(16)))
ok(musa.musaMemcpy(p, data, ctypes.c_size_t(16), 1))
ok(mccl.mcclAllReduce(p, p, ctypes.c_size_t(4), 7, 0, comm, None))
ok(musa.musaDeviceSynchronize())
ok(musa.musaMemcpy(data, p, ctypes.c_size_t(16), 2))
ok(mccl.mcclCommDestroy(comm))
assert list(data) == [1, 2, 3, 4]
END
    told "a ctypes client of MCCL" run python3 "$tmp/client.py" "$host" || :
fi
