/* Tier 0 lowering: mma, wmma, ldmatrix, stmatrix and movmatrix. The shape, layouts and element
 * types are read from the opcode as written. */
#include "ptx/lir/lower/lower.h"
#include "ptx/lir/matrix.h"

#include <stdlib.h>
#include <string.h>

struct words { /* what the modifiers said */
    struct lir_matrix x;
    unsigned type[4], ntype;
    unsigned layouts; /* how many of .row and .col there were */
    bool load, store, product, xor, trans, shape;
    unsigned count; /* x1, x2, x4 */
    unsigned kind;  /* enum kind */
    bool scaled, ordered, bytes;
    unsigned spread; /* LIR_LDM_B4, B6 */
};
enum kind { KIND_NONE, KIND_F8F6F4, KIND_MXF8F6F4, KIND_MXF4, KIND_MXF4NVF4 };

static bool is(const char *s, size_t len, const char *word) { return strlen(word) == len && !memcmp(s, word, len); }

static bool read_shape(struct words *w, const char *s)
{
    char *end;
    unsigned long m, n, k = 0;
    if (*s != 'm' || (m = strtoul(s + 1, &end, 10)) > 255 || *end != 'n' || (n = strtoul(end + 1, &end, 10)) > 255)
        return false;
    if (*end == 'k')
        k = strtoul(end + 1, &end, 10);
    if ((*end && *end != '.') || k > 1024)
        return false;
    w->x.m = (uint8_t)m;
    w->x.n = (uint8_t)n;
    w->x.k = (uint16_t)k;
    return w->shape = true;
}

static bool read_type(struct words *w, const char *s, size_t len)
{
    for (unsigned f = 0; f < LIR_NMX; f++)
        if (is(s, len, lir_mx[f].name) && w->ntype < 4) {
            w->type[w->ntype++] = f;
            return true;
        }
    return false;
}

/* Takes one modifier of a matrix instruction: word by word, since wmma, mma, ldmatrix and their like order them
 * differently. False for a word that is not known, which refuses the instruction by name. */
static bool read_word(struct words *w, const char *s, size_t len)
{
    static const char *const skipped[] = {"sync",        "aligned",         "global", "shared",
                                          "shared::cta", "shared::cluster", "popc",   "b16"};
    static const char *const rounding[] = {[PTX_RN] = "rn", [PTX_RZ] = "rz", [PTX_RM] = "rm", [PTX_RP] = "rp"};
    static const char *const kinds[] = {[LIR_MATRIX_A] = "a", [LIR_MATRIX_B] = "b", [LIR_MATRIX_C] = "c", "d"};
    for (unsigned k = 0; k < sizeof skipped / sizeof *skipped; k++)
        if (is(s, len, skipped[k]))
            return true;
    for (unsigned k = PTX_RN; k <= PTX_RP; k++)
        if (is(s, len, rounding[k])) {
            w->x.rnd = k == PTX_RN ? 0 : (uint8_t)k;
            return true;
        }
    for (unsigned k = LIR_MATRIX_A; k < sizeof kinds / sizeof *kinds; k++)
        if (is(s, len, kinds[k])) {
            w->x.kind = (uint8_t)(k > LIR_MATRIX_C ? LIR_MATRIX_C : k);
            return true;
        }
    static const char *const mixes[] = {"f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4"};
    for (unsigned k = 0; k < sizeof mixes / sizeof *mixes; k++)
        if (len > 6 && !memcmp(s, "kind::", 6) && is(s + 6, len - 6, mixes[k]))
            return (w->kind = k + KIND_F8F6F4);
    for (unsigned k = 0; k < 3; k++)
        if (len == 13 && !memcmp(s, "scale_vec::", 11) && s[11] == "124"[k] && s[12] == 'X')
            return w->x.flags |= (uint16_t)((k + 1) << LIR_MX_SCALES_SHIFT);
    if (is(s, len, "b8") || is(s, len, "b8x16"))
        return w->bytes = true;
    if (is(s, len, "b4x16_p64") || is(s, len, "b6x16_p32"))
        return (w->spread = s[1] == '4' ? LIR_LDM_B4 : LIR_LDM_B6);
    if (is(s, len, "ue4m3"))
        return w->x.flags |= LIR_MX_UE4M3;
    if (is(s, len, "ue8m0"))
        return w->scaled;
    if (is(s, len, "block_scale"))
        return w->scaled = true;
    if (is(s, len, "row") || is(s, len, "col")) {
        if (*s == 'c')
            w->x.flags |= (uint16_t)(w->layouts ? LIR_MX_COL_B : LIR_MX_COL);
        return w->layouts++ < 2;
    }
    if (len == 2 && s[0] == 'x' && strchr("124", s[1]))
        return (w->count = (unsigned)(s[1] - '0'));
    if (is(s, len, "satfinite"))
        return w->x.flags |= LIR_MX_SATFINITE;
    if (is(s, len, "and"))
        return w->x.flags |= LIR_MX_AND;
    return (is(s, len, "load") && (w->load = true)) || (is(s, len, "store") && (w->store = true)) ||
           (is(s, len, "mma") && (w->product = true)) || (is(s, len, "xor") && (w->xor = true)) ||
           (is(s, len, "trans") && (w->trans = true)) || read_type(w, s, len) || read_shape(w, s);
}

