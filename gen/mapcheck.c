/* What must hold across lines of the map; collects the MUSA functions on the way. */
#include <stdlib.h>
#include <string.h>

#include "gen/map.h"

static int by_symbol(const void *pa, const void *pb)
{
    const struct map_line *a = pa, *b = pb;
    bool use_a = a->verb == VERB_USE, use_b = b->verb == VERB_USE;
    if (use_a != use_b)
        return use_a ? 1 : -1;
    int order = strcmp(a->symbol, b->symbol);
    if (!order)
        order = (a->since > b->since) - (a->since < b->since);
    return order ? order : (a->at.line > b->at.line) - (a->at.line < b->at.line);
}

static void check_order(struct errors *e, struct library *l)
{
    if (l->lines.count)
        qsort(l->lines.at, l->lines.count, sizeof *l->lines.at, by_symbol);
    for (unsigned i = 0; i < l->lines.count; i++) {
        const struct map_line *line = &l->lines.at[i], *last = line - 1;
        l->exported += line->verb != VERB_USE;
        if (!i || last->verb == VERB_USE || strcmp(line->symbol, last->symbol))
            continue;
        if (line->verb == VERB_USE || line->since <= last->until)
            error_at(e, line->at, line->symbol,
                     "second line for the same version; expected it only at "
                     "%s:%d, or since/until that do not overlap",
                     last->at.file, last->at.line);
    }
}

