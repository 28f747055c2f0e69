/* Rewrites C++ names of PyTorch's CUDA interface into torch_musa's. The name is not demangled: a scan finds
 * the identifiers, which are the only thing that changes, by stepping over everything else that has digits. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "gen/torch.h"

enum { DEPTH = 256 };

struct scan {
    struct arena *arena;
    const struct torch *torch;
    const char *p; /* next letter */
    char *out;
    size_t used, room;
    unsigned depth;
    char open[DEPTH]; /* what the next E closes: N I X J F Z, U for a lambda's parameters, L for L_Z */
};

static void copy(struct scan *s, const char *text, size_t n)
{
    if (s->used + n + 1 > s->room) {
        size_t room = 2 * (s->used + n + 1);
        char *grown = arena_alloc(s->arena, room);
        if (s->used)
            memcpy(grown, s->out, s->used);
        s->out = grown;
        s->room = room;
    }
    memcpy(s->out + s->used, text, n);
    s->used += n;
    s->out[s->used] = 0;
}

static void take(struct scan *s, size_t n)
{
    copy(s, s->p, n);
    s->p += n;
}

static void take_until(struct scan *s, char last)
{
    const char *end = strchr(s->p, last);
    take(s, end ? (size_t)(end - s->p) + 1 : strlen(s->p));
}

static const char *rename_identifier(const struct scan *s, const char *text)
{
    const struct torch *t = s->torch;
    for (unsigned i = 0; i < t->idents.count; i++)
        if (!strcmp(t->idents.at[i].from, text))
            return t->idents.at[i].to;
    for (unsigned i = 0; i < t->renames.count; i++) {
        const char *from = t->renames.at[i].from, *hit;
        size_t n = strlen(from);
        while ((hit = strstr(text, from)))
            text = arena_print(s->arena, "%.*s%s%s", (int)(hit - text), text, t->renames.at[i].to, hit + n);
    }
    return text;
}

static bool identifier(struct scan *s)
{
    char *text;
    unsigned long n = strtoul(s->p, &text, 10);
    if (!n || n > strlen(text))
        return false;
    const char *renamed = rename_identifier(s, arena_copy(s->arena, text, n));
    const char *length = arena_print(s->arena, "%zu", strlen(renamed));
    copy(s, length, strlen(length));
    copy(s, renamed, strlen(renamed));
    s->p = text + n;
    return true;
}

static bool push(struct scan *s, char what, size_t letters)
{
    if (s->depth == DEPTH)
        return false;
    s->open[s->depth++] = what;
    take(s, letters);
    return true;
}

static char inside(const struct scan *s) { return s->depth ? s->open[s->depth - 1] : 0; }

static bool step(struct scan *s);

/* The value of a literal: digits up to E. Its type comes before and may be a nested name. */
static bool literal(struct scan *s)
{
    if (s->p[1] == '_')
        return push(s, 'L', 2 + (s->p[2] == 'Z'));
    take(s, 1);
    unsigned depth = s->depth;
    do
        if (!*s->p || !step(s))
            return false;
    while (s->depth > depth);
    take_until(s, 'E');
    return true;
}

/* After E: what may follow the thing it closed. */
static bool closed(struct scan *s)
{
    if (!s->depth)
        return false;
    char what = s->open[--s->depth];
    take(s, 1);
    if (what == 'U') /* the number of a lambda */
        take_until(s, '_');
    else if (what == 'Z' && *s->p == 's')
        take(s, 1);
    else if (what == 'Z' && *s->p == 'd') {
        take(s, 1);
        take_until(s, '_');
    }
    return true;
}

/* In the place of a name a small letter begins an operator of two. */
static bool operator_place(const struct scan *s)
{
    static const char *const twins[] = {"aS", "aN", "dV", "eO", "lS", "mI", "mL", "oR", "pL", "rM", "rS"};
    if (inside(s) == 'N')
        return true;
    for (unsigned i = 0; inside(s) == 'X' && i < sizeof twins / sizeof *twins; i++)
        if (!strncmp(s->p, twins[i], 2))
            return true;
    return false;
}

/* Copies one component of a mangled C++ name (Itanium C++ ABI, "External Names"): only identifiers are rewritten,
 * but the others must be recognised to know where identifiers begin. False: a form that is not known, and the name
 * is left alone. */
