/* mma.sp against a scalar reference: every shape, type, selector and arrangement of metadata, fragments
 * laid out by the formulas of the PTX ISA, "Matrix fragments with sparse matrix A". */
#include "tier0/numbers.h"

enum { M = 16, N = 8, MOST_K = 128 };
static struct {
    unsigned k, selector, chunk; /* chunk: columns of which half are there */
    enum format a, b, c, d;
    bool satfinite;
    bool has[M][MOST_K];
    uint64_t va[M][MOST_K], vb[MOST_K][N], vc[M][N];
} x;

static unsigned per_reg(enum format f) { return info[f].bits >= 32 ? 1 : 32 / info[f].bits; }

static uint64_t cut(uint64_t v, enum format f) { return v & (~0ull >> (64 - info[f].bits)); }

/* Which columns of a chunk are there: one of 2, two of 4, two pairs of 8. */
static void choose(unsigned row, unsigned at)
{
    unsigned unit = x.chunk == 8 ? 2 : 1, n = x.chunk / unit, take = n / 2;
    for (unsigned u = 0; u < n; u++) {
        bool yes = rnd() % (n - u) < take;
        take -= yes;
        for (unsigned e = 0; e < unit; e++)
            x.has[row][at + u * unit + e] = yes;
    }
}
/* The four bits that the ISA gives a chunk. */
static uint32_t code(unsigned row, unsigned at)
{
    const bool *has = x.has[row] + at;
    uint32_t bits = 0, shift = 0;
    if (x.chunk == 2)
        return has[0] ? 0x4 : 0xe;
    for (unsigned u = 0; u < 4; u++)
        if (has[u * x.chunk / 4]) {
            bits |= u << shift;
            shift += 2;
        }
    return bits;
}

static void fill(unsigned style)
{
    for (unsigned i = 0; i < M; i++)
        for (unsigned k = 0; k < x.k; k++) {
            if (k % x.chunk == 0)
                choose(i, k);
            x.va[i][k] = cut(random_bits(x.a, style), x.a);
        }
    for (unsigned j = 0; j < N; j++) {
        for (unsigned k = 0; k < x.k; k++)
            x.vb[k][j] = cut(random_bits(x.b, style), x.b);
        for (unsigned i = 0; i < M; i++) {
            x.vc[i][j] = cut(random_bits(x.c, style), x.c);
            if (x.c == S32 && style == 2)
                x.vc[i][j] = (uint32_t)INT32_MAX - (rnd() & 63);
        }
    }
}

static uint32_t wanted(unsigned i, unsigned j)
{
    if (info[x.a].is_int) {
        int64_t s = (int32_t)x.vc[i][j];
        for (unsigned k = 0; k < x.k; k++)
            if (x.has[i][k])
                s += (int64_t)(value(x.va[i][k], x.a) * value(x.vb[k][j], x.b));
        if (x.satfinite)
            s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
        return (uint32_t)s;
    }
    float r = (float)value(x.vc[i][j], x.c);
    for (unsigned k = 0; k < x.k; k++)
        if (x.has[i][k])
            r = fmaf((float)value(x.va[i][k], x.a), (float)value(x.vb[k][j], x.b), r);
    uint32_t bits;
    memcpy(&bits, &r, 4);
    return x.d == F16 ? to_f16(r) : r != r ? 0x7fffffff : bits;
}

static void put(uint32_t *reg, unsigned e, enum format f, uint64_t bits)
{
    reg[e / per_reg(f)] |= (uint32_t)bits << e % per_reg(f) * info[f].bits;
}

/* One lane's registers: a at 0, b at 8, c at 16, metadata at 24. */
enum { AT_B = 8, AT_C = 16, AT_META = 24, LANE = 32 };
static uint32_t in[32 * LANE], out[32 * LANE];

static void fragments(void)
{
    unsigned pa = per_reg(x.a), pb = per_reg(x.b);
    memset(in, 0, sizeof in);
    for (unsigned lane = 0; lane < 32; lane++) {
        unsigned g = lane >> 2, t = lane & 3;
        uint32_t *reg = in + lane * LANE;
        for (unsigned r = 0; r < 2 * (x.k / (8 * pa)); r++) { /* what there is of 2 pa columns */
            unsigned row = r & 1 ? g + 8 : g, first = t * 2 * pa + r / 2 * 8 * pa, e = r * pa;
            for (unsigned k = first; k < first + 2 * pa; k++)
                if (x.has[row][k])
                    put(reg, e++, x.a, x.va[row][k]);
        }
        for (unsigned e = 0; e < x.k / 4; e++)
            put(reg + AT_B, e, x.b, x.vb[t * pb + e % pb + e / pb * 4 * pb][g]);
        for (unsigned e = 0; e < 4; e++)
            put(reg + AT_C, e, x.c, x.vc[e < 2 ? g : g + 8][2 * t + (e & 1)]);
        reg[AT_META] = (uint32_t)rnd(); /* most lanes have none */
    }
    /* one lane of four for the small shape of 16- and 32-bit elements, two for the other; for the
     * narrow elements two and all */
    unsigned bits = info[x.a].bits, small = bits == 32 ? 8 : bits == 16 ? 16 : bits == 8 ? 32 : 64;
    for (unsigned row = 0; row < M; row++)
        for (unsigned c = 0; c < x.k / x.chunk; c++) {
            bool low = row >= 8;
            unsigned member = bits > 8 ? (x.k == small ? x.selector : 2 * x.selector + c / 4)
                                       : (x.k == small ? 2 * x.selector : 2 * (c / 8)) + low;
            unsigned at = bits > 8 ? 16 * low + 4 * (c % 4) : 4 * (c % 8);
            uint32_t *meta = &in[(row % 8 * 4 + member) * LANE + AT_META];
            *meta = (*meta & ~(15u << at)) | code(row, c * x.chunk) << at;
        }
}

