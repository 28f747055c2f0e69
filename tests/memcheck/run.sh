#!/bin/sh
# Memcheck: every wrong access of a list of small kernels is reported with its place, their right twins are silent.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
tab=$(printf '\t')
export CUMU_HOST_DEVICES=2 # for what one of them may not touch
export CUMU_COMPUTE_CAPABILITY=9.0
export CUMU_CACHE_DIR="$tmp/cache" TMPDIR="$tmp/files" # others on this machine run memcheck, too
mkdir "$TMPDIR"

"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/faulty" "$(dirname "$0")/faulty.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined

for program in calls annotated; do
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/$program" "$(dirname "$0")/$program.c" \
        "$B/lib/cumu/facade/libcuda.so.1" -ldl -Wl,--allow-shlib-undefined
    "$cumu" run --backend host -- "$tmp/$program" list >"$tmp/list"
    while IFS="$tab" read -r case report place options; do
        for twin in wrong:9 right:0; do
            what=${twin%:*}
            [ $what = wrong ] || report='ERROR SUMMARY: 0 errors' place='^done$'
            [ $program = calls ] || options="$options --destroy-on-device-error kernel"
            # shellcheck disable=SC2086
            check "$what $case" ${twin#*:} "$report" "$place" '^done$' -- \
                env CUMU_JIT=0 "$cumu" memcheck --error-exitcode 9 $options "$tmp/$program" $what "$case" </dev/null
        done
    done <"$tmp/list"
done
for case in between_regions no_atomics; do
    check "compiled: $case" 9 '^=+ +Address 0x[0-9a-f]+ is (out of bounds|not readable/writable)' -- \
        env CUMU_JIT=wait "$cumu" memcheck --error-exitcode 9 "$tmp/annotated" wrong $case
done
for off in '--nvtx no' --nvtx=false; do
    # shellcheck disable=SC2086
    check "$off" 0 'nobody listens' 'ERROR SUMMARY: 0' -- "$cumu" memcheck $off "$tmp/annotated" wrong read_only
done
check "without a tool nobody listens" 0 'nobody listens' -- "$cumu" run --backend host -- "$tmp/annotated" wrong read_only

"$cumu" run --backend host -- "$tmp/faulty" list >"$tmp/list"
# In the interpreter and in compiled code, with the same words.
while IFS="$tab" read -r case report; do
    for jit in 0 wait; do
        check "$case, jit $jit" 9 "$report" '^status 7(14|16|18|19)$' '(in|at) faulty\.(cu:77|h:5)' \
            'by thread \([0-9]+,0,0\) in block \(0,0,0\)' 'Host Frame: main \[0x[0-9a-f]+\] in faulty' \
            '^========= ERROR SUMMARY: [0-9]+ error' \
            -- env CUMU_JIT=$jit "$cumu" memcheck --error-exitcode 9 "$tmp/faulty" wrong "$case" </dev/null
        sed -n '/^=/s/0x[0-9a-f]*/ADDRESS/gp' "$tmp/out" >"$tmp/out.$jit"
    done
    cmp -s "$tmp/out.0" "$tmp/out.wait" || { echo "not ok $case: reports differ"; bad=1; }
done <"$tmp/list"
CUMU_LOG=info,+jit CUMU_JIT=wait "$cumu" run --backend host -- env CUMU_CHECK=memory "$tmp/faulty" right >"$tmp/jit" 2>&1
check "watched kernels are compiled" 0 '^cumu: info: jit: store: tier 1 ready' -- cat "$tmp/jit"
check "no report without a wrong access" 0 '^done$' '^========= LEAK SUMMARY: 0 bytes leaked in 0 allocations$' \
    '^========= ERROR SUMMARY: 0 errors$' -- "$cumu" memcheck --leak-check full --error-exitcode 9 "$tmp/faulty" right
absent "nor another line" 'Invalid|Leaked|Kernel ended'

check "a leak, with its allocation" 5 'Leaked 400 bytes at' 'main .* in faulty' 'ERROR SUMMARY: 2 errors' \
    '^========= LEAK SUMMARY: 400 bytes leaked in 1 allocations$' \
    -- "$cumu" memcheck --report-api-errors=no --leak-check=full --error-exitcode=5 "$tmp/faulty" wrong store
for how in free free_async; do
    check "no leak where the program frees in a context that has failed ($how)" 5 '^freed 719$' 'ERROR SUMMARY: 1 error' \
        '^========= LEAK SUMMARY: 0 bytes leaked in 0 allocations$' -- \
        "$cumu" memcheck --report-api-errors=no --leak-check=full --error-exitcode=5 "$tmp/faulty" wrong store $how
done
check "threads are counted, the place is reported once" 0 'ERROR SUMMARY: 8 errors' \
    -- "$cumu" memcheck --report-api-errors no "$tmp/faulty" wrong some_threads
[ "$(grep -c '^========= Invalid' "$tmp/out")" = 1 ] || { echo "not ok one report"; bad=1; }
check "a log file of its own" 0 '^status 719$' -- "$cumu" memcheck --report-api-errors no --log-file "$tmp/log" "$tmp/faulty" wrong load
absent "and nothing on stderr" '^====='
check "has all" 0 '^========= Invalid' '^========= ERROR SUMMARY: 1 error$' -- cat "$tmp/log"
check "a program that prints meanwhile breaks no line" 0 -- "$cumu" memcheck --report-api-errors no sh -c \
    "while :; do echo busy; done & for k in 1 2 3 4 5 6 7 8 9 10 11 12; do $tmp/faulty wrong store; done; kill \$!"
absent "nor has a part of one" '^ *(Saved|Host|at|by|Address|and) |busy.|.busy'
check "children count" 0 'ERROR SUMMARY: 2 errors' -- "$cumu" memcheck --report-api-errors no sh -c "$tmp/faulty wrong load; $tmp/faulty wrong store"
check "the program's own status without errors" 7 'ERROR SUMMARY: 0 errors' -- "$cumu" memcheck --error-exitcode 9 sh -c 'exit 7'
check "which is said" 7 '^========= Target application returned an error$' -- "$cumu" memcheck sh -c 'exit 7'
check "or not" 7 'ERROR SUMMARY' -- "$cumu" memcheck --check-exit-code no sh -c 'exit 7'
absent "as asked" 'Target application'
check "its signal is said" 143 "^========= Error: process didn't terminate successfully$" -- \
    "$cumu" memcheck sh -c 'kill -TERM $$'
check "its signal" 143 'ERROR SUMMARY: 0 errors' -- "$cumu" memcheck sh -c 'kill -TERM $$'
check "a limit of reports" 0 'ERROR SUMMARY: 2 errors' '^========= 1 reports were not printed' -- \
    "$cumu" memcheck --print-limit 1 "$tmp/faulty" wrong load
absent "of which the second is not printed" 'Program hit'
check "calls that fail" 0 'Program hit CUDA_ERROR_LAUNCH_FAILED \(error 719\) due to ".*" on CUDA API call to cuCtxSynch' \
    'Saved host backtrace up to driver entry point at error' 'Host Frame: main .* in faulty' -- \
    "$cumu" memcheck "$tmp/faulty" wrong load
check "records of XML" 0 -- "$cumu" memcheck --save "$tmp/saved.xml" --xml "$tmp/faulty" wrong some_threads
check "have kind, text and place" 0 '<kind>memcheck</kind>' '<text>Invalid __global__ write of size 4 bytes</text>' \
    '<func>some_threads</func><file>faulty.cu</file><line>77</line>' '<func>main</func><module>faulty</module>' -- \
    cat "$tmp/saved.xml"
check "which suppress what they are of, and the count of its threads" 0 '^========= 2 reports suppressed$' \
    'ERROR SUMMARY: 0 errors' -- "$cumu" memcheck --error-exitcode 9 --suppressions "$tmp/saved.xml" "$tmp/faulty" wrong \
    some_threads
absent "which are not printed" 'Invalid|more errors'
check "but nothing else" 9 'Invalid __global__ read' -- \
    "$cumu" memcheck --error-exitcode 9 --suppressions "$tmp/saved.xml" "$tmp/faulty" wrong load
echo '<record><text>Invalid .* (read|write) of.*</text><func>lo*</func></record>' >"$tmp/patterns.xml"
check "suppressions may be patterns" 0 '^========= 1 report suppressed' -- \
    "$cumu" memcheck --suppressions "$tmp/patterns.xml" "$tmp/faulty" wrong load
check "records of JSON" 0 -- "$cumu" memcheck --save "$tmp/saved.json" "$tmp/faulty" wrong load
check "have the same" 0 '"kind": "memcheck"' '"text": "Invalid __global__ read of size 4 bytes"' '"line": 77' -- \
    cat "$tmp/saved.json"
if command -v python3 >/dev/null 2>&1; then
    check "are JSON" 0 -- python3 -m json.tool "$tmp/saved.json"
    check "are XML" 0 -- python3 -c 'import sys, xml.dom.minidom as m; m.parse(sys.argv[1])' "$tmp/saved.xml"
fi
check "a texture that was destroyed, without a tool: read, as devices do" 0 '^status 0$' -- \
    "$cumu" run --backend host -- "$tmp/faulty" wrong texture_destroyed
check "another kernel's name" 0 '^status 0$' 'ERROR SUMMARY: 0' -- \
    "$cumu" memcheck --kernel-name kernel_substring=stor "$tmp/faulty" wrong load
check "its own" 0 '^status 719$' -- "$cumu" memcheck --kernel-name kns=stor,kne=load "$tmp/faulty" wrong load
check "left out" 0 '^status 0$' -- "$cumu" memcheck --kernel-name-exclude load "$tmp/faulty" wrong load
check "an expression" 0 '^status 719$' -- "$cumu" memcheck --kernel-regex '^l.*d$' "$tmp/faulty" wrong load
for skip in --launch-skip=2 '-s 2'; do
    # shellcheck disable=SC2086
    check "launches that are skipped: $skip" 0 '^status 0$' -- "$cumu" memcheck $skip "$tmp/faulty" wrong load
done
for count in '--launch-count 1' '-c 1'; do
    # shellcheck disable=SC2086
    check "and counted: $count" 0 '^status 0$' -- "$cumu" memcheck $count "$tmp/faulty" wrong load
done
check "the first program alone" 0 'ERROR SUMMARY: 0 errors' -- \
    "$cumu" memcheck --target-processes application-only sh -c "$tmp/faulty wrong load; true"
check "a launch that does not fail" 0 '^status 0$' 'ERROR SUMMARY: 1 error$' -- \
    "$cumu" memcheck --destroy-on-device-error kernel "$tmp/faulty" wrong load
check "another prefix" 0 '^## Invalid __global__ read' '^##     at load in ' '^## ERROR SUMMARY: 2 errors' -- \
    "$cumu" memcheck --prefix '##' "$tmp/faulty" wrong load
absent "and no line with the usual one" '^====='
for stacks in host device yes no; do
    check "stacks: $stacks" 0 'ERROR SUMMARY: 2 errors' -- \
        "$cumu" memcheck --show-backtrace $stacks --save "$tmp/stacks.$stacks" "$tmp/faulty" wrong called
    case $stacks in host | yes) host=yes ;; *) host=no ;; esac
    case $stacks in device | yes) device=yes ;; *) device=no ;; esac
    for frame in Host Device; do
        want=$host
        [ $frame = Host ] || want=$device
        has=no
        ! grep -qE "^=+ +$frame Frame:" "$tmp/out" || has=yes
        [ $has = $want ] || { echo "not ok frames of $frame in $stacks"; bad=1; }
    done
    grep -q 'Saved host backtrace' "$tmp/out" && has=yes || has=no
    [ $has = $host ] || { echo "not ok heading of frames in $stacks"; bad=1; }
