/* cumu check: which compute capability suits a file: claimed, it makes the most of its kernels translatable. */
#include "cli/report.h"

#include <stdlib.h>
#include <string.h>

enum { LOWEST = 80, HIGHEST = 121 }; /* what CUMU_COMPUTE_CAPABILITY is documented for */

static void count(struct check_choice *c, const struct check_report *r)
{
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next) {
        c->kernels++;
        c->translated += !check_lost(k);
    }
    c->beyond = r->beyond;
}

static struct check_choice *choice_of(struct check_report *r, unsigned capability)
{
    for (size_t i = 0; i < r->nchoice; i++)
        if (r->choice[i].capability == capability)
            return NULL; /* is there already */
    struct check_choice *c = check_grow(r, &r->choice, &r->nchoice, sizeof *c);
    if (c)
        c->capability = capability;
    return c;
}

static int by_capability(const void *a, const void *b)
{
    const struct check_choice *x = a, *y = b;
    return (x->capability > y->capability) - (x->capability < y->capability);
}

void check_choices(struct check_report *r, void (*read)(struct check_report *r, void *ctx), void *ctx)
{
    struct check_choice *own = r->needs ? choice_of(r, r->claimed) : NULL;
    if (!own)
        return;
    count(own, r);
    if (own->translated == own->kernels && !own->beyond)
        return;
    for (size_t i = 0; i < r->nimage; i++) {
        const unsigned arch = r->image[i].arch;
        if (strcmp(r->image[i].kind, "ptx") != 0 || arch > HIGHEST)
            continue;
        struct check_choice *c = choice_of(r, arch < LOWEST ? LOWEST : arch);
        struct check_report other = {.program = r->program, .tables = r->tables, .target = r->target, .kept = r->kept};
        if (!c)
            continue;
        other.claimed = c->capability;
        read(&other, ctx);
        count(c, &other);
        r->nomem |= other.nomem;
        check_free(&other);
    }
    if (!r->nimage && r->needs > r->claimed && r->needs <= HIGHEST) { /* PTX by itself: the same text for all */
        struct check_choice *c = choice_of(r, r->needs);
        if (c) {
            count(c, r);
            c->beyond = false;
        }
    }
    qsort(r->choice, r->nchoice, sizeof *r->choice, by_capability);
}

static bool is_better(const struct check_choice *a, const struct check_choice *b, unsigned claimed)
{
    const size_t lost_a = a->kernels - a->translated, lost_b = b->kernels - b->translated;
    if (lost_a != lost_b)
        return lost_a < lost_b;
    if (a->beyond != b->beyond)
        return b->beyond;
    if ((a->capability == claimed) != (b->capability == claimed))
        return a->capability == claimed;
    return a->capability < b->capability;
}

const struct check_choice *check_best(const struct check_report *r)
{
    const struct check_choice *best = NULL;
    for (size_t i = 0; i < r->nchoice; i++)
        if (!best || is_better(&r->choice[i], best, r->claimed))
            best = &r->choice[i];
    return best;
}