static char text[1 << 13];
#define EMIT(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))

static void sparse(unsigned k, enum format a, enum format b, enum format c, enum format d, unsigned selector,
                   bool satfinite)
{
    char opcode[160];
    size_t at = 0;
    unsigned bad = 0, ra = k / 4 / per_reg(a), rb = ra, rc = c == F16 ? 2 : 4, rd = d == F16 ? 2 : 4;
    x.k = k;
    x.a = a, x.b = b, x.c = c, x.d = d;
    x.selector = selector;
    x.satfinite = satfinite;
    x.chunk = info[a].bits == 32 ? 2 : info[a].bits == 4 ? 8 : 4;
    snprintf(opcode, sizeof opcode, "mma.sp%s.sync.aligned.m16n8k%u.row.col.%s.%s.%s.%s%s",
             rnd() & 1 ? "::ordered_metadata" : "", k, info[d].name, info[a].name, info[b].name, info[c].name,
             satfinite ? ".satfinite" : "");
    EMIT(".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 pout, "
         ".param .u64 pin)\n{\n.reg .b32 %%r, %%a<8>, %%b<8>, %%c<8>, %%d<8>, %%e; .reg .b64 "
         "%%p, %%q, %%o;\nld.param.u64 %%p, [pout]; ld.param.u64 %%q, [pin]; mov.u32 %%r, "
         "%%tid.x;\nmul.wide.u32 %%o, %%r, 128; add.s64 %%p, %%p, %%o; add.s64 %%q, %%q, %%o;\n");
    for (unsigned r = 0; r < 4; r++)
        EMIT("ld.global.b32 %%a%u, [%%q+%u]; ld.global.b32 %%b%u, [%%q+%u]; ld.global.b32 %%c%u, "
             "[%%q+%u];\n",
             r, 4 * r, r, 4 * (AT_B + r), r, 4 * (AT_C + r));
    EMIT("ld.global.b32 %%e, [%%q+%u];\n%s ", 4 * AT_META, opcode);
    const char *names = "dabc";
    const unsigned count[] = {rd, ra, rb, rc};
    for (unsigned f = 0; f < 4; f++) {
        for (unsigned r = 0; r < count[f]; r++)
            EMIT("%s%%%c%u", r ? ", " : "{", names[f], r);
        EMIT("}, ");
    }
    EMIT("%%e, 0x%x;\n", selector);
    for (unsigned r = 0; r < rd; r++)
        EMIT("st.global.b32 [%%p+%u], %%d%u;\n", 4 * r, r);
    EMIT("ret;\n}\n");
    for (unsigned style = 0; style < 3; style++) {
        struct {
            void *out, *in;
        } args = {out, in};
        fill(style);
        fragments();
        memset(out, 0, sizeof out);
        if (!t0t_once(text, "k", 1, 32, &args, NULL))
            return;
        for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned e = 0; e < 4; e++) {
                uint32_t got = out[lane * LANE + e / per_reg(d)] >> e % per_reg(d) * info[d].bits;
                uint32_t want = wanted(lane / 4 + (e < 2 ? 0 : 8), lane % 4 * 2 + (e & 1));
                if (cut(got, d) != want && !bad++)
                    printf("# style %u lane %u element %u: %x, want %x\n", style, lane, e, got, want);
            }
    }
    check(!bad, "%s selector %u (%u wrong)", opcode, selector, bad);
}

static void all(void)
{
    static const enum format acc[] = {F16, F32}, f8[] = {E4M3, E5M2}, i8[] = {S8, U8}, i4[] = {S4, U4};
    for (unsigned s = 0; s < 4; s++) {
        sparse(16, F16, F16, acc[s / 2], acc[s / 2], s, false);
        sparse(16, BF16, BF16, F32, F32, s, false);
        sparse(8, TF32, TF32, F32, F32, s, false);
        sparse(64, f8[s / 2], f8[s % 2], acc[s % 2], acc[s % 2], 0, false);
        sparse(64, i8[s / 2], i8[s % 2], S32, S32, 0, s & 1);
        sparse(128, i4[s / 2], i4[s % 2], S32, S32, 0, s & 1);
        for (unsigned pair = 0; pair < 2; pair++) {
            sparse(32, F16, F16, acc[s / 2], acc[s / 2], pair, false);
            sparse(32, i8[s / 2], i8[s % 2], S32, S32, pair, s & 1);
            sparse(64, i4[s / 2], i4[s % 2], S32, S32, pair, s & 1);
            if (s < 2) {
                sparse(32, BF16, BF16, F32, F32, pair, false);
                sparse(16, TF32, TF32, F32, F32, pair, false);
            }
        }
    }
}

/* Once with the handlers of each level that this CPU has. */
int main(void)
{
    static const int levels[] = {1, 3, 4};
    sparse(16, F16, F16, F32, F32, 0, false); /* initialises the table */
    for (unsigned k = 0; k < 3 && levels[k] <= t0_alu_level(); k++) {
        printf("# level %d\n", levels[k]);
        t0_alu_handlers_level(lir_table, levels[k]);
        all();
    }
    return t0t_done();
}
