/* Matrix instructions against a scalar reference: every shape and type of mma, with fragments laid
 * out by the formulas of the PTX ISA, and of wmma, through memory in every layout. */
#include "tier0/numbers.h"

/* ---- a product, the plain way ---- */

struct matrices { /* elements as bits: a[i][k], b[k][j], c[i][j], and what is wanted of d */
    unsigned m, n, k;
    enum format a, b, c, d;
    bool satfinite, both; /* both: .and of bits */
    uint64_t va[32][256], vb[256][32], vc[32][32], vd[32][32];
};

static uint64_t wanted(const struct matrices *x, unsigned i, unsigned j)
{
    uint64_t out = 0;
    if (x->a == F64) {
        double s = value(x->vc[i][j], F64);
        for (unsigned k = 0; k < x->k; k++)
            s = fma(value(x->va[i][k], F64), value(x->vb[k][j], F64), s);
        memcpy(&out, &s, 8);
        return out;
    }
    if (info[x->a].is_int) {
        int64_t s = (int32_t)x->vc[i][j];
        for (unsigned k = 0; k < x->k; k++) {
            int p = (int)value(x->va[i][k], x->a), q = (int)value(x->vb[k][j], x->b);
            s += x->a != B1 ? p * q : x->both ? (p & q) : (p ^ q);
        }
        if (x->satfinite)
            s = s > INT32_MAX ? INT32_MAX : s < INT32_MIN ? INT32_MIN : s;
        return (uint32_t)s;
    }
    float r = (float)value(x->vc[i][j], x->c);
    for (unsigned k = 0; k < x->k; k++)
        r = fmaf((float)value(x->va[i][k], x->a), (float)value(x->vb[k][j], x->b), r);
    uint32_t bits;
    memcpy(&bits, &r, 4);
    return x->d == F16 ? to_f16(r) : r != r ? 0x7fffffff : bits;
}

static bool same(uint64_t got, uint64_t want, enum format f)
{
    if (f == F64 && isnan(value(want, F64)))
        return isnan(value(got, F64));
    return got == want;
}

static void fill(struct matrices *x, unsigned style)
{
    for (unsigned i = 0; i < x->m; i++)
        for (unsigned k = 0; k < x->k; k++)
            x->va[i][k] = random_bits(x->a, style) & (~0ull >> (64 - info[x->a].bits));
    for (unsigned k = 0; k < x->k; k++)
        for (unsigned j = 0; j < x->n; j++)
            x->vb[k][j] = random_bits(x->b, style) & (~0ull >> (64 - info[x->b].bits));
    for (unsigned i = 0; i < x->m; i++)
        for (unsigned j = 0; j < x->n; j++) {
            x->vc[i][j] = random_bits(x->c, style) & (~0ull >> (64 - info[x->c].bits));
            if (x->c == S32 && style == 2) /* sums that pass the ends of the range */
                x->vc[i][j] = (uint32_t)(rnd() & 1 ? INT32_MAX - (int)(rnd() & 63) : INT32_MIN + (int)(rnd() & 63));
        }
    for (unsigned i = 0; i < x->m; i++)
        for (unsigned j = 0; j < x->n; j++)
            x->vd[i][j] = wanted(x, i, j);
}

static struct args {
    void *out, *in;
} args;
static uint64_t in[32 * 64], out[32 * 64];
static char text[1 << 15], list[4][1024];

static unsigned per_reg(enum format f) { return info[f].bits >= 32 ? 1 : 32 / info[f].bits; }
/* Names of the n registers of operand which: {%a0, %a1} */
static const char *names(char which, unsigned n, unsigned slot)
{
    size_t at = (size_t)snprintf(list[slot], sizeof list[slot], "{");
    for (unsigned r = 0; r < n; r++)
        at += (size_t)snprintf(list[slot] + at, sizeof list[slot] - at, "%s%%%c%u", r ? ", " : "", which, r);
    snprintf(list[slot] + at, sizeof list[slot] - at, "}");
    return list[slot];
}
#define EMIT(...) (at += (size_t)snprintf(text + at, sizeof text - at, __VA_ARGS__))
static size_t head(enum format a, enum format c, enum format d)
{
    size_t at = 0;
    const char *wide = a == F64 ? "f64" : "b32";
    EMIT(".version 8.4\n.target sm_90\n.address_size 64\n"
         ".visible .entry k(.param .u64 pout, .param .u64 pin)\n{\n.reg .b32 %%r<8>; .reg .b64 "
         "%%rd<8>;\n.reg .%s %%a<32>, %%b<32>; .reg .%s %%c<32>; .reg .%s %%d<32>;\n",
         wide, c == F32 ? "f32" : wide, d == F32 ? "f32" : wide);
    EMIT("ld.param.u64 %%rd0, [pout]; ld.param.u64 %%rd1, [pin]; mov.u32 %%r0, %%tid.x;\n");
    return at;
}

