#!/bin/sh
# The programs of one maths library's tests, or a slice of the checkers' (hazards), under the sanitizers of the build: they,
# the facades, the core and the CPU libraries. Started without `cumu run`, whose preloading and auditing sanitizers do not go with.
# usage: SAN="-fsanitize=..." maths.sh FOLDER
set -eu
: "${B:=build}" "${CC:=cc}" "${SAN:=}"
here=$(dirname "$0")/../$1
. "$(dirname "$0")/../lib/failing.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0
# Of the sanitizers the programs have what watches memory, and are not optimised: they run for less time than that takes.
san=$(echo "$SAN" | sed 's/fuzzer-no-link,//; s/,undefined//; s/-f[a-z-]*sanitize[a-z-]*=[a-z-]*\(overflow\|undefined\)//g')

lib=$(realpath "$B")/lib/cumu
export CUMU=1 CUMU_BACKEND=host CUMU_LOG=error LD_LIBRARY_PATH="$lib/facade:$lib/host"

# passes NAME COMMAND...
passes() {
    name=$1
    shift
    if "$@" >"$tmp/out" 2>&1; then
        echo "ok $name"
    elif grep -q '^skip' "$tmp/out"; then
        grep '^skip' "$tmp/out"
    else
        echo "not ok $name"
        grep -v '^ok' "$tmp/out" | head -n 40
        bad=1
    fi
}

# A verdict on a run in which an allocation failed: what is wrong then is run.sh's of the folder to say; here the
# sanitizers speak.
unreported() {
    grep -A 20 -m 1 -E 'Sanitizer|runtime error' "$tmp/out" && return 1
    [ "$r" -le 1 ]
}

if [ "$1" = snippets ]; then
    for mode in main manythreads; do passes "snippets $mode" "$B/tests/snippets/linked" "$mode"; done
    exit $bad
fi
# Kernels of each tool that are right and wrong, whose reports are ../hazards/run.sh's to look at: the interpreter's.
if [ "$1" = hazards ]; then
    for name in hazards drawn mutants; do
        # shellcheck disable=SC2086  # flags
        $CC -std=gnu11 -O0 -g -w $san -I"$B/gen" -o "$tmp/$name" "$here/$name.c" "$lib/facade/libcuda.so.1" \
            -Wl,--allow-shlib-undefined
    done
    export CUMU_JIT=0 CUMU_COMPUTE_CAPABILITY=9.0 CUMU_CHECK=memory,race,init,sync
    passes "the checkers: right kernels" "$tmp/hazards" right
    passes "the checkers: drawn kernels" "$tmp/drawn" "${SEED:-5}" 8 "$tmp/want"
    passes "the checkers: right kernels, drawn" "$tmp/mutants" "${SEED:-5}" 16 right
    for tool in race init sync; do
        passes "the checkers: wrong kernels of ${tool}check" env CUMU_CHECK=$tool "$tmp/hazards" wrong ${tool}check
        passes "the checkers: mutants of ${tool}check" env CUMU_CHECK=$tool "$tmp/mutants" "${SEED:-5}" 8 ${tool}check "$tmp/want"
    done
    passes "the checkers: mutants of memcheck" env CUMU_CHECK=memory "$tmp/mutants" "${SEED:-5}" 8 memcheck "$tmp/want"
    export CUMU_COMPUTE_CAPABILITY=10.0
    passes "the checkers: tensor memory" "$tmp/hazards" right tcgen05
    passes "the checkers: wrong kernels of tensor memory" env CUMU_CHECK=race "$tmp/hazards" wrong tcgen05
    exit $bad
fi
# Drawn NCCL programs, in which something runs out or somebody is lost. UCX stays as it is.
if [ "$1" = nccl ]; then
    export CUMU_HOST_DEVICES=8
    for program in grown starved; do
        # shellcheck disable=SC2086  # flags
        $CC -std=c11 -D_GNU_SOURCE -O1 -g -w $san -rdynamic -I"$B/gen" -o "$tmp/$program" "$here/$program.c" \
            "$lib/facade/libnccl.so.2" "$lib/facade/libcudart.so.13" -Wl,--allow-shlib-undefined -ldl -pthread
        passes "nccl/$program, one host" "$tmp/$program" "${SEED:-1000}" 12
        ! ldconfig -p 2>/dev/null | grep -q 'libucp\.so\.0' || CUMU_NCCL_HOST_RANKS=2 UCX_TLS=tcp,self \
            passes "nccl/$program, two ranks a host" "$tmp/$program" "${SEED:-2000}" 8
    done
    exit $bad
fi
# NVTX by its library and by its headers, while a trace listens, in text and in the formats of machines.
if [ "$1" = nvtx ]; then
    export CUMU_TRACE="$tmp/trace" NVTX_INJECTION64_PATH="$lib/libcumu-core.so"
    for name in client deferred; do
        # shellcheck disable=SC2086  # flags
        $CC -std=gnu11 -O0 -g -w $san -o "$tmp/$name" "$here/$name.c" -ldl -pthread
        # shellcheck disable=SC2086  # flags
        $CC -std=gnu11 -O0 -g -w $san -o "$tmp/$name.failing" "$here/$name.c" "$here/../lib/fail_at.c" \
            -Wl,--no-as-needed "$lib/facade/libnvtx3interop.so.1" -Wl,--allow-shlib-undefined -ldl -pthread
    done
    for run in "client linked" "client headers payloads" "client headers counters" deferred "deferred scopes"; do
        name=${run%% *} arguments=$(echo "$run" | sed 's/^[a-z]*//')
        # shellcheck disable=SC2086  # words
        fail_allocations "nvtx/$run" 0 unreported "$tmp/$name.failing" $arguments
    done
    for CUMU_TRACE_FORMAT in text jsonl chrome; do
        export CUMU_TRACE_FORMAT
        for run in "client linked" "client linked wrong" "client linked threads" "client headers" "client headers wrong" \
            "client headers threads" "client headers payloads" "client headers counters" deferred "deferred scopes" \
            "deferred places"; do
            rm -f "$CUMU_TRACE"
            passes "nvtx/$run, $CUMU_TRACE_FORMAT" sh -c "'$tmp'/$run && test -s '$CUMU_TRACE'"
        done
    done
    passes "nvtx/client headers extensions" "$tmp/client" headers extensions
    exit $bad
