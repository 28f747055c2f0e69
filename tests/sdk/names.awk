# Assembly of a library whose every function, one name a line, jumps through a slot (forward.c fills it).
# -v own="NAME ...": names that forward.c defines itself.
BEGIN {
    count = split(own, list, " ")
    for (i = 1; i <= count; i++)
        mine[list[i]] = 1
    n = 0
    print ".text"
}
/^[A-Za-z_]/ && !($1 in mine) {
    printf ".globl %s\n.type %s, @function\n%s:\n    jmp *forward_slots+%d(%%rip)\n", $1, $1, $1, 8 * n
    name[n++] = $1
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
