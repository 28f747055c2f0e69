/* Operands of instructions: what is written, checked against the opcode's pattern. */
#include "ptx/front.h"

#include <stdio.h>
#include <string.h>

enum { MAX_VEC = 255, MAX_NESTED = 4 };

static _Noreturn void bad(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                          const char *why)
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
    f->reg[f->nreg] = (struct ptx_reg){ptx_strdup(p->ctx, s, len), (uint8_t)type};
    return (int32_t)f->nreg++;
}

/* Innermost range of this name that has the number; an inner %r<3> hides only %r0, %r1 and %r2. */
static struct ptx_sym *range_with(struct ptx_parser *p, const char *s, size_t len, uint32_t number)
{
    struct ptx_sym *e = ptx_sym_find(&p->names, s, len);
    while (e && (e->kind != PTX_K_RANGE || number >= e->count))
        e = ptx_sym_hidden(e);
    return e;
}

/* A register of a range (%r<100>): the digits at the end are its number. "%r10" may also be number 0
 * of %r1<n>, so that shorter numbers are tried too. */
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

static void make_vec(struct ptx_parser *p, struct ptx_opnd *o, const struct ptx_opnd *items, uint32_t n)
{
    uint32_t first = ptx_add_opnds(p, items, n);
    *o = (struct ptx_opnd){.kind = PTX_O_VEC, .n = (uint8_t)n, .reg = -1, .sym = -1, .first = first};
}

static void read_imm(struct ptx_parser *p, const struct ptx_instr *in, unsigned type,
                     struct ptx_opnd *o)
{
    struct ptx_tok t = p->lex.tok;
    struct ptx_num n = ptx_const_expr(&p->lex);
    o->kind = PTX_O_IMM;
    if (!ptx_imm_bits(&n, type ? type : n.is_f32 ? PTX_F32 : n.is_float ? PTX_F64 : PTX_B64, &o->imm))
        ptx_fail(p->ctx, t.line, t.s, t.len, "%s: literal does not fit an operand of type .%s",
                 in->opcode, ptx_type_name(type));
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
        int r = ptx_sreg_find(name, t->len + 2);
        if (r < 0)
            return false;
        ptx_next(l);
        o->kind = PTX_O_SREG;
        o->reg = r;
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
        items[i] = (struct ptx_opnd){.kind = i < 3 ? PTX_O_SREG : PTX_O_IMM, .reg = i < 3 ? r : -1,
                                     .sym = -1};
    }
    make_vec(p, o, items, 4);
    return true;
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
            make_vec(p, o, items, e->count);
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
    if (ptx_is(l, '[')) {
        const struct ptx_var *v = ptx_symbol(p->f, o->sym);
        ptx_next(l);
        uint64_t i = ptx_const_int(l, "array index", 0, INT32_MAX);
        o->imm = v && v->row[0] ? i * v->row[0] : 0;
        ptx_expect(l, ']', "after an array index");
    }
    return true;
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
        bad(p, &l->tok, in, "an offset is a constant");
    struct ptx_num n = ptx_const_expr(l);
    if (n.is_float)
        bad(p, &t, in, "float offset of an address");
    o->imm += t.c == '-' ? 0 - n.bits : n.bits;
}

static void read_any(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, int nested,
                     struct ptx_opnd *o);

static void read_list(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, int nested,
                      char close, struct ptx_opnd *o)
{
    struct ptx_opnd items[MAX_VEC];
    uint32_t n = 0;
    if (nested > MAX_NESTED)
        bad(p, &p->lex.tok, in, "operands nested too deeply");
    while (!ptx_is(&p->lex, close)) {
        if (n == MAX_VEC)
            bad(p, &p->lex.tok, in, "more than 255 operands in a list");
        read_any(p, in, type, nested + 1, &items[n++]);
        if (!ptx_accept(&p->lex, ','))
            break;
    }
    ptx_expect(&p->lex, close, "at the end of a list");
    make_vec(p, o, items, n);
}

static void read_address(struct ptx_parser *p, const struct ptx_instr *in, int nested,
                         struct ptx_opnd *o)
{
    struct ptx_lex *l = &p->lex;
    struct ptx_opnd items[8];
    uint32_t n = 0;
    if (nested > MAX_NESTED)
        bad(p, &l->tok, in, "operands nested too deeply");
    do { /* one address, or [tex, {x, y}] */
        if (n == 8)
            bad(p, &l->tok, in, "too many items in brackets");
        struct ptx_tok t = l->tok;
        read_any(p, in, PTX_B64, nested + 1, &items[n]);
        if (n == 0) {
            read_offset(p, in, &items[0]);
            if (items[0].kind != PTX_O_REG && items[0].kind != PTX_O_SYM &&
                items[0].kind != PTX_O_IMM)
                bad(p, &t, in, "bad address; expected [register+offset] or [variable+offset]");
            items[0].kind = PTX_O_ADDR;
        }
        n++;
    } while (ptx_accept(l, ','));
    ptx_expect(l, ']', "after an address");
    if (n == 1)
        *o = items[0];
    else
        make_vec(p, o, items, n);
}