static struct words read_words(struct lir_lower *l, const struct ptx_instr *i)
{
    struct words w = {.count = 0};
    for (const char *s = strchr(i->opcode, '.'); s;) {
        size_t len = strcspn(++s, ".");
        if (i->op == PTX_OP_MMA && (is(s, len, "sp") || is(s, len, "sp::ordered_metadata")))
            w.x.flags |= LIR_MX_SPARSE, w.ordered = len > 2;
        else if (!read_word(&w, s, len))
            lir_fail(l, "matrix instruction with .%.*s is not supported", (int)(len < 40 ? len : 40), s);
        s = s[len] ? s + len : NULL;
    }
    return w;
}

/* ---- what PTX has ---- */

#define F(f) (1u << LIR_MX_##f)
static const struct form {
    uint8_t m, n;
    uint16_t k;
    uint16_t kind;        /* LIR_MX_WMMA, LIR_MX_SPARSE or 0 */
    uint32_t factor, sum; /* formats of a and b; of c and d */
    uint8_t mix;          /* enum kind */
} forms[] = {
    {8, 8, 4, 0, F(F16), F(F16) | F(F32), 0},
    {16, 8, 8, 0, F(F16), F(F16) | F(F32), 0},
    {16, 8, 16, 0, F(F16), F(F16) | F(F32), 0},
    {16, 8, 8, 0, F(BF16), F(F32), 0},
    {16, 8, 16, 0, F(BF16), F(F32), 0},
    {16, 8, 4, 0, F(TF32), F(F32), 0},
    {16, 8, 8, 0, F(TF32), F(F32), 0},
    {16, 8, 16, 0, F(E4M3) | F(E5M2), F(F16) | F(F32), 0},
    {16, 8, 32, 0, F(E4M3) | F(E5M2), F(F16) | F(F32), 0},
#define F_8_6_4 (F(E4M3) | F(E5M2) | F(E2M3) | F(E3M2) | F(E2M1))
    {16, 8, 32, 0, F_8_6_4, F(F16) | F(F32), KIND_F8F6F4},
    {16, 8, 32, 0, F_8_6_4, F(F32), KIND_MXF8F6F4},
    {16, 8, 64, 0, F(E2M1_DENSE), F(F32), KIND_MXF4},
    {16, 8, 64, 0, F(E2M1_DENSE), F(F32), KIND_MXF4NVF4},
    {16, 8, 64, LIR_MX_SPARSE, F_8_6_4, F(F16) | F(F32), KIND_F8F6F4},
    {16, 8, 64, LIR_MX_SPARSE, F_8_6_4, F(F32), KIND_MXF8F6F4},
    {16, 8, 128, LIR_MX_SPARSE, F(E2M1_DENSE), F(F32), KIND_MXF4},
    {16, 8, 128, LIR_MX_SPARSE, F(E2M1_DENSE), F(F32), KIND_MXF4NVF4},
    {8, 8, 4, 0, F(F64), F(F64), 0},
    {16, 8, 4, 0, F(F64), F(F64), 0},
    {16, 8, 8, 0, F(F64), F(F64), 0},
    {16, 8, 16, 0, F(F64), F(F64), 0},
    {8, 8, 16, 0, F(S8) | F(U8), F(S32), 0},
    {16, 8, 16, 0, F(S8) | F(U8), F(S32), 0},
    {16, 8, 32, 0, F(S8) | F(U8), F(S32), 0},
    {8, 8, 32, 0, F(S4) | F(U4), F(S32), 0},
    {16, 8, 32, 0, F(S4) | F(U4), F(S32), 0},
    {16, 8, 64, 0, F(S4) | F(U4), F(S32), 0},
    {8, 8, 128, 0, F(B1), F(S32), 0},
    {16, 8, 128, 0, F(B1), F(S32), 0},
    {16, 8, 256, 0, F(B1), F(S32), 0},
#define WMMA(m, n) \
    {m, n, 16, LIR_MX_WMMA, F(F16), F(F16) | F(F32), 0}, {m, n, 16, LIR_MX_WMMA, F(BF16), F(F32), 0}, \
    { \
        m, n, 16, LIR_MX_WMMA, F(S8) | F(U8), F(S32), 0 \
    }
#define SPARSE(k, factor, sum) \
    { \
        16, 8, k, LIR_MX_SPARSE, factor, sum, 0 \
    }
    SPARSE(16, F(F16), F(F16) | F(F32)),
    SPARSE(32, F(F16), F(F16) | F(F32)),
    SPARSE(16, F(BF16), F(F32)),
    SPARSE(32, F(BF16), F(F32)),
    SPARSE(8, F(TF32), F(F32)),
    SPARSE(16, F(TF32), F(F32)),
    SPARSE(64, F(E4M3) | F(E5M2), F(F16) | F(F32)),
    SPARSE(32, F(S8) | F(U8), F(S32)),
    SPARSE(64, F(S8) | F(U8), F(S32)),
    SPARSE(64, F(S4) | F(U4), F(S32)),
    SPARSE(128, F(S4) | F(U4), F(S32)),
    WMMA(16, 16),
    WMMA(32, 8),
    WMMA(8, 32),
    {16, 16, 8, LIR_MX_WMMA, F(TF32), F(F32), 0},
    {8, 8, 4, LIR_MX_WMMA, F(F64), F(F64), 0},
    {8, 8, 32, LIR_MX_WMMA, F(S4) | F(U4), F(S32), 0},
    {8, 8, 128, LIR_MX_WMMA, F(B1), F(S32), 0},
};