/* ---- mma ---- */

struct place {
    unsigned i, j;
};
/* Element e of the fragment of a lane; formulas of the PTX ISA, "Matrix Fragments for mma". */
static struct place in_a(const struct matrices *x, unsigned lane, unsigned e, bool col)
{
    unsigned g = lane >> 2, t = lane % 4, p = per_reg(x->a), r = e / p;
    if (x->a == F16 && x->k == 4) { /* four products: i is counted from the quad's first row */
        if (col)
            return (struct place){e % 4 + (lane < 16 ? 0 : 4), t};
        return (struct place){t + (lane < 16 ? 0 : 4), e};
    }
    if (x->m == 8)
        return (struct place){g, t * p + e};
    return (struct place){r % 2 ? g + 8 : g, t * p + e % p + (r / 2) * 4 * p};
}
static struct place in_b(const struct matrices *x, unsigned lane, unsigned e, bool col)
{
    unsigned g = lane >> 2, t = lane % 4, p = per_reg(x->b);
    if (x->a == F16 && x->k == 4) {
        if (col)
            return (struct place){e, t + (lane < 16 ? 0 : 4)};
        return (struct place){t, e + (lane < 16 ? 0 : 4)};
    }
    return (struct place){t * p + e % p + e / p * 4 * p, g};
}
static struct place in_c(const struct matrices *x, enum format f, unsigned lane, unsigned e)
{
    unsigned g = lane >> 2, t = lane % 4, high = lane < 16 ? 0 : 4;
    if (x->a == F16 && x->k == 4) {
        if (f == F16)
            return (struct place){lane % 4 + high, e};
        return (struct place){(lane & 1) + (e & 2) + high, (e & 4) + (lane & 2) + (e & 1)};
    }
    return (struct place){e < 2 ? g : g + 8, t * 2 + (e & 1)};
}

static void put(uint64_t *reg, unsigned e, enum format f, uint64_t bits)
{
    reg[e / per_reg(f)] |= bits << e % per_reg(f) * info[f].bits;
}

