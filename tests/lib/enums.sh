#!/bin/sh
# The enums of one file of mapping/types: right as they are, and wrong after any two numbers of one change places. Takes
# the compiler, the generator, the map, the folder of the table to compare with (enums.def) and one to work in.
set -eu
cc=$1 gen=$2 map=$3 table=$4 work=$5 here=$(dirname "$0")
root=$here/../.. name=$(basename "$map" .enum)

# The least map that the generator takes.
mkdir -p "$work"
echo 'below musart musa 801 35 libmusart.so.5' >"$work/sonames.map"
printf 'library none unsupported 1 absent 1\nuse musaGetDevice i(*i)\n' >"$work/none.map"

try() { # FILE.enum: what the tables say of it
    rm -rf "$work/gen"
    mkdir -p "$work/gen"
    "$gen" emit "$work/gen" "$1" "$work/sonames.map" "$work/none.map" >/dev/null
    "$cc" -std=gnu11 -O0 -w -I"$work/gen" -I"$root/shim" -I"$table" -o "$work/enums" "$here/enums.c"
    "$work/enums" >"$work/said" || [ -s "$work/said" ]
    cut -d: -f1 "$work/said" | sort -u
}

bad=0
wrong=$(try "$map" | tr '\n' ' ')
if [ -z "$wrong" ]; then
    echo "ok the enums of $name"
else
    echo "not ok the enums of $name: $wrong"
    bad=1
fi

# In round N row N and the next of every enum exchange their CUDA numbers (column 2), their MUSA names and numbers
# (4), or, where those names occur once, their MUSA numbers alone (5).
mutants=0 round=1
while :; do
    for side in 2 4 5; do
        awk -v round=$round -v side=$side -v changed="$work/changed" '
            function flush_rows(  i, a, b, t) {
                if (round + 1 <= n) {
                    split(row[round], a); split(row[round + 1], b)
                    if (a[side] != "" && b[side] != "" && a[side] != b[side] &&
                        (side != 5 || (times[a[4]] == 1 && times[b[4]] == 1)) &&
                        (side != 4 || (a[5] != "" && b[5] != "" && a[2] != b[2]))) {
                        t = a[side]; a[side] = b[side]; b[side] = t
                        if (side == 4) {
                            t = a[5]; a[5] = b[5]; b[5] = t
                        }
                        row[round] = a[1] " " a[2] " " a[3] " " a[4] " " a[5]
                        row[round + 1] = b[1] " " b[2] " " b[3] " " b[4] " " b[5]
                        print name > changed
                    }
                }
                for (i = 1; i <= n; i++) print row[i]
                n = 0
                delete times
            }
            BEGIN { printf "" > changed }
            { sub(/#.*/, ""); sub(/ *"[^"]*"$/, "") } # texts are no numbers
            $1 == "enum" || $1 == "flags" { flush_rows(); name = $2; print; next }
            NF { row[++n] = $0; times[$4]++ }
            END { flush_rows() }' "$map" >"$work/mutant.enum"
        [ -s "$work/changed" ] || continue
        sort -u "$work/changed" >"$work/want"
        try "$work/mutant.enum" >"$work/got"
        mutants=$((mutants + $(wc -l <"$work/want")))
        unnoticed=$(comm -23 "$work/want" "$work/got" | tr '\n' ' ')
        if [ -n "$unnoticed" ]; then
            echo "not ok row $round, column $side: unnoticed in $unnoticed"
            bad=1
        fi
    done
    [ $round -lt 45 ] || break
    round=$((round + 1))
done
[ $bad = 0 ] && echo "ok $mutants enums of $name with two numbers exchanged are noticed"
exit $bad