done
for stacks in host device no; do
    for word in '"main"' '"called"'; do
        [ "$(grep -c "$word" "$tmp/stacks.$stacks")" = "$(grep -c "$word" "$tmp/stacks.yes")" ] ||
            { echo "not ok what is saved without stacks: $word"; bad=1; }
    done
done
check "frames: one a stack" 0 'Host Frame: launch' 'Device Frame: called' -- \
    "$cumu" memcheck --num-callers-host 1 --num-callers-device=1 --report-api-errors no "$tmp/faulty" wrong called
if [ "$(grep -c 'Device Frame' "$tmp/out")" != 1 ] ||
    [ "$(grep -c 'Host Frame' "$tmp/out")" != "$(grep -c 'Saved host backtrace' "$tmp/out")" ]; then
    echo "not ok frames that are counted"
    bad=1
fi
check "folders" 0 ' in folder in/a place/faulty\.h:5' -- "$cumu" memcheck "$tmp/faulty" wrong inlined
check "are stripped" 0 ' in faulty\.h:5' 'inlined at faulty\.cu:77' -- \
    "$cumu" memcheck --strip-paths yes "$tmp/faulty" wrong inlined
absent "of each line" '/'
check "levels: error" 0 '^========= Invalid' 'ERROR SUMMARY: 2 errors' -- \
    "$cumu" memcheck --print-level error "$tmp/faulty" wrong load
