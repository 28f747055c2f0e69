/* What a library calls its statuses and says of them: tables of the rows that gen makes of mapping/types
 * (cuda_texts.h, musa_texts.h), as in `static const struct cumu_text errors[] = {CUMU_TEXTS_cudaError};`. */
#ifndef CUMU_ABI_TEXT_H
#define CUMU_ABI_TEXT_H

#include <stddef.h>

struct cumu_text {
    int value;
    const char *name, *text; /* text NULL: the library says nothing of it */
};

/* NULL for a number that is none of the table's. */
static inline const struct cumu_text *cumu_text_find(const struct cumu_text *table, size_t count, int value)
{
    for (size_t i = 0; i < count; i++)
        if (table[i].value == value)
            return &table[i];
    return NULL;
}
#define CUMU_TEXT_FIND(table, value) cumu_text_find(table, sizeof(table) / sizeof *(table), value)

#endif
