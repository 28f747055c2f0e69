/* mapping/uses.tsv as it stands, inside the tool. */
        .section .rodata
        .globl cumu_uses_text, cumu_uses_end
        .hidden cumu_uses_text, cumu_uses_end
cumu_uses_text:
        .incbin "mapping/uses.tsv"
cumu_uses_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
