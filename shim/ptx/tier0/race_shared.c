/* Racecheck: the shadow of shared memory. Whatever is older than the last barrier of all threads orders nothing any
 * more, so that most accesses meet an empty word, or one whose readers stay what they are. Between two barriers most
 * threads have the clock of the first one: what such threads did fits into a word's sixteen bytes, and only where
 * somebody has another clock, or bytes differ, it is taken to a cell. */
#include "ptx/tier0/race.h"

#include <stdlib.h>
#include <string.h>

/* A word of shared memory, or a byte of one that is accessed in parts: the last writes, and two reads since by threads
 * that nothing orders. More readers than two are forgotten, those of other warps last. What is kept depends on the
 * order of accesses alone, not on how many are told at once: compiled code and the interpreter differ in that. */
struct epoch {
    uint32_t clock, pc; /* clock 0: none */
    uint32_t slot;
    uint8_t strong, kind; /* strong: 0 or 1 */
};
enum { READERS = 2 };
struct race_cell {
    struct epoch write[2], read[READERS]; /* write[1]: a strong one, behind the other */
    uint32_t split;                       /* number of its first part, and 1 */
    uint32_t latest;                      /* clock; before the floor nothing in here counts */
};

/* Plain accesses of a whole word by threads whose clock is the floor's: `latest`. */
struct race_word {
    uint32_t latest;               /* as a cell's */
    uint32_t write, read[READERS]; /* packed; write IN_CELL: the cell has all of it */
};
enum { PC_BITS = 21 };
#define IN_CELL 0x7fffffffu
#define PACKED 0x80000000u
static uint32_t pack(uint32_t slot, uint32_t pc) { return PACKED | slot << PC_BITS | pc; }
static uint32_t slot_of(uint32_t packed) { return packed >> PC_BITS & 1023; }
_Static_assert(T0_MAX_WARPS *LIR_LANES <= 1024, "slots of a block have ten bits");

enum { RUN = LIR_LANES / 2 }; /* words that half a warp reads side by side */

bool race_cells_new(struct race_block *r)
{
    r->cell = calloc((size_t)r->blocks * r->words + 1, sizeof *r->cell);
    if (r->blocks > 1)
        return r->cell;
    r->tag = calloc(r->words + 1, sizeof *r->tag);
    r->word = calloc(r->words + 1, sizeof *r->word);
    r->run = calloc(r->words / RUN + 2, sizeof *r->run);
    return r->cell && r->tag && r->word && r->run;
}

void race_cells_free(struct race_block *r)
{
    free(r->cell);
    free(r->word);
    free(r->tag);
    free(r->run);
    free(r->split);
}

struct race_now { /* the access that is looked at */
    struct t0_warp *w;
    struct race_block *r;
    struct epoch e;
    uint32_t thread; /* slot of the thread; e.slot may be that of its copies */
    unsigned lane;
};

static void found(const struct race_now *n, const struct epoch *before, uint32_t bytes, bool same)
{
    const struct race_hazard h = {.a = race_place_of(n->w, n->r, before->slot, before->pc, before->kind),
                                  .b = race_place_of(n->w, n->r, n->e.slot, n->e.pc, n->e.kind),
                                  .count = bytes,
                                  .error = before->slot % n->r->threads / LIR_LANES != n->thread / LIR_LANES,
                                  .same = same};
    t0_race_found(n->w->block->grid->watch->race, &h);
}

static bool is_over(const struct race_now *n, const struct epoch *before)
{
    const struct race_stamp s = {before->clock, before->slot};
    return race_is_ordered(n->r->clocks, s, n->thread) ||
           (n->e.slot == race_async_slot(n->r, n->thread, T0_MULTIPLYING) && n->e.slot != n->thread &&
            race_products_know(n->r->clocks, s, race_barrier_of(n->w->block, LIR_BARRIER_GROUP + n->w->index / 4)));
}

static bool clashes(const struct race_now *n, const struct epoch *before)
{
    return before->clock && before->slot != n->e.slot && !(before->strong && n->e.strong) && !is_over(n, before);
}

