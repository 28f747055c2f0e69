#!/bin/sh
# NVTX: what a program names itself is in the trace, in each format, whichever way its calls come; without a trace they
# do nothing.
# shellcheck disable=SC2086  # $trace is meant to be split
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
trace="$cumu trace --backend host"

for t in client deferred; do
    "${CC:-cc}" -std=gnu11 -Wall -Wextra -Wno-missing-field-initializers -o "$tmp/$t" "$here/$t.c" -pthread -ldl
done

# Times, process numbers and how long stand as T, P and T.
mask() { sed -E 's/^ *-?[0-9]+\.[0-9]{6} [0-9]+\./T P./; s/<[0-9.]+ us>/<T us>/' "$1"; }

for way in linked headers; do
    check "$way: events" 0 PASS -- $trace -o "$tmp/text" "$tmp/client" "$way"
    cp "$tmp/out" "$tmp/log"
    check "$way: depths" 0 '^push 0 push 0 push 1 pop 0 pop 1 pop 0 pop -1 PASS' -- sh -c "tr '\n' ' ' <'$tmp/log'"
    mask "$tmp/text" >"$tmp/masked"
    if diff -u "$here/events.text" "$tmp/masked"; then
        echo "ok $way: look like this"
    else
        echo "not ok $way: look like this"
        bad=1
    fi
    check "$way: wrong input" 0 PASS -- $trace -o "$tmp/text" "$tmp/client" "$way" wrong
    check "$way: threads" 0 PASS -- $trace -o "$tmp/threads" "$tmp/client" "$way" threads
    check "$way: have all their ranges" 0 '^2000$' -- grep -cE '[0-9]\.[1-4] range "loop [0-9]+" <[0-9.]+ us>$' "$tmp/threads"
    check "$way: nobody listens" 0 '^push -2 push -2 push -2 pop -2 pop -2 pop -2 pop -2 PASS' -- \
        sh -c "$cumu run --backend host -- '$tmp/client' $way | tr '\n' ' '"
done
check "not opted in" 0 '^nobody' 'push -2' -- env NVTX_INJECTION64_PATH="$B/lib/cumu/libcumu-core.so" "$tmp/client" headers
NVTX_INJECTION64_PATH=/their/own check "what is set stays" 0 '^/their/own$' -- \
    $cumu run --backend host -- sh -c 'echo "$NVTX_INJECTION64_PATH"'
check "extensions" 0 'module 1: 0 short 0, beyond 0, none 0 module 2: 1 enabled 1, push -2 short 0, beyond 0, none 0 module 3: 1 ' -- \
    sh -c "$cumu run --backend host -- '$tmp/client' headers extensions 2>&1 | tr '\n' ' '"
check "payloads" 0 '^ids 1 1 1' '^numbers 1 1' PASS -- $trace -o "$tmp/payloads" "$tmp/client" headers payloads
cp "$tmp/out" "$tmp/log"
check "payloads: depths" 0 'push 0 push 1 pop 1 pop 0 pop -1' -- sh -c "tr '\n' ' ' <'$tmp/log'"
check "payloads: look like this" 0 'range "message of a payload" domain "payloads"' 'range "schema"' 'mark "schema"' 'range "own"' \
    'mark "payload"' -- cat "$tmp/payloads"
check "counters" 0 '^ids 1 1 1' '^short 1' PASS -- $trace -o "$tmp/counters" "$tmp/client" headers counters
sed -n 's/.* counter //p' "$tmp/counters" >"$tmp/counted"
check "counters: look like this" 0 '^"queue" domain "counted" = -3 "queue" domain "counted" = 9223372036854775807 "load" = 0.25 "load" = -inf "load" = 0.5 "narrow" = -7 "queue" domain "counted" = 0 $' \
    -- sh -c "tr '\n' ' ' <'$tmp/counted'"
check "groups, batches, deferred events" 0 PASS 'gap: .*nvtxCounterBatchSubmit' 'gap: .*nvtxEventSubmit' -- \
    $trace --format jsonl -o "$tmp/deferred.jsonl" "$tmp/deferred"
