/* Operands of an instruction checked against its opcode's pattern. */
#include "ptx/front/front.h"

#include <stdio.h>
#include <string.h>

enum { EXACT, WIDER };

static bool is_bits(unsigned type) { return type >= PTX_B8 && type <= PTX_B128; }
static bool is_integer(unsigned type) { return type >= PTX_U8 && type <= PTX_S64; }

/* ptxas does not hold registers against bf16 where f32 or ue8m0 is the other type. */
static bool is_loose(const struct ptx_instr *in, unsigned have, unsigned type)
{
    const bool mixed = type == PTX_BF16 && in->type[0] == PTX_F32 && in->type[1] == PTX_BF16 && in->op != PTX_OP_CVT;
    const bool scales = type == PTX_BF16X2 && (in->type[0] == PTX_UE8M0X2 || in->type[1] == PTX_UE8M0X2);
    return mixed ? ptx_type_kind(have) == PTX_KIND_INTEGER : scales && have != PTX_PRED;
}

static void check_reg(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                      const struct ptx_opnd *o, unsigned type, int how, bool is_dst)
{
    char why[120];
    const unsigned have = p->f->reg[o->reg].type, size = ptx_type_size(type), got = ptx_type_size(have);
    const bool wider = how == WIDER && (!ptx_type_is_float(type) || is_bits(have));
    if ((!ptx_type_holds(have, type) && !is_loose(in, have, type)) || (wider ? got < size : got != size)) {
        snprintf(why, sizeof why, "register is .%s; expected .%s", ptx_type_name(have), ptx_type_name(type));
        ptx_bad_operand(p, t, in, why);
    }
    if (o->neg && is_dst)
        ptx_bad_operand(p, t, in, "'!' of a destination");
    if (o->neg && type != PTX_PRED && in->op != PTX_OP_VMAD)
        ptx_bad_operand(p, t, in, "'!' of something that is not a predicate");
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

/* A vector of floats in memory may be in registers of integers as wide, a single one, or one of pairs, may not: ptxas
 * has it so. */
static unsigned element_type(unsigned have, unsigned type)
{
    const bool as_bits = ptx_type_kind(type) & (PTX_KIND_FLOAT | PTX_KIND_HALF) && type != PTX_F16X2 &&
                         is_integer(have) && ptx_type_size(have) == ptx_type_size(type);
    return as_bits ? part_type(type, 1) : type;
}

static void check_vec(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                      const struct ptx_opnd *o, unsigned type, bool memory, int how, bool is_dst)
{
    unsigned first = PTX_NONE, bits = PTX_NONE;
    for (unsigned i = 0; i < o->n && !bits; i++) {
        const struct ptx_opnd *e = &p->f->opnd[o->first + i];
        bits = e->kind == PTX_O_REG && is_bits(p->f->reg[e->reg].type) ? p->f->reg[e->reg].type : PTX_NONE;
    }
    for (unsigned i = 0; i < o->n; i++) {
        const struct ptx_opnd *e = &p->f->opnd[o->first + i];
        const unsigned have = e->kind == PTX_O_REG ? p->f->reg[e->reg].type : PTX_NONE;
        if (first && have && !ptx_type_mixes(first, have))
            ptx_bad_operand(p, t, in, "registers of different types in a vector");
        if (have && (bits ? have == bits : !first)) /* a register of bits makes all of it bits */
            check_reg(p, t, in, e, memory ? element_type(have, type) : type, how, is_dst);
        else if (have == PTX_NONE &&
                 (e->kind == PTX_O_SINK ? !is_dst : is_dst || (e->kind != PTX_O_IMM && e->kind != PTX_O_SREG)))
            ptx_bad_operand(p, t, in, "a vector holds registers");
        first = first ? first : have;
    }
}

static bool is_dst_letter(char c) { return c >= 'A' && c <= 'Z'; }

/* Type that a letter gives its operand; PTX_NONE = no type of its own. */
static unsigned letter_type(const struct ptx_instr *in, char c)
{
    switch (c) {
    case 'P':
    case 'S':
    case 'p': return PTX_PRED;
    case 'I':
    case 'R':
    case 'K':
    case 'k':
    case 'n':
    case 'o':
    case 'u':
    case 'y': return PTX_U32;
    case 'J':
    case 'i':
    case 'r': return PTX_B32;
    case 'l': return PTX_B64;
    case 'h': return PTX_B16;
    case 'W':
    case 'w': return wide_type(in->type[0]);
    case '1':
    case 'q':
    case 'c': return in->type[1];
    case 'x': return PTX_NONE;
    default: return in->type[0];
    }
}

/* Registers that are wider than their type: not those of cvt with bf16 or tf32, nor, with .ftz, of 128 bits between f32
 * and 64 bits. */
static bool takes_wider(const struct ptx_parser *p, const struct ptx_instr *in, const struct ptx_opnd *o, char c)
{
    if (!strchr("Cc", c))
        return strchr("MmR", c);
    const unsigned a = in->type[0], b = in->type[1], most = ptx_type_size(a) > ptx_type_size(b) ? a : b;
    if (a == PTX_BF16 || b == PTX_BF16 || a == PTX_TF32)
        return false;
    return !(in->flags & PTX_F_FTZ) || is_integer(b) || ptx_type_size(most) < 8 ||
           ptx_type_size(p->f->reg[o->reg].type) < 16;
}

/* Whether mov or cvt takes a special register as this type: mov of its width, the oldest ones as 16 bits, too. */
static bool fits_sreg(unsigned sreg, const struct ptx_instr *in, unsigned type)
{
    const bool wide = sreg == PTX_SR_CLOCK64 || sreg == PTX_SR_GLOBALTIMER || sreg == PTX_SR_CURRENT_GRAPH_EXEC ||
                      sreg >= PTX_SR_PM0_64;
    const unsigned size = ptx_type_size(type), own = wide ? 8 : 4;
    if (sreg == PTX_SR_IS_EXPLICIT_CLUSTER || type == PTX_PRED)
        return sreg == PTX_SR_IS_EXPLICIT_CLUSTER && type == PTX_PRED;
    if (ptx_type_is_float(type) || size > 8)
        return false;
    if (in->op == PTX_OP_CVT)
        return is_integer(in->type[0]) && is_integer(type) && (size <= own || sreg == PTX_SR_GRIDID);
    return size == own || sreg == PTX_SR_GRIDID || (size == 2 && sreg <= PTX_SR_NCTAID_Z);
}

/* Checks an operand that is not a vector against its letter of the opcode's signature (front/opinfo.def): kind,
 * type, width. ptxas refuses the same, and a program that tests for its error gets one. */
static void check_scalar(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                         const struct ptx_opnd *o, char c, unsigned type)
{
    switch (o->kind) {
    case PTX_O_REG:
        if (o->imm && is_dst_letter(c))
            ptx_bad_operand(p, t, in, "destination is not a register");
        if (c == 'x' ? !ptx_type_is_address(p->f->reg[o->reg].type) || ptx_type_size(p->f->reg[o->reg].type) < 4
            : c == 'V' || c == 'v' ? false
                                   : !type)
            ptx_bad_operand(p, t, in, "register of the wrong type");
        if (strchr("IJou", c) && !(ptx_type_kind(p->f->reg[o->reg].type) & (PTX_KIND_BITS | PTX_KIND_INTEGER)))
            ptx_bad_operand(p, t, in, "register is no integer");
        if (c == 'K' && p->f->reg[o->reg].type == PTX_F16X2 &&
            (in->op == PTX_OP_VSET || in->op == PTX_OP_VSET2 || in->op == PTX_OP_VSET4))
            ptx_bad_operand(p, t, in, "register is no integer");
        if (c == 'r' && ptx_type_kind(p->f->reg[o->reg].type) != PTX_KIND_BITS)
            ptx_bad_operand(p, t, in, "register is not of bits");
        if (c != 'x')
            check_reg(p, t, in, o, type, takes_wider(p, in, o, c) ? WIDER : EXACT, is_dst_letter(c));
        if (o->sel && !strchr("Kkn", c))
            ptx_bad_operand(p, t, in, "takes no byte of a register");
        return;
    case PTX_O_SINK:
        if (!is_dst_letter(c))
            ptx_bad_operand(p, t, in, "'_' is not a source");
        if (!strchr("EPSQJ", c))
            ptx_bad_operand(p, t, in, "a result that this instruction does not discard");
        return;
    case PTX_O_IMM: break;
    case PTX_O_SREG:
        if (c != 'v' && c != 'c')
            ptx_bad_operand(p, t, in, "special register; only mov and cvt read it");
        if (!fits_sreg((unsigned)o->reg, in, type))
            ptx_bad_operand(p, t, in, "special register of another type or width");
        break;
    case PTX_O_SYM:
        if (type == PTX_PRED || ptx_type_is_float(type))
            ptx_bad_operand(p, t, in, "address where a value of another type is expected");
        break;
    default: ptx_bad_operand(p, t, in, "operand of the wrong kind");
    }
    if (is_dst_letter(c))
        ptx_bad_operand(p, t, in, "destination is not a register");
}

/* Vectors stand only in ld, st, atom (n = .vN) and mov (n parts of the type). */
static void check_operand(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in, struct ptx_opnd *o,
                          char c)
{
    unsigned type = letter_type(in, c);
    bool memory = strchr("MmEe", c), move = c == 'V' || c == 'v';
    if (c == 'q') {
        if (o->kind != PTX_O_VEC || o->n != 4)
            ptx_bad_operand(p, t, in, "expected {a, b, c, d}");
        check_vec(p, t, in, o, type, false, EXACT, false);
        return;
    }
    if (o->kind == PTX_O_VEC && strchr("Mm", c) && in->vec == 1 && o->n == 1)
        *o = p->f->opnd[o->first];
    if (o->kind == PTX_O_VEC && (memory || move)) {
        if (memory || in->vec > 1) {
            if (o->n != in->vec || o->n < 2)
                ptx_bad_operand(p, t, in, "vector of another length than the instruction says");
        } else {
            if (!is_bits(type))
                ptx_bad_operand(p, t, in, "vector as a value that is not of bits");
            type = o->n == 4 && p->f->opnd[o->first].kind == PTX_O_SREG ? type : part_type(type, o->n);
            if (!type || o->n < 2)
                ptx_bad_operand(p, t, in, "vector does not divide the instruction's type");
        }
        check_vec(p, t, in, o, type, memory, c == 'M' || c == 'm' ? WIDER : EXACT, is_dst_letter(c));
        return;
    }
    if (memory && in->vec > 1)
        ptx_bad_operand(p, t, in, "expected a vector {a, b, ...}");
    check_scalar(p, t, in, o, c, type);
}

static void read_label(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o, char c)
{
    struct ptx_lex *l = &p->lex;
    if (l->tok.kind != PTX_T_IDENT)
        ptx_bad_operand(p, &l->tok, in, "expected a label");
    struct ptx_tok t = l->tok;
    ptx_next(l);
    *o = (struct ptx_opnd){.kind = PTX_O_BLOCK, .reg = -1, .sym = -1};
    if (c == 'b') {
        o->reg = ptx_label_ref(p, &t);
        return;
    }
    const struct ptx_sym *e = ptx_sym_find(&p->names, t.s, t.len);
    if (!e || e->kind != PTX_K_BTAB)
        ptx_bad_operand(p, &t, in, "not the label of a .branchtargets");
    o->kind = PTX_O_SYM;
    o->sym = PTX_SYM_PROTO(e->id);
}

/* ld and st take an element of an array without brackets around it: table[3]. */
static bool is_element(struct ptx_parser *p, const struct ptx_instr *in)
{
    struct ptx_lex ahead = p->lex;
    if (ahead.tok.kind != PTX_T_IDENT || (in->op != PTX_OP_LD && in->op != PTX_OP_ST))
        return false;
    ptx_next(&ahead);
    return ptx_is(&ahead, '[');
}

const char ptx_foreign_space[] = "a variable of another state space";

/* Its address means nothing in another state space. By a generic address parameters and constants cannot be reached
 * through their names; what textures, samplers and surfaces hold is not accessed by addresses at all. */
bool ptx_is_in_space(const struct ptx_var *v, unsigned space)
{
    if (v->type == PTX_TEXREF || v->type == PTX_SAMPLERREF || v->type == PTX_SURFREF)
        return false;
    return space == PTX_SP_NONE ? v->space != PTX_SP_CONST && v->space != PTX_SP_PARAM : v->space == space;
}

/* cvta takes the address of anything in the state space spelled. */
static void check_named(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                        const struct ptx_opnd *o)
{
    const struct ptx_var *v = ptx_symbol(p->f, o->sym);
    if (in->flags & PTX_F_TO)
        ptx_bad_operand(p, t, in, "a variable is no generic address");
    if (v && v->space != in->space)
        ptx_bad_operand(p, t, in, ptx_foreign_space);
}

/* Reads an operand as its letter of the opcode's signature says, and checks it. Addresses of 32 bits are legal in
 * state spaces that are small, those of 16 and 8 everywhere but where short ones are halves of whole ones
 * (expand.c). */
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
    const bool element = c == 'a' && is_element(p, in);
    ptx_read_any(p, in, type, 0, o);
    if (c == 'a') {
        if (element && o->kind == PTX_O_SYM)
            o->kind = PTX_O_ADDR;
        if (o->kind != PTX_O_ADDR)
            ptx_bad_operand(p, &t, in, "expected an address in brackets");
        if (o->sym >= 0) { /* by a register: an index (expand.c) */
            const struct ptx_var *v = ptx_symbol(p->f, o->sym);
            if (v && !ptx_is_in_space(v, in->space))
                ptx_bad_operand(p, &t, in, ptx_foreign_space);
            return;
        }
        if (in->op == PTX_OP_ST && in->space == PTX_SP_PARAM)
            ptx_bad_operand(p, &t, in, "not a parameter of a call");
        if (o->reg >= 0 && !ptx_type_is_address(p->f->reg[o->reg].type))
            ptx_bad_operand(p, &t, in, "address register is no integer of at most 64 bits");
        const bool whole = in->space == PTX_SP_NONE || in->space == PTX_SP_GLOBAL;
        if (whole && o->reg >= 0 && ptx_type_size(p->f->reg[o->reg].type) == 4) /* a program of 32 bits, to ptxas */
            ptx_bad_operand(p, &t, in, "addresses in this state space have 64 bits");
        if (whole || in->space == PTX_SP_SHARED)
            ptx_extend_address(p, in, o, whole ? PTX_U64 : PTX_U32);
        else if (o->reg >= 0 && ptx_type_size(p->f->reg[o->reg].type) < 4)
            ptx_bad_operand(p, &t, in, "address register is narrower than 32 bits");
        return;
    }
    check_operand(p, &t, in, o, c);
    if (c == 'g' && o->kind == PTX_O_SYM)
        check_named(p, &t, in, o);
}

