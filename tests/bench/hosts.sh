#!/bin/sh
# The all-reduce of the CPU MCCL over two hosts beside Open MPI's by TCP, for 2 and 4 ranks. The hosts are network
# namespaces joined by veth, which needs root. Usage: hosts.sh BENCH [words before mpirun]
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
