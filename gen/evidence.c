/* What public sources say of MUSA functions (mapping/musa.evidence), as a grade for each that the map names. */
#include "gen/map.h"

#include <string.h>

static const struct {
    const char *name;
    enum grade grade;
} classes[] = {{"sdk31", GRADE_SURE}, {"header", GRADE_SURE}, {"proto", GRADE_SURE}, {"dlsym", GRADE_SURE},
               {"list", GRADE_SURE},  {"call", GRADE_SURE},   {"cbid", GRADE_NAMED}, {"mention", GRADE_NAMED}};
enum { CLASSES = sizeof classes / sizeof *classes };

void parse_evidence(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct words w;
    while (next_line(&lines, a, e, &w)) {
        unsigned k = 0;
        while (w.count > 1 && k < CLASSES && strcmp(classes[k].name, w.at[1].text) != 0)
            k++;
        if (w.count < 3 || k == CLASSES) {
            error_at(e, lines.at, w.at[0].text,
                     "bad line of evidence; expected LIBRARY CLASS SYMBOL... and a class of "
                     "musa.evidence's head");
            continue;
        }
        for (unsigned i = 2; i < w.count; i++)
            *ARENA_PUSH(a, &m->evidence) = (struct evidence){lines.at, w.at[0].text, w.at[i].text, classes[k].grade};
    }
}

static enum grade grade_by_name(const struct map *m, int below, const char *name)
{
    for (unsigned i = 0; below >= 0 && i < m->evidence.count; i++)
        if (!strcmp(m->evidence.at[i].symbol, name) && !strcmp(m->evidence.at[i].library, m->below.at[below].name))
            return m->evidence.at[i].grade;
    return GRADE_GUESSED;
}

enum grade grade_of(const struct map *m, struct arena *a, const struct mu_symbol *s)
{
    const struct mu_symbol *base = NULL;
    enum grade best = grade_by_name(m, s->below, s->name);
    const char *other = other_name(m, a, s);
    enum grade by = other ? grade_by_name(m, s->below, other) : GRADE_GUESSED;
    best = by < best ? by : best;
    if (best && per_thread_base(m, a, s, &base) != PER_THREAD_NONE && base) {
        by = grade_of(m, a, base);
        best = by < best ? by : best;
    }
    return best;
}
