/* mapping/static/RELEASE.runtime: parser, and the tables of the audit module made from it. */
#include "gen/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "gen/emit.h"

static bool hexadecimal(const char *word, uint64_t *value)
{
    char *end;
    *value = strtoull(word, &end, 16);
    return end != word && !*end;
}

/* `release NAME TOOLKIT OFFSET DIGEST`, then `SYMBOL OFFSET MASK DIGEST` for each function. */
static void parse_line(struct runtime *r, struct arena *a, struct errors *e, struct place at, const struct words *w)
{
    long long version = 0;
    uint64_t offset, mask = 0, digest;
    bool head = !strcmp(w->at[0].text, "release");
    if (w->count != (head ? 5u : 4u) || head != !r->release) {
        error_at(e, at, w->at[0].text,
                 "%u words; expected `release NAME TOOLKIT OFFSET DIGEST`, then "
                 "`SYMBOL OFFSET MASK DIGEST`",
                 w->count);
        return;
    }
    unsigned first = head ? 3 : 1;
    if (!hexadecimal(w->at[first].text, &offset) || offset > UINT32_MAX ||
        (head ? !parse_number(w->at[2].text, &version) || version < 1 || version > 99
              : !hexadecimal(w->at[2].text, &mask) || mask > UINT32_MAX) ||
        !hexadecimal(w->at[w->count - 1].text, &digest)) {
        error_at(e, at, w->at[0].text, "a wrong number; expected hexadecimal ones");
        return;
    }
    if (head) {
        r->release = w->at[1].text;
        r->version = (unsigned)version;
        r->anchor = (unsigned)offset;
        r->digest = digest;
    } else
        *ARENA_PUSH(a, &r->rows) = (struct runtime_row){w->at[0].text, digest, offset, mask};
}

void parse_runtime(struct map *m, struct arena *a, struct errors *e, const char *file, const char *text, size_t length)
{
    struct lines lines = {text, text + length, {file, 0}};
    struct runtime *r = ARENA_PUSH(a, &m->runtimes);
    struct words w;
    r->at = (struct place){file, 1};
    while (next_line(&lines, a, e, &w))
        parse_line(r, a, e, lines.at, &w);
    if (!r->release || !r->rows.count)
        error_at(e, r->at, "-", "no release; expected a file made by `gen runtime`");
}

/* Offset of a name in the pool, which it joins when it is new. */
static unsigned pool(struct arena *a, struct words *names, const char *name)
{
    unsigned offset = 0;
    for (unsigned i = 0; i < names->count; i++) {
        if (!strcmp(names->at[i].text, name))
            return offset;
        offset += (unsigned)strlen(names->at[i].text) + 1;
    }
    *ARENA_PUSH(a, names) = (struct word){name, false};
    return offset;
}

void emit_runtimes(const struct job *j)
{
    struct output o = emit_open(j, "runtimes.c", "//", "runtimes.c", "static and sonames.map");
    struct words names = {0};
    const struct map *m = j->map;
    fprintf(o.file, "#include \"audit/audit.h\"\n\nconst struct audit_facade audit_facades[] = {\n");
    for (unsigned i = m->facades.count; i--;) /* the newest of a library stands last in sonames.map */
        fprintf(o.file, "    {\"%s\", %u, %lld},\n", m->facades.at[i].soname, m->facades.at[i].version,
                find_library(m, m->facades.at[i].library)->unsupported);
    fprintf(o.file, "    {0, 0, 0},\n};\n");
    for (unsigned i = 0; i < m->runtimes.count; i++) {
        fprintf(o.file, "static const struct audit_row rows%u[] = {\n", i);
        for (unsigned k = 0; k < m->runtimes.at[i].rows.count; k++) {
            const struct runtime_row *r = &m->runtimes.at[i].rows.at[k];
            unsigned name = pool(j->arena, &names, r->name);
            fprintf(o.file, "    {0x%llx, %llu, 0x%llx, %u},\n", (unsigned long long)r->digest,
                    (unsigned long long)r->offset, (unsigned long long)r->mask, name);
        }
        fprintf(o.file, "};\n");
    }
    fprintf(o.file, "const char audit_names[] =\n");
    for (unsigned i = 0; i < names.count; i++)
        fprintf(o.file, "    \"%s\\0\"\n", names.at[i].text);
    fprintf(o.file, "    \"\";\nconst struct audit_release audit_releases[] = {\n");
    for (unsigned i = 0; i < m->runtimes.count; i++) {
        const struct runtime *r = &m->runtimes.at[i];
        fprintf(o.file, "    {\"%s\", rows%u, 0x%llx, %u, %u, %u},\n", r->release, i, (unsigned long long)r->digest,
                r->anchor, r->rows.count, r->version);
    }
    fprintf(o.file, "    {0, 0, 0, 0, 0, 0},\n};\nconst unsigned audit_release_count = %u;\n", m->runtimes.count);
    output_close(&o);
}
