#!/bin/sh
# What cumu trace shows over whole programs: text as a golden, the machine formats by a parser, filters, bad use.
# shellcheck disable=SC2086  # $trace is meant to be split
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

trace="$cumu trace --backend host"

# same NAME GOLDEN FILE: times, process numbers and addresses stand as T, P and 0x.
same() {
    sed -E 's/^ *[0-9]+\.[0-9]{6} [0-9]+\./T P./; s/<[0-9.]+ us/<T us/; s/0x[0-9a-f]+/0x/g; s/ [0-9.]+ GB\/s/ R GB\/s/' \
        "$3" >"$tmp/masked"
    if diff -u "$2" "$tmp/masked"; then
        echo "ok $1"
    else
        echo "not ok $1"
        bad=1
    fi
}

# Names that nvcc's code uses for itself differ between its versions.
CUMU_JIT=0 check "a program's calls" 0 '^PASS vectoradd' -- \
    $trace --filter '-__*,-*LaunchKernel,-kernel:' -o "$tmp/calls" -- "$fix/vectoradd"
same "look like this" "$here/vectoradd.text" "$tmp/calls"
check "a pattern" 0 '^ .*cudaMalloc\(&0x[0-9a-f]+, 40028\) = cudaSuccess <' -- \
    $trace --filter 'cudaMal*' "$fix/vectoradd"
absent "which leaves others out" cudaMemcpy
check "what is left out" 0 ' cudaMemcpy\(' -- $trace --filter '-cudart:__*,-cudaMalloc' "$fix/vectoradd"
absent "is not there" '__cuda|cudaMalloc'
check "another thread" 0 PASS -- $trace --filter thread=2 "$fix/vectoradd"
absent "there is none" cudaMalloc
check "a summary" 0 '^calls' '^ +3 .* 120084 .* cudart cudaMemcpy$' '^kernels' '^ +1 .*kernel _Z3add' -- $trace --summary "$fix/vectoradd"
check "the program's exit status" 1 '^no CUDA calls' -- $trace --summary sh -c 'exit 1'
check "a signal's" 143 '^no CUDA calls' -- $trace --summary sh -c 'kill -TERM $$; sleep 5'

# Kernels, copies and graphs, with the time between the events around them.
kernel='kernel _Z3addPKfS0_Pfi \{40 1 1\} \{256 1 1\} shared 0 tier 0 stream NULL <[0-9.]+ us on the device>'
check "a kernel" 0 "$kernel" -- $trace --filter kernel: "$fix/vectoradd"
CUMU_JIT="wait" check "and its compilation" 0 'compile _Z3addPKfS0_Pfi (compiled in|from the cache)' ' tier 1 stream' -- \
    $trace --filter kernel:,compile: "$fix/vectoradd"
check "copies" 0 'copy cudaMemcpyAsync 8192 bytes stream 0x[0-9a-f]+ <[0-9.]+ us on the device> [0-9.]+ GB/s$' -- \
    $trace --filter copy: "$fix/pipeline"
check "captured and launched graphs" 0 'kernel .* into a graph' 'graph launch stream 0x[0-9a-f]+ <' '^PASS' -- \
    $trace --filter kernel:,graph: "$fix/graphs"

# Threads, fork: whole lines, all of them, each process its own file with %p.
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/client" "$here/programs/client.c" \
    "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined -pthread
# count NAME WANT PATTERN FILE...: lines that match.
count() {
    name=$1 want=$2 pattern=$3
    shift 3
    got=$(cat "$@" | grep -cE -- "$pattern" || :)
    if [ "$got" = "$want" ]; then
        echo "ok $name"
    else
        echo "not ok $name: $got lines, want $want"
        bad=1
    fi
}
check "four threads" 0 PASS -- $trace -o "$tmp/threads" "$tmp/client" threads
count "have all their calls" 1600 '^ +[0-9.]+ [0-9]+\.[1-4] cuda(Malloc|Free)\(.*\) = cudaSuccess <[0-9.]+ us>$' "$tmp/threads"
check "one of them" 0 PASS -- $trace --filter thread=2 -o "$tmp/one" "$tmp/client" threads
count "has its own" 400 '\.2 cuda' "$tmp/one"
check "a fork" 0 PASS -- $trace -o "$tmp/fork.%p" "$tmp/client" fork
for f in "$tmp"/fork.*; do
    count "a file of parent or child" 1 'cudaGetDeviceCount\(&1\) = cudaSuccess' "$f"
