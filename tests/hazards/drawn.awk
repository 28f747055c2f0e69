# Holds races that racecheck reports of drawn kernels (second file) to those that there are (first one).
function pair(a, b) { return a + 0 < b + 0 ? a "-" b : b "-" a }
FNR == NR && $1 == "race" { want[$2 " " pair($3, $4)]; next }
FNR == NR { some[$0]; next }
/ed between/ { match($0, / at [ak][0-9]+ in /); kernel = substr($0, RSTART + 4, RLENGTH - 8); first = told = $0 }
first != "" && /    and / {
    both = $0
    sub(/.*drawn.cu:/, "", first); sub(/ .*/, "", first)
    sub(/.*drawn.cu:/, ""); sub(/ .*/, "")
    got[kernel " " pair(first, $0)]
    first = ""
    if (told ~ /^=+ Info: / && !(told ~ / Write access / && both ~ / Write access /))
        print "not ok information only, though one side is no store: " told
}
END {
    for (p in got)
        if (p !~ /^a/ && !(p in want))
            print "not ok reported, but ordered: " p
    for (s in some) {
        count = split(s, side, " ")
        found = 0
        for (k = 3; k <= count; k++)
            found = found || ((side[2] " " side[k]) in got)
        if (!found)
            print "not ok not reported: " s
    }
    n = length(want)
    print n < 200 ? "not ok" : "ok", n, "races of drawn kernels"
}
