/* Holds a program to its communication manifest, and writes one from a run. */
#include "api/nccl/manifest.h"
#include "core/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool checking, recording;
static struct manifest *wanted; /* NULL while checking: the file is no manifest */
static struct manifest seen;
static char why[NCCL_TEXT];

static struct prepared { /* memory of a slot that nobody asked for yet */
    void *at;
    size_t size;
    int device;
    uint64_t key;
    struct prepared *next;
} * prepared;

static void load(void)
{
    const char *path = cumu_opt_text(CUMU_OPT_COMM_MANIFEST);
    checking = path[0] != 0;
    recording = cumu_opt_text(CUMU_OPT_COMM_RECORD)[0] != 0;
    wanted = checking ? cumu_manifest_read(path, why, sizeof why) : NULL;
    if (checking && !wanted)
        cumu_error("nccl", "CUMU_COMM_MANIFEST", "%s: %s", path, why);
}

static bool off(void)
{
    (void)pthread_once(&once, load);
    return !checking && !recording;
}

static struct manifest_group *with_key(const struct manifest *m, uint64_t key)
{
    for (int i = 0; i < m->ngroups; i++)
        if (m->groups[i].key == key)
            return &m->groups[i];
    return NULL;
}

static bool has_device(const struct manifest_group *g, int device)
{
    for (int i = 0; i < g->ndevices; i++)
        if (g->devices[i] == device)
            return true;
    return !g->ndevices;
}

/* The group of a new communicator: the one of its name, or else the next that this rank's device is in, whether it
 * fits or not. To go on to one that fits would take a run of fewer ranks for a part of the larger one. Groups without
 * the device are other ranks', as of a split; where there are only such, the first of them. */
static struct manifest_group *choose(const char *name, int device)
{
    struct manifest_group *others = NULL;
    for (int i = 0; i < wanted->ngroups; i++) {
        struct manifest_group *g = &wanted->groups[i];
        if (name[0] && strcmp(g->name, name) == 0)
            return g;
        if (name[0] || g->key)
            continue;
        if (has_device(g, device))
            return g;
        others = others ? others : g;
    }
    return others;
}

int cumu_manifest_check(const char *call, const char *name, uint64_t key, int nranks, int rank, int device, bool *same)
{
    *same = true;
    if (off() || !checking)
        return ncclSuccess;
    if (!wanted)
        return cumu_nccl_failed(call, ncclInvalidUsage, "the manifest: %s", why);
    (void)pthread_mutex_lock(&lock);
    struct manifest_group *g = with_key(wanted, key);
    if (!g)
        g = choose(name, device);
    int r = ncclSuccess;
    *same = false; /* ranks on other devices come to other groups */
    if (!g)
        r = cumu_nccl_failed(call, ncclInvalidUsage, "the manifest has no group%s%s for a communicator of %d ranks",
                             name[0] ? " " : "", name, nranks);
    else if (g->ndevices && g->ndevices != nranks)
        r = cumu_nccl_failed(call, ncclInvalidUsage,
                             "group \"%s\", devices: the manifest has %d, the communicator %d ranks", g->name,
                             g->ndevices, nranks);
    else if (g->ndevices && g->devices[rank] != device)
        r = cumu_nccl_failed(call, ncclInvalidUsage,
                             "group \"%s\", devices: rank %d is to be device %d and is device %d", g->name, rank,
                             g->devices[rank], device);
    else
        g->key = key;
    (void)pthread_mutex_unlock(&lock);
    if (r)
        cumu_error("nccl", call, "%s", cumu_nccl_text());
    return r;
}

/* ---- recording ----------------------------------------------------------------------------------- */

/* %p in the name is the process. */
static void save(void)
{
    const char *path = cumu_opt_text(CUMU_OPT_COMM_RECORD), *mark = strstr(path, "%p");
    char name[4096];
    int n = mark ? snprintf(name, sizeof name, "%.*s%ld%s", (int)(mark - path), path, (long)getpid(), mark + 2)
                 : snprintf(name, sizeof name, "%s", path);
    if (n < 0 || n >= (int)sizeof name || !cumu_manifest_write(name, &seen))
        cumu_error("nccl", "CUMU_COMM_RECORD", "%s cannot be written", path);
}

static void record_group(const struct nccl_comm *c, const int *devices)
{
    size_t n = (size_t)c->nranks;
    struct manifest_group *groups = realloc(seen.groups, ((size_t)seen.ngroups + 1) * sizeof *groups);
    if (!groups)
        return;
    seen.groups = groups;
    struct manifest_group *g = &groups[seen.ngroups];
    char number[32];
    (void)snprintf(number, sizeof number, "group%d", seen.ngroups);
    *g = (struct manifest_group){.name = strdup(c->name[0] ? c->name : number),
                                 .devices = malloc(n * sizeof *g->devices),
                                 .ndevices = c->nranks,
                                 .key = c->key,
                                 .rank = c->rank};
    if (!g->name || !g->devices) {
        free(g->name);
        free(g->devices);
        return;
    }
    memcpy(g->devices, devices, n * sizeof *devices);
    seen.ngroups++;
    save();
}

