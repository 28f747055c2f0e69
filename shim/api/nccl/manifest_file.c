/* The manifest as a file. */
#include "api/nccl/json.h"
#include "api/nccl/manifest.h"
#include "core/file.h"
#include "core/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { VERSION = 2, LARGEST = 16 << 20, MOST = 65536 };

static const struct {
    const char *name;
    int bits;
} types[ncclNumTypes] = {{"int8", 8},     {"uint8", 8},     {"int32", 32},     {"uint32", 32},
                         {"int64", 64},   {"uint64", 64},   {"float16", 16},   {"float32", 32},
                         {"float64", 64}, {"bfloat16", 16}, {"float8e4m3", 8}, {"float8e5m2", 8}};

struct check { /* where in the file we are, for messages */
    char *why;
    size_t room;
    const char *group, *slot;
};

static bool bad(struct check *c, const char *field, const char *what)
{
    (void)snprintf(c->why, c->room, "%s%s%s%s%s%s%s: %s", c->group ? "group \"" : "", c->group ? c->group : "",
                   c->group ? "\", " : "", c->slot ? "slot \"" : "", c->slot ? c->slot : "", c->slot ? "\", " : "",
                   field, what);
    return false;
}

/* The member of that type; a missing one is as wrong as another type. */
static const struct json *need(struct check *c, const struct json *j, const char *name, enum json_type type)
{
    static const char *const want[] = {"null",     "true or false", "a whole number", "a number",
                                       "a string", "a list",        "an object"};
    char text[64];
    const struct json *m = cumu_json_member(j, name);
    if (m && m->type == type)
        return m;
    (void)snprintf(text, sizeof text, "%s; expected %s", m ? "is something else" : "is missing", want[type]);
    (void)bad(c, name, text);
    return NULL;
}

static bool only(struct check *c, const struct json *j, const char *const *names)
{
    for (const struct json *m = j->first; m; m = m->next) {
        const char *const *n = names;
        while (*n && strcmp(*n, m->name) != 0)
            n++;
        if (!*n)
            return bad(c, m->name, "is no field");
    }
    return true;
}

static bool name_of(struct check *c, const struct json *j, char **out, const char **in_messages)
{
    const struct json *m = need(c, j, "name", JSON_STRING);
    if (!m)
        return false;
    if (!m->text[0])
        return bad(c, "name", "is empty");
    *in_messages = *out = strdup(m->text);
    return *out || bad(c, "name", "out of memory");
}

static bool slot(struct check *c, const struct json *j, struct manifest_slot *s)
{
    static const char *const fields[] = {"name",           "dtype",         "size", "bits_per_element",
                                         "load_from_host", "store_to_host", NULL};
    const struct json *type, *size, *bits, *load, *store;
    if (j->type != JSON_OBJECT)
        return bad(c, "slots", "holds something that is no object");
    if (!name_of(c, j, &s->name, &c->slot) || !only(c, j, fields) || !(type = need(c, j, "dtype", JSON_STRING)) ||
        !(size = need(c, j, "size", JSON_INTEGER)) || !(bits = need(c, j, "bits_per_element", JSON_INTEGER)) ||
        !(load = need(c, j, "load_from_host", JSON_BOOL)) || !(store = need(c, j, "store_to_host", JSON_BOOL)))
        return false;
    for (s->type = 0; s->type < ncclNumTypes && strcmp(types[s->type].name, type->text) != 0;)
        s->type++;
    if (s->type == ncclNumTypes)
        return bad(c, "dtype", "is no data type");
    if (bits->integer != types[s->type].bits)
        return bad(c, "bits_per_element", "does not agree with dtype");
    if (size->integer < 1 || size->integer * 8 % bits->integer || size->integer > 1LL << 50)
        return bad(c, "size", "is no number of bytes that elements of this type can have");
    s->size = (size_t)size->integer;
    s->load = load->truth;
    s->store = store->truth;
    return true;
}

static int count(const struct json *list)
{
    int n = 0;
    for (const struct json *m = list->first; m; m = m->next)
        n++;
    return n;
}

/* Reads one group: its devices, and the slots of buffers in the order in which they are registered. What is unknown
 * is an error: a manifest is compared, and a misspelt field would compare nothing. */
