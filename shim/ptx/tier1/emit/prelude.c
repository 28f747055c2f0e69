/* Tier 1 emitter: what of the prelude a kernel needs. A compiler takes a quarter of a small kernel's time to read
 * functions that are not called. The prelude is cut once a process into directives and types, which all stay, and
 * functions; which of these need which is told by names alone: of functions, of macros in between, and, of calls of
 * macros that define functions, by what they expand to. A name that a macro pastes together stands for all that begin
 * and end as it does. */
#include "ptx/tier1/emit/cut.h"
#include "ptx/tier1/emit/emit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern const char t1_prelude_matrix[], t1_prelude_matrix_end[];

struct node {
    struct span text;   /* of the prelude; empty: an expansion, which belongs to `of` */
    struct macro macro; /* that it defines, if any */
    struct span looked; /* what is looked for names in */
    uint32_t of;
    bool optional; /* defines functions: stays behind if nobody needs them */
    bool matrix;
    uint32_t *needs, nneeds, room;
};
struct name { /* of a function or a macro: there may be several of one name, for different instruction sets */
    struct span s;
    uint32_t node;
};
struct list { /* grows */
    void *p;
    uint32_t n, room;
};
static struct list nodes, names; /* names in their order */
static bool good;                /* false: there was no memory, all of the prelude is needed */

static void *more(struct list *l, size_t each)
{
    if (l->n == l->room) {
        const uint32_t room = l->room ? 2 * l->room : 256;
        void *p = realloc(l->p, room * each);
        if (!p)
            return NULL;
        l->p = p;
        l->room = room;
    }
    return memset((char *)l->p + l->n++ * each, 0, each);
}

static struct node *node_at(uint32_t k) { return (struct node *)nodes.p + k; }

/* ---- what there is ------------------------------------------------------------------------------- */

static bool add_name(struct span s, uint32_t node)
{
    struct name *n = more(&names, sizeof *n);
    if (n)
        *n = (struct name){s, node};
    return n != NULL;
}

static struct node *add_node(struct span text, struct span looked)
{
    struct node *n = more(&nodes, sizeof *n);
    if (n)
        *n = (struct node){.text = text, .looked = looked, .of = nodes.n - 1};
    return n;
}

/* The functions that a text of a node defines, by itself and by macros. */
static bool add_definitions(struct span s, uint32_t of);

static bool add_call(const struct cut_found *call, uint32_t of)
{
    for (uint32_t k = 0, count = nodes.n; k < count; k++) {
        const struct macro m = node_at(k)->macro;
        if (!cut_same(m.name, call->word))
            continue;
        struct span out;
        out.p = cut_expand(&m, call->inner, &out.n);
        struct node *n = out.p ? add_node((struct span){out.p, 0}, out) : NULL;
        if (!n)
            return false;
        n->of = of;
        const uint32_t defined = names.n;
        if (!add_definitions(out, of))
            return false;
        if (names.n > defined) /* its calls' expansions say what it needs */
            node_at(k)->looked.n = 0;
    }
    return true;
}

static bool add_definitions(struct span s, uint32_t of)
{
    struct cut_found found;
    enum cut_kind kind;
    while ((kind = cut_next(&s, &found)) != CUT_NONE) {
        if ((kind == CUT_FUNCTION && !add_name(found.word, of)) || (kind == CUT_CALL && !add_call(&found, of)))
            return false;
    }
    return true;
}

static bool cut(struct span all, bool matrix)
{
    for (size_t size; all.n; all = cut_skip(all, size)) {
        const char c = all.p[0];
        size = cut_step(all);
        if (c == '\n' || c == ' ' || c == '/')
            continue;
        const struct span item = {all.p, size = cut_item(all)};
        const uint32_t at = nodes.n, defined = names.n;
        struct node *n = add_node(item, item);
        if (!n)
            return false;
        n->matrix = matrix;
        if (c == '#') {
            if (cut_macro(item, &n->macro)) {
                n->looked = n->macro.body;
                if (!add_name(n->macro.name, at))
                    return false;
            }
            continue;
        }
        if (!add_definitions(item, at))
            return false;
        node_at(at)->optional = names.n > defined;
    }
    return true;
}

/* ---- who needs whom ------------------------------------------------------------------------------ */

static int order(struct span a, struct span b)
{
    const int c = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return c ? c : a.n < b.n ? -1 : a.n > b.n;
}

static int by_name(const void *a, const void *b)
{
    return order(((const struct name *)a)->s, ((const struct name *)b)->s);
}