static void record_slot(struct manifest_group *g, size_t size)
{
    struct manifest_slot *slots = realloc(g->slots, ((size_t)g->nslots + 1) * sizeof *slots);
    char name[32];
    if (!slots)
        return;
    g->slots = slots;
    (void)snprintf(name, sizeof name, "buffer%d", g->nslots);
    slots[g->nslots] = (struct manifest_slot){.name = strdup(name), .type = ncclUint8, .size = size};
    if (!slots[g->nslots].name)
        return;
    g->nslots++;
    save();
}

/* ---- communicators and buffers -------------------------------------------------------------------- */

static void prepare(const struct nccl_comm *c, const struct manifest_group *g)
{
    for (int i = 0; i < g->nslots; i++) {
        struct prepared *p = malloc(sizeof *p);
        if (!p || mu.musaMalloc(&p->at, g->slots[i].size) != musaSuccess) {
            free(p);
            cumu_warn("nccl", NULL, "group \"%s\", slot \"%s\": no memory for it yet", g->name, g->slots[i].name);
            return;
        }
        p->size = g->slots[i].size;
        p->device = c->device;
        p->key = c->key;
        p->next = prepared;
        prepared = p;
    }
}

int cumu_manifest_joined(const char *call, struct nccl_comm *c, int verdict)
{
    if (off())
        return ncclSuccess;
    struct said {
        int verdict, device;
    } mine = {verdict, c->device};
    size_t n = (size_t)c->nranks;
    struct said *all = calloc(n, sizeof *all);
    int *devices = calloc(n, sizeof *devices);
    int r = all && devices ? cumu_nccl_exchange(c, &mine, sizeof mine, all) : ncclSystemError;
    if (r)
        (void)cumu_nccl_failed(call, r, "the ranks could not tell each other their devices");
    for (size_t i = 0; i < n && !r; i++) {
        devices[i] = all[i].device;
        if (verdict)
            r = verdict;
        else if (all[i].verdict)
            r = cumu_nccl_failed(call, all[i].verdict, "rank %zu does not fit the manifest: it is device %d", i,
                                 all[i].device);
    }
    (void)pthread_mutex_lock(&lock);
    struct manifest_group *g = r || !checking ? NULL : with_key(wanted, c->key);
    if (g)
        prepare(c, g);
    if (!r && recording && !with_key(&seen, c->key))
        record_group(c, devices);
    (void)pthread_mutex_unlock(&lock);
    free(all);
    free(devices);
    return r;
}

int cumu_manifest_buffer(const char *call, struct nccl_comm *c, size_t size)
{
    if (off())
        return ncclSuccess;
    int r = ncclSuccess;
    (void)pthread_mutex_lock(&lock);
    struct manifest_group *g = checking ? with_key(wanted, c->key) : NULL, *note;
    int i = c->registered++;
    if (g && i >= g->nslots)
        r = cumu_nccl_failed(call, ncclInvalidUsage, "group \"%s\", slots: the manifest has %d, this is one more",
                             g->name, g->nslots);
    else if (g && g->slots[i].size != size)
        r = cumu_nccl_failed(call, ncclInvalidUsage,
                             "group \"%s\", slot \"%s\", size: the manifest has %zu, the program %zu", g->name,
                             g->slots[i].name, g->slots[i].size, size);
    if (!r && recording && (note = with_key(&seen, c->key)) && note->rank == c->rank)
        record_slot(note, size);
    (void)pthread_mutex_unlock(&lock);
    if (r)
        cumu_error("nccl", call, "%s", cumu_nccl_text());
    return r;
}

void *cumu_manifest_memory(size_t size)
{
    int device;
    void *at = NULL;
    if (off() || !prepared || mu.musaGetDevice(&device) != musaSuccess)
        return NULL;
    (void)pthread_mutex_lock(&lock);
    for (struct prepared **link = &prepared, *p; (p = *link); link = &p->next)
        if (p->size == size && p->device == device) {
            at = p->at;
            *link = p->next;
            free(p);
            break;
        }
    (void)pthread_mutex_unlock(&lock);
    return at;
}

void cumu_manifest_forget(const struct nccl_comm *c)
{
    if (off())
        return;
    (void)pthread_mutex_lock(&lock);
    for (struct prepared **link = &prepared, *p; (p = *link);) {
        if (p->key != c->key || p->device != c->device) {
            link = &p->next;
            continue;
        }
        *link = p->next;
        (void)mu.musaFree(p->at);
        free(p);
    }
    (void)pthread_mutex_unlock(&lock);
}
