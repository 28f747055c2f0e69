/* Text that an emitter writes. */
#ifndef CUMU_PTX_BUFFER_H
#define CUMU_PTX_BUFFER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PTX_TEXT_LIMIT ((size_t)64 << 20) /* bytes of emitted text */

struct ptx_text { /* zero at first; p is malloc'ed and, once something was added, NUL-terminated */
    char *p;
    size_t n, cap;
};

/* False: out of memory, or over the limit. */
static inline bool ptx_text_add(struct ptx_text *t, const char *s, size_t n)
{
    if (t->n + n + 1 > t->cap) {
        size_t cap = (t->n + n + 1) * 2;
        char *p = cap < PTX_TEXT_LIMIT ? realloc(t->p, cap) : NULL;
        if (!p)
            return false;
        t->p = p;
        t->cap = cap;
    }
    memcpy(t->p + t->n, s, n);
    t->n += n;
    t->p[t->n] = '\0';
    return true;
}

#endif
