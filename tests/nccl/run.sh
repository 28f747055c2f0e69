#!/bin/sh
# NCCL programs through `cumu run`: ranks as threads, as processes, and all of them in one thread's groups.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -I"$B/gen" -o "$tmp/client" "$(dirname "$0")/client.c" \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined -pthread
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -o "$tmp/abandon" "$(dirname "$0")/abandon.c" \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -I"$B/gen" -o "$tmp/storm" "$(dirname "$0")/storm.c" \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -rdynamic -I"$B/gen" -o "$tmp/starved" "$(dirname "$0")/starved.c" \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined -ldl -pthread
"${CC:-cc}" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -rdynamic -I"$B/gen" -o "$tmp/grown" "$(dirname "$0")/grown.c" \
    "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined -ldl -pthread
run="$cumu run --backend host --"
# grown SEEDS NAME: programs of 2 to 8 ranks, in up to as many processes, whose communicators grow and are revoked
grown() {
    # shellcheck disable=SC2086
    CUMU_HOST_DEVICES=8 LIMIT=600 check "programs $1 that grow, $2" 0 '^PASS grown' -- $run "$tmp/grown" $1
}
# storm SEED TEAMS: programs in which a rank is lost. The seeds from 20 on have splits and shrinks around it.
storm() {
    # shellcheck disable=SC2086
    CUMU_HOST_DEVICES=8 LIMIT=600 check "$3: programs $1 to $(($1 + $2 - 1)), in which a rank is lost" 0 '^PASS storm' -- \
        $run "$tmp/storm" "$1" "$2"
}
export CUMU_HOST_DEVICES=4

for how in threads processes launcher death death0 group; do
    # shellcheck disable=SC2086
    check "4 ranks: $how" 0 "^PASS nccl $how\$" -- $run "$tmp/client" $how 4
done
storm 20 10 "one host"
# A rank lacks memory, descriptors, mappings, threads, or all of them (89: its very first allocation), closes what is not
# its own, calls something else, or is knocked at.
# shellcheck disable=SC2086
for seeds in '89 1 4' '475 2 11' '400 10'; do
    CUMU_HOST_DEVICES=8 LIMIT=600 check "programs $seeds, of which a rank starves" 0 '^PASS starved' -- \
        $run "$tmp/starved" $seeds
done
# 24: a growth whose parent ends; 35: an id that is given up when all of its ranks have come.
for seeds in '24 1 12' '35 1 3' '30 12'; do
    grown "$seeds" "one host"
done
# With hardly a descriptor left, wherever they end: errors, perhaps, but no rank waits for ever.
for n in 24 26 27 30; do
    check "4 ranks, at most $n descriptors each" 0 '^ended$' -- \
        sh -c "ulimit -n $n; timeout 60 $run $tmp/client processes 4; [ \$? -lt 124 ] && echo ended"
done
# shellcheck disable=SC2086
CUMU_HOST_DEVICES=8 check "2 to 8 ranks that grow" 0 '^PASS nccl grow$' -- $run "$tmp/client" grow 8
if ldconfig -p 2>/dev/null | grep -q 'libucp\.so\.0'; then # splits, shrinks, windows, captures, aborts over UCX
    for per in 1 2; do
        for how in threads processes death death0 group; do
            # shellcheck disable=SC2086
            CUMU_NCCL_HOST_RANKS=$per UCX_TLS=tcp,self check "4 ranks, $per a host: $how" 0 "^PASS nccl $how\$" -- \
                $run "$tmp/client" $how 4
        done
    done
    # shellcheck disable=SC2086
    CUMU_HOST_DEVICES=8 CUMU_NCCL_HOST_RANKS=3 UCX_TLS=tcp,self check "2 to 8 ranks that grow, 3 a host" 0 \
        '^PASS nccl grow$' -- $run "$tmp/client" grow 8
    # shellcheck disable=SC2086
    for seeds in '2021 1 0' '510 6'; do # 2021: memory ends when the ranks of a host have met
        CUMU_HOST_DEVICES=8 CUMU_NCCL_HOST_RANKS=1 UCX_TLS=tcp,self LIMIT=600 check "programs $seeds, over hosts" 0 \
            '^PASS starved' -- $run "$tmp/starved" $seeds
    done
    for seeds in '60 5' '6119 1'; do # 6119: no descriptor is left when UCX closes its ways
        CUMU_NCCL_HOST_RANKS=2 UCX_TLS=tcp,self grown "$seeds" "2 ranks a host"
    done
    # shellcheck source=../netns.sh
    . "$(dirname "$0")/../netns.sh"
    if plug_in_hosts 2; then
        for how in processes grow death death0; do # ranks that stay find each other across hosts
            # shellcheck disable=SC2086
            TEAM_HOSTS=$hosts UCX_TLS=tcp check "4 ranks, two namespaces: $how" 0 "^PASS nccl $how\$" -- \
                $run "$tmp/client" $how 4
        done
        TEAM_HOSTS=$hosts UCX_TLS=tcp grown '70 5' "two namespaces"
        TEAM_HOSTS=$hosts UCX_TLS=tcp storm 1032 8 "two namespaces"
    else
        echo "skip nccl over namespaces: not permitted to make them"
    fi
