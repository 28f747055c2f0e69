/* Tier 0 execution: hands what the interpreter does on to the tools that look at a launch. */
#include "ptx/tier0/tools.h"

#include <stdio.h>
#include <string.h>

static unsigned tools_of(const struct t0_warp *w)
{
    const struct t0_watch *watch = w->block->grid->watch;
    return watch ? watch->tools : 0;
}

void t0_tools_begin(struct t0_block *b)
{
    const struct t0_watch *watch = b->grid->watch;
    if (watch && watch->tools & T0_RACECHECK)
        t0_race_begin(b);
    if (watch && watch->tools & T0_SYNCCHECK)
        t0_sync_begin(b);
}

/* ---- accesses ------------------------------------------------------------------------------------ */

bool t0_in_shared(const struct t0_warp *w, const struct t0_part *p, uint32_t *rank, uint64_t *offset)
{
    const uint8_t *base = w->block->cluster->base, *at;
    if (!p->shared)
        at = t0_generic_shared(w, p->address, p->size);
    else if (p->address < w->shared_size && p->size <= w->shared_size - p->address)
        at = w->shared + p->address;
    else
        at = p->address >> 32 ? t0_generic_shared(w, p->address, p->size) /* devices take its low bits */
                              : t0_far_shared(w, p->address, p->size);
    if (!at)
        return false;
    *rank = (uint32_t)((uint64_t)(at - base) >> LIR_CLUSTER_SHIFT);
    *offset = (uint64_t)(at - base) & (LIR_CLUSTER_STRIDE - 1);
    return true;
}

/* Local memory, and what calls and launches pass. */
static bool is_private(const struct t0_warp *w, uint64_t address)
{
    const struct t0_block *b = w->block;
    const uint8_t *p = (const uint8_t *)(uintptr_t)address;
    return (size_t)(p - b->local) < b->local_room || (size_t)(p - b->regs) < b->regs_room ||
           (size_t)(p - w->params) < b->rec->param_size;
}

void t0_report_unwritten(const struct t0_watch *watch, const struct t0_place *p, uint64_t address, uint32_t size)
{
    char title[80], where[40];
    const struct t0_finding f = {.tool = T0_INITCHECK,
                                 .title = title,
                                 .at = {{.place = *p}},
                                 .places = 1,
                                 .note = {where},
                                 .notes = 1,
                                 .has_address = true,
                                 .address = address};
    snprintf(title, sizeof title, "Uninitialized __global__ memory read of size %u bytes", size);
    snprintf(where, sizeof where, "Address 0x%llx", (unsigned long long)address);
    watch->report(watch->ctx, &f);
}

void t0_tools_access(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p,
                     unsigned tools)
{
    const struct t0_watch *watch = w->block->grid->watch;
    uint32_t rank;
    uint64_t offset;
    if (t0_in_shared(w, p, &rank, &offset)) {
        if (!(tools & T0_RACECHECK))
            return;
        t0_race_shared(w, i, lane, p, rank, offset);
        if (p->strong && p->kind != T0_READS)
            t0_race_release_shared(w, lane, rank * LIR_CLUSTER_STRIDE + offset);
        return;
    }
    if (p->shared || is_private(w, p->address))
        return;
    if (tools & T0_RACECHECK)
        t0_race_flat(w, i, lane, p);
    if (tools & T0_INITCHECK && !watch->written(watch->ctx, p->address, p->size, p->kind)) {
        const uint32_t pc = (uint32_t)(i - LIR_AT(w->block->image, code, struct lir_insn));
        struct t0_place place;
        if (p->kind == T0_READS && !t0_undefined_matters(watch, w->block->grid->kernel, pc, p->address, p->size))
            return;
        t0_place_of(w, i, lane, &place);
        t0_report_unwritten(watch, &place, p->address, p->size);
    }
}

/* The bytes from low to high and a piece of memory. */
enum where { OUTSIDE, INSIDE, ACROSS };
static enum where where_is(uint64_t low, uint64_t high, const void *base, uint64_t size)
{
    const uint64_t from = (uintptr_t)base, to = from + size;
    return high <= from || low >= to ? OUTSIDE : low >= from && high <= to ? INSIDE : ACROSS;
}

