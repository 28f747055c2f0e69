/* Tier 1 emitter: C text as the cut of the prelude reads it (cut.c): spans, words, calls and macros. */
#ifndef CUMU_PTX_TIER1_EMIT_CUT_H
#define CUMU_PTX_TIER1_EMIT_CUT_H

#include <stdbool.h>
#include <stddef.h>

struct span { /* of a text that others own */
    const char *p;
    size_t n;
};

struct macro {
    struct span name, parameter[12], body;
    unsigned count; /* of parameters; 0 for a macro that is no function */
};

struct span cut_skip(struct span s, size_t n);
bool cut_same(struct span a, struct span b);
/* How much of the text the blanks, the name or number, the string, comment or other character in front take. */
size_t cut_blanks(struct span s);
struct span cut_word(struct span s);
size_t cut_step(struct span s);
/* Where the parenthesis or brace closes that stands in front; s.n: nowhere. */
size_t cut_closing(struct span s);
/* A directive or definition that begins a line, with the lines that continue it. Relies on the format of the prelude:
 * nothing but beginnings, braces, directives and comments stands in a line's first column. */
size_t cut_item(struct span s);
/* Behind the "##" that stands in front, if any. */
size_t cut_paste(struct span s);

/* Of "#define NAME(a, b) body"; false: it is another directive. */
bool cut_macro(struct span s, struct macro *m);
/* What the macro with these arguments stands for, pasted and in one line; malloc'ed. NULL: there is no memory. */
char *cut_expand(const struct macro *m, struct span arguments, size_t *size);

enum cut_kind {
    CUT_NONE,
    CUT_FUNCTION, /* word: its name */
    CUT_CALL      /* of something; word: its name; inner: its arguments */
};
struct cut_found {
    struct span word, inner;
};
/* The first definition of a function, or call outside of all braces, in the text, which it takes off. */
enum cut_kind cut_next(struct span *s, struct cut_found *found);

#endif
