#!/bin/sh
# The MCCL tests again, with ranks on several hosts: one host that is split, and network namespaces.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
mccl=$B/tests/mccl
LIMIT=300 # some take 5 s of CPU time, of which a busy machine gives them little

if ! ldconfig -p 2>/dev/null | grep -q 'libucp\.so\.0'; then
    echo "skip mccl over hosts: no libucp.so.0 (Debian: libucx0)"
    exit 77
fi

# What is left of a team that hung holds no pipe of ours: outputs are files.
CUMU_NCCL_HOST_RANKS=2 check "collectives, two ranks a host" 0 'mccl collectives: [0-9]* checks, 0 failed' -- \
    "$mccl/collectives"
# Short all-reduces by recursive doubling, with hosts beyond the power of two, and hosts of unequal size.
CUMU_NCCL_HOST_RANKS=1 check "collectives, 5 to 7 hosts" 0 'mccl collectives: [0-9]* checks, 0 failed' -- \
    "$mccl/collectives" 5 7
CUMU_NCCL_HOST_RANKS=2 check "collectives, hosts of 2 ranks and of 1" 0 'mccl collectives: [0-9]* checks, 0 failed' -- \
    "$mccl/collectives" 7 7
CUMU_NCCL_HOST_RANKS=1 check "generated programs, one rank a host" 0 'mccl generated: [0-9]* checks, 0 failed' -- \
    "$mccl/generated"
CUMU_NCCL_HOST_RANKS=2 check "collectives in graphs, two ranks a host" 0 'mccl graphs: [0-9]* checks, 0 failed' -- \
    "$mccl/graphs"
CUMU_NCCL_HOST_RANKS=1 check "sends and receives, one rank a host" 0 'mccl transfers: [0-9]* checks, 0 failed' -- \
    "$mccl/transfers"
for per in 1 2 3; do # some wait for each other, over hosts
    UCX_TLS=tcp,self check "ranks that disagree, $per a host" 0 'mccl disagree: [0-9]* checks, 0 failed' -- \
        "$mccl/disagree" $per
done
CUMU_NCCL_HOST_RANKS=2 UCX_TLS=tcp,self check "puts and signals, two ranks a host" 0 \
    'mccl one_sided: [0-9]* checks, 0 failed' -- "$mccl/one_sided"
CUMU_NCCL_HOST_RANKS=2 check "faults, two ranks a host" 0 'mccl failure: [0-9]* checks, 0 failed' -- "$mccl/failure"
CUMU_NCCL_HOST_RANKS=2 UCX_TLS=tcp,self check "a rank is lost at any time, two ranks a host" 0 \
    'mccl any_time: [0-9]* checks, 0 failed' -- "$mccl/any_time" 100 6
CUMU_NCCL_HOST_RANKS=2 check "a rank is stopped, two ranks a host" 0 'mccl stopped: [0-9]* checks, 0 failed' -- \
    "$mccl/stopped" 3 3
CUMU_NCCL_HOST_RANKS=1 check "what a lost call leaves alone, one rank a host" 0 \
    'mccl quiet: [0-9]* checks, 0 failed' -- "$mccl/quiet" 5 4

if unshare -m true 2>/dev/null; then # UCX's shared memory does without it, and ours is not there
    CUMU_NCCL_HOST_RANKS=1 check "a full /dev/shm" 0 'mccl meet: 2 checks, 0 failed' -- \
        unshare -m sh -c 'mount -t tmpfs -o size=4k tmpfs /dev/shm && exec "$0" 4' "$mccl/meet"
    CUMU_NCCL_HOST_RANKS=4 check "320 initialisations at once on two hosts, 16 MiB of /dev/shm" 0 \
        'mccl storm: [0-9]* checks, 0 failed' -- \
        unshare -m sh -c 'mount -t tmpfs -o size=16m tmpfs /dev/shm && exec "$0"' "$mccl/storm"
fi
CUMU_NCCL_HOST_RANKS=2 UCX_TLS=tcp,self check "hardly a descriptor left, two ranks a host" 0 \
    'mccl scarce: [0-9]* checks, 0 failed' -- "$mccl/scarce"
CUMU_NCCL_HOST_RANKS=1 check "a stopped rank goes on, one rank a host" 0 \
    'mccl continued: [0-9]* checks, 0 failed' -- "$mccl/continued" 200 10