static void find_bounds(struct t0_row *row)
{
    row->low = UINT64_MAX;
    row->high = row->bits = 0;
    for (unsigned l = 0; l < LIR_LANES && row->mask == ~0u; l++) {
        const uint64_t at = row->address[l];
        row->bits |= at;
        row->low = at < row->low ? at : row->low;
        row->high = at > row->high ? at : row->high;
    }
    if (row->mask == ~0u)
        return;
    T0_FOR_LANES(l, row->mask)
    {
        const uint64_t at = row->address[l];
        row->bits |= at;
        row->low = at < row->low ? at : row->low;
        row->high = at > row->high ? at : row->high;
    }
}

bool t0_tools_race_span(struct t0_warp *w, const struct lir_insn *i, uint64_t first, uint32_t size,
                        enum t0_access_kind kind)
{
    const struct t0_block *b = w->block;
    const uint64_t end = first + (uint64_t)LIR_LANES * size;
    return end > first &&
           where_is(first, end, b->cluster->base, (uint64_t)b->cluster->size << LIR_CLUSTER_SHIFT) == OUTSIDE &&
           where_is(first, end, w->shared, w->shared_size) == OUTSIDE &&
           where_is(first, end, b->local, b->local_room) == OUTSIDE &&
           where_is(first, end, b->regs, b->regs_room) == OUTSIDE &&
           where_is(first, end, w->params, b->rec->param_size) == OUTSIDE && t0_race_flat_span(w, i, first, size, kind);
}

/* Rows that lie in the block's own shared memory or in global memory as a whole; others lane by lane. */
void t0_tools_race_row(struct t0_warp *w, const struct lir_insn *i, struct t0_row *row)
{
    const struct t0_block *b = w->block;
    uint64_t offset[LIR_LANES];
    if (!row->bounded)
        find_bounds(row);
    const uint64_t low = row->low, high = row->high + row->size;
    if (!row->mask || high < row->high)
        return;
    row->whole = !((row->bits | row->size) & 3);
    if (row->shared && high <= w->shared_size) {
        t0_race_shared_row(w, i, row, row->address);
        return;
    }
    const enum where shared = where_is(low, high, b->cluster->base, (uint64_t)b->cluster->size << LIR_CLUSTER_SHIFT),
                     own = where_is(low, high, w->shared, w->shared_size),
                     local = where_is(low, high, b->local, b->local_room),
                     regs = where_is(low, high, b->regs, b->regs_room),
                     params = where_is(low, high, w->params, b->rec->param_size);
    if (!row->shared && own == INSIDE) {
        T0_FOR_LANES(l, row->mask)
        offset[l] = row->address[l] - (uintptr_t)w->shared;
        t0_race_shared_row(w, i, row, offset);
    } else if (!row->shared && (b->cluster->size > 1 ? shared : own) == OUTSIDE &&
               (local == INSIDE || regs == INSIDE || params == INSIDE)) {
        return;
    } else if (!row->shared && (b->cluster->size > 1 ? shared : own) == OUTSIDE && local == OUTSIDE &&
               regs == OUTSIDE && params == OUTSIDE) {
        t0_race_flat_row(w, i, row);
    } else {
        T0_FOR_LANES(l, row->mask)
        {
            const struct t0_part p = {row->address[l], row->size, row->kind, row->shared, row->strong, false};
            t0_tools_access(w, i, l, &p, T0_RACECHECK);
        }
    }
}

/* Volatile loads and atomics without an order count as acquires, as programs of before the memory model have no other;
 * who writes .relaxed means it. */
static bool says_relaxed(const struct t0_warp *w, const struct lir_insn *i)
{
    return !strncmp(lir_text(w->block->image, i), "ld.relaxed", 10);
}

