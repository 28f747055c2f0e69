/* Looks a name up in a symbol table; in a file of its own because the cumu tool links it too. */
#include "core/symbols.h"

#include <string.h>

const struct cumu_symbol *cumu_table_find(const struct cumu_table *t, const char *name)
{
    uint32_t low = 0, high = t->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = strcmp(name, t->symbols[mid].name);
        if (order == 0)
            return &t->symbols[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}
