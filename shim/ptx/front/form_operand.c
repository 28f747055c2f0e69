/* Operands of the forms of forms.def: their number, kinds and registers. What ptxas 13.0 refuses is refused, by its
 * rules, in which bits go with all types, but integers, floats and pairs of halves only with their own. */
#include "ptx/front/front.h"

#include <string.h>

enum { NARROW = 4 }; /* bytes of a register, but of f64 and 64-bit values */

static bool is_address(const struct ptx_func *f, const struct ptx_opnd *o)
{
    return o->kind == PTX_O_ADDR || (o->kind == PTX_O_VEC && o->n && f->opnd[o->first].kind == PTX_O_ADDR);
}

static unsigned type_of(const struct ptx_func *f, const struct ptx_opnd *o)
{
    return o->kind == PTX_O_REG || (o->kind == PTX_O_ADDR && o->reg >= 0) ? f->reg[o->reg].type : PTX_NONE;
}

static bool is_register(const struct ptx_func *f, const struct ptx_opnd *o, unsigned size, unsigned kinds)
{
    const unsigned type = type_of(f, o);
    return o->kind == PTX_O_REG && ptx_type_size(type) == size && ptx_type_kind(type) & kinds;
}

static bool is_value(const struct ptx_func *f, const struct ptx_opnd *o, unsigned size)
{
    return is_register(f, o, size, PTX_KIND_ANY) || o->kind == PTX_O_IMM || (o->kind == PTX_O_SYM && size >= 4);
}

static bool is_integer(const struct ptx_func *f, const struct ptx_opnd *o, unsigned size)
{
    if (o->kind == PTX_O_REG)
        return is_register(f, o, size, PTX_KIND_BITS | PTX_KIND_INTEGER);
    return is_value(f, o, size) && !(o->kind == PTX_O_IMM && o->is_real);
}

/* Of the type, or as an element of a vector, floats in integers. ptxas does not check bf16 and its like. */
static bool is_of_type(const struct ptx_func *f, const struct ptx_opnd *o, unsigned type, bool is_element, bool wider)
{
    const unsigned have = type_of(f, o), size = ptx_type_size(type), got = ptx_type_size(have);
    if (o->kind != PTX_O_REG)
        return is_value(f, o, size);
    if (!(ptx_type_kind(have) & PTX_KIND_ANY) || (wider ? got < size : got != size))
        return false;
    return !type || (type != PTX_F16X2 && size == 4 && !ptx_type_kind(type)) || ptx_type_holds(have, type) ||
           (is_element && ptx_type_kind(have) == PTX_KIND_INTEGER && type != PTX_F16X2);
}

/* {a, b, ..} of registers that go with the first of them; some may be left out by '_'. */
static bool is_even(const struct ptx_func *f, const struct ptx_opnd *o, unsigned from)
{
    unsigned first = PTX_NONE;
    for (unsigned k = from; o->kind == PTX_O_VEC && k < o->n; k++) {
        const unsigned have = type_of(f, &f->opnd[o->first + k]);
        if (first && have && !ptx_type_mixes(first, have))
            return false;
        first = first ? first : have;
    }
    return true;
}

/* The register of a list that is held against the instruction's type: one of bits, which makes all of it bits, or the
 * first. */
static const struct ptx_opnd *typed_register(const struct ptx_func *f, const struct ptx_opnd *o)
{
    const struct ptx_opnd *typed = NULL;
    for (unsigned k = 0; k < o->n; k++) {
        const struct ptx_opnd *e = &f->opnd[o->first + k];
        if (e->kind == PTX_O_REG && (!typed || ptx_type_kind(type_of(f, e)) == PTX_KIND_BITS))
            typed = e;
    }
    return typed;
}

/* Such a list, or one value, of this many bytes. */
static bool is_list(const struct ptx_func *f, const struct ptx_opnd *o, unsigned size,
                    bool (*fits_one)(const struct ptx_func *, const struct ptx_opnd *, unsigned))
{
    if (o->kind != PTX_O_VEC)
        return fits_one(f, o, size);
    for (unsigned k = 0; k < o->n; k++)
        if (f->opnd[o->first + k].kind != PTX_O_SINK && !fits_one(f, &f->opnd[o->first + k], size))
            return false;
    return is_even(f, o, 0);
}