/* A form of this shape whose formats are among these; a wmma.load of C knows no factor. */
static const struct form *find_form(const struct lir_matrix *x, unsigned mix, uint32_t factor, uint32_t sum)
{
    for (unsigned k = 0; k < sizeof forms / sizeof *forms; k++) {
        const struct form *f = &forms[k];
        if (f->mix == mix && f->m == x->m && f->n == x->n && f->k == x->k &&
            f->kind == (x->flags & (LIR_MX_WMMA | LIR_MX_SPARSE)) && !(factor & ~f->factor) && !(sum & ~f->sum))
            return f;
    }
    return NULL;
}

static const struct form *need_form(struct lir_lower *l, const struct lir_matrix *x, unsigned mix, uint32_t factor,
                                    uint32_t sum)
{
    const struct form *f = find_form(x, mix, factor, sum);
    if (!f)
        lir_fail(l, "no such matrix shape for these types");
    return f;
}

/* ---- operands ---- */

static void add_regs(struct lir_lower *l, const struct ptx_opnd *o, unsigned n, unsigned format, bool dst)
{
    const struct ptx_opnd *part = o;
    unsigned have = 1;
    enum lir_class c = format == LIR_MX_F64 ? LIR_CLASS_64 : LIR_CLASS_32;
    if (o->kind == PTX_O_VEC) {
        part = &l->f->opnd[o->first];
        have = o->n;
    }
    if (have != n)
        lir_fail(l, "fragment of %u registers; this one has %u", have, n);
    for (unsigned k = 0; k < n; k++) {
        if (part[k].kind == PTX_O_REG &&
            (lir_reg_class(l, part[k].reg) != c || ptx_type_size(l->f->reg[part[k].reg].type) < 4))
            lir_fail(l, "fragment register of the wrong width");
        uint32_t row = dst ? lir_dest(l, &part[k]) : lir_source(l, &part[k], c);
        *(uint32_t *)lir_push(l, &l->operands, sizeof(uint32_t)) = row;
    }
}

static int32_t add_record(struct lir_lower *l, const struct lir_matrix *x)
{
    *(struct lir_matrix *)lir_push(l, &l->matrices, sizeof *x) = *x;
    return (int32_t)(l->matrices.n - 1);
}

/* All lanes of the warp come to a matrix instruction together. */
static void gather(struct lir_lower *l)
{
    uint32_t all = lir_imm(l, LIR_CLASS_32, ~0u);
    lir_emit(l, LIR_WARPSYNC)->e = all;
}

/* ---- instructions ---- */

