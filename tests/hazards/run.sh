#!/bin/sh
# Racecheck, initcheck, synccheck: each wrong kernel of a list is reported with its line, the right twins are silent.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
export CUMU_COMPUTE_CAPABILITY=9.0

"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/hazards" "$(dirname "$0")/hazards.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined

# A report is what lies between two empty ones: of each kernel of the list there is one that names it and fits.
missing() {
    awk -F '\t' -v list="$1" '
        BEGIN { while ((getline < list) > 0) want[$1] = $2 }
        $0 == "========= " { report[++n] = line; line = ""; next }
        { sub(/^=========  */, ""); line = line " " $0 }
        END {
            for (k in want) {
                found = 0
                for (i = 1; i <= n; i++)
                    found = found || (report[i] ~ (" " k "( |:)") && report[i] ~ want[k])
                if (!found)
                    print "not ok " k ": no report of " want[k]
            }
        }' "$2"
}

found() { # jit, tool [, whose]: its wrong kernels
    rm -f "$tmp/$2"
    check "$2 of wrong kernels, jit $1" 9 '^done$' -- env CUMU_JIT="$1" "$cumu" memcheck --tool "$2" --print-limit 0 \
        --error-exitcode 9 --log-file "$tmp/$2" "$tmp/hazards" wrong "${3:-$2}"
    missing "$tmp/list" "$tmp/$2" >"$tmp/missing"
    cat "$tmp/missing"
    [ ! -s "$tmp/missing" ] || bad=1
}

export CUMU_COMPUTE_CAPABILITY=10.0
"$cumu" run --backend host -- "$tmp/hazards" list tcgen05 >"$tmp/list"
found 0 racecheck tcgen05
"$cumu" run --backend host -- "$tmp/hazards" list unallocated >"$tmp/list"
while read -r name report; do
    check "$name" 9 "$report" ' in hazards.cu:77 ' -- \
        "$cumu" memcheck --error-exitcode 9 "$tmp/hazards" one "$name" </dev/null
done <"$tmp/list"
for kernels in tcgen05 unallocated; do
    check "all tools are silent of $kernels without a defect" 0 '^========= ERROR SUMMARY: 0 errors$' '^done$' \
        -- "$cumu" memcheck --tool all --error-exitcode 9 "$tmp/hazards" right $kernels
done
export CUMU_COMPUTE_CAPABILITY=9.0
for tool in racecheck synccheck initcheck; do
    "$cumu" run --backend host -- "$tmp/hazards" list $tool >"$tmp/list"
    [ "$(wc -l <"$tmp/list")" -ge 15 ] || { echo "not ok $tool: a short list"; bad=1; }
    found 0 $tool
done
export CUMU_CACHE_DIR="$tmp/cache"
export CUMU_HOST_DEVICES=2
found wait initcheck # which knows compiled code
unset CUMU_HOST_DEVICES
check "where nobody has written" 0 'is inside the nearest allocation at 0x[0-9a-f]* of size [0-9]* bytes$' -- cat "$tmp/initcheck"
absent "is told without a word on who may read it" 'peer access'
"$cumu" run --backend host -- "$tmp/hazards" list racecheck >"$tmp/list"
found wait racecheck
for words in init sync memory,init; do
    check "$words: right kernels, compiled" 0 '^done$' 'jit: half_filled: tier 1 ready' -- env CUMU_JIT=wait \
        CUMU_LOG=info,+jit CUMU_CHECK=$words "$cumu" run --backend host -- "$tmp/hazards" right initcheck
    absent "$words: nothing is reported" '^=========.*(Race|Uninit|Barrier|Invalid)'
done
check "races are counted" 0 'RACECHECK SUMMARY: [0-9]+ hazards displayed \([1-9][0-9]* errors, [1-9][0-9]* warnings\)' \
    -- cat "$tmp/racecheck"
absent "and stores of the same value are not shown" '^========= Info'
check "all tools are silent without a defect" 0 '^done$' '^========= ERROR SUMMARY: 0 errors$' \
    '^========= RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)$' \
    -- "$cumu" memcheck --tool all --error-exitcode 9 "$tmp/hazards" right
absent "with no other line" 'Race|Uninit|Barrier|Invalid'

check "stores of one value are information" 9 '^========= Info: Race reported between Write .* same_value' \
    -- "$cumu" memcheck --tool racecheck --racecheck-detect-level info --error-exitcode 9 "$tmp/hazards" one same_value
check "which is not shown by default" 0 'RACECHECK SUMMARY: 0 hazards displayed' \
    -- "$cumu" memcheck --tool racecheck --error-exitcode 9 "$tmp/hazards" one same_value
check "warnings are left out" 0 'RACECHECK SUMMARY: 0 hazards displayed' \
    -- "$cumu" memcheck --tool racecheck --racecheck-detect-level error "$tmp/hazards" one raw_u32_lanes
check "counted by bytes" 0 '\[256 hazards\]' -- "$cumu" memcheck --tool racecheck "$tmp/hazards" one raw_u32_warps
check "memory that nobody writes" 0 'Unused memory in allocation 0x[0-9a-f]+ of size 4096 bytes' \
    'Not written 2049 bytes at offset 0x7ff' '50.02% of allocation were unused' \
    -- "$cumu" memcheck --tool initcheck --track-unused-memory "$tmp/hazards" one half_filled
check "only if that is asked for" 0 'ERROR SUMMARY: 1 error$' \
    -- "$cumu" memcheck --tool initcheck "$tmp/hazards" one half_filled