static void mma(const char *opcode, struct matrices *x, bool acol, bool bcol)
{
    bool quads = x->a == F16 && x->k == 4;
    unsigned nc = quads ? 8 : x->m * x->n / 32, na = quads ? 4 : x->m * x->k / 32;
    unsigned nb = quads ? 4 : x->n * x->k / 32;
    unsigned ra = na / per_reg(x->a), rb = nb / per_reg(x->b), bad = 0;
    unsigned rc = nc / (x->c == F16 ? 2 : 1), rd = nc / (x->d == F16 ? 2 : 1);
    const char *unit = x->a == F64 ? "b64" : "b32";
    size_t at = head(x->a, x->c, x->d);
    EMIT("mul.wide.u32 %%rd2, %%r0, 512;\n");
    EMIT("add.s64 %%rd0, %%rd0, %%rd2; add.s64 %%rd1, %%rd1, %%rd2;\n");
    for (unsigned r = 0; r < ra; r++)
        EMIT("ld.global.%s %%a%u, [%%rd1+%u];\n", unit, r, 8 * r);
    for (unsigned r = 0; r < rb; r++)
        EMIT("ld.global.%s %%b%u, [%%rd1+%u];\n", unit, r, 8 * (16 + r));
    for (unsigned r = 0; r < rc; r++)
        EMIT("ld.global.%s %%c%u, [%%rd1+%u];\n", unit, r, 8 * (32 + r));
    EMIT("%s %s, %s, %s, %s;\n", opcode, names('d', rd, 0), names('a', ra, 1), names('b', rb, 2), names('c', rc, 3));
    for (unsigned r = 0; r < rd; r++)
        EMIT("st.global.%s [%%rd0+%u], %%d%u;\n", unit, 8 * r, r);
    EMIT("ret;\n}\n");
    for (unsigned style = 0; style < 6; style++) {
        static struct matrices four[4];
        memset(in, 0, sizeof in);
        memset(out, 0, sizeof out);
        for (unsigned q = 0; q < (quads ? 4 : 1); q++) {
            four[q] = *x;
            fill(&four[q], style % 3);
        }
        for (unsigned lane = 0; lane < 32; lane++) {
            const struct matrices *y = &four[quads ? lane / 4 % 4 : 0];
            struct place p;
            for (unsigned e = 0; e < na; e++) {
                p = in_a(y, lane, e, acol);
                put(in + lane * 64, e, y->a, y->va[p.i][p.j]);
            }
            for (unsigned e = 0; e < nb; e++) {
                p = in_b(y, lane, e, bcol);
                put(in + lane * 64 + 16, e, y->b, y->vb[p.i][p.j]);
            }
            for (unsigned e = 0; e < nc; e++) {
                p = in_c(y, y->c, lane, e);
                put(in + lane * 64 + 32, e, y->c, y->vc[p.i][p.j]);
            }
        }
        args = (struct args){out, in};
        if (!t0t_once(text, "k", 1, 32, &args, NULL))
            return;
        for (unsigned lane = 0; lane < 32; lane++)
            for (unsigned e = 0; e < nc; e++) {
                const struct matrices *y = &four[quads ? lane / 4 % 4 : 0];
                struct place p = in_c(y, y->d, lane, e);
                uint64_t got = out[lane * 64 + e / per_reg(y->d)] >> e % per_reg(y->d) * info[y->d].bits;
                got &= ~0ull >> (64 - info[y->d].bits);
                if (!same(got, y->vd[p.i][p.j], y->d) && !bad++)
                    printf("# style %u lane %u element %u: %llx, want %llx\n", style, lane, e, (unsigned long long)got,
                           (unsigned long long)y->vd[p.i][p.j]);
            }
    }
    check(!bad, "%s (%u wrong)", opcode, bad);
}

static void mma_form(unsigned m, unsigned n, unsigned k, enum format a, enum format b, enum format c, enum format d)
{
    static struct matrices x;
    char opcode[120];
    bool quads = a == F16 && k == 4;
    x = (struct matrices){.m = m, .n = n, .k = k, .a = a, .b = b, .c = c, .d = d};
    for (unsigned layout = quads ? 0 : 1; layout < (quads ? 4 : 2); layout++)
        for (unsigned way = 0; way < (info[a].is_int ? 2 : 1); way++) {
            x.satfinite = a != B1 && way;
            x.both = a == B1 && way;
            snprintf(opcode, sizeof opcode, "mma.sync.aligned.m%un%uk%u.%s.%s.%s.%s.%s.%s%s", m, n, k,
                     layout & 2 ? "col" : "row", layout & 1 ? "col" : "row", info[d].name, info[a].name, info[b].name,
                     info[c].name,
                     a == B1 ? way ? ".and.popc" : ".xor.popc"
                     : way   ? ".satfinite"
                             : "");
            mma(opcode, &x, layout & 2, layout & 1);
        }
}

/* ---- wmma ---- */

static unsigned char memory[4][32 * 1024];

/* Where element (i, j) of a matrix that is `stride` wide is, in bits. */
static size_t bit_at(unsigned i, unsigned j, bool col, unsigned stride, enum format f)
{
    return (size_t)(col ? j * stride + i : i * stride + j) * info[f].bits;
}
static void poke(unsigned char *p, size_t bit, enum format f, uint64_t v)
{
    if (info[f].bits < 8)
        p[bit / 8] |= (unsigned char)(v << bit % 8);
    else
        memcpy(p + bit / 8, &v, info[f].bits / 8);
}

