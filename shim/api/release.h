/* The releases that the facades and the driver tell of themselves. */
#ifndef CUMU_API_RELEASE_H
#define CUMU_API_RELEASE_H

#include "core/config.h"

#include <stdbool.h>

/* CUDART_VERSION of the runtimes that the facades stand for. */
enum { CUMU_CUDART_11 = 11080, CUMU_CUDART_12 = 12090, CUMU_CUDART_13 = 13050 };

/* As cuDriverGetVersion tells it, 13050 of "13.5". A runtime that is newer than its driver refuses it (error 35), and
 * compilers in processes make machine code instead of PTX for a driver older than themselves. */
static inline int cumu_driver_version(void)
{
    int claimed = (int)cumu_opt_int(CUMU_OPT_DRIVER_VERSION);
    return claimed / 10 * 1000 + claimed % 10 * 10;
}

struct cumu_release {
    int major, minor, patch;
};

/* libraryPropertyType `which`: 0 major, 1 minor, 2 patch. False, and nothing written, for any other and for NULL. */
static inline bool cumu_release_property(struct cumu_release r, int which, int *out)
{
    if (!out || which < 0 || which > 2)
        return false;
    *out = which == 0 ? r.major : which == 1 ? r.minor : r.patch;
    return true;
}

#endif
