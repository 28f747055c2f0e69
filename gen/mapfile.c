/* Parsers of the map, of sonames.map and of version lists; see gen/README.md for the language. */
#include <string.h>

#include "gen/map.h"

const char *const verb_names[VERBS] = {"jump", "conv", "wrap", "stub", "pass", "alias", "use"};

static struct library *library_of(struct map *m, struct arena *a, const char *name)
{
    for (unsigned i = 0; i < m->libraries.count; i++)
        if (!strcmp(m->libraries.at[i].name, name))
            return &m->libraries.at[i];
    struct library *l = ARENA_PUSH(a, &m->libraries);
    l->name = name;
    return l;
}

static const char *word_at(const struct words *w, unsigned i) { return i < w->count ? w->at[i].text : ""; }

static bool is_word(const struct words *w, unsigned i, const char *text)
{
    return i < w->count && !w->at[i].quoted && !strcmp(w->at[i].text, text);
}

static bool version_word(struct map_line *l, struct errors *e, const char *word, unsigned *version)
{
    long long n;
    if (!parse_number(word, &n) || n <= 0 || n > VERSION_MAX) {
        error_at(e, l->at, l->symbol, "bad version `%s'; expected a toolkit number such as 12", word);
        return false;
    }
    *version = (unsigned)n;
    return true;
}

/* Everything after the symbol, in any order, each part at most once. */
static void parse_parts(struct map *m, struct arena *a, struct errors *e, struct map_line *l, const struct words *w)
{
    for (unsigned i = 2; i < w->count; i++) {
        const char *word = w->at[i].text, *next = word_at(w, i + 1);
        const char **text = is_word(w, i, "=") ? &l->target : is_word(w, i, ">") ? &l->alias : NULL;
        if (text) {
            if (*text || !is_identifier(next))
                error_at(e, l->at, l->symbol, "bad or second `%s %s'; expected one name", word, next);
            *text = next;
            i++;
        } else if (is_word(w, i, "since")) {
            version_word(l, e, next, &l->since);
            i++;
        } else if (is_word(w, i, "until")) {
            version_word(l, e, next, &l->until);
            i++;
        } else if (is_word(w, i, "!")) {
            if (i + 1 >= w->count || !w->at[i + 1].quoted || !*next)
                error_at(e, l->at, l->symbol, "no reason after !; expected one in quotes");
            l->reason = next;
            i++;
        } else if (is_word(w, i, "!host")) {
            l->not_on_host = true;
        } else if (is_word(w, i, "!exact")) {
            l->exact = true;
        } else if (strchr(word, '(') && !w->at[i].quoted && !l->signature) {
            l->signature = parse_signature(a, e, l->at, l->symbol, word, &m->types);
        } else {
            error_at(e, l->at, l->symbol,
                     "unknown part `%s'; expected = since until > ! !host !exact or a "
                     "signature",
                     word);
        }
    }
}

/* What each verb must and may have besides its symbol. */
static const struct {
    const char *needs, *allows;
} verb_parts[VERBS] = {
    [VERB_JUMP] = {"=(", "hx"}, [VERB_CONV] = {"(", "=>hx"}, [VERB_WRAP] = {"(", "="}, [VERB_STUB] = {"!(", ""},
    [VERB_PASS] = {"(", "=hx"}, [VERB_ALIAS] = {">", ""},    [VERB_USE] = {"(", "hx"}};

/* Checks that a line has what its verb needs and nothing that it does not take (verb_parts). */
static void check_parts(struct errors *e, const struct map_line *l, bool had_signature)
{
    const struct {
        char part;
        bool given;
        const char *name, *expected;
    } parts[] = {
        {'=', l->target != NULL, "target", "`= NAME'"},
        {'>', l->alias != NULL, "alias target", "`> NAME'"},
        {'!', l->reason != NULL, "reason", "`! \"why\"'"},
        {'(', had_signature, "signature", "RESULT(LETTERS)"},
        {'h', l->not_on_host, "!host", "it only after a MUSA name"},
        {'x', l->exact, "!exact", "it only after a MUSA name"},
    };
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        bool need = strchr(verb_parts[l->verb].needs, parts[i].part);
        bool allow = need || strchr(verb_parts[l->verb].allows, parts[i].part);
        if (need && !parts[i].given)
            error_at(e, l->at, l->symbol, "%s without %s; expected %s", verb_names[l->verb], parts[i].name,
                     parts[i].expected);
        if (!allow && parts[i].given)
            error_at(e, l->at, l->symbol, "%s with %s; expected none", verb_names[l->verb], parts[i].name);
    }
    if (l->verb == VERB_CONV && !l->target == !l->alias)
        error_at(e, l->at, l->symbol, "conv with both targets or none; expected `= NAME' or `> NAME'");
    if (l->since > l->until)
        error_at(e, l->at, l->symbol, "since %u until %u; expected since <= until", l->since, l->until);
}