check "levels: fatal" 0 'ERROR SUMMARY: 2 errors' -- "$cumu" memcheck --print-level fatal "$tmp/faulty" wrong load
absent "prints no mere error" 'Invalid|Program hit'
for words in memory memory,init; do
    check "$words: a launch after one that failed" 0 '^status 719$' '^done$' '^========= Invalid __global__ write' -- \
        env CUMU_CHECK=$words "$cumu" run --backend host -- "$tmp/faulty" after
    absent "has nothing wrong of its own" 'error: .*refused|status [^7]'
done
check "a neighbour's memory" 0 '^status 0$' 'ERROR SUMMARY: 0' -- "$cumu" memcheck "$tmp/faulty" neighbour
check "padding: a neighbour further away" 0 '^status 719$' 'and is 625 bytes after the nearest allocation' -- \
    "$cumu" memcheck --padding 4096 "$tmp/faulty" neighbour
for option in '--padding -1' '--padding 2000000000' '--padding many' '--print-level loud' '--show-backtrace maybe' \
    '--strip-paths 1' '--print-limit few' '--error-exitcode 256' '--leak-check some' '--report-api-errors some' \
    '--target-processes some' '--nvtx maybe' '--track-unused-memory=some' '--destroy-on-device-error some' '--tool some'; do
    # shellcheck disable=SC2086
    check "an option's value: $option" 125 "${option%%[ =]*} " -- "$cumu" memcheck $option "$tmp/faulty" right
