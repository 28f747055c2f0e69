/* Linking of PTX: the units of a relocatable program, or of a cuLink session, become one text. Works on
 * top-level statements only; function bodies are copied, with colliding private names renamed. */
#include "compile/link.h"
#include "core/hmap.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ptx_func *definition(const struct ptx_module *m, const char *name)
{
    const struct ptx_func *f = ptx_module_func(m, name);
    return f && !f->is_decl ? f : NULL;
}

bool cumu_ptx_needs(const struct ptx_module *a, const struct ptx_module *b)
{
    for (unsigned i = 0; i < a->nfunc; i++)
        if (a->func[i].is_decl && !definition(a, a->func[i].name) && definition(b, a->func[i].name))
            return true;
    for (unsigned i = 0; i < a->nvar; i++) {
        const struct ptx_var *v = &a->var[i];
        const struct ptx_var *d = v->is_extern && v->space != PTX_SP_SHARED ? ptx_module_var(b, v->name) : NULL;
        if (d && !d->is_extern)
            return true;
    }
    return false;
}

/* ---- text ----------------------------------------------------------------------------------- */

struct out {
    char *text;
    size_t n, cap;
    bool failed;
};

static void emit(struct out *o, const char *p, size_t n)
{
    if (o->failed)
        return;
    if (o->cap - o->n < n + 1) {
        size_t cap = (o->cap + n + 1) * 2;
        char *more = realloc(o->text, cap);
        if (!more) {
            o->failed = true;
            return;
        }
        o->text = more;
        o->cap = cap;
    }
    memcpy(o->text + o->n, p, n);
    o->n += n;
    o->text[o->n] = '\0';
}

