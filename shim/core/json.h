/* Text as a JSON string, for all that writes JSON to a file. */
#ifndef CUMU_CORE_JSON_H
#define CUMU_CORE_JSON_H

#include <stdio.h>

/* `s` in quotes. It should be UTF-8; bytes that are not come out as U+FFFD each, so that the result
 * is JSON whatever a file was named. Errors: those of `f` (ferror). */
void cumu_put_json(FILE *f, const char *s);

#endif
