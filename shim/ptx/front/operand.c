/* Operands as they are written: registers, literals, symbols, addresses, lists. */
#include "ptx/front/front.h"

#include <string.h>

enum { MAX_VEC = 255, MAX_NESTED = 4 }; /* components of {...}, a byte counts them; lists in lists */

void ptx_bad_operand(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in, const char *why)
{
    if (t->kind == PTX_T_EOF)
        ptx_fail(p->ctx, t->line, in->opcode, strlen(in->opcode), "%s: %s", in->opcode, why);
    ptx_fail(p->ctx, t->line, t->s, t->len, "%s: %s", in->opcode, why);
}

/* ---- names ----------------------------------------------------------------------------------- */

int32_t ptx_new_reg(struct ptx_parser *p, const char *s, size_t len, unsigned type)
{
    struct ptx_func *f = p->f;
    PTX_PUSH(p->ctx, f->reg, f->nreg, p->reg_cap);
    f->reg[f->nreg] = (struct ptx_reg){.name = ptx_strdup(p->ctx, s, len), .type = (uint8_t)type};
    return (int32_t)f->nreg++;
}

/* Innermost range of this name that has the number; an inner %r<3> hides only %r0, %r1 and %r2. */
static struct ptx_sym *range_with(struct ptx_parser *p, const char *s, size_t len, uint32_t number)
{
    struct ptx_sym *e = ptx_sym_find_range(&p->names, s, len);
    while (e && number >= e->count)
        e = ptx_sym_hidden(e);
    return e;
}

/* A register of a range (%r<100>): the digits at the end are its number. "%r10" may also be number
 * 0 of %r1<n>, so that shorter numbers are tried too. */
static int32_t range_reg(struct ptx_parser *p, const char *s, size_t len, uint32_t *scope)
{
    size_t head = len;
    while (head > 1 && s[head - 1] >= '0' && s[head - 1] <= '9' && len - head < 9)
        head--;
    for (; head < len; head++) {
        uint32_t n = 0;
        for (size_t i = head; i < len; i++)
            n = n * 10 + (uint32_t)(s[i] - '0');
        struct ptx_sym *e = range_with(p, s, head, n);
        if (!e)
            continue;
        *scope = e->scope;
        if (!e->map[n])
            e->map[n] = ptx_new_reg(p, s, len, (unsigned)e->id) + 1;
        return e->map[n] - 1;
    }
    return -1;
}

int32_t ptx_find_reg(struct ptx_parser *p, const char *s, size_t len)
{
    uint32_t scope = 0;
    int32_t r = -1;
    if (len && s[len - 1] >= '0' && s[len - 1] <= '9') {
        r = range_reg(p, s, len, &scope);
        if (r >= 0 && !p->digit_names)
            return r;
    }
    struct ptx_sym *e = ptx_sym_find(&p->names, s, len);
    return e && e->kind == PTX_K_REG && (r < 0 || e->scope > scope) ? e->id : r;
}

/* ---- operands as written --------------------------------------------------------------------- */

uint32_t ptx_add_opnds(struct ptx_parser *p, const struct ptx_opnd *o, uint32_t n)
{
    struct ptx_func *f = p->f;
    uint32_t first = f->nopnd;
    for (uint32_t i = 0; i < n; i++) {
        PTX_PUSH(p->ctx, f->opnd, f->nopnd, p->opnd_cap);
        f->opnd[f->nopnd++] = o[i];
    }
    return first;
}

void ptx_make_vec(struct ptx_parser *p, struct ptx_opnd *o, const struct ptx_opnd *items, uint32_t n)
{
    uint32_t first = ptx_add_opnds(p, items, n);
    *o = (struct ptx_opnd){.kind = PTX_O_VEC, .n = (uint8_t)n, .reg = -1, .sym = -1, .first = first};
}

static void read_imm(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, struct ptx_opnd *o)
{
    struct ptx_tok t = p->lex.tok;
    struct ptx_num n = ptx_const_expr(&p->lex);
    o->kind = PTX_O_IMM;
    o->is_real = n.is_float;
    if (!ptx_imm_bits(&n, type ? type : n.is_f32 ? PTX_F32 : n.is_float ? PTX_F64 : PTX_B64, &o->imm))
        ptx_fail(p->ctx, t.line, t.s, t.len, "%s: literal does not fit an operand of type .%s", in->opcode,
                 ptx_type_name(type));
}

/* .x .y .z .w or .r .g .b .a; -1 = none of them */
static int component(const char *s, size_t len)
{
    const char *at = len == 2 && s[0] == '.' ? strchr("xyzwrgba", s[1]) : NULL;
    return at && s[1] ? (int)(at - "xyzwrgba") % 4 : -1;
}

