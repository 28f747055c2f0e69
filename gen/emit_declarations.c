/* Emits the prototypes of all CUDA functions for programs that have none of CUDA's headers: the tests. A pointer is
 * `void *` or `const void *` whatever it points to, so that a test brings its own types; what is checked is the number
 * of arguments and what is passed in registers. */
#include "gen/emit.h"

#include <stdlib.h>
#include <string.h>

struct declared {
    const char *symbol;
    const struct signature *signature;
};
struct declarations {
    struct declared *at;
    unsigned count, room;
};

static int by_symbol(const void *a, const void *b)
{
    return strcmp(((const struct declared *)a)->symbol, ((const struct declared *)b)->symbol);
}

/* NULL for a struct by value: a test has its own type of it. */
static const char *loose_type(struct arena *a, const struct value *v)
{
    const char *type = plain_type(a, v, false);
    if (v->letter->size && !v->stars)
        return NULL;
    if (!v->stars && type[strlen(type) - 1] != '*')
        return type;
    return !strncmp(v->letter->cuda, "const ", 6) && (!v->stars || !strchr(v->letter->cuda, '*')) ? "const void *"
                                                                                                  : "void *";
}

static const char *loose_prototype(struct arena *a, const struct declared *d)
{
    const struct signature *s = d->signature;
    const char *result = !s->result.stars ? s->result.letter->cuda : "void *"; /* texts, numbers */
    if (strcmp(result, "void") && strcmp(result, "const char *"))
        result = loose_type(a, &s->result);
    const char *text = s->count ? "" : "void";
    for (unsigned i = 0; i < s->count; i++) {
        const char *type = loose_type(a, &s->argument[i]);
        if (!type)
            return NULL;
        text = arena_print(a, "%s%s%s", text, i ? ", " : "", type);
    }
    return result ? arena_print(a, "%s %s(%s);", result, d->symbol, text) : NULL;
}

/* Of a symbol that several facades have, the newest one's form counts: a library's facades stand in that order. */
void emit_declarations(const struct job *j)
{
    struct declarations d = {0};
    for (unsigned i = j->map->facades.count; i-- > 0;) {
        struct slots s = slots_of(j, &j->map->facades.at[i]);
        if (d.count)
            qsort(d.at, d.count, sizeof *d.at, by_symbol);
        const unsigned known = d.count;
        for (unsigned k = 0; k < s.count; k++) {
            struct declared one = {s.at[k]->symbol, effective(s.at[k])->signature};
            if (one.signature && !(known && bsearch(&one, d.at, known, sizeof one, by_symbol)))
                *ARENA_PUSH(j->arena, &d) = one;
        }
    }
    if (d.count)
        qsort(d.at, d.count, sizeof *d.at, by_symbol);

    struct output o = emit_open(j, "cuda_functions.h", "//", "emit_declarations.c", "api");
    fprintf(o.file, "#pragma once\n#include <stddef.h>\n\n");
    for (unsigned i = 0; i < d.count; i++) {
        const char *text = loose_prototype(j->arena, &d.at[i]);
        if (text)
            fprintf(o.file, "%s\n", text);
    }
    output_close(&o);
}
