/* Tier 1 execution: racecheck. Compiled code says what its warps access and where they meet; here it is put as the
 * interpreter would, to the same shadow (tier0/tools.h). */
#include <stdlib.h>
#include <string.h>

#include "ptx/tier0/tools.h"
#include "ptx/tier1/exec/object.h"

void t1_race_free(struct t1_worker *t)
{
    if (t->raced)
        t0_race_block_free(t->raced->race);
    free(t->raced);
}

/* What stays the same for all blocks of a launch. */
bool t1_race_prepare(struct t1_worker *t, const struct t0_grid *g)
{
    const struct t1_block *b = &t->room.block;
    struct t0_block *k = t->raced;
    if (!k && !(k = t->raced = calloc(1, sizeof *k)))
        return false;
    k->worker = t->owner;
    k->grid = g;
    k->image = g->kernel->module->image;
    k->rec = g->kernel->rec;
    k->nwarp = b->nwarps;
    k->alone = (struct t0_cluster){.base = b->shared, .size = 1, .block = {k}};
    k->cluster = &k->alone;
    k->local = b->local;
    k->local_room = b->local ? b->local_stride * b->nwarps * LIR_LANES : 0;
    for (uint32_t n = 0; n < k->nwarp; n++) {
        struct t0_warp *w = &k->warp[n];
        w->block = k;
        w->index = n;
        w->shared = b->shared;
        w->shared_size = b->shared_size;
        w->params = b->params;
    }
    return true;
}

/* The block that runs; objects go on to the next one by themselves. */
static struct t0_block *block_of(const struct t1_block *b)
{
    struct t1_worker *t = b->worker;
    struct t0_block *k = t->raced;
    if (!t->race_begun || memcmp(k->index, b->ctaid, sizeof k->index) != 0) {
        memcpy(k->index, b->ctaid, sizeof k->index);
        k->grid = t->grid;
        t->race_begun = true;
        t0_race_begin(k);
    }
    return k;
}

enum { FAR = 1 << 26 };

/* Of lanes at equal distances the ends say where all of them are, unless an address of 32 bits wraps around. */
static void find_addresses(const struct t1_row *row, bool narrow, struct t0_row *r)
{
    uint64_t *address = r->address;
    if (row->wide) {
        for (unsigned l = 0; l < LIR_LANES; l++)
            address[l] = row->wide[l] + row->first[0];
    } else if (row->narrow) {
        for (unsigned l = 0; l < LIR_LANES; l++)
            address[l] = (uint32_t)(row->narrow[l] + (uint32_t)row->first[0]);
    } else {
        const uint64_t bits = narrow ? UINT32_MAX : UINT64_MAX, most = (uint64_t)row->stride * (LIR_LANES / 2 - 1);
        r->low = UINT64_MAX;
        r->high = 0;
        r->bits = (uint64_t)row->stride;
        for (unsigned h = 0; h < 2; h++) {
            const uint64_t from = row->first[h] & bits, to = (row->first[h] + most) & bits;
            const uint64_t low = from < to ? from : to, high = from < to ? to : from;
            for (unsigned l = 0; l < LIR_LANES / 2; l++)
                address[16 * h + l] = (row->first[h] + (uint64_t)row->stride * l) & bits;
            r->low = low < r->low ? low : r->low;
            r->high = high > r->high ? high : r->high;
            r->bits |= row->first[h];
        }
        r->bounded = r->high - r->low <= UINT32_MAX / 2 && row->stride < FAR && row->stride > -FAR;
    }
}

bool t1_service_reads(struct t1_block *b, uint32_t warp, uint32_t mask, uint64_t first, uint64_t second,
                      const struct t1_watched *at)
{
    return t0_race_shared_read(&block_of(b)->warp[warp], mask, (uint32_t)first, (uint32_t)second, at->stride, at->bytes,
                               at->pc);
}

void t1_service_race(struct t1_block *b, uint32_t warp, uint32_t mask, const struct t1_row *row,
                     const struct t1_watched *at)
{
    struct t0_block *k = block_of(b);
    struct t0_warp *w = &k->warp[warp];
    const struct lir_insn *i = LIR_AT(k->image, code, struct lir_insn) + at->pc;
    struct t0_stored stored; /* of it only what is known */
    stored.elements = row->elements;
    stored.size = row->elements ? at->bytes / row->elements : 0;
    stored.wide = stored.size == 8;
    for (unsigned e = 0; e < row->elements; e++)
        stored.value[e] = row->value[e];
    const unsigned apart = LIR_LANES / 2 * at->bytes;
    if (mask == ~0u && !row->wide && !row->narrow && row->stride == at->bytes &&
        row->first[1] - row->first[0] == apart && !(at->what & (T1_WATCH_SHARED | T1_WATCH_UPDATES | T1_WATCH_32))) {
        w->l.mask = mask;
        w->at = i;
        w->stored = &stored;
        const bool told = t0_tools_race_span(w, i, row->first[0], at->bytes,
                                             at->what & T1_WATCH_WRITES ? T0_WRITES : T0_READS);
        w->stored = NULL;
        if (told)
            return;
    }
    struct t0_row r; /* each of its bytes set would cost as much as some rows */
    r.mask = mask;
    r.size = at->bytes;
    r.kind = at->what & T1_WATCH_UPDATES ? T0_UPDATES : at->what & T1_WATCH_WRITES ? T0_WRITES : T0_READS;
    r.shared = (at->what & T1_WATCH_SHARED) != 0;
    r.strong = (at->what & T1_WATCH_UPDATES) != 0;
    r.bounded = false;
    find_addresses(row, at->what & T1_WATCH_32, &r);
    w->l.mask = mask;
    w->at = i;
    w->stored = &stored;
    t0_tools_race_row(w, i, &r);
    w->stored = NULL;
    if (r.strong && !(i->aux & LIR_ATOM_NORET)) /* of which t0_tools_done knows nothing to do */
        T0_FOR_LANES(l, mask)
        {
            const struct t0_part p = {r.address[l], r.size, r.kind, r.shared, true, false};
            t0_tools_done(w, i, l, &p);
        }
}

void t1_service_gather(struct t1_block *b, uint32_t warp, uint32_t mask, uint32_t live, const uint32_t named[32])
{
    struct t0_block *k = block_of(b);
    for (uint32_t left = mask, who; left; left &= ~who) {
        const unsigned first = (unsigned)__builtin_ctz(left);
        who = named ? named[first] | 1u << first : mask;
        if (who & live & ~mask) /* they come here later, or to another place */
            t0_race_lost(k);
        who &= mask;
        t0_race_collective(&k->warp[warp], who);
    }
}

void t1_service_met(struct t1_block *b)
{
    const struct t1_worker *t = b->worker;
    if (t->race_begun && !memcmp(t->raced->index, b->ctaid, sizeof b->ctaid))
        t0_race_met(t->raced);
}
