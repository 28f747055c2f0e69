# Part of run.sh, which sources it.
# Cumu launch: what ranks are told, whose output comes how, who ends whom, and that nothing stays behind.
# shellcheck shell=sh disable=SC2154,SC2034

rank=$tmp/rank
cat >"$rank" <<'EOF'
#!/bin/bash
# One rank of the tests: does what its first argument says.
others() { # FILE: until the other ranks have said in it that they stand, 20 s at most
    for i in $(seq 200); do if [ "$(wc -l <"$1")" -ge $((WORLD_SIZE - 1)) ]; then return; fi; sleep 0.1; done
}
case $1 in
tell) echo "$RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE, $MASTER_ADDR:$MASTER_PORT, ${CUDA_VISIBLE_DEVICES-all}"
    printf 'and no newline' >&2 ;;
input) while read -r line; do echo "read $line"; done ;;
long) head -c 3000000 /dev/zero | tr '\0' x; echo ;;
fail) if [ "$RANK" = "$2" ]; then others "$4"; echo "the last words"; exit "$3"; fi
    sleep 100 & echo $! >>"$4"; wait ;;
kill) if [ "$RANK" = 1 ]; then kill -SEGV $$; fi; sleep 100 ;;
deaf) if [ "$RANK" = 1 ]; then others "$2"; exit 5; fi; trap '' TERM; echo $$ >>"$2"; while :; do sleep 0.1; done ;;
stray) (setsid sleep 100 & echo $! >>"$2") ; exit 0 ;;
signal) trap 'echo usr1' USR1; trap 'echo term; exit 9' TERM; echo ready >>"$2"; while :; do sleep 0.05; done ;;
endless) while echo line; do :; done ;;
esac
EOF
chmod +x "$rank"
launch="$cumu launch --backend host"
all_gone() { # FILE
    while read -r pid; do if kill -0 "$pid" 2>/dev/null; then return 1; fi; done <"$1"
}
nobody() { # NAME FILE: none of the processes whose ids are in the file lives
    if [ -s "$2" ] && until_true 10 all_gone "$2"; then echo "ok $1"; else echo "not ok $1"; bad=1; fi
}
lines() { [ "$(wc -l <"$2")" = "$1" ]; } # COUNT FILE

for n in 1 2 5; do
    # shellcheck disable=SC2086
    check "$n ranks: what they are told" 0 "^\\[0\\] 0 of $n, 0 of $n, 127.0.0.1:[1-9][0-9]*, all" \
        "^\\[$((n - 1))\\] $((n - 1)) of $n, $((n - 1)) of $n, 127" "^\\[0\\] and no newline$" -- $launch -n $n -- "$rank" tell
done
# shellcheck disable=SC2086
{
    MASTER_ADDR=10.1.2.3 MASTER_PORT=77 check "where the caller says" 0 '10.1.2.3:77,' -- $launch -n 2 "$rank" tell
    check "devices of their own" 0 '^\[1\] .*, 2,3$' -- $launch -n 2 --devices-per-rank 2 "$rank" tell
    CUDA_VISIBLE_DEVICES=5,1,0,4 check "of those that are visible" 0 '^\[0\] .*, 5,1$' '^\[1\] .*, 0,4$' -- \
        $launch -n 2 --devices-per-rank 2 "$rank" tell
    CUDA_VISIBLE_DEVICES=5,1,0 check "of which there are too few" 125 'fewer devices' -- \
        $launch -n 2 --devices-per-rank 2 "$rank" tell
    printf 'one\ntwo\n' >"$tmp/in"
    check "rank 0 has the input" 0 '^\[0\] read two$' -- sh -c "$launch -n 3 '$rank' input <'$tmp/in'"
    absent "and no other" '^\[[12]\]'
    check "a line of 3 MB" 0 -- sh -c "$launch -n 2 '$rank' long | wc -c | grep -Ex '60000[0-9]{2}'"
    : >"$tmp/pids"
    check "one fails: it is named, with its last words, and its status kept" 7 '^\[2\] the last words$' \
        '^cumu: rank 2 \(process [0-9]+\) ended with status 7$' -- $launch -n 4 "$rank" fail 2 7 "$tmp/pids"
    nobody "and what the others started is gone" "$tmp/pids"
    check "one is killed" 139 'rank 1 .* signal 11, Segmentation fault' -- $launch -n 3 "$rank" kill
    : >"$tmp/pids"
    check "one will not end" 5 'rank 1 .* status 5' -- $launch -n 3 --grace 1 "$rank" deaf "$tmp/pids"
    nobody "and does" "$tmp/pids"
    : >"$tmp/pids"
    check "a daemon of a rank" 0 -- $launch -n 2 "$rank" stray "$tmp/pids"
    nobody "ends with it" "$tmp/pids"
    check "whose reader leaves" 0 -- bash -c "$launch -n 2 '$rank' endless | head -n 1; exit \$((PIPESTATUS[0] != 141))"
    check "no such program" 127 'nowhere' -- $launch -n 2 "$tmp/nowhere"
    for wrong in '' '-n 0' '-n x' '-n 2 --grace x' '-n 2 --master-port 70000' '-n 2 --devices-per-rank 0' '-n 2 --what'; do
        check "refused: $wrong" 125 'usage: cumu launch' -- $launch $wrong "$rank" tell
    done
}