static void parse_library(const struct types *types, struct library *l, struct errors *e, struct place at,
                          const struct words *w)
{
    l->at = at;
    l->quiet = is_word(w, 6, "quiet");
    unsigned end = l->quiet ? 7 : 6;
    if (is_word(w, end, "status")) {
        l->status = find_enum(types, word_at(w, end + 1));
        end += 2;
        if (!l->status)
            error_at(e, at, word_at(w, 1), "unknown enum `%s'; expected one of mapping/types", word_at(w, end - 1));
    }
    if (w->count != end || !is_word(w, 2, "unsupported") || !is_word(w, 4, "absent") ||
        !parse_number(word_at(w, 3), &l->unsupported) || !parse_number(word_at(w, 5), &l->absent))
        error_at(e, at, word_at(w, 1),
                 "bad head; expected `library NAME unsupported CODE absent "
                 "CODE [quiet] [status ENUM]'");
}

void parse_map(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct words w;
    struct library *library = NULL;
    while (next_line(&lines, a, e, &w)) {
        const char *verb = w.at[0].text, *symbol = word_at(&w, 1);
        if (!strcmp(verb, "library")) {
            library = library_of(m, a, symbol);
            parse_library(&m->types, library, e, lines.at, &w);
            continue;
        }
        unsigned v = 0;
        while (v < VERBS && strcmp(verb_names[v], verb))
            v++;
        if (v == VERBS || !is_identifier(symbol) || !library) {
            if (v == VERBS)
                error_at(e, lines.at, *symbol ? symbol : "-",
                         "unknown verb `%s'; expected one of jump conv wrap stub pass alias use", verb);
            else if (!library)
                error_at(e, lines.at, *symbol ? symbol : "-", "no library yet; expected `library NAME ...' first");
            else
                error_at(e, lines.at, *symbol ? symbol : "-", "not a symbol; expected a C name");
            continue;
        }
        struct map_line *l = ARENA_PUSH(a, &library->lines);
        l->at = lines.at;
        l->verb = (enum verb)v;
        l->symbol = symbol;
        l->until = VERSION_MAX;
        unsigned before = e->count;
        parse_parts(m, a, e, l, &w);
        check_parts(e, l, l->signature || e->count != before);
    }
}

static void parse_facade(struct map *m, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    struct facade *f = ARENA_PUSH(a, &m->facades);
    long long version = 0;
    f->at = at;
    f->library = word_at(w, 1);
    f->soname = word_at(w, 2);
    f->node = strcmp(word_at(w, 3), "-") ? word_at(w, 3) : NULL;
    if (w->count == 7 && is_word(w, 5, "!"))
        f->origin = word_at(w, 6);
    if ((w->count != 5 && !f->origin) || !parse_number(word_at(w, 4), &version) || version <= 0 ||
        version > VERSION_MAX)
        error_at(e, at, f->soname, "bad facade; expected `facade LIBRARY SONAME NODE-or-minus VERSION [! \"ORIGIN\"]'");
    f->version = (unsigned)version;
}

static void parse_below(struct map *m, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    struct below *b = ARENA_PUSH(a, &m->below);
    b->at = at;
    b->name = word_at(w, 1);
    b->prefix = word_at(w, 2);
    if (w->count < 6 || !parse_number(word_at(w, 3), &b->unsupported) || !parse_number(word_at(w, 4), &b->absent))
        error_at(e, at, b->name,
                 "bad MUSA library; expected `below NAME PREFIX UNSUPPORTED ABSENT "
                 "SONAME...'");
    for (unsigned i = 5; i < w->count; i++)
        *ARENA_PUSH(a, &b->sonames) = w->at[i].text;
}

void parse_sonames(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct words w;
    while (next_line(&lines, a, e, &w)) {
        if (is_word(&w, 0, "facade"))
            parse_facade(m, a, e, lines.at, &w);
        else if (is_word(&w, 0, "below"))
            parse_below(m, a, e, lines.at, &w);
        else
            error_at(e, lines.at, w.at[0].text, "unknown line; expected `facade' or `below'");
    }
}

/* Reads a list of versions for cuGetProcAddress: ascending numbers of toolkits, then, behind ptsz or ptds, those of
 * the per-thread form. The k-th number belongs to the suffix _v<k> (mapping/facts/cuda.md P1). */
void parse_versions(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct words w;
    const char *library = "";
    while (next_line(&lines, a, e, &w)) {
        if (is_word(&w, 0, "library")) {
            library = word_at(&w, 1);
            continue;
        }
        struct base_name *b = ARENA_PUSH(a, &m->bases);
        b->at = lines.at;
        b->library = library;
        b->name = w.at[0].text;
        for (unsigned i = 1; i < w.count; i++) {
            const char *word = w.at[i].text;
            unsigned *count = b->thread_suffix ? &b->thread_versions : &b->versions;
            unsigned *list = b->thread_suffix ? b->thread_version : b->version;
            long long n;
            if (!b->thread_suffix && (!strcmp(word, "ptsz") || !strcmp(word, "ptds"))) {
                b->thread_suffix = arena_print(a, "_%s", word);
            } else if (*count < 8 && parse_number(word, &n) && n > 0 && n < 1000000 &&
                       (!*count || list[*count - 1] < n)) {
                list[(*count)++] = (unsigned)n;
            } else {
                error_at(e, b->at, b->name,
                         "bad version `%s'; expected ascending numbers such as 12000, "
                         "then ptsz or ptds and more",
                         word);
            }
        }
        if (!b->versions)
            error_at(e, b->at, b->name, "no version; expected the first one that has it");
    }
}