static void read_any(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, int nested,
                     struct ptx_opnd *o)
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
            o->kind = PTX_O_REG;
            if (l->tok.kind == PTX_T_DOT && l->tok.len == 3 && (l->tok.s[1] == 'b' || l->tok.s[1] == 'h') &&
                l->tok.s[2] >= '0' && l->tok.s[2] <= '3') { /* video instructions' byte or half */
                o->sel = (uint8_t)(l->tok.s[2] - '0' + (l->tok.s[1] == 'b' ? 1 : 5));
                ptx_next(l);
            }
            return;
        }
        if (t.s[0] == '%' && read_sreg(p, &t, o))
            return;
        if (read_symbol(p, &t, o)) {
            if (o->kind == PTX_O_SYM) /* mov.u64 %rd1, table+8 */
                read_offset(p, in, o);
            return;
        }
        bad(p, &t, in, t.s[0] == '%' ? "undeclared register" : "undeclared name");
    }
    if (ptx_accept(l, '{')) {
        read_list(p, in, type, nested, '}', o);
    } else if (ptx_accept(l, '[')) {
        read_address(p, in, nested, o);
    } else if (ptx_is(l, '!') && l->p[0] == '%') {
        ptx_next(l);
        read_any(p, in, type, nested + 1, o);
        if (o->kind != PTX_O_REG || p->f->reg[o->reg].type != PTX_PRED)
            bad(p, &t, in, "'!' of something that is not a predicate");
        o->neg = 1;
    } else if (ptx_starts_expr(l)) {
        read_imm(p, in, type, o);
    } else {
        bad(p, &t, in, "an operand is missing");
    }
}

/* ---- operands against the pattern ------------------------------------------------------------ */

enum { EXACT, WIDER };

static void check_reg(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                      const struct ptx_opnd *o, unsigned type, int how)
{
    char why[120];
    unsigned have = p->f->reg[o->reg].type;
    unsigned size = ptx_type_size(type), got = ptx_type_size(have);
    bool is_float = ptx_type_is_float(type), ok;
    if (type == PTX_PRED || have == PTX_PRED)
        ok = type == have;
    else if (how == WIDER && !is_float)
        ok = got >= size;
    else
        ok = got == size;
    if (ok && ptx_type_is_float(have) && !is_float && (type < PTX_B8 || type > PTX_B128))
        ok = false; /* an integer operation on a float register */
    if (!ok) {
        snprintf(why, sizeof why, "register is .%s; expected .%s", ptx_type_name(have),
                 ptx_type_name(type));
        bad(p, t, in, why);
    }
    if (o->neg && type != PTX_PRED)
        bad(p, t, in, "'!' of something that is not a predicate");
}

/* Type of `n` equal parts of a type, as in mov.b64 {lo, hi}. */
static unsigned part_type(unsigned type, unsigned n)
{
    switch (n ? ptx_type_size(type) / n : 0) {
    case 1: return PTX_B8;
    case 2: return PTX_B16;
    case 4: return PTX_B32;
    case 8: return PTX_B64;
    default: return PTX_NONE;
    }
}

static unsigned wide_type(unsigned type)
{
    switch (type) {
    case PTX_U16: return PTX_U32;
    case PTX_S16: return PTX_S32;
    case PTX_U32: return PTX_U64;
    default: return PTX_S64;
    }
}

static void check_vec(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                      const struct ptx_opnd *o, unsigned type, int how, bool is_dst)
{
    for (unsigned i = 0; i < o->n; i++) {
        const struct ptx_opnd *e = &p->f->opnd[o->first + i];
        if (e->kind == PTX_O_REG)
            check_reg(p, t, in, e, type, how);
        else if (e->kind == PTX_O_SINK ? !is_dst
                                       : is_dst || (e->kind != PTX_O_IMM && e->kind != PTX_O_SREG))
            bad(p, t, in, "a vector holds registers");
    }
}

static bool is_dst_letter(char c)
{
    return c >= 'A' && c <= 'Z';
}

/* Type that a letter gives its operand; PTX_NONE = no type of its own. */
static unsigned letter_type(const struct ptx_instr *in, char c)
{
    switch (c) {
    case 'P': case 'S': case 'p': return PTX_PRED;
    case 'I': case 'J': case 'i': case 'o': return PTX_B32;
    case 'l': return PTX_B64;
    case 'W': case 'w': return wide_type(in->type[0]);
    case '1': case 'c': return in->type[1];
    case 'x': return PTX_NONE;
    default: return in->type[0];
    }
}

