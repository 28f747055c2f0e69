/* Racecheck: an access of global memory: whom it races with, and what it leaves in the page's shadow. */
#include "ptx/tier0/race_global.h"

#include <string.h>

/* An access by one lane after the other. */
struct now {
    struct race_event event;
    uint32_t number[2]; /* of the event, and of the same if it is silent; 0: not asked for yet */
    uint64_t base;      /* of the first lane's stamp the thread, and whether it is strong */
    uint64_t thread;    /* the same of this lane */
    uint32_t slot, time;
    bool reads, silent; /* of a store: it leaves what is there */
};

static uint64_t block_of(const struct race_block *b, uint64_t stamp) { return stamp >> STAMP_THREAD >> b->slot_bits; }
static uint32_t slot_of(const struct race_block *b, uint64_t stamp)
{
    return (uint32_t)(stamp >> STAMP_THREAD) & ((1u << b->slot_bits) - 1);
}
static bool is_same_block(const struct race_block *b, uint64_t a, uint64_t c)
{
    return (a ^ c) >> STAMP_THREAD >> b->slot_bits == 0;
}
static bool is_same_warp(uint64_t a, uint64_t b) { return (a ^ b) >> STAMP_THREAD >> 5 == 0; }
_Static_assert(LIR_LANES == 1 << 5, "slots of a warp");

/* What the lane leaves. Out of memory for it, or of numbers, the block is not looked at any further. */
static struct stamp stamp(struct race_global *g, struct race_block *b, struct now *now, bool silent)
{
    uint32_t *n = &now->number[silent];
    if (!*n) {
        now->event.silent = silent;
        *n = race_event_number(&g->events, b->noted, &now->event);
        b->broken |= !*n;
    }
    return (struct stamp){*n ? now->thread | *n : 0, now->time};
}

static inline void set_lane(const struct race_access *a, unsigned lane, struct now *now)
{
    now->thread = now->base + ((uint64_t)(lane - a->lane) << STAMP_THREAD);
    now->slot = a->slot + lane - a->lane;
    now->silent = a->silent >> lane & 1;
}

/* False: a launch of more threads than there are names for. */
static bool begin(const struct race_global *g, struct race_block *b, uint64_t block, const struct race_access *a,
                  struct now *now)
{
    const uint64_t time = g->releases;
    *now = (struct now){.event = {.clock = race_now(b->clocks, a->slot).clock - b->begun,
                                  .pc = a->pc,
                                  .kind = a->kind & 3,
                                  .strong = a->strong},
                        .base = (block << b->slot_bits | a->slot) << STAMP_THREAD | (uint64_t)a->strong << STAMP_EVENT,
                        .time = time < UINT32_MAX ? (uint32_t)time : UINT32_MAX,
                        .reads = a->kind == T0_READS};
    set_lane(a, a->lane, now);
    return block >> (STAMP_THREADS - b->slot_bits) == 0;
}

/* What a block has read is over when it sets a flag, and no write after a look at the flag can change it: there relaxed
 * loads do without a fence, as in CUB's compactions in place. */
static bool is_ordered(const struct race_global *g, const struct race_block *b, const struct stamp *before,
                       const struct now *now)
{
    const struct race_event *e;
    if (is_same_block(b, before->what, now->thread)) {
        const uint32_t slot = slot_of(b, before->what);
        if (b->clocks->floor == b->begun && race_is_even(b->clocks, now->slot) && slot < b->threads &&
            !is_same_warp(before->what, now->thread)) /* as the event's clock would say */
            return false;
        e = race_event_of(&g->events, before->what);
        return race_is_ordered(b->clocks, (struct race_stamp){e->clock + b->begun, slot}, now->slot);
    }
    if (!g->releases)
        return false;
    e = race_event_of(&g->events, before->what);
    const bool looked = e->kind == T0_READS && b->watched > b->acquired;
    return g->released[block_of(b, before->what)] > before->time && (looked ? b->watched : b->acquired) > before->time;
}

static inline bool clashes(const struct race_global *g, const struct race_block *b, const struct stamp *before,
                           const struct now *now)
{
    const uint64_t s = before->what;
    return s && !stamp_is_of(s, now->thread) && !(stamp_is_strong(s) && now->event.strong) &&
           !is_ordered(g, b, before, now);
}

static struct race_place place_of(const struct race_block *b, uint64_t stamp, const struct race_event *e)
{
    const uint32_t slot = slot_of(b, stamp);
    return (struct race_place){
        .pc = e->pc, .thread = slot % b->per_block, .block = block_of(b, stamp) + slot / b->per_block, .kind = e->kind};
}