/* Whether a store writes what the store before it did: lanes of one instruction have not stored yet. */
static bool is_same_value(const struct race_now *n, const struct epoch *before, const uint8_t *memory, uint32_t first,
                          uint32_t bytes)
{
    uint8_t mine[32], theirs[32];
    if (n->e.kind != T0_WRITES || before->kind != T0_WRITES || n->e.slot != n->thread ||
        first + bytes > t0_stored_value(n->w, n->w->at, n->lane, mine))
        return false;
    const unsigned lane = before->slot % LIR_LANES;
    if (before->pc == n->e.pc && before->slot / LIR_LANES == n->thread / LIR_LANES && lane < n->lane &&
        n->w->l.mask >> lane & 1) {
        (void)t0_stored_value(n->w, n->w->at, lane, theirs);
        return !memcmp(mine + first, theirs + first, bytes);
    }
    return !memcmp(mine + first, memory, bytes);
}

/* Two lanes of an even warp that have read since anything ordered its lanes stand for all of it. */
static bool stands_for_warp(const struct race_now *n, const struct race_cell *c)
{
    const struct epoch *a = &c->read[0], *b = &c->read[1];
    return a->clock == n->e.clock && b->clock == n->e.clock && !a->strong && !b->strong && n->e.slot == n->thread &&
           a->slot / LIR_LANES == n->e.slot / LIR_LANES && b->slot / LIR_LANES == n->e.slot / LIR_LANES &&
           race_is_even(n->r->clocks, n->thread) && race_is_unknown(n->r->clocks, n->thread);
}

static void add_reader(const struct race_now *n, struct race_cell *c)
{
    struct epoch *free = NULL;
    if (stands_for_warp(n, c))
        return;
    for (unsigned k = 0; k < READERS && !free; k++) {
        const struct epoch *e = &c->read[k];
        if (!e->clock || e->slot == n->e.slot || is_over(n, e))
            free = &c->read[k];
    }
    for (unsigned k = 0; k < READERS && !free && !n->e.strong; k++)
        if (c->read[k].strong) /* which not all writes race with */
            free = &c->read[k];
    if (!free && c->read[0].slot / LIR_LANES == c->read[1].slot / LIR_LANES)
        free = &c->read[1]; /* readers of two warps, rather */
    if (free)
        *free = n->e;
}

/* The first access since all threads met. */
static inline void begin_cell(const struct race_now *n, struct race_cell *c)
{
    c->write[0].clock = c->write[1].clock = c->read[0].clock = c->read[1].clock = 0;
    if (n->e.kind == T0_READS)
        c->read[0] = n->e;
    else
        c->write[n->e.strong] = n->e;
}

/* memory, first: where the bytes of the cell lie, and their offset in the access. */
static void visit(const struct race_now *n, struct race_cell *c, const uint8_t *memory, uint32_t first, uint32_t bytes)
{
    const bool stale = c->latest < n->r->clocks->floor;
    if (n->e.slot != n->thread) /* clocks of copies are others */
        c->latest = UINT32_MAX;
    else
        c->latest = c->latest > n->e.clock ? c->latest : n->e.clock;
    if (stale) {
        begin_cell(n, c);
        return;
    }
    for (unsigned k = 0; k < 2; k++)
        if (clashes(n, &c->write[k]))
            found(n, &c->write[k], bytes, is_same_value(n, &c->write[k], memory, first, bytes));
    if (n->e.kind == T0_READS) {
        add_reader(n, c);
        return;
    }
    for (unsigned k = 0; k < READERS; k++) {
        if (clashes(n, &c->read[k]))
            found(n, &c->read[k], bytes, false);
        c->read[k].clock = 0;
    }
    c->write[n->e.strong] = n->e;
    if (!n->e.strong)
        c->write[1].clock = 0;
}

/* ---- words -------------------------------------------------------------------------------------- */

