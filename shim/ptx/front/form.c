/* Whether an instruction is spelled as one of the forms of its name (forms.def): modifiers that are missing, foreign or
 * exclude each other. form_operand.c has its operands. */
#include "ptx/front/front.h"

#include <stdio.h>
#include <string.h>

static const struct form {
    const char *name, *modifiers, *operands;
} forms[] = {
#define FORM(name, modifiers, operands) {name, modifiers, operands},
#include "ptx/front/forms.def"
#undef FORM
};

enum { MOST = 24 };

struct word {
    const char *s;
    size_t len;
    bool is_type;
};

struct spelling { /* of one instruction: its modifiers behind the name */
    struct word word[MOST];
    unsigned n;
};

struct misfit {   /* why the form that fits best does not */
    unsigned fit; /* groups that fitted up to there */
    const char *what;
    size_t len;
    bool lacks;
};

/* One alternative of a group; a star stands for the rest, or for anything up to what follows it. */
static bool fits(const char *p, const char *end, const char *s, size_t len)
{
    for (; p < end && *p != '*'; p++, s++, len--)
        if (!len || *p != *s)
            return false;
    if (p == end)
        return !len;
    for (size_t k = 0; k <= len; k++)
        if (fits(p + 1, end, s + k, len - k))
            return true;
    return false;
}

static bool fits_group(const char *p, const char *end, const struct word *w)
{
    for (const char *stop; p < end; p = stop + 1) {
        stop = memchr(p, '|', (size_t)(end - p));
        stop = stop ? stop : end;
        if (fits(p, stop, w->s, w->len))
            return true;
    }
    return false;
}

static bool is_word(const struct word *w, const char *s, size_t len) { return w->len == len && !memcmp(w->s, s, len); }

static bool is_one_of(const struct word *w, const char *const *words)
{
    for (; *words; words++)
        if (is_word(w, *words, strlen(*words)))
            return true;
    return false;
}

/* Types that only matrices have are not among those of registers. */
static bool is_type(const struct word *w)
{
    static const char *const matrix[] = {"e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0", "ue4m3", NULL};
    return is_one_of(w, matrix) || ptx_type_find(w->s, w->len) != PTX_NONE;
}

/* The state space that a word names, or PTX_SP_NONE. A copy says where to, then where from. */
static unsigned space_of(const struct word *w)
{
    static const struct {
        const char *name;
        unsigned space;
    } spaces[] = {{"global", PTX_SP_GLOBAL},      {"shared", PTX_SP_SHARED},
                  {"shared::cta", PTX_SP_SHARED}, {"shared::cluster", PTX_SP_SHARED},
                  {"const", PTX_SP_CONST},        {"local", PTX_SP_LOCAL},
                  {"param", PTX_SP_PARAM},        {"param::entry", PTX_SP_PARAM}};
    for (unsigned k = 0; k < sizeof spaces / sizeof spaces[0]; k++)
        if (is_word(w, spaces[k].name, strlen(spaces[k].name)))
            return spaces[k].space;
    return PTX_SP_NONE;
}

/* Modifiers between s and end, which begins with a dot. What ptxas takes twice without a word stands once. NULL, or the
 * one that may not be repeated. */
static const struct word *split(const char *s, const char *end, struct spelling *sp)
{
    static const char *const idle[] = {"sync", "approx", "sat", "satfinite", "relu", "NaN", "shiftamt", "cc", NULL};
    static const char *const layouts[] = {"row", "col", NULL};
    for (const char *dot; s < end; s = dot) {
        s++;
        dot = memchr(s, '.', (size_t)(end - s));
        dot = dot ? dot : end;
        if (sp->n == MOST)
            return &sp->word[MOST - 1];
        struct word *w = &sp->word[sp->n++];
        *w = (struct word){.s = s, .len = (size_t)(dot - s)};
        w->is_type = is_type(w);
        for (unsigned k = 0; k + 1 < sp->n && !w->is_type && !is_one_of(w, layouts); k++)
            if (is_word(&sp->word[k], w->s, w->len)) {
                if (!is_one_of(w, idle))
                    return w;
                sp->n--;
                break;
            }
    }
    return NULL;
}

/* The word of the spelling that a group of the form takes, or -1. Types and spaces are taken in order. */
static int find_word(const struct spelling *sp, uint32_t used, const char *group, const char *end)
{
    const bool type = *group == '.';
    bool spaces = false; /* one was passed over */
    for (unsigned k = 0; k < sp->n; k++) {
        if (used >> k & 1 || sp->word[k].is_type != type)
            continue;
        if (fits_group(group + type, end, &sp->word[k]))
            return spaces && space_of(&sp->word[k]) ? -1 : (int)k;
        if (type)
            break;
        spaces |= space_of(&sp->word[k]) != PTX_SP_NONE;
    }
    return -1;
}