static void found(struct t0_race *r, const struct race_global *g, const struct race_block *b,
                  const struct race_access *a, uint64_t before, const struct now *now, unsigned bytes)
{
    const struct race_event *e = race_event_of(&g->events, before), *n = &now->event;
    const bool at_once = is_same_warp(before, now->thread);
    const bool both_write = e->kind == T0_WRITES && n->kind == T0_WRITES; /* no atomics: nobody foresees them */
    const bool harmless = e->kind == T0_READS ? now->silent : now->reads && e->silent;
    const unsigned lane = slot_of(b, before) % LIR_LANES;
    const struct race_hazard h = {.a = place_of(b, before, e),
                                  .b = place_of(b, now->thread, n),
                                  .count = bytes,
                                  .error = !at_once && !harmless,
                                  .same = both_write && a->same(a, at_once && e->pc == n->pc ? &lane : NULL),
                                  .global = true};
    t0_race_found(r, &h);
}

/* Whether any further plain read leaves the word as it is. */
static inline bool is_settled(const struct race_global *g, const struct race_block *b, const struct word *w,
                              const struct now *now)
{
    const uint64_t x = w->read[0].what, y = w->read[1].what;
    return now->reads && !now->event.strong && !w->write.what && y && !is_same_block(b, x, y) && !stamp_is_strong(x) &&
           !stamp_is_strong(y) && !g->releases;
}

/* The reader that is there already, or what nobody misses. */
static void add_reader(struct race_global *g, struct race_block *b, struct word *w, struct now *now)
{
    struct stamp *free = NULL;
    if (is_settled(g, b, w, now)) /* whoever tells it together with others */
        return;
    for (unsigned k = 0; k < READERS && !free; k++) {
        struct stamp *s = &w->read[k];
        if (!s->what || stamp_is_of(s->what, now->thread) || is_ordered(g, b, s, now))
            free = s;
    }
    const uint64_t x = w->read[0].what, y = w->read[1].what;
    if (!free && is_same_block(b, x, y) && (!is_same_block(b, x, now->thread) || is_same_warp(x, y)))
        free = &w->read[1]; /* readers of two warps, rather, or of two blocks */
    if (free)
        *free = stamp(g, b, now, false);
}

static void set_write(struct race_global *g, struct race_block *b, struct word *w, struct now *now)
{
    const bool silent = now->silent && (!w->write.what || race_event_of(&g->events, w->write.what)->silent);
    w->write = stamp(g, b, now, silent);
}

/* bytes: how many the word stands for. */
static void visit(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                  struct word *w, struct now *now, unsigned bytes)
{
    if (clashes(g, b, &w->write, now))
        found(r, g, b, a, w->write.what, now, bytes);
    if (now->reads) {
        if (!w->read[0].what || stamp_is_of(w->read[0].what, now->thread)) /* most of them */
            w->read[0] = stamp(g, b, now, false);
        else
            add_reader(g, b, w, now);
        return;
    }
    for (unsigned k = 0; k < READERS; k++) {
        if (clashes(g, b, &w->read[k], now))
            found(r, g, b, a, w->read[k].what, now, bytes);
        w->read[k].what = 0;
    }
    set_write(g, b, w, now);
}

/* The page's bytes that this class of accesses has used, which other launches are held to (race_history.c). */
static inline uint64_t *note_use(struct race_page *p, uint32_t word, const struct now *now, const struct race_block *b)
{
    const unsigned class = race_class((enum t0_access_kind)now->event.kind, now->event.strong),
                   chunk = word / CHUNK_WORDS;
    bool first = false;
    uint64_t *used = p->classes[chunk] >> class & 1 ? p->used[class] : race_page_use(p, chunk, class, &first);
    if (first)
        p->first[chunk][class] = (struct race_first){.block = block_of(b, now->thread) + now->slot / b->per_block,
                                                     .pc = now->event.pc,
                                                     .thread = (uint16_t)(now->slot % b->per_block),
                                                     .kind = now->event.kind};
    return used;
}

static inline struct race_page *page_of(struct race_global *g, struct race_block *b, uint64_t number)
{
    /* of arrays side by side the same pages are accessed together: their distance is mostly a power of two */
    struct race_near *near = &b->near[(uint32_t)number * 0x9e3779b1u >> (32 - RACE_PAGES_LOG2)];
    if (b->pages_of != g->serial) { /* what the block has noted is another launch's */
        memset(b->near, 0, sizeof b->near);
        memset(b->noted, 0, sizeof b->noted);
        b->pages_of = g->serial;
    }
    if (!near->page || near->number != number)
        *near = (struct race_near){number, race_global_page(g, number)};
    return near->page;
}

