/* Tier 1 emitter: reads C text by words, brackets and macros, as far as the cut of the prelude needs it. */
#include "ptx/tier1/emit/cut.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool in_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

struct span cut_skip(struct span s, size_t n) { return (struct span){s.p + n, s.n - n}; }

bool cut_same(struct span a, struct span b) { return a.n == b.n && !memcmp(a.p, b.p, a.n); }

size_t cut_blanks(struct span s)
{
    size_t n = 0;
    while (n < s.n && isspace((unsigned char)s.p[n]))
        n++;
    return n;
}

struct span cut_word(struct span s)
{
    size_t n = 0;
    while (n < s.n && in_word(s.p[n]))
        n++;
    return (struct span){s.p, n};
}

size_t cut_step(struct span s)
{
    if (s.p[0] == '/' && s.n > 1 && s.p[1] == '*') {
        const char *end = memmem(s.p + 2, s.n - 2, "*/", 2);
        return end ? (size_t)(end + 2 - s.p) : s.n;
    }
    if (s.p[0] != '"' && s.p[0] != '\'') {
        const struct span word = cut_word(s);
        return word.n ? word.n : 1;
    }
    size_t n = 1;
    while (n < s.n && s.p[n] != s.p[0])
        n += s.p[n] == '\\' ? 2 : 1;
    return n < s.n ? n + 1 : s.n;
}

size_t cut_closing(struct span s)
{
    int depth = 0;
    for (size_t n = 0; n < s.n; n += cut_step(cut_skip(s, n))) {
        depth += s.p[n] == '(' || s.p[n] == '{';
        depth -= s.p[n] == ')' || s.p[n] == '}';
        if (!depth)
            return n;
    }
    return s.n;
}

size_t cut_item(struct span s)
{
    int depth = 0;
    for (size_t n = 0; n < s.n; n += cut_step(cut_skip(s, n))) {
        depth += s.p[n] == '{';
        depth -= s.p[n] == '}';
        if (s.p[n] != '\n')
            continue;
        const char next = n + 1 < s.n ? s.p[n + 1] : '\n';
        const bool goes_on = s.p[0] == '#' ? s.p[n - 1] == '\\' : next == ' ' || next == '{' || next == '}' || depth;
        if (!goes_on)
            return n + 1;
    }
    return s.n;
}

size_t cut_paste(struct span s)
{
    const size_t n = cut_blanks(s);
    return n + 1 < s.n && s.p[n] == '#' && s.p[n + 1] == '#' ? n + 2 + cut_blanks(cut_skip(s, n + 2)) : 0;
}

/* The parts between the commas of no inner bracket. */
static unsigned split(struct span s, struct span part[12])
{
    unsigned count = 0;
    for (size_t n = 0, begin = 0; n <= s.n && count < 12;) {
        if (n == s.n || s.p[n] == ',') {
            begin += cut_blanks((struct span){s.p + begin, n - begin});
            part[count++] = (struct span){s.p + begin, n - begin};
            begin = ++n;
        } else if (s.p[n] == '(' || s.p[n] == '{') {
            n += cut_closing(cut_skip(s, n));
        } else {
            n += cut_step(cut_skip(s, n));
        }
    }
    return count;
}

bool cut_macro(struct span s, struct macro *m)
{
    static const char define[] = "#define ";
    const size_t size = sizeof define - 1;
    if (s.n <= size || memcmp(s.p, define, size) != 0)
        return false;
    s = cut_skip(s, size);
    *m = (struct macro){.name = cut_word(s)};
    s = cut_skip(s, m->name.n);
    if (s.n && s.p[0] == '(') {
        const size_t end = cut_closing(s);
        m->count = split((struct span){s.p + 1, end - 1}, m->parameter);
        s = cut_skip(s, end < s.n ? end + 1 : s.n);
    }
    m->body = s;
    return true;
}

char *cut_expand(const struct macro *m, struct span arguments, size_t *size)
{
    struct span argument[12];
    const unsigned count = split(arguments, argument);
    size_t room = m->body.n + 1, out = 0;
    for (size_t n = 0; n < m->body.n; n += cut_step(cut_skip(m->body, n)))
        room += arguments.n; /* more than enough */
    char *p = malloc(room);
    for (struct span s = m->body, word; p && s.n; s = cut_skip(s, word.n)) {
        const size_t paste = cut_paste(s);
        if (paste) {
            word.n = paste;
            continue;
        }
        word = (struct span){s.p, cut_step(s)};
        struct span put = word;
        for (unsigned k = 0; k < m->count && k < count; k++)
            if (cut_same(word, m->parameter[k]))
                put = argument[k];
        if (put.n == 1 && (put.p[0] == '\\' || put.p[0] == '\n'))
            put.p = " ";
        memcpy(p + out, put.p, put.n);
        out += put.n;
    }
    *size = out;
    return p;
}

enum cut_kind cut_next(struct span *s, struct cut_found *found)
{
    struct span word = {s->p, 0};
    while (s->n) {
        const char c = s->p[0];
        const size_t end = c == '(' || c == '{' ? cut_closing(*s) : 0;
        const size_t size = end ? (end < s->n ? end + 1 : s->n) : cut_step(*s);
        const struct span here = *s;
        *s = cut_skip(*s, size);
        if (c == '(' && word.n) {
            struct span next = *s;
            while (next.n && (isspace((unsigned char)next.p[0]) || next.p[0] == '/'))
                next = cut_skip(next, cut_step(next));
            *found = (struct cut_found){word, {here.p + 1, end - 1}};
            return next.n && next.p[0] == '{' ? CUT_FUNCTION : CUT_CALL;
        }
        if (!isspace((unsigned char)c))
            word = in_word(c) ? cut_word(here) : (struct span){here.p, 0};
    }
    return CUT_NONE;
}