for words in race init sync; do
    check "$words: a fault has its line" 0 'illegal address 0x10: .* PTX line [0-9]+: st.global.u32' 'PASS faults' -- \
        env CUMU_CHECK=$words "$cumu" run --backend host -- "$fix/faults"
done
check "without the launcher" 0 '^========= Error: Race' -- \
    env CUMU_CHECK=memory,race "$cumu" run --backend host -- "$tmp/hazards" one waw
check "another tool" 125 'wants memcheck, racecheck, initcheck, synccheck or all' \
    -- "$cumu" memcheck --tool lint "$tmp/hazards"
check "another level" 125 'wants info, warn or error' -- "$cumu" memcheck --racecheck-detect-level all "$tmp/hazards"

# Streams: every race of drawn programs is told by one of its sides, and nothing that is ordered is.
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/streams" "$(dirname "$0")/streams.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined
for seed in 1 2 "${SEED:-3}"; do
    check "streams, seed $seed" 9 '^done$' -- "$cumu" memcheck --tool racecheck --print-limit 0 --error-exitcode 9 \
        --log-file "$tmp/streams.log" "$tmp/streams" "$seed" 12 "$tmp/streams.want"
    awk -f "$(dirname "$0")/streams.awk" "$tmp/streams.want" "$tmp/streams.log" >"$tmp/missing"
    cat "$tmp/missing"
    ! grep -q '^not ok' "$tmp/missing" || bad=1
    rm -f "$tmp/streams.log"
done

# Drawn kernels: of each byte that has races one is told, and nothing that is ordered is.
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/drawn" "$(dirname "$0")/drawn.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined
for seed in 1 2 "${SEED:-3}"; do
    check "drawn kernels, seed $seed" 9 '^done$' -- "$cumu" memcheck --tool racecheck --racecheck-detect-level info \
        --print-limit 0 --error-exitcode 9 --log-file "$tmp/drawn.log" "$tmp/drawn" "$seed" 60 "$tmp/drawn.want"
    awk -f "$(dirname "$0")/drawn.awk" "$tmp/drawn.want" "$tmp/drawn.log" >"$tmp/missing"
    cat "$tmp/missing"
    ! grep -q '^not ok' "$tmp/missing" || bad=1
    rm -f "$tmp/drawn.log"
done

# Mutants: each defect of kernels that are right otherwise is told with its line, none is of the right ones.
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/mutants" "$(dirname "$0")/mutants.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined
mutants() { # jit, seed, kernels: what each tool says of them is left in $tmp/said.TOOL.JIT
    check "right kernels, seed $2, jit $1" 0 '^done$' '^========= ERROR SUMMARY: 0 errors$' -- env CUMU_JIT="$1" \
        "$cumu" memcheck --tool all --error-exitcode 9 "$tmp/mutants" "$2" "$3" right
    for tool in memcheck racecheck initcheck synccheck; do
        check "$tool of $3 mutants, seed $2, jit $1" 9 '^done$' -- env CUMU_JIT="$1" CUMU_HOST_THREADS=1 \
            "$cumu" memcheck --tool $tool --report-api-errors no --destroy-on-device-error kernel --print-limit 0 \
            --error-exitcode 9 --log-file "$tmp/mutants.log" "$tmp/mutants" "$2" "$3" $tool "$tmp/mutants.want"
        awk -v strict="$([ $tool = synccheck ] || echo 1)" -f "$(dirname "$0")/mutants.awk" "$tmp/mutants.want" \
            "$tmp/mutants.log" >"$tmp/missing"
        cat "$tmp/missing"
        ! grep -q '^not ok' "$tmp/missing" || bad=1
        sed 's/0x[0-9a-f]*/ADDRESS/g' "$tmp/mutants.log" >"$tmp/said.$tool.$1"
        rm -f "$tmp/mutants.log"
    done
}
for seed in 1 2 "${SEED:-3}"; do
    mutants 0 "$seed" 100
done
mutants 0 "${SEED:-4}" 12
mutants wait "${SEED:-4}" 12
for tool in memcheck racecheck initcheck synccheck; do
    cmp -s "$tmp/said.$tool.0" "$tmp/said.$tool.wait" || { echo "not ok mutants: reports of $tool differ"; bad=1; }
done

# In the interpreter and in compiled code, with the same words: places, threads and counts. Seed 91: a warp's halves read
# one word each, of which one had been read enough; 114: the same of rows of global memory.
for jit in 0 wait; do
    check "drawn kernels, jit $jit" 0 '^done$' -- env CUMU_JIT=$jit CUMU_HOST_THREADS=1 CUMU_LOG=info,+jit "$cumu" memcheck \
        --tool racecheck --racecheck-detect-level info --print-limit 0 --log-file "$tmp/drawn.log" \
        "$tmp/drawn" "${SEED:-91}" 16 "$tmp/drawn.want"
    sed 's/0x[0-9a-f]*/ADDRESS/g' "$tmp/drawn.log" >"$tmp/drawn.$jit"
    rm -f "$tmp/drawn.log"
done
mv "$tmp/out" "$tmp/jit"
check "which are compiled" 0 'jit: all: 16 kernels compiled .* 0 stay on tier 0' -- cat "$tmp/jit"
cmp -s "$tmp/drawn.0" "$tmp/drawn.wait" || { echo "not ok drawn kernels: reports differ"; bad=1; }
exit $bad
