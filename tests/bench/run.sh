#!/bin/sh
# Keeping and comparing figures (scripts/bench): what is worse is marked, in the right direction.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
tab=$(printf '\t')

record() { # VERSION, output of make bench on stdin
    scripts/bench record "$tmp/new.tsv" 2>/dev/null || return 1
    sed "1d; s/^[^${tab}]*${tab}[^${tab}]*/$1${tab}on a day/" "$tmp/new.tsv" >>"$tmp/history.tsv"
    rm "$tmp/new.tsv"
}
printf 'version\tdate\tcpu\tfigure\tvalue\tunit\n' >"$tmp/history.tsv"
record v1 <<EOF
# a line of another kind
bench hotpath.jump 10 ns
bench copy.rate 5.0 GB/s
bench mccl.allreduce_4B_vs_openmpi 2 ratio # of latencies
bench mccl.allreduce_1MiB_vs_openmpi 2 ratio
bench gone.by 1 ns
EOF
record v2 <<EOF
bench hotpath.jump 10.5 ns
bench copy.rate 4.0 GB/s
bench mccl.allreduce_4B_vs_openmpi 1.5 ratio # of latencies
bench mccl.allreduce_1MiB_vs_openmpi 1.5 ratio
EOF
record v3 <<EOF
bench hotpath.jump 12 ns
EOF
check "the last two" 0 '^hotpath.jump +10.5 +12 +\+14.3% ns  worse$' '^1 worse' -- scripts/bench diff "$tmp/history.tsv"
check "two versions" 0 '^copy.rate .* -20.0% GB/s  worse$' '1MiB_vs_openmpi .*  worse$' '^2 worse' -- \
    scripts/bench diff "$tmp/history.tsv" v1 v2
absent "what is better is not marked" '(jump|_4B_).*worse'
absent "what one of them lacks is left out" gone
check "a version that is not there" 1 'no run of version v9' -- scripts/bench diff "$tmp/history.tsv" v9
echo "no figures" >"$tmp/empty"
if scripts/bench record "$tmp/none.tsv" <"$tmp/empty" 2>/dev/null; then
    echo "not ok output without figures is refused"
    bad=1
else
    echo "ok output without figures is refused"
fi
exit $bad
