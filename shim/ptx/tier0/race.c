/* Racecheck: what orders the threads of a block, or of a cluster, and what of global memory they use. */
#include "ptx/tier0/race.h"
#include "ptx/lir/tile.h"

#include <stdlib.h>
#include <string.h>

uint32_t race_rank_of(const struct t0_warp *w)
{
    return (uint32_t)((uint64_t)(w->shared - w->block->cluster->base) >> LIR_CLUSTER_SHIFT);
}

/* ---- a block begins ---------------------------------------------------------------------------- */

void t0_race_block_free(struct race_block *r)
{
    if (!r)
        return;
    race_clocks_free(r->clocks);
    free(r->pending);
    race_cells_free(r);
    free(r->piece);
    free(r);
}

static enum t0_async async_of(const struct lir_image *m, const struct lir_insn *i)
{
    if (i->op == LIR_WGMMA || i->op == LIR_TCMMA)
        return T0_MULTIPLYING;
    if (i->op != LIR_TILE)
        return t0_copy_of(i);
    const struct lir_tile *x = &LIR_AT(m, tiles, struct lir_tile)[i->imm];
    switch (x->kind) {
    case LIR_TILE_TENSOR: return x->p[3] & LIR_TENSOR_STORE ? T0_SENDING : T0_FETCHING;
    case LIR_TILE_TM_CP: return T0_MULTIPLYING;
    case LIR_TILE_TM_LD: return T0_LOADING;
    case LIR_TILE_TM_ST: return T0_STORING;
    default: return T0_AT_ONCE;
    }
}

/* Slots of what the kernel's threads start. */
static void find_slots(struct race_block *r, const struct lir_image *m)
{
    const struct lir_insn *code = LIR_AT(m, code, struct lir_insn);
    r->slots = r->threads;
    for (uint32_t k = 0; k < m->code.count; k++) {
        const enum t0_async kind = async_of(m, &code[k]);
        if (kind != T0_AT_ONCE && !r->first[kind]) {
            r->first[kind] = r->slots;
            r->slots += r->threads;
        }
    }
    while (1u << r->slot_bits < r->slots)
        r->slot_bits++;
}

/* Whether something may learn from what others have released in shared memory, other than by barriers: strong loads,
 * atomics that return what was there, mbarriers. */
static bool may_listen(const struct lir_image *m)
{
    const struct lir_insn *code = LIR_AT(m, code, struct lir_insn);
    const unsigned strong = LIR_MEM_STRONG | LIR_MEM_ACQUIRE | LIR_MEM_RELEASE | LIR_MEM_SC | LIR_MEM_L2;
    for (uint32_t k = 0; k < m->code.count; k++)
        switch (code[k].op) {
        case LIR_ATOM:
            if (!(code[k].aux & LIR_ATOM_NORET))
                return true;
            break;
        case LIR_MBARRIER:
        case LIR_BULK:
        case LIR_ASYNC_GROUP: return true;
        default:
            if (code[k].op >= LIR_LDG_8 && code[k].op <= LIR_ST_ANY && code[k].aux & strong)
                return true;
        }
    return false;
}

static struct race_block *make_state(const struct t0_block *b)
{
    const struct t0_grid *g = b->grid;
    struct race_block *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->serial = g->kernel->serial;
    r->blocks = b->cluster->size;
    r->per_block = b->nwarp * LIR_LANES;
    r->threads = r->blocks * r->per_block;
    r->listens = r->blocks > 1 || may_listen(b->image);
    find_slots(r, b->image);
    r->words = t0_shared_size(b->rec->dynamic_offset + g->dynamic_shared) / 4;
    r->clocks = race_clocks_new(r->threads, r->slots, r->blocks * LIR_BARRIER_CLUSTER);
    if (r->clocks && race_cells_new(r) && (!b->rec->uses_tensor || race_pieces_new(r)))
        return r;
    t0_race_block_free(r);
    return NULL;
}

