/* Operands of calls: arguments, results, the function or its prototype. */
#include "ptx/front/front.h"

#include <string.h>

/* Arguments or results. A vector is its elements, as it is where a function declares it (ptx_read_params). */
static void read_call_list(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o)
{
    struct ptx_tok t = p->lex.tok;
    struct ptx_opnd flat[255];
    uint32_t n = 0;
    ptx_next(&p->lex);
    ptx_read_list(p, in, PTX_NONE, 0, ')', o);
    for (unsigned i = 0; i < o->n; i++) {
        const struct ptx_opnd *e = &p->f->opnd[o->first + i];
        const unsigned parts = e->kind == PTX_O_VEC ? e->n : 1;
        if (n + parts > sizeof flat / sizeof *flat)
            ptx_bad_operand(p, &t, in, "more than 255 operands in a list");
        memcpy(&flat[n], e->kind == PTX_O_VEC ? &p->f->opnd[e->first] : e, parts * sizeof *e);
        n += parts;
    }
    if (n != o->n)
        ptx_make_vec(p, o, flat, n);
    for (unsigned i = 0; i < o->n; i++) {
        unsigned kind = p->f->opnd[o->first + i].kind;
        if (kind != PTX_O_REG && kind != PTX_O_SYM && kind != PTX_O_IMM && kind != PTX_O_SINK)
            ptx_bad_operand(p, &t, in, "argument of the wrong kind");
    }
}

/* call (ret), callee, (arguments), prototype; everything but the callee may be missing. */
void ptx_read_call(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_lex *l = &p->lex;
    for (unsigned i = 0; i < 3; i++)
        in->src[i] = (struct ptx_opnd){.reg = -1, .sym = -1};
    in->dst[0] = in->src[0];
    in->ndst = 1;
    in->nsrc = 3;
    if (ptx_is(l, '(')) {
        read_call_list(p, in, &in->dst[0]);
        if (!ptx_accept(l, ','))
            ptx_bad_operand(p, &l->tok, in, "expected ',' and the function");
    }
    struct ptx_tok t = l->tok;
    ptx_read_any(p, in, PTX_B64, 0, &in->src[0]);
    bool direct = in->src[0].kind == PTX_O_SYM && PTX_SYM_BAND(in->src[0].sym) == PTX_BAND_FUNC;
    if (!direct && in->src[0].kind != PTX_O_REG)
        ptx_bad_operand(p, &t, in, "not a function or a register");
    if (ptx_accept(l, ',')) {
        if (ptx_is(l, '('))
            read_call_list(p, in, &in->src[1]);
        if (in->src[1].kind == PTX_O_NONE || ptx_accept(l, ',')) {
            struct ptx_tok name = ptx_ident(l, "a prototype");
            const struct ptx_sym *e = ptx_sym_find(&p->names, name.s, name.len);
            if (!e || (e->kind != PTX_K_PROTO && e->kind != PTX_K_TARGETS))
                ptx_bad_operand(p, &name, in, "not the label of a .callprototype or .calltargets");
            in->src[2].kind = PTX_O_SYM;
            in->src[2].sym = e->kind == PTX_K_PROTO ? PTX_SYM_PROTO(e->id) : e->id;
        }
    }
    if (!direct && in->src[2].kind == PTX_O_NONE)
        ptx_bad_operand(p, &t, in, "indirect call without a prototype");
    if (direct) {
        const struct ptx_func *callee = &p->f->module->func[PTX_SYM_INDEX(in->src[0].sym)];
        if (in->src[1].n != callee->nparam || in->dst[0].n != callee->nret)
            ptx_bad_operand(p, &t, in, "number of arguments or results differs from the function's");
    }
    if (!ptx_is(l, ';'))
        ptx_bad_operand(p, &l->tok, in, "expected ';'");
}
