/* Hash tables: uthash made safe for a guest (no exit on out of memory), paired with the lock that
 * guards the table. Off the hot path only. Include this, never uthash.h.
 *
 *     struct thing { int key; ...; UT_hash_handle hh; };
 *     static HMAP(struct thing) things = HMAP_INIT;
 *     hmap_lock(&things);  HASH_FIND_INT(things.head, &key, t);  ...  hmap_unlock(&things);
 *
 * HASH_ADD_* on out of memory leaves the element out: check hmap_added(t) afterwards. */
#ifndef CUMU_CORE_HMAP_H
#define CUMU_CORE_HMAP_H

#include <pthread.h>

#define HASH_NONFATAL_OOM 1
/* An element that could not be added has no table. */
#define uthash_nonfatal_oom(elt) ((elt)->hh.tbl = NULL)
#include <uthash.h>

#define HMAP(type) \
    struct { \
        pthread_mutex_t lock; \
        type *head; \
    }
#define HMAP_INIT \
    { \
        PTHREAD_MUTEX_INITIALIZER, NULL \
    }

#define hmap_lock(m) ((void)pthread_mutex_lock(&(m)->lock))
#define hmap_unlock(m) ((void)pthread_mutex_unlock(&(m)->lock))
#define hmap_added(elt) ((elt)->hh.tbl != NULL)

#endif