static struct epoch unpack(uint32_t packed, uint32_t clock, uint8_t kind)
{
    const bool any = packed & PACKED;
    return (struct epoch){any ? clock : 0, packed & ((1u << PC_BITS) - 1), slot_of(packed), 0, kind};
}

/* The cell of a word takes over. */
static void take_to_cell(struct race_block *r, uint64_t word)
{
    struct race_word *v = r->word ? &r->word[word] : NULL;
    struct race_cell *c = &r->cell[word];
    if (!v || v->write == IN_CELL)
        return;
    c->write[0] = unpack(v->write, v->latest, T0_WRITES);
    c->write[1].clock = 0;
    for (unsigned k = 0; k < READERS; k++)
        c->read[k] = unpack(v->read[k], v->latest, T0_READS);
    c->latest = v->latest;
    v->write = IN_CELL;
}

/* Whether plain accesses by an even warp's lanes may be told by words. */
static inline bool uses_words(const struct race_block *r, uint32_t slot, uint32_t pc)
{
    return r->word && race_is_even(r->clocks, slot) && r->clocks->clock[slot] == r->clocks->floor && pc >> PC_BITS == 0;
}

static inline void set_tag(struct race_block *r, uint64_t word, uint64_t tag)
{
    r->tag[word] = tag;
    r->run[word / RUN] = 0;
}

/* A plain access by a lane of such a warp; false: it is the cell's, as there may be a hazard. As visit and add_reader
 * do it, where nobody is over but the thread itself. */
static inline bool use_word(struct race_block *r, uint64_t word, uint32_t me, bool reads)
{
    struct race_word *v = &r->word[word];
    const uint32_t floor = r->clocks->floor, slot = slot_of(me);
    if (reads && r->tag[word] >> 32 == floor && r->tag[word] >> slot / LIR_LANES & 1)
        return true;
    if (v->latest < floor) {
        *v = (struct race_word){floor, reads ? 0 : me, {reads ? me : 0, 0}};
        return true;
    }
    if (v->latest > floor || v->write == IN_CELL || (v->write && slot_of(v->write) != slot))
        return false;
    if (!reads) {
        if ((v->read[0] && slot_of(v->read[0]) != slot) || (v->read[1] && slot_of(v->read[1]) != slot))
            return false;
        *v = (struct race_word){floor, me, {0, 0}};
        set_tag(r, word, 0);
        return true;
    }
    if (!v->read[0] || slot_of(v->read[0]) == slot)
        v->read[0] = me;
    else
        v->read[1] = me; /* nobody's yet, or of another warp with the first one: others have settled the word */
    if (!v->write && v->read[1]) {
        const uint32_t a = slot_of(v->read[0]) / LIR_LANES, b = slot_of(v->read[1]) / LIR_LANES;
        r->tag[word] = (uint64_t)floor << 32 | (a == b ? 1u << a : ~0u);
    }
    return true;
}

/* ---- tags -------------------------------------------------------------------------------------- */

/* Of a word that nobody has written since the last barrier of all: that barrier's clock, and behind it a bit for each
 * warp whose reads leave the word as it is. Once two warps have read it these are all of them: a write that races with
 * a further read races with one of those. Once two lanes of one warp have, it is that warp, until a collective orders
 * its lanes. Nobody else can know of an even warp what it has done since the barrier. A run of words has the bits that
 * all of them have, as long as nothing but plain reads by words comes, which only add bits. */
static uint64_t tag_of(const struct race_block *r, const struct race_cell *c)
{
    const uint32_t floor = r->clocks->floor, a = c->read[0].slot / LIR_LANES, b = c->read[1].slot / LIR_LANES;
    if (c->latest == UINT32_MAX || c->write[0].clock >= floor || c->write[1].clock >= floor ||
        c->read[0].clock < floor || c->read[1].clock < floor || c->read[0].strong || c->read[1].strong)
        return 0;
    return (uint64_t)floor << 32 | (a == b ? 1u << a : ~0u);
}

