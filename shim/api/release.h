/* What each CUDA maths library tells of its own version. */
#ifndef CUMU_API_RELEASE_H
#define CUMU_API_RELEASE_H

#include <stdbool.h>

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
