/* Tier 1 emitter: instructions that tier 0's handlers do. The operands go to rows of a register file as
 * large as the one instruction needs, the handlers run, and the results come from rows. */
#include "ptx/tier1/emit/single.h"

#include "ptx/lir/lower/single.h"

#include <stdlib.h>
#include <string.h>

static int32_t new_reg(struct t1_emit *e, struct t1_single *x, unsigned type, uint32_t home)
{
    uint32_t k = x->f.nreg++;
    if (k == T1_OPERANDS)
        t1_fail(e, "instruction has too many operands");
    unsigned size = ptx_type_size(type);
    x->reg[k] = (struct ptx_reg){.name = "", .type = (uint8_t)type};
    x->row[k] = home ? t1_home_row(home) : x->top;
    x->top += home ? 0 : type == PTX_PRED ? LIR_ROW_ALIGN : size == 8 ? 256 : 128;
    x->dst[k] = x->value[k] = -1;
    if (size > 8)
        t1_fail(e, "128-bit values are not supported");
    return (int32_t)k;
}

static int32_t number(struct t1_emit *e, struct t1_single *x, const struct t1_arg *a)
{
    int32_t r = new_reg(e, x, a->kind == T1_K_64 ? PTX_B64 : PTX_B32, 0);
    x->src[r] = *a;
    return r;
}

/* [variable + offset]: an offset in shared memory if the instruction says .shared, else flat. */
static struct t1_arg place_of(struct t1_emit *e, const struct ptx_opnd *o)
{
    const struct ptx_var *v = ptx_symbol(e->f, o->sym);
    if (!v || v->space != PTX_SP_SHARED)
        return (struct t1_arg){.kind = T1_K_64, .rep = T1_U, .s = {t1_symbol(e, o->sym, o->imm, T1_K_64)}};
    if (strstr(e->in->opcode, ".shared"))
        return (struct t1_arg){.kind = T1_K_32, .rep = T1_U, .s = {t1_symbol(e, o->sym, o->imm, T1_K_32)}};
    const char *at = t1_symbol(e, o->sym, o->imm, T1_K_64);
    return (struct t1_arg){.kind = T1_K_64, .rep = T1_U, .s = {t1_str(e, "((uint64_t)smem + %s)", at)}};
}

/* An operand of the instruction that is lowered alone: registers get numbers of their own, and addresses and special
 * registers, which are known here, become such registers. */
static void convert(struct t1_emit *e, struct t1_single *x, struct ptx_opnd *o, int32_t value, bool dst)
{
    struct t1_arg a;
    switch (o->kind) {
    case PTX_O_REG: {
        unsigned type = e->f->reg[o->reg].type;
        int32_t r = new_reg(e, x, type, x->framed ? e->home_of[o->reg] : 0);
        if (dst) {
            x->dst[r] = value >= 0 && e->value[value].used ? value : -1;
        } else {
            x->src[r] = t1_source(e, o, value, T1_K_NONE);
            x->value[r] = value;
        }
        o->reg = r;
        break;
    }
    case PTX_O_ADDR:
        if (o->sym >= 0) {
            a = place_of(e, o);
            o->imm = 0;
            o->sym = -1;
            value = -1;
        } else if (o->reg >= 0) {
            a = t1_value_arg(e, value, e->block);
        } else {
            break;
        }
        o->reg = number(e, x, &a);
        x->value[o->reg] = value;
        break;
    case PTX_O_SREG:
    case PTX_O_SYM:
        a = t1_source(e, o, value, T1_K_NONE);
        if (a.kind == T1_K_PRED)
            t1_fail(e, "special register of a kind that is not supported here");
        *o = (struct ptx_opnd){.kind = PTX_O_REG, .reg = number(e, x, &a), .sym = -1};
        break;
    case PTX_O_VEC: {
        uint32_t from = o->first, to = x->f.nopnd;
        if (to + o->n > T1_OPERANDS)
            t1_fail(e, "instruction has too many operands");
        x->f.nopnd += o->n;
        o->first = to;
        for (unsigned k = 0; k < o->n; k++) {
            x->list[to + k] = e->f->opnd[from + k];
            convert(e, x, &x->list[to + k], e->f->opnd_value[from + k], dst);
        }
        break;
    }
    default: break;
    }
}

struct t1_arg t1_single_arg(struct t1_emit *e, const struct t1_single *x, uint32_t row)
{
    const struct lir_row *r = LIR_AT(x->image, rows, struct lir_row);
    for (uint32_t k = 0; k < x->f.nreg; k++)
        if (x->row[k] == row)
            return x->src[k];
    for (uint32_t k = 0; k < x->image->rows.count; k++)
        if (r[k].offset == row)
            return t1_const(e, r[k].wide ? T1_K_64 : T1_K_32, r[k].value);
    return (struct t1_arg){.kind = T1_K_NONE};
}

int32_t t1_single_value(const struct t1_single *x, uint32_t row, bool dst)
{
    for (uint32_t k = 0; k < x->f.nreg; k++)
        if (x->row[k] == row)
            return dst ? x->dst[k] : x->value[k];
    return -1;
}

static const char *row_at(struct t1_emit *e, uint32_t offset) { return t1_str(e, "(r + %u)", offset); }