/* The first name that is not before this one. */
static uint32_t find(struct span s)
{
    const struct name *all = names.p;
    uint32_t low = 0, high = names.n;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (order(all[middle].s, s) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool add_need(uint32_t node, uint32_t needs)
{
    struct node *n = node_at(node);
    for (uint32_t k = 0; k < n->nneeds; k++)
        if (n->needs[k] == needs)
            return true;
    if (n->nneeds == n->room) {
        const uint32_t room = n->room ? 2 * n->room : 8;
        uint32_t *p = realloc(n->needs, room * sizeof *p);
        if (!p)
            return false;
        n->needs = p;
        n->room = room;
    }
    n->needs[n->nneeds++] = needs;
    return true;
}

/* All names that begin and end so. */
static bool add_alike(uint32_t node, struct span begin, struct span end)
{
    const struct name *all = names.p;
    for (uint32_t k = find(begin); k < names.n; k++) {
        const struct span s = all[k].s;
        if (s.n < begin.n || memcmp(s.p, begin.p, begin.n) != 0)
            break;
        if (s.n >= begin.n + end.n && !memcmp(s.p + s.n - end.n, end.p, end.n) && !add_need(node, all[k].node))
            return false;
    }
    return true;
}

static bool is_parameter(const struct macro *m, struct span w)
{
    for (unsigned k = 0; k < m->count; k++)
        if (cut_same(w, m->parameter[k]))
            return true;
    return false;
}

static bool link_node(uint32_t k)
{
    const struct name *all = names.p;
    const struct node of = *node_at(k);
    for (struct span s = of.looked; s.n;) {
        struct span first = cut_word(s), last = first;
        s = cut_skip(s, first.n ? first.n : cut_step(s));
        bool pasted = false;
        for (size_t behind; first.n && (behind = cut_paste(s)); pasted = true) {
            last = cut_word(cut_skip(s, behind));
            s = cut_skip(s, behind + last.n);
        }
        if (pasted) {
            first.n = is_parameter(&of.macro, first) ? 0 : first.n;
            last.n = is_parameter(&of.macro, last) ? 0 : last.n;
            if ((first.n || last.n > 2) && !add_alike(of.of, first, last)) /* else of variables */
                return false;
            continue;
        }
        for (uint32_t at = find(first); at < names.n && cut_same(all[at].s, first); at++)
            if (!add_need(of.of, all[at].node))
                return false;
    }
    return true;
}

static struct span part(bool matrix)
{
    struct span s = {t1_prelude_matrix, (size_t)(t1_prelude_matrix_end - t1_prelude_matrix)};
    if (!matrix)
        s.p = t1_prelude(&s.n);
    return s;
}

static void prepare(void)
{
    good = cut(part(false), false) && cut(part(true), true);
    qsort(names.p, names.n, sizeof(struct name), by_name);
    for (uint32_t k = 0; k < nodes.n && good; k++)
        good = link_node(k);
}

/* ---- of a kernel --------------------------------------------------------------------------------- */

static void mark(uint32_t node, bool *needed, uint32_t *todo, uint32_t *left)
{
    if (needed[node])
        return;
    needed[node] = true;
    todo[(*left)++] = node;
}

void t1_put_prelude(struct t1_emit *e, const char *kernel, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare);
    if (e->whole || !good) {
        for (int matrix = 0; matrix <= e->matrices; matrix++)
            t1_write(e, &e->text, part(matrix).p, part(matrix).n);
        return;
    }
    bool *needed = t1_alloc(e, nodes.n, sizeof *needed);
    uint32_t *todo = t1_alloc(e, nodes.n, sizeof *todo), left = 0;
    const struct name *all = names.p;
    for (struct span s = {kernel, size}; s.n; s = cut_skip(s, cut_step(s))) {
        const struct span word = cut_word(s);
        for (uint32_t at = find(word); at < names.n && cut_same(all[at].s, word); at++)
            mark(all[at].node, needed, todo, &left);
    }
    while (left) {
        const struct node *n = node_at(todo[--left]);
        for (uint32_t k = 0; k < n->nneeds; k++)
            mark(n->needs[k], needed, todo, &left);
    }
    for (uint32_t k = 0; k < nodes.n; k++) {
        const struct node *n = node_at(k);
        if (n->text.n && (!n->matrix || e->matrices) && (!n->optional || needed[k])) {
            t1_write(e, &e->text, n->text.p, n->text.n);
            t1_write(e, &e->text, "\n", 1);
        }
    }
}
