# Assembly of functions, by name, each of which jumps through a slot that is filled at run time.
# -v own="NAME ...": names that are defined elsewhere; -v hidden=1: they are not exported.
BEGIN {
    count = split(own, list, " ")
    for (i = 1; i <= count; i++)
        mine[list[i]] = 1
    n = 0
    print ".text"
}
!/^#/ {
    for (i = 1; i <= NF; i++)
        if (!($i in mine)) {
            if (hidden)
                printf ".hidden %s\n", $i
            printf ".globl %s\n.type %s, @function\n%s:\n    jmp *forward_slots+%d(%%rip)\n", $i, $i, $i, 8 * n
            name[n++] = $i
        }
}
END {
    print ".section .rodata"
    for (i = 0; i < n; i++)
        printf "text_%d: .asciz \"%s\"\n", i, name[i]
    print ".section .data.rel.ro,\"aw\"\n.hidden forward_names\n.globl forward_names\n.align 8\nforward_names:"
    for (i = 0; i < n; i++)
        printf "    .quad text_%d\n", i
    print "    .quad 0\n.bss\n.hidden forward_slots\n.globl forward_slots\n.align 8\nforward_slots:"
    printf "    .skip %d\n.section .note.GNU-stack,\"\",@progbits\n", 8 * n + 8
}