static inline void settle(struct race_page *p, uint32_t word, unsigned words)
{
    _Atomic uint64_t *at = &p->settled[word / 64];
    const uint64_t bits = (((uint64_t)1 << words) - 1) << word % 64;
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) | bits, memory_order_relaxed);
}

static inline void unsettle(struct race_page *p, uint32_t word, unsigned words)
{
    _Atomic uint64_t *at = &p->settled[word / 64];
    const uint64_t bits = (((uint64_t)1 << words) - 1) << word % 64,
                   old = atomic_load_explicit(at, memory_order_relaxed);
    if (old & bits)
        atomic_store_explicit(at, old & ~bits, memory_order_relaxed);
}

/* Some words have been accessed, of all of which w tells. */
static inline void settle_or_not(const struct race_global *g, const struct race_block *b, struct race_page *p,
                                 uint32_t word, unsigned words, const struct word *w, const struct now *now)
{
    if (!now->reads)
        unsettle(p, word, words);
    else if (is_settled(g, b, w, now))
        settle(p, word, words);
}

/* Whether plain reads change nothing of all words of these bytes; they are of the page. */
static inline bool are_settled(const struct race_global *g, const struct race_page *p, uint64_t address, uint64_t size)
{
    const uint32_t end = (uint32_t)(address % (4 * PAGE_WORDS) + size + 3) / 4;
    if (g->releases)
        return false;
    for (uint32_t word = (uint32_t)(address % (4 * PAGE_WORDS)) / 4, next; word < end; word = next) {
        next = (word & ~63u) + 64;
        const uint32_t n = (next < end ? next : end) - word;
        const uint64_t bits = (n == 64 ? UINT64_MAX : ((uint64_t)1 << n) - 1) << word % 64;
        if (~atomic_load_explicit(&p->settled[word / 64], memory_order_relaxed) & bits)
            return false;
    }
    return true;
}

/* The words of a unit, if it is or becomes split; NULL: there is no memory. */
static inline struct word *words_of(struct race_page *p, uint32_t unit)
{
    race_page_divide(p, unit / ROW_UNITS);
    return p->unit[unit].words ? p->word[p->unit[unit].words - 1] : race_page_split(p, unit);
}

/* Some bytes of a word, a bit each; the page is locked. */
static void visit_bytes(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                        struct race_page *p, uint32_t word, struct now *now, unsigned bytes)
{
    note_use(p, word, now, b)[word / 16] |= (uint64_t)bytes << 4 * (word % 16);
    struct word *w = words_of(p, word / UNIT_WORDS);
    if (!now->reads)
        unsettle(p, word, 1);
    if (!w)
        return;
    w += word % UNIT_WORDS;
    if (bytes == 15 && !(p->parted && p->parted[word])) {
        visit(r, g, b, a, w, now, 4);
        if (is_settled(g, b, w, now))
            settle(p, word, 1);
        return;
    }
    struct word *part = race_page_bytes(p, word, w);
    for (unsigned k = 0; k < 4 && part; k++)
        if (bytes >> k & 1)
            visit(r, g, b, a, &part[k], now, 1);
}

/* Of one lane those bytes from `at` on that are in the page, which is locked; what follows them. */
static uint64_t visit_lane(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                           struct race_page *p, uint64_t at, struct now *now)
{
    const uint64_t end = a->address + a->size;
    do {
        const uint64_t from = at < a->address ? a->address : at, to = at + 4 < end ? at + 4 : end;
        visit_bytes(r, g, b, a, p, at / 4 % PAGE_WORDS, now, (1u << (to - at)) - (1u << (from - at)));
        at += 4;
    } while (at < end && at / 4 % PAGE_WORDS);
    return at;
}

static inline bool leaves_page(uint64_t address, uint64_t size)
{
    return address % (4 * PAGE_WORDS) + size > 4 * PAGE_WORDS;
}