# Signals: sent to the launcher, seen by all.
: >"$tmp/ready"
# shellcheck disable=SC2086
$launch -n 3 "$rank" signal "$tmp/ready" >"$tmp/signals" 2>&1 &
launcher=$!
until_true 30 lines 3 "$tmp/ready" || :
kill -USR1 $launcher
all_said() { [ "$(grep -c 'usr1$' "$tmp/signals")" = 3 ]; }
until_true 30 all_said || :
kill -TERM $launcher
status=0
wait $launcher || status=$?
check "signals go on to all" 0 '^\[0\] usr1' '^\[1\] usr1' '^\[2\] usr1' '^\[0\] term' '^\[1\] term' '^\[2\] term' -- cat "$tmp/signals"
if [ $status = 9 ]; then echo "ok and the ranks say how it ended"; else echo "not ok status $status"; bad=1; fi

# Other machines, by a remote shell that goes nowhere.
cat >"$tmp/rsh" <<'EOF'
#!/bin/sh
# Stands for ssh: what it is told runs here.
echo "$1" >>"${0%rsh}hosts.asked"
shift
exec env -u RANK PATH=/usr/bin:/bin sh -c "$*"
EOF
chmod +x "$tmp/rsh"
printf '# two machines\nlocalhost slots=2\n\nnode-b slots=3 # the larger\nnode-c\n' >"$tmp/hosts"
hosts="--hosts $tmp/hosts --rsh $tmp/rsh"
# shellcheck disable=SC2086
{
    CUDA_VISIBLE_DEVICES="0,it's 1" check "three machines" 0 '^\[1\] 1 of 6, 1 of 2,' '^\[2\] 2 of 6, 0 of 3,' \
        "^\\[4\\] 4 of 6, 2 of 3, $(hostname):[0-9]+, 0,it's 1" '^\[5\] 5 of 6, 0 of 1,' -- $launch $hosts "$rank" tell
    check "of which two serve" 0 '^\[3\] 3 of 4, 1 of 2' -- $launch -n 4 $hosts "$rank" tell
    check "too many ranks" 125 '7 ranks, .* 6 slots' -- $launch -n 7 $hosts "$rank" tell
    : >"$tmp/pids"
    check "a rank fails elsewhere" 3 '^\[4\] the last words$' 'cumu: rank 4 .* status 3$' \
        'cumu: the launcher on node-b .* status 3$' -- $launch $hosts "$rank" fail 4 3 "$tmp/pids"
    nobody "and nothing stays anywhere" "$tmp/pids"
    echo 'a slots=x' >"$tmp/hosts"
    check "a file that says something else" 125 'hosts:1: expected' -- $launch $hosts "$rank" tell
}

# A launcher that is killed takes its ranks, here and there, with it.
printf 'localhost slots=2\nnode-b slots=2\n' >"$tmp/hosts"
: >"$tmp/pids"
# shellcheck disable=SC2086
cat >"$tmp/sleeper" <<'EOF'
#!/bin/sh
# A rank that tells its number and stays.
echo $$ >>"$1"
exec sleep 100
EOF
chmod +x "$tmp/sleeper"
# shellcheck disable=SC2086
$launch $hosts --grace 1 "$tmp/sleeper" "$tmp/pids" >/dev/null 2>&1 &
launcher=$!
until_true 30 lines 4 "$tmp/pids" || :
kill -KILL $launcher
wait $launcher 2>/dev/null || :
nobody "a launcher that is killed takes its ranks with it, here and elsewhere" "$tmp/pids"