static bool step(struct scan *s)
{
    char c = *s->p, next = s->p[1];
    if (isdigit((unsigned char)c))
        return identifier(s);
    switch (c) {
    case 'S':
        if (next == '_' || isdigit((unsigned char)next) || isupper((unsigned char)next))
            take_until(s, '_');
        else
            take(s, next ? 2 : 1);
        return true;
    case 'T':
        if (next == '_' || isdigit((unsigned char)next))
            take_until(s, '_');
        else
            take(s, 1);
        return true;
    case 'L':
        if (isdigit((unsigned char)next) && inside(s) == 'N') { /* a name of internal linkage */
            take(s, 1);
            return true;
        }
        return literal(s);
    case 'A': take_until(s, '_'); return true;
    case 'C': /* constructor, or a complex type */ take(s, isdigit((unsigned char)next) ? 2 : 1); return true;
    case 'D':
        if (next == 'v')
            take_until(s, '_');
        else if (next == 'T' || next == 't' || next == 'O')
            return push(s, 'X', 2);
        else
            take(s, 2);
        return true;
    case 'U':
        if (next == 'l')
            return push(s, 'U', 2);
        if (next == 't')
            take_until(s, '_');
        else
            take(s, 1);
        return true;
    case 'f': /* a parameter in an expression */
        if (inside(s) == 'X' && (next == 'p' || next == 'L'))
            take_until(s, '_');
        else
            take(s, operator_place(s) ? 2 : 1);
        return true;
    case '_': /* discriminator of a local name */
        if (next == '_') {
            take(s, 2);
            take_until(s, '_');
        } else
            take(s, next ? 2 : 1);
        return true;
    case 't': /* T{...} has an E of its own */
        if (next == 'l' && inside(s) == 'X')
            return push(s, 'X', 2);
        take(s, operator_place(s) ? 2 : 1);
        return true;
    case 'N':
    case 'I':
    case 'J':
    case 'F':
    case 'X':
    case 'Z': return push(s, c, 1);
    case 'E': return closed(s);
    case 'c':
        if (next == 'v' && operator_place(s)) { /* conversion: a type follows, whose letter is no operator */
            take(s, 2);
            take(s, strspn(s->p, "PRKOV"));
            if (islower((unsigned char)*s->p))
                take(s, 1);
            if (*s->p == '_' && inside(s) == 'X') /* of several expressions, with an E of their own */
                return push(s, 'X', 1);
            return true;
        }
        if (next == 'l' && inside(s) == 'X') /* a call in an expression has its own E */
            return push(s, 'X', 2);
        /* fall through */
    default: take(s, islower((unsigned char)c) && next && operator_place(s) ? 2 : 1); return true;
    }
}

/* _ZTV.. names a vtable, _ZThn16_.. a thunk, _ZGV.. a guard; the name itself follows. */
static void prefix(struct scan *s)
{
    take(s, 2);
    if (s->p[0] == 'T' && (s->p[1] == 'h' || s->p[1] == 'v')) {
        bool virtual = s->p[1] == 'v';
        take_until(s, '_');
        if (virtual)
            take_until(s, '_');
    } else if ((s->p[0] == 'T' || s->p[0] == 'G') && isupper((unsigned char)s->p[1]))
        take(s, 2);
    else if (islower((unsigned char)s->p[0]) && s->p[1])
        take(s, 2); /* an operator outside every class */
}

const char *mangle_to_musa(struct arena *a, const struct torch *t, const char *name, const char **bad)
{
    struct scan s = {.arena = a, .torch = t, .p = name};
    if (strncmp(name, "_Z", 2) != 0 || (!strncmp(name, "_ZGV", 4) && islower((unsigned char)name[4])))
        return name; /* C names stay, and those of vectorised mathematics */
    prefix(&s);
    while (*s.p && *s.p != '.')
        if (!step(&s))
            break;
    *bad = s.p;
    if ((*s.p && *s.p != '.') || s.depth)
        return NULL;
    copy(&s, s.p, strlen(s.p)); /* .constprop.0 and the like */
    return s.out;
}

bool is_mangled_data(const char *name)
{
    if (strncmp(name, "_Z", 2) != 0)
        return false;
    if (!strncmp(name, "_ZTV", 4) || !strncmp(name, "_ZTI", 4) || !strncmp(name, "_ZTS", 4) ||
        !strncmp(name, "_ZGV", 4))
        return true;
    /* A function's parameters follow its name; a variable ends with it. */
    size_t n = strlen(name);
    if (name[n - 1] != 'E') {
        const char *local = strrchr(name, 'E'); /* _ZZ..E5state: a static of a function */
        return !strncmp(name, "_ZZ", 3) && local && isdigit((unsigned char)local[1]);
    }
    if (name[2] != 'N')
        return false;
    struct arena scratch = {0};
    struct torch none = {0};
    struct scan s = {.arena = &scratch, .torch = &none, .p = name};
    take(&s, 2);
    do
        if (!step(&s))
            break;
    while (*s.p && s.depth);
    bool data = !*s.p && !s.depth;
    arena_free(&scratch);
    return data;
}
