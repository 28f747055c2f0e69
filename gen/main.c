/* The generator's command line: `gen emit` writes what the build needs, `gen check` compares the
 * map with what really exists. */
#include <string.h>

#include "gen/check.h"
#include "gen/elfsyms.h"
#include "gen/runtimes.h"
#include "gen/torch.h"

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
    {".enum", parse_enums, NULL},
    {".struct", parse_structs, NULL},
    {"sonames.map", NULL, parse_sonames},
    {".map", NULL, parse_map},
    {".versions", NULL, parse_versions},
    {".evidence", NULL, parse_evidence},
    {".runtime", NULL, parse_runtime},
    {".rules", NULL, parse_torch_rules},
    {".numbers", NULL, parse_torch_numbers},
    {".exports", NULL, parse_torch_exports},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Reads all files in two passes, types first: signatures of the maps name enums. Each kind is known by its ending;
 * check_map then looks at the whole. */
static void read_maps(struct map *m, struct arena *a, struct errors *e, char **files, int count)
{
    m->torch = arena_alloc(a, sizeof *m->torch);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < count; i++) {
            unsigned k = 0;
            while (k < KINDS && !ends(files[i], kinds[k].ending))
                k++;
            if (k == KINDS) {
                if (!pass)
                    error_at(e, (struct place){files[i], 0}, "-",
                             "unknown kind of file; expected .enum .struct .map .versions "
                             ".evidence .runtime .rules .numbers or .exports");
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
    for (unsigned i = 0; i < j->map->facades.count; i++) {
        emit_facade(j, &j->map->facades.at[i]);
        emit_calls(j, &j->map->facades.at[i]);
    }
    emit_tables(j);
    emit_signatures(j);
    emit_prototypes(j);
    emit_declarations(j);
    emit_bases(j);
    emit_conversions(j);
    emit_mu(j);
    emit_per_thread(j);
    emit_stub_libraries(j);
    emit_runtimes(j);
    emit_torch(j);
}

static const char usage[] = "usage: gen emit DIR MAP...\n"
                            "       gen wrappers DIR MAP... OBJECT...\n"
                            "       gen check [--core ELF] [--host ELF]... FILE...\n"
                            "       gen runtime RELEASE libcudart_static.a\n"
                            "       gen torch-names RULES <NAMES\n"
                            "check takes maps, names-only lists (SONAME.symbols) and real NVIDIA libraries\n";

static int emit_command(int argc, char **argv)
{
    struct arena a = {0};
    struct errors e = {stderr, 0};
    struct map map = {0};
    read_maps(&map, &a, &e, argv + 1, argc - 1);
    struct job job = {&map, &a, &e, argv[0]};
    if (!e.count)
        emit_all(&job);
    arena_free(&a);
    return e.count ? 1 : 0;
}

/* Apart from emit, since the objects are compiled with what that writes. */
static int wrappers_command(int argc, char **argv)
{
    struct arena a = {0};
    struct errors e = {stderr, 0};
    struct map map = {0};
    struct job job = {&map, &a, &e, argv[0]};
    struct elf_names maps = {0}, objects = {0};
    for (int i = 1; i < argc; i++)
        *ARENA_PUSH(&a, ends(argv[i], ".o") ? &objects : &maps) = argv[i];
    read_maps(&map, &a, &e, (char **)(void *)maps.at, (int)maps.count);
    if (!e.count)
        emit_wrappers(&job, &objects);
    arena_free(&a);
    return e.count ? 1 : 0;
}

/* `gen check`: compares the map with lists of names, real libraries, the built core and the CPU libraries. Every
 * difference is reported before it ends, so that one run shows all there is to do. */
static int check_command(int argc, char **argv)
{
    struct arena a = {0};
    struct errors e = {stderr, 0};
    struct map map = {0};
    struct job job = {&map, &a, &e, "."};
    const char *core = NULL;
    struct elf_names maps = {0}, hosts = {0}, known = {0}, real = {0};
    for (int i = 0; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--core") && more)
            core = argv[++i];
        else if (!strcmp(argv[i], "--host") && more)
            *ARENA_PUSH(&a, &hosts) = argv[++i];
        else
            *ARENA_PUSH(&a, ends(argv[i], ".symbols") ? &known : is_elf(argv[i]) ? &real : &maps) = argv[i];
    }
    read_maps(&map, &a, &e, (char **)(void *)maps.at, (int)maps.count);
    if (!e.count) { /* a map with errors would only repeat them as missing lines */
        for (unsigned i = 0; i < known.count; i++)
            check_known(&job, known.at[i]);
        for (unsigned i = 0; i < real.count; i++)
            check_real(&job, real.at[i]);
        for (unsigned i = 0; i < hosts.count; i++)
            check_host(&job, hosts.at[i]);
        if (core)
            check_wraps(&job, core);
    }
    if (e.count)
        fprintf(stderr, "gen: %u error%s\n", e.count, e.count == 1 ? "" : "s");
    arena_free(&a);
    return e.count ? 1 : 0;
}

static int runtime_command(char **argv)
{
    struct arena a = {0};
    struct errors e = {stderr, 0};
    (void)make_runtime(&a, &e, argv[0], argv[1], stdout);
    arena_free(&a);
    return e.count ? 1 : 0;
}

/* Prints each name of the input as the rules rewrite it, or "?" and the rest that it could not read. */
static int torch_names_command(char **argv)
{
    struct arena a = {0};
    struct errors e = {stderr, 0};
    struct map map = {0};
    char line[65536];
    read_maps(&map, &a, &e, argv, 1);
    while (!e.count && fgets(line, sizeof line, stdin)) {
        const char *bad;
        line[strcspn(line, "\n")] = 0;
        const char *name = mangle_to_musa(&a, map.torch, line, &bad);
        printf(name ? "%s\n" : "? %s\n", name ? name : bad);
    }
    arena_free(&a);
    return e.count ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "torch-names"))
        return torch_names_command(argv + 2);
    if (argc == 4 && !strcmp(argv[1], "runtime"))
        return runtime_command(argv + 2);
    if (argc >= 3 && !strcmp(argv[1], "emit"))
        return emit_command(argc - 2, argv + 2);
    if (argc >= 3 && !strcmp(argv[1], "wrappers"))
        return wrappers_command(argc - 2, argv + 2);
    if (argc >= 3 && !strcmp(argv[1], "check"))
        return check_command(argc - 2, argv + 2);
    fputs(usage, stderr);
    return 2;
}
