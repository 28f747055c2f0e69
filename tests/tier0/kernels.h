/* Small kernels for the tests of tier 0: a prologue that gives every thread its number and its
 * places in two arrays, and one call that runs a body over them. */
#ifndef CUMU_TESTS_TIER0_KERNELS_H
#define CUMU_TESTS_TIER0_KERNELS_H

#include "ptx/tier0/warp.h"
#include "tier0/harness.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"
#define REGS \
    ".reg .pred %p<20>; .reg .b32 %r<60>; .reg .b64 %rd<40>; .reg .f32 %f<20>; .reg .f64 %d<10>;\n" \
    ".reg .b16 %h<20>; .reg .b128 %q<8>;\n"
/* %r0 = thread number in the grid, %r1 = in the block, %rd0 = &out[%r0], %rd1 = &in[%r0] (u32) */
#define ENTRY(name) \
    ".visible .entry " name "(.param .u64 pout, .param .u64 pin, .param .u32 pn)\n{\n" REGS \
    "mov.u32 %r50, %ctaid.x; mov.u32 %r51, %ntid.x; mov.u32 %r1, %tid.x;\n" \
    "mad.lo.s32 %r0, %r50, %r51, %r1;\n" \
    "ld.param.u64 %rd30, [pout]; ld.param.u64 %rd31, [pin];\n" \
    "mul.wide.u32 %rd32, %r0, 4; add.s64 %rd0, %rd30, %rd32; add.s64 %rd1, %rd31, %rd32;\n"
#define STORE(reg) "st.global.u32 [%rd0], " reg ";\n"
#define END "ret;\n}\n"
/* A kernel k with this body. */
#define KERNEL(body) HEAD ENTRY("k") body END

struct args {
    void *out, *in;
    uint32_t n;
};

enum { MOST = 4096 };
static uint32_t out[MOST], in[MOST];

/* Runs kernel k of the text over out and in; blocks of `threads`. */
static __attribute__((unused)) bool run(const char *text, uint32_t blocks, uint32_t threads, struct t0_fault *fault)
{
    struct args a = {out, in, blocks * threads};
    return t0t_once(text, "k", blocks, threads, &a, fault);
}

/* Runs it and compares out[i] with want(i) for every thread. */
static __attribute__((unused)) void expect(const char *name, const char *text, uint32_t blocks, uint32_t threads,
                                           uint32_t (*want)(uint32_t i))
{
    uint32_t bad = 0, at = 0;
    memset(out, 0xee, sizeof out);
    if (!run(text, blocks, threads, NULL))
        return;
    for (uint32_t i = blocks * threads; i-- > 0;)
        if (out[i] != want(i)) {
            bad++;
            at = i;
        }
    if (bad)
        check(false, "%s: %u of %u wrong, first out[%u] = 0x%x, want 0x%x", name, bad, blocks * threads, at, out[at],
              want(at));
    else
        check(true, "%s", name);
}

/* The kernel must stop with this fault in this thread; address 0 = any. Of lanes that all fault in one access the
 * compiler's order of loads says which is told: ANY_THREAD. */
enum { ANY_THREAD = 1 << 30 };
static __attribute__((unused)) void expect_fault(const char *name, const char *text, uint32_t blocks, uint32_t threads,
                                                 enum t0_fault_kind kind, uint32_t block, uint32_t thread,
                                                 uint64_t address)
{
    struct t0_fault f = {0};
    run(text, blocks, threads, &f);
    check(f.kind == kind && f.block[0] == block && (thread == ANY_THREAD || f.thread[0] == thread) &&
              (!address || f.address == address) && f.line,
          "%s (kind %d block %u thread %u address 0x%llx line %u: %s)", name, f.kind, f.block[0], f.thread[0],
          (unsigned long long)f.address, f.line, f.text);
}

/* From here on the portable handlers run, whatever this CPU has. After the first image is loaded. */
static __attribute__((unused)) void use_portable_handlers(void)
{
    t0_memory_handlers(lir_table);
    t0_warp_handlers(lir_table);
    puts("# portable handlers");
}

#endif
