/* The way from an island (patch.c) to audit_patch_fill, keeping every register that may hold an argument. */
#if defined(__x86_64__)
    .text
    .globl audit_patch_enter
    .hidden audit_patch_enter
    .type audit_patch_enter, @function
/* rsp: the record, the number of the function, the caller's return address; rsp + 8 is a multiple of 16. */
audit_patch_enter:
    .cfi_startproc
    .cfi_adjust_cfa_offset 16
    endbr64
    push %rax
    .cfi_adjust_cfa_offset 8
    push %rdi
    .cfi_adjust_cfa_offset 8
    push %rsi
    .cfi_adjust_cfa_offset 8
    push %rdx
    .cfi_adjust_cfa_offset 8
    push %rcx
    .cfi_adjust_cfa_offset 8
    push %r8
    .cfi_adjust_cfa_offset 8
    push %r9
    .cfi_adjust_cfa_offset 8
    sub $128, %rsp
    .cfi_adjust_cfa_offset 128
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    mov 184(%rsp), %rdi
    mov 192(%rsp), %rsi
    call audit_patch_fill
    mov %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    add $128, %rsp
    .cfi_adjust_cfa_offset -128
    pop %r9
    .cfi_adjust_cfa_offset -8
    pop %r8
    .cfi_adjust_cfa_offset -8
    pop %rcx
    .cfi_adjust_cfa_offset -8
    pop %rdx
    .cfi_adjust_cfa_offset -8
    pop %rsi
    .cfi_adjust_cfa_offset -8
    pop %rdi
    .cfi_adjust_cfa_offset -8
    pop %rax
    .cfi_adjust_cfa_offset -8
    add $16, %rsp
    .cfi_adjust_cfa_offset -16
    jmp *%r11
    .cfi_endproc
    .size audit_patch_enter, . - audit_patch_enter
#endif
    .section .note.GNU-stack, "", @progbits
