#!/bin/sh
# Kernels as MUSA C++: milliseconds and bytes of source for one, the medians over all kernels of these files.
# usage: musa.sh CUMU FILE...
set -eu
cumu=$1
shift
for f in "$@"; do
    "$cumu" ptx --emit musa --summary "$f" 2>/dev/null || true # some hold no PTX, or kernels that are refused
done | awk -F'\t' '
    { n[$2]++ }
    $2 == "ok" { bytes[n["ok"]] = $3; ms[n["ok"]] = $4; free += $6 == 0 }
    function median(v, count,  i, j, t) {
        for (i = 2; i <= count; i++)
            for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
        return v[int((count + 1) / 2)]
    }
    END {
        if (!n["ok"]) exit 1
        printf "# %d kernels written, %d have no counterpart in MUSA\n", n["ok"], n["refused"]
        printf "bench musa.emit_ms_median %s ms\n", median(ms, n["ok"])
        printf "bench musa.share_with_goto %.3f ratio\n", 1 - free / n["ok"]
        printf "bench musa.source_bytes_median %d B\n", median(bytes, n["ok"])
    }'
