/* Handles that the shim itself makes: a table of those that live. */
#include "api/object.h"

#include <stdlib.h>

#include "core/hmap.h"

struct known {
    const void *object;
    enum cumu_object kind;
    UT_hash_handle hh;
};
static HMAP(struct known) all = HMAP_INIT;

void *cumu_object_new(enum cumu_object kind, size_t size)
{
    void *object = calloc(1, size);
    struct known *k = object ? malloc(sizeof *k) : NULL;
    bool added = false;
    if (k) {
        *k = (struct known){.object = object, .kind = kind};
        hmap_lock(&all);
        HASH_ADD_PTR(all.head, object, k);
        added = hmap_added(k);
        hmap_unlock(&all);
    }
    if (added)
        return object;
    free(k);
    free(object);
    return NULL;
}

void *cumu_object(enum cumu_object kind, const void *handle)
{
    struct known *k;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &handle, k);
    bool live = k && k->kind == kind;
    hmap_unlock(&all);
    return live ? (void *)(uintptr_t)handle : NULL;
}

bool cumu_object_end(enum cumu_object kind, void *handle)
{
    struct known *k;
    hmap_lock(&all);
    HASH_FIND_PTR(all.head, &handle, k);
    if (k && k->kind != kind)
        k = NULL;
    if (k)
        HASH_DEL(all.head, k);
    hmap_unlock(&all);
    free(k);
    return k != NULL;
}