static void put_source(struct t1_emit *e, const struct t1_single *x, uint32_t k)
{
    const struct t1_arg *a = &x->src[k];
    if (x->framed && x->value[k] >= 0 && e->value[x->value[k]].home)
        return; /* it is there */
    bool wide = a->kind == T1_K_64;
    const char *row = row_at(e, x->row[k]);
    if (a->kind == T1_K_PRED) {
        t1_put(e, "*(t1_u32 *)%s = %s;\n", row, t1_mask(e, a));
        return;
    }
    for (unsigned p = 0; p < (wide ? 2 : 1) * e->np; p++)
        t1_put(e, "t1_spill_%s((void *)%s, %u, %s);\n", wide ? "u64" : "u32", row, p, t1_piece(e, a, p));
}

static void get_result(struct t1_emit *e, const struct t1_single *x, uint32_t k)
{
    int32_t v = x->dst[k];
    const struct t1_value *d = &e->value[v];
    if (d->home)
        return;
    const char *row = row_at(e, x->row[k]), *u = d->kind == T1_K_64 ? "u64" : "u32";
    if (d->kind == T1_K_PRED && d->rep == T1_V) {
        t1_def_mask(e, v, t1_str(e, "*(t1_u32 *)%s", row));
    } else if (d->kind == T1_K_PRED) {
        t1_def_scalar(e, v, 0, t1_str(e, "(uint32_t)((*(t1_u32 *)%s & %s) != 0)", row, e->mask));
    } else if (d->rep == T1_V) {
        for (unsigned p = 0; p < (d->kind == T1_K_64 ? 2 : 1) * e->np; p++)
            t1_def_piece(e, v, p, t1_str(e, "t1_fill_%s((void *)%s, %u)", u, row, p));
    } else if (d->rep == T1_U && !e->f->value[v].stride) {
        t1_def_scalar(e, v, 0, t1_str(e, "((t1_%s *)%s)[__builtin_ctz(%s | 0x80000000u)]", u, row, e->mask));
    } else {
        t1_fail(e, "grouped result of a handler");
    }
    t1_def_done(e, v);
}

/* The rows of numbers, and the image itself as words. */
static void put_image(struct t1_emit *e, const struct lir_image *image)
{
    const struct lir_row *row = (const void *)((const char *)image + image->rows.offset);
    const uint64_t *word = (const void *)image;
    t1_put(e, "static const uint64_t image[] = {");
    for (uint64_t k = 0; k < image->size / 8; k++)
        t1_put(e, "%s0x%llxu", k ? "," : "", (unsigned long long)word[k]);
    t1_put(e, "};\n");
    for (uint32_t k = 0; k < image->rows.count; k++)
        for (unsigned p = 0; p < (row[k].wide ? 2 : 1) * e->np; p++)
            t1_put(e,
                   row[k].wide ? "t1_spill_u64((void *)(r + %u), %u, t1_splat_u64(0x%llxu));\n"
                               : "t1_spill_u32((void *)(r + %u), %u, t1_splat_u32(0x%llxu));\n",
                   row[k].offset, p, (unsigned long long)row[k].value);
}

/* An instruction that tier 1 has no text for: it is lowered alone to an image of a few operations, and the emitted
 * code puts its sources into rows, has the interpreter run that image, and reads the rows back. */
void t1_escape(struct t1_emit *e)
{
    struct t1_single *x = t1_alloc(e, 1, sizeof *x);
    struct ptx_instr in = *e->in;
    struct ptx_diag diag;
    void *image;
    size_t size;
    uint32_t room;
    t1_race_refuse(e, "instructions of the interpreter");
    x->f = (struct ptx_func){.name = e->f->name,
                             .line = e->f->line,
                             .module = e->f->module,
                             .is_entry = true,
                             .reg = x->reg,
                             .opnd = x->list};
    x->framed = e->homes && in.op == PTX_OP_WGMMA;
    x->top = x->framed ? t1_home_row(e->homes + 1) : LIR_ROW_MAX;
    in.guard = -1;
    t1_put(e, "{\n");
    for (unsigned d = 0; d < in.ndst; d++)
        convert(e, x, &in.dst[d], e->f->instr_dst[e->at][d], true);
    for (unsigned s = 0; s < in.nsrc; s++)
        convert(e, x, &in.src[s], e->f->instr_src[e->at][s], false);
    if (lir_lower_single(e->module, &x->f, &in, x->row, x->top, &image, &size, &room, &diag))
        t1_fail(e, "%s", diag.msg);
    const struct lir_image *head = image;
    if (!head->code.count) { /* nothing to do here */
        free(image);
        t1_put(e, "}\n");
        return;
    }
    char *copy = t1_alloc(e, size, 1); /* t1_put may not come back */
    memcpy(copy, image, size);
    free(image);
    x->image = (const struct lir_image *)(void *)copy;
    if (t1_matrix(e, x) || t1_copy_async(e, x)) {
        t1_put(e, "}\n");
        return;
    }
    t1_watch_escape(e, x->image);
    if (x->framed) {
        e->frame = room > e->frame ? room : e->frame;
        t1_put(e, "uint8_t *const r = (uint8_t *)frame_;\n");
    } else {
        t1_put(e, "uint8_t r[%u] __attribute__((aligned(64)));\n", room);
    }
    put_image(e, x->image);
    for (uint32_t k = 0; k < x->f.nreg; k++)
        if (x->src[k].kind != T1_K_NONE)
            put_source(e, x, k);
    t1_put(e, "if (%s) {\nt1_upper_clean();\nb->services->exec(b, image, r, warp, %s);\n}\n", e->mask, e->mask);
    for (uint32_t k = 0; k < x->f.nreg; k++)
        if (x->dst[k] >= 0)
            get_result(e, x, k);
    t1_put(e, "}\n");
    e->deep = true;
}
