/* Text as a JSON string, for all that writes JSON to a file, and what a string may hold. */
#ifndef CUMU_CORE_JSON_H
#define CUMU_CORE_JSON_H

#include <stdio.h>

/* `s` in quotes. It should be UTF-8; bytes that are not come out as U+FFFD each, so that the result
 * is JSON whatever a file was named. Errors: those of `f` (ferror). */
void cumu_put_json(FILE *f, const char *s);

/* One character of a string, as it stands between the quotes; *s moves behind it (*s < end). */
const char *cumu_json_piece(const char **s, const char *end, char piece[8]);

/* Bytes of the UTF-8 sequence that begins at `s` and lies before `end` (s < end); 0 if there is none:
 * overlong forms, surrogates and what lies above U+10FFFF are none (RFC 3629 section 4). */
int cumu_utf8_length(const char *s, const char *end);

#endif
