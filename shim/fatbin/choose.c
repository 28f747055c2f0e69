/* Choice of the image: orders a container's entries by how well they suit the claimed device. Which entries
 * nvcc makes: mapping/facts/cuda.md F6. */
#include "fatbin/fatbin.h"

#include <stdlib.h>
#include <string.h>

/* Smaller is better. Real hardware takes PTX at or below its own architecture only; that rule would
 * lose programs built for all major architectures, whose only PTX is the newest one. */
static uint64_t rank(const struct fatbin_entry *e, unsigned claimed)
{
    uint64_t group, within;
    if (e->kind != FATBIN_PTX)
        return UINT64_MAX;
    if (e->arch <= claimed) {
        group = 0;
        within = claimed - e->arch;
    } else {
        group = 1;
        within = e->arch - claimed;
    }
    if (e->suffix)
        group += 2;
    return group << 32 | within;
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
