/* Strings that stay: a hash table of copies that are never freed. */
#include "core/intern.h"
#include "core/hmap.h"

#include <stdlib.h>
#include <string.h>

struct text {
    UT_hash_handle hh;
    char s[];
};

static HMAP(struct text) texts = HMAP_INIT;

const char *cumu_intern(const char *s)
{
    if (!s)
        return NULL;
    struct text *t;
    size_t n = strlen(s);
    hmap_lock(&texts);
    HASH_FIND(hh, texts.head, s, n, t);
    if (!t && (t = malloc(sizeof *t + n + 1))) {
        memcpy(t->s, s, n + 1);
        HASH_ADD_KEYPTR(hh, texts.head, t->s, n, t);
        if (!hmap_added(t)) {
            free(t);
            t = NULL;
        }
    }
    hmap_unlock(&texts);
    return t ? t->s : NULL;
}
