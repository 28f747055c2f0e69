/* cumu coverage: what each symbol of each CUDA library does under cumu, which MUSA functions that needs, and what
 * changed since another build. mapping/COVERAGE.md is its output. */
#include "cli/cli.h"
#include "cli/coverage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cumu_verb_names[CUMU_VERBS] = {"jump", "conv", "wrap", "stub", "pass"};
static const int order[CUMU_VERBS] = {CUMU_JUMP, CUMU_CONV, CUMU_WRAP, CUMU_PASS, CUMU_STUB};

static void count(const struct cumu_table *t, unsigned of[CUMU_VERBS])
{
    memset(of, 0, CUMU_VERBS * sizeof *of);
    for (uint32_t i = 0; i < t->count; i++)
        of[t->symbols[i].verb]++;
}

static void print_counts(const struct cumu_table *const *tables, const char *head, const char *row, const char *cell)
{
    unsigned of[CUMU_VERBS];
    fputs(head, stdout);
    for (; *tables; tables++) {
        count(*tables, of);
        printf(row, (*tables)->library, (*tables)->soname, (*tables)->count);
        for (int v = 0; v < CUMU_VERBS; v++)
            printf(cell, of[order[v]]);
        putchar('\n');
    }
}

static void print_tsv(const struct cumu_table *const *tables)
{
    unsigned of[CUMU_VERBS];
    for (; *tables; tables++) {
        count(*tables, of);
        for (int v = 0; v < CUMU_VERBS; v++)
            printf("%s\t%s\t%s\t%u\n", (*tables)->library, (*tables)->soname, cumu_verb_names[order[v]], of[order[v]]);
    }
}

static void print_symbols(const struct cumu_table *const *tables)
{
    for (; *tables; tables++)
        for (uint32_t i = 0; i < (*tables)->count; i++) {
            const struct cumu_symbol *s = &(*tables)->symbols[i];
            printf("%s\t%s\t%s\t%s\t%s\t%s\n", (*tables)->library, (*tables)->soname, s->name, cumu_verb_names[s->verb],
                   s->target ? s->target : "", s->reason ? s->reason : "");
        }
}

/* ---- mapping/COVERAGE.md ---------------------------------------------------------------------------- */

struct stub {
    const char *name, *reason;
    uint64_t sonames; /* bit i: the i-th table of the library has it as a stub */
};

static int by_reason(const void *a, const void *b)
{
    const struct stub *x = a, *y = b;
    int r = strcmp(x->reason, y->reason);
    return r ? r : strcmp(x->name, y->name);
}

static int by_name(const void *a, const void *b)
{
    const struct stub *x = a, *y = b;
    int r = strcmp(x->name, y->name);
    return r ? r : strcmp(x->reason, y->reason);
}

/* Reasons that only say that NVIDIA documents no such function: counted, not listed. */
static bool is_folded(const char *reason)
{
    return strcmp(reason, "undocumented") == 0 || strncmp(reason, "internal", strlen("internal")) == 0;
}

enum { COLUMNS = 110 };

/* A name, with the sonames that have it where not all do. Ends a line that it no longer fits on; returns the column. */
static int print_name(const struct stub *s, const struct cumu_table *const *t, unsigned tables, bool first, int column)
{
    char text[512];
    int n = snprintf(text, sizeof text, "%s", s->name);
    const char *sign = " (";
    for (unsigned k = 0; k < tables && s->sonames != (1ULL << tables) - 1; k++)
        if (s->sonames & 1ULL << k && n < (int)sizeof text) {
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", sign, t[k]->soname);
            sign = ", ";
        }
    if (*sign == ',' && n < (int)sizeof text)
        n += snprintf(text + n, sizeof text - (size_t)n, ")");
    if (column + 2 + n <= COLUMNS)
        return column + printf("%s%s", first ? " " : ", ", text);
    return printf("%s\n  %s", first ? "" : ",", text) - (first ? 1 : 2);
}

static void print_folded(const struct stub *s, size_t n, const struct cumu_table *const *t, unsigned tables)
{
    const char *sign = " ";
    for (unsigned k = 0; k < tables; k++) {
        unsigned of = 0;
        for (size_t i = 0; i < n; i++)
            of += (unsigned)(s[i].sonames >> k & 1);
        if (of) {
            printf("%s%u of %s", sign, of, t[k]->soname);
            sign = ", ";
        }
    }
    puts("");
}