/* The shadow of a block that ran before is kept: all that it holds is ordered before what comes. */
void t0_race_begin(struct t0_block *b)
{
    struct t0_block *first = b->cluster->block[0];
    struct race_block *r = first->race;
    const struct t0_grid *g = b->grid;
    const uint32_t words = t0_shared_size(b->rec->dynamic_offset + g->dynamic_shared) / 4;
    if (b != first)
        return;
    if (r && (r->serial != g->kernel->serial || r->blocks != b->cluster->size || r->per_block != b->nwarp * LIR_LANES ||
              r->words != words || r->broken)) {
        t0_race_block_free(r);
        r = NULL;
    }
    if (!r)
        r = make_state(b);
    first->race = r;
    if (!r)
        return;
    r->acquired = r->watched = 0;
    r->fenced = false;
    if (r->pending)
        memset(r->pending, 0, r->threads * sizeof *r->pending);
    r->broken = !race_clocks_begin(r->clocks, r->blocks * g->block[0] * g->block[1] * g->block[2]);
    r->begun = r->clocks->floor;
}

static uint64_t number_of(const struct t0_warp *w, uint32_t rank)
{
    return t0_block_number(w->block->grid, w->block->cluster->block[rank]->index);
}

struct race_place race_place_of(const struct t0_warp *w, const struct race_block *r, uint32_t slot, uint32_t pc,
                                uint8_t kind)
{
    slot %= r->threads;
    return (struct race_place){pc, slot % r->per_block, number_of(w, slot / r->per_block), kind, 0};
}

/* ---- what orders ------------------------------------------------------------------------------- */

/* Lanes of a warp have met at a collective. */
void t0_race_collective(struct t0_warp *w, uint32_t lanes)
{
    struct race_block *r = race_state_of(w);
    uint32_t slot[LIR_LANES], n = 0;
    if (!r)
        return;
    if (lanes == ~0u) {
        r->broken |= !race_meet_warp(r->clocks, race_slot_of(w, r, 0));
        return;
    }
    T0_FOR_LANES(l, lanes)
    slot[n++] = race_slot_of(w, r, l);
    r->broken |= !race_meet(r->clocks, slot, n, false, RACE_NO_BARRIER);
}

uint32_t race_barrier_of(const struct t0_block *b, uint32_t id)
{
    return race_rank_of(&b->warp[0]) * LIR_BARRIER_CLUSTER + id;
}

enum { CLUSTER = 1 }; /* the object of its barrier: no address of a word */

void t0_race_arrive(struct t0_warp *w, uint32_t id)
{
    struct race_block *r = race_state_of(w);
    if (!r)
        return;
    T0_FOR_LANES(l, w->l.mask)
    r->broken |= !(id == LIR_BARRIER_CLUSTER
                       ? race_release(r->clocks, race_slot_of(w, r, l), CLUSTER)
                       : race_arrive(r->clocks, race_slot_of(w, r, l), race_barrier_of(w->block, id)));
}

void t0_race_waited(struct t0_warp *w, uint32_t lanes)
{
    T0_FOR_LANES(l, lanes)
    t0_race_acquire(w, l, CLUSTER);
}

/* A barrier is complete: those that wait there, and of warp w its running lanes, go on. */
void t0_race_released(struct t0_block *b, const struct t0_warp *w, uint32_t id)
{
    struct race_block *r = race_state_of(&b->warp[0]);
    uint32_t n = 0, slot[T0_MAX_WARPS * LIR_LANES];
    if (!r)
        return;
    for (uint32_t k = 0; k < b->nwarp; k++) {
        const struct t0_warp *v = &b->warp[k];
        uint32_t lanes = v == w ? w->l.mask : 0;
        for (uint32_t s = 0; s < v->nsplit; s++)
            if (v->split[s].state == T0_WAIT_BARRIER && v->split[s].want == id)
                lanes |= v->split[s].mask;
        T0_FOR_LANES(l, lanes)
        slot[n++] = race_slot_of(v, r, l);
    }
    const uint32_t products = r->first[T0_MULTIPLYING] ? r->first[T0_MULTIPLYING] : r->slots;
    if (id >= LIR_BARRIER_GROUP)
        r->broken |= !race_meet_products(r->clocks, slot, n, products, race_barrier_of(b, id));
    else
        r->broken |= !race_meet(r->clocks, slot, n, !b->barrier[id].count, race_barrier_of(b, id));
}

