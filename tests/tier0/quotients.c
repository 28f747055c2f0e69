/* Quotients and remainders by a number that all lanes share, beside the CPU's own division: around multiples of it and
 * the ends of the range, and drawn ones. */
#include "tier0/harness.h"

enum { LANES = 256, DRAWN = 150 };

static const char text[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 from, .param .u64 to, .param .u32 by)\n{\n"
    ".reg .b32 %r<10>; .reg .b64 %rd<5>;\nld.param.u64 %rd0, [from]; ld.param.u64 %rd1, [to]; ld.param.u32 %r0, [by];\n"
    "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd0, %rd0, %rd2; mul.wide.u32 %rd3, %r1, 16;\n"
    "add.u64 %rd1, %rd1, %rd3; ld.global.u32 %r2, [%rd0];\n"
    "div.u32 %r3, %r2, %r0; rem.u32 %r4, %r2, %r0; div.s32 %r5, %r2, %r0; rem.s32 %r6, %r2, %r0;\n"
    "st.global.v4.u32 [%rd1], {%r3, %r4, %r5, %r6};\nret;\n}\n";

static uint32_t state = 0x9e3779b9u;
static uint32_t drawn(void)
{
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state >> state % 31; /* of all sizes */
}

static void divide(struct t0t *t, uint32_t by)
{
    static uint32_t from[LANES], to[LANES][4];
    const struct {
        const void *from;
        void *to;
        uint32_t by;
    } args = {from, to, by};
    unsigned bad = 0;
    for (unsigned l = 0; l < LANES; l++) {
        const uint32_t x = drawn(), next = l % 3 - 1;
        from[l] = l < 128 && by ? (l & 1 ? x / by : ~0u / by - x % 5) * by + next
                  : l & 1       ? (l & 2 ? 1u << 31 : 0) + next
                                : x;
    }
    const enum t0_fault_kind fault = t0t_run(t, (const uint32_t[]){1, 1, 1}, (const uint32_t[]){LANES, 1, 1}, 0, &args,
                                             NULL);
    for (unsigned l = 0; l < LANES; l++) {
        const uint32_t a = from[l], q = by ? a / by : ~0u;
        const uint32_t s = !by ? ~0u : by == ~0u ? 0 - a : (uint32_t)((int32_t)a / (int32_t)by);
        const uint32_t want[] = {q, a - q * by, s, a - s * by};
        bad += memcmp(want, to[l], sizeof want) != 0;
    }
    check(!fault && !bad, "by %#x (%u of %d lanes wrong)", by, bad, LANES);
}

int main(void)
{
    struct t0t t;
    if (!t0t_open(&t, text, "k")) {
        check(false, "the kernel loads");
        return t0t_done();
    }
    for (uint32_t k = 0; k < 32; k++)
        for (uint32_t near = 0; near < 3; near++)
            divide(&t, (1u << k) - 1 + near);
    for (unsigned k = 0; k < DRAWN; k++)
        divide(&t, k & 1 ? drawn() : 0 - drawn());
    t0t_close(&t);
    return t0t_done();
}
