/* Core of the trampoline test: fills slots while destroying every register it may, checks alignment
 * and unwinding, and compares sent with received bytes. */
#include "recorder.h"

#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/symbols.h"

static unsigned char sent[4096], got[4096];
static size_t sent_size, got_size;
static unsigned call_seed, results, failures, fills, stubs;

/* Calls keep a NaN's bits in vector registers, but a signalling one may be quieted by a load: the
 * top bits of each byte pattern make ordinary numbers. */
static void pattern(unsigned char *at, size_t size, unsigned seed)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        at[i] = (unsigned char)((seed >> 24) & (i % 4 == 3 ? 0x3f : 0xff));
    }
}

static void fail(const char *what, const char *where)
{
    failures++;
    fprintf(stderr, "%s: %s\n", where, what);
}

void start(int function, int time)
{
    call_seed = (unsigned)function * 7919u + (unsigned)time * 104729u;
    sent_size = got_size = 0;
    results = 0;
}

void make_value(void *at, size_t size)
{
    pattern(at, size, call_seed + (unsigned)sent_size);
    memcpy(sent + sent_size, at, size);
    sent_size += size;
}

void record(const void *at, size_t size)
{
    memcpy(got + got_size, at, size);
    got_size += size;
}

void make_result(void *at, size_t size) { pattern(at, size, call_seed ^ 0x5555u); }

void returned(const void *at, size_t size)
{
    unsigned char want[256];
    pattern(want, size, call_seed ^ 0x5555u);
    results += memcmp(at, want, size) != 0;
}

void finish(const char *callee)
{
    if (got_size != sent_size || memcmp(sent, got, sent_size))
        fail("arguments arrived changed", callee);
    if (results)
        fail("result came back changed", callee);
}

void check_stub(int code)
{
    if (code != 801 || stubs != 1)
        fail("stub did not answer", "toyStub");
}

/* The frames between the resolver and main must be walkable: debuggers and exceptions pass here. */
static void check_stack(void)
{
    void *frames[64];
    int n = backtrace(frames, 64), found = 0;
    char **names = backtrace_symbols(frames, n);
    for (int i = 0; names && i < n; i++)
        found |= strstr(names[i], "(main+") != NULL;
    free(names);
    if (!found)
        fail("the stack cannot be unwound to main", "resolver");
    _Alignas(16) volatile char aligned[16];
    if ((uintptr_t)aligned % 16)
        fail("the stack is not aligned", "resolver");
}

static void destroy_registers(void)
{
#ifdef __x86_64__
    __asm__ volatile("xorl %%eax, %%eax\n\tmovl $-1, %%ecx\n\tmovl $-1, %%edx\n\tmovl $-1, %%esi\n\t"
                     "movl $-1, %%edi\n\tmovl $-1, %%r8d\n\tmovl $-1, %%r9d\n\tmovl $-1, %%r10d\n\t"
                     "movl $-1, %%r11d\n\tpcmpeqd %%xmm0, %%xmm0\n\tpcmpeqd %%xmm1, %%xmm1\n\t"
                     "pcmpeqd %%xmm2, %%xmm2\n\tpcmpeqd %%xmm3, %%xmm3\n\tpcmpeqd %%xmm4, %%xmm4\n\t"
                     "pcmpeqd %%xmm5, %%xmm5\n\tpcmpeqd %%xmm6, %%xmm6\n\tpcmpeqd %%xmm7, %%xmm7" ::
                         : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3",
                           "xmm4", "xmm5", "xmm6", "xmm7", "cc");
#endif
}

static void *fill(void **slot, const char *target)
{
    if (strncmp(target, "muToy", 5)) {
        fail("unknown target", target);
        abort();
    }
    fills++;
    check_stack();
    *slot = callees[atoi(target + 5)];
    destroy_registers();
    return *slot;
}

void *cumu_slot_fill(const struct cumu_facade *f, unsigned index)
{
    const struct cumu_symbol *s = &f->table->symbols[index];
    if (s->verb == CUMU_STUB) {
        memcpy(&f->slots[index], &f->stubs[index], sizeof(void *));
        return f->slots[index];
    }
    return fill(&f->slots[index], s->target);
}

void *cumu_mu_fill(unsigned index) { return fill(&cumu_mu_slots[index], cumu_mu_symbols[index].name); }

intptr_t cumu_stub_called(const struct cumu_facade *f, unsigned index)
{
    stubs++;
    return strcmp(f->table->symbols[index].name, "toyStub") ? -1 : f->table->unsupported;
}

intptr_t cumu_mu_stub_called(unsigned index) { return (intptr_t)index; }

int verdict(void)
{
    if (fills != 2 * cumu_mu_count)
        fail("each slot and member must be filled once", "resolver");
    printf("%u functions, %u failures\n", cumu_mu_count, failures);
    return failures != 0;
}