cp "$tmp/out" "$tmp/said"
check "scopes" 0 PASS -- $trace -o "$tmp/scopes" "$tmp/deferred" scopes
scoped() { sed -nE 's/^ *-?[0-9.]+ [0-9]+\.[0-9]+ *(counter|mark|range) /\1 /p' "$1" | sed 's/ <[0-9.]* us>$//'; }
scoped "$tmp/scopes" >"$tmp/scoped"
cat >"$tmp/wanted" <<END
counter "root" = 7
counter "gpu" scope "GPU[0]" = 7
counter "stream" scope "GPU[0]/stream" = 7
counter "same" scope "GPU[0]/stream" = 7
counter "nic" scope "machine/nic" = 7
counter "unknown" = 7
counter "process" scope "process" = 7
counter "thread" scope "thread 1" = 7
counter "pair.own" scope "GPU[0]" = 1
counter "pair.group's" scope "machine/nic" = 2
mark "event" scope "GPU[0]/stream"
mark "event"
mark "event" scope "GPU[0]/stream"
range "event" scope "GPU[0]/stream"
range "event" scope "GPU[0]/stream"
mark "batched" scope "machine/nic"
END
check "scopes: look like this" 0 -- diff -u "$tmp/wanted" "$tmp/scoped"
check "scopes by place" 0 PASS -- $trace -o "$tmp/places" "$tmp/deferred" places
grep -E '^(mark|counter) ' "$tmp/out" >"$tmp/wanted"
scoped "$tmp/places" >"$tmp/scoped"
check "scopes by place: 80 look like this" 0 -- sh -c "test \$(wc -l <'$tmp/wanted') = 80 && diff -u '$tmp/wanted' '$tmp/scoped'"
check "without a trace" 0 PASS -- $cumu run --backend host -- "$tmp/deferred"
check "a filter" 0 '"registered"' -- $trace --filter 'nvtx:reg*' "$tmp/client" headers
absent "leaves others out" plain
check "a summary" 0 '^ranges' ' nvtx "registered"$' '^marks' ' nvtx "other thread"$' -- $trace --summary "$tmp/client" headers

if command -v python3 >/dev/null 2>&1; then
    check "JSON lines" 0 PASS -- $trace --format jsonl -o "$tmp/lines" "$tmp/client" headers
    check "are JSON" 0 '^ok$' -- python3 "$here/formats.py" jsonl "$tmp/lines"
    check "a Chrome trace" 0 PASS -- $trace --format chrome -o "$tmp/chrome.json" "$tmp/client" headers
    check "is one array" 0 '^ok$' -- python3 "$here/formats.py" chrome "$tmp/chrome.json"
    check "at their times" 0 '^ok$' -- python3 "$here/formats.py" deferred "$tmp/deferred.jsonl" "$tmp/said"
    check "counters in it" 0 PASS -- $trace --format chrome -o "$tmp/counters.json" "$tmp/client" headers counters
    check "scopes in it" 0 PASS -- $trace --format chrome -o "$tmp/scopes.json" "$tmp/deferred" scopes
    check "have tracks" 0 '^ok$' -- python3 "$here/formats.py" scopes "$tmp/scopes.json"
    check "are tracks" 0 '^ok$' -- python3 "$here/formats.py" counters "$tmp/counters.json"
    # A program's locale may have a decimal comma, which no format of machines has.
    if command -v localedef >/dev/null && localedef -i de_DE -f UTF-8 "$tmp/de_DE.UTF-8" 2>/dev/null; then
        export LOCPATH="$tmp" CLIENT_LOCALE=de_DE.UTF-8
        for form in jsonl chrome; do
            check "$form with a comma" 0 PASS -- $trace --format $form -o "$tmp/comma.$form" "$tmp/client" headers
            check "is the same" 0 '^ok$' -- python3 "$here/formats.py" $form "$tmp/comma.$form"
        done
        unset LOCPATH CLIENT_LOCALE
    else
        echo "skip a decimal comma: no localedef, or no such locale"
    fi
else
    echo "skip the machine formats: no python3"
fi
exit $bad
