/* Initialisers of .global and .const variables: bytes plus places where addresses go. */
#include "ptx/front/front.h"

#include <string.h>

struct init {
    struct ptx_lex *l;
    struct ptx_var *v;
    unsigned elem; /* bytes of one scalar */
    uint8_t *bytes;
    uint64_t cap, at, max; /* max: elements' end so far, for unsized arrays */
    uint32_t reloc_cap;
    const char *start; /* of the initialiser's text */
};

/* Rows that are left out are stored as zeros: fine, up to a point. */
enum { MAX_SPARSE = 16 << 20 };

static uint8_t *reserve_bytes(struct init *i, uint64_t end)
{
    struct ptx_lex *l = i->l;
    if (!i->v->unsized && end > i->v->size)
        ptx_fail(l->ctx, l->tok.line, i->v->name, strlen(i->v->name), "initialiser is longer than the variable");
    if (end > MAX_SPARSE && end / 64 > (uint64_t)(l->end - l->p) + (uint64_t)(l->p - i->start))
        ptx_fail(l->ctx, l->tok.line, i->v->name, strlen(i->v->name),
                 "initialiser leaves too much of a large variable out");
    if (end > i->cap) {
        uint64_t cap = end * 2 < 64 ? 64 : end * 2;
        if (!i->v->unsized && cap > i->v->size)
            cap = i->v->size;
        uint8_t *b = ptx_alloc(l->ctx, cap, 1);
        if (i->cap)
            memcpy(b, i->bytes, i->cap);
        i->bytes = b;
        i->cap = cap;
    }
    if (end > i->max)
        i->max = end;
    return i->bytes;
}

static void put(struct init *i, uint64_t bits)
{
    uint8_t *b = reserve_bytes(i, i->at + i->elem);
    memcpy(b + i->at, &bits, i->elem); /* little-endian, as the machines below */
    i->at += i->elem;
}

/* sym, sym+4, generic(sym)+4, mask(sym), 0xFF00(generic(sym)+4) */
static void read_symbol(struct init *i, unsigned byte)
{
    struct ptx_lex *l = i->l;
    struct ptx_var *v = i->v;
    bool generic = false;
    if (ptx_is_word(l, "generic")) {
        ptx_next(l);
        ptx_expect(l, '(', "after generic");
        generic = true;
    }
    struct ptx_tok name = ptx_ident(l, "a symbol");
    if (generic)
        ptx_expect(l, ')', "after generic(symbol");
    int64_t addend = 0;
    if (ptx_is(l, '+') || ptx_is(l, '-')) {
        struct ptx_num n = ptx_const_expr(l); /* starts with its sign */
        if (n.is_float)
            ptx_fail(l->ctx, name.line, name.s, name.len, "float offset of an address");
        addend = (int64_t)n.bits;
    }
    if (i->elem < 4 && !byte)
        ptx_fail(l->ctx, name.line, name.s, name.len,
                 "address in a variable narrower than 32 bits; expected mask(symbol)");
    PTX_PUSH(l->ctx, v->reloc, v->nreloc, i->reloc_cap);
    v->reloc[v->nreloc++] = (struct ptx_reloc){.offset = i->at,
                                               .sym = ptx_strdup(l->ctx, name.s, name.len),
                                               .addend = addend,
                                               .size = (uint8_t)i->elem,
                                               .generic = generic,
                                               .byte = (uint8_t)byte};
    put(i, 0);
}

/* Reads one element of a variable's initialiser: text, a constant, the address of a symbol, or one byte of such an
 * address (`0xff(sym)`, `0xff00(sym)`...), which is how nvcc initialises packed structs with pointers. */
static void read_scalar(struct init *i)
{
    struct ptx_lex *l = i->l;
    if (l->tok.kind == PTX_T_STRING) {
        for (uint32_t k = 0; k < l->tok.len; k++)
            put(i, (uint8_t)l->tok.s[k]);
        ptx_next(l);
        return;
    }
    if (l->tok.kind == PTX_T_IDENT && !ptx_is_word(l, "WARP_SZ")) {
        read_symbol(i, 0);
        return;
    }
    struct ptx_tok t = l->tok;
    struct ptx_num n = ptx_const_expr(l);
    if (ptx_is(l, '(') && !n.is_float) { /* mask: which byte of the address goes here */
        unsigned byte = 0;
        while (byte < 8 && n.bits != (uint64_t)0xff << 8 * byte)
            byte++;
        if (byte == 8)
            ptx_fail(l->ctx, t.line, t.s, t.len, "bad address mask; expected one byte of ones");
        ptx_next(l);
        read_symbol(i, byte + 1);
        ptx_expect(l, ')', "after a masked address");
        return;
    }
    uint64_t bits;
    if (i->v->type == PTX_F16 || i->v->type == PTX_BF16 || !ptx_type_is_float(i->v->type) || n.is_float) {
        if (!ptx_imm_bits(&n, i->v->type, &bits)) {
            unsigned size = ptx_type_size(i->v->type);
            if (n.is_float && size != (n.is_f32 ? 4 : 8) && !ptx_type_is_float(i->v->type))
                ptx_fail(l->ctx, t.line, t.s, t.len, "float constant for a .%s variable", ptx_type_name(i->v->type));
            bits = n.is_f32 ? n.f32 : n.bits;
        }
    } else { /* 1 for a float variable means 1.0 */
        double d = n.is_unsigned ? (double)n.bits : (double)(int64_t)n.bits;
        memcpy(&n.bits, &d, 8);
        n.is_float = true;
        if (!ptx_imm_bits(&n, i->v->type, &bits))
            bits = n.bits;
    }
    put(i, bits);
}

static void read_list(struct init *i, unsigned depth)
{
    struct ptx_lex *l = i->l;
    if (depth > 16)
        ptx_unexpected(l, "at most 16 nested braces");
    ptx_expect(l, '{', "of an initialiser");
    while (!ptx_is(l, '}')) {
        if (ptx_is(l, '{')) {
            /* each inner list fills one row, however short it is */
            uint64_t start = i->at, row = depth < 8 ? i->v->row[depth] : 0;
            read_list(i, depth + 1);
            if (row) {
                i->at = start + row;
                reserve_bytes(i, i->at);
            }
        } else {
            read_scalar(i);
        }
        if (!ptx_accept(l, ','))
            break;
    }
    ptx_expect(l, '}', "after an initialiser");
}

void ptx_read_init(struct ptx_lex *l, struct ptx_var *v)
{
    struct init i = {.l = l, .v = v, .elem = ptx_type_size(v->type), .start = l->p};
    if (!i.elem || i.elem > 8) {
        if (v->type != PTX_SAMPLERREF)
            ptx_unexpected(l, "no initialiser for this type");
    }
    ptx_expect(l, '=', "before an initialiser");
    if (v->type == PTX_TEXREF || v->type == PTX_SAMPLERREF || v->type == PTX_SURFREF) {
        size_t len; /* { addr_mode_0 = wrap, ... }: run-time attributes, set by the host API */
        if (!ptx_is(l, '{'))
            ptx_unexpected(l, "'{'");
        ptx_skip_braces(l, &len);
        return;
    }
    if (ptx_is(l, '{'))
        read_list(&i, 0);
    else
        read_scalar(&i);
    if (v->unsized) {
        uint64_t row = v->row[0] ? v->row[0] : 1;
        v->size = (i.max + row - 1) / row * row;
        v->unsized = false;
    }
    v->init = i.bytes;
    v->init_size = i.max;
}
