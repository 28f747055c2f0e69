/* Names and texts of CUDA's error codes. */
#ifndef CUMU_API_ERRORS_H
#define CUMU_API_ERRORS_H

struct cumu_error_text {
    int code;
    const char *runtime, *driver, *text; /* a name is NULL where that API lacks the code */
};
/* NULL for a number that is no error code. */
const struct cumu_error_text *cumu_error_find(int code);

#endif