done
check "what is done anyway" 0 'ERROR SUMMARY: 0' -- "$cumu" memcheck --check-device-heap=yes --racecheck-report analysis \
    --track-stream-ordered-races all --require-cuda-init no --check-api-memory-access yes --demangle full --kill \
    --initcheck-address-space=global --num-cuda-barriers 4 --mode launch \
    --check-cache-control no --ignore-getprocaddress-notfound yes --check-optix=no --check-optix-leaks no --support-32bit no --generate-coredump=no true
for option in '--check-device-heap no' '--racecheck-report=hazard' '--require-cuda-init yes' '--read file' '--read' \
    '--initcheck-address-space shared' '--demangle' '--launch-timeout soon' '--kill=yes' '--generate-coredump yes' \
    '--coredump-name file' '--coredump-behavior exit' '--check-cache-control yes' '--check-optix yes' \
    '--ignore-getprocaddress-notfound no' '--support-32bit yes' '--preload-library file' '--injection-path folder' '--backtrace-short yes' '--quiet' \
    '--print-session-details' '--save-session-details' \
    '--check-warpgroup-mma=yes' '--unused-memory-threshold 101' '--num-callers-host some' '--check-exit-code maybe' \
    '--check-api-memory-access some' \
    '--mode attach' '--mode launc' '--track-stream-ordered-races no'; do
    # shellcheck disable=SC2086
    check "what is not: $option" 125 "${option%%[ =]*}" -- "$cumu" memcheck $option true
