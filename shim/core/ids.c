/* Numbers of handles: a table that is empty until somebody asks. */
#include "core/ids.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/hmap.h"

struct id {
    const void *handle;
    uint64_t number;
    UT_hash_handle hh;
};
static HMAP(struct id) ids = HMAP_INIT;
static _Atomic uint64_t last;

uint64_t cumu_id_new(void) { return atomic_fetch_add(&last, 1) + 1; }

uint64_t cumu_id_of(const void *handle)
{
    struct id *i;
    uint64_t number = 0;
    hmap_lock(&ids);
    HASH_FIND_PTR(ids.head, &handle, i);
    if (!i && (i = malloc(sizeof *i))) {
        i->handle = handle;
        i->number = cumu_id_new();
        HASH_ADD_PTR(ids.head, handle, i);
        if (!hmap_added(i)) {
            free(i);
            i = NULL;
        }
    }
    if (i)
        number = i->number;
    hmap_unlock(&ids);
    return number;
}

void cumu_id_drop(const void *handle)
{
    struct id *i = NULL;
    hmap_lock(&ids);
    if (ids.head)
        HASH_FIND_PTR(ids.head, &handle, i);
    if (i) {
        HASH_DEL(ids.head, i);
        free(i);
    }
    hmap_unlock(&ids);
}