/* The tag of a word that reads by a warp leave as it is, and the bits of it that count. */
static uint64_t settled_tag(const struct race_clocks *c) { return (uint64_t)c->floor << 32 | ~0u; }
static uint64_t settled_bits(const struct race_clocks *c, uint32_t warp)
{
    return UINT64_MAX << 32 | (c->clock[warp * LIR_LANES] == c->floor ? 1u << warp : ~0u);
}

/* Whether reads by these lanes of an even warp change nothing. Where some do, each word is asked again. */
static bool is_settled(const struct race_block *r, uint32_t warp, uint32_t mask, const uint64_t *offset, uint32_t words)
{
    const uint64_t want = settled_tag(r->clocks), look = settled_bits(r->clocks, warp);
    uint64_t bad = (r->tag[offset[__builtin_ctz(mask)] / 4] ^ want) & look;
    if (bad)
        return false;
    if (mask == ~0u && words == 1) {
        for (uint32_t l = 0; l < LIR_LANES; l++)
            bad |= r->tag[offset[l] / 4] ^ want;
        return !(bad & look);
    }
    T0_FOR_LANES(l, mask)
    for (uint32_t k = 0; k < words; k++)
        bad |= r->tag[offset[l] / 4 + k] ^ want;
    return !(bad & look);
}

static bool is_settled_place(const struct race_block *r, uint64_t want, uint64_t look, uint64_t offset, uint32_t words)
{
    uint64_t bad = 0;
    for (uint32_t k = 0; k < words; k++)
        bad |= r->tag[offset / 4 + k] ^ want;
    return !(bad & look);
}

/* Sixteen lanes read a word each, side by side, none of which was written, or read by its own lane: as use_word does
 * it. False: some were. */
static bool use_run(struct race_block *r, uint32_t slot, uint64_t word, uint32_t pc)
{
    struct race_word *v = &r->word[word];
    uint64_t *tag = &r->tag[word];
    const uint32_t floor = r->clocks->floor, warp = slot / LIR_LANES, me = pack(slot, pc);
    uint32_t touched = 0, other = 0;
    for (unsigned l = 0; l < LIR_LANES / 2; l++) {
        touched |= v[l].latest >= floor;
        other |= (v[l].latest ^ floor) | v[l].write | (slot_of(v[l].read[0]) == slot + l) | !v[l].read[0];
    }
    for (unsigned l = 0; l < LIR_LANES / 2 && !touched; l++)
        v[l] = (struct race_word){floor, 0, {me + (l << PC_BITS), 0}};
    if (!touched || other)
        return !touched;
    for (unsigned l = 0; l < LIR_LANES / 2; l++) {
        if (tag[l] >> 32 == floor && tag[l] >> warp & 1)
            continue;
        v[l].read[1] = me + (l << PC_BITS);
        tag[l] = (uint64_t)floor << 32 | (slot_of(v[l].read[0]) / LIR_LANES == warp ? 1u << warp : ~0u);
    }
    return true;
}

/* Half of the lanes read from `first` on at equal distances; false: it is the cell's. */
static bool use_half(struct race_block *r, uint32_t slot, uint32_t lanes, uint64_t first, int64_t stride,
                     uint32_t words, uint32_t pc)
{
    const uint64_t want = settled_tag(r->clocks), look = settled_bits(r->clocks, slot / LIR_LANES);
    const uint32_t floor = r->clocks->floor, rest = lanes & (lanes - 1);
    bool done = true;
    if (!stride && words == 1 && rest && r->word[first / 4].latest < floor) { /* what the first two lanes leave */
        const uint32_t a = slot + (uint32_t)__builtin_ctz(lanes), b = slot + (uint32_t)__builtin_ctz(rest);
        r->word[first / 4] = (struct race_word){floor, 0, {pack(a, pc), pack(b, pc)}};
        r->tag[first / 4] = (uint64_t)floor << 32 | 1u << slot / LIR_LANES;
        return true;
    }
    if (stride == 4 && words == 1 && lanes == 0xffff && use_run(r, slot, first / 4, pc))
        return true;
    T0_FOR_LANES(l, lanes)
    {
        if (!stride && l && is_settled_place(r, want, look, first, words)) /* as most often after two lanes */
            break;
        for (uint32_t k = 0; k < words && done; k++)
            done = use_word(r, first / 4 + (uint64_t)(stride / 4 * (int64_t)l) + k, pack(slot + l, pc), true);
    }
    return done;
}

