/* cumu coverage SYMBOL...: what becomes of one CUDA function in each library that has it, and where that is written. */
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/evidence.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLOSEST = 5, LONGEST = 127 }; /* names that are offered; characters that are compared */

/* The part of an answer that may be the same in several libraries. */
struct answer {
    const char *verb, *function, *grade, *file, *reason; /* "" where there is none */
};

static const char *wrapper_file(const char *soname, const char *symbol)
{
    for (const struct cumu_wrapper *w = cumu_wrappers; w->soname; w++)
        if (strcmp(w->symbol, symbol) == 0 && strcmp(w->soname, soname) == 0)
            return w->file;
    return "";
}

static struct answer answer(const struct cumu_table *t, const struct cumu_symbol *s)
{
    const char *grade = s->target ? cumu_evidence_word(s->target) : NULL;
    return (struct answer){.verb = cumu_verb_names[s->verb],
                           .function = s->target ? s->target : "",
                           .grade = grade ? grade : "",
                           .file = s->verb == CUMU_WRAP ? wrapper_file(t->soname, s->name) : "",
                           .reason = s->reason ? s->reason : ""};
}

static bool same(const struct answer *a, const struct answer *b)
{
    return !strcmp(a->verb, b->verb) && !strcmp(a->function, b->function) && !strcmp(a->file, b->file) &&
           !strcmp(a->reason, b->reason);
}

static void print_row(const struct cumu_table *t, const struct cumu_symbol *s)
{
    struct answer a = answer(t, s);
    printf("%s\t%s\t%s\t%s\t%s\t%s\t%s\n", t->soname, s->name, a.verb, a.function, a.grade, a.file, a.reason);
}

static void print_answer(const struct answer *a)
{
    printf(": %s", a->verb);
    if (*a->file)
        printf(", %s", a->file);
    if (*a->function)
        printf("%s%s (%s)", *a->file ? "; MUSA's own is " : " to ", a->function,
               *a->grade ? a->grade : "not in the map");
    if (*a->reason)
        printf(", %s", a->reason);
    putchar('\n');
}

/* Libraries that answer alike stand on one line. Lists a name when it meets it in the first library that has it. */
static void print_block(const struct cumu_table *const *tables, const char *name)
{
    const struct answer *last = NULL;
    struct answer now, before;
    puts(name);
    for (; *tables; tables++) {
        const struct cumu_symbol *s = cumu_table_find(*tables, name);
        if (!s)
            continue;
        now = answer(*tables, s);
        if (last && same(last, &now)) {
            printf(", %s", (*tables)->soname);
            continue;
        }
        if (last)
            print_answer(last);
        printf("  %s", (*tables)->soname);
        before = now;
        last = &before;
    }
    if (last)
        print_answer(last);
}

static bool met_before(const struct cumu_table *const *tables, const struct cumu_table *const *at, const char *name)
{
    for (; tables < at; tables++)
        if (cumu_table_find(*tables, name))
            return true;
    return false;
}

/* How many names fit the pattern; each is printed once, with all libraries that have it. */
static unsigned print_matches(const struct cumu_table *const *tables, const char *pattern, bool tsv)
{
    unsigned matches = 0;
    for (const struct cumu_table *const *t = tables; *t; t++)
        for (uint32_t i = 0; i < (*t)->count; i++) {
            const struct cumu_symbol *s = &(*t)->symbols[i];
            if (fnmatch(pattern, s->name, 0) != 0)
                continue;
            matches++;
            if (tsv)
                print_row(*t, s);
            else if (!met_before(tables, t, s->name))
                print_block(tables, s->name);
        }
    return matches;
}

/* Edits that turn one name into the other, capitals not counted (Levenshtein 1966, one row at a time). */
static unsigned distance(const char *a, const char *b)
{
    unsigned row[LONGEST + 1];
    size_t n = strnlen(b, LONGEST);
    for (unsigned k = 0; k <= n; k++)
        row[k] = k;
    for (unsigned i = 0; a[i] && i < LONGEST; i++) {
        unsigned corner = row[0]++;
        for (unsigned k = 1; k <= n; k++) {
            unsigned up = row[k], change = corner + ((a[i] | 32) != (b[k - 1] | 32));
            row[k] = row[k - 1] < up ? row[k - 1] + 1 : up + 1;
            row[k] = change < row[k] ? change : row[k];
            corner = up;
        }
    }
    return row[n];
}

/* Names the closest symbols, nearest first; a name that continues what was asked for counts as near. */
static void print_closest(const struct cumu_table *const *tables, const char *asked)
{
    const char *name[CLOSEST];
    unsigned far[CLOSEST], n = 0;
    size_t length = strnlen(asked, LONGEST);
    for (const struct cumu_table *const *t = tables; *t; t++)
        for (uint32_t i = 0; i < (*t)->count; i++) {
            const char *s = (*t)->symbols[i].name;
            unsigned d = strncmp(s, asked, length) == 0 ? 1 : distance(asked, s), k = n;
            if (d > length / 3 + 1 || (n == CLOSEST && d >= far[n - 1]) || met_before(tables, t, s))
                continue;
            n += n < CLOSEST;
            for (k = n - 1; k > 0 && far[k - 1] > d; k--) {
                far[k] = far[k - 1];
                name[k] = name[k - 1];
            }
            far[k] = d;
            name[k] = s;
        }
    fprintf(stderr, "cumu: %s: no CUDA library here has it%s", asked, n ? "; closest are" : "");
    for (unsigned k = 0; k < n; k++)
        fprintf(stderr, "%s %s", k ? "," : "", name[k]);
    fputc('\n', stderr);
}

int cumu_coverage_symbols(char **symbols, int count, bool tsv)
{
    const struct cumu_table *const *tables = cumu_tool_tables();
    int status = 0;
    for (int i = 0; tables && i < count; i++)
        if (!print_matches(tables, symbols[i], tsv)) {
            print_closest(tables, symbols[i]);
            status = 1;
        }
    return tables ? status : CUMU_EXIT_USAGE;
}