static void wmma(struct matrices *x, unsigned layouts, unsigned space, const char *product)
{
    static const char *const spaces[] = {".global", ""};
    bool acol = layouts & 1, bcol = layouts & 2, ccol = layouts & 4;
    enum format row_of[4] = {x->a, x->b, x->c, x->d};
    unsigned sa = (acol ? x->m : x->k), sb = (bcol ? x->k : x->n), sc = (ccol ? x->m : x->n);
    unsigned ra = x->a == F16 ? 8 : x->m * x->k / 32 / per_reg(x->a), bad = 0;
    unsigned rb = x->a == F16 ? 8 : x->n * x->k / 32 / per_reg(x->a);
    unsigned rc = x->m * x->n / 32 / (x->c == F16 ? 2 : 1);
    unsigned rd = x->m * x->n / 32 / (x->d == F16 ? 2 : 1);
    char shape[24], offset[40];
    size_t at = head(x->a, x->c, x->d);
    bool tight = space == 1; /* no stride operand: as wide as the matrix */
    if (!tight) {
        sa += x->a == B1 ? 128 : x->a == S4 || x->a == U4 ? 32 : 16;
        sb += x->a == B1 ? 128 : x->a == S4 || x->a == U4 ? 32 : 8;
        sc += 4;
    }
    snprintf(shape, sizeof shape, "m%un%uk%u", x->m, x->n, x->k);
    snprintf(offset, sizeof offset, "%u", 0);
    for (unsigned q = 0; q < 4; q++)
        EMIT("ld.global.u64 %%rd%u, [%%rd1+%u];\n", 2 + q, 8 * q);
    const unsigned stride[3] = {sa, sb, sc};
    const unsigned regs[3] = {ra, rb, rc};
    const bool cols[3] = {acol, bcol, ccol};
    for (unsigned q = 0; q < 3; q++) {
        EMIT("mov.u32 %%r1, %u;\nwmma.load.%c.sync.aligned.%s.%s%s.%s %s, [%%rd%u]", stride[q], 'a' + (int)q,
             cols[q] ? "col" : "row", shape, spaces[space], info[row_of[q]].name,
             names((char)('a' + (int)q), regs[q], q), 2 + q);
        EMIT(tight ? ";\n" : ", %%r1;\n");
    }
    EMIT("%s %s, %s, %s, %s;\n", product, names('d', rd, 3), list[0], list[1], list[2]);
    EMIT("wmma.store.d.sync.aligned.%s.%s%s.%s [%%rd5], %s", ccol ? "col" : "row", shape, spaces[space],
         info[x->d].name, list[3]);
    EMIT(tight ? ";\nret;\n}\n" : ", %%r1;\nret;\n}\n");
    for (unsigned style = 0; style < 3; style++) {
        fill(x, style);
        memset(memory, 0, sizeof memory);
        for (unsigned i = 0; i < x->m; i++)
            for (unsigned k = 0; k < x->k; k++)
                poke(memory[0], bit_at(i, k, acol, sa, x->a), x->a, x->va[i][k]);
        for (unsigned k = 0; k < x->k; k++)
            for (unsigned j = 0; j < x->n; j++)
                poke(memory[1], bit_at(k, j, bcol, sb, x->b), x->b, x->vb[k][j]);
        for (unsigned i = 0; i < x->m; i++)
            for (unsigned j = 0; j < x->n; j++)
                poke(memory[2], bit_at(i, j, ccol, sc, x->c), x->c, x->vc[i][j]);
        for (unsigned q = 0; q < 4; q++)
            in[q] = (uint64_t)(uintptr_t)memory[q];
        args = (struct args){out, in};
        if (!t0t_once(text, "k", 1, 32, &args, NULL))
            return;
        for (unsigned i = 0; i < x->m; i++)
            for (unsigned j = 0; j < x->n; j++) {
                uint64_t got = 0;
                memcpy(&got, memory[3] + bit_at(i, j, ccol, sc, x->d) / 8, info[x->d].bits / 8);
                if (!same(got, x->vd[i][j], x->d) && !bad++)
                    printf("# style %u [%u][%u]: %llx, want %llx\n", style, i, j, (unsigned long long)got,
                           (unsigned long long)x->vd[i][j]);
            }
    }
    check(!bad, "%s layouts %u%s (%u wrong)", product, layouts, tight ? " no stride" : "", bad);
}