void t0_race_met(struct t0_block *b)
{
    struct race_block *r = race_state_of(&b->warp[0]);
    if (r)
        r->broken |= !race_meet_all(r->clocks);
}

void t0_race_lost(struct t0_block *b)
{
    struct race_block *r = race_state_of(&b->warp[0]);
    if (r)
        r->broken = true;
}

void t0_race_exit(struct t0_warp *w)
{
    struct race_block *r = race_state_of(w);
    if (!r)
        return;
    T0_FOR_LANES(l, w->l.mask)
    race_exit(r->clocks, race_slot_of(w, r, l));
}

void t0_race_release(struct t0_warp *w, unsigned lane, uint64_t object)
{
    struct race_block *r = race_state_of(w);
    if (r)
        r->broken |= !race_release(r->clocks, race_slot_of(w, r, lane), object);
}

void t0_race_release_shared(struct t0_warp *w, unsigned lane, uint64_t object)
{
    struct race_block *r = race_state_of(w);
    if (r && r->listens)
        r->broken |= !race_release(r->clocks, race_slot_of(w, r, lane), object);
}

void t0_race_acquire(struct t0_warp *w, unsigned lane, uint64_t object)
{
    struct race_block *r = race_state_of(w);
    if (r)
        r->broken |= !race_acquire(r->clocks, race_slot_of(w, r, lane), object);
}

/* Commits of copies, or of products, and waits for them. */
void t0_race_group(struct t0_warp *w, const struct lir_insn *i)
{
    struct race_block *r = race_state_of(w);
    const unsigned kind = i->aux & LIR_GROUP_KIND;
    const enum t0_async what = i->aux & LIR_GROUP_TILES    ? T0_MULTIPLYING
                               : i->aux & LIR_GROUP_LOADS  ? T0_LOADING
                               : i->aux & LIR_GROUP_STORES ? T0_STORING
                               : i->aux & LIR_GROUP_BULK   ? T0_SENDING
                                                           : T0_COPYING;
    if (!r)
        return;
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint32_t thread = race_slot_of(w, r, l), slot = race_async_slot(r, thread, what);
        if (slot == thread)
            return;
        if (kind == LIR_GROUP_COMMIT || kind == LIR_GROUP_WAIT_ALL)
            race_commit(r->clocks, slot);
        if (kind == LIR_GROUP_WAIT || kind == LIR_GROUP_WAIT_ALL)
            r->broken |= !race_wait(r->clocks, thread, slot, kind == LIR_GROUP_WAIT ? (uint32_t)i->imm : 0);
    }
}

void t0_race_async(struct t0_warp *w, unsigned lane, uint64_t object, enum t0_async what)
{
    struct race_block *r = race_state_of(w);
    if (!r)
        return;
    const uint32_t thread = race_slot_of(w, r, lane), slot = race_async_slot(r, thread, what);
    if (slot != thread)
        r->broken |= !race_async_release(r->clocks, thread, slot, object);
    else if (what == T0_MULTIPLYING)
        r->broken |= !race_release(r->clocks, thread, object);
}

/* ---- global memory ------------------------------------------------------------------------------- */

/* Words of global memory by which threads of a block order each other share few names: a vector of clocks each. */
static uint64_t global_object(uint64_t address)
{
    enum { NAMES = 256 };
    return ((uint64_t)1 << 40) + (address / 4 * 0x9e3779b97f4a7c15u >> 32) % NAMES;
}

/* Lanes of one instruction have not stored yet. */
static bool stores_the_same(const struct race_access *a, const unsigned *before)
{
    uint8_t mine[32], theirs[32];
    if (t0_stored_value(a->w, a->i, a->lane, mine) != a->size)
        return false;
    if (!before)
        return a->address && !memcmp(mine, (const void *)(uintptr_t)a->address, a->size);
    return *before < a->lane && a->w->l.mask >> *before & 1 &&
           t0_stored_value(a->w, a->i, *before, theirs) == a->size && !memcmp(mine, theirs, a->size);
}

