/* Tokens of PTX text, the fast skip over bodies, and the scoped symbol table. */
#ifndef CUMU_PTX_LEX_H
#define CUMU_PTX_LEX_H

#include "ptx/arena.h"

enum ptx_tok_kind {
    PTX_T_EOF,
    PTX_T_IDENT,  /* foo, %r1, $L__BB0, _ */
    PTX_T_DOT,    /* .reg, .f32, .L2::128B: text includes the dot */
    PTX_T_INT,    /* as written, sign not included */
    PTX_T_FLOAT,  /* 1.5e3, 0f3F800000, 0d3FF0000000000000 */
    PTX_T_STRING, /* without the quotes */
    PTX_T_PUNCT   /* one character, or one of << >> <= >= == != && || */
};

struct ptx_tok {
    const char *s;
    uint32_t len, line;
    uint8_t kind;
    char c; /* PUNCT: its first character; else 0 */
};

struct ptx_lex {
    struct ptx_ctx *ctx;
    const char *p, *end; /* text after the current token; *end is NUL */
    uint32_t line;
    struct ptx_tok tok; /* the current token */
};

void ptx_lex_start(struct ptx_lex *l, struct ptx_ctx *c, const char *s, size_t len, uint32_t line);
void ptx_next(struct ptx_lex *l);
/* Current token is the first word of an opcode: length of all of it ("ld.global.L2::128B.v2.u32");
 * the token behind it becomes current. */
size_t ptx_opcode_span(struct ptx_lex *l);
/* Current token is this punctuation / this word? accept consumes it, expect fails without it. */
bool ptx_is(const struct ptx_lex *l, char c);
bool ptx_is_word(const struct ptx_lex *l, const char *word);
bool ptx_accept(struct ptx_lex *l, char c);
bool ptx_accept_word(struct ptx_lex *l, const char *word);
void ptx_expect(struct ptx_lex *l, char c, const char *where);
/* Current token must be an identifier; returns it and moves on. */
struct ptx_tok ptx_ident(struct ptx_lex *l, const char *what);
/* Is the next character, after blanks, a colon that ends a label? Does not move. */
bool ptx_colon_follows(const struct ptx_lex *l);
/* Current token is '{': moves just behind the matching '}'; returns the span in between. Strings
 * and comments are respected. */
const char *ptx_skip_braces(struct ptx_lex *l, size_t *len);
_Noreturn void ptx_unexpected(struct ptx_lex *l, const char *expected);

/* Value of an integer or float literal token: bits of a 64-bit integer or of a double. A 0f literal
 * gives the float's bits in *f32 and *is_f32. */
struct ptx_num {
    uint64_t bits; /* integer value, or bits of the double */
    bool is_float, is_unsigned, is_f32;
    uint32_t f32; /* exact bits of a 0f literal */
};
struct ptx_num ptx_number(struct ptx_lex *l, const struct ptx_tok *t);

/* Names with scopes. Entries of inner scopes shadow outer ones until ptx_scope_leave. */
struct ptx_sym {
    const char *s;
    uint32_t len, hash;
    uint32_t scope;        /* depth at which it was declared */
    uint8_t kind;          /* caller's */
    bool range;            /* name<n>: found as such alone */
    int32_t id;            /* caller's */
    uint32_t count;        /* caller's: size of a register range */
    int32_t *map;          /* caller's: number in range -> register + 1 */
    struct ptx_sym *next;  /* same bucket, newest first */
    struct ptx_sym *older; /* declaration order, to leave a scope */
};
struct ptx_symtab {
    struct ptx_ctx *ctx;
    struct ptx_sym **bucket;
    uint32_t nbucket, count, depth;
    struct ptx_sym *newest;
};
uint32_t ptx_hash(const char *s, size_t len);
void ptx_symtab_start(struct ptx_symtab *t, struct ptx_ctx *c);
/* Entry with this name in the current scope, created when absent; *fresh tells which. */
struct ptx_sym *ptx_sym_add(struct ptx_symtab *t, const char *s, size_t len, bool *fresh);
struct ptx_sym *ptx_sym_find(const struct ptx_symtab *t, const char *s, size_t len);
/* The same of ranges, name<n>, which stand beside names. */
struct ptx_sym *ptx_sym_add_range(struct ptx_symtab *t, const char *s, size_t len, bool *fresh);
struct ptx_sym *ptx_sym_find_range(const struct ptx_symtab *t, const char *s, size_t len);
struct ptx_sym *ptx_sym_hidden(const struct ptx_sym *e); /* what it shadows, or NULL */
void ptx_scope_leave(struct ptx_symtab *t);              /* depth must be > 0; ++t->depth enters one */

#endif
