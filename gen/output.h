/* Output files of the generator: written beside, compared, and moved into place only when
 * different, so that make rebuilds what really changed. */
#ifndef CUMU_GEN_OUTPUT_H
#define CUMU_GEN_OUTPUT_H

#include "gen/text.h"

struct output {
    FILE *file;
    char *path, *temporary;
    struct errors *errors;
};

/* Opens DIR/NAME (the folder is made) and writes the banner: `source` names the file of gen/ and
 * the map it came from, `comment` is the language's line comment ("//", "#", NULL: none). */
struct output output_open(struct arena *a, struct errors *e, const char *dir, const char *name, const char *comment,
                          const char *source);
void output_close(struct output *o);

#endif
