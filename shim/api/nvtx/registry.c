/* The table of what programs register with NVTX under numbers, one for each kind and domain. */
#include "api/nvtx/registry.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "api/nvtx/nvtx.h"

enum { KEY = offsetof(struct nvtx_registered, hh) };
static HMAP(struct nvtx_registered) registered = HMAP_INIT;

uint64_t cumu_nvtx_new_id(void)
{
    static _Atomic uint64_t next = NVTX_DYNAMIC_ID;
    return atomic_fetch_add(&next, 1);
}

uint64_t cumu_nvtx_keep(struct nvtx_registered *r, enum nvtx_kind kind, const void *domain, uint64_t id)
{
    struct nvtx_registered *there = NULL;
    id = id ? id : cumu_nvtx_new_id();
    r->domain = domain, r->id = id, r->kind = kind;
    hmap_lock(&registered);
    HASH_FIND(hh, registered.head, r, KEY, there);
    if (!there)
        HASH_ADD_KEYPTR(hh, registered.head, r, KEY, r);
    if (there || !hmap_added(r))
        free(r);
    hmap_unlock(&registered);
    return id;
}

const void *cumu_nvtx_kept(enum nvtx_kind kind, const void *domain, uint64_t id)
{
    const struct nvtx_registered key = {.domain = domain, .id = id, .kind = kind};
    struct nvtx_registered *r = NULL;
    hmap_lock(&registered);
    HASH_FIND(hh, registered.head, &key, KEY, r);
    hmap_unlock(&registered);
    return r;
}
