/* Parser of the .enum and .struct files of mapping/types (layouts: head of error.enum and
 * device_prop.struct there). */
#include <stdlib.h>
#include <string.h>

#include "gen/hmap.h"
#include "gen/types.h"

const char *musa_name(struct arena *a, const char *cuda)
{
    static const struct {
        const char *from, *to;
    } rules[] = {{"nccl", "mccl"}, {"cuda", "musa"}, {"CUDA", "MUSA"}, {"CU", "MU"}, {"cu", "mu"}};
    for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++) {
        size_t n = strlen(rules[i].from);
        if (!strncmp(cuda, rules[i].from, n))
            return arena_print(a, "%s%s", rules[i].to, cuda + n);
    }
    return cuda;
}

/* enum CUDA [ALIAS] = MUSA [ALIAS] equal | default N [texts CUDA] ;  flags NAME equal */
static void enum_head(struct types *t, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    struct enum_type *n = ARENA_PUSH(a, &t->enums);
    const char *name = w->count > 1 ? w->at[1].text : "-";
    n->at = at;
    n->flags = !strcmp(w->at[0].text, "flags");
    n->cuda = n->musa = name;
    unsigned i = 2, count = w->count;
    if (count > 2 && !strcmp(w->at[count - 2].text, "texts")) {
        count -= 2;
        n->like = find_enum(t, w->at[count + 1].text);
        if (!n->like)
            error_at(e, at, name, "texts of `%s'; expected an enum above", w->at[count + 1].text);
    }
    if (!n->flags) {
        if (i < count && is_identifier(w->at[i].text))
            n->cuda_alias = w->at[i++].text;
        if (i + 1 >= count || strcmp(w->at[i].text, "=")) {
            error_at(e, at, name, "no MUSA type; expected `enum CUDA [ALIAS] = MUSA [ALIAS] equal'");
            return;
        }
        n->musa = w->at[i + 1].text;
        i += 2;
        if (i + 1 < count && is_identifier(w->at[i].text) && strcmp(w->at[i].text, "default"))
            n->musa_alias = w->at[i++].text;
    }
    if (i + 1 == count && !strcmp(w->at[i].text, "equal"))
        n->equal = true;
    else if (i + 2 != count || strcmp(w->at[i].text, "default") || !parse_number(w->at[i + 1].text, &n->fallback))
        error_at(e, at, name,
                 "values are neither equal nor translated; expected `equal' or "
                 "`default NUMBER' at the end");
}

/* The text of that number, NULL when it has none. */
static const char *text_of(const struct enum_type *n, long long value)
{
    for (unsigned i = 0; i < n->rows.count; i++)
        if (n->rows.at[i].cuda && n->rows.at[i].cuda_value == value)
            return n->rows.at[i].text;
    return NULL;
}

/* cudaName N [= musaName [N] | -] ["text"] ;  - N = musaName [N] */
static void enum_row(struct enum_type *n, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    struct enum_row r = {.at = at};
    const char *name = w->at[0].text;
    if (!is_identifier(name) && strcmp(name, "-")) {
        error_at(e, at, name, "not a name; expected a CUDA enumerator or -");
        return;
    }
    if (w->count < 2 || !parse_number(w->at[1].text, &r.cuda_value)) {
        error_at(e, at, name, "no number; expected `NAME NUMBER [= MUSA-NAME [NUMBER]]'");
        return;
    }
    r.cuda = strcmp(name, "-") ? name : NULL;
    r.musa_value = r.cuda_value;
    r.musa = r.cuda ? musa_name(a, r.cuda) : NULL;
    unsigned count = w->count;
    if (w->at[count - 1].quoted)
        r.text = w->at[--count].text;
    else if (n->like)
        r.text = text_of(n->like, r.cuda_value);
    if (count > 2) {
        if (strcmp(w->at[2].text, "=") || count < 4 || count > 5 ||
            (count == 5 && !parse_number(w->at[4].text, &r.musa_value))) {
            error_at(e, at, name, "bad right side; expected `= MUSA-NAME [NUMBER]' or `= -'");
            return;
        }
        r.musa = strcmp(w->at[3].text, "-") ? w->at[3].text : NULL;
    }
    if (!r.cuda && !r.musa)
        error_at(e, at, name, "no name on either side; expected one");
    if (n->equal && r.musa_value != r.cuda_value)
        error_at(e, at, name,
                 "numbers differ in an enum declared equal; expected `default NUMBER' in "
                 "its head");
    r.answers = !r.cuda && count == 5;
    /* Several CUDA names of one MUSA value: the MUSA side declares it once. */
    for (unsigned i = 0; i < n->rows.count && r.musa; i++)
        r.repeat |= n->rows.at[i].musa && !strcmp(n->rows.at[i].musa, r.musa) &&
                    n->rows.at[i].musa_value == r.musa_value;
    *ARENA_PUSH(a, &n->rows) = r;
}

void parse_enums(struct types *t, struct arena *a, struct errors *e, const char *file, const char *text, size_t length)
{
    struct lines l = {text, text + length, {file, 0}};
    struct words w;
    bool open = false;
    while (next_line(&l, a, e, &w)) {
        const char *first = w.at[0].text;
        if (!strcmp(first, "enum") || !strcmp(first, "flags")) {
            enum_head(t, a, e, l.at, &w);
            open = true;
        } else if (open) {
            enum_row(&t->enums.at[t->enums.count - 1], a, e, l.at, &w);
        } else {
            error_at(e, l.at, first, "row outside an enum; expected `enum' or `flags' first");
        }
    }
}

