/* Declarations of variables and parameters, at module scope and in bodies. */
#include "ptx/front/front.h"

#include <stdio.h>
#include <string.h>

#define MAX_BYTES ((uint64_t)1 << 40) /* of a variable: products of its dimensions stay far from wrapping */
#define MAX_COUNTED 65536             /* variables of one name<n> */

static const struct {
    const char *word;
    uint8_t space;
} spaces[] = {{".reg", PTX_SP_REG},       {".param", PTX_SP_PARAM}, {".global", PTX_SP_GLOBAL},
              {".shared", PTX_SP_SHARED}, {".const", PTX_SP_CONST}, {".local", PTX_SP_LOCAL}};

/* .attribute(.managed, .unified(a, b)) */
static void read_attribute(struct ptx_lex *l, struct ptx_decl *d)
{
    ptx_expect(l, '(', "after .attribute");
    for (int depth = 1; depth;) {
        if (ptx_is(l, '('))
            depth++;
        else if (ptx_is(l, ')'))
            depth--;
        else if (ptx_is_word(l, ".managed"))
            d->is_managed = true;
        else if (l->tok.kind == PTX_T_EOF)
            ptx_unexpected(l, "')' after .attribute");
        ptx_next(l);
    }
}

static uint32_t read_align(struct ptx_lex *l)
{
    struct ptx_tok t = l->tok;
    uint64_t v = ptx_const_int(l, "alignment", 1, 1 << 20);
    if (v & (v - 1))
        ptx_fail(l->ctx, t.line, t.s, t.len, "alignment is not a power of two");
    return (uint32_t)v;
}

/* .ptr .space .align N, behind the type of a kernel parameter */
static void read_ptr(struct ptx_lex *l, struct ptx_decl *d)
{
    d->is_pointer = true;
    for (;;) {
        if (ptx_accept_word(l, ".align"))
            read_align(l);
        else if (!ptx_accept_word(l, ".global") && !ptx_accept_word(l, ".shared") && !ptx_accept_word(l, ".const") &&
                 !ptx_accept_word(l, ".local") && !ptx_accept_word(l, ".generic"))
            return;
    }
}

/* The others are types of instructions only; predicates are in registers, pairs of halves are no parameters. */
static bool may_be_declared(const struct ptx_decl *d)
{
    switch (d->type) {
    case PTX_F16X2: return d->space != PTX_SP_PARAM;
    case PTX_F16:
    case PTX_F32:
    case PTX_F64:
    case PTX_TEXREF:
    case PTX_SAMPLERREF:
    case PTX_SURFREF: return true;
    case PTX_PRED: return d->space == PTX_SP_REG;
    default: return d->type <= PTX_B128;
    }
}

/* Directives in front of a name, in any order. */
void ptx_read_decl(struct ptx_lex *l, struct ptx_decl *d)
{
    bool is_tex = false;
    *d = (struct ptx_decl){.vec = 1, .line = l->tok.line};
    for (; l->tok.kind == PTX_T_DOT; ptx_next(l)) {
        const char *s = l->tok.s + 1;
        size_t len = l->tok.len - 1;
        unsigned type = ptx_type_find(s, len);
        bool known = true;
        if (type)
            d->type = (uint8_t)type;
        else if (ptx_is_word(l, ".extern"))
            d->is_extern = true;
        else if (ptx_is_word(l, ".visible"))
            d->visible = true;
        else if (ptx_is_word(l, ".weak"))
            d->visible = d->weak = true;
        else if (ptx_is_word(l, ".common"))
            d->visible = d->common = true;
        else if (ptx_is_word(l, ".tex")) /* .tex .u32 t: old for .global .texref t */
            is_tex = true;
        else if (len == 2 && s[0] == 'v' && strchr("248", s[1]))
            d->vec = (uint8_t)(s[1] - '0');
        else if (ptx_is_word(l, ".align") || ptx_is_word(l, ".attribute") || ptx_is_word(l, ".ptr")) {
            char which = s[1];
            ptx_next(l);
            if (which == 'l')
                d->align = read_align(l);
            else if (which == 't' && s[0] == 'a')
                read_attribute(l, d);
            else
                read_ptr(l, d);
            if (l->tok.kind != PTX_T_DOT)
                break;
            l->p = l->tok.s; /* the loop's step reads this token again */
            continue;
        } else {
            known = false;
            for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++) {
                if (ptx_is_word(l, spaces[i].word)) {
                    d->space = spaces[i].space;
                    known = true;
                }
            }
        }
        if (!known)
            ptx_unexpected(l, "a state space, type, alignment or name");
    }
    if (!d->type)
        ptx_unexpected(l, "a type");
    if (!may_be_declared(d))
        ptx_unexpected(l, "a type that variables have");
    if (is_tex) {
        d->space = PTX_SP_GLOBAL;
        d->type = PTX_TEXREF;
    }
}

