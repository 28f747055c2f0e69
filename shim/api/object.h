/* Handles that the shim itself makes for programs, where the MUSA libraries have no such objects. */
#ifndef CUMU_API_OBJECT_H
#define CUMU_API_OBJECT_H

#include <stdbool.h>
#include <stddef.h>

enum cumu_object {
    CUMU_XT = 1,
    CUMU_SP,
    CUMU_SP_INFO,
    CUMU_RF,
    CUMU_MG,
    CUMU_MG_GRID,
    CUMU_MG_DESC,
    CUMU_IRS_PARAMS,
    CUMU_IRS_INFOS,
    CUMU_NVJPEG, /* which begin with what they are: nvjpeg/nvjpeg.h */
};

/* A live object of `size` bytes, all zero; NULL: no memory. */
void *cumu_object_new(enum cumu_object kind, size_t size);
/* `handle` if it is a live object of that kind, else NULL. It may be any value whatsoever: it is looked up in a hash
 * table, never read. */
void *cumu_object(enum cumu_object kind, const void *handle);
/* Live no more: true for the one of several callers that ends it, who then calls free(). */
bool cumu_object_end(enum cumu_object kind, void *handle);

#endif
