/* Lowering: multimem, each as one LIR_TILE. Which operations go with which types, vectors and orders is what ptxas 13.0
 * takes; the ISA's tables say the same, but for red.max.f64, which only its examples have. */
#include "ptx/lir/lower/tile.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t type, pack; /* of it lie in one register */
    bool bits, sum, order;
} types[] = {{"b32", LIR_MM_U32, 1, true, false, false},    {"b64", LIR_MM_U64, 1, true, false, false},
             {"u32", LIR_MM_U32, 1, false, true, true},     {"u64", LIR_MM_U64, 1, false, true, true},
             {"s32", LIR_MM_S32, 1, false, true, true},     {"s64", LIR_MM_S64, 1, false, false, true},
             {"f32", LIR_MM_F32, 1, false, true, false},    {"f64", LIR_MM_F64, 1, false, true, false},
             {"f16", LIR_MM_F16, 1, false, true, true},     {"f16x2", LIR_MM_F16, 2, false, true, true},
             {"bf16", LIR_MM_BF16, 1, false, true, true},   {"bf16x2", LIR_MM_BF16, 2, false, true, true},
             {"e4m3", LIR_MM_E4M3, 1, false, true, true},   {"e4m3x2", LIR_MM_E4M3, 2, false, true, true},
             {"e4m3x4", LIR_MM_E4M3, 4, false, true, true}, {"e5m2", LIR_MM_E5M2, 1, false, true, true},
             {"e5m2x2", LIR_MM_E5M2, 2, false, true, true}, {"e5m2x4", LIR_MM_E5M2, 4, false, true, true}};

static const struct {
    const char *name;
    uint8_t sub;
} updates[] = {{"add", PTX_SUB_ADD}, {"min", PTX_SUB_MIN}, {"max", PTX_SUB_MAX}, {"and", PTX_SUB_AND},
               {"or", PTX_SUB_OR},   {"xor", PTX_SUB_XOR}, {"inc", PTX_SUB_INC}, {"dec", PTX_SUB_DEC}};

struct words {                    /* of the opcode, behind what it does */
    unsigned type, sub, acc, vec; /* type: place in the table; acc: bits of sums */
    bool typed, order, acquires, releases, weak, scope;
};

static bool is_word(const char *p, size_t n, const char *word) { return strlen(word) == n && !memcmp(p, word, n); }

static bool read_word(struct words *x, const char *p, size_t n)
{
    static const char *const scopes[] = {"cta", "cluster", "gpu", "sys"};
    for (unsigned k = 0; k < sizeof types / sizeof *types; k++)
        if (is_word(p, n, types[k].name)) {
            x->type = k;
            return !x->typed && (x->typed = true);
        }
    for (unsigned k = 0; k < sizeof updates / sizeof *updates; k++)
        if (is_word(p, n, updates[k].name)) {
            bool first = !x->sub;
            x->sub = updates[k].sub;
            return first;
        }
    for (unsigned k = 0; k < sizeof scopes / sizeof *scopes; k++)
        if (is_word(p, n, scopes[k]))
            return !x->scope && (x->scope = true);
    if (n == 2 && p[0] == 'v' && (p[1] == '2' || p[1] == '4' || p[1] == '8') && x->vec == 1)
        return (x->vec = (unsigned)(p[1] - '0')) != 0;
    if (is_word(p, n, "acc::f32") || is_word(p, n, "acc::f16"))
        return !x->acc && (x->acc = p[6] == '3' ? 32 : 16);
    if (is_word(p, n, "relaxed"))
        return !x->order && (x->order = true);
    if (is_word(p, n, "acquire"))
        return !x->order && (x->order = x->acquires = true);
    if (is_word(p, n, "release"))
        return !x->order && (x->order = x->releases = true);
    if (is_word(p, n, "weak"))
        return !x->weak && (x->weak = true);
    return is_word(p, n, "global");
}