void t0_tools_done(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p)
{
    uint32_t rank;
    uint64_t offset;
    if (!(tools_of(w) & T0_RACECHECK) || !p->strong || p->kind == T0_WRITES ||
        (i->op == LIR_ATOM && i->aux & LIR_ATOM_NORET))
        return;
    const bool shared = t0_in_shared(w, p, &rank, &offset);
    const uint64_t object = shared ? rank * LIR_CLUSTER_STRIDE + offset : p->address;
    if (says_relaxed(w, i))
        t0_race_watch(w, lane, object, shared);
    else if (shared)
        t0_race_acquire(w, lane, object);
    else
        t0_race_acquire_flat(w, lane, object);
}

static const struct t0_stored *stored_of(struct t0_warp *w, const struct lir_insn *i, struct t0_stored *s)
{
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    unsigned size, n = 1;
    bool wide = false;
    if (w->stored)
        return w->stored;
    s->elements = 0;
    switch (i->op) {
    case LIR_STG_8:
    case LIR_STG_16:
    case LIR_STG_32:
    case LIR_STG_64: size = 1u << (i->op - LIR_STG_8); break;
    case LIR_STS_8:
    case LIR_STS_16:
    case LIR_STS_32:
    case LIR_STS_64: size = 1u << (i->op - LIR_STS_8); break;
    case LIR_ST_ANY:
        size = 1u << (i->aux & LIR_MEM_LOG2_SIZE);
        n = 1u << (i->aux >> LIR_MEM_VEC_SHIFT & 3);
        wide = (i->aux >> LIR_MEM_DST_SHIFT & 3) >= 2;
        break;
    default: return s;
    }
    if (size * n > 32 || n > 4)
        return s;
    s->wide = wide || size >= 8;
    s->size = size < 8 ? size : 8;
    for (unsigned k = 0; k < n; k++)
        for (unsigned half = 0; half < (size == 16 ? 2 : 1); half++) /* of 16 bytes the upper one lies behind */
            s->value[s->elements++] = s->wide ? (const void *)T0_U64(w, row[k] + 256 * half) : T0_U32(w, row[k]);
    return s;
}

static const uint8_t *stored_element(const struct t0_stored *s, unsigned k, unsigned lane)
{
    return (const uint8_t *)s->value[k] + lane * (s->wide ? 8 : 4);
}

unsigned t0_stored_value(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint8_t value[32])
{
    struct t0_stored room;
    const struct t0_stored *s = stored_of(w, i, &room);
    if (s->size * s->elements > 32)
        return 0;
    for (unsigned k = 0; k < s->elements; k++)
        memcpy(value + k * s->size, stored_element(s, k, lane), s->size);
    return s->size * s->elements;
}

/* Lanes whose word is there already. Most rows store something new in each lane, which vectors say at once. */
static uint32_t words_there(const uint32_t value[LIR_LANES], const void *memory)
{
    uint32_t there[LIR_LANES], any = 0, lanes = 0;
    memcpy(there, memory, sizeof there);
    for (unsigned l = 0; l < LIR_LANES; l++)
        any |= there[l] == value[l];
    for (unsigned l = 0; l < LIR_LANES && any; l++)
        lanes |= (uint32_t)(there[l] == value[l]) << l;
    return lanes;
}

static uint32_t double_words_there(const uint64_t value[LIR_LANES], const void *memory)
{
    uint64_t there[LIR_LANES];
    uint32_t any = 0, lanes = 0;
    memcpy(there, memory, sizeof there);
    for (unsigned l = 0; l < LIR_LANES; l++)
        any |= there[l] == value[l];
    for (unsigned l = 0; l < LIR_LANES && any; l++)
        lanes |= (uint32_t)(there[l] == value[l]) << l;
    return lanes;
}

static bool is_there(const struct t0_stored *s, unsigned lane, const uint8_t *memory)
{
    for (unsigned k = 0; k < s->elements; k++) {
        const uint8_t *value = stored_element(s, k, lane);
        for (unsigned n = 0; n < s->size; n++)
            if (value[n] != memory[k * s->size + n])
                return false;
    }
    return true;
}