/* The access of a lane, or of lanes from this one on. Their data are compared before anything is locked: memory that a
 * program has no right to faults there. */
static struct race_access access_of(struct t0_warp *w, const struct race_block *r, const struct lir_insn *i,
                                    unsigned lane, const struct t0_part *p)
{
    return (struct race_access){.address = p->address,
                                .size = p->size,
                                .pc = (uint32_t)(i - LIR_AT(w->block->image, code, struct lir_insn)),
                                .slot = race_slot_of(w, r, lane),
                                .kind = (uint8_t)p->kind,
                                .strong = p->strong,
                                .same = stores_the_same,
                                .w = w,
                                .i = i,
                                .lane = lane};
}

void t0_race_flat(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p)
{
    struct t0_race *launch = w->block->grid->watch->race;
    struct race_block *r = race_state_of(w);
    if (!launch || !launch->global || !r)
        return;
    const bool flag = p->kind != T0_READS && (p->strong || r->fenced);
    struct race_access a = access_of(w, r, i, lane, p);
    a.strong = p->strong || flag;
    if (p->kind == T0_WRITES && !p->async) {
        uint64_t address[LIR_LANES];
        address[lane] = p->address;
        a.silent = t0_stores_nothing_new(w, i, 1u << lane, address, false);
    }
    race_global_access(launch, launch->global, r, number_of(w, 0), &a);
    if (flag)
        t0_race_release_flat(w, lane, p->address);
}

/* Whether all lanes lie side by side: rows whose bounds are known are two halves at equal distances. */
static bool is_in_order(const struct t0_row *row)
{
    const uint64_t *at = row->address;
    return row->bounded && row->mask == ~0u && at[1] - at[0] == row->size && at[16] - at[0] == 16 * row->size &&
           at[31] - at[0] == 31 * row->size;
}

/* Lanes from the lowest of `lanes` on that lie side by side. */
static unsigned count_side_by_side(const struct t0_row *row, uint32_t lanes)
{
    const unsigned first = (unsigned)__builtin_ctz(lanes);
    const uint32_t run = ~(lanes >> first);
    const unsigned most = run ? (unsigned)__builtin_ctz(run) : LIR_LANES;
    unsigned n = 1;
    while (n < most && row->address[first + n] == row->address[first] + (uint64_t)n * row->size)
        n++;
    return n;
}

/* Some lanes of a row, one by one. */
static void flat_lanes(struct t0_warp *w, struct race_block *r, const struct lir_insn *i, const struct t0_row *row,
                       uint32_t lanes, uint32_t silent)
{
    struct t0_race *launch = w->block->grid->watch->race;
    const struct t0_part p = {.size = row->size, .kind = row->kind, .strong = row->strong};
    struct race_access a = access_of(w, r, i, 0, &p);
    a.silent = silent;
    race_global_lanes(launch, launch->global, r, number_of(w, 0), &a, row->address, lanes);
}

void t0_race_flat_row(struct t0_warp *w, const struct lir_insn *i, const struct t0_row *row)
{
    struct t0_race *launch = w->block->grid->watch->race;
    struct race_block *r = race_state_of(w);
    if (!launch || !launch->global || !r)
        return;
    const uint32_t slot = race_slot_of(w, r, 0);
    const bool quick = row->size <= 16 && !((row->bits | row->size) & (row->size - 1)) &&
                       race_is_even(r->clocks, slot) && (row->kind == T0_READS || (!row->strong && !r->fenced));
    const bool in_order = quick && is_in_order(row);
    const uint32_t silent = row->kind == T0_WRITES ? t0_stores_nothing_new(w, i, row->mask, row->address, in_order) : 0;
    uint32_t left = row->mask;
    if (row->kind == T0_READS && !row->strong && !in_order)
        left = race_global_unsettled(launch->global, r, row->address, left, row->size);
    for (uint32_t single = 0; left || single;) {
        const unsigned l = left ? (unsigned)__builtin_ctz(left) : 0;
        const unsigned n = !left ? 0 : in_order ? LIR_LANES : quick ? count_side_by_side(row, left) : 1;
        left &= n < LIR_LANES ? ~(((1u << n) - 1) << l) : 0;
        if (n == 1 && quick) {
            single |= 1u << l;
            continue;
        }
        if (single) /* lanes before this one; those that store are looked at in their order */
            flat_lanes(w, r, i, row, single, silent);
        single = 0;
        const struct t0_part p = {
            .address = row->address[l], .size = row->size, .kind = row->kind, .strong = row->strong};
        if (n == 1)
            t0_race_flat(w, i, l, &p);
        if (n <= 1)
            continue;
        struct race_access a = access_of(w, r, i, l, &p);
        a.silent = silent;
        race_global_side_by_side(launch, launch->global, r, number_of(w, 0), &a, n);
    }
}

