/* ldmatrix of rows of 16 and 8 bits, stmatrix of 8, ldmatrix of 4 and 6 bits that become 8 (sm_100a), st.bulk, and
 * clusterlaunchcontrol, whose answer is always that nothing was cancelled. */
#include "tier0/harness.h"

enum { SHARED = 4096, WORDS = 4 };
static uint8_t memory[SHARED];
static uint32_t out[32 * WORDS];

/* %r2: the lane's row, rows of 32 bytes in an order of their own. */
#define HEAD \
    ".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 pout, .param .u64 pin)\n{\n" \
    ".reg .b32 %r<40>; .reg .b64 %rd<8>; .reg .pred %p<8>; .reg .b128 %q<2>;\n.shared .align 128 .b8 s[4096]; .shared " \
    ".align 8 .b64 bar;\nld.param.u64 %rd0, [pout]; ld.param.u64 %rd1, [pin]; mov.u32 %r1, %tid.x; mov.u32 %r2, s;\n" \
    "mul.wide.u32 %rd2, %r1, 16; add.u64 %rd0, %rd0, %rd2; mul.wide.u32 %rd3, %r1, 128; add.u64 %rd1, %rd1, %rd3;\n" \
    "shl.b32 %r3, %r1, 7; add.u32 %r3, %r3, %r2; mov.u32 %r4, 0;\n" \
    "C: ld.global.u32 %r5, [%rd1]; st.shared.u32 [%r3], %r5; add.u64 %rd1, %rd1, 4; add.u32 %r3, %r3, 4; add.u32 %r4, " \
    "%r4, 1; setp.lt.u32 %p0, %r4, 32; @%p0 bra C; bar.sync 0;\nxor.b32 %r6, %r1, 5; shl.b32 %r6, %r6, 5; add.u32 %r2, " \
    "%r2, %r6; mov.b32 %r20, 0; mov.b32 %r21, 0; mov.b32 %r22, 0; mov.b32 %r23, 0;\n"
#define TAIL "st.global.v4.b32 [%rd0], {%r20, %r21, %r22, %r23};\nret;\n}\n"

static void run(const char *body)
{
    static char text[8192];
    struct {
        void *out, *in;
    } args = {out, memory};
    snprintf(text, sizeof text, "%s%s%s", HEAD, body, TAIL);
    memset(out, 0xee, sizeof out);
    (void)t0t_once(text, "k", 1, 32, &args, NULL);
}

/* Element c of the row that lane r gives: bits of the row's bytes, lowest first. */
static uint32_t element(unsigned r, unsigned c, unsigned bits)
{
    const uint8_t *row = memory + 32 * (r ^ 5);
    uint32_t v = 0;
    for (unsigned b = 0; b < bits; b++)
        v |= (uint32_t)(row[(c * bits + b) / 8] >> (c * bits + b) % 8 & 1) << b;
    return v;
}

/* Lanes from this one on give no row: what they have there is no address. */
#define NO_ROW "setp.ge.u32 %%p1, %%r1, %u; @%%p1 add.u32 %%r2, %%r2, 3;\n"

static void load(const char *shape, unsigned matrices, const char *type, unsigned bits, bool turned)
{
    char body[300], regs[60];
    unsigned bad = 0, n = turned ? 2 * matrices : matrices;
    snprintf(regs, sizeof regs, n == 1 ? "{%%r20}" : n == 2 ? "{%%r20, %%r21}" : "{%%r20, %%r21, %%r22, %%r23}");
    snprintf(body, sizeof body, NO_ROW "ldmatrix.sync.aligned.%s.x%u%s.shared.%s %s, [%%r2];\n", 8 * n, shape, matrices,
             turned ? ".trans" : "", type, regs);
    run(body);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned k = 0; k < n; k++)
            for (unsigned e = 0; e < 4; e++) {
                const unsigned at = lane % 4 * 4 + e;
                const uint32_t want = turned ? element(k / 2 * 16 + at, lane / 4 + k % 2 * 8, bits)
                                             : element(8 * k + lane / 4, at, bits);
                bad += (out[lane * WORDS + k] >> 8 * e & 255) != want;
            }
    const char *name = strstr(body, "ldmatrix");
    check(!bad, "%.*s (%u wrong)", (int)strcspn(name, "\n"), name, bad);
}

/* stmatrix of 16 x 8 bytes: lane 8q + c gives the place of column c of matrix q, whose byte b is of row b; rows are
 * four lanes' each, which hold two columns, the lower 8 rows in the upper half of the register (CuTe's
 * SM100_U8x4_STSM_T). */
