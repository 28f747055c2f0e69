#!/bin/sh
# Prints what the tools of `cumu memcheck` cost: time of the bench's kernels under each over the time without, tier 1, and
# bytes for each byte of device memory that a launch touches (touched.c).
# usage: sanitize.sh CUMU KERNELS [kernel...]; TOOLS names those of CUMU_CHECK that are asked (memory init sync race)
set -eu
cumu=$1 kernels=$2
shift 2
plain=$(mktemp) checked=$(mktemp)
trap 'rm -f "$plain" "$checked" "$plain.touched"' EXIT
ratios() { # kernel, its time over native C's in the same process
    CUMU_JIT=wait CUMU_HOST_THREADS=1 "$cumu" run --backend host -- "$kernels" ratios "$@" |
        sed -n 's/^bench kernels\.\([a-z0-9_]*\) \([0-9.]*\) ratio (.*native.*/\1 \2/p'
}
ratios "$@" >"$plain"
for tool in ${TOOLS:-memory init sync race}; do
    CUMU_CHECK=$tool CUMU_CHECK_FILE=/dev/null ratios "$@" >"$checked"
    awk -v tool="$tool" 'NR == FNR { plain[$1] = $2; next }
        plain[$1] > 0 && $2 > 0 { r = $2 / plain[$1]; sum += log(r); n++; printf "bench sanitize.%s.%s %.2f ratio\n", tool, $1, r }
        END { if (n) printf "bench sanitize.%s %.2f ratio\n", tool, exp(sum / n) }' "$plain" "$checked"
done

# Bytes that a tool takes for each byte of device memory that a launch touches: of the process, at most.
B=$(dirname "$(dirname "$cumu")")
here=$(dirname "$0")
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -I"$B/gen" -o "$plain.touched" "$here/touched.c" "$B/lib/cumu/facade/libcuda.so.1" \
    -Wl,--allow-shlib-undefined
touched() { CUMU_JIT=wait CUMU_HOST_THREADS=1 CUMU_CHECK_FILE=/dev/null "$cumu" run --backend host -- "$plain.touched" "$1"; }
for megabytes in 16 64 256; do
    without=$(touched $megabytes)
    for tool in ${TOOLS:-memory init sync race}; do
        with=$(CUMU_CHECK=$tool touched $megabytes)
        awk -v tool="$tool" -v mb=$megabytes -v a="$without" -v b="$with" \
            'BEGIN { printf "bench sanitize.bytes.%s.%d %.2f bytes\n", tool, mb, (b - a) / mb / 1048576 }'
    done
done