char *ptx_counted_name(struct ptx_ctx *c, const char *s, size_t len, uint32_t k)
{
    char *name = ptx_strdup(c, s, len + 10);
    snprintf(name + len, 11, "%u", k);
    return name;
}

/* A name with its dimensions; `many` is for name<n>, which declares n of them. Sizes are checked at each product, as
 * they come from the text. */
void ptx_read_var(struct ptx_lex *l, const struct ptx_decl *d, struct ptx_var *v, uint32_t *many)
{
    struct ptx_tok name = ptx_ident(l, "a variable name");
    uint64_t elem = (uint64_t)(d->type == PTX_PRED ? 4 : ptx_type_size(d->type)) * d->vec, count = 1;
    *v = (struct ptx_var){.name = ptx_strdup(l->ctx, name.s, name.len),
                          .space = d->space,
                          .type = d->type,
                          .vec = d->vec,
                          .is_extern = d->is_extern,
                          .is_managed = d->is_managed,
                          .is_pointer = d->is_pointer,
                          .visible = d->visible,
                          .line = name.line,
                          .reg = -1};
    v->align = d->align ? d->align : elem ? (uint32_t)elem : 1;
    uint64_t dim[8];
    unsigned ndim = 0;
    if (many)
        *many = 0;
    if (many && ptx_accept(l, '<')) {
        *many = (uint32_t)ptx_const_count(l, "number of variables", 1, MAX_COUNTED);
        ptx_expect(l, '>', "after a number of variables");
    }
    while (ptx_accept(l, '[')) {
        if (ndim == 8)
            ptx_fail(l->ctx, name.line, name.s, name.len, "more than 8 array dimensions");
        if (ptx_is(l, ']') && !ndim)
            v->unsized = true;
        dim[ndim] = v->unsized && !ndim ? 1 : ptx_const_int(l, "array size", 0, MAX_BYTES);
        if (dim[ndim] && count > MAX_BYTES / dim[ndim])
            ptx_fail(l->ctx, name.line, name.s, name.len, "array is too large");
        count *= dim[ndim++];
        ptx_expect(l, ']', "after an array size");
    }
    uint64_t row = elem; /* braces around vector elements count as one dimension more */
    for (unsigned k = ndim; k-- > 0; row *= dim[k])
        v->row[k] = row;
    v->size = v->unsized ? 0 : count * elem;
    if (v->size > MAX_BYTES)
        ptx_fail(l->ctx, name.line, name.s, name.len, "array is too large");
}

/* Parameters and their offsets. Those in registers that are vectors become one a component. */
uint32_t ptx_read_params(struct ptx_lex *l, struct ptx_var **out, uint32_t *total, bool *in_regs)
{
    struct ptx_var *v = NULL;
    uint32_t n = 0, cap = 0;
    uint64_t offset = 0;
    ptx_expect(l, '(', "before parameters");
    while (!ptx_is(l, ')')) {
        struct ptx_decl d;
        PTX_PUSH(l->ctx, v, n, cap);
        ptx_read_decl(l, &d);
        if (d.space != PTX_SP_PARAM && d.space != PTX_SP_REG)
            ptx_fail(l->ctx, d.line, l->tok.s, l->tok.len, "not a .param or .reg parameter");
        ptx_read_var(l, &d, &v[n], NULL);
        if (d.space == PTX_SP_REG && in_regs)
            *in_regs = true;
        if (d.space == PTX_SP_REG && d.vec > 1) {
            struct ptx_var part = v[n];
            part.size /= d.vec;
            part.align = (uint32_t)part.size;
            part.vec = 1;
            for (unsigned k = 0; k < d.vec; k++, n += k < d.vec) {
                PTX_PUSH(l->ctx, v, n, cap);
                v[n] = part;
                v[n].parts = k ? 0 : d.vec;
            }
        }
        if (d.space == PTX_SP_PARAM) {
            offset = (offset + v[n].align - 1) & ~(uint64_t)(v[n].align - 1);
            v[n].offset = offset;
            offset += v[n].size;
        }
        if (offset > 1 << 20)
            ptx_fail(l->ctx, v[n].line, v[n].name, strlen(v[n].name), "parameters pass 1 MiB");
        n++;
        if (!ptx_accept(l, ','))
            break;
    }
    ptx_expect(l, ')', "after parameters");
    if (total)
        *total = (uint32_t)offset;
    *out = v;
    return n;
}