/* Scales and their type as the kind has them; .scale_vec may be left out where there is one only. */
static void check_scales(struct lir_lower *l, struct words *w)
{
    struct lir_matrix *x = &w->x;
    const unsigned scales = lir_mx_scales(x);
    static const uint8_t only[] = {[KIND_MXF8F6F4] = 1, [KIND_MXF4] = 2, [KIND_MXF4NVF4] = 0};
    if (w->scaled != (w->kind >= KIND_MXF8F6F4) || (!w->scaled && scales))
        lir_fail(l, w->scaled ? "block scales without a kind that has them" : "expected .block_scale");
    if (!w->scaled)
        return;
    if (!scales && only[w->kind])
        x->flags |= (uint16_t)(only[w->kind] << LIR_MX_SCALES_SHIFT); /* 1 and 2 are their own logarithm plus 1 */
    else if (only[w->kind] ? scales != only[w->kind] : scales < 2)
        lir_fail(l, "no such number of scales");
    if (x->flags & LIR_MX_UE4M3 && (w->kind != KIND_MXF4NVF4 || lir_mx_scales(x) != 4))
        lir_fail(l, "no such type of scales");
}

static void add_row(struct lir_lower *l, const struct ptx_opnd *o)
{
    if (o->kind == PTX_O_VEC && o->n == 1)
        o = &l->f->opnd[o->first];
    if (o->kind != PTX_O_REG && o->kind != PTX_O_IMM)
        lir_fail(l, "expected a register or a number");
    if (o->kind == PTX_O_REG && lir_reg_class(l, o->reg) != LIR_CLASS_32)
        lir_fail(l, "register of the wrong width");
    const uint32_t row = lir_source(l, o, LIR_CLASS_32);
    *(uint32_t *)lir_push(l, &l->operands, sizeof(uint32_t)) = row;
}

/* Scales of A, {byte, lane}, and those of B. */
static void add_scales(struct lir_lower *l, unsigned scales, const struct ptx_opnd *a, const struct ptx_opnd *place_a,
                       const struct ptx_opnd *b, const struct ptx_opnd *place_b)
{
    if (place_a->kind != PTX_O_VEC || place_a->n != 2 || place_b->kind != PTX_O_VEC || place_b->n != 2)
        lir_fail(l, "expected {byte, thread}");
    const struct ptx_opnd *pa = &l->f->opnd[place_a->first], *pb = &l->f->opnd[place_b->first];
    const struct {
        const struct ptx_opnd *number;
        unsigned end, step;
    } most[] = {{&pa[0], 4, scales}, {&pa[1], 2, 1}, {&pb[0], 4, scales}, {&pb[1], 4, 1}};
    for (unsigned k = 0; k < 4; k++)
        if (most[k].number->kind == PTX_O_IMM &&
            (most[k].number->imm >= most[k].end || most[k].number->imm % most[k].step))
            lir_fail(l, "no such byte or thread of the scales");
    add_row(l, a);
    add_row(l, &pa[0]);
    add_row(l, &pa[1]);
    add_row(l, b);
    add_row(l, &pb[0]);
    add_row(l, &pb[1]);
}

/* Lowers mma and wmma.mma to one record of types, shape and layouts, and a list of the rows of d, a, b and c that
 * every back end reads. wmma names types of d and c only: its a and b are f16. m8n8k4 of f16 is the one form that
 * four quads of lanes compute apart. */