done
check "a fork after first use" 0 PASS 'cudaGetDeviceCount\(0x[0-9a-f]+\) = cudaErrorInitializationError' -- \
    $trace "$tmp/client" fork-after

# Single functions switched off, or led past their wrappers.
run="$cumu run --backend host"
CUMU_DISABLE='cudaMalloc' check "a function that is switched off" 1 'cudart: cudaMalloc: switched off' \
    'cudaErrorNotSupported' -- $run "$fix/vectoradd"
CUMU_FORCE='cudaMal*c=stub' check "the same by force" 1 'cudart: cudaMalloc: switched off' -- $run "$fix/vectoradd"
CUMU_COMPUTE_CAPABILITY=9.0 check "a wrapper" 0 'major 9 result 0' -- $run "$tmp/client" attribute
CUMU_FORCE=cudaDeviceGetAttribute=real CUMU_COMPUTE_CAPABILITY=9.0 check "is gone round" 0 \
    'major [0-8] result 0' -- $run "$tmp/client" attribute
CUMU_DISABLE=cudaMallco CUMU_FORCE=cudaFree=no,cuNone=real check "words that mean nothing" 0 \
    'CUMU_DISABLE: "cudaMallco" is no CUDA function' 'CUMU_FORCE: "cudaFree" wants =stub or =real' \
    'CUMU_FORCE: "cuNone" is no CUDA function' '^PASS' -- $run "$fix/vectoradd"

# What a program asks for: the client imports four functions and calls one.
check "symbols are recorded" 0 PASS -- $trace --filter none --record-symbols "$tmp/symbols" "$tmp/client" attribute
printf '# libcudart.so.13\ncudaDeviceGetAttribute\ncudaFree\ncudaGetDeviceCount\ncudaMalloc\n' >"$tmp/want"
same "those it imports, each once" "$tmp/want" "$tmp/symbols"
check "by name, too" 0 PASS -- $trace --filter none --record-symbols "$tmp/symbols" "$fix/driver"
count "with their library" 1 '^# libcuda.so.1$' "$tmp/symbols"

# NCCL's communicators and buffers.
check "a manifest" 0 PASS -- env CUMU_HOST_DEVICES=4 $trace --filter none --comm-manifest "$tmp/manifest.json" \
    "$fix/tensor_parallel"
check "has groups" 0 '"group0"' -- cat "$tmp/manifest.json"

if command -v python3 >/dev/null 2>&1; then
    check "JSON lines" 0 PASS -- $trace --format jsonl -o "$tmp/lines" "$fix/vectoradd"
    check "are JSON" 0 '^calls [1-9][0-9]+ ok$' -- python3 "$here/formats.py" jsonl "$tmp/lines"
    check "a Chrome trace" 0 PASS -- $trace --format chrome -o "$tmp/chrome.json" "$fix/vectoradd"
    check "is one array" 0 '^calls [1-9][0-9]+ ok$' -- python3 "$here/formats.py" chrome "$tmp/chrome.json"
else
    echo "skip the machine formats: no python3"
fi

check "an unknown option" 125 'unknown option --fast' -- $trace --fast "$fix/vectoradd"
check "an unknown format" 125 'wants text, jsonl, chrome or html' -- $trace --format xml "$fix/vectoradd"
check "a file that cannot be" 125 'No such file' -- $trace -o /nonexistent/x "$fix/vectoradd"
check "no program" 125 'no program' -- $trace --summary
check "a program that is not there" 127 'nothing-here' -- $trace nothing-here
exit $bad
