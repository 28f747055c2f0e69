/* Symbols and instructions as text, for messages and dumps. */
#include "ptx/front/front.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct ptx_var *ptx_symbol(const struct ptx_func *f, int32_t sym)
{
    uint32_t i = (uint32_t)PTX_SYM_INDEX(sym);
    if (sym < 0)
        return NULL;
    switch (PTX_SYM_BAND(sym)) {
    case 0: return i < f->module->nvar ? &f->module->var[i] : NULL;
    case PTX_BAND_LOCAL: return i < f->nlocal ? &f->local[i] : NULL;
    case PTX_BAND_PARAM:
        if (i < f->nparam)
            return &f->param[i];
        return i - f->nparam < f->nret ? &f->ret[i - f->nparam] : NULL;
    default: return NULL;
    }
}

void ptx_diag_text(const struct ptx_diag *d, char *to, size_t room)
{
    snprintf(to, room, "PTX line %u: %s%s%s", d->line, d->what, d->what[0] ? ": " : "", d->msg);
}

static const char *symbol_name(const struct ptx_func *f, int32_t sym)
{
    uint32_t i = (uint32_t)PTX_SYM_INDEX(sym);
    const struct ptx_var *v = ptx_symbol(f, sym);
    if (v)
        return v->name;
    if (PTX_SYM_BAND(sym) == PTX_BAND_FUNC && i < f->module->nfunc)
        return f->module->func[i].name;
    if (PTX_SYM_BAND(sym) == PTX_BAND_PROTO && i < f->nproto)
        return f->proto[i].name;
    return "?";
}

struct out {
    char *buf;
    size_t size, at;
};

static void __attribute__((format(printf, 2, 3))) put(struct out *o, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    size_t left = o->size - o->at;
    int n = vsnprintf(o->buf + o->at, left, fmt, ap);
    va_end(ap);
    if (n > 0)
        o->at += (size_t)n < left ? (size_t)n : left - 1;
}

/* The same of a text that is there: instructions of a module are written by the hundred thousand. */
static void put_text(struct out *o, const char *text)
{
    const size_t left = o->size - o->at - 1, n = strlen(text);
    memcpy(o->buf + o->at, text, n < left ? n : left);
    o->at += n < left ? n : left;
    o->buf[o->at] = 0;
}

static void put_list(struct out *o, const struct ptx_func *f, const struct ptx_instr *in, const struct ptx_opnd *v,
                     const char *brackets);

/* Writes an operand as PTX again. Constants of float operations are written as bits, so that what is read back is
 * the same value. */
static void put_opnd(struct out *o, const struct ptx_func *f, const struct ptx_instr *in, const struct ptx_opnd *v)
{
    switch (v->kind) {
    case PTX_O_REG:
        put_text(o, !v->neg ? "" : f->reg[v->reg].type == PTX_PRED ? "!" : "-");
        put_text(o, f->reg[v->reg].name);
        if (v->sel)
            put(o, ".%c%0*o", v->sel & PTX_SEL_BYTES ? 'b' : 'h', (int)PTX_SEL_COUNT(v->sel), v->sel & PTX_SEL_DIGITS);
        break;
    case PTX_O_IMM:
        if (ptx_type_is_float(in->type[0]) && v->imm > 255)
            put(o, ptx_type_size(in->type[0]) == 8 ? "0d%016llX" : "0f%08llX", (unsigned long long)v->imm);
        else if ((int64_t)v->imm < 0)
            put(o, "%lld", (long long)v->imm);
        else
            put(o, "%llu", (unsigned long long)v->imm);
        break;
    case PTX_O_SREG: put_text(o, ptx_sreg_name((unsigned)v->reg)); break;
    case PTX_O_SYM:
        if (in->op == PTX_OP_BRX)
            put_text(o, f->btab[PTX_SYM_INDEX(v->sym)].name);
        else
            put_text(o, symbol_name(f, v->sym));
        if (v->imm)
            put(o, "+%lld", (long long)v->imm);
        break;
    case PTX_O_ADDR:
        if (v->reg >= 0 || v->sym >= 0) {
            put_text(o, "[");
            put_text(o, v->reg >= 0 ? f->reg[v->reg].name : symbol_name(f, v->sym));
            if (v->imm)
                put(o, "%+lld", (long long)v->imm);
            put_text(o, "]");
        } else {
            put(o, "[%llu]", (unsigned long long)v->imm);
        }
        break;
    case PTX_O_VEC: put_list(o, f, in, v, "{}"); break;
    case PTX_O_BLOCK:
        if (f->block)
            put(o, "B%d", (int)v->reg);
        else
            put_text(o, f->label_name[v->reg]);
        break;
    case PTX_O_SINK: put_text(o, "_"); break;
    default: break;
    }
}

static void put_list(struct out *o, const struct ptx_func *f, const struct ptx_instr *in, const struct ptx_opnd *v,
                     const char *brackets)
{
    put(o, "%c", brackets[0]);
    for (unsigned i = 0; i < v->n; i++) {
        put_text(o, i ? ", " : "");
        put_opnd(o, f, in, &f->opnd[v->first + i]);
    }
    put(o, "%c", brackets[1]);
}

static void put_call(struct out *o, const struct ptx_func *f, const struct ptx_instr *in)
{
    put_text(o, " ");
    if (in->dst[0].kind == PTX_O_VEC) {
        put_list(o, f, in, &in->dst[0], "()");
        put_text(o, ", ");
    }
    put_opnd(o, f, in, &in->src[0]);
    if (in->src[1].kind == PTX_O_VEC) {
        put_text(o, ", ");
        put_list(o, f, in, &in->src[1], "()");
    }
    if (in->src[2].kind == PTX_O_SYM) {
        put_text(o, ", ");
        put_opnd(o, f, in, &in->src[2]);
    }
}

char *ptx_instr_text(const struct ptx_func *f, const struct ptx_instr *in, char *buf, size_t size)
{
    struct out o = {buf, size, 0};
    if (!size)
        return buf;
    buf[0] = 0;
    if (in->guard >= 0)
        put(&o, "@%s%s ", in->guard_neg ? "!" : "", f->reg[in->guard].name);
    put_text(&o, in->opcode ? in->opcode : ptx_op_name(in->op));
    if (in->op == PTX_OP_CALL) {
        put_call(&o, f, in);
        return buf;
    }
    for (unsigned i = 0; i < in->ndst; i++) {
        put_text(&o, i ? "|" : " ");
        put_opnd(&o, f, in, &in->dst[i]);
    }
    bool comma = in->ndst;
    for (unsigned i = 0; i < in->nsrc; i++) {
        if (in->src[i].kind == PTX_O_NONE)
            continue;
        put_text(&o, comma ? ", " : " ");
        put_opnd(&o, f, in, &in->src[i]);
        comma = true;
    }
    return buf;
}