static struct words read_words(struct lir_lower *l, const char *p)
{
    struct words x = {.vec = 1};
    while (*p == '.') {
        const char *word = ++p;
        p += strcspn(p, ".");
        if (!read_word(&x, word, (size_t)(p - word)))
            lir_refuse(l, "multimem: modifier .%.*s does not go there", (int)(p - word), word);
    }
    if (!x.typed)
        lir_refuse(l, "multimem: expected a type");
    if (x.order != x.scope || (x.order && x.weak))
        lir_refuse(l, "multimem: an order needs a scope, a scope an order, and .weak has neither");
    return x;
}

static unsigned bits_of(unsigned type)
{
    return type <= LIR_MM_LAST_8 ? 8 : type <= LIR_MM_LAST_16 ? 16 : type <= LIR_MM_LAST_32 ? 32 : 64;
}

static void check_words(struct lir_lower *l, const struct words *x, unsigned kind)
{
    const unsigned type = types[x->type].type, bits = bits_of(type) * types[x->type].pack;
    const bool small = type <= LIR_MM_LAST_16, floating = small || type == LIR_MM_F32 || type == LIR_MM_F64;
    const bool combines = kind != LIR_MM_STORE;
    if (combines != (x->sub != 0) || (x->acc && (kind != LIR_MM_LOAD || x->sub != PTX_SUB_ADD)))
        lir_refuse(l, "multimem: operation and accumulation do not fit");
    if (x->acc && (!small || x->acc != (bits_of(type) == 8 ? 16u : 32u)))
        lir_refuse(l, "multimem: no such accumulation of this type");
    if ((x->acquires && kind != LIR_MM_LOAD) || (x->releases && kind == LIR_MM_LOAD) ||
        (x->weak && kind == LIR_MM_REDUCE))
        lir_refuse(l, "multimem: no such order");
    switch (x->sub) {
    case 0: break;
    case PTX_SUB_ADD:
        if (!types[x->type].sum || (kind == LIR_MM_REDUCE && bits_of(type) == 8))
            lir_refuse(l, "multimem: no sums of this type");
        break;
    case PTX_SUB_MIN:
    case PTX_SUB_MAX:
        if (!types[x->type].order || (kind == LIR_MM_REDUCE && small))
            lir_refuse(l, "multimem: no .min and .max of this type");
        break;
    case PTX_SUB_AND:
    case PTX_SUB_OR:
    case PTX_SUB_XOR:
        if (!types[x->type].bits)
            lir_refuse(l, "multimem: no such operation of this type");
        break;
    default: lir_refuse(l, "multimem: no such operation");
    }
    const unsigned all = bits * x->vec;
    if ((x->vec > 1 && (!floating || type == LIR_MM_F64)) || (all != 32 && all != 64 && all != 128))
        lir_refuse(l, "multimem: no such vector of this type");
}

static void put_values(struct lir_tile_maker *t, const struct ptx_opnd *o, const struct words *x, bool dst)
{
    struct lir_lower *l = t->l;
    const struct ptx_opnd *list = o->kind == PTX_O_VEC ? &l->f->opnd[o->first] : o;
    const enum lir_class c = bits_of(types[x->type].type) == 64 ? LIR_CLASS_64 : LIR_CLASS_32;
    if ((o->kind == PTX_O_VEC ? o->n : 1u) != x->vec || (o->kind == PTX_O_VEC) != (x->vec > 1))
        lir_refuse(l, "multimem: expected %u elements", x->vec);
    for (unsigned k = 0; k < x->vec; k++) {
        const bool nothing = dst && list[k].kind == PTX_O_NONE; /* _ */
        if (dst && !nothing && list[k].kind != PTX_O_REG)
            lir_refuse(l, "multimem: expected a register");
        if (nothing)
            lir_tile_row(t, LIR_SINK);
        else if (dst && lir_reg_class(l, list[k].reg) != c)
            lir_refuse(l, "multimem: a register is of another width");
        else if (dst)
            lir_tile_row(t, lir_dest(l, &list[k]));
        else
            lir_tile_value(t, &list[k], c);
    }
}