static bool is_list_of_type(const struct ptx_func *f, const struct ptx_opnd *o, unsigned type, bool wider)
{
    if (o->kind != PTX_O_VEC)
        return is_of_type(f, o, type, false, wider);
    const struct ptx_opnd *e = &f->opnd[o->first];
    for (unsigned k = 0; k < o->n; k++)
        if (e[k].kind != PTX_O_SINK && e[k].kind != PTX_O_REG && !is_of_type(f, &e[k], type, true, wider))
            return false;
    const struct ptx_opnd *typed = typed_register(f, o);
    return is_even(f, o, 0) && (!typed || is_of_type(f, typed, type, true, wider));
}

/* ---- matrices -------------------------------------------------------------------------------- */

static bool is_named(const struct ptx_opcode *oc, const char *name) { return !strncmp(oc->name, name, strlen(name)); }

/* In which registers the elements of a matrix may be, by the n-th type spelled; wmma of f16 spells those of d and c. */
static unsigned matrix_kinds(const struct ptx_opcode *oc, unsigned n)
{
    const bool wmma = is_named(oc, "wmma.mma"), groups = is_named(oc, "wgmma"), mma = !groups && !is_named(oc, "wmma");
    const bool halves = wmma && oc->ntype == 2;
    const unsigned type = halves ? (n == 0 ? oc->type[0] : n == 3 ? oc->type[1] : PTX_F16) : oc->type[n];
    const unsigned factor = oc->type[1];
    switch (type) {
    case PTX_F16: return PTX_KIND_BITS | PTX_KIND_HALF;
    case PTX_F32: /* sums of these factors are not checked */
        return mma && oc->is_sparse && (factor == PTX_F16 || factor == PTX_BF16 || factor == PTX_TF32)
                   ? PTX_KIND_ANY
                   : PTX_KIND_BITS | PTX_KIND_FLOAT;
    case PTX_S32: return PTX_KIND_BITS | PTX_KIND_INTEGER;
    case PTX_BF16:
    case PTX_TF32:
        return wmma || groups ? PTX_KIND_BITS | PTX_KIND_HALF : mma && oc->is_sparse ? PTX_KIND_ANY : PTX_KIND_BITS;
    case PTX_NONE: /* of 8, 6 and 4 bits */
        return groups ? PTX_KIND_BITS | PTX_KIND_HALF : oc->is_scaled ? PTX_KIND_BITS : PTX_KIND_ANY;
    case PTX_S8:
    case PTX_U8: return mma || groups ? PTX_KIND_ANY : PTX_KIND_BITS | PTX_KIND_INTEGER;
    case PTX_F64: return PTX_KIND_ANY;
    default: return wmma ? PTX_KIND_BITS | PTX_KIND_INTEGER : PTX_KIND_ANY;
    }
}

static bool is_matrix(const struct ptx_func *f, const struct ptx_opnd *o, unsigned kinds)
{
    if (o->kind != PTX_O_VEC)
        return o->kind != PTX_O_REG || ptx_type_kind(type_of(f, o)) & kinds;
    const struct ptx_opnd *typed = typed_register(f, o);
    return is_even(f, o, 0) && (!typed || ptx_type_kind(type_of(f, typed)) & kinds);
}