static void store_columns(unsigned matrices)
{
    char body[900];
    static const char *const regs[] = {"{%r20}", "{%r20, %r21}", "{%r20, %r21, %r22, %r23}"};
    unsigned bad = 0, n = 0;
    for (unsigned k = 0; k < 4; k++)
        n += (unsigned)snprintf(body + n, sizeof body - n,
                                "mul.lo.u32 %%r%u, %%r1, 0x9e3779b1; add.u32 %%r%u, %%r%u, %u;\n", 20 + k, 20 + k,
                                20 + k, k * 0x5ebca6bu);
    snprintf(body + n, sizeof body - n,
             NO_ROW "stmatrix.sync.aligned.m16n8.x%u.trans.shared.b8 [%%r2], %s;\nbar.warp.sync -1;\n"
                    "@%%p1 sub.u32 %%r2, %%r2, 3;\n"
                    "ld.shared.v4.u32 {%%r20, %%r21, %%r22, %%r23}, [%%r2];\n",
             8 * matrices, matrices, regs[matrices / 2]);
    run(body);
    for (unsigned lane = 0; lane < 32; lane++)
        for (unsigned b = 0; b < 16; b++) {
            const unsigned from = b % 8 * 4 + lane % 8 / 2, e = lane % 2 + b / 8 * 2;
            const uint32_t reg = from * 0x9e3779b1u + lane / 8 * 0x5ebca6bu;
            const uint32_t want = lane < 8 * matrices ? reg >> 8 * e & 255 : element(lane, b, 8);
            bad += (out[lane * WORDS + b / 4] >> b % 4 * 8 & 255) != want;
        }
    check(!bad, "stmatrix.m16n8.x%u.trans.b8 (%u wrong)", matrices, bad);
}

int main(void)
{
    for (unsigned k = 0; k < SHARED; k++)
        memory[k] = (uint8_t)(k * 2654435761u >> 13);
    for (unsigned m = 1; m <= 4; m *= 2) {
        load("m8n16", m, "b8x16.b4x16_p64", 4, false);
        load("m8n16", m, "b8x16.b6x16_p32", 6, false);
        load("m8n8", m, "b16", 8, false); /* the same bytes */
        store_columns(m);
        if (m == 4)
            continue;
        load("m16n16", m, "b8", 8, true);
        load("m16n16", m, "b8x16.b4x16_p64", 4, true);
        load("m16n16", m, "b8x16.b6x16_p32", 6, true);
    }
    unsigned bad = 0;
    run("setp.eq.u32 %p1, %r1, 3; mov.u64 %rd5, 40; @%p1 st.bulk.weak.shared::cta [s+264], %rd5, 0;\n"
        "@%p1 st.bulk.shared::cta [s], 16, 0; bar.sync 0; mul.lo.u32 %r7, %r1, 16; mov.u32 %r8, s; add.u32 %r7, %r7, %r8;\n"
        "ld.shared.v4.u32 {%r20, %r21, %r22, %r23}, [%r7];\n");
    for (unsigned k = 0; k < 512; k++)
        bad += ((uint8_t *)out)[k] != (k < 16 || (k >= 264 && k < 304) ? 0 : memory[k]);
    check(!bad, "st.bulk (%u bytes wrong)", bad);
    static const char *const forms[] = {"", ".multicast::cluster::all"};
    for (unsigned f = 0; f < 2; f++) {
        char body[1200];
        snprintf(
            body, sizeof body,
            "setp.eq.u32 %%p1, %%r1, 0; @%%p1 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0;\n@%%p1 "
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 16; mov.u32 %%r9, bar; mov.u32 %%r10, s;\n@%%p1 "
            "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes%s.b128 [%%r10], [%%r9];\n"
            "W: mbarrier.try_wait.parity.shared::cta.b64 %%p2, [bar], 0; @!%%p2 bra W;\nld.shared.b128 %%q1, [s];\n"
            "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %%p3, %%q1; selp.u32 %%r20, 1, 2, %%p3;\n@%%p3 "
            "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%%r21, %%r22, %%r23, _}, %%q1;\n@%%p3 "
            "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %%r22, %%q1;\n",
            forms[f]);
        run(body);
        bad = 0;
        for (unsigned lane = 0; lane < 32; lane++)
            bad += out[lane * WORDS] != 2 || out[lane * WORDS + 1] || out[lane * WORDS + 2];
        check(!bad, "try_cancel%s has nothing to cancel (%u lanes wrong)", forms[f], bad);
    }
    return t0t_done();
}
