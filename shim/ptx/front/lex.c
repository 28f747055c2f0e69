/* PTX tokens and the brace skip that makes opening an 11 MB module cheap. */
#include "ptx/front/lex.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

enum { WORD = 1, DIGIT = 2, BLANK = 4, BODY = 8 }; /* BODY: stops the brace skip */

#define W8 WORD, WORD, WORD, WORD, WORD, WORD, WORD, WORD
// clang-format off
static const uint8_t class_of[256] = {
    [0] = BODY, ['\t'] = BLANK, ['\r'] = BLANK, ['\f'] = BLANK, ['\v'] = BLANK, [' '] = BLANK,
    ['\n'] = BLANK | BODY, ['{'] = BODY, ['}'] = BODY, ['"'] = BODY, ['/'] = BODY,
    ['$'] = WORD, ['%'] = WORD, ['_'] = WORD,
    ['0'] = WORD | DIGIT, WORD | DIGIT, WORD | DIGIT, WORD | DIGIT, WORD | DIGIT, WORD | DIGIT,
    WORD | DIGIT, WORD | DIGIT, WORD | DIGIT, WORD | DIGIT,
    ['A'] = W8, W8, W8, WORD, WORD, ['a'] = W8, W8, W8, WORD, WORD
};
// clang-format on

static bool is(char c, int cls) { return class_of[(unsigned char)c] & cls; }

/* Behind a comment that starts at p ("/" followed by "/" or "*"), counting lines. */
static const char *skip_comment(struct ptx_lex *l, const char *p)
{
    if (p[1] == '/') {
        const char *nl = memchr(p, '\n', (size_t)(l->end - p));
        return nl ? nl : l->end;
    }
    uint32_t line = l->line;
    for (p += 2; p < l->end; p++) {
        if (*p == '\n')
            l->line++;
        else if (*p == '*' && p[1] == '/')
            return p + 2;
    }
    ptx_fail(l->ctx, line, "/*", 2, "comment is not closed");
}

static const char *skip_blank(struct ptx_lex *l, const char *p)
{
    for (;;) {
        while (is(*p, BLANK)) {
            if (*p == '\n')
                l->line++;
            p++;
        }
        if (*p == '/' && (p[1] == '/' || p[1] == '*')) {
            p = skip_comment(l, p);
        } else if (*p == '#' || (*p == '@' && p[1] == '@')) {
            /* line markers of the C preprocessor and DWARF lines of very old compilers */
            const char *nl = memchr(p, '\n', (size_t)(l->end - p));
            p = nl ? nl : l->end;
        } else {
            return p;
        }
    }
}

void ptx_lex_start(struct ptx_lex *l, struct ptx_ctx *c, const char *s, size_t len, uint32_t line)
{
    *l = (struct ptx_lex){.ctx = c, .p = s, .end = s + len, .line = line};
    ptx_next(l);
}

/* The end of the number at p; its kind goes into the token. 0f and 0d before hexadecimal digits are the bits of a
 * float and of a double. A dot before a word is not part of it: it begins a modifier. */
static const char *lex_number(struct ptx_lex *l, const char *p)
{
    struct ptx_tok *t = &l->tok;
    t->kind = PTX_T_INT;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X' || p[1] == 'b' || p[1] == 'B')) {
        while (is(*p, WORD))
            p++;
        return p;
    }
    if (p[0] == '0' && (p[1] == 'f' || p[1] == 'F' || p[1] == 'd' || p[1] == 'D')) {
        t->kind = PTX_T_FLOAT;
        while (is(*p, WORD))
            p++;
        return p;
    }
    while (is(*p, DIGIT))
        p++;
    if (*p == 'U' || *p == 'u')
        return p + 1;
    if (*p == '.' && !(is(p[1], WORD) && !is(p[1], DIGIT))) {
        t->kind = PTX_T_FLOAT;
        for (p++; is(*p, DIGIT);)
            p++;
    }
    if (*p == 'e' || *p == 'E') {
        const char *q = p + 1 + (p[1] == '+' || p[1] == '-');
        if (is(*q, DIGIT)) {
            t->kind = PTX_T_FLOAT;
            for (p = q; is(*p, DIGIT);)
                p++;
        }
    }
    return p;
}

/* Reads the next token. `%` before a word character belongs to a register's name, else it is the remainder; a dot
 * begins a directive or modifier unless a digit follows; `::` is part of a modifier. */