fi
# What the folder's programs need beside cuBLAS, and their arguments.
more='' arguments='' failing='' hostile='' mutated=''
case $1 in
maths)
    for other in libcufft.so.11 libcurand.so.10 libcusparse.so.12 libcusolver.so.11 libcudnn.so.9; do more="$more $lib/facade/$other"; done
    ;;
cusparselt) more=$lib/facade/libcusparseLt.so.0 failing=$failing_cusparselt ;;
npp) more=$lib/facade/libnppig.so.12 failing=$failing_npp ;;
nvjpeg) more=$lib/facade/libnvjpeg.so.12 failing=$failing_nvjpeg ;;
cufile) more=$lib/facade/libcufile.so.0 failing=$failing_cufile ;;
cudnn) more=$lib/facade/libcudnn.so.9 failing=$failing_cudnn hostile=$hostile_short mutated=$mutated_cudnn ;;
cupti)
    more="$lib/facade/libcupti.so.12 $lib/facade/libcuda.so.1 $lib/facade/libnvtx3interop.so.1 -DVERSION=28 -pthread"
    arguments=$here/../devrt/first.ptx failing=$failing_cupti
    ;;
esac
for source in "$here"/*.c; do
    name=$(basename "$source" .c)
    grep -q '^int main\b' "$source" || continue
    case $name in
    quiet | old | older | throwing) continue ;; # over SDKs that the folder's run.sh makes
    memory) continue ;;                         # which has an allocator of its own
    esac
    # shellcheck disable=SC2086  # flags
    $CC -std=gnu11 -O0 -g -w $san -I"$here" -I"$here/../cublas" -I"$here/.." -I"$B/gen" -o "$tmp/$name" "$source" \
        "$lib/facade/libcudart.so.12" "$lib/facade/libcublasLt.so.12" "$lib/facade/libcublas.so.12" \
        $more -Wl,--allow-shlib-undefined -ldl -lm
    # shellcheck disable=SC2086  # none or one
    passes "$1/$name" "$tmp/$name" $arguments
done
# The interface of RNNs that version 8 has and 9 has not.
if [ "$1" = cudnn ]; then
    # shellcheck disable=SC2086  # flags
    $CC -std=gnu11 -O0 -g -w $san -DBAD=3 -DUNSUPPORTED=9 -DNOT_INITIALIZED=1 -I"$here" -I"$B/gen" -o "$tmp/old" \
        "$here/wrong_rnn.c" "$lib/facade/libcudart.so.12" "$lib/facade/libcudnn.so.8" -Wl,--allow-shlib-undefined -ldl -lm
    passes "cudnn/wrong_rnn, version 8" "$tmp/old"
fi
for name in $hostile; do
    # shellcheck disable=SC2086  # flags
    $CC -std=gnu11 -O0 -g -w $san -include "$here/hostile.h" -I"$here" -I"$B/gen" -o "$tmp/hostile" "$here/$name.c" \
        "$lib/facade/libcudart.so.12" $more -Wl,--allow-shlib-undefined -ldl -lm
    passes "$1/$name, hostile" "$tmp/hostile"
done
# Graphs of which something is another than was meant; only the sanitizers' word counts.
for name in $mutated; do
    packed=false
    [ "$name" != attention ] || packed=true
    # shellcheck disable=SC2086  # flags
    $CC -std=gnu11 -O0 -g -w $san -DPACKED=$packed -include "$here/mutated.h" -I"$here" -I"$B/gen" -o "$tmp/mutated" "$here/$name.c" \
        "$lib/facade/libcudart.so.12" $more -Wl,--allow-shlib-undefined -ldl -lm
    r=0
    MUTATED=${SEED:-1} timeout 100 "$tmp/mutated" >"$tmp/out" 2>&1 || r=$?
    if unreported && grep -q '^# mutated [1-9].* ran [1-9]' "$tmp/out"; then
        echo "ok $1/$name, mutated"
    else
        echo "not ok $1/$name, mutated: status $r"
        bad=1
    fi
done
# While memory runs out, where the folder has programs for it.
for name in $failing; do
    # shellcheck disable=SC2086  # flags
    $CC -std=gnu11 -O0 -g -w $san -I"$here" -I"$B/gen" -o "$tmp/failing" "$here/$name.c" "$here/../lib/fail_at.c" \
        "$lib/facade/libcudart.so.12" $more -Wl,--allow-shlib-undefined -ldl -lm
    case $1 in cusparselt | npp | nvjpeg | cufile) arguments=few ;; *) arguments='' ;; esac
    # shellcheck disable=SC2086  # none or one
    fail_allocations "$1/$name" 1 unreported "$tmp/failing" $arguments
done
exit $bad