const struct field_type *find_field_type(const char *name)
{
    static const struct field_type types[] = {
        {"char", "char", 1},   {"uchar", "unsigned char", 1},    {"short", "short", 2}, {"ushort", "unsigned short", 2},
        {"int", "int", 4},     {"uint", "unsigned", 4},          {"float", "float", 4}, {"double", "double", 8},
        {"size", "size_t", 8}, {"u64", "unsigned long long", 8}, {"ptr", "void *", 8},  {"cptr", "const void *", 8}};
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].name, name))
            return &types[i];
    return NULL;
}

/* struct CUDA [= MUSA] LAYOUT:SIZE ... */
static void struct_head(struct types *t, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    struct struct_type *s = ARENA_PUSH(a, &t->structs);
    s->at = at;
    s->cuda = w->count > 1 ? w->at[1].text : "-";
    unsigned i = 2;
    if (i + 1 < w->count && !strcmp(w->at[i].text, "=")) {
        s->musa = w->at[i + 1].text;
        i += 2;
    }
    for (; i < w->count; i++) {
        const char *colon = strchr(w->at[i].text, ':');
        long long size;
        if (!colon || !parse_number(colon + 1, &size) || size <= 0 || s->layouts == LAYOUTS) {
            error_at(e, at, s->cuda, "bad layout `%s'; expected at most %d of NAME:SIZE", w->at[i].text, LAYOUTS);
            continue;
        }
        s->layout[s->layouts].name = arena_copy(a, w->at[i].text, (size_t)(colon - w->at[i].text));
        s->layout[s->layouts++].size = (long)size;
    }
    if (!s->layouts)
        error_at(e, at, s->cuda, "no layout; expected NAME:SIZE for each version");
}

/* name type[bounds] offset-or-minus per layout */
static void struct_row(struct struct_type *s, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    struct field_row *f = ARENA_PUSH(a, &s->fields);
    f->at = at;
    f->name = w->at[0].text;
    if (w->count != s->layouts + 2) {
        error_at(e, at, f->name, "%u columns; expected name, type and %u offsets", w->count, s->layouts);
        f->type = "char";
        return;
    }
    const char *bracket = strchr(w->at[1].text, '[');
    f->type = bracket ? arena_copy(a, w->at[1].text, (size_t)(bracket - w->at[1].text)) : w->at[1].text;
    f->dims = bracket ? (unsigned)strtoul(bracket + 1, NULL, 10) : 0;
    if (!find_field_type(f->type) || (bracket && !f->dims))
        error_at(e, at, f->name,
                 "unknown type `%s'; expected one of char uchar short ushort int uint "
                 "float double size u64 ptr cptr, with [N] for arrays",
                 w->at[1].text);
    for (unsigned i = 0; i < s->layouts; i++) {
        long long offset = -1;
        const char *cell = w->at[i + 2].text;
        if (strcmp(cell, "-") && (!parse_number(cell, &offset) || offset < 0))
            error_at(e, at, f->name, "bad offset `%s'; expected a number or -", cell);
        f->offset[i] = (long)offset;
    }
}

void parse_structs(struct types *t, struct arena *a, struct errors *e, const char *file, const char *text,
                   size_t length)
{
    struct lines l = {text, text + length, {file, 0}};
    struct words w;
    bool open = false;
    while (next_line(&l, a, e, &w)) {
        if (!strcmp(w.at[0].text, "struct")) {
            struct_head(t, a, e, l.at, &w);
            open = true;
        } else if (open) {
            struct_row(&t->structs.at[t->structs.count - 1], a, e, l.at, &w);
        } else {
            error_at(e, l.at, w.at[0].text, "row outside a struct; expected `struct' first");
        }
    }
}

struct seen {
    const char *name;
    struct place at;
    UT_hash_handle hh;
};

static void once(struct seen **seen, struct errors *e, const char *name, struct place at)
{
    struct seen *s;
    if (!name)
        return;
    HASH_FIND_STR(*seen, name, s);
    if (s) {
        error_at(e, at, name, "name given twice; expected it only at %s:%d", s->at.file, s->at.line);
        return;
    }
    s = calloc(1, sizeof *s);
    if (!s)
        return;
    s->name = name;
    s->at = at;
    HASH_ADD_KEYPTR(hh, *seen, s->name, strlen(s->name), s);
    if (!hmap_added(s))
        free(s);
}

static void forget(struct seen *seen)
{
    struct seen *s, *next;
    HASH_ITER(hh, seen, s, next)
    {
        HASH_DEL(seen, s);
        free(s);
    }
}

void check_types(const struct types *t, struct errors *e)
{
    struct seen *cuda = NULL, *musa = NULL;
    for (unsigned i = 0; i < t->enums.count; i++) {
        const struct enum_type *n = &t->enums.at[i];
        for (unsigned k = 0; k < n->rows.count; k++) {
            once(&cuda, e, n->rows.at[k].cuda, n->rows.at[k].at);
            once(&musa, e, n->rows.at[k].repeat ? NULL : n->rows.at[k].musa, n->rows.at[k].at);
        }
    }
    forget(cuda);
    forget(musa);
}

const struct enum_type *find_enum(const struct types *t, const char *cuda)
{
    for (unsigned i = 0; i < t->enums.count; i++) {
        const struct enum_type *n = &t->enums.at[i];
        if (!n->flags && (!strcmp(n->cuda, cuda) || (n->cuda_alias && !strcmp(n->cuda_alias, cuda))))
            return n;
    }
    return NULL;
}
