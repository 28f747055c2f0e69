# shellcheck shell=sh disable=SC2034,SC2154
# Runs a program that lib/fail_at.c is linked into, with one allocation of our libraries failing, and builds such. Sourced,
# never run; it needs $tmp and sets bad=1.

# The folders' programs for it.
failing_cudnn="layers norms legacy heads fused vectors rnn pieces graph causal overrides drawn"
failing_cupti=failing failing_cusparselt=structured failing_nvjpeg=damaged failing_cufile=wrong failing_npp=wrong
# Those of cuDNN's graphs for ../cudnn/hostile.h; under sanitizers the short ones.
hostile_short="norms grouped"
hostile_cudnn="$hostile_short drawn graph attention_backward vectors"
# Those for ../cudnn/mutated.h.
mutated_cudnn="drawn graph norms pieces attention overrides"

# client NAME SOURCE...: builds $tmp/NAME against the facades of $library and the runtime.
client() {
    out=$tmp/$1
    shift
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$B/gen" -o "$out" "$@" "$B/lib/cumu/facade/$library" \
        "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -lm
}

# A verdict: the first that the program notices is a call's status, not a wrong number.
status_first() {
    first=$(grep -m1 '^not ok' "$tmp/out" || :)
    printf '%s\n' "$first"
    [ "$r" -le 1 ] && printf '%s\n' "$first" |
        grep -qE '^$|^not ok +status -?[1-9]|^not ok +([a-z]+ of [0-9]+: |[a-z]+: |attribute [0-9]+: )?-?[1-9][0-9]*(, not [A-Za-z0-9_]+)? \('
}

# fail_allocations NAME COUNT VERDICT COMMAND...: how many allocations COMMAND makes, then COUNT runs spread over them
# (0: one for each; FAILING is another count). VERDICT, a function, finds the run's output in $tmp/out and its status in
# $r, and fails with a word on what is wrong. So few allocations that nothing is tried are a failure as well.
fail_allocations() {
    name=$1 runs=${FAILING:-$2} verdict=$3 run=0 failed=0
    shift 3
    all=$(TEST_FAIL_AT=0 "$@" 2>/dev/null | sed -n 's/^# allocations //p')
    if [ "${all:-0}" -lt 16 ]; then
        echo "not ok $name: allocations that can fail: ${all:-0}"
        bad=1
        return 0
    fi
    if [ "$runs" = 0 ] || [ "$runs" -gt "$all" ]; then runs=$all; fi
    while [ "$run" -lt "$runs" ]; do
        at=$(((all * run + all / 2) / runs + 1)) r=0
        TEST_FAIL_AT=$at "$@" >"$tmp/out" 2>&1 || r=$?
        if ! wrong=$("$verdict"); then
            echo "not ok $name: allocation $at of $all fails: status $r, $wrong"
            failed=1 bad=1
        fi
        run=$((run + 1))
    done
    [ "$failed" = 1 ] || echo "ok $name: each of $runs of its $all allocations fails"
}

# test_library LIBRARY COUNT FAILING TEST...: each test of the folder $here through `cumu run`, then the one named FAILING,
# told to do few things, with COUNT of its allocations failing.
test_library() {
    library=$1 count=$2 failing=$3
    shift 3
    for t in "$@"; do
        client "$t" "$here/$t.c"
        passes "$cumu" run --backend host -- "$tmp/$t"
    done
    client failing "$here/$failing.c" "$here/../lib/fail_at.c"
    fail_allocations "${library%%.*}" "$count" status_first "$cumu" run --backend host -- "$tmp/failing" few
}