static void check_scalar(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                         const struct ptx_opnd *o, char c, unsigned type)
{
    bool wider = strchr("CcMm", c);
    switch (o->kind) {
    case PTX_O_REG:
        if (c == 'x' ? ptx_type_size(p->f->reg[o->reg].type) < 4 : c == 'V' || c == 'v' ? false : !type)
            bad(p, t, in, "register of the wrong type");
        if (c != 'x')
            check_reg(p, t, in, o, type, wider ? WIDER : EXACT);
        if (o->sel)
            bad(p, t, in, "takes no byte of a register");
        return;
    case PTX_O_SINK:
        if (!is_dst_letter(c))
            bad(p, t, in, "'_' is not a source");
        return;
    case PTX_O_IMM: break;
    case PTX_O_SREG:
        if (c != 'v' && c != 'c')
            bad(p, t, in, "special register; only mov reads it");
        break;
    case PTX_O_SYM:
        if (type == PTX_PRED || ptx_type_is_float(type))
            bad(p, t, in, "address where a value of another type is expected");
        break;
    default: bad(p, t, in, "operand of the wrong kind");
    }
    if (is_dst_letter(c))
        bad(p, t, in, "destination is not a register");
}

/* Vectors stand only in ld, st, atom (n = .vN) and mov (n parts of the type). */
static void check_operand(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                          struct ptx_opnd *o, char c)
{
    unsigned type = letter_type(in, c);
    bool memory = strchr("MmEe", c), move = c == 'V' || c == 'v';
    if (o->kind == PTX_O_VEC && memory && in->vec == 1 && o->n == 1)
        *o = p->f->opnd[o->first];
    if (o->kind == PTX_O_VEC && (memory || move)) {
        if (memory || in->vec > 1) {
            if (o->n != in->vec)
                bad(p, t, in, "vector of another length than the instruction says");
        } else {
            type = o->n == 4 && p->f->opnd[o->first].kind == PTX_O_SREG ? type
                                                                        : part_type(type, o->n);
            if (!type || o->n < 2)
                bad(p, t, in, "vector does not divide the instruction's type");
        }
        check_vec(p, t, in, o, type, c == 'M' || c == 'm' ? WIDER : EXACT, is_dst_letter(c));
        return;
    }
    if (memory && in->vec > 1)
        bad(p, t, in, "expected a vector {a, b, ...}");
    check_scalar(p, t, in, o, c, type);
}

static void read_label(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o, char c)
{
    struct ptx_lex *l = &p->lex;
    if (l->tok.kind != PTX_T_IDENT)
        bad(p, &l->tok, in, "expected a label");
    struct ptx_tok t = l->tok;
    ptx_next(l);
    *o = (struct ptx_opnd){.kind = PTX_O_BLOCK, .reg = -1, .sym = -1};
    if (c == 'b') {
        o->reg = ptx_label_ref(p, &t);
        return;
    }
    const struct ptx_sym *e = ptx_sym_find(&p->names, t.s, t.len);
    if (!e || e->kind != PTX_K_BTAB)
        bad(p, &t, in, "not the label of a .branchtargets");
    o->kind = PTX_O_SYM;
    o->sym = PTX_SYM_PROTO(e->id);
}

static void read_operand(struct ptx_parser *p, struct ptx_instr *in, char c, struct ptx_opnd *o)
{
    struct ptx_tok t = p->lex.tok;
    if (c == 'b' || c == 't') {
        read_label(p, in, o, c);
        return;
    }
    unsigned type = letter_type(in, c);
    if (c == 'v' && in->vec == 1 && ptx_is(&p->lex, '{')) /* immediates inside have the part's type */
        type = in->type[0] == PTX_B64 ? PTX_B32 : in->type[0] == PTX_B32 ? PTX_B16 : PTX_B64;
    read_any(p, in, type, 0, o);
    if (c == 'a') {
        if (o->kind != PTX_O_ADDR)
            bad(p, &t, in, "expected an address in brackets");
        if (o->reg >= 0 && ptx_type_size(p->f->reg[o->reg].type) < 4)
            bad(p, &t, in, "address register is narrower than 32 bits");
        return;
    }
    check_operand(p, &t, in, o, c);
}

