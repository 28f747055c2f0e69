/* What programs register in their domains under numbers, which stays as it is: schemas, counters, scopes. */
#ifndef CUMU_API_NVTX_REGISTRY_H
#define CUMU_API_NVTX_REGISTRY_H

#include <stdint.h>

#include "core/hmap.h"

enum nvtx_kind { NVTX_SCHEMA, NVTX_COUNTER, NVTX_SCOPE };
/* The first member of what is registered. */
struct nvtx_registered {
    const void *domain;
    uint64_t id, kind; /* the key, up to here */
    UT_hash_handle hh;
};
/* Keeps a thing that was malloc'ed, if there is none under its number yet and there is memory; else frees it. id: the
 * program's number for it, or 0: one of ours is taken. The number. */
uint64_t cumu_nvtx_keep(struct nvtx_registered *r, enum nvtx_kind kind, const void *domain, uint64_t id);
/* What was kept, or NULL. */
const void *cumu_nvtx_kept(enum nvtx_kind kind, const void *domain, uint64_t id);

#endif