fi
"${CC:-cc}" -std=c11 -Wall -Wextra -Wno-cast-function-type -o "$tmp/refused" "$(dirname "$0")/refused.c" \
    "$B/lib/cumu/facade/libnvshmem_host.so.3" "$B/lib/cumu/facade/libnccl.so.2" -Wl,--allow-shlib-undefined
# shellcheck disable=SC2086
for line in '^PASS refused$' 'gap: nvshmem: nvshmem_double_g: ' 'gap: nvshmem: nvshmem_int_g: ' 'gap: nccl: ncclTeamCft: '; do
    check "refused without a status: $line" 0 "$line" -- $run "$tmp/refused"
done
check "a rank that never comes, given up" 0 '^PASS abandon$' -- $run "$tmp/abandon"
CUMU_HOST_DEVICES=1 CUMU_HOST_SHARE=1 check "3 ranks of one device" 0 '^PASS' -- $run "$tmp/client" processes 3
for how in processes threads; do
    CUMU_HOST_DEVICES=1 check "which is refused where nobody allows it: $how" 1 \
        'ncclCommInitRank failed: rank 0 and rank 1 are both on device 0' -- $run "$tmp/client" $how 3
done
(
    unset CUMU_HOST_DEVICES
    OMPI_COMM_WORLD_LOCAL_SIZE=3 check "as many devices as a launcher has ranks" 0 '^PASS' -- \
        $run "$tmp/client" processes 3
    for nodes in '3' '2,3' '1(x4),3(x2),2'; do
        SLURM_STEP_TASKS_PER_NODE=$nodes check "by Slurm: $nodes" 0 '^PASS' -- $run "$tmp/client" processes 3
    done
    for nodes in '3x' '3(x2' 'three,3' '2(x3),1'; do
        SLURM_STEP_TASKS_PER_NODE=$nodes check "by Slurm, no or too few: $nodes" 1 FAIL -- $run "$tmp/client" processes 3
    done
    exit $bad
) || bad=1
# Launchers as they are: what each tells its ranks, and a program that asks MPI, as GUIDE has it.
# launched NAME DEVICES PROGRAM WORDS...: 4 ranks by those words, each of which sees so many devices
launched() {
    how=$1 devices=$2 program=$3
    shift 3
    port=$((port + 1))
    # shellcheck disable=SC2046
    NCCL_COMM_ID=127.0.0.1:$port check "4 ranks by $how" 0 \
        $(printf 'rank.%s.of.4:.[0-9]*.devices:.PASS ' 0 1 2 3) -- "$@" "$program" "$devices"
}
launcher_of() { command -v "mpirun.$1" 2>/dev/null || { mpirun --version 2>/dev/null | grep -qi "$2" && command -v mpirun; }; }
(
    unset CUMU_HOST_DEVICES
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    port=$((21000 + $$ % 8000))
    one="$(dirname "$0")/launched.c"
    build_one() { # NAME COMPILER WORDS...
        program=$tmp/$1
        shift
        "$@" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -I"$B/gen" -o "$program" "$one" \
            "$B/lib/cumu/facade/libnccl.so.2" "$B/lib/cumu/facade/libcudart.so.13" -Wl,--allow-shlib-undefined
    }
    build_one launched "${CC:-cc}"
    launched "cumu launch" 4 "$tmp/launched" "$cumu" launch --backend host -n 4 --
    launched "cumu launch, two devices each" 2 "$tmp/launched" "$cumu" launch --backend host -n 4 --devices-per-rank 2 --
    for mpi in openmpi mpich; do
        name=$([ $mpi = openmpi ] && echo 'Open MPI\|OpenRTE' || echo 'HYDRA')
        mpirun=$(launcher_of $mpi "$name") || { echo "skip nccl by $mpi: not installed"; continue; }
        over=$([ $mpi = openmpi ] && echo --oversubscribe || :)
        # shellcheck disable=SC2086
        launched "mpirun of $mpi" 4 "$tmp/launched" "$mpirun" $over -n 4 $run
        if command -v mpicc.$mpi >/dev/null 2>&1; then
            build_one with_$mpi mpicc.$mpi -DMPI
            # shellcheck disable=SC2086
            launched "mpirun of $mpi, a program of MPI" 4 "$tmp/with_$mpi" "$mpirun" $over -n 4 $run
        fi
    done
    CUMU_HOST_DEVICES=1 check "which have one device, and may not" 1 'are both on device 0' -- \
        env NCCL_COMM_ID=127.0.0.1:$((port + 1)) "$cumu" launch --backend host -n 2 -- "$tmp/launched" 1
    exit $bad
) || bad=1
check "a tensor-parallel network, forward and backward, and a hierarchical all-reduce" 0 \
    '^PASS tensor_parallel$' -- $run "$fix/tensor_parallel"
