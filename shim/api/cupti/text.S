/* mapping/cupti.tsv as it stands, inside the core. */
        .section .rodata
        .globl cumu_cupti_text
        .hidden cumu_cupti_text
cumu_cupti_text:
        .incbin "mapping/cupti.tsv"
        .byte 0
        .section .note.GNU-stack, "", %progbits