# 105: a rank is stopped between its two visits; 112: one is lost before the last one comes.
for seeds in '105 2' '112 6'; do
    # shellcheck disable=SC2086
    CUMU_NCCL_HOST_RANKS=2 UCX_TLS=tcp,self check "a rank is lost in namespaces of its own, programs $seeds" 0 \
        'mccl spaces: [0-9]* checks, 0 failed' -- "$mccl/spaces" $seeds
done

# Where nothing is copied straight into another process's memory, as that could not be ended.
export GLIBC_TUNABLES=glibc.pthread.rseq=0
check "collectives without rseq" 0 'mccl collectives: [0-9]* checks, 0 failed' -- "$mccl/collectives" 2 4
check "a stopped rank goes on, without rseq" 0 'mccl continued: [0-9]* checks, 0 failed' -- "$mccl/continued" 1 24 4
unset GLIBC_TUNABLES

# shellcheck source=../netns.sh
. "$(dirname "$0")/../netns.sh"
met='mccl meet: [0-9]* checks, 0 failed'
if plug_in_hosts 4; then
    TEAM_PIDS=1 check "faults, a pid namespace for each rank" 0 'mccl failure: [0-9]* checks, 0 failed' -- "$mccl/failure"
    TEAM_PIDS=1 check "a rank is stopped there" 0 'mccl stopped: [0-9]* checks, 0 failed' -- "$mccl/stopped" 1 3
    TEAM_PIDS=1 check "reunions there" 0 'mccl reunion: [0-9]* checks, 0 failed' -- "$mccl/reunion"
    export TEAM_HOSTS="$hosts" UCX_TLS=tcp
    check "8 ranks, four namespaces" 0 "$met" -- "$mccl/meet" 8
    TEAM_HOSTS=${hosts% * *}
    check "8 ranks, two namespaces" 0 "$met" -- "$mccl/meet" 8
    NCCL_SOCKET_FAMILY=AF_INET6 UCX_TCP_AF_PRIO=inet6 check "by IPv6" 0 "$met" -- "$mccl/meet" 4
    NCCL_COMM_ID=10.173.0.1:29777 check "at the place that NCCL_COMM_ID names" 0 "$met" -- "$mccl/meet" 4
    NCCL_COMM_ID='[fd00:173::1]:29778' check "at one of IPv6" 0 "$met" -- "$mccl/meet" 4
    check "a stopped rank goes on, two namespaces" 0 'mccl continued: [0-9]* checks, 0 failed' -- "$mccl/continued" 7 10
    check "a rank is stopped, two namespaces" 0 'mccl stopped: [0-9]* checks, 0 failed' -- "$mccl/stopped" 5 3
    check "a rank is lost in namespaces of its own, two hosts" 0 'mccl spaces: [0-9]* checks, 0 failed' -- \
        "$mccl/spaces" 300 8
    check "faults, two namespaces" 0 'mccl hosts: [0-9]* checks, 0 failed' -- "$mccl/hosts"
    check "a rank is lost at any time, two namespaces" 0 'mccl any_time: [0-9]* checks, 0 failed' -- \
        "$mccl/any_time" 200 6
    check "reunions, two namespaces" 0 'mccl reunion: [0-9]* checks, 0 failed' -- "$mccl/reunion"
    check "sends and receives, two namespaces" 0 'mccl transfers: [0-9]* checks, 0 failed' -- "$mccl/transfers"
    flaps=${hosts#* }
    flaps=${flaps%% *}
    # TCP tries again after 0.2 s and then twice as long each time, which may fall into the same part of the link's
    # coming and going five times: 6.2 s
    while sleep 0.3; do # until the namespace is gone
        ip -n "$flaps" link set eth7 down && sleep 0.1 && ip -n "$flaps" link set eth7 up || break
    done 2>/dev/null &
    flap=$!
    CUMU_NCCL_SILENCE_MS=20000 check "ranks meet while a link comes and goes" 0 'mccl meet: [0-9]* checks, 0 failed' -- \
        "$mccl/meet" 4 20
    kill $flap
else
    echo "skip mccl over namespaces: not permitted to make them"
fi
exit "$bad"