void race_global_access(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                        const struct race_access *a)
{
    struct now now;
    const uint64_t end = a->address + a->size;
    if (!begin(g, b, block, a, &now))
        return;
    for (uint64_t at = a->address & ~(uint64_t)3; at < end;) {
        struct race_page *p = page_of(g, b, at / 4 / PAGE_WORDS);
        if (!p)
            return;
        if (now.reads && !now.event.strong && !leaves_page(at, end - at) && are_settled(g, p, at, end - at))
            return;
        race_page_lock(p);
        at = visit_lane(r, g, b, a, p, at, &now);
        race_page_unlock(p);
    }
}

/* Whether nobody has written these words, of which the first lane of several has left that it reads them. */
static bool are_unwritten(struct race_page *p, uint64_t address, uint32_t size)
{
    const uint32_t word = address / 4 % PAGE_WORDS;
    const struct piece *u = &p->unit[word / UNIT_WORDS];
    if ((address | size) & (size - 1) || size < 4 || size > 4 * UNIT_WORDS || p->parted || !u->words)
        return false;
    const struct word *w = p->word[u->words - 1] + word % UNIT_WORDS;
    for (uint32_t k = 0; k < size / 4; k++)
        if (w[k].write.what)
            return false;
    return true;
}

/* By the lanes of an even warp, of which a is the first one's but for its address. Of those that read one word the last
 * one leaves what the others do. */
void race_global_lanes(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                       const struct race_access *a, const uint64_t *address, uint32_t lanes)
{
    struct now now;
    struct race_access one = *a;
    struct race_page *p = NULL;
    bool repeats = false;
    if (!begin(g, b, block, a, &now))
        return;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const unsigned l = (unsigned)__builtin_ctz(left),
                       next = left & (left - 1) ? (unsigned)__builtin_ctz(left & (left - 1)) : l;
        const bool more = next != l && address[next] == address[l];
        if (repeats && more)
            continue;
        one.lane = l;
        one.address = address[l];
        set_lane(a, l, &now);
        for (uint64_t at = one.address & ~(uint64_t)3; at < one.address + one.size;) {
            if (!p || p->number != at / 4 / PAGE_WORDS) {
                if (p)
                    race_page_unlock(p);
                if (!(p = page_of(g, b, at / 4 / PAGE_WORDS)))
                    return;
                race_page_lock(p);
            }
            at = visit_lane(r, g, b, &one, p, at, &now);
        }
        repeats = more && now.reads && !a->strong && are_unwritten(p, one.address, one.size);
    }
    if (p)
        race_page_unlock(p);
}

/* An access of all of a piece: where the lanes are those that used it before, or none of them is, all of it fares
 * alike. False: it is looked at word by word, as there may be a hazard. */
static inline bool use_piece(struct race_global *g, struct race_block *b, struct piece *u, struct now *now,
                             unsigned shift)
{
    if (!u->used) {
        u->shift = (uint8_t)shift;
        u->used = true;
        *(now->reads ? &u->all.read[0] : &u->all.write) = stamp(g, b, now, now->silent);
        return true;
    }
    if (u->words || u->shift != shift || clashes(g, b, &u->all.write, now))
        return false;
    if (now->reads) {
        add_reader(g, b, &u->all, now);
        return true;
    }
    if (clashes(g, b, &u->all.read[0], now) || clashes(g, b, &u->all.read[1], now))
        return false;
    u->all.read[0].what = u->all.read[1].what = 0;
    set_write(g, b, &u->all, now);
    return true;
}

/* Whether the lanes of these bytes store what is there, all of them or none. */
static inline bool is_uniform(const struct race_access *a, unsigned lane, unsigned count)
{
    const uint32_t those = (count < LIR_LANES ? (1u << count) - 1 : ~0u) << lane, silent = a->silent & those;
    return !silent || silent == those;
}

/* Words from `word` on of one unit, by lanes side by side of 1 << shift bytes, 4 at least. */
static void use_words(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                      struct race_page *p, uint64_t at, unsigned words, struct now *now, unsigned shift)
{
    const uint32_t word = at / 4 % PAGE_WORDS;
    struct word *w = words_of(p, word / UNIT_WORDS);
    note_use(p, word, now, b)[word / 16] |= (((uint64_t)1 << 4 * words) - 1) << 4 * (word % 16);
    if (!now->reads)
        unsettle(p, word, words);
    if (!w)
        return;
    w += word % UNIT_WORDS;
    struct race_access one = *a;
    for (unsigned k = 0; k < words; k++, at += 4) {
        const unsigned lane = (unsigned)((at - a->address) >> shift);
        one.lane = a->lane + lane;
        one.address = a->address + ((uint64_t)lane << shift);
        set_lane(a, one.lane, now);
        if (p->parted && p->parted[word + k]) {
            visit_bytes(r, g, b, &one, p, word + k, now, 15);
            continue;
        }
        visit(r, g, b, &one, &w[k], now, 4);
        if (is_settled(g, b, &w[k], now))
            settle(p, word + k, 1);
    }
}