/* Number of the matrix whose letter stands at `at`. */
static unsigned count_matrices(const struct ptx_opcode *oc, const char *at)
{
    unsigned n = 0;
    for (const char *p = oc->operands; p < at; p++)
        n += *p == 'w' || *p == 'W';
    return n;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* The state space of the address whose letter stands at `at`. */
static unsigned address_space(const struct ptx_opcode *oc, const char *at)
{
    unsigned before = 0;
    if (*at == 's')
        return PTX_SP_SHARED;
    if (*at == 'G' || !oc->nspace)
        return *at == 'G' ? PTX_SP_GLOBAL : PTX_SP_NONE;
    for (const char *p = oc->operands; p < at; p++)
        before += *p == 'a' || *p == 'A';
    return oc->space[before < oc->nspace ? before : oc->nspace - 1U];
}

/* Whether the variable of an address may stand where this letter is; an address without one may. */
static bool fits_variable(const struct ptx_opcode *oc, const struct ptx_func *f, const struct ptx_opnd *o,
                          const char *at)
{
    const struct ptx_opnd *address = o->kind == PTX_O_VEC ? &f->opnd[o->first] : o;
    const struct ptx_var *v = address->sym >= 0 ? ptx_symbol(f, address->sym) : NULL;
    if (!v || !is_address(f, o))
        return true;
    switch (*at) {
    case 'e': return true;
    case 'c':
    case 'C':
    case 'd': return false;
    case 'x': return v->type == PTX_TEXREF || v->type == PTX_SAMPLERREF;
    case 'y': return v->type == PTX_SURFREF;
    default: return ptx_is_in_space(v, address_space(oc, at));
    }
}

/* {x, y, ..} behind the address of a texture, surface or tensor map. An array's number of a layer is an integer, of
 * whatever type the coordinates are. */
static bool has_coordinates(const struct ptx_opcode *oc, const struct ptx_func *f, const struct ptx_opnd *o,
                            char letter)
{
    const struct ptx_opnd *v = o->kind == PTX_O_VEC ? &f->opnd[o->first + o->n - 1] : NULL;
    const bool texture = letter == 'x';
    if (!v || v->kind != PTX_O_VEC)
        return true;
    const struct ptx_opnd *typed = texture && oc->is_array ? &f->opnd[v->first] : typed_register(f, v);
    const unsigned kinds = PTX_KIND_BITS | PTX_KIND_INTEGER;
    for (unsigned k = 0; k < v->n && !(texture && oc->ntype < 2); k++) {
        const struct ptx_opnd *e = &f->opnd[v->first + k];
        const unsigned more = texture && !oc->is_array ? oc->type[1] == PTX_F32 ? PTX_KIND_FLOAT : PTX_KIND_HALF : 0;
        if (e->kind == PTX_O_REG && !is_register(f, e, NARROW, e == typed ? kinds | more : PTX_KIND_ANY))
            return false;
    }
    return is_even(f, v, texture && oc->is_array);
}

/* Few instructions take no address in a register of less than 32 bits. */
static bool takes_narrow(const struct ptx_opcode *oc, const char *at, unsigned size)
{
    if (is_named(oc, "cp.async.bulk") && *at == 's')
        return size != 2;
    return !is_named(oc, "wmma") && !is_named(oc, "tcgen05") && !is_named(oc, "multimem") &&
           !(!oc->nspace && (is_named(oc, "ldmatrix") || is_named(oc, "stmatrix"))) &&
           !(at == oc->operands && (is_named(oc, "st.async") || is_named(oc, "red.async")));
}

/* A register as an address; those of tensor memory have 32 bits, of which tcgen05.mma takes no integers, and those of
 * tensor maps are not checked. */
static bool has_base(const struct ptx_opcode *oc, const struct ptx_func *f, const struct ptx_opnd *o, const char *at)
{
    const char letter = *at;
    const struct ptx_opnd *base = o->kind == PTX_O_VEC ? &f->opnd[o->first] : o;
    const unsigned type = type_of(f, base), kind = ptx_type_kind(type);
    if (base->reg < 0)
        return true;
    if (letter == 'e')
        return ptx_type_size(type) <= 8;
    if (base != o && letter != 'x' && letter != 'y')
        return true;
    switch (letter) {
    case 'C':
    case 'd': return kind == PTX_KIND_BITS && ptx_type_size(type) == NARROW;
    case 'c': return ptx_type_size(type) == NARROW && kind & (PTX_KIND_BITS | PTX_KIND_INTEGER | PTX_KIND_HALF);
    case 'A':
    case 'G': return ptx_type_size(type) == 8 && ptx_type_is_address(type);
    default:
        if (is_named(oc, "mbarrier") && !oc->nspace && ptx_type_size(type) == NARROW)
            return false;
        return ptx_type_is_address(type) &&
               (ptx_type_size(type) >= NARROW || takes_narrow(oc, at, ptx_type_size(type)));
    }
}

/* ---- letters --------------------------------------------------------------------------------- */

static bool fits_letter(const struct ptx_opcode *oc, const struct ptx_func *f, const struct ptx_opnd *o, const char *at)
{
    const unsigned last = oc->ntype ? oc->type[oc->ntype - 1U] : PTX_NONE;
    const unsigned whole = PTX_KIND_BITS | PTX_KIND_INTEGER;
    const bool brackets = is_address(f, o);
    if (brackets && (!has_base(oc, f, o, at) || !has_coordinates(oc, f, o, *at)))
        return false;
    if (o->kind == PTX_O_VEC && o->n == 1 &&
        !strchr("aAGsecCxywWTDfgq", *at)) /* {%r1} is %r1, as CUTLASS writes metadata */
        o = &f->opnd[o->first];
    switch (*at) {
    case 'a':
    case 's':
    case 'e':
    case 'c':
    case 'C':
    case 'x':
    case 'y':
    case 'G':
    case 'A': return brackets;
    case 'X': return is_register(f, o, 4, whole);
    case 'R': return is_register(f, o, 4, PTX_KIND_ANY);
    case 'Y': return is_register(f, o, 8, whole);
    case 'Z': return o->kind == PTX_O_SINK || is_register(f, o, 8, whole);
    case '_': return o->kind == PTX_O_SINK;
    case 'w': return o->kind == PTX_O_VEC && !brackets && is_matrix(f, o, matrix_kinds(oc, count_matrices(oc, at)));
    case 'W': return !brackets && is_matrix(f, o, matrix_kinds(oc, count_matrices(oc, at)));
    case 'm': return o->kind == PTX_O_VEC ? !brackets && is_matrix(f, o, matrix_kinds(oc, 1)) : is_integer(f, o, 8);
    case 'd': return brackets || is_integer(f, o, 8);
    case 'J': return is_register(f, o, 4, whole | PTX_KIND_HALF);
    case 'I': return is_register(f, o, 4, PTX_KIND_HALF) || is_integer(f, o, 4);
    case 'i': return is_integer(f, o, 4);
    case 'z': return is_integer(f, o, oc->has_hint ? 8 : 4) || is_integer(f, o, 4) || type_of(f, o) == PTX_PRED;
    case 'L':
    case 'l': return is_integer(f, o, 8);
    case 'H':
    case 'h': return is_integer(f, o, 2);
    case 'n': return o->kind == PTX_O_IMM && !o->is_real;
    case 't': return is_of_type(f, o, last, false, false);
    case 'T': return !brackets && is_list_of_type(f, o, last, true);
    case 'D': return !brackets && is_list_of_type(f, o, oc->type[0], false);
    case 'q':
        return is_list(f, o, 4, is_value) &&
               is_matrix(f, o, oc->type[1] == PTX_S32 ? whole | PTX_KIND_HALF : PTX_KIND_BITS | PTX_KIND_FLOAT);
    case 'f': return is_list(f, o, 4, is_value);
    case 'g': return is_list(f, o, 2, is_integer);
    case 'F': return is_register(f, o, 4, PTX_KIND_ANY) || (o->kind == PTX_O_IMM && o->is_real);
    case 'E': return is_register(f, o, 4, PTX_KIND_BITS | PTX_KIND_FLOAT) || o->kind == PTX_O_IMM;
    case 'p': return o->kind == PTX_O_SINK || type_of(f, o) == PTX_PRED;
    case 'v':
        if (!is_even(f, o, 0))
            return false;                                                        /* fall through */
    default: return o->kind != PTX_O_SREG && o->kind != PTX_O_SINK && !brackets; /* v, r */
    }
}

/* Letters that do not apply to this spelling, and the mark of what may be left out. */
static const char *skip_letters(const struct ptx_opcode *oc, const char *at, bool *optional)
{
    for (;; at++) {
        if (*at == '?')
            *optional = true;
        else if (!(*at == 'L' && !oc->has_hint) && !(*at == 'H' && !oc->has_mask))
            return at;
    }
}

/* Why the operand, or with NULL the end of the operands, does not fit at *at, which goes on; NULL if it does.
 * *space: of an address. */
const char *ptx_check_form_operand(const struct ptx_opcode *oc, const struct ptx_func *f, const struct ptx_opnd *o,
                                   const char **at, unsigned *space)
{
    bool optional = *at > oc->operands && memchr(oc->operands, '?', (size_t)(*at - oc->operands));
    *at = skip_letters(oc, *at, &optional);
    if (**at == '*')
        return NULL;
    if (!o)
        return **at && !optional ? "an operand is missing" : NULL;
    if (!**at)
        return "too many operands";
    const char *letter = (*at)++;
    if (!fits_letter(oc, f, o, letter))
        return "operand of the wrong kind";
    if (strchr("aAGs", *letter))
        *space = address_space(oc, letter);
    return fits_variable(oc, f, o, letter) ? NULL : ptx_foreign_space;
}
