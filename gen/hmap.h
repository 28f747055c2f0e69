/* Hash tables of the generator: uthash, told not to end the process when memory runs out. */
#ifndef CUMU_GEN_HMAP_H
#define CUMU_GEN_HMAP_H

#define HASH_NONFATAL_OOM 1
/* An element that could not be added has no table. */
#define uthash_nonfatal_oom(elt) ((elt)->hh.tbl = NULL)
#include <uthash.h>

#define hmap_added(elt) ((elt)->hh.tbl != NULL)

#endif
