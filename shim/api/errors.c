/* The table of error codes, made from errors.def. */
#include "api/errors.h"

#include <stddef.h>

static const struct cumu_error_text errors[] = {
#define ERROR(code, runtime, driver, text) {code, runtime, driver, text},
#include "api/errors.def"
#undef ERROR
};

const struct cumu_error_text *cumu_error_find(int code)
{
    size_t lo = 0, hi = sizeof errors / sizeof *errors;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (errors[mid].code == code)
            return &errors[mid];
        if (errors[mid].code < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}