uint32_t t0_stores_nothing_new(struct t0_warp *w, const struct lir_insn *i, uint32_t lanes, const uint64_t *first,
                               bool side_by_side)
{
    struct t0_stored room;
    uint32_t found = 0;
    const struct t0_stored *s = stored_of(w, i, &room);
    const void *memory = (const void *)(uintptr_t)*first;
    if (!s->elements)
        return 0;
    if (side_by_side && lanes == ~0u && s->elements == 1 && s->size >= 4)
        return s->size == 4 ? words_there(s->value[0], memory) : double_words_there(s->value[0], memory);
    T0_FOR_LANES(l, lanes)
    {
        const uint64_t at = side_by_side ? *first + (uint64_t)l * s->size * s->elements : first[l];
        found |= (uint32_t)is_there(s, l, (const uint8_t *)(uintptr_t)at) << l;
    }
    return found;
}

/* ---- what lanes and warps do together ------------------------------------------------------------- */

void t0_tools_collective(struct t0_warp *w, const struct lir_insn *i, bool forced)
{
    const unsigned tools = tools_of(w);
    if (tools & T0_SYNCCHECK)
        t0_sync_collective(w, i, forced);
    if (!(tools & T0_RACECHECK))
        return;
    if (!i->e) {
        t0_race_collective(w, w->l.mask);
        return;
    }
    for (uint32_t left = w->l.mask; left;) { /* tiles of a warp have masks of their own */
        const unsigned first = (unsigned)__builtin_ctz(left);
        uint32_t who = T0_U32(w, i->e)[first] | 1u << first;
        who &= i->op == LIR_WARPSYNC && !forced ? ~w->dead : w->l.mask;
        t0_race_collective(w, who);
        left &= ~who;
    }
}

void t0_tools_arrive(struct t0_warp *w, const struct lir_insn *i, uint32_t id)
{
    if (tools_of(w) & T0_RACECHECK && (!i || (i->aux & LIR_BAR_KIND) == LIR_BAR_ARRIVE))
        t0_race_arrive(w, id);
    if (tools_of(w) & T0_SYNCCHECK)
        t0_sync_arrive(w, i, id);
}

void t0_tools_waited(struct t0_warp *w, uint32_t lanes)
{
    if (tools_of(w) & T0_RACECHECK)
        t0_race_waited(w, lanes);
}

void t0_tools_released(struct t0_block *b, struct t0_warp *w, const struct lir_insn *i, uint32_t id)
{
    const unsigned tools = tools_of(&b->warp[0]);
    if (tools & T0_RACECHECK)
        t0_race_released(b, w, id);
    if (tools & T0_SYNCCHECK)
        t0_sync_released(b, w, i, id);
}

void t0_tools_exit(struct t0_warp *w)
{
    if (tools_of(w) & T0_RACECHECK)
        t0_race_exit(w);
}

/* ---- the rest ------------------------------------------------------------------------------------ */

static void fence(struct t0_warp *w, const struct lir_insn *i)
{
    if (tools_of(w) & T0_RACECHECK)
        t0_race_fence(w);
    lir_table[i->op](w, i);
}

/* Offset of an address of shared memory in the cluster's. */
static bool find_object(struct t0_warp *w, uint64_t address, bool shared, uint64_t *object)
{
    const struct t0_part p = {.address = address, .size = 8, .shared = shared};
    uint32_t rank;
    uint64_t offset;
    if (!t0_in_shared(w, &p, &rank, &offset))
        return false;
    *object = rank * LIR_CLUSTER_STRIDE + offset;
    return true;
}

static uint64_t object_address(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    return i->aux & LIR_MEM_ADDR32 ? (uint32_t)(T0_U32(w, i->a)[lane] + (uint32_t)i->imm)
                                   : T0_U64(w, i->a)[lane] + (uint64_t)(int64_t)i->imm;
}

