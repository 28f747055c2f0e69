/* The generator's command line: `gen emit DIR FILE...` writes what the build needs. */
#include <string.h>

#include "gen/emit.h"

static bool ends(const char *text, const char *tail)
{
    size_t n = strlen(text), t = strlen(tail);
    return n >= t && !strcmp(text + n - t, tail);
}

/* Types come first: signatures name enums. */
static const struct {
    const char *ending;
    void (*types)(struct types *, struct arena *, struct errors *, const char *, const char *, size_t);
    void (*map)(struct map *, struct arena *, struct errors *, const char *, const char *, size_t);
} kinds[] = {
    {".enum", parse_enums, NULL},           {".struct", parse_structs, NULL},
    {"sonames.map", NULL, parse_sonames},   {".map", NULL, parse_map},
    {".versions", NULL, parse_versions},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void read_maps(struct map *m, struct arena *a, struct errors *e, char **files, int count)
{
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            unsigned k = 0;
            while (k < KINDS && !ends(files[i], kinds[k].ending))
                k++;
            if (k == KINDS) {
                if (!pass)
                    error_at(e, (struct place){files[i], 0}, "-", "unknown kind of file; expected .enum "
                                                                  ".struct .map or .versions");
                continue;
            }
            if ((kinds[k].types != NULL) != (pass == 0))
                continue;
            size_t length;
            char *text = read_file(a, e, files[i], &length);
            if (text && kinds[k].types)
                kinds[k].types(&m->types, a, e, files[i], text, length);
            else if (text)
                kinds[k].map(m, a, e, files[i], text, length);
        }
    check_map(m, a, e);
}

static void emit_all(const struct job *j)
{
    emit_types(j);
    for (unsigned i = 0; i < j->map->facades.count; i++)
        emit_facade(j, &j->map->facades.at[i]);
    emit_tables(j);
    emit_bases(j);
    emit_conversions(j);
    emit_mu(j);
    emit_stub_libraries(j);
}

int main(int argc, char **argv)
{
    struct arena a = {0};
    struct errors e = {stderr, 0};
    struct map map = {0};
    if (argc < 3 || strcmp(argv[1], "emit")) {
        fprintf(stderr, "usage: gen emit DIR FILE...\n");
        return 2;
    }
    read_maps(&map, &a, &e, argv + 3, argc - 3);
    struct job job = {&map, &a, &e, argv[2]};
    if (!e.count)
        emit_all(&job);
    arena_free(&a);
    return e.count ? 1 : 0;
}