static void wmma_form(unsigned m, unsigned n, unsigned k, enum format f, enum format c, enum format d)
{
    static struct matrices x;
    char product[120];
    bool packed = info[f].bits < 8;
    x = (struct matrices){.m = m, .n = n, .k = k, .a = f, .b = f, .c = c, .d = d};
    for (unsigned layouts = 0; layouts < 8; layouts++) {
        const char *a = layouts & 1 ? "col" : "row", *b = layouts & 2 ? "col" : "row";
        if (packed && (layouts & 3) != 2)
            continue;
        x.satfinite = info[f].is_int && f != B1 && layouts >= 4;
        x.both = f == B1 && layouts >= 4;
        if (f == F16)
            snprintf(product, sizeof product, "wmma.mma.sync.aligned.%s.%s.m%un%uk%u.%s.%s", a, b, m, n, k,
                     info[d].name, info[c].name);
        else
            snprintf(product, sizeof product, "wmma.mma%s.sync.aligned.%s.%s.m%un%uk%u.%s.%s.%s.%s%s",
                     f != B1  ? ""
                     : x.both ? ".and.popc"
                              : ".xor.popc",
                     a, b, m, n, k, info[d].name, info[f].name, info[f].name, info[c].name,
                     x.satfinite ? ".satfinite"
                     : f == F64  ? ".rn"
                                 : "");
        wmma(&x, layouts, layouts % 2, product);
    }
}

static void all(void)
{
    static const enum format acc16[] = {F16, F32}, f8[] = {E4M3, E5M2}, i8[] = {S8, U8}, i4[] = {S4, U4};
    for (unsigned u = 0; u < 2; u++)
        for (unsigned v = 0; v < 2; v++) {
            mma_form(8, 8, 4, F16, F16, acc16[u], acc16[u | v]); /* only here may they differ */
            mma_form(16, 8, 8, F16, F16, acc16[u], acc16[u]);
            mma_form(16, 8, 16, F16, F16, acc16[u], acc16[u]);
            for (unsigned k = 16; k <= 32; k += 16)
                mma_form(16, 8, k, f8[u], f8[v], acc16[v], acc16[v]);
            mma_form(8, 8, 16, i8[u], i8[v], S32, S32);
            mma_form(16, 8, 16, i8[u], i8[v], S32, S32);
            mma_form(16, 8, 32, i8[u], i8[v], S32, S32);
            mma_form(8, 8, 32, i4[u], i4[v], S32, S32);
            mma_form(16, 8, 32, i4[u], i4[v], S32, S32);
            mma_form(16, 8, 64, i4[u], i4[v], S32, S32);
        }
    mma_form(16, 8, 8, BF16, BF16, F32, F32);
    mma_form(16, 8, 16, BF16, BF16, F32, F32);
    mma_form(16, 8, 4, TF32, TF32, F32, F32);
    mma_form(16, 8, 8, TF32, TF32, F32, F32);
    mma_form(8, 8, 4, F64, F64, F64, F64);
    for (unsigned k = 4; k <= 16; k *= 2)
        mma_form(16, 8, k, F64, F64, F64, F64);
    mma_form(8, 8, 128, B1, B1, S32, S32);
    mma_form(16, 8, 128, B1, B1, S32, S32);
    mma_form(16, 8, 256, B1, B1, S32, S32);

    static const unsigned shape[][2] = {{16, 16}, {32, 8}, {8, 32}};
    for (unsigned s = 0; s < 3; s++) {
        for (unsigned u = 0; u < 4; u++)
            wmma_form(shape[s][0], shape[s][1], 16, F16, acc16[u / 2], acc16[u % 2]);
        wmma_form(shape[s][0], shape[s][1], 16, BF16, F32, F32);
        wmma_form(shape[s][0], shape[s][1], 16, S8, S32, S32);
        wmma_form(shape[s][0], shape[s][1], 16, U8, S32, S32);
    }
    wmma_form(16, 16, 8, TF32, F32, F32);
    wmma_form(8, 8, 4, F64, F64, F64);
    wmma_form(8, 8, 32, S4, S32, S32);
    wmma_form(8, 8, 32, U4, S32, S32);
    wmma_form(8, 8, 128, B1, S32, S32);
}

/* Once with the handlers of each level that this CPU has: they must agree bit by bit. */
int main(void)
{
    static const int levels[] = {1, 3, 4};
    for (unsigned k = 0; k < 3 && levels[k] <= t0_alu_level(); k++) {
        printf("# level %d\n", levels[k]);
        if (!k)
            wmma_form(8, 8, 4, F64, F64, F64); /* initialises the table */
        t0_alu_handlers_level(lir_table, levels[k]);
        all();
    }
    return t0t_done();
}