static bool ident_start(char c) { return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%'; }

static bool ident_char(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* End of what starts at p and has no structure: blank, comment, string; p when there is none. */
static const char *skip_opaque(const char *p)
{
    if (isspace((unsigned char)*p))
        return p + 1;
    if (p[0] == '/' && p[1] == '/')
        return p + strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        const char *e = strstr(p + 2, "*/");
        return e ? e + 2 : p + strlen(p);
    }
    if (*p == '"') {
        for (p++; *p && *p != '"'; p++)
            if (*p == '\\' && p[1])
                p++;
        return *p ? p + 1 : p;
    }
    return p;
}

/* ---- statements ----------------------------------------------------------------------------- */

struct stmt {
    const char *begin, *end;
    bool line; /* .version, .target, .address_size, .file, .pragma, debug data */
    bool is_extern, weak, visible, func, decl;
    const char *name;
    size_t name_len;
};

static bool word(const char *p, const char *e, const char *w)
{
    return (size_t)(e - p) == strlen(w) && !memcmp(p, w, (size_t)(e - p));
}

/* The next top-level statement at *p, false at the end of the text. */
static bool next_stmt(const char **p, struct stmt *s)
{
    const char *at = *p, *q;
    memset(s, 0, sizeof *s);
    while (*at && (q = skip_opaque(at)) != at)
        at = q;
    if (!*at)
        return false;
    s->begin = at;
    s->decl = true;
    int paren = 0;
    bool init = false, named = false;
    while (*at) {
        if ((q = skip_opaque(at)) != at) {
            at = q;
            continue;
        }
        if (*at == '.') {
            const char *e = at + 1;
            while (ident_char(*e))
                e++;
            if (at == s->begin && (word(at, e, ".version") || word(at, e, ".target") || word(at, e, ".address_size") ||
                                   word(at, e, ".file"))) {
                s->line = true;
                s->end = *p = at + strcspn(at, "\n");
                return true;
            }
            if (at == s->begin && word(at, e, ".section"))
                s->line = true;
            s->is_extern |= word(at, e, ".extern");
            s->weak |= word(at, e, ".weak") || word(at, e, ".common");
            s->visible |= word(at, e, ".visible");
            s->func |= word(at, e, ".func") || word(at, e, ".entry");
            at = e;
            continue;
        }
        if (ident_start(*at)) {
            const char *e = at + 1;
            while (ident_char(*e))
                e++;
            /* A function's name is the first one outside parentheses, a variable's the last. */
            if (paren == 0 && !init && (!s->func || !named)) {
                s->name = at;
                s->name_len = (size_t)(e - at);
                named = true;
            }
            at = e;
            continue;
        }
        if (*at == '(')
            paren++;
        else if (*at == ')')
            paren--;
        else if (*at == '=' || *at == '[')
            init = true;
        else if (*at == ';') {
            at++;
            break;
        } else if (*at == '{') {
            int depth = 0;
            for (; *at; at++) {
                while (*at && (q = skip_opaque(at)) != at)
                    at = q;
                if (!*at)
                    break;
                depth += *at == '{';
                depth -= *at == '}';
                if (depth == 0)
                    break;
            }
            if (*at)
                at++;
            s->decl = false;
            if (!init) /* a body, not an initialiser */
                break;
            continue;
        }
        at++;
    }
    if (!s->func)
        s->decl = false;
    s->end = *p = at;
    return true;
}

/* ---- symbols -------------------------------------------------------------------------------- */

struct sym {
    const char *name;
    size_t len;
    int def; /* unit that defines it for all, -1 = none */
    bool strong;
    bool declared;     /* an extern declaration has been kept */
    int holders, last; /* units that know the name in any way */
    UT_hash_handle hh;
};

static struct sym *sym_get(struct sym **syms, const struct stmt *s)
{
    struct sym *y;
    HASH_FIND(hh, *syms, s->name, s->name_len, y);
    if (y)
        return y;
    y = calloc(1, sizeof *y);
    if (!y)
        return NULL;
    y->name = s->name;
    y->len = s->name_len;
    y->def = y->last = -1;
    HASH_ADD_KEYPTR(hh, *syms, y->name, y->len, y);
    if (hmap_added(y))
        return y;
    free(y);
    return NULL;
}

static bool is_private(const struct stmt *s) { return !s->line && s->name && !s->is_extern && !s->weak && !s->visible; }

/* Copies a span, giving the names in `renamed` the unit's suffix. */
static void emit_renamed(struct out *o, const char *p, const char *end, struct sym *renamed, unsigned unit)
{
    const char *from = p, *q;
    while (p < end) {
        if ((q = skip_opaque(p)) != p) {
            p = q;
            continue;
        }
        if (*p == '.' || isdigit((unsigned char)*p)) { /* directive, modifier or number */
            for (p++; p < end && ident_char(*p); p++)
                ;
            continue;
        }
        if (!ident_start(*p)) {
            p++;
            continue;
        }
        const char *e = p + 1;
        while (e < end && ident_char(*e))
            e++;
        struct sym *y;
        HASH_FIND(hh, renamed, p, (size_t)(e - p), y);
        if (y) {
            char suffix[24];
            int n = snprintf(suffix, sizeof suffix, "$u%u", unit);
            emit(o, from, (size_t)(e - from));
            emit(o, suffix, (size_t)n);
            from = e;
        }
        p = e;
    }
    emit(o, from, (size_t)(end - from));
}

static void free_syms(struct sym *syms)
{
    struct sym *y, *tmp;
    HASH_ITER(hh, syms, y, tmp)
    {
        HASH_DEL(syms, y);
        free(y);
    }
}

static bool collect(struct sym **syms, const char *text, int unit)
{
    struct stmt s;
    while (next_stmt(&text, &s)) {
        if (s.line || !s.name)
            continue;
        struct sym *y = sym_get(syms, &s);
        if (!y)
            return false;
        if (y->last != unit)
            y->holders++;
        y->last = unit;
        if (is_private(&s) || s.is_extern || s.decl)
            continue;
        if (y->def < 0 || (!y->strong && !s.weak)) {
            y->def = unit;
            y->strong = !s.weak;
        }
    }
    return true;
}

/* Writes one unit of a link: names that are private in several units get the unit's number, declarations are written
 * once, and of definitions that may be multiple (.weak, .visible of templates) the chosen one. This is nvlink's
 * work, done on PTX text. */
static bool emit_unit(struct out *o, struct sym *syms, const char *text, int unit)
{
    struct sym *renamed = NULL, *y;
    struct stmt s;
    for (const char *p = text; next_stmt(&p, &s);) {
        if (!is_private(&s))
            continue;
        HASH_FIND(hh, syms, s.name, s.name_len, y);
        if (y && y->holders > 1 && !sym_get(&renamed, &s))
            o->failed = true;
    }
    for (const char *p = text; next_stmt(&p, &s);) {
        if (s.line)
            continue;
        y = NULL;
        if (s.name)
            HASH_FIND(hh, syms, s.name, s.name_len, y);
        if (y && !is_private(&s)) {
            bool declares = s.is_extern || s.decl;
            if (declares && (y->declared || (y->def >= 0 && !s.func)))
                continue;
            if (!declares && y->def != unit)
                continue; /* another unit's definition was chosen */
            y->declared |= declares;
        }
        emit_renamed(o, s.begin, s.end, renamed, (unsigned)unit);
        emit(o, "\n", 1);
    }
    free_syms(renamed);
    return !o->failed;
}

char *cumu_ptx_link(struct ptx_module *const *units, unsigned n, size_t *len)
{
    struct out o = {0};
    struct sym *syms = NULL;
    unsigned major = 0, minor = 0, target = 0;
    char suffix = 0, head[96];
    bool ok = n > 0;
    for (unsigned i = 0; i < n && ok; i++) {
        const struct ptx_module *m = units[i];
        if (m->version_major * 100 + m->version_minor > major * 100 + minor) {
            major = m->version_major;
            minor = m->version_minor;
        }
        if (m->target >= target) {
            target = m->target;
            suffix = m->target_suffix;
        }
        ok = collect(&syms, m->text, (int)i);
    }
    snprintf(head, sizeof head, ".version %u.%u\n.target sm_%u%.1s\n.address_size 64\n", major, minor, target,
             suffix ? &suffix : "");
    emit(&o, head, strlen(head));
    for (unsigned i = 0; i < n && ok; i++)
        ok = emit_unit(&o, syms, units[i]->text, (int)i);
    free_syms(syms);
    if (!ok || o.failed) {
        free(o.text);
        return NULL;
    }
    *len = o.n;
    return o.text;
}