static size_t merge(struct stub *s, size_t n)
{
    size_t kept = 0;
    qsort(s, n, sizeof *s, by_name);
    for (size_t i = 0; i < n; i++)
        if (kept && by_name(&s[kept - 1], &s[i]) == 0)
            s[kept - 1].sonames |= s[i].sonames;
        else
            s[kept++] = s[i];
    qsort(s, kept, sizeof *s, by_reason);
    return kept;
}

/* Tables of one library are neighbours; t is the first. */
static void print_stubs(const struct cumu_table *const *t, unsigned tables)
{
    struct stub *s = NULL;
    size_t n = 0;
    for (unsigned k = 0; k < tables && k < 64; k++)
        for (uint32_t i = 0; i < t[k]->count; i++)
            if (t[k]->symbols[i].verb == CUMU_STUB) {
                struct stub *grown = realloc(s, (n + 1) * sizeof *s);
                if (!grown) {
                    free(s);
                    return;
                }
                s = grown;
                s[n++] = (struct stub){t[k]->symbols[i].name, t[k]->symbols[i].reason ? t[k]->symbols[i].reason : "",
                                       1ULL << k};
            }
    n = s ? merge(s, n) : 0;
    if (n)
        printf("\n## %s: stubs\n\n", t[0]->library);
    int column = 0;
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        size_t same = i;
        while (same < n && strcmp(s[same].reason, s[i].reason) == 0)
            same++;
        if (!i || strcmp(s[i].reason, s[i - 1].reason) != 0)
            column = printf("- **%s** (%zu):", s[i].reason, same - i), first = true;
        if (is_folded(s[i].reason)) {
            print_folded(&s[i], same - i, t, tables);
            i = same - 1;
            continue;
        }
        column = print_name(&s[i], t, tables, first, column);
        first = false;
        if (i + 1 == same)
            puts("");
    }
    free(s);
}

static void print_markdown(const struct cumu_table *const *tables)
{
    print_counts(
        tables,
        "# Coverage\n\n<!-- made by `make check-gen WRITE=1` from mapping/api; do not edit -->\n\n"
        "What each exported CUDA symbol does under cumu: a jump straight to the MUSA function, a\n"
        "generated conversion, a hand-written wrapper, a pass to the program's own copy of the NVIDIA\n"
        "library, or a stub that returns \"not supported\" and says its reason once. An alias\n"
        "counts as what it stands for.\n\n"
        "`cumu coverage SYMBOL...` tells all of one symbol: the verb in each library, the MUSA function and how\n"
        "well it is known, the wrapper's file, a stub's reason. Listed below are the stubs; those that NVIDIA\n"
        "documents nowhere (its own libraries call them, or nobody) are only counted.\n\n"
        "| library | soname | symbols | jump | conv | wrap | pass | stub |\n"
        "|---|---|---:|---:|---:|---:|---:|---:|\n",
        "| %s | %s | %u |", " %u |");
    for (unsigned n; *tables; tables += n) {
        for (n = 1; tables[n] && strcmp(tables[n]->library, tables[0]->library) == 0;)
            n++;
        print_stubs(tables, n);
    }
}

static void print_text(const struct cumu_table *const *tables)
{
    print_counts(tables, "library    soname               symbols   jump   conv   wrap   pass   stub\n",
                 "%-10s %-20s %7u", " %6u");
    cumu_coverage_below();
}

/* ---- another build ------------------------------------------------------------------------------------ */

static const struct cumu_symbol *find(const struct cumu_table *const *tables, const char *soname, const char *name)
{
    for (; *tables; tables++)
        if (strcmp((*tables)->soname, soname) == 0)
            return cumu_table_find(*tables, name);
    return NULL;
}