static bool match(const struct form *f, const struct spelling *sp, struct misfit *best)
{
    uint32_t used = 0;
    struct misfit m = {0};
    for (const char *g = f->modifiers; *g;) {
        const bool optional = *g == '[';
        const char *end = g + strcspn(g, " "), *from = g + optional, *to = end - optional;
        const int k = find_word(sp, used, from, to);
        if (k >= 0) {
            used |= (uint32_t)1 << k;
            m.fit += !m.what;
        } else if (!optional && !m.what) {
            m = (struct misfit){m.fit, from, (size_t)(to - from), true};
        }
        g = end + (*end == ' ');
    }
    for (unsigned k = 0; k < sp->n && !m.what; k++)
        if (!(used >> k & 1))
            m = (struct misfit){m.fit, sp->word[k].s, sp->word[k].len, false};
    if (m.what && (!best->what || m.fit > best->fit))
        *best = m;
    return !m.what;
}

/* Length of the longest name that the spelling begins with; 0 = none. */
static size_t find_name(const char *s, size_t len)
{
    size_t best = 0;
    for (const struct form *f = forms; f < forms + sizeof forms / sizeof forms[0]; f++) {
        const size_t n = *f->name == *s ? strlen(f->name) : 0;
        if (n > best && n <= len && !memcmp(f->name, s, n) && (n == len || s[n] == '.'))
            best = n;
    }
    return best;
}

static bool has_word(const struct spelling *sp, const char *text)
{
    for (unsigned k = 0; k < sp->n; k++)
        if (is_word(&sp->word[k], text, strlen(text)))
            return true;
    return false;
}

static void note_types(const struct spelling *sp, struct ptx_opcode *oc)
{
    oc->ntype = 0;
    for (unsigned k = 0; k < sp->n && oc->ntype < sizeof oc->type / sizeof oc->type[0]; k++)
        if (sp->word[k].is_type)
            oc->type[oc->ntype++] = (uint8_t)ptx_type_find(sp->word[k].s, sp->word[k].len);
}

static void note_spaces(const struct spelling *sp, struct ptx_opcode *oc)
{
    oc->nspace = 0;
    for (unsigned k = 0; k < sp->n && oc->nspace < sizeof oc->space / sizeof oc->space[0]; k++)
        if (space_of(&sp->word[k]))
            oc->space[oc->nspace++] = (uint8_t)space_of(&sp->word[k]);
}

/* Holds a decoded spelling against the forms of its name, and notes the operands that the form has. */
void ptx_check_form(struct ptx_ctx *c, const char *s, size_t len, uint32_t line, struct ptx_opcode *oc)
{
    struct spelling sp = {.n = 0};
    struct misfit why = {0};
    const size_t name = find_name(s, len);
    const char *dot = memchr(s, '.', len);
    if (!name && oc->loose)
        ptx_fail(c, line, s, len, "no instruction has this name");
    const struct word *twice = split(name ? s + name : dot ? dot : s + len, s + len, &sp);
    if (twice)
        ptx_fail(c, line, s, len, "modifier .%.*s stands twice", (int)twice->len, twice->s);
    oc->operands = "*";
    if (!name)
        return;
    for (const struct form *f = forms; f < forms + sizeof forms / sizeof forms[0]; f++) {
        if (*f->name != *s || strlen(f->name) != name || memcmp(f->name, s, name) || !match(f, &sp, &why))
            continue;
        oc->name = f->name;
        oc->operands = f->operands;
        note_types(&sp, oc);
        note_spaces(&sp, oc);
        oc->has_hint = has_word(&sp, "L2::cache_hint");
        oc->has_mask = has_word(&sp, "multicast::cluster") || has_word(&sp, "cp_mask");
        oc->is_scaled = has_word(&sp, "block_scale");
        oc->is_sparse = has_word(&sp, "sp") || has_word(&sp, "sp::ordered_metadata");
        oc->is_array = has_word(&sp, "a1d") || has_word(&sp, "a2d") || has_word(&sp, "acube");
        return;
    }
    ptx_fail(c, line, s, len, why.lacks ? "%.*s lacks a modifier: %.*s" : "%.*s does not take the modifier .%.*s here",
             (int)name, s, (int)(why.len < 60 ? why.len : 60), why.what);
}
