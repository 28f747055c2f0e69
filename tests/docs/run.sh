#!/bin/sh
# Every command that README and GUIDE show is in the list beside this, and does what the list says when it is typed.
# A line of the list: the exit status and a pattern of the output, or `not: why it is not run here`; a tab; the command.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..

# Commands in blocks begin with `$ ` or stand in those that have nothing but commands; those in the text are in `...`.
shown() {
    for f in "$top/README.md" "$top/shim/cli/GUIDE.md"; do
        awk '/^```/ { block = !block; next }
            block && /^\$ / { sub(/^\$ /, ""); print }
            block && /^(make|build\/bin\/cumu)( |$)/' "$f"
        awk '/^```/ { block = !block; next } !block' "$f" | grep -o '`[^`]*`' | tr -d '`' |
            grep -E '^(CUMU_[A-Z_]*=[^ ]+ )*cumu [a-z-]' || :
    done | sed -E 's/ {2,}#.*//; s/ +$//' | grep -E '(^|[ /])(cumu|make)( |$)' | sort -u
}
shown >"$tmp/all"
grep -vE '^cumu [a-z]+$' "$tmp/all" >"$tmp/shown"
cut -f 2 "$here/commands" | sort -u >"$tmp/listed"
check "commands that are shown are listed" 0 '^none$' -- sh -c 'comm -23 "$1/shown" "$1/listed" | grep . || echo none' - "$tmp"
check "commands that are listed are shown" 0 '^none$' -- sh -c 'comm -13 "$1/shown" "$1/listed" | grep . || echo none' - "$tmp"

check "verbs that are named exist" 0 '^none$' -- sh -c '
    grep -oE "^([^ ]*/)?cumu [a-z]+" "$1/all" | sed "s/.* //" | sort -u >"$1/verbs"
    for v in $(cat "$1/verbs"); do [ "$v" = help ] || "$2" help "$v" >/dev/null 2>&1 || echo "$v"; done | grep . || echo none' - "$tmp" "$cumu"
check "and all that exist are named" 0 '^none$' -- sh -c '
    "$2" help | sed -n "s/^  \([a-z][a-z]*\)  .*/\1/p" >"$1/exist"
    for v in $(cat "$1/exist"); do [ "$v" = version ] || grep -qx "$v" "$1/verbs" || echo "$v"; done | grep . || echo none' - "$tmp" "$cumu"

# What the commands name, in a folder of its own.
mkdir -p "$tmp/bin" "$tmp/work/other" "$tmp/work/build"
B=$(cd "$B" && pwd) fix=$B/tests/fixtures
ln -s "$B/bin/cumu" "$tmp/bin/cumu"
for name in vectoradd vectorAdd prog tests; do cp "$fix/vectoradd" "$tmp/work/$name"; done
cp "$fix/reduce" "$tmp/work/reduction"
cp "$fix/packed_sass" "$tmp/work/libfoo.so"
cp "$fix/packed" "$tmp/work/other/libfoo.so"
cp "$fix/packed_sass" "$tmp/work/program"
mkdir -p "$tmp/work/build/bin"
ln -s "$B/bin/cumu" "$tmp/work/build/bin/cumu"
tab=$(printf '\t')
while IFS=$tab read -r want command; do
    case $want in
    not:*) continue ;;
    esac
    pattern=${want#* }
    check "$command" "${want%% *}" ${pattern:+"$pattern"} -- env CUMU_CACHE_DIR="$tmp/cache" PATH="$tmp/bin:$PATH" \
        sh -c 'cd "$1" && eval "$2"' - "$tmp/work" "$command" </dev/null
done <"$here/commands"
exit "$bad"