const struct map_line *find_line(const struct library *l, const char *symbol, unsigned version)
{
    unsigned low = 0, high = l->exported;
    while (low < high) {
        unsigned mid = low + (high - low) / 2;
        const struct map_line *line = &l->lines.at[mid];
        int order = strcmp(symbol, line->symbol);
        if (!order && version >= line->since && version <= line->until)
            return line;
        if (order < 0 || (!order && version < line->since))
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

const struct map_line *effective(const struct map_line *l) { return l->verb == VERB_ALIAS ? l->aliased : l; }

const struct library *find_library(const struct map *m, const char *name)
{
    for (unsigned i = 0; i < m->libraries.count; i++)
        if (!strcmp(m->libraries.at[i].name, name))
            return &m->libraries.at[i];
    return NULL;
}

/* An alias, or an older form (conv with >), stands for one line in every version that it is exported in. */
static void resolve_aliases(const struct map *m, struct errors *e, struct library *l)
{
    for (unsigned i = 0; i < l->exported; i++) {
        struct map_line *line = &l->lines.at[i];
        if (!line->alias)
            continue;
        for (unsigned f = 0; f < m->facades.count; f++) {
            const struct facade *facade = &m->facades.at[f];
            if (strcmp(facade->library, l->name) || facade->version < line->since || facade->version > line->until)
                continue;
            const struct map_line *target = find_line(l, line->alias, facade->version);
            if (!target || target->verb == VERB_ALIAS || (line->aliased && line->aliased != target)) {
                error_at(e, line->at, line->symbol,
                         "alias target %s is %s in version %u; expected one line that is no alias", line->alias,
                         target ? "another line or an alias" : "missing", facade->version);
                break;
            }
            line->aliased = target;
        }
        if (!line->aliased)
            line->aliased = find_line(l, line->alias, line->since);
        if (line->aliased && line->aliased->verb == VERB_ALIAS)
            line->aliased = NULL;
    }
}

/* An older form takes what the newer one takes, without its handle, and returns what that stores last. */
static void check_older(struct errors *e, const struct map_line *l)
{
    if (l->verb != VERB_CONV || !l->alias || !l->signature)
        return;
    const struct signature *s = l->signature, *t = l->aliased ? l->aliased->signature : NULL;
    if (!t || l->aliased->verb != VERB_CONV || t->count != s->count + 1 + !is_void(&s->result))
        error_at(e, l->at, l->symbol, "%s takes other arguments; expected a conv with a handle more%s", l->alias,
                 is_void(&s->result) ? "" : " and a result");
}

static void check_values(struct errors *e, const struct map_line *l)
{
    const struct signature *s = l->signature;
    if (l->verb != VERB_JUMP || !s)
        return;
    for (unsigned i = 0; i <= s->count; i++) {
        const struct value *v = i < s->count ? &s->argument[i] : &s->result;
        if (narrowed(v))
            error_at(e, l->at, l->symbol, "a size is int on the MUSA side; expected conv");
        if (v->values && !v->values->equal)
            error_at(e, l->at, l->symbol, "values of %s differ on the MUSA side; expected conv", v->values->cuda);
    }
}

static int by_name(const void *a, const void *b)
{
    const struct mu_symbol *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order ? order : (x->line->at.line > y->line->at.line) - (x->line->at.line < y->line->at.line);
}

/* A mangled name (_Z12mublasGemmEx...) belongs to the library of what it spells. */
static int below_of(const struct map *m, const char *name)
{
    if (!strncmp(name, "_Z", 2))
        name += 2 + strspn(name + 2, "0123456789");
    int best = -1;
    size_t length = 0;
    for (unsigned i = 0; i < m->below.count; i++) {
        size_t n = strlen(m->below.at[i].prefix);
        if (n >= length && !strncmp(name, m->below.at[i].prefix, n)) {
            best = (int)i;
            length = n;
        }
    }
    return best;
}

/* What the MUSA function gets, which is not what the CUDA ones take where a size is narrowed. */
static bool same_below(struct arena *a, const struct signature *x, const struct signature *y)
{
    return x->result.values == y->result.values && !strcmp(c_type(a, &x->result, true), c_type(a, &y->result, true)) &&
           !strcmp(c_parameters(a, x, true), c_parameters(a, y, true));
}

/* Collects the MUSA functions that conversions, jumps and `use` lines name, each once: the members of `mu`. Two
 * lines that give one function different signatures are an error, as one of them would call it wrongly. */
static void collect_mu(struct map *m, struct arena *a, struct errors *e)
{
    unsigned room = 0, count = 0;
    for (unsigned i = 0; i < m->libraries.count; i++)
        room += m->libraries.at[i].lines.count;
    m->mu = arena_alloc(a, (room + 1) * sizeof *m->mu);
    for (unsigned i = 0; i < m->libraries.count; i++) {
        const struct library *l = &m->libraries.at[i];
        for (unsigned k = 0; k < l->lines.count; k++) {
            const struct map_line *line = &l->lines.at[k];
            const char *name = line->verb == VERB_USE ? line->symbol : line->target;
            if (line->verb == VERB_WRAP)
                continue;
            if (name && line->signature)
                m->mu[count++] = (struct mu_symbol){name, line, below_of(m, name), line->not_on_host, line->exact};
        }
    }
    qsort(m->mu, count, sizeof *m->mu, by_name);
    for (unsigned i = 0; i < count; i++) {
        struct mu_symbol *last = m->mu_count ? &m->mu[m->mu_count - 1] : NULL, *this = &m->mu[i];
        if (this->below < 0)
            error_at(e, this->line->at, this->name,
                     "no MUSA library has this prefix; expected one "
                     "of sonames.map");
        if (!last || strcmp(last->name, this->name)) {
            m->mu[m->mu_count++] = *this;
            continue;
        }
        if (!same_below(a, last->line->signature, this->line->signature))
            error_at(e, this->line->at, this->name,
                     "signature %s differs from %s at %s:%d; expected one "
                     "signature per MUSA function",
                     this->line->signature->text, last->line->signature->text, last->line->at.file,
                     last->line->at.line);
        last->not_on_host &= this->not_on_host;
        last->exact |= this->exact;
    }
}

int find_mu(const struct map *m, const char *name)
{
    unsigned low = 0, high = m->mu_count;
    while (low < high) {
        unsigned mid = low + (high - low) / 2;
        int order = strcmp(name, m->mu[mid].name);
        if (!order)
            return (int)mid;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return -1;
}

const char *function_name(struct arena *a, const struct map_line *l)
{
    if (l->verb == VERB_CONV)
        return arena_print(a, "conv_%s", l->symbol);
    return arena_print(a, "wrap_%s", l->target ? l->target : l->symbol);
}

const char *entry_name(struct arena *a, const struct library *lib, const struct map_line *l)
{
    bool around = (lib->quiet || lib->status) && l->verb == VERB_WRAP && l->signature->status;
    return arena_print(a, "%s%s", !around ? "" : lib->status ? "older_" : "quiet_", function_name(a, l));
}

static int by_base(const void *a, const void *b)
{
    return strcmp(((const struct base_name *)a)->name, ((const struct base_name *)b)->name);
}

/* Hundreds of symbols share a signature: what describes a call is emitted once for each text. */
static void number_calls(struct map *m, struct arena *a)
{
    for (unsigned i = 0; i < m->libraries.count; i++)
        for (unsigned k = 0; k < m->libraries.at[i].exported; k++) {
            struct map_line *l = &m->libraries.at[i].lines.at[k];
            if (!l->signature)
                continue;
            while (l->call < m->calls.count && strcmp(m->calls.at[l->call]->text, l->signature->text))
                l->call++;
            if (l->call == m->calls.count)
                *ARENA_PUSH(a, &m->calls) = l->signature;
        }
}

void check_map(struct map *m, struct arena *a, struct errors *e)
{
    check_types(&m->types, e);
    for (unsigned i = 0; i < m->libraries.count; i++) {
        check_order(e, &m->libraries.at[i]);
        resolve_aliases(m, e, &m->libraries.at[i]);
        for (unsigned k = 0; k < m->libraries.at[i].lines.count; k++) {
            check_values(e, &m->libraries.at[i].lines.at[k]);
            check_older(e, &m->libraries.at[i].lines.at[k]);
        }
    }
    for (unsigned i = 0; i < m->facades.count; i++)
        if (!find_library(m, m->facades.at[i].library))
            error_at(e, m->facades.at[i].at, m->facades.at[i].soname,
                     "no map for library %s; expected mapping/api/%s.map", m->facades.at[i].library,
                     m->facades.at[i].library);
    if (m->bases.count)
        qsort(m->bases.at, m->bases.count, sizeof *m->bases.at, by_base);
    for (unsigned i = 1; i < m->bases.count; i++)
        if (!strcmp(m->bases.at[i].name, m->bases.at[i - 1].name))
            error_at(e, m->bases.at[i].at, m->bases.at[i].name, "second version list; expected one");
    number_calls(m, a);
    collect_mu(m, a, e);
}
