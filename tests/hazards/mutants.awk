# Holds the reports of mutants to what is wanted: of each kernel one that says it at one of its lines, and (strict=1)
# none that names another line of the file.
# usage: awk -v strict=1 -f mutants.awk WANT LOG
FNR == NR { split($0, f, "\t"); says[f[1]] = f[2]; lines[f[1]] = " " f[3] " "; what[f[1]] = f[4]; next }
/^========= *$/ {
    if (match(report, / k[0-9]+ in mutants/)) {
        kernel = substr(report, RSTART + 1, RLENGTH - 12)
        rest = report
        while (match(rest, /mutants\.cu:[0-9]+/)) {
            line = substr(rest, RSTART + 11, RLENGTH - 11)
            rest = substr(rest, RSTART + RLENGTH)
            if (index(lines[kernel], " " line " ")) {
                if (report ~ says[kernel])
                    found[kernel] = 1
            } else if (strict)
                print "not ok " kernel ": a report of line " line " (" what[kernel] ")"
        }
    }
    report = ""
    next
}
{ report = report " " $0 }
END {
    for (k in says) {
        n++
        if (!found[k])
            print "not ok " k ": " what[k] ": no report of " says[k] " at" lines[k]
    }
    print n ? "ok" : "not ok", n, "mutants are told"
}