static void lower_product(struct lir_lower *l, const struct ptx_instr *i, struct words *w)
{
    struct lir_matrix *x = &w->x;
    if (w->ntype == 2) { /* wmma of f16: d, c */
        x->d = (uint8_t)w->type[0];
        x->a = x->b = LIR_MX_F16;
        x->c = (uint8_t)w->type[1];
    } else if (w->ntype == 4) {
        x->d = (uint8_t)w->type[0];
        x->a = (uint8_t)w->type[1];
        x->b = (uint8_t)w->type[2];
        x->c = (uint8_t)w->type[3];
    } else {
        lir_fail(l, "matrix types are missing");
    }
    const bool sparse = x->flags & LIR_MX_SPARSE;
    if (w->kind >= KIND_MXF4 && x->a == LIR_MX_E2M1 && x->b == LIR_MX_E2M1)
        x->a = x->b = LIR_MX_E2M1_DENSE;
    need_form(l, x, w->kind, 1u << x->a | 1u << x->b, 1u << x->c | 1u << x->d);
    check_scales(l, w);
    if (w->kind && x->c != x->d)
        lir_fail(l, "expected c and d of one type");
    if (w->kind && sparse && !w->ordered)
        lir_fail(l, "expected .sp::ordered_metadata");
    if (x->a == LIR_MX_B1 && w->xor == !!(x->flags & LIR_MX_AND))
        lir_fail(l, "expected .xor or .and");
    if (x->a == LIR_MX_F16 && !(x->flags & LIR_MX_WMMA) && x->k == 4)
        x->flags |= LIR_MX_QUADS;
    if (!(x->flags & (LIR_MX_WMMA | LIR_MX_QUADS)) && (x->flags & (LIR_MX_COL | LIR_MX_COL_B)) != LIR_MX_COL_B)
        lir_fail(l, "expected .row.col");
    const struct ptx_opnd *more = &i->src[4]; /* what stands behind the fourth source */
    unsigned nmore = i->nsrc > 4;
    if (more->kind == PTX_O_VEC) {
        nmore = more->n;
        more = &l->f->opnd[more->first];
    }
    if (i->ndst != 1 || i->nsrc < 3 || (w->scaled ? nmore != (sparse ? 5u : 3u) : i->nsrc != (sparse ? 5 : 3)))
        lir_fail(l, w->scaled ? "expected four fragments, scales and their selectors"
                    : sparse  ? "expected four fragments, metadata and selector"
                              : "expected four fragments");
    if (sparse) {
        const uint64_t selector = more->imm;
        if (more->kind != PTX_O_IMM || selector >= 4 / lir_mx_sparse(x).words)
            lir_fail(l, "sparsity selector out of range");
        x->flags |= (uint16_t)(selector << LIR_MX_SELECTOR_SHIFT);
    }
    x->first = l->operands.n;
    add_regs(l, &i->dst[0], lir_mx_regs_c(x, x->d), x->d, true);
    add_regs(l, &i->src[0], lir_mx_regs_a(x), x->a, false);
    add_regs(l, &i->src[1], lir_mx_regs_ab(x, x->n, x->b), x->b, false);
    add_regs(l, &i->src[2], lir_mx_regs_c(x, x->c), x->c, false);
    if (sparse)
        add_regs(l, &i->src[3], 1, LIR_MX_S32, false);
    if (w->scaled && sparse)
        add_scales(l, lir_mx_scales(x), &more[1], &more[2], &more[3], &more[4]);
    else if (w->scaled)
        add_scales(l, lir_mx_scales(x), &i->src[3], &more[0], &more[1], &more[2]);
    gather(l);
    lir_emit(l, LIR_MMA)->imm = add_record(l, x);
}

/* The address with its offset in it, as one row. */
static uint32_t whole_address(struct lir_lower *l, struct lir_place *p)
{
    if (!p->imm)
        return p->row;
    enum lir_class c = p->addr32 ? LIR_CLASS_32 : LIR_CLASS_64;
    uint32_t row = lir_temp(l, c), imm = lir_imm(l, c, (uint64_t)(int64_t)p->imm);
    struct lir_insn *sum = lir_emit(l, p->addr32 ? LIR_ADD_I32 : LIR_ADD_I64);
    sum->d = row;
    sum->a = p->row;
    sum->b = imm;
    return row;
}

static uint16_t place_bits(const struct lir_place *p)
{
    return (uint16_t)((p->shared ? LIR_MEM_SHARED : 0) | (p->addr32 ? LIR_MEM_ADDR32 : 0));
}

