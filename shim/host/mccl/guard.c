/* Copies into another process's memory that end when this process is stopped. It may be told at any time to keep off
 * (touch.c), also while it is stopped, between the question and the copy or in the midst of it, and would write what is
 * left when it is continued. The kernel has what is needed: a restartable sequence (rseq(2), which glibc registers for
 * each thread since 2.35). Who has lost the CPU in it does not go on where it was, but at an address of its choice:
 * here where it asks again. So a copy is made of blocks, each of them the question and `rep movsb`, and one that was
 * interrupted is made again. */
#include <dlfcn.h>
#include <string.h>

#include "host/mccl/mccl.h"

#if defined __x86_64__
#include <linux/rseq.h>

#define SIGNATURE 0x53053053 /* that glibc registers, and the kernel wants to find before the address */
#define BLOCK (8 << 10)
#define ATTEMPTS 1000 /* who loses the CPU in each of them is moved instruction by instruction, by a debugger */

enum outcome { COPIED, REFUSED, INTERRUPTED };

/* One restartable sequence. */
static __attribute__((noinline)) enum outcome copy_block(struct rseq *rs, const _Atomic uint32_t *keep_off, void *to,
                                                         const void *from, size_t n)
{
    enum outcome o;
    __asm__ volatile(".pushsection __rseq_cs, \"aw\"\n\t"
                     ".balign 32\n\t"
                     "9: .long 0, 0\n\t"
                     ".quad 1f, 2f - 1f, 4f\n\t"
                     ".popsection\n\t"
                     ".pushsection __rseq_failure, \"ax\"\n\t"
                     ".byte 0x0f, 0xb9, 0x3d\n\t" /* ud1: nobody comes here by accident */
                     ".long %c[signature]\n\t"
                     "4: movl %[interrupted], %k[o]\n\t"
                     "jmp 3f\n\t"
                     ".popsection\n\t"
                     "leaq 9b(%%rip), %%rax\n\t"
                     "movq %%rax, %[noted]\n\t"
                     "1: movl %[refused], %k[o]\n\t"
                     "cmpl $0, %[keep_off]\n\t"
                     "jne 3f\n\t"
                     "rep movsb\n\t"
                     "2: movl %[copied], %k[o]\n\t"
                     "3: movq $0, %[noted]" /* who unloads this library takes the descriptor with it */
                     : [o] "=&r"(o), [noted] "=m"(rs->rseq_cs), "+D"(to), "+S"(from), "+c"(n)
                     : [keep_off] "m"(*keep_off), [signature] "i"(SIGNATURE), [interrupted] "i"(INTERRUPTED),
                       [refused] "i"(REFUSED), [copied] "i"(COPIED)
                     : "rax", "memory", "cc");
    return o;
}

static _Atomic ptrdiff_t offset; /* from a thread's pointer to what it has registered */

/* The symbols are looked for, as an older C library would not load us else. */
bool mccl_guarded(void)
{
    static _Atomic int known; /* every thread finds the same */
    if (!known) {
        const unsigned *size = dlsym(RTLD_DEFAULT, "__rseq_size");
        const ptrdiff_t *at = dlsym(RTLD_DEFAULT, "__rseq_offset");
        if (size && at && *size)
            offset = *at;
        known = size && at && *size ? 1 : -1;
    }
    return known > 0;
}

bool mccl_guarded_copy(const struct mccl_shared *s, void *to, const void *from, size_t bytes)
{
    uintptr_t self;
    __asm__("movq %%fs:0, %0" : "=r"(self));
    struct rseq *rs = mccl_guarded() ? (struct rseq *)(self + (uintptr_t)offset) : NULL;
    if (!rs || (int32_t)rs->cpu_id < 0) { /* no thread of the C library's */
        memcpy(to, from, bytes);
        return true;
    }
    int attempts = 0;
    for (size_t at = 0, n; at < bytes;) {
        n = bytes - at < BLOCK ? bytes - at : BLOCK;
        enum outcome o = copy_block(rs, &s->keep_off, (char *)to + at, (const char *)from + at, n);
        if (o == REFUSED)
            return false;
        if (o == INTERRUPTED && attempts++ < ATTEMPTS)
            continue;
        if (o == INTERRUPTED)
            memcpy((char *)to + at, (const char *)from + at, n);
        attempts = 0;
        at += n;
    }
    return true;
}
#else
bool mccl_guarded(void) { return false; }
bool mccl_guarded_copy(const struct mccl_shared *s, void *to, const void *from, size_t bytes)
{
    (void)s;
    memcpy(to, from, bytes);
    return true;
}
#endif