/* Anything up to the ';'. */
static void read_loose(struct ptx_parser *p, struct ptx_instr *in)
{
    struct ptx_lex *l = &p->lex;
    struct ptx_opnd rest[32];
    uint32_t n = 0;
    if (ptx_is(l, ';'))
        return;
    bool dst = !ptx_is(l, '[') && !ptx_starts_expr(l);
    do {
        struct ptx_opnd o;
        read_any(p, in, PTX_NONE, 0, &o);
        if (dst && in->ndst == 0) {
            in->dst[in->ndst++] = o;
            if (ptx_accept(l, '|'))
                read_any(p, in, 0, 0, &in->dst[in->ndst++]);
        } else if (in->nsrc < 4) {
            in->src[in->nsrc++] = o;
        } else if (n == sizeof rest / sizeof rest[0]) {
            bad(p, &l->tok, in, "too many operands");
        } else {
            rest[n++] = o;
        }
    } while (ptx_accept(l, ','));
    if (n == 1)
        in->src[in->nsrc++] = rest[0];
    else if (n)
        make_vec(p, &in->src[in->nsrc++], rest, n);
}

void ptx_read_operands(struct ptx_parser *p, const struct ptx_opcode *oc, struct ptx_instr *in)
{
    struct ptx_lex *l = &p->lex;
    const char *sig = oc->sig;
    bool optional = false, first = true;
    if (*sig == '~') {
        read_loose(p, in);
        return;
    }
    for (; *sig; sig++) {
        if (*sig == '?') {
            optional = true;
            continue;
        }
        if (optional && ptx_is(l, ';'))
            break;
        if (!first && !ptx_accept(l, ','))
            bad(p, &l->tok, in, ptx_is(l, ';') ? "an operand is missing" : "expected ','");
        first = false;
        if (is_dst_letter(*sig)) {
            read_operand(p, in, *sig, &in->dst[in->ndst++]);
            if (strchr("SQJ", *sig) && ptx_accept(l, '|'))
                read_operand(p, in, 'P', &in->dst[in->ndst++]);
            continue;
        }
        struct ptx_opnd *o = &in->src[in->nsrc++];
        if (*sig == 'o') {
            struct ptx_tok t = l->tok;
            bool neg = ptx_is(l, '!');
            read_any(p, in, PTX_B32, 0, o);
            if (neg || (o->kind == PTX_O_REG && p->f->reg[o->reg].type == PTX_PRED)) {
                in->src[in->nsrc++] = *o; /* left out: this is the predicate behind it */
                *o = (struct ptx_opnd){.reg = -1, .sym = -1};
                sig++;
            } else {
                check_operand(p, &t, in, o, 'o');
            }
            continue;
        }
        read_operand(p, in, *sig, o);
    }
    if (!ptx_is(l, ';'))
        bad(p, &l->tok, in, ptx_is(l, ',') ? "too many operands" : "expected ';'");
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void read_call_list(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o)
{
    struct ptx_tok t = p->lex.tok;
    ptx_next(&p->lex);
    read_list(p, in, PTX_NONE, 0, ')', o);
    for (unsigned i = 0; i < o->n; i++) {
        unsigned kind = p->f->opnd[o->first + i].kind;
        if (kind != PTX_O_REG && kind != PTX_O_SYM && kind != PTX_O_IMM && kind != PTX_O_SINK)
            bad(p, &t, in, "argument of the wrong kind");
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
            bad(p, &l->tok, in, "expected ',' and the function");
    }
    struct ptx_tok t = l->tok;
    read_any(p, in, PTX_B64, 0, &in->src[0]);
    bool direct = in->src[0].kind == PTX_O_SYM && PTX_SYM_BAND(in->src[0].sym) == 0x20000000;
    if (!direct && in->src[0].kind != PTX_O_REG)
        bad(p, &t, in, "not a function or a register");
    if (ptx_accept(l, ',')) {
        if (ptx_is(l, '('))
            read_call_list(p, in, &in->src[1]);
        if (in->src[1].kind == PTX_O_NONE || ptx_accept(l, ',')) {
            struct ptx_tok name = ptx_ident(l, "a prototype");
            const struct ptx_sym *e = ptx_sym_find(&p->names, name.s, name.len);
            if (!e || (e->kind != PTX_K_PROTO && e->kind != PTX_K_TARGETS))
                bad(p, &name, in, "not the label of a .callprototype or .calltargets");
            in->src[2].kind = PTX_O_SYM;
            in->src[2].sym = e->kind == PTX_K_PROTO ? PTX_SYM_PROTO(e->id) : e->id;
        }
    }
    if (!direct && in->src[2].kind == PTX_O_NONE)
        bad(p, &t, in, "indirect call without a prototype");
    if (direct) {
        const struct ptx_func *callee = &p->f->module->func[PTX_SYM_INDEX(in->src[0].sym)];
        if (in->src[1].n != callee->nparam || in->dst[0].n != callee->nret)
            bad(p, &t, in, "number of arguments or results differs from the function's");
    }
    if (!ptx_is(l, ';'))
        bad(p, &l->tok, in, "expected ';'");
}