/* Bytes from `at` to `end`, which lie in one page. a is the first lane's, `now` at first, too. */
static void use_page(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                     struct race_page *p, uint64_t at, uint64_t end, struct now *now)
{
    enum { UNIT = 4 * UNIT_WORDS, ROW = 4 * ROW_WORDS };
    const unsigned shift = (unsigned)__builtin_ctz(a->size);
    struct race_access one = *a;
    for (uint64_t next; at < end; at = next) {
        const uint32_t word = at / 4 % PAGE_WORDS, lane = a->lane + (uint32_t)((at - a->address) >> shift);
        const bool whole = (at - a->address) % a->size == 0;
        struct piece *u = &p->unit[word / UNIT_WORDS], *row = &p->row[word / ROW_WORDS];
        next = (at & ~(uint64_t)(UNIT - 1)) + UNIT;
        next = next < end ? next : end;
        set_lane(a, lane, now);
        uint64_t *used = note_use(p, word, now, b);
        if (word % ROW_WORDS == 0 && end - at >= ROW && whole && !row->words && is_uniform(a, lane, ROW >> shift) &&
            use_piece(g, b, row, now, shift)) {
            used[word / 16] = used[word / 16 + 1] = UINT64_MAX;
            settle_or_not(g, b, p, word, ROW_WORDS, &row->all, now);
            next = at + ROW;
            continue;
        }
        race_page_divide(p, word / ROW_WORDS);
        if (next - at == UNIT && whole && is_uniform(a, lane, UNIT >> shift) && use_piece(g, b, u, now, shift)) {
            used[word / 16] |= (uint64_t)UINT32_MAX << 4 * (word % 16);
            settle_or_not(g, b, p, word, UNIT_WORDS, &u->all, now);
            continue;
        }
        if (shift >= 2) {
            use_words(r, g, b, a, p, at, (unsigned)(next - at) / 4, now, shift);
            continue;
        }
        for (uint64_t k = at, stop; k < next; k = stop) {
            one.lane = a->lane + (unsigned)((k - a->address) >> shift);
            one.address = a->address + ((k - a->address) & ~(uint64_t)(a->size - 1));
            stop = k + a->size;
            set_lane(a, one.lane, now);
            visit_bytes(r, g, b, &one, p, (uint32_t)(k / 4 % PAGE_WORDS), now, ((1u << (stop - k)) - 1) << k % 4);
        }
    }
}

/* 1 << shift bytes a lane, of a warp that is even. */
void race_global_side_by_side(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                              const struct race_access *a, unsigned lanes)
{
    struct now now;
    const uint64_t end = a->address + (uint64_t)lanes * a->size;
    if (!begin(g, b, block, a, &now))
        return;
    for (uint64_t at = a->address, next; at < end; at = next) {
        struct race_page *p = page_of(g, b, at / 4 / PAGE_WORDS);
        next = (at / (4 * PAGE_WORDS) + 1) * (4 * PAGE_WORDS);
        next = next < end ? next : end;
        if (!p)
            return;
        if (now.reads && !now.event.strong && are_settled(g, p, at, next - at))
            continue;
        race_page_lock(p);
        use_page(r, g, b, a, p, at, next, &now);
        race_page_unlock(p);
    }
}

uint32_t race_global_unsettled(struct race_global *g, struct race_block *b, const uint64_t *address, uint32_t lanes,
                               uint32_t size)
{
    uint32_t left = 0;
    for (uint32_t todo = lanes, those; todo; todo &= ~those) {
        const unsigned l = (unsigned)__builtin_ctz(todo);
        unsigned n = 1; /* lanes that lie side by side, mostly all settled or none */
        while (l + n < LIR_LANES && todo >> (l + n) & 1 && address[l + n] == address[l] + (uint64_t)n * size)
            n++;
        if (leaves_page(address[l], n * size))
            n = 1;
        those = (n < LIR_LANES ? (1u << n) - 1 : ~0u) << l;
        const struct race_page *p = page_of(g, b, address[l] / 4 / PAGE_WORDS);
        if (!p || leaves_page(address[l], n * size) ||
            !are_settled(g, p, address[l] & ~(uint64_t)3, address[l] % 4 + n * size))
            left |= those;
    }
    return left;
}
