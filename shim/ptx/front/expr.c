/* Constant expressions of PTX, and the conversion of a literal to the type that uses it. */
#include "ptx/front/front.h"

#include <string.h>

enum { MAX_NESTING = 100 }; /* of parentheses: the parser calls itself */

static struct ptx_num expr(struct ptx_lex *l, int min_level, int nesting);

static struct ptx_num integer(uint64_t v, bool is_unsigned)
{
    return (struct ptx_num){.bits = v, .is_unsigned = is_unsigned};
}

static double as_double(const struct ptx_num *n)
{
    double d;
    if (!n->is_float)
        return n->is_unsigned ? (double)n->bits : (double)(int64_t)n->bits;
    memcpy(&d, &n->bits, 8);
    return d;
}

static struct ptx_num from_double(double d)
{
    struct ptx_num n = {.is_float = true};
    memcpy(&n.bits, &d, 8);
    return n;
}

bool ptx_starts_expr(const struct ptx_lex *l)
{
    return l->tok.kind == PTX_T_INT || l->tok.kind == PTX_T_FLOAT || ptx_is(l, '-') || ptx_is(l, '+') ||
           ptx_is(l, '!') || ptx_is(l, '~') || ptx_is(l, '(') || ptx_is_word(l, "WARP_SZ");
}

/* (.s64) or (.u64) in front of an expression */
static bool accept_cast(struct ptx_lex *l, bool *to_unsigned)
{
    if (!ptx_is_word(l, ".s64") && !ptx_is_word(l, ".u64"))
        return false;
    *to_unsigned = l->tok.s[1] == 'u';
    ptx_next(l);
    ptx_expect(l, ')', "after a cast");
    return true;
}

/* Reads a primary of a constant expression with the operators before it: a number, WARP_SZ, a cast to .s64 or .u64,
 * a bracket. PTX constants are 64 bits wide; an operator keeps "unsigned" only where C would. */
static struct ptx_num unary(struct ptx_lex *l, int nesting)
{
    struct ptx_num n;
    if (nesting > MAX_NESTING)
        ptx_fail(l->ctx, l->tok.line, l->tok.s, l->tok.len, "expression nested too deeply");
    if (l->tok.kind == PTX_T_INT || l->tok.kind == PTX_T_FLOAT) {
        n = ptx_number(l, &l->tok);
        ptx_next(l);
        return n;
    }
    if (ptx_accept_word(l, "WARP_SZ"))
        return integer(32, false);
    if (ptx_accept(l, '(')) {
        bool to_unsigned;
        if (accept_cast(l, &to_unsigned)) {
            n = unary(l, nesting + 1);
            if (n.is_float)
                ptx_fail(l->ctx, l->tok.line, "(.s64)", 6, "cast of a float constant");
            return integer(n.bits, to_unsigned);
        }
        n = expr(l, 0, nesting + 1);
        ptx_expect(l, ')', "after an expression");
        return n;
    }
    char op = l->tok.c;
    if (l->tok.kind != PTX_T_PUNCT || l->tok.len != 1 || !strchr("-+!~", op))
        ptx_unexpected(l, "a constant");
    ptx_next(l);
    n = unary(l, nesting + 1);
    if (op == '+')
        return n;
    if (op == '!')
        return integer(n.is_float ? as_double(&n) == 0 : !n.bits, false);
    if (n.is_float && op == '~')
        ptx_fail(l->ctx, l->tok.line, "~", 1, "'~' of a float constant");
    if (n.is_float) {
        n.bits ^= (uint64_t)1 << 63;
        n.f32 ^= (uint32_t)1 << 31;
        return n;
    }
    return integer(op == '~' ? ~n.bits : 0 - n.bits, op == '~' && n.is_unsigned);
}

static const struct {
    char text[3];
    uint8_t level;
} operators[] = {{"||", 1}, {"&&", 2}, {"|", 3},  {"^", 4},  {"&", 5}, {"==", 6}, {"!=", 6}, {"<", 7},  {"<=", 7},
                 {">", 7},  {">=", 7}, {"<<", 8}, {">>", 8}, {"+", 9}, {"-", 9},  {"*", 10}, {"/", 10}, {"%", 10}};

static int level_of(const struct ptx_tok *t)
{
    if (t->kind != PTX_T_PUNCT || t->c == ',' || t->c == ';' || !strchr("|^&=!<>+-*/%", t->c))
        return 0;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (strlen(operators[i].text) == t->len && !memcmp(operators[i].text, t->s, t->len))
            return operators[i].level;
    return 0;
}

/* Operator as one number: '+' or '<' * 256 + '<'. */
#define OP2(a, b) ((a)*256 + (b))

static struct ptx_num apply_float(struct ptx_lex *l, const struct ptx_tok *t, int op, double a, double b)
{
    switch (op) {
    case '+': return from_double(a + b);
    case '-': return from_double(a - b);
    case '*': return from_double(a * b);
    case '/': return from_double(a / b);
    case '<': return integer(a < b, false);
    case '>': return integer(a > b, false);
    case OP2('<', '='): return integer(a <= b, false);
    case OP2('>', '='): return integer(a >= b, false);
    case OP2('=', '='): return integer(a == b, false);
    case OP2('!', '='): return integer(a != b, false);
    default: ptx_fail(l->ctx, t->line, t->s, t->len, "operator does not take float constants");
    }
}