done
check "on a MUSA device" 125 'needs --backend host' -- "$cumu" memcheck --backend musa "$tmp/faulty"
check "suppressions that are none" 125 'no <record> in it' -- "$cumu" memcheck --suppressions "$tmp/faulty" "$tmp/faulty"
check "a log file by process and variable" 0 -- env WORD=here "$cumu" memcheck --log-file "$tmp/log.%p.%q{WORD}" true
ls "$tmp"/log.[0-9]*.here >/dev/null 2>&1 || { echo "not ok the log file's name"; bad=1; }
check "without the launcher: on stderr" 0 '^========= Invalid __global__ read' -- \
    env CUMU_CHECK=memory "$cumu" run --backend host -- "$tmp/faulty" wrong load
check "its help" 0 '^usage: cumu memcheck' '--leak-check full' -- "$cumu" memcheck --help
for option in --track-unused-memory '--track-unused-memory yes' --track-unused-memory=yes; do
    # shellcheck disable=SC2086
    check "$option" 0 'Unused memory in allocation' -- "$cumu" memcheck --tool initcheck $option "$tmp/calls" wrong never_used
done
for option in '--track-unused-memory no' --track-unused-memory=no '--report-api-errors extended' '--print-level auto'; do
    # shellcheck disable=SC2086
    check "$option" 0 'ERROR SUMMARY: 0 errors' -- "$cumu" memcheck --tool initcheck $option "$tmp/calls" wrong never_used
done
check "copies that are not looked at" 0 'ERROR SUMMARY: 0' -- \
    "$cumu" memcheck --tool initcheck --check-api-memory-access no "$tmp/calls" wrong copy_never_written
check "a function that is asked for and not there" 0 '^done$' 'ERROR SUMMARY: 0' -- \
    "$cumu" memcheck --report-api-errors all "$tmp/calls" right freed_twice
check "an unknown option" 125 'unknown option --frobnicate' -- "$cumu" memcheck --frobnicate "$tmp/faulty"
check "no program" 125 'no program given' -- "$cumu" memcheck
check "a program that is not there" 127 -- "$cumu" memcheck "$tmp/nothing"
check "a log file that cannot be" 125 'No such file' -- "$cumu" memcheck --log-file "$tmp/no/log" "$tmp/faulty" right
# What is killed, and what cannot be written.
check "a program that is killed: what it said before" 137 'Invalid __global__ read' 'ERROR SUMMARY: 2 errors' -- \
    "$cumu" memcheck sh -c "$tmp/faulty wrong load; kill -KILL \$\$"
check "and the status of errors" 9 'ERROR SUMMARY: 2 errors' -- \
    "$cumu" memcheck --error-exitcode 9 sh -c "$tmp/faulty wrong load; kill -KILL \$\$"
if [ -c /dev/full ]; then
    for option in --log-file --save; do
        check "$option on a full disk" 125 '/dev/full: No space left on device' '^done$' -- \
            "$cumu" memcheck --error-exitcode 9 $option /dev/full "$tmp/faulty" right
        check "$option on a full disk, with errors" 9 '/dev/full: No space left on device' '^done$' -- \
            "$cumu" memcheck --error-exitcode 9 $option /dev/full "$tmp/faulty" wrong load
        check "$option on a full disk, with errors that have no status" 125 '/dev/full: No space left on device' -- \
            "$cumu" memcheck $option /dev/full "$tmp/faulty" wrong load
    done
