/* Names of two builds of the same sources: what the compiler's hashes in them are, without them, and exchanged. */
#include "cli/pack_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEX = 8, MOST_NUMBER = 4096 };

/* What stands before an ID, and where the number is that counts it. */
static const struct word {
    const char *text;
    bool number_behind; /* __nv_static_20_ID: counts the ID alone */
} words[] = {{"_GLOBAL__N_", false}, {"_INTERNAL", false}, {"__nv_static_", true}};

struct part {
    const struct word *word;
    size_t at, end; /* with the number and the word */
    const char *id, *file;
    size_t id_len, file_len;
};

/* Characters of the ID up to the end of its FILE, or 0: it is none. */
static size_t id_head(const char *s, size_t n, const char **file, size_t *file_len)
{
    size_t at = 1, len = 0;
    if (n < HEX + 4 || s[0] != '_')
        return 0;
    for (; at <= HEX; at++)
        if (!isxdigit((unsigned char)s[at]))
            return 0;
    if (s[at++] != '_')
        return 0;
    while (at < n && isdigit((unsigned char)s[at]) && len < MOST_NUMBER)
        len = len * 10 + (size_t)(s[at++] - '0');
    if (at >= n || s[at++] != '_' || !len || len > n - at)
        return 0;
    *file = s + at;
    *file_len = len;
    return at + len;
}

/* The number that ends before s[at] and counts at least `least` and at most `most`: its digits may follow those of a
 * name, so the shortest that fits is taken. 0: none. */
static size_t number_before(const char *s, size_t at, size_t least, size_t most, size_t *digits)
{
    size_t value = 0, unit = 1;
    for (*digits = 1; *digits <= at && *digits <= 4; ++*digits, unit *= 10) {
        char c = s[at - *digits];
        if (!isdigit((unsigned char)c))
            break;
        value += unit * (size_t)(c - '0');
        if (c != '0' && value >= least && value <= most)
            return value;
    }
    return 0;
}

/* Whether w with an ID stands at s[at]. */
static bool part_at(const char *s, size_t n, size_t at, const struct word *w, struct part *p)
{
    size_t len = strlen(w->text), id = at + len, digits = 0, counted = 0;
    p->word = w;
    p->at = at;
    if (w->number_behind) {
        for (; id < n && isdigit((unsigned char)s[id]) && digits < 5; digits++)
            counted = counted * 10 + (size_t)(s[id++] - '0');
        if (id >= n || s[id++] != '_' || !digits || counted > n - id)
            return false;
    }
    size_t head = id_head(s + id, n - id, &p->file, &p->file_len);
    if (!head)
        return false;
    if (!w->number_behind) {
        counted = number_before(s, at, len + head, n - at, &digits);
        if (!counted)
            return false;
        p->at = at - digits;
        counted -= len;
    }
    p->id = s + id;
    p->id_len = counted;
    p->end = id + counted;
    return counted >= head;
}

/* The first part at or behind `from`. */
static bool next_part(const char *s, size_t n, size_t from, struct part *p)
{
    for (const char *c = s + from; (c = memchr(c, '_', n - (size_t)(c - s))); c++) {
        size_t at = (size_t)(c - s);
        for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
            size_t len = strlen(words[k].text);
            if (n - at > len && memcmp(c, words[k].text, len) == 0 && part_at(s, n, at, &words[k], p) && p->at >= from)
                return true;
        }
    }
    return false;
}

char *pack_plain_name(const char *name)
{
    size_t n = strlen(name), at = 0, to = 0;
    char *plain = malloc(n + 1); /* an ID is longer than its FILE */
    struct part p;
    if (!plain)
        return NULL;
    for (; next_part(name, n, at, &p); at = p.end) {
        memcpy(plain + to, name + at, p.at - at);
        to += p.at - at;
        size_t len = strlen(p.word->text);
        memcpy(plain + to, p.word->text, len);
        to += len;
        memcpy(plain + to, p.file, p.file_len);
        to += p.file_len;
    }
    memcpy(plain + to, name + at, n - at + 1);
    return plain;
}

static struct pack_id *find_id(const struct pack_ids *ids, const struct part *p)
{
    for (size_t i = 0; i < ids->count; i++)
        if (strlen(ids->id[i].file) == p->file_len && memcmp(ids->id[i].file, p->file, p->file_len) == 0)
            return &ids->id[i];
    return NULL;
}

bool pack_ids_add(struct pack_ids *ids, const char *name)
{
    struct part p;
    size_t n = strlen(name);
    for (size_t at = 0; next_part(name, n, at, &p); at = p.end) {
        struct pack_id *have = find_id(ids, &p);
        if (have) {
            if (have->id && (strlen(have->id) != p.id_len || memcmp(have->id, p.id, p.id_len) != 0)) {
                free(have->id);
                have->id = NULL;
            }
            continue;
        }
        struct pack_id *grown = realloc(ids->id, (ids->count + 1) * sizeof *grown);
        if (!grown)
            return false;
        ids->id = grown;
        struct pack_id *added = &grown[ids->count];
        added->file = strndup(p.file, p.file_len);
        added->id = strndup(p.id, p.id_len);
        ids->count++;
        if (!added->file || !added->id)
            return false;
    }
    return true;
}

void pack_ids_free(struct pack_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++) {
        free(ids->id[i].file);
        free(ids->id[i].id);
    }
    free(ids->id);
    *ids = (struct pack_ids){0};
}

char *pack_rename(const char *text, size_t len, const struct pack_ids *ids, size_t *new_len)
{
    char *renamed = NULL;
    FILE *out = open_memstream(&renamed, new_len);
    struct part p;
    size_t at = 0;
    if (!out)
        return NULL;
    for (size_t from = 0; next_part(text, len, from, &p); from = p.end) {
        const struct pack_id *to = find_id(ids, &p);
        if (!to || !to->id)
            continue;
        (void)fwrite(text + at, 1, p.at - at, out);
        if (p.word->number_behind)
            (void)fprintf(out, "%s%zu_%s", p.word->text, strlen(to->id), to->id);
        else
            (void)fprintf(out, "%zu%s%s", strlen(p.word->text) + strlen(to->id), p.word->text, to->id);
        at = p.end;
    }
    (void)fwrite(text + at, 1, len - at, out);
    bool good = !ferror(out);
    if (fclose(out) != 0 || !good) {
        free(renamed);
        return NULL;
    }
    return renamed;
}