static bool group(struct check *c, const struct json *j, struct manifest_group *g)
{
    static const char *const fields[] = {"name", "devices", "slots", NULL};
    const struct json *devices, *slots;
    c->group = c->slot = NULL;
    if (j->type != JSON_OBJECT)
        return bad(c, "groups", "holds something that is no object");
    if (!name_of(c, j, &g->name, &c->group) || !only(c, j, fields) || !(devices = need(c, j, "devices", JSON_LIST)) ||
        !(slots = need(c, j, "slots", JSON_LIST)))
        return false;
    if (count(devices) > MOST || count(slots) > MOST)
        return bad(c, "slots", "is too long");
    g->devices = calloc((size_t)count(devices) + 1, sizeof *g->devices);
    g->slots = calloc((size_t)count(slots) + 1, sizeof *g->slots);
    if (!g->devices || !g->slots)
        return bad(c, "slots", "out of memory");
    for (const struct json *d = devices->first; d; d = d->next) {
        if (d->type != JSON_INTEGER || d->integer < 0 || d->integer > INT_MAX)
            return bad(c, "devices", "holds something that is no device number");
        g->devices[g->ndevices++] = (int)d->integer;
    }
    for (const struct json *s = slots->first; s; s = s->next) {
        c->slot = NULL;
        if (!slot(c, s, &g->slots[g->nslots++]))
            return false;
    }
    return true;
}

static bool all(struct check *c, const struct json *j, struct manifest *m)
{
    static const char *const fields[] = {"version", "groups", NULL};
    const struct json *version, *groups;
    if (j->type != JSON_OBJECT)
        return bad(c, "the file", "is no object");
    if (!only(c, j, fields) || !(version = need(c, j, "version", JSON_INTEGER)) ||
        !(groups = need(c, j, "groups", JSON_LIST)))
        return false;
    if (version->integer != VERSION)
        return bad(c, "version", "is not 2");
    m->groups = calloc((size_t)count(groups) + 1, sizeof *m->groups);
    if (!m->groups)
        return bad(c, "groups", "out of memory");
    for (const struct json *g = groups->first; g; g = g->next) {
        if (!group(c, g, &m->groups[m->ngroups++]))
            return false;
        for (int i = 0; i < m->ngroups - 1; i++)
            if (strcmp(m->groups[i].name, m->groups[m->ngroups - 1].name) == 0)
                return c->slot = NULL, bad(c, "name", "is another group's too");
    }
    return true;
}

struct manifest *cumu_manifest_read(const char *path, char *why, size_t room)
{
    size_t length;
    char *text = cumu_file_read(path, LARGEST, &length);
    if (!text || length == LARGEST) {
        free(text);
        (void)snprintf(why, room, "cannot be read");
        return NULL;
    }
    struct json *j = cumu_json_parse(text, length, why, room);
    free(text);
    struct manifest *m = j ? calloc(1, sizeof *m) : NULL;
    struct check c = {why, room, NULL, NULL};
    bool good = m && all(&c, j, m);
    cumu_json_free(j);
    if (good)
        return m;
    cumu_manifest_free(m);
    return NULL;
}

void cumu_manifest_free(struct manifest *m)
{
    for (int i = 0; m && i < m->ngroups; i++) {
        struct manifest_group *g = &m->groups[i];
        for (int k = 0; k < g->nslots; k++)
            free(g->slots[k].name);
        free(g->slots);
        free(g->devices);
        free(g->name);
    }
    if (m)
        free(m->groups);
    free(m);
}

/* ---- writing ------------------------------------------------------------------------------------- */

static void put(FILE *f, const struct manifest *m)
{
    fprintf(f, "{\n  \"version\": %d,\n  \"groups\": [", VERSION);
    for (int i = 0; i < m->ngroups; i++) {
        const struct manifest_group *g = &m->groups[i];
        fprintf(f, "%s\n    {\"name\": ", i ? "," : "");
        cumu_put_json(f, g->name);
        fprintf(f, ", \"devices\": [");
        for (int k = 0; k < g->ndevices; k++)
            fprintf(f, "%s%d", k ? ", " : "", g->devices[k]);
        fprintf(f, "], \"slots\": [");
        for (int k = 0; k < g->nslots; k++) {
            const struct manifest_slot *s = &g->slots[k];
            fprintf(f, "%s\n      {\"name\": ", k ? "," : "");
            cumu_put_json(f, s->name);
            fprintf(f,
                    ", \"dtype\": \"%s\", \"size\": %zu, \"bits_per_element\": %d, \"load_from_host\": %s, "
                    "\"store_to_host\": %s}",
                    types[s->type].name, s->size, types[s->type].bits, s->load ? "true" : "false",
                    s->store ? "true" : "false");
        }
        fprintf(f, "]}");
    }
    fprintf(f, "\n  ]\n}\n");
}

bool cumu_manifest_write(const char *path, const struct manifest *m)
{
    char temporary[4096];
    int n = snprintf(temporary, sizeof temporary, "%s.XXXXXX", path);
    int fd = n > 0 && n < (int)sizeof temporary ? mkstemp(temporary) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) {
        if (fd >= 0) {
            (void)close(fd);
            (void)unlink(temporary);
        }
        return false;
    }
    put(f, m);
    bool good = !ferror(f) && fchmod(fd, 0644) == 0;
    good = fclose(f) == 0 && good && rename(temporary, path) == 0;
    if (!good)
        (void)unlink(temporary);
    return good;
}