static void group(struct t0_warp *w, const struct lir_insn *i)
{
    uint64_t object;
    if (!(tools_of(w) & T0_RACECHECK))
        return;
    if (i->aux & (LIR_GROUP_LOADS | LIR_GROUP_STORES)) { /* of all lanes together */
        t0_race_group(w, i);
        t0_race_collective(w, w->l.mask);
    } else if ((i->aux & LIR_GROUP_KIND) != LIR_GROUP_TRACK)
        t0_race_group(w, i);
    else
        T0_FOR_LANES(l, w->l.mask)
    if (find_object(w, object_address(w, i, l), i->aux & LIR_MEM_SHARED, &object))
        t0_race_async(w, l, object, T0_COPYING);
}

/* Arrivals release, successful tests acquire. */
static void mbarrier(struct t0_warp *w, const struct lir_insn *i)
{
    const unsigned kind = i->aux & LIR_MB_KIND, tools = tools_of(w);
    const bool tests = kind == LIR_MB_TEST || kind == LIR_MB_TEST_PARITY;
    const uint32_t all = w->l.mask;
    uint64_t object[LIR_LANES];
    uint32_t known = 0;
    w->l.mask = all & ~t0_watch_look(w, i);
    if (kind != LIR_MB_PENDING)
        T0_FOR_LANES(l, w->l.mask)
    known |= (uint32_t)find_object(w, object_address(w, i, l), i->aux & LIR_MEM_SHARED, &object[l]) << l;
    if (tools & T0_SYNCCHECK)
        T0_FOR_LANES(l, known)
    t0_sync_mbarrier(w, i, l, object[l]);
    if (tools & T0_RACECHECK && !tests && kind != LIR_MB_INIT)
        T0_FOR_LANES(l, known)
    t0_race_release(w, l, object[l]);
    lir_table[i->op](w, i);
    if (tools & T0_RACECHECK && tests)
        T0_FOR_LANES(l, known & T0_PRED(w, i->d))
    t0_race_acquire(w, l, object[l]);
    w->l.mask = all;
}

/* Lanes of a warp multiply together. */
static void product(struct t0_warp *w, const struct lir_insn *i)
{
    if (tools_of(w) & T0_RACECHECK)
        t0_race_collective(w, w->l.mask);
    lir_table[i->op](w, i);
}

void t0_tools_heard(struct t0_warp *w, unsigned lane, uint64_t barrier, enum t0_async what)
{
    uint64_t object;
    if (tools_of(w) & T0_RACECHECK && find_object(w, barrier, true, &object))
        t0_race_async(w, lane, object, what);
}

void t0_tools_tensor(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_tensor_part *t)
{
    if (tools_of(w) & T0_MEMCHECK)
        t0_watch_tensor(w, i, lane, t);
    if (tools_of(w) & T0_RACECHECK)
        t0_race_tensor(w, i, lane, t);
}

void t0_tools_tensor_given(struct t0_warp *w, unsigned rank, unsigned column, unsigned columns)
{
    if (tools_of(w) & T0_RACECHECK)
        t0_race_tensor_given(w, rank, column, columns);
}

/* Memory that a thread gives back may be another's next; that for arguments of a launch, too. */
static void syscall(struct t0_warp *w, const struct lir_insn *i)
{
    enum { HEAP = 4 }; /* no address of a word */
    const struct lir_call *c = LIR_AT(w->block->image, calls, struct lir_call) + i->imm;
    const bool races = (tools_of(w) & T0_RACECHECK) != 0, device = c->syscall == LIR_SYS_DEVICE;
    if (races && (device || c->syscall == LIR_SYS_FREE))
        T0_FOR_LANES(l, w->l.mask)
    t0_race_release_flat(w, l, HEAP);
    lir_table[i->op](w, i);
    if (races && (device || c->syscall == LIR_SYS_MALLOC))
        T0_FOR_LANES(l, w->l.mask)
    t0_race_acquire_flat(w, l, HEAP);
}

void t0_tools_handlers(t0_handler *table[LIR_NOPS])
{
    table[LIR_FENCE] = fence;
    table[LIR_ASYNC_GROUP] = group;
    table[LIR_WGMMA] = product;
    table[LIR_MBARRIER] = mbarrier;
    table[LIR_SYSCALL] = syscall;
}
