/* The change from the interpreter to the baseline generator's code: in the middle of a loop, with lanes that part and
 * warps that wait; and code that cannot be made, for want of memory at any point of it. */
#include "ptx/base/base.h"
#include "sanitize.h"
#include "tier0/harness.h"

#include "ptx/tier0/warp.h"

/* ---- allocations that fail ---- */

static long until_failure = -1; /* allocations; -1: none fails */

#if !CUMU_ASAN && !CUMU_TSAN
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);

static bool fails(void) { return until_failure >= 0 && until_failure-- == 0; }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return fails() ? NULL : __libc_realloc(p, size); }
#endif

/* Each lane goes round 3000 + 211 * lane times, where those of odd sums part every eighth time, and meets the block at
 * the end. */
static const char loop[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry k(.param .u64 out)\n{\n.reg .pred %p<4>; .reg .b32 %r<12>; .reg .b64 %d<4>;\n"
    "ld.param.u64 %d1, [out];\nmov.u32 %r1, %tid.x;\nmad.lo.s32 %r2, %r1, 211, 3000;\n"
    "mov.u32 %r3, 0;\nmov.u32 %r4, 1;\n"
    "L: and.b32 %r5, %r4, 7;\nsetp.ne.s32 %p1, %r5, 0;\n@%p1 bra S;\n"
    "and.b32 %r6, %r3, 1;\nsetp.eq.s32 %p2, %r6, 0;\n@%p2 bra S;\n"
    "mad.lo.s32 %r3, %r3, 3, %r1;\n"
    "S: add.s32 %r3, %r3, %r4;\nxor.b32 %r3, %r3, %r1;\n"
    "add.s32 %r4, %r4, 1;\nsetp.lt.u32 %p3, %r4, %r2;\n@%p3 bra L;\n"
    "bar.sync 0;\nmul.wide.u32 %d2, %r1, 4;\nadd.s64 %d3, %d1, %d2;\n"
    "st.global.u32 [%d3], %r3;\nret;\n}\n";

static uint32_t expected(uint32_t t)
{
    uint32_t sum = 0;
    for (uint32_t k = 1; k < 3000 + 211 * t; k++) {
        if (k % 8 == 0 && sum & 1)
            sum = sum * 3 + t;
        sum = (sum + k) ^ t;
    }
    return sum;
}

static bool run_loop(struct t0t *t)
{
    static uint32_t out[96];
    static const uint32_t grid[3] = {1, 1, 1}, block[3] = {96, 1, 1};
    uint32_t *param = out;
    bool good = t0t_run(t, grid, block, 0, &param, NULL) == T0_OK;
    for (uint32_t k = 0; k < 96; k++)
        good &= out[k] == expected(k);
    return good;
}

static void change(enum t0_baseline when, const char *name, bool before, bool after)
{
    struct t0t t;
    t0_baseline(when);
    if (!check(t0t_open(&t, loop, "k"), "%s: loads: %s", name, t.why))
        return;
    check((t.code->base != NULL) == before, "%s: code when it is loaded: %d", name, before);
    check(run_loop(&t), "%s: the loop's sums", name);
    check((t.code->base != NULL) == after, "%s: code afterwards: %d", name, after);
    check(run_loop(&t), "%s: the loop's sums once more", name);
    t0t_close(&t);
}

/* Each allocation fails in turn: no code, or code that is whole. */
static void starve(void)
{
    struct t0t t;
    unsigned none = 0, made = 0;
    t0_baseline(T0_BASELINE_NEVER);
    if (!check(t0t_open(&t, loop, "k"), "loads: %s", t.why))
        return;
    for (long k = 0; !made && k < 10000; k++) {
        until_failure = k;
        struct base_code *c = base_compile(t.code->image, lir_table);
        until_failure = -1;
        none += !c;
        made += c != NULL;
        base_free(c);
    }
    check(made == 1 && (none > 10 || CUMU_ASAN || CUMU_TSAN),
          "%u allocations that fail give no code, then there is some", none);
    t0t_close(&t);
}

int main(void)
{
    if (!base_possible()) {
        printf("skip: no code for this CPU\n");
        return 77;
    }
    change(T0_BASELINE_NEVER, "never", false, false);
    change(T0_BASELINE_WHEN_HOT, "when hot", false, true);
    change(T0_BASELINE_AT_ONCE, "at once", true, true);
    starve();
    return check_end("changes to code of the baseline generator");
}