/* Anything up to the ';'. */
static void read_loose(struct ptx_parser *p, const struct ptx_opcode *oc, struct ptx_instr *in)
{
    struct ptx_lex *l = &p->lex;
    const char *at = oc->operands, *why;
    struct ptx_opnd rest[32];
    uint32_t n = 0;
    if (ptx_is(l, ';')) {
        if ((why = ptx_check_form_operand(oc, p->f, NULL, &at, NULL)))
            ptx_bad_operand(p, &l->tok, in, why);
        return;
    }
    bool dst = !ptx_is(l, '[') && !ptx_starts_expr(l) &&
               (in->op != PTX_OP_TCGEN05 || !strncmp(in->opcode, "tcgen05.ld", 10));
    const bool two = !strncmp(in->opcode, "tcgen05.ld.red", 14); /* what was loaded, and the least of it */
    do {
        struct ptx_opnd o;
        const struct ptx_tok t = l->tok;
        ptx_read_any(p, in, PTX_NONE, 0, &o);
        unsigned space = PTX_SP_NONE;
        if ((why = ptx_check_form_operand(oc, p->f, &o, &at, &space)))
            ptx_bad_operand(p, &t, in, why);
        if (in->op != PTX_OP_TCGEN05)
            ptx_extend_address(p, in, &o, space == PTX_SP_GLOBAL ? PTX_U64 : PTX_U32);
        if (dst && in->ndst == 0) {
            in->dst[in->ndst++] = o;
            if (ptx_accept(l, '|'))
                ptx_read_any(p, in, 0, 0, &in->dst[in->ndst++]);
        } else if (two && in->ndst == 1) {
            in->dst[in->ndst++] = o;
        } else if (in->nsrc < 4) {
            in->src[in->nsrc++] = o;
        } else if (n == sizeof rest / sizeof rest[0]) {
            ptx_bad_operand(p, &l->tok, in, "too many operands");
        } else {
            rest[n++] = o;
        }
    } while (ptx_accept(l, ','));
    if ((why = ptx_check_form_operand(oc, p->f, NULL, &at, NULL)))
        ptx_bad_operand(p, &l->tok, in, why);
    if (n == 1)
        in->src[in->nsrc++] = rest[0];
    else if (n)
        ptx_make_vec(p, &in->src[in->nsrc++], rest, n);
}

/* Reads operands along the letters of the opcode's pattern (opinfo.def). */
void ptx_read_operands(struct ptx_parser *p, const struct ptx_opcode *oc, struct ptx_instr *in)
{
    struct ptx_lex *l = &p->lex;
    const char *sig = oc->sig;
    bool optional = false, first = true;
    if (*sig == '~') {
        read_loose(p, oc, in);
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
            ptx_bad_operand(p, &l->tok, in, ptx_is(l, ';') ? "an operand is missing" : "expected ','");
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
            ptx_read_any(p, in, PTX_B32, 0, o);
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
        ptx_bad_operand(p, &l->tok, in, ptx_is(l, ',') ? "too many operands" : "expected ';'");
    ptx_check_together(p, &l->tok, in);
}