void ptx_next(struct ptx_lex *l)
{
    const char *p = skip_blank(l, l->p);
    struct ptx_tok *t = &l->tok;
    t->s = p;
    t->line = l->line;
    t->c = 0;
    if (p >= l->end) {
        t->kind = PTX_T_EOF;
        p = l->end;
    } else if (is(*p, DIGIT)) {
        p = lex_number(l, p);
    } else if (is(*p, WORD) && (*p != '%' || is(p[1], WORD))) { /* else: the remainder operator */
        t->kind = PTX_T_IDENT;
        while (is(*++p, WORD)) {
        }
    } else if (*p == '.' && is(p[1], WORD) && !is(p[1], DIGIT)) {
        t->kind = PTX_T_DOT;
        for (p++; is(*p, WORD) || (p[0] == ':' && p[1] == ':' && is(p[2], WORD) && p++);)
            p++;
    } else if (*p == '.' && is(p[1], DIGIT)) { /* .5 */
        p = lex_number(l, p);
    } else if (*p == '"') {
        t->kind = PTX_T_STRING;
        t->s = ++p;
        while (p < l->end && *p != '"' && *p != '\n')
            p += 1 + (*p == '\\' && p + 1 < l->end && p[1] != '\n');
        if (p >= l->end || *p != '"')
            ptx_fail(l->ctx, t->line, t->s - 1, (size_t)(p - t->s + 1), "string is not closed");
        t->len = (uint32_t)(p - t->s);
        l->p = p + 1;
        return;
    } else {
        t->kind = PTX_T_PUNCT;
        t->c = *p;
        if (!*p)
            ptx_fail(l->ctx, t->line, "", 0, "NUL byte in the text");
        bool two = (p[1] == *p && strchr("<>=&|", *p)) || (p[1] == '=' && strchr("<>=!", *p));
        p += two ? 2 : 1;
    }
    t->len = (uint32_t)(p - t->s);
    l->p = p;
}

size_t ptx_opcode_span(struct ptx_lex *l)
{
    const char *s = l->tok.s, *p = l->p;
    while ((*p == '.' && is(p[1], WORD)) || is(*p, WORD) || (p[0] == ':' && p[1] == ':'))
        p += 1 + (*p == ':');
    l->p = p;
    ptx_next(l);
    return (size_t)(p - s);
}

bool ptx_is(const struct ptx_lex *l, char c) { return l->tok.kind == PTX_T_PUNCT && l->tok.c == c && l->tok.len == 1; }

bool ptx_is_word(const struct ptx_lex *l, const char *word)
{
    return (l->tok.kind == PTX_T_IDENT || l->tok.kind == PTX_T_DOT) && l->tok.len == strlen(word) &&
           !memcmp(l->tok.s, word, l->tok.len);
}

bool ptx_accept(struct ptx_lex *l, char c)
{
    if (!ptx_is(l, c))
        return false;
    ptx_next(l);
    return true;
}

bool ptx_accept_word(struct ptx_lex *l, const char *word)
{
    if (!ptx_is_word(l, word))
        return false;
    ptx_next(l);
    return true;
}

void ptx_unexpected(struct ptx_lex *l, const char *expected)
{
    if (l->tok.kind == PTX_T_EOF)
        ptx_fail(l->ctx, l->tok.line, "end of text", 11, "text ends; expected %s", expected);
    ptx_fail(l->ctx, l->tok.line, l->tok.s, l->tok.len, "unexpected; expected %s", expected);
}

void ptx_expect(struct ptx_lex *l, char c, const char *where)
{
    if (ptx_accept(l, c))
        return;
    char text[96] = "'?' ";
    text[1] = c;
    strncat(text, where, sizeof text - 5);
    ptx_unexpected(l, text);
}

struct ptx_tok ptx_ident(struct ptx_lex *l, const char *what)
{
    if (l->tok.kind != PTX_T_IDENT)
        ptx_unexpected(l, what);
    struct ptx_tok t = l->tok;
    ptx_next(l);
    return t;
}

bool ptx_colon_follows(const struct ptx_lex *l)
{
    const char *p = l->p;
    while (is(*p, BLANK))
        p++;
    return p[0] == ':' && p[1] != ':';
}

/* The body of a function is skipped when its module is opened and parsed when it is used: only braces, comments and
 * strings count, and `class_of` says which characters can begin one. */