bool t0_race_flat_span(struct t0_warp *w, const struct lir_insn *i, uint64_t first, uint32_t size,
                       enum t0_access_kind kind)
{
    struct t0_race *launch = w->block->grid->watch->race;
    struct race_block *r = race_state_of(w);
    if (!launch || !launch->global || !r)
        return true;
    const uint32_t slot = race_slot_of(w, r, 0);
    if (size > 16 || (first | size) & (size - 1) || !race_is_even(r->clocks, slot) || (kind != T0_READS && r->fenced))
        return false;
    const struct t0_part p = {.address = first, .size = size, .kind = kind};
    struct race_access a = access_of(w, r, i, 0, &p);
    if (kind == T0_WRITES)
        a.silent = t0_stores_nothing_new(w, i, ~0u, &first, true);
    race_global_side_by_side(launch, launch->global, r, number_of(w, 0), &a, LIR_LANES);
    return true;
}

void t0_race_release_flat(struct t0_warp *w, unsigned lane, uint64_t address)
{
    const struct t0_race *launch = w->block->grid->watch->race;
    t0_race_release(w, lane, global_object(address));
    if (launch && launch->global)
        race_global_release(launch->global, number_of(w, 0), address);
}

static void learn(struct race_block *r, uint64_t count) { r->acquired = count > r->acquired ? count : r->acquired; }

void t0_race_acquire_flat(struct t0_warp *w, unsigned lane, uint64_t address)
{
    const struct t0_race *launch = w->block->grid->watch->race;
    struct race_block *r = race_state_of(w);
    t0_race_acquire(w, lane, global_object(address));
    if (!launch || !launch->global || !r)
        return;
    learn(r, race_global_seen(launch->global, address));
    if (race_global_anywhere(launch->global))
        t0_race_acquire(w, lane, global_object(T0_RACE_ANYWHERE));
}

/* A relaxed load orders nothing by itself: a fence behind it does (the PTX ISA's acquire pattern). */
void t0_race_watch(struct t0_warp *w, unsigned lane, uint64_t address, bool shared)
{
    const struct t0_race *launch = w->block->grid->watch->race;
    struct race_block *r = race_state_of(w);
    const uint64_t object = shared ? address : global_object(address);
    if (!r || (!r->pending && !(r->pending = calloc(r->threads, sizeof *r->pending))))
        return;
    struct race_watched *p = &r->pending[race_slot_of(w, r, lane)];
    uint32_t k = 0;
    while (k < p->count && p->object[k] != object)
        k++;
    if (k < RACE_WATCHED) {
        p->object[k] = object;
        p->count += k == p->count;
    }
    if (k == RACE_WATCHED)
        t0_race_acquire(w, lane, object); /* too many to remember: rather too early */
    const uint64_t seen = shared || !launch || !launch->global ? 0 : race_global_seen(launch->global, address);
    r->watched = seen > r->watched ? seen : r->watched;
}

void t0_race_fence(struct t0_warp *w)
{
    struct race_block *r = race_state_of(w);
    if (!r)
        return;
    r->fenced = true;
    if (!r->pending)
        return;
    learn(r, r->watched);
    T0_FOR_LANES(l, w->l.mask)
    {
        struct race_watched *p = &r->pending[race_slot_of(w, r, l)];
        while (p->count)
            t0_race_acquire(w, l, p->object[--p->count]);
    }
}