/* multimem.cp.async.bulk [to], [from], size{, mask} and multimem.cp.reduce.async.bulk; plain: to memory as it is. */
static void lower_bulk(struct lir_lower *l, const struct ptx_instr *i, bool plain)
{
    static const struct {
        const char *name;
        uint8_t type;
    } of[] = {{"f16", PTX_F16}, {"bf16", PTX_BF16}, {"b32", PTX_B32}, {"u32", PTX_U32}, {"s32", PTX_S32},
              {"b64", PTX_B64}, {"u64", PTX_U64},   {"s64", PTX_S64}, {"f32", PTX_F32}, {"f64", PTX_F64}};
    struct lir_tile_maker t;
    const bool reduce = lir_has(i, "reduce"), masked = lir_has(i, "cp_mask");
    lir_tile_begin(l, i, &t, LIR_TILE_MULTIMEM);
    if (!lir_has(i, "bulk_group") || !lir_has(i, "shared::cta") || i->ndst || (reduce && masked))
        lir_refuse(l, "no such copy to a multimem address");
    lir_tile_address(&t, lir_tile_next(&t), PTX_SP_GLOBAL, LIR_TILE_A32);
    lir_tile_address(&t, lir_tile_next(&t), PTX_SP_SHARED, LIR_TILE_B32);
    lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_32);
    if (lir_has(i, "L2"))
        (void)lir_tile_next(&t); /* a cache policy */
    if (masked)
        lir_tile_value(&t, lir_tile_next(&t), LIR_CLASS_32);
    else
        lir_tile_row(&t, LIR_SINK);
    t.x.p[1] = LIR_MM_BULK;
    t.x.p[4] = masked;
    t.x.p[5] = plain;
    for (unsigned k = 0; reduce && k < sizeof updates / sizeof *updates; k++)
        t.x.p[2] = lir_has(i, updates[k].name) ? updates[k].sub : t.x.p[2];
    for (unsigned k = 0; reduce && k < sizeof of / sizeof *of; k++)
        t.x.p[3] = lir_has(i, of[k].name) ? of[k].type : t.x.p[3];
    if (reduce && (!t.x.p[2] || !t.x.p[3] || !lir_atom_known(t.x.p[2], t.x.p[3])))
        lir_refuse(l, "reduction of a form that is not supported");
    lir_tile_end(&t, LIR_TILE, false);
}

void lir_lower_masked(struct lir_lower *l, const struct ptx_instr *i) { lower_bulk(l, i, true); }

bool lir_lower_multimem(struct lir_lower *l, const struct ptx_instr *i)
{
    static const struct {
        const char *name;
        uint8_t kind;
    } kinds[] = {{"multimem.ld_reduce", LIR_MM_LOAD}, {"multimem.st", LIR_MM_STORE}, {"multimem.red", LIR_MM_REDUCE}};
    struct lir_tile_maker t;
    if (i->op != PTX_OP_MULTIMEM)
        return false;
    if (lir_has(i, "cp")) {
        lower_bulk(l, i, false);
        return true;
    }
    for (unsigned k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const size_t n = strlen(kinds[k].name);
        if (strncmp(i->opcode, kinds[k].name, n) || i->opcode[n] != '.')
            continue;
        const struct words x = read_words(l, i->opcode + n);
        const bool load = kinds[k].kind == LIR_MM_LOAD;
        check_words(l, &x, kinds[k].kind);
        lir_tile_begin(l, i, &t, LIR_TILE_MULTIMEM);
        if (i->ndst != load)
            lir_refuse(l, "multimem: a register or an address is missing");
        lir_tile_address(&t, lir_tile_next(&t), PTX_SP_GLOBAL, LIR_TILE_A32);
        put_values(&t, load ? &i->dst[0] : lir_tile_next(&t), &x, load);
        t.x.p[1] = kinds[k].kind;
        t.x.p[2] = x.sub;
        t.x.p[3] = types[x.type].type | (unsigned)types[x.type].pack << 8 | (x.acc ? LIR_MM_WIDE : 0);
        t.x.p[4] = x.vec;
        lir_tile_end(&t, LIR_TILE, false);
        return true;
    }
    return false;
}
