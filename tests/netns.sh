#!/bin/sh
# Network namespaces on a bridge, which stand for hosts. Sourced after e2e/lib.sh, never run. It needs root.
# shellcheck shell=sh disable=SC2154

hosts= # their names
switch=cumu-$$-s

# plug_in_hosts N: makes so many; false if that is not permitted. Host i has the addresses 10.173.0.i and fd00:173::i on
# eth7. They go with the script.
plug_in_hosts() {
    trap unplug_hosts EXIT
    make_hosts "$1" 2>/dev/null
}
unplug_hosts() {
    for name in $hosts $switch; do ip netns del "$name" 2>/dev/null || :; done
    rm -rf "$tmp"
}
make_hosts() {
    ip netns add "$switch" && ip -n "$switch" link add br0 type bridge && ip -n "$switch" link set br0 up || return 1
    i=0
    while [ $i -lt "$1" ]; do
        hosts="$hosts${hosts:+ }cumu-$$-$i"
        name=cumu-$$-$i
        i=$((i + 1))
        ip netns add "$name" && ip -n "$name" link add eth7 type veth peer name "p$i" netns "$switch" &&
            ip -n "$name" addr add "10.173.0.$i/24" dev eth7 &&
            ip -n "$name" addr add "fd00:173::$i/64" dev eth7 nodad && ip -n "$name" link set eth7 up &&
            ip -n "$name" link set lo up && ip -n "$switch" link set "p$i" master br0 up || return 1
    done
}
