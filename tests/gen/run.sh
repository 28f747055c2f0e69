#!/bin/sh
# Runs the generator on small maps. Each file of cases/ is input and expected output in sections:
#   --- NAME          a file of that name (NAME.map, NAME.enum, sonames.map ...)
#   --- cc NAME.so    C source, built to a shared library with that soname
#   --- run ARGS      the command line (default: emit out and every input file)
#   --- errors        what stderr must be, exactly; absent: nothing, and success
#   --- has FILE      lines that FILE must contain
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
: "${B:=build}" "${CC:=cc}"
case $B in /*) gen=$B/bin/gen ;; *) gen=$top/$B/bin/gen ;; esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

report() { # report STATUS NAME
    if [ "$1" = 0 ]; then
        echo "ok gen/$2"
    else
        echo "not ok gen/$2"
        failed=1
    fi
}

# Prints one section of the case in $1; $2 is its title.
section() {
    awk -v title="--- $2" '/^--- /{on = $0 == title; next} on' "$1"
}

run_case() {
    file=$1 name=$(basename "$1")
    rm -rf "$work/case"
    mkdir -p "$work/case"
    cd "$work/case"
    inputs='' args=''
    grep '^--- ' "$file" | cut -c5- >titles
    while read -r title; do
        case $title in
        errors | has\ *) ;;
        run\ *) args=${title#run } ;;
        cc\ *)
            so=${title#cc }
            section "$file" "$title" >source.c
            $CC -shared -fPIC -Wl,-soname,"$so" -o "$so" source.c
            ;;
        *)
            # shellcheck disable=SC2094
            section "$file" "$title" >"$title"
            inputs="$inputs $title"
            ;;
        esac
    done <titles
    status=0
    # The words of both are meant to be split.
    # shellcheck disable=SC2086
    "$gen" ${args:-emit out $inputs} 2>stderr >stdout || status=$?
    good=0
    section "$file" errors >expected
    if [ -s expected ]; then
        [ "$status" = 1 ] || good=1
    else
        [ "$status" = 0 ] || good=1
    fi
    diff -u expected stderr >&2 || good=1
    while read -r title; do
        case $title in has\ *) ;; *) continue ;; esac
        section "$file" "$title" >wanted
        while IFS= read -r line; do
            grep -qxF -- "$line" "${title#has }" || {
                echo "$name: ${title#has } lacks: $line" >&2
                good=1
            }
        done <wanted
    done <titles
    cd "$top"
    report "$good" "$name"
}

for file in "$here"/cases/*; do
    run_case "$file"
done
sh "$here/trampolines/run.sh" || failed=1
sh "$here/conv/run.sh" || failed=1
sh "$here/stublog/run.sh" || failed=1
exit "$failed"
