/* Parser of mapping/torch: names.rules, RELEASE.numbers and SONAME.exports. */
#include <stdlib.h>
#include <string.h>

#include "gen/torch.h"

static bool number_of(const char *text, unsigned *value)
{
    long long n;
    if (!parse_number(text, &n) || n < 0 || n > 65535)
        return false;
    *value = (unsigned)n;
    return true;
}

/* Reads one line of names.rules. A rename whose result holds what it looks for would never end, so it is refused. */
static void parse_rule(struct map *m, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    struct torch *t = m->torch;
    const char *verb = w->at[0].text, *first = w->count > 1 ? w->at[1].text : NULL;
    bool assigns = w->count == 4 && !strcmp(w->at[2].text, "=");
    struct torch_line line = {.at = at, .symbol = first};
    if (!strcmp(verb, "below")) {
        for (unsigned i = 1; i < w->count; i++)
            *ARENA_PUSH(a, &t->below) = w->at[i];
        return;
    }
    if (assigns && !strcmp(verb, "boundary") && is_identifier(w->at[3].text) && strlen(first) > 2 && first[1] != 'Y') {
        line.wrap = w->at[3].text;
        *ARENA_PUSH(a, &t->boundary) = line;
        return;
    }
    if (w->count == 3 && (!strcmp(verb, "rename") || !strcmp(verb, "ident"))) {
        struct torch_pair pair = {at, first, w->at[2].text};
        if (verb[0] == 'r' && strstr(pair.to, pair.from))
            error_at(e, at, first, "'%s' holds '%s'; expected a rename that ends", pair.to, pair.from);
        else
            *(verb[0] == 'r' ? ARENA_PUSH(a, &t->renames) : ARENA_PUSH(a, &t->idents)) = pair;
        return;
    }
    if (assigns && !strcmp(verb, "wrap") && is_identifier(w->at[3].text))
        line.wrap = w->at[3].text;
    else if (assigns && !strcmp(verb, "bridge") && is_identifier(w->at[3].text))
        line.bridge = w->at[3].text;
    else if (assigns && !strcmp(verb, "name"))
        line.target = w->at[3].text;
    else if (!assigns || strcmp(verb, "data") != 0 || !number_of(w->at[3].text, &line.size) || !line.size) {
        if (w->count != 4 || strcmp(verb, "stub") != 0 || strcmp(w->at[2].text, "!") != 0 || !w->at[3].quoted) {
            error_at(e, at, first ? first : "-",
                     "'%s' with %u words; expected one of the lines that the head "
                     "of the file describes",
                     verb, w->count);
            return;
        }
        line.reason = w->at[3].text;
    }
    for (unsigned i = 0; i < t->lines.count; i++)
        if (!strcmp(t->lines.at[i].symbol, first))
            error_at(e, at, first, "second line; expected it only at %s:%d", t->lines.at[i].at.file,
                     t->lines.at[i].at.line);
    *ARENA_PUSH(a, &t->lines) = line;
}

void parse_torch_rules(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                       size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct words w = {0};
    while (next_line(&lines, a, e, &w))
        parse_rule(m, a, e, lines.at, &w);
}

/* `torch VERSION`, then `key CUDA-NAME NUMBER MUSA-NAME NUMBER` and `device ...` lines. */
void parse_torch_numbers(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                         size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct words w = {0};
    struct torch_release *r = NULL;
    while (next_line(&lines, a, e, &w)) {
        const char *verb = w.at[0].text;
        struct torch_number n = {.at = lines.at, .device = !strcmp(verb, "device")};
        if (w.count == 2 && !strcmp(verb, "torch")) {
            r = ARENA_PUSH(a, &m->torch->releases);
            r->at = lines.at;
            r->version = w.at[1].text;
        } else if (r && w.count == 5 && (n.device || !strcmp(verb, "key")) && number_of(w.at[2].text, &n.from) &&
                   number_of(w.at[4].text, &n.to)) {
            n.cuda = w.at[1].text;
            n.musa = w.at[3].text;
            *ARENA_PUSH(a, &r->numbers) = n;
        } else
            error_at(e, lines.at, verb,
                     "%u words; expected `torch VERSION`, then `key CUDA N MUSA N` and "
                     "`device CUDA N MUSA N`",
                     w.count);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct word *)a)->text, ((const struct word *)b)->text);
}

void parse_torch_exports(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text,
                         size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct torch_library *l = ARENA_PUSH(a, &m->torch->libraries);
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    struct words w = {0};
    l->at = (struct place){file, 1};
    l->soname = arena_copy(a, base, strlen(base) - strlen(".exports"));
    while (next_line(&lines, a, e, &w))
        if (w.count != 1)
            error_at(e, lines.at, w.at[0].text, "%u words; expected one name", w.count);
        else
            *ARENA_PUSH(a, &l->names) = w.at[0];
    if (l->names.count)
        qsort(l->names.at, l->names.count, sizeof *l->names.at, by_text);
    for (unsigned i = 1; i < l->names.count; i++)
        if (!strcmp(l->names.at[i].text, l->names.at[i - 1].text))
            error_at(e, l->at, l->names.at[i].text, "listed twice; expected once");
}

const struct torch_line *find_torch_line(const struct torch *t, const char *symbol)
{
    for (unsigned i = 0; i < t->lines.count; i++) {
        const char *s = t->lines.at[i].symbol;
        size_t n = strlen(s);
        if (!strcmp(s, symbol) || (s[n - 1] == '*' && !strncmp(s, symbol, n - 1)))
            return &t->lines.at[i];
    }
    return NULL;
}