/* The bits that all words of a run have; they are of one barrier. */
static uint64_t tags_of_all(const uint64_t tag[RUN])
{
    uint64_t all = tag[0];
    for (unsigned l = 1; l < RUN; l++)
        all &= tag[l];
    return all;
}

bool t0_race_shared_read(struct t0_warp *w, uint32_t mask, uint64_t low, uint64_t high, int64_t stride, uint32_t size,
                         uint32_t pc)
{
    struct race_block *r = race_state_of(w);
    const uint64_t first[2] = {low, high};
    const uint32_t slot = w->index * LIR_LANES, words = size / 4, most = LIR_LANES / 2 - 1;
    if (!r || !r->tag || !race_is_even(r->clocks, slot) || !race_is_unknown(r->clocks, slot) ||
        ((uint64_t)stride | size | first[0] | first[1]) & 3)
        return false;
    const bool by_words = uses_words(r, slot, pc);
    const uint64_t want = settled_tag(r->clocks), look = settled_bits(r->clocks, w->index),
                   end = 4 * (uint64_t)r->words;
    for (unsigned h = 0; h < 2; h++) {
        const uint64_t last = first[h] + (uint64_t)(stride * most);
        if (first[h] >= end || size > end - first[h] || last >= end || size > end - last)
            return false;
    }
    if (!stride && low == high)
        return is_settled_place(r, want, look, low, words) || (by_words && use_half(r, slot, mask, low, 0, words, pc));
    for (unsigned h = 0; h < 2; h++) {
        const uint64_t word = first[h] / 4, *tag = r->tag + word;
        const uint32_t lanes = mask >> 16 * h & 0xffff;
        const bool side_by_side = lanes == 0xffff && stride == 4 && words == 1;
        uint64_t bad = 0;
        if (side_by_side && !(((r->run[word / RUN] ^ want) | (r->run[(word + RUN - 1) / RUN] ^ want)) & look))
            continue;
        if (side_by_side) /* a fixed count, so that compilers make vectors of it */
            for (unsigned l = 0; l <= most; l++)
                bad |= tag[l] ^ want;
        else
            T0_FOR_LANES(l, stride ? lanes : lanes != 0)
        for (uint32_t k = 0; k < words; k++)
            bad |= tag[stride / 4 * (int64_t)l + k] ^ want;
        if (bad & look && !(by_words && use_half(r, slot + 16 * h, lanes, first[h], stride, words, pc)))
            return false;
        if (side_by_side && !(bad & look) && word % RUN == 0)
            r->run[word / RUN] = tags_of_all(tag);
    }
    return true;
}

/* ---- accesses ---------------------------------------------------------------------------------- */

static struct race_cell *split_cell(struct race_block *r, struct race_cell *c)
{
    if (!c->split) {
        take_to_cell(r, (uint64_t)(c - r->cell));
        if (r->splits + 4 > r->splits_room) {
            const uint32_t more = r->splits_room ? 2 * r->splits_room : 256;
            struct race_cell *p = realloc(r->split, more * sizeof *p);
            if (!p) {
                r->broken = true;
                return NULL;
            }
            r->split = p;
            r->splits_room = more;
        }
        for (unsigned k = 0; k < 4; k++)
            r->split[r->splits + k] = *c;
        c->split = r->splits + 1;
        r->splits += 4;
        if (r->word)
            r->word[c - r->cell].latest = UINT32_MAX; /* for ever */
    }
    return &r->split[c->split - 1];
}

