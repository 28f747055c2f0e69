/* Choice of the image: orders a container's entries by how well they suit the claimed device. Which entries
 * nvcc makes: mapping/facts/cuda.md F6. */
#include "fatbin/fatbin.h"

#include <stdlib.h>
#include <string.h>

/* Whether a device of that capability takes the PTX: that of its own and lower ones; 'a' of just its own, 'f' of its
 * family (PTX ISA, .target). */
bool fatbin_is_for(const struct fatbin_entry *e, unsigned claimed)
{
    if (e->arch > claimed)
        return false;
    return !e->suffix || e->arch == claimed || (e->suffix == 'f' && e->arch / 10 == claimed / 10);
}

/* Smaller is better. Real hardware takes what is for it only; that rule would lose programs built for all major
 * architectures, whose only PTX is the newest one, and those with nothing but architecture-specific PTX: what cumu
 * implements does not depend on what it claims. */
static uint64_t rank(const struct fatbin_entry *e, unsigned claimed)
{
    if (e->kind != FATBIN_PTX)
        return UINT64_MAX;
    const uint64_t within = e->arch <= claimed ? claimed - e->arch : e->arch - claimed;
    const unsigned group = fatbin_is_for(e, claimed) ? 0 : (e->arch > claimed) + (e->suffix ? 2u : 0);
    const unsigned features = e->suffix == 'a' ? 0 : e->suffix == 'f' ? 1 : 2; /* of one architecture the most */
    return (uint64_t)group << 32 | within << 2 | features;
}

int fatbin_list_make(struct fatbin_list *l, const void *data, size_t size, unsigned claimed)
{
    struct fatbin_walk w;
    unsigned cap = 0;
    memset(l, 0, sizeof *l);
    int err = fatbin_walk_open(&w, data, size);
    while (!err) {
        struct fatbin_entry e;
        bool more;
        err = fatbin_walk_next(&w, &e, &more);
        if (err == FATBIN_UNKNOWN_KIND) { /* newer tools may add kinds; the ones we know still count */
            err = FATBIN_OK;
            continue;
        }
        if (err || !more)
            break;
        if (l->n == cap) {
            cap = cap ? cap * 2 : 4;
            struct fatbin_entry *grown = realloc(l->entry, cap * sizeof *grown);
            if (!grown) {
                err = FATBIN_NOMEM;
                break;
            }
            l->entry = grown;
        }
        l->nptx += e.kind == FATBIN_PTX;
        l->ncubin += e.kind == FATBIN_CUBIN;
        l->nlto += e.kind == FATBIN_LTOIR;
        unsigned at = l->n++;
        for (; at > 0 && rank(&l->entry[at - 1], claimed) > rank(&e, claimed); at--)
            l->entry[at] = l->entry[at - 1];
        l->entry[at] = e;
    }
    if (err) {
        fatbin_list_free(l);
        return err;
    }
    return l->nptx ? FATBIN_OK : l->n ? FATBIN_NO_PTX : FATBIN_NO_IMAGE;
}

void fatbin_list_free(struct fatbin_list *l)
{
    free(l->entry);
    memset(l, 0, sizeof *l);
}