/* wmma.load d, [p], stride and wmma.store [p], d, stride; the stride may be left out. */
static void lower_transfer(struct lir_lower *l, const struct ptx_instr *i, struct words *w)
{
    struct lir_matrix *x = &w->x;
    unsigned first = w->store ? 1 : 0; /* source before the stride is the fragment */
    if (w->ntype != 1 || x->kind == LIR_MATRIX_MMA || i->nsrc < 1 + first || i->src[0].kind != PTX_O_ADDR ||
        (w->store ? i->ndst != 0 : i->ndst != 1) || w->store > (x->kind == LIR_MATRIX_C))
        lir_fail(l, "matrix access of a form that is not supported");
    bool sum = x->kind == LIR_MATRIX_C;
    uint32_t type = 1u << w->type[0];
    const struct form *f = need_form(l, x, KIND_NONE, sum ? 0 : type, sum ? type : 0);
    unsigned factor = (unsigned)__builtin_ctz(f->factor), any = (unsigned)__builtin_ctz(f->sum);
    x->a = x->b = (uint8_t)(sum ? factor : w->type[0]);
    x->c = x->d = (uint8_t)(sum ? w->type[0] : any);
    bool col = x->flags & LIR_MX_COL, packed = lir_mx[w->type[0]].bits < 8;
    if (packed && col != (x->kind == LIR_MATRIX_B))
        lir_fail(l, "elements of less than a byte lie along k");
    unsigned across = x->kind == LIR_MATRIX_A   ? (col ? x->m : x->k)
                      : x->kind == LIR_MATRIX_B ? (col ? x->k : x->n)
                                                : (col ? x->m : x->n);
    struct lir_place p = lir_resolve(l, &i->src[0], i->space);
    uint32_t stride = i->nsrc > 1 + first ? lir_source(l, &i->src[1 + first], LIR_CLASS_32)
                                          : lir_imm(l, LIR_CLASS_32, across);
    x->first = l->operands.n;
    add_regs(l, w->store ? &i->src[1] : &i->dst[0], lir_mx_regs(x), w->type[0], !w->store);
    gather(l);
    uint32_t address = whole_address(l, &p);
    struct lir_insn *o = lir_emit(l, w->store ? LIR_WMMA_ST : LIR_WMMA_LD);
    o->a = address;
    o->b = stride;
    o->aux = place_bits(&p);
    o->imm = add_record(l, x);
}

/* ldmatrix d, [p]; stmatrix [p], d */
static void lower_rows(struct lir_lower *l, const struct ptx_instr *i, const struct words *w)
{
    bool store = i->op == PTX_OP_STMATRIX;
    const struct ptx_opnd *data = store ? &i->src[1] : &i->dst[0];
    uint32_t row[4] = {0}, first = l->operands.n;
    const bool bytes = w->bytes, big = w->x.m == 16;
    unsigned regs = w->count << (big && !store);
    if (bytes && store          ? !big || w->x.n != 8 || !w->trans || w->spread
        : bytes && w->x.n == 16 ? (big ? !w->trans || w->count == 4 : w->x.m != 8 || w->trans || !w->spread)
                                : w->x.m != 8 || w->x.n != 8 || bytes)
        lir_fail(l, "matrix access of a form that is not supported");
    if (w->x.k || !w->count || w->ntype || i->nsrc != 1u + store || i->ndst != !store || i->src[0].kind != PTX_O_ADDR)
        lir_fail(l, "matrix access of a form that is not supported");
    struct lir_place p = lir_resolve(l, &i->src[0], i->space);
    add_regs(l, data, regs, LIR_MX_F16, !store);
    memcpy(row, (uint32_t *)l->operands.p + first, regs * sizeof *row);
    l->operands.n = first;
    gather(l);
    struct lir_insn *o = lir_emit(l, store ? LIR_STMATRIX : LIR_LDMATRIX);
    o->a = p.row;
    o->imm = p.imm;
    o->d = row[0];
    o->b = row[1];
    o->c = row[2];
    o->e = row[3];
    o->aux = (uint16_t)(place_bits(&p) | (unsigned)__builtin_ctz(regs) | w->spread |
                        (bytes && big ? LIR_LDM_BYTES
                         : w->trans   ? LIR_LDM_TRANS
                                      : 0));
}

/* Products, loads and stores of matrices and transposition; false: another instruction. */
bool lir_lower_matrix(struct lir_lower *l, const struct ptx_instr *i)
{
    struct words w;
    switch (i->op) {
    case PTX_OP_MMA:
    case PTX_OP_WMMA:
        w = read_words(l, i);
        w.x.flags |= i->op == PTX_OP_WMMA ? LIR_MX_WMMA : 0;
        if (i->op == PTX_OP_MMA || w.product)
            lower_product(l, i, &w);
        else
            lower_transfer(l, i, &w);
        return true;
    case PTX_OP_LDMATRIX:
    case PTX_OP_STMATRIX:
        w = read_words(l, i);
        lower_rows(l, i, &w);
        return true;
    case PTX_OP_MOVMATRIX: {
        w = read_words(l, i);
        if (w.x.m != 8 || w.x.n != 8 || !w.trans || i->ndst != 1 || i->nsrc != 1)
            lir_fail(l, "instruction is not supported");
        uint32_t a = lir_source(l, &i->src[0], LIR_CLASS_32), d = lir_dest(l, &i->dst[0]);
        gather(l);
        struct lir_insn *o = lir_emit(l, LIR_MOVMATRIX);
        o->d = d;
        o->a = a;
        return true;
    }
    default: return false;
    }
}