/* A word that atomics alone have used since all threads met, which race with none: this one is the last. */
static inline bool use_atomic(struct race_block *r, uint64_t word, const struct epoch *e)
{
    struct race_cell *c = &r->cell[word];
    if (r->word[word].write != IN_CELL || c->split || c->latest < r->clocks->floor || c->latest == UINT32_MAX ||
        c->write[0].clock || c->read[0].clock || c->read[1].clock || c->write[1].kind != T0_UPDATES)
        return false;
    c->write[1] = *e;
    r->word[word].latest = c->latest = c->latest > e->clock ? c->latest : e->clock;
    return true;
}

/* All of a word, by one lane. */
static void access_word(const struct race_now *n, struct race_cell *c, const uint8_t *memory, uint32_t first)
{
    struct race_block *r = n->r;
    const uint32_t floor = r->clocks->floor;
    const uint64_t word = (uint64_t)(c - r->cell);
    const bool own = n->e.slot == n->thread;
    if (own && n->e.strong && n->e.kind == T0_UPDATES && r->word && use_atomic(r, word, &n->e))
        return;
    if (own && n->e.kind == T0_READS && r->tag && race_is_even(r->clocks, n->thread) &&
        race_is_unknown(r->clocks, n->thread) &&
        is_settled_place(r, settled_tag(r->clocks), settled_bits(r->clocks, n->thread / LIR_LANES), 4 * word, 1))
        return;
    take_to_cell(r, word);
    const bool unwritten = c->write[0].clock < floor && c->write[1].clock < floor;
    if (own && c->latest < floor) {
        c->latest = n->e.clock;
        begin_cell(n, c);
    } else if (own && n->e.kind == T0_READS && unwritten && c->latest != UINT32_MAX) {
        c->latest = c->latest > n->e.clock ? c->latest : n->e.clock;
        add_reader(n, c);
    } else {
        visit(n, c, memory, first, 4);
    }
    if (r->tag) {
        set_tag(r, word, n->e.kind == T0_READS ? tag_of(r, c) : 0);
        r->word[word].latest = c->latest;
    }
}

static void access(const struct race_now *n, uint32_t size, uint32_t rank, uint64_t offset)
{
    struct race_block *r = n->r;
    const uint8_t *memory = n->w->block->cluster->base + rank * LIR_CLUSTER_STRIDE;
    const uint64_t end = offset + size;
    const bool quick = !n->e.strong && n->e.kind != T0_UPDATES && n->e.slot == n->thread &&
                       uses_words(r, n->thread, n->e.pc);
    const uint32_t me = quick ? pack(n->thread, n->e.pc) : 0;
    for (uint64_t at = offset, next; at < end && at / 4 < r->words; at = next) {
        struct race_cell *c = &r->cell[(uint64_t)rank * r->words + at / 4];
        next = (at & ~(uint64_t)3) + 4;
        next = next < end ? next : end;
        if (next - at == 4 && !c->split) {
            if (quick && use_word(r, at / 4, me, n->e.kind == T0_READS))
                continue;
            access_word(n, c, memory + at, (uint32_t)(at - offset));
            continue;
        }
        struct race_cell *part = split_cell(r, c);
        if (!part)
            return;
        if (r->tag)
            set_tag(r, at / 4, 0);
        for (uint64_t k = at; k < next; k++)
            visit(n, &part[k & 3], memory + k, (uint32_t)(k - offset), 1);
    }
}

static struct race_now now_of(struct t0_warp *w, struct race_block *r, const struct lir_insn *i, unsigned lane,
                              const struct t0_part *p)
{
    const uint32_t thread = race_slot_of(w, r, lane), slot = race_async_slot(r, thread, p->async);
    const struct race_stamp now = race_now(r->clocks, slot);
    return (struct race_now){.w = w,
                             .r = r,
                             .e = {.clock = now.clock,
                                   .pc = (uint32_t)(i - LIR_AT(w->block->image, code, struct lir_insn)),
                                   .slot = slot,
                                   .strong = p->strong,
                                   .kind = (uint8_t)p->kind},
                             .thread = thread,
                             .lane = lane};
}

