# Helpers of the end-to-end scripts: one `ok` or `not ok` line a check. Sourced, never run.
# shellcheck shell=sh disable=SC2034

: "${B:=build}"
cumu=$B/bin/cumu
fix=$B/tests/fixtures
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0

# passes COMMAND...: its last line says what passed.
passes() {
    if "$@" >"$tmp/out" 2>&1; then
        tail -n 1 "$tmp/out"
    elif grep -q '^skip' "$tmp/out"; then
        grep '^skip' "$tmp/out"
    else
        grep -v gap: "$tmp/out" | head -n 20
        bad=1
    fi
}

# until_true SECONDS COMMAND...: waits for what the command looks at, so long at most; whether it came.
until_true() {
    tries=$(($1 * 20))
    shift
    until "$@"; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || return 1
        sleep 0.05
    done
}

# why: what the last check's output says: lines of tests that failed and their remarks before all others.
why() {
    {
        grep -E '^(not ok|# )' "$tmp/out" | head -n 8
        grep -vE '^(ok|not ok|# )' "$tmp/out" | head -n 8
    } | sed 's/^/    /'
}

# check NAME WANT_STATUS [PATTERN...] -- COMMAND...: exit status and every pattern (grep -E) in its output. It may
# take LIMIT seconds, or 150: a limit ends what hangs, on a machine that is busy, too.
check() {
    name=$1 want=$2
    shift 2
    : >"$tmp/patterns"
    while [ "$1" != -- ]; do
        printf '%s\n' "$1" >>"$tmp/patterns"
        shift
    done
    shift
    got=0
    timeout "${LIMIT:-150}" "$@" >"$tmp/out" 2>&1 || got=$?
    if [ "$got" != "$want" ]; then
        echo "not ok $name: exit $got, want $want"
        why
        bad=1
        return 0
    fi
    while IFS= read -r pattern; do
        if ! grep -qE -- "$pattern" "$tmp/out"; then
            echo "not ok $name: no line matches '$pattern'"
            why
            bad=1
            return 0
        fi
    done <"$tmp/patterns"
    echo "ok $name"
}

# absent NAME PATTERN: the last check's output must not match.
absent() {
    if grep -qE -- "$2" "$tmp/out"; then
        echo "not ok $1: a line matches '$2'"
        bad=1
    else
        echo "ok $1"
    fi
}

# patch_bytes FILE OFFSET HEX: overwrites bytes, for corrupt inputs. printf of sh knows octal only.
patch_bytes() {
    octal=$(printf '%s' "$3" | fold -w 2 | while read -r h || [ -n "$h" ]; do printf '\\%03o' "0x$h"; done)
    # shellcheck disable=SC2059
    printf "$octal" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

# last_of FILE HEX: offset of the last place where the bytes stand, or nothing.
last_of() {
    LC_ALL=C grep -obUaP "$(printf '%s' "$2" | sed 's/../\\x&/g')" "$1" | tail -n 1 | cut -d: -f1
}
