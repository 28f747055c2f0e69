/* Where the thunk of a traced symbol goes: keeps the arguments, tells the tracer, calls the function with the
 * same registers and a copy of its stack arguments, and tells the tracer what came back. */
#ifdef __x86_64__

/* struct cumu_frame of trace.h, at -FRAME(%rbp). */
#define FRAME 576
#define GENERAL 0
#define VECTORS 48
#define INDEX 56
#define FLOATING 64
#define FACADE 192
#define STACK 200
#define TARGET 208
#define STACK_SIZE 216
#define RESULT 224
#define RESULT_FLOAT 240

    .text
    .globl cumu_trace_entry
    .type cumu_trace_entry, @function
    .balign 16
cumu_trace_entry: /* %r10: the facade, %r11d: index of the symbol; the rest as the caller left it */
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $FRAME, %rsp /* 16-byte aligned: return address, rbp, 576 */
    movq %rdi, GENERAL(%rsp)
    movq %rsi, GENERAL+8(%rsp)
    movq %rdx, GENERAL+16(%rsp)
    movq %rcx, GENERAL+24(%rsp)
    movq %r8, GENERAL+32(%rsp)
    movq %r9, GENERAL+40(%rsp)
    movq %rax, VECTORS(%rsp) /* how many vector registers a variadic call uses */
    movl %r11d, %r11d
    movq %r11, INDEX(%rsp)
    movups %xmm0, FLOATING(%rsp)
    movups %xmm1, FLOATING+16(%rsp)
    movups %xmm2, FLOATING+32(%rsp)
    movups %xmm3, FLOATING+48(%rsp)
    movups %xmm4, FLOATING+64(%rsp)
    movups %xmm5, FLOATING+80(%rsp)
    movups %xmm6, FLOATING+96(%rsp)
    movups %xmm7, FLOATING+112(%rsp)
    movq %r10, FACADE(%rsp)
    leaq 16(%rbp), %rax
    movq %rax, STACK(%rsp)
    movq %rsp, %rdi
    call cumu_trace_before

    movq STACK_SIZE(%rsp), %rcx /* a multiple of 16 */
    subq %rcx, %rsp
    shrq $3, %rcx
    jmp 2f
1:  movq 8(%rbp,%rcx,8), %rax /* 16(%rbp) is the first */
    movq %rax, -8(%rsp,%rcx,8)
    decq %rcx
2:  testq %rcx, %rcx
    jnz 1b
    movups FLOATING-FRAME(%rbp), %xmm0
    movups FLOATING+16-FRAME(%rbp), %xmm1
    movups FLOATING+32-FRAME(%rbp), %xmm2
    movups FLOATING+48-FRAME(%rbp), %xmm3
    movups FLOATING+64-FRAME(%rbp), %xmm4
    movups FLOATING+80-FRAME(%rbp), %xmm5
    movups FLOATING+96-FRAME(%rbp), %xmm6
    movups FLOATING+112-FRAME(%rbp), %xmm7
    movq GENERAL-FRAME(%rbp), %rdi
    movq GENERAL+8-FRAME(%rbp), %rsi
    movq GENERAL+16-FRAME(%rbp), %rdx
    movq GENERAL+24-FRAME(%rbp), %rcx
    movq GENERAL+32-FRAME(%rbp), %r8
    movq GENERAL+40-FRAME(%rbp), %r9
    movq VECTORS-FRAME(%rbp), %rax
    call *TARGET-FRAME(%rbp)

    leaq -FRAME(%rbp), %rsp
    movq %rax, RESULT(%rsp)
    movq %rdx, RESULT+8(%rsp)
    movups %xmm0, RESULT_FLOAT(%rsp)
    movups %xmm1, RESULT_FLOAT+16(%rsp)
    movq %rsp, %rdi
    call cumu_trace_after
    movups RESULT_FLOAT(%rsp), %xmm0
    movups RESULT_FLOAT+16(%rsp), %xmm1
    movq RESULT(%rsp), %rax
    movq RESULT+8(%rsp), %rdx
    leave
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size cumu_trace_entry, .-cumu_trace_entry
#endif
    .section .note.GNU-stack,"",@progbits
