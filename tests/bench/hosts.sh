#!/bin/sh
# The all-reduce of the CPU MCCL over two hosts beside Open MPI's by TCP, for 2 and 4 ranks; then what UCX's perftest
# and PyTorch's Gloo do there, if they are installed (Debian: ucx-utils, python3-torch). The hosts are network namespaces
# joined by veth, which needs root. Usage: hosts.sh BENCH [words before each program]; PYTHON: that has torch
set -eu
bench=$(realpath "$1")
shift
tmp=$(mktemp -d)
# shellcheck source=../netns.sh
. "$(dirname "$0")/../netns.sh"
if ! plug_in_hosts 2; then
    echo "# mccl.hosts: not permitted to make network namespaces"
    exit 0
fi
# What mpirun calls instead of ssh: the host's address, then a command.
cat >"$tmp/agent" <<EOF
#!/bin/sh
i=\$((\${1##*.} - 1))
shift
exec ip netns exec cumu-$$-\$i sh -c "\$*"
EOF
chmod +x "$tmp/agent"
for n in 1 2; do
    ip netns exec "cumu-$$-0" "$@" mpirun --allow-run-as-root --bind-to none --mca mpi_yield_when_idle $((n - 1)) \
        --mca plm_rsh_agent "$tmp/agent" --host "10.173.0.1:$n,10.173.0.2:$n" \
        --mca pml ob1 --mca btl tcp,self --mca oob_tcp_if_include eth7 --mca btl_tcp_if_include eth7 \
        -x CUMU_HOST_DEVICES=4 -x UCX_TLS=tcp "$bench" allreduce hosts
done
if command -v ucx_perftest >/dev/null; then
    for what in 4:5000 1024:5000 16384:2000 32768:2000 262144:300 1048576:100 4194304:30 16777216:10; do
        size=${what%:*} rounds=${what#*:} test=tag_lat
        ip netns exec "cumu-$$-0" env UCX_TLS=tcp "$@" ucx_perftest -t "$test" -s "$size" -n "$rounds" -w 20 \
            >/dev/null 2>&1 &
        until ip netns exec "cumu-$$-0" ss -ltn | grep -q ':13337 '; do sleep 0.1; done
        ip netns exec "cumu-$$-1" env UCX_TLS=tcp "$@" ucx_perftest 10.173.0.1 -t "$test" -s "$size" -n "$rounds" \
            -w 20 2>&1 | awk -v n="mccl.hosts.ucx_${test}_${size}B" '/^Final/ {
                print "bench", n, $3, "us  # median, one way; average", $5, "us" }'
        wait
    done
else
    echo "# mccl.hosts: no ucx_perftest"
fi
python=${PYTHON:-python3}
if "$python" -c 'import torch.distributed as d; exit(not d.is_gloo_available())' 2>/dev/null; then
    for rank in 1 0; do
        ip netns exec "cumu-$$-$rank" env GLOO_SOCKET_IFNAME=eth7 "$@" "$python" "$(dirname "$0")/gloo.py" \
            $rank 2 10.173.0.1 &
    done
    wait
else
    echo "# mccl.hosts: no PyTorch with Gloo"
fi