void t0_race_shared(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p, uint32_t rank,
                    uint64_t offset)
{
    struct race_block *r = race_state_of(w);
    if (!r)
        return;
    const struct race_now n = now_of(w, r, i, lane, p);
    w->at = i;
    access(&n, p->size, rank, offset);
}

/* A row of plain accesses of whole words by a warp that words tell of; lanes that are left are the cells'. */
static uint32_t use_words(struct race_block *r, const struct t0_row *row, const uint64_t *offset, uint32_t slot,
                          uint32_t pc)
{
    const bool reads = row->kind == T0_READS;
    const uint32_t words = row->size / 4, floor = r->clocks->floor, mask = row->mask;
    uint32_t left = 0, touched = 0;
    if (mask == ~0u && words == 1 && row->bounded && offset[1] - offset[0] == 4 && offset[31] - offset[0] == 124 &&
        offset[16] - offset[0] == 64) {
        struct race_word *v = &r->word[offset[0] / 4];
        for (unsigned l = 0; l < LIR_LANES; l++)
            touched |= v[l].latest >= floor;
        const uint32_t first = pack(slot, pc);
        for (unsigned l = 0; l < LIR_LANES && !touched; l++) {
            const uint32_t me = first + (l << PC_BITS);
            v[l] = (struct race_word){floor, reads ? 0 : me, {reads ? me : 0, 0}};
        }
        if (!touched)
            return 0;
    }
    T0_FOR_LANES(l, mask)
    {
        bool done = true;
        for (uint32_t k = 0; k < words && done; k++)
            done = use_word(r, offset[l] / 4 + k, pack(slot + l, pc), reads);
        left |= (uint32_t)!done << l;
    }
    return left;
}

/* A row of atomics on words that nobody listens to. Of lanes with one word all are told here, or none. */
static uint32_t use_atomics(struct race_block *r, const struct t0_row *row, const uint64_t *offset, uint32_t slot,
                            struct epoch e)
{
    uint32_t left = 0;
    T0_FOR_LANES(l, row->mask)
    {
        e.slot = slot + l;
        e.clock = r->clocks->clock[slot + l];
        left |= (uint32_t)!use_atomic(r, offset[l] / 4, &e) << l;
    }
    return left;
}

void t0_race_shared_row(struct t0_warp *w, const struct lir_insn *i, const struct t0_row *row, const uint64_t *offset)
{
    struct race_block *r = race_state_of(w);
    if (!r)
        return;
    const struct t0_part p = {.size = row->size, .kind = row->kind, .strong = row->strong, .shared = true};
    const uint32_t rank = race_rank_of(w), first_slot = race_slot_of(w, r, 0);
    const bool plain = row->kind == T0_READS && r->tag && row->whole && race_is_even(r->clocks, first_slot);
    if (plain && race_is_unknown(r->clocks, first_slot) && is_settled(r, w->index, row->mask, offset, row->size / 4))
        return;
    const uint32_t pc = (uint32_t)(i - LIR_AT(w->block->image, code, struct lir_insn));
    const bool by_words = row->whole && !row->strong && row->kind != T0_UPDATES && uses_words(r, first_slot, pc);
    w->at = i;
    struct race_now n = now_of(w, r, i, 0, &p);
    const bool atomics = row->whole && row->size == 4 && row->strong && row->kind == T0_UPDATES && r->word &&
                         !r->listens;
    const uint32_t left = by_words  ? use_words(r, row, offset, first_slot, pc)
                          : atomics ? use_atomics(r, row, offset, first_slot, n.e)
                                    : row->mask;
    T0_FOR_LANES(l, left)
    {
        n.lane = l;
        n.thread = n.e.slot = first_slot + l;
        n.e.clock = race_now(r->clocks, first_slot + l).clock;
        access(&n, row->size, rank, offset[l]);
        if (row->strong && row->kind != T0_READS && r->listens)
            t0_race_release_shared(w, l, rank * LIR_CLUSTER_STRIDE + offset[l]);
    }
}