const char *ptx_skip_braces(struct ptx_lex *l, size_t *len)
{
    const char *p = l->p, *body = p, *end = l->end;
    struct ptx_tok open = l->tok;
    for (unsigned depth = 1; depth;) {
        while (!(class_of[(unsigned char)*p] & BODY))
            p++;
        switch (*p) {
        case '\n':
            l->line++;
            p++;
            break;
        case '{':
            depth++;
            p++;
            break;
        case '}':
            depth--;
            p++;
            break;
        case '/': p = p[1] == '/' || p[1] == '*' ? skip_comment(l, p) : p + 1; break;
        case '"':
            for (p++; p < end && *p != '"' && *p != '\n'; p++)
                p += *p == '\\' && p + 1 < end;
            p += p < end && *p == '"';
            break;
        default: /* NUL */
            if (p >= end)
                ptx_fail(l->ctx, open.line, "{", 1, "no matching '}'");
            p++;
        }
    }
    *len = (size_t)(p - 1 - body);
    l->p = p;
    ptx_next(l);
    return body;
}

static unsigned digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return (unsigned)(c - '0');
    if ((c | 32) >= 'a' && (c | 32) <= 'f')
        return (unsigned)((c | 32) - 'a' + 10);
    return 99;
}

/* Digits in a base; fails when one does not belong or the value passes 64 bits. */
static uint64_t digits(struct ptx_lex *l, const struct ptx_tok *t, const char *s, const char *end, unsigned base)
{
    uint64_t v = 0;
    if (s == end)
        ptx_fail(l->ctx, t->line, t->s, t->len, "bad number: no digits");
    for (; s < end; s++) {
        unsigned d = digit_value(*s);
        if (d >= base)
            ptx_fail(l->ctx, t->line, t->s, t->len, "bad number: '%c' is not a digit of base %u", *s, base);
        if (v > (UINT64_MAX - d) / base)
            ptx_fail(l->ctx, t->line, t->s, t->len, "number does not fit in 64 bits");
        v = v * base + d;
    }
    return v;
}

/* The process's locale belongs to the application and may have a decimal comma. */
static double decimal(struct ptx_lex *l, const struct ptx_tok *t)
{
    char *text = ptx_strdup(l->ctx, t->s, t->len);
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double d = c ? strtod_l(text, NULL, c) : strtod(text, NULL);
    if (c)
        freelocale(c);
    return d;
}

/* The value of a number token. Decimals are read as doubles; 0f keeps its 32 bits as well, since a signalling NaN
 * would not survive the way through a double. */
struct ptx_num ptx_number(struct ptx_lex *l, const struct ptx_tok *t)
{
    struct ptx_num n = {0};
    const char *s = t->s, *end = s + t->len;
    if (t->kind == PTX_T_FLOAT) {
        n.is_float = true;
        double d;
        if (t->len > 2 && s[0] == '0' && (s[1] | 32) == 'f') {
            if (t->len != 10)
                ptx_fail(l->ctx, t->line, t->s, t->len, "bad number: 0f takes 8 hex digits");
            n.is_f32 = true;
            n.f32 = (uint32_t)digits(l, t, s + 2, end, 16);
            float f;
            memcpy(&f, &n.f32, 4);
            d = f;
        } else if (t->len > 1 && s[0] == '0' && (s[1] | 32) == 'd') {
            if (t->len != 18)
                ptx_fail(l->ctx, t->line, t->s, t->len, "bad number: 0d takes 16 hex digits");
            n.bits = digits(l, t, s + 2, end, 16);
            return n;
        } else {
            d = decimal(l, t);
        }
        memcpy(&n.bits, &d, 8);
        return n;
    }
    if (end[-1] == 'U' || end[-1] == 'u') {
        n.is_unsigned = true;
        end--;
    }
    if (t->len > 1 && s[0] == '0' && (s[1] | 32) == 'x')
        n.bits = digits(l, t, s + 2, end, 16);
    else if (t->len > 1 && s[0] == '0' && (s[1] | 32) == 'b')
        n.bits = digits(l, t, s + 2, end, 2);
    else if (end - s > 1 && s[0] == '0')
        n.bits = digits(l, t, s + 1, end, 8);
    else
        n.bits = digits(l, t, s, end, 10);
    if (n.bits >> 63)
        n.is_unsigned = true;
    return n;
}