fi
# stderr is where the summary goes: what it does not take is no success.
for to in '2>&-' '2>/dev/full'; do
    for what in right:125 'wrong load:9'; do
        arguments=${what%:*} status=${what#*:} r=0
        sh -c "exec \"\$1\" memcheck --error-exitcode 9 \"$tmp/faulty\" $arguments $to" - "$cumu" >"$tmp/went" || r=$?
        check "$to: $arguments" 0 '^done$' -- cat "$tmp/went"
        [ $r = "$status" ] || { echo "not ok $to: $arguments: status $r"; bad=1; }
    done
    sh -c "exec \"\$1\" memcheck --log-file \"$tmp/log.stderr\" \"$tmp/faulty\" right $to" - "$cumu" >"$tmp/went" ||
        { echo "not ok $to, with a log file"; bad=1; }
    check "$to: a log file has it" 0 'ERROR SUMMARY: 0 errors' -- cat "$tmp/log.stderr"
done
for option in --log-file --save; do
    check "$option in no folder" 125 'no/file: No such file or directory' -- \
        "$cumu" memcheck $option "$tmp/no/file" "$tmp/faulty" right
    absent "and the program does not run" '^done$'
done
sh -c '{ "$1" memcheck --error-exitcode 9 sh -c "sleep 0.5; $2/faulty wrong load >$2/ran" 2>&1; echo $? >"$2/status"; } |
    head -n 0' - "$cumu" "$tmp"
check "a pipe that nobody reads: the program's end" 0 '^done$' -- cat "$tmp/ran"
check "and its status" 0 '^9$' -- cat "$tmp/status"
check "which the program does not hear of" 141 -- "$cumu" memcheck sh -c 'kill -PIPE $$'
mkdir "$tmp/small"
if unshare -rm mount -t tmpfs none "$tmp/small" 2>/dev/null; then
    check "no room for reports: they are on stderr, and it is no success" 125 '^========= Invalid __global__ read' \
        'no room for all reports: those above on stderr are not counted$' '^done$' -- unshare -rm sh -c '
            mount -t tmpfs -o size=4k none "$2/small" && echo >"$2/small/full" && export TMPDIR="$2/small" &&
            "$1" memcheck --error-exitcode 9 "$2/faulty" wrong load' - "$cumu" "$tmp"
else
    echo "skip no room for reports: no file system can be mounted here"
fi
# A program that reports for long: the file between needs no more room than what is not read yet.
check "many reports" 0 '^status 719$' 'ERROR SUMMARY: 3074 errors' -- "$cumu" memcheck --print-limit 10 \
    --save "$tmp/saved.many" sh -c '"$1" wrong load && cp "$CUMU_CHECK_FILE" "$2/copy" &&
        for k in $(seq 64); do cat "$2/copy"; done >"$2/copies" &&
        for k in $(seq 24); do cat "$2/copies" >>"$CUMU_CHECK_FILE"; done && sleep 0.5 &&
        stat -c "%s %b" "$CUMU_CHECK_FILE" >"$2/room"' - "$tmp/faulty" "$tmp"
check "are all written" 0 '^3074$' -- grep -c '"kind": "memcheck"' "$tmp/saved.many"
awk '{ exit !($1 > 2000000 && $2 * 512 < $1 / 2 + 1) }' "$tmp/room" || { echo "not ok the file's room: $(cat "$tmp/room")"; bad=1; }

# Where memory runs out, that is what is said.
"${CC:-cc}" -std=gnu11 -w -I"$B/gen" -o "$tmp/failing" "$(dirname "$0")/faulty.c" "$(dirname "$0")/../lib/fail_at.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined
no_other_cause() {
    grep -E 'lacks the kernel|refused its image|status (200|218|500)' "$tmp/out" && return 1
    [ "$r" -le 3 ] || return 1
}
fail_allocations "a launch" 0 no_other_cause "$cumu" run --backend host -- "$tmp/failing" wrong load
fail_allocations "many kernels" 40 no_other_cause "$cumu" run --backend host -- "$tmp/failing" right
check "no place for what is written" 125 'No such file' -- env TMPDIR="$tmp/no" "$cumu" memcheck "$tmp/faulty" right
[ -z "$(find "$TMPDIR" -name 'cumu-memcheck.*')" ] || { echo "not ok files are left"; bad=1; }
exit $bad