/* Computes one binary operation on constants. Integers are 64 bits and unsigned as soon as one side is; shifts of 64
 * and more give 0 or the sign, and INT64_MIN / -1 must not trap here, either. */
static struct ptx_num apply(struct ptx_lex *l, const struct ptx_tok *t, const struct ptx_num *x,
                            const struct ptx_num *y)
{
    int op = t->len == 1 ? t->s[0] : OP2(t->s[0], t->s[1]);
    if (x->is_float || y->is_float)
        return apply_float(l, t, op, as_double(x), as_double(y));
    uint64_t a = x->bits, b = y->bits;
    int64_t sa = (int64_t)a, sb = (int64_t)b;
    bool u = x->is_unsigned || y->is_unsigned;
    switch (op) {
    case '+': return integer(a + b, u);
    case '-': return integer(a - b, u);
    case '*': return integer(a * b, u);
    case '/':
    case '%':
        if (!b)
            ptx_fail(l->ctx, t->line, t->s, t->len, "division by zero in a constant");
        if (u)
            return integer(op == '/' ? a / b : a % b, true);
        if (sb == -1)
            return integer(op == '/' ? 0 - a : 0, false);
        return integer((uint64_t)(op == '/' ? sa / sb : sa % sb), false);
    case '&': return integer(a & b, u);
    case '|': return integer(a | b, u);
    case '^': return integer(a ^ b, u);
    case OP2('<', '<'): return integer(b > 63 ? 0 : a << b, x->is_unsigned);
    case OP2('>', '>'):
        if (x->is_unsigned)
            return integer(b > 63 ? 0 : a >> b, true);
        return integer((uint64_t)(sa >> (b > 63 ? 63 : b)), false);
    case '<': return integer(u ? a < b : sa < sb, false);
    case '>': return integer(u ? a > b : sa > sb, false);
    case OP2('<', '='): return integer(u ? a <= b : sa <= sb, false);
    case OP2('>', '='): return integer(u ? a >= b : sa >= sb, false);
    case OP2('=', '='): return integer(a == b, false);
    case OP2('!', '='): return integer(a != b, false);
    case OP2('&', '&'): return integer(a && b, false);
    default: return integer(a || b, false);
    }
}

static struct ptx_num expr(struct ptx_lex *l, int min_level, int nesting)
{
    struct ptx_num left = unary(l, nesting);
    int level;
    while ((level = level_of(&l->tok)) > min_level) {
        struct ptx_tok op = l->tok;
        ptx_next(l);
        struct ptx_num right = expr(l, level, nesting + 1);
        left = apply(l, &op, &left, &right);
    }
    if (!min_level && ptx_is(l, '?')) {
        ptx_next(l);
        struct ptx_num a = expr(l, 0, nesting + 1);
        ptx_expect(l, ':', "in a conditional constant");
        struct ptx_num b = expr(l, 0, nesting + 1);
        return (left.is_float ? as_double(&left) != 0 : left.bits != 0) ? a : b;
    }
    return left;
}

struct ptx_num ptx_const_expr(struct ptx_lex *l) { return expr(l, 0, 0); }

static uint64_t bounded(struct ptx_lex *l, const char *what, uint64_t min, uint64_t max, int level)
{
    struct ptx_tok t = l->tok;
    struct ptx_num n = expr(l, level, 0);
    if (n.is_float || (!n.is_unsigned && (int64_t)n.bits < 0) || n.bits < min || n.bits > max)
        ptx_fail(l->ctx, t.line, t.s, t.len, "bad %s; expected a number from %llu to %llu", what,
                 (unsigned long long)min, (unsigned long long)max);
    return n.bits;
}

uint64_t ptx_const_int(struct ptx_lex *l, const char *what, uint64_t min, uint64_t max)
{
    return bounded(l, what, min, max, 0);
}

uint64_t ptx_const_count(struct ptx_lex *l, const char *what, uint64_t min, uint64_t max)
{
    return bounded(l, what, min, max, 7); /* binds tighter than '>' */
}

/* What ptxas takes: float literals for float operands and for untyped ones of the literal's own
 * size (0f is 32 bits wide, 0d and decimal ones 64), integers for the rest. */
bool ptx_imm_bits(const struct ptx_num *n, unsigned type, uint64_t *bits)
{
    if (n->is_float) {
        float f = (float)as_double(n);
        uint32_t f32;
        memcpy(&f32, &f, 4);
        if (n->is_f32)
            f32 = n->f32;
        bool wide = type == PTX_F64 || (type == PTX_B64 && !n->is_f32);
        *bits = wide ? n->bits : f32;
        return wide || type == PTX_F32 || type == PTX_TF32 || (type == PTX_B32 && n->is_f32);
    }
    unsigned size = ptx_type_size(type);
    *bits = size >= 8 ? n->bits : n->bits & (((uint64_t)1 << 8 * size) - 1);
    if (type == PTX_PRED)
        *bits = n->bits != 0;
    return !ptx_type_is_float(type);
}
