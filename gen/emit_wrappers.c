/* Emits where the wrapper behind each symbol of each facade is written, for `cumu coverage SYMBOL`: the compiled
 * objects of shim/api tell which file defines a function. */
#include "gen/elfsyms.h"
#include "gen/emit.h"

#include <stdlib.h>
#include <string.h>

struct wrapper {
    const char *name, *file;
};
struct wrappers {
    struct wrapper *at;
    unsigned count, room;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct wrapper *)a)->name, ((const struct wrapper *)b)->name);
}

/* build/obj/api/cudart/memory.o was compiled from shim/api/cudart/memory.c: objects mirror the tree. */
static const char *source_of(struct arena *a, const char *object)
{
    const char *at = object;
    for (const char *next; (next = strstr(at, "obj/"));)
        at = next + strlen("obj/");
    size_t n = strlen(at);
    return arena_print(a, "shim/%.*s.c", (int)(n > 2 ? n - 2 : n), at);
}

void emit_wrappers(const struct job *j, const struct elf_names *objects)
{
    struct wrappers w = {0};
    for (unsigned i = 0; i < objects->count; i++) {
        struct elf_names names;
        const char *file = source_of(j->arena, objects->at[i]);
        if (!read_elf(j->arena, j->errors, objects->at[i], false, &names))
            continue;
        for (unsigned k = 0; k < names.count; k++)
            if (!strncmp(names.at[k], "wrap_", 5))
                *ARENA_PUSH(j->arena, &w) = (struct wrapper){names.at[k], file};
    }
    if (w.count)
        qsort(w.at, w.count, sizeof *w.at, by_name);

    struct output o = emit_open(j, "wrappers.c", "//", "emit_wrappers.c", "api");
    fprintf(o.file, "#include \"cli/coverage.h\"\n\n#include <stddef.h>\n\n"
                    "const struct cumu_wrapper cumu_wrappers[] = {\n");
    for (unsigned i = 0; i < j->map->facades.count; i++) {
        const struct facade *f = &j->map->facades.at[i];
        struct slots s = slots_of(j, f);
        for (unsigned k = 0; k < s.count; k++) {
            const struct map_line *line = effective(s.at[k]);
            if (line->verb != VERB_WRAP)
                continue;
            struct wrapper key = {function_name(j->arena, line), NULL};
            const struct wrapper *found = w.count ? bsearch(&key, w.at, w.count, sizeof key, by_name) : NULL;
            if (found)
                fprintf(o.file, "    {\"%s\", \"%s\", \"%s\"},\n", f->soname, s.at[k]->symbol, found->file);
        }
    }
    fprintf(o.file, "    {NULL, NULL, NULL},\n};\n");
    output_close(&o);
}