/* Symbols that another build, by its --symbols, had otherwise or has not. 1 if something became worse. */
static int compare(const struct cumu_table *const *tables, const char *path)
{
    char line[1024], *field[4];
    unsigned better = 0, worse = 0, other = 0, old = 0, now = 0;
    FILE *f = fopen(path, "re");
    if (!f)
        return cumu_fail(CUMU_EXIT_NOT_FOUND, "%s: cannot be read", path);
    while (fgets(line, sizeof line, f)) {
        char *rest = line;
        for (int i = 0; i < 4; i++)
            field[i] = rest ? strsep(&rest, "\t\n") : NULL;
        if (!field[3] || !rest) {
            (void)fclose(f);
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: not what cumu coverage --symbols prints", path);
        }
        const struct cumu_symbol *s = find(tables, field[1], field[2]);
        const char *verb = s ? cumu_verb_names[s->verb] : "absent";
        old++;
        if (strcmp(verb, field[3]) == 0)
            continue;
        bool was = strcmp(field[3], "stub") != 0, is = s && s->verb != CUMU_STUB;
        unsigned *kind = was && !is ? &worse : !was && is ? &better : &other;
        ++*kind;
        printf("%s\t%s\t%s\t%s -> %s\n",
               was && !is   ? "worse"
               : !was && is ? "better"
                            : "other",
               field[1], field[2], field[3], verb);
    }
    (void)fclose(f);
    for (; *tables; tables++)
        now += (*tables)->count;
    printf("%u symbols then, %u now: %u better, %u worse, %u done in another way\n", old, now, better, worse, other);
    return worse > 0;
}

/* Reads the verb's arguments. Symbols gather at the front of argv, so that options may stand before and behind them.
 * */
static int coverage(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*print)(const struct cumu_table *const *tables);
    } formats[] = {{"text", print_text}, {"tsv", print_tsv}, {"markdown", print_markdown}};
    const struct cumu_table *const *tables = cumu_tool_tables();
    void (*print)(const struct cumu_table *const *) = print_text;
    int asked = 0;
    if (!tables)
        return CUMU_EXIT_USAGE;
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *value = strchr(a, '=');
        if (*a != '-') {
            argv[asked++] = argv[i]; /* a symbol */
            continue;
        }
        size_t n = value ? (size_t)(value - a) : strlen(a);
        if (strcmp(a, "--symbols") == 0) {
            print = print_symbols;
            continue;
        }
        value = value ? value + 1 : i + 1 < argc ? argv[++i] : "";
        if (n == 9 && memcmp(a, "--against", n) == 0)
            return compare(tables, value);
        if (n != 8 || memcmp(a, "--format", n) != 0)
            return cumu_usage(&cumu_verb_coverage, "unknown option %s", a);
        print = NULL;
        for (unsigned k = 0; k < sizeof formats / sizeof *formats; k++)
            if (strcmp(value, formats[k].name) == 0)
                print = formats[k].print;
        if (!print)
            return cumu_usage(&cumu_verb_coverage, "--format wants text, tsv or markdown");
    }
    if (asked && print != print_text && print != print_tsv)
        return cumu_usage(&cumu_verb_coverage, "symbols are shown as text or tsv");
    if (asked)
        return cumu_coverage_symbols(argv, asked, print == print_tsv);
    print(tables);
    return 0;
}

const struct cumu_verb_entry cumu_verb_coverage = {
    "coverage", "tell what becomes of a CUDA function, or count per library",
    "usage: cumu coverage [--format text|tsv|markdown] [--symbols] [--against FILE] [SYMBOL...]\n"
    "\n"
    "Per CUDA library and soname, how many symbols are a jump, a conversion, a wrapper, a pass or a stub; then, per\n"
    "MUSA library, the functions which that asks for and the CPU library, or an SDK on this machine, lacks.\n"
    "  --format tsv       library, soname, verb, count\n"
    "With SYMBOLs (patterns too, as 'cudaMalloc*'): for each library that has one, its verb, the MUSA function and how well\n"
    "public sources know it (mapping/musa.evidence), the wrapper's file, why it is a stub; exit status 1, and the closest\n"
    "names, if no library has it. In tsv: soname, symbol, verb, MUSA function, grade, file, reason.\n"
    "  --symbols          one line a symbol: library, soname, symbol, verb, MUSA function, reason\n"
    "  --against FILE     what changed since the build whose --symbols FILE holds; exit status 1 if a symbol\n"
    "                     that worked is a stub or gone\n",
    coverage};
