/* cumu help, cumu version: the verbs, one verb, the options. */
#include "cli/cli.h"
#include "cli/manual.h"

#include "core/symbols.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int options(bool markdown)
{
    static const struct {
        const char *name, *value, *help;
    } rows[] = {
#define OPTION(id, name, kind, value, help) {name, value, help},
#include "core/config.def"
#undef OPTION
    };
    if (markdown)
        puts("| variable | default | meaning |\n|---|---|---|");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* The first word of a choice is its default. */
        int n = (int)strcspn(rows[i].value, "|");
        if (markdown)
            printf("| `%s` | %.*s | %s |\n", rows[i].name, n ? n : 1, n ? rows[i].value : "-", rows[i].help);
        else
            printf("  %-24s %s (default %.*s)\n", rows[i].name, rows[i].help, n ? n : 7, n ? rows[i].value : "nothing");
    }
    return 0;
}

static int help(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "options") == 0)
        return options(argc > 2 && strcmp(argv[2], "--markdown") == 0);
    if (argc > 1 && strcmp(argv[1], "man") == 0)
        return cumu_manual_page();
    if (argc > 1 && strcmp(argv[1], "completion") == 0)
        return cumu_manual_completion();
    if (argc > 1) {
        for (const struct cumu_verb_entry *const *v = cumu_verbs; *v; v++)
            if (strcmp((*v)->name, argv[1]) == 0) {
                printf("cumu %s: %s\n\n%s", (*v)->name, (*v)->synopsis, (*v)->usage);
                return 0;
            }
        return cumu_usage(&cumu_verb_help, "no verb \"%s\"", argv[1]);
    }
    puts("cumu runs unmodified CUDA programs on Moore Threads MUSA, or on the CPU.\n\n"
         "  cumu run ./program arguments...\n");
    for (const struct cumu_verb_entry *const *v = cumu_verbs; *v; v++)
        printf("  %-9s %s\n", (*v)->name, (*v)->synopsis);
    puts("\ncumu help <verb> explains one of them; cumu help options lists the environment variables.");
    return 0;
}

const struct cumu_verb_entry cumu_verb_help = {
    "help", "explain a verb, or the options",
    "usage: cumu help [<verb> | options [--markdown] | man | completion]\n"
    "\n"
    "man prints the manual page, completion what bash sources to complete cumu's arguments.\n",
    help};

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif
#if defined(__aarch64__)
#define MACHINE "aarch64"
#else
#define MACHINE "x86_64"
#endif

static bool in_host_folder(const char *soname)
{
    char path[PATH_MAX];
    const char *dir = cumu_lib_dir();
    return dir && snprintf(path, sizeof path, "%s/host/%s", dir, soname) < (int)sizeof path && access(path, R_OK) == 0;
}

static int version(int argc, char **argv)
{
    (void)argc, (void)argv;
    puts("cumu " CUMU_VERSION);
    puts("built by   " COMPILER ", for " MACHINE);
    printf("facades   ");
    for (const struct cumu_table *const *t = cumu_tool_tables(); t && *t; t++)
        printf(" %s", (*t)->soname);
    printf("\nCPU side  ");
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    for (; l && l->name; l++)
        for (const char *const *s = l->sonames; *s; s++)
            if (in_host_folder(*s)) {
                printf(" %s", *s);
                break;
            }
    putchar('\n');
    return 0;
}

const struct cumu_verb_entry cumu_verb_version = {"version", "print the version and what this build holds",
                                                  "usage: cumu version\n", version};