/* %tid.x and %tid, which stands for the vector of all */
static bool read_sreg(struct ptx_parser *p, const struct ptx_tok *t, struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex;
    char name[40];
    if (t->len + 3 > sizeof name)
        return false;
    memcpy(name, t->s, t->len);
    if (l->tok.kind == PTX_T_DOT && l->tok.s == t->s + t->len && l->tok.len == 2) {
        memcpy(name + t->len, l->tok.s, 2);
        bool fourth = name[t->len + 1] == 'w'; /* always 0 */
        name[t->len + 1] = fourth ? 'x' : name[t->len + 1];
        int r = ptx_sreg_find(name, t->len + 2);
        if (r < 0)
            return false;
        ptx_next(l);
        o->kind = fourth ? PTX_O_IMM : PTX_O_SREG;
        o->reg = fourth ? -1 : r;
        return true;
    }
    int r = ptx_sreg_find(name, t->len);
    if (r >= 0) {
        o->kind = PTX_O_SREG;
        o->reg = r;
        return true;
    }
    struct ptx_opnd items[4];
    for (int i = 0; i < 4; i++) {
        memcpy(name + t->len, ".x", 2);
        name[t->len + 1] = "xyz"[i % 3];
        r = ptx_sreg_find(name, t->len + 2);
        if (r < 0)
            return false;
        items[i] = (struct ptx_opnd){.kind = i < 3 ? PTX_O_SREG : PTX_O_IMM, .reg = i < 3 ? r : -1, .sym = -1};
    }
    ptx_make_vec(p, o, items, 4);
    return true;
}

/* Behind an array: [constant], [register] or [register+constant]. It counts elements of the array's type, single ones
 * where that has several dimensions or is of vectors, as ptxas has it. */
static void read_index(struct ptx_parser *p, struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex;
    const struct ptx_var *v = ptx_symbol(p->f, o->sym);
    uint64_t at = 0;
    ptx_next(l);
    if (l->tok.kind == PTX_T_IDENT && (o->reg = ptx_find_reg(p, l->tok.s, l->tok.len)) >= 0)
        ptx_next(l);
    if (o->reg < 0 || ptx_accept(l, '+'))
        at = ptx_const_int(l, "array index", 0, INT32_MAX);
    o->imm = v ? at * ptx_type_size(v->type) : 0;
    ptx_expect(l, ']', "after an array index");
}

/* A variable or function; an array may have [index] behind it. */
static bool read_symbol(struct ptx_parser *p, const struct ptx_tok *t, struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex;
    const struct ptx_sym *e = ptx_sym_find(&p->names, t->s, t->len);
    if (e && e->kind == PTX_K_VECREG) {
        int k = l->tok.kind == PTX_T_DOT ? component(l->tok.s, l->tok.len) : -1;
        struct ptx_opnd items[8];
        for (uint32_t i = 0; i < e->count; i++)
            items[i] = (struct ptx_opnd){.kind = PTX_O_REG, .reg = e->id + (int32_t)i, .sym = -1};
        if (k < 0) {
            ptx_make_vec(p, o, items, e->count);
        } else if (k < (int)e->count) {
            *o = items[k];
            ptx_next(l);
        }
        return true;
    }
    o->sym = e && e->kind == PTX_K_VAR ? e->id : e ? -1 : ptx_module_symbol(p->f->module, t->s, t->len);
    o->kind = PTX_O_SYM;
    if (o->sym < 0)
        return false;
    if (ptx_is(l, '['))
        read_index(p, o);
    return true;
}

/* Bytes or halves of a video operand: .b0, .h32, .b7654; 0 = it is none. */
static uint32_t selection(const char *s, size_t len)
{
    uint32_t digits = 0;
    if (len < 3 || len > 6 || (s[1] != 'b' && s[1] != 'h'))
        return 0;
    for (size_t k = 2; k < len; k++) {
        if (s[k] < '0' || s[k] > '7')
            return 0;
        digits = digits << 3 | (uint32_t)(s[k] - '0');
    }
    return digits | (uint32_t)(len - 2) << PTX_SEL_COUNT_SHIFT | (s[1] == 'b' ? PTX_SEL_BYTES : PTX_SEL_HALVES);
}

/* A register has been read; in video instructions a part of it may be named. */
static void read_reg_part(struct ptx_lex *l, struct ptx_opnd *o)
{
    o->kind = PTX_O_REG;
    if (l->tok.kind == PTX_T_DOT && (o->sel = selection(l->tok.s, l->tok.len)))
        ptx_next(l);
}

/* +imm or -imm behind a name */
static void read_offset(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex;
    if (!ptx_is(l, '+') && !ptx_is(l, '-'))
        return;
    struct ptx_tok t = l->tok;
    ptx_next(l);
    if (!ptx_starts_expr(l))
        ptx_bad_operand(p, &l->tok, in, "an offset is a constant");
    struct ptx_num n = ptx_const_expr(l);
    if (n.is_float)
        ptx_bad_operand(p, &t, in, "float offset of an address");
    o->imm += t.c == '-' ? 0 - n.bits : n.bits;
}