# Devices chosen by the variables of CUDA and of containers.
CUDA_VISIBLE_DEVICES=2,1,0 check "fewer devices" 0 '^PASS' -- $run "$tmp/client" group 3
CUMU_HOST_SHARE=1 CUDA_VISIBLE_DEVICES=1 NVIDIA_VISIBLE_DEVICES=0,3 check "one device of a container's two" 0 '^PASS' -- \
    $run "$tmp/client" processes 3
uuid=63756d75-2d68-6f73-742d-6370750000
CUDA_VISIBLE_DEVICES=GPU-${uuid}03,GPU-${uuid}01,1 check "devices by UUID" 0 '^PASS' -- $run "$tmp/client" group 3
CUDA_VISIBLE_DEVICES=MIG-GPU-${uuid}03/1/0 check "a slice of a device, of which there are none" 1 'FAIL' -- \
    $run "$tmp/client" group 3
check "before it runs" 0 'libnccl\.so\.2' -- "$cumu" check "$tmp/client"

# The manifest: written from a run, kept to, and broken in one field after the other.
# shellcheck disable=SC2086
CUMU_COMM_RECORD=$tmp/manifest.json check "a manifest is written" 0 '^PASS' -- $run "$tmp/client" group 4
check "which has the communicators' devices and the windows" 0 \
    '"group0", "devices": \[0, 1, 2, 3\]' '"size": 1000,' '"devices": \[2, 3\]' -- cat "$tmp/manifest.json"
CUMU_COMM_MANIFEST=$tmp/manifest.json check "it fits the program" 0 '^PASS' -- $run "$tmp/client" group 4
broken() {
    name=$1 edit=$2
    shift 2
    sed "$edit" "$tmp/manifest.json" >"$tmp/broken.json"
    CUMU_COMM_MANIFEST=$tmp/broken.json check "$name" 1 "$@" -- $run "$tmp/client" group 4
}
broken "another number of devices" 's/\[0, 1, 2, 3\]/[0, 1, 2]/' \
    'group "group0", devices: the manifest has 3, the communicator 4 ranks'
broken "another device" 's/\[0, 1, 2, 3\]/[0, 1, 3, 2]/' 'group "group0", devices: rank 2 is to be device 3'
broken "another size" 's/"size": 1000,/"size": 2000,/' \
    'group "group0", slot "buffer0", size: the manifest has 2000, the program 1000'
broken "too few windows" 's/"slots": \[$/"slots": []},/; /"buffer0"/d' 'group "group0", slots: the manifest has 0'
# The split of a run of five ranks would fit a run of four.
sed 's/\[0, 1, 2, 3\]/[0, 1, 2, 3, 4]/; s/\[2, 3\]/[0, 1, 2, 3]/' "$tmp/manifest.json" >"$tmp/larger.json"
for how in group processes; do
    CUMU_COMM_MANIFEST=$tmp/larger.json check "the split of a larger run is no world: $how" 1 \
        'group "group0", devices: the manifest has 5, the communicator 4 ranks' -- $run "$tmp/client" $how 4
done
broken "no manifest at all" 's/2/two/' 'line 2: expected a value'
exit $bad
