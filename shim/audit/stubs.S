/* Stubs of functions that no facade has (unknown.c), each with its number. */
#if defined(__x86_64__)
    .text
    .balign 16
    .globl audit_unknown_stubs
    .hidden audit_unknown_stubs
    .type audit_unknown_stubs, @object
audit_unknown_stubs:
    .set number, 0
    .rept 512
    .balign 16
    endbr64
    push $number
    jmp enter_unknown
    .set number, number + 1
    .endr
    .size audit_unknown_stubs, . - audit_unknown_stubs

/* rsp: the number, the caller's return address; rsp is a multiple of 16. */
    .type enter_unknown, @function
enter_unknown:
    .cfi_startproc
    .cfi_adjust_cfa_offset 8
    mov (%rsp), %edi
    call audit_unknown_called
    add $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size enter_unknown, . - enter_unknown
#endif
    .section .note.GNU-stack, "", @progbits
