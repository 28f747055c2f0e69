/* Tier 0 execution: stacks beside a thread's own, for blocks that wait while others of the thread run. */
#include "ptx/tier0/stack.h"
#include "sanitize.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#if !CUMU_ASM
#include <ucontext.h>
#endif

enum { PAGE = 4096 };

void *t0_stack_map(size_t *size)
{
    size_t all = ((*size + PAGE - 1) & ~(size_t)(PAGE - 1)) + PAGE;
    void *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    if (mprotect(p, PAGE, PROT_NONE)) {
        munmap(p, all);
        return NULL;
    }
    *size = all;
    return p;
}

void t0_stack_unmap(void *stack, size_t size)
{
    cumu_stack_left(stack, size);
    munmap(stack, size);
}

#if CUMU_ASM
/* Leaves the callee-saved registers and the SSE mode on the old stack, its pointer in *from, and takes those of
 * the new. */
void t0_stack_first(void) __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
        ".hidden t0_stack_switch\n.globl t0_stack_switch\n.type t0_stack_switch, @function\n"
        "t0_stack_switch:\n"
        "\tpush %rbp\n\tpush %rbx\n\tpush %r12\n\tpush %r13\n\tpush %r14\n\tpush %r15\n"
        "\tsub $8, %rsp\n\tstmxcsr (%rsp)\n"
        "\tmov %rsp, (%rdi)\n\tmov %rsi, %rsp\n"
        "\tldmxcsr (%rsp)\n\tadd $8, %rsp\n"
        "\tpop %r15\n\tpop %r14\n\tpop %r13\n\tpop %r12\n\tpop %rbx\n\tpop %rbp\n\tret\n"
        ".size t0_stack_switch, . - t0_stack_switch\n"
        ".hidden t0_stack_first\n.globl t0_stack_first\n.type t0_stack_first, @function\n"
        "t0_stack_first:\n\tmov %r12, %rdi\n\tcall *%r13\n\tud2\n"
        ".size t0_stack_first, . - t0_stack_first\n"
        ".popsection\n");

void *t0_stack_start(void *stack, size_t size, void (*main)(void *), void *arg)
{
    struct frame { /* as the switch takes it off */
        uint64_t mode;
        void *r15, *r14;
        void (*r13)(void *);
        void *r12, *rbx, *rbp;
        void (*to)(void);
    } * f;
    cumu_stack_left(stack, size);
    f = (struct frame *)(void *)((uint8_t *)stack + size - 64) - 1;
    memset(f, 0, sizeof *f);
    f->mode = __builtin_ia32_stmxcsr();
    f->r13 = main;
    f->r12 = arg;
    f->to = t0_stack_first;
    return f;
}
#else
/* A stack that is left holds its context, and a new one has it at its top. */
struct start {
    ucontext_t context;
    void (*main)(void *);
    void *arg;
};

static void begin(unsigned high, unsigned low)
{
    const struct start *s = (const struct start *)(uintptr_t)((uint64_t)high << 32 | low);
    s->main(s->arg);
}

void *t0_stack_start(void *stack, size_t size, void (*main)(void *), void *arg)
{
    cumu_stack_left(stack, size);
    struct start *s = (struct start *)(void *)(((uintptr_t)stack + size - sizeof *s) & ~(uintptr_t)63);
    memset(s, 0, sizeof *s);
    getcontext(&s->context);
    s->context.uc_stack.ss_sp = stack;
    s->context.uc_stack.ss_size = (size_t)((uint8_t *)s - (uint8_t *)stack);
    s->main = main;
    s->arg = arg;
    makecontext(&s->context, (void (*)(void))begin, 2, (unsigned)((uint64_t)(uintptr_t)s >> 32),
                (unsigned)(uintptr_t)s);
    return &s->context;
}

void t0_stack_switch(void **from, void *to)
{
    ucontext_t here;
    *from = &here;
    swapcontext(&here, to);
}
#endif
