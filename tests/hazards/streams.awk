# Holds races between streams that racecheck reports (second file) to those that there are (first one).
function pair(a, b) { return a < b ? a " " b : b " " a }
FNR == NR { want[pair($3, $4)]; n++; next }
/Race between streams/ { sub(/.*access at (a )?/, ""); first = $1; next }
first != "" { sub(/.*access at (a )?/, ""); got[pair(first, $1)]; told[first]; told[$1]; first = "" }
END {
    for (p in got)
        if (!(p in want))
            print "not ok reported, but ordered: " p
    for (p in want) {
        split(p, side, " ")
        if (!(side[1] in told) && !(side[2] in told))
            print "not ok not reported: " p
    }
    print n < 50 ? "not ok" : "ok", n, "races of streams"
}