void ptx_read_list(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, int nested, char close,
                   struct ptx_opnd *o)
{
    struct ptx_opnd items[MAX_VEC];
    uint32_t n = 0;
    if (nested > MAX_NESTED)
        ptx_bad_operand(p, &p->lex.tok, in, "operands nested too deeply");
    while (!ptx_is(&p->lex, close)) {
        if (n == MAX_VEC)
            ptx_bad_operand(p, &p->lex.tok, in, "more than 255 operands in a list");
        ptx_read_any(p, in, type, nested + 1, &items[n++]);
        if (!ptx_accept(&p->lex, ','))
            break;
    }
    ptx_expect(&p->lex, close, "at the end of a list");
    ptx_make_vec(p, o, items, n);
}

/* Reads what stands in brackets: a base with an offset, or several items as texture operands have ([tex, {x, y}]).
 * Only the first item may be an address; the others are coordinates and may be floats. */
static void read_address(struct ptx_parser *p, const struct ptx_instr *in, int nested, struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex;
    struct ptx_opnd items[8];
    uint32_t n = 0;
    if (nested > MAX_NESTED)
        ptx_bad_operand(p, &l->tok, in, "operands nested too deeply");
    do { /* one address, or [tex, {x, y}] */
        if (n == 8)
            ptx_bad_operand(p, &l->tok, in, "too many items in brackets");
        struct ptx_tok t = l->tok;
        /* coordinates may be floats */
        ptx_read_any(p, in, n ? PTX_NONE : PTX_B64, nested + 1, &items[n]);
        if (n == 0) {
            read_offset(p, in, &items[0]);
            if (items[0].kind != PTX_O_REG && items[0].kind != PTX_O_SYM && items[0].kind != PTX_O_IMM)
                ptx_bad_operand(p, &t, in, "bad address; expected [register+offset] or [variable+offset]");
            items[0].kind = PTX_O_ADDR;
        }
        n++;
    } while (ptx_accept(l, ','));
    ptx_expect(l, ']', "after an address");
    if (n == 1)
        *o = items[0];
    else
        ptx_make_vec(p, o, items, n);
}

/* !p, and in vmad -r: anything else behind these signs is a constant. */
static bool negated_reg(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex, before = *l;
    if (!ptx_is(l, '!') && !(in->op == PTX_OP_VMAD && ptx_is(l, '-')))
        return false;
    ptx_next(l);
    o->reg = l->tok.kind == PTX_T_IDENT ? ptx_find_reg(p, l->tok.s, l->tok.len) : -1;
    if (o->reg < 0) {
        if (l->tok.kind == PTX_T_IDENT && l->tok.s[0] == '%')
            ptx_bad_operand(p, &l->tok, in, "undeclared register");
        *l = before;
        return false;
    }
    ptx_next(l);
    read_reg_part(l, o);
    o->neg = 1;
    return true;
}

/* One operand of any kind, told by its first tokens; whether it fits is the caller's to check. */
void ptx_read_any(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, int nested, struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex;
    struct ptx_tok t = l->tok;
    *o = (struct ptx_opnd){.reg = -1, .sym = -1};
    if (t.kind == PTX_T_IDENT) {
        if (t.len == 1 && t.s[0] == '_') {
            o->kind = PTX_O_SINK;
            ptx_next(l);
            return;
        }
        if (t.len == 7 && !memcmp(t.s, "WARP_SZ", 7)) {
            read_imm(p, in, type, o);
            return;
        }
        ptx_next(l);
        o->reg = ptx_find_reg(p, t.s, t.len);
        if (o->reg >= 0) {
            read_reg_part(l, o);
            if (!nested && !o->sel)
                read_offset(p, in, o);
            return;
        }
        if (t.s[0] == '%' && read_sreg(p, &t, o))
            return;
        if (read_symbol(p, &t, o)) {
            if (o->kind == PTX_O_SYM) /* mov.u64 %rd1, table+8 */
                read_offset(p, in, o);
            return;
        }
        ptx_bad_operand(p, &t, in, t.s[0] == '%' ? "undeclared register" : "undeclared name");
    }
    if (ptx_accept(l, '{')) {
        ptx_read_list(p, in, type, nested, '}', o);
    } else if (ptx_accept(l, '[')) {
        read_address(p, in, nested, o);
    } else if (negated_reg(p, in, o)) {
        if (t.c == '!' && p->f->reg[o->reg].type != PTX_PRED)
            ptx_bad_operand(p, &t, in, "'!' of something that is not a predicate");
    } else if (ptx_starts_expr(l)) {
        read_imm(p, in, type, o);
    } else {
        ptx_bad_operand(p, &t, in, "an operand is missing");
    }
}
