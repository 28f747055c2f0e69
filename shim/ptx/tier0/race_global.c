/* Racecheck: global memory, while one launch runs. Threads of a block are ordered by their vector clocks, as for shared
 * memory. Blocks are many, and few of them talk to each other, so that one number stands for what a block knows of all
 * others: the launch counts releases, an access is stamped with the count, and a block that acquires from a word learns
 * the count of the release there. An access is ordered before another block's if its block has released since and the
 * other has acquired since: that takes some pairs for ordered which are not, and none the other way round. */
#include "ptx/tier0/race_page.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 1 << 14, WORDS_WATCHED = 1 << 14 };
struct race_global {
    uint64_t serial; /* unique */
    _Atomic uint64_t releases;
    _Atomic uint64_t *released;                  /* of each block: the count of its last one */
    uint64_t blocks;                             /* of those at most */
    _Atomic uint64_t at[WORDS_WATCHED];          /* of words, by hash: of the last one there */
    _Atomic(struct race_page *) bucket[BUCKETS]; /* pages only ever come */
    _Atomic(struct race_page *) pages;           /* all of them */
    struct race_global *next;
};

/* Those of launches that are over, empty: a short launch would cost less than to make one, and to look at all of it. */
enum { SPARES = 4 };
static struct race_global *spare;
static unsigned spares;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static uint64_t hash(uint64_t n) { return n * 0x9e3779b97f4a7c15u >> 32; }

struct race_global *race_global_new(uint64_t blocks)
{
    static uint64_t serial;
    struct race_global *g = NULL;
    if (blocks >= UINT32_MAX)
        return NULL;
    pthread_mutex_lock(&spare_lock);
    const uint64_t number = ++serial;
    if ((g = spare)) {
        spare = g->next;
        spares--;
    }
    pthread_mutex_unlock(&spare_lock);
    if (!g && !(g = calloc(1, sizeof *g)))
        return NULL;
    g->serial = number;
    if (g->blocks < blocks) {
        free((void *)g->released);
        g->released = calloc(blocks, sizeof *g->released);
        g->blocks = g->released ? blocks : 0;
    }
    if (g->blocks >= blocks)
        return g;
    free(g);
    return NULL;
}

void race_global_free(struct race_global *g)
{
    if (!g)
        return;
    for (struct race_page *p = g->pages, *next; p; p = next) {
        next = p->beside;
        g->bucket[hash(p->number) % BUCKETS] = NULL;
        race_page_drop(p);
    }
    g->pages = NULL;
    if (g->releases) {
        memset((void *)g->released, 0, g->blocks * sizeof *g->released);
        memset((void *)g->at, 0, sizeof g->at);
        g->releases = 0;
    }
    pthread_mutex_lock(&spare_lock);
    const bool keeps = spares < SPARES;
    if (keeps) {
        g->next = spare;
        spare = g;
        spares++;
    }
    pthread_mutex_unlock(&spare_lock);
    if (keeps)
        return;
    free((void *)g->released);
    free(g);
}

static struct race_page *find_page(struct race_global *g, uint64_t number)
{
    _Atomic(struct race_page *) *bucket = &g->bucket[hash(number) % BUCKETS];
    struct race_page *first = *bucket, *fresh = NULL;
    for (;;) {
        for (struct race_page *p = first; p; p = p->next)
            if (p->number == number) {
                if (fresh)
                    race_page_drop(fresh);
                return p;
            }
        if (!fresh) {
            if (!(fresh = race_page_new()))
                return NULL;
            fresh->number = number;
        }
        fresh->next = first;
        if (!atomic_compare_exchange_strong(bucket, &first, fresh))
            continue;
        fresh->beside = g->pages;
        while (!atomic_compare_exchange_weak(&g->pages, &fresh->beside, fresh))
            ;
        return fresh;
    }
}

static _Atomic uint64_t *watched_word(struct race_global *g, uint64_t address)
{
    return &g->at[hash(address / 4) % WORDS_WATCHED];
}

void race_global_release(struct race_global *g, uint64_t block, uint64_t address)
{
    _Atomic uint64_t *at = watched_word(g, address);
    const uint64_t count = ++g->releases;
    g->released[block] = count;
    for (uint64_t old = *at; old < count && !atomic_compare_exchange_weak(at, &old, count);)
        ;
}

uint64_t race_global_seen(struct race_global *g, uint64_t address)
{
    const uint64_t anywhere = *watched_word(g, T0_RACE_ANYWHERE), there = *watched_word(g, address);
    return address == T0_RACE_ANYWHERE ? (uint64_t)g->releases : there > anywhere ? there : anywhere;
}

bool race_global_anywhere(const struct race_global *g)
{
    return g->at[hash(T0_RACE_ANYWHERE / 4) % WORDS_WATCHED] != 0;
}

/* What a block has read is over when it sets a flag, and no write after a look at the flag can change it: there relaxed
 * loads do without a fence, as in CUB's compactions in place. */
static inline bool is_ordered(const struct race_global *g, const struct race_block *b, const struct stamp *before,
                              const struct stamp *now)
{
    if (before->block == now->block)
        return race_is_ordered(b->clocks, (struct race_stamp){before->clock, before->slot}, now->slot);
    const bool looked = before->kind == T0_READS && b->watched > b->acquired;
    return g->released[before->block - 1] > before->time && (looked ? b->watched : b->acquired) > before->time;
}

static inline bool clashes(const struct race_global *g, const struct race_block *b, const struct stamp *before,
                           const struct stamp *now)
{
    return before->block && !(before->strong && now->strong) && !is_ordered(g, b, before, now);
}

static struct race_place place_of(const struct race_block *b, const struct stamp *s)
{
    return (struct race_place){
        .pc = s->pc, .thread = s->slot % b->per_block, .block = s->block - 1 + s->slot / b->per_block, .kind = s->kind};
}

static void found(struct t0_race *r, const struct race_block *b, const struct race_access *a,
                  const struct stamp *before, const struct stamp *now, unsigned bytes)
{
    const bool at_once = before->block == now->block && before->slot / LIR_LANES == now->slot / LIR_LANES;
    const bool both_write = before->kind == T0_WRITES && now->kind == T0_WRITES; /* no atomics: nobody foresees them */
    const bool harmless = before->kind == T0_READS ? now->silent : now->kind == T0_READS && before->silent;
    const unsigned lane = before->slot % LIR_LANES;
    const struct race_hazard h = {.a = place_of(b, before),
                                  .b = place_of(b, now),
                                  .count = bytes,
                                  .error = !at_once && !harmless,
                                  .same = both_write && a->same(a, at_once && before->pc == now->pc ? &lane : NULL),
                                  .global = true};
    t0_race_found(r, &h);
}

/* Whether any further plain read leaves the word as it is. */
static inline bool is_settled(const struct race_global *g, const struct word *w, const struct stamp *now)
{
    return now->kind == T0_READS && !now->strong && !w->write.block && w->read[1].block &&
           w->read[0].block != w->read[1].block && !w->read[0].strong && !w->read[1].strong && !g->releases;
}

static inline void add_reader(const struct race_global *g, const struct race_block *b, struct word *w,
                              const struct stamp *now)
{
    struct stamp *free = NULL;
    if (is_settled(g, w, now)) /* whoever tells it together with others */
        return;
    for (unsigned k = 0; k < READERS && !free; k++) {
        struct stamp *s = &w->read[k];
        if (!s->block || (s->block == now->block && s->slot == now->slot) || is_ordered(g, b, s, now))
            free = s;
    }
    const struct stamp *x = &w->read[0], *y = &w->read[1];
    if (!free && x->block == y->block && (now->block != x->block || x->slot / LIR_LANES == y->slot / LIR_LANES))
        free = &w->read[1]; /* readers of two warps, rather, or of two blocks */
    if (free)
        *free = *now;
}

static inline void set_write(struct word *w, const struct stamp *now)
{
    const bool silent = now->silent && (!w->write.block || w->write.silent);
    w->write = *now;
    w->write.silent = silent;
}

/* bytes: how many the word stands for. */
static void visit(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                  struct word *w, const struct stamp *now, unsigned bytes)
{
    if (clashes(g, b, &w->write, now))
        found(r, b, a, &w->write, now, bytes);
    if (now->kind == T0_READS) {
        add_reader(g, b, w, now);
        return;
    }
    for (unsigned k = 0; k < READERS; k++) {
        if (clashes(g, b, &w->read[k], now))
            found(r, b, a, &w->read[k], now, bytes);
        w->read[k].block = 0;
    }
    set_write(w, now);
}

/* The page's bytes that this class of accesses has used, which other launches are held to (race_history.c). */
static inline uint64_t *note_use(struct race_page *p, uint32_t word, const struct stamp *now,
                                 const struct race_block *b)
{
    const unsigned class = race_class((enum t0_access_kind)now->kind, now->strong), chunk = word / CHUNK_WORDS;
    bool first = false;
    uint64_t *used = p->classes[chunk] >> class & 1 ? p->used[class] : race_page_use(p, chunk, class, &first);
    if (first)
        p->first[chunk][class] = (struct race_first){.block = now->block - 1 + now->slot / b->per_block,
                                                     .pc = now->pc,
                                                     .thread = (uint16_t)(now->slot % b->per_block),
                                                     .kind = now->kind};
    return used;
}

static inline struct race_page *page_of(struct race_global *g, struct race_block *b, uint64_t number)
{
    struct race_page **page = &b->page[number % RACE_PAGES];
    if (b->pages_of != g->serial) {
        memset(b->page, 0, sizeof b->page);
        b->pages_of = g->serial;
    }
    if (!*page || (*page)->number != number)
        *page = find_page(g, number);
    return *page;
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

/* Some bytes of a word, a bit each; the page is locked. */
static void visit_word(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                       struct race_page *p, uint32_t word, const struct stamp *now, unsigned bytes)
{
    note_use(p, word, now, b)[word / 16] |= (uint64_t)bytes << 4 * (word % 16);
    race_page_divide(p, word / ROW_WORDS);
    struct word *w = race_page_split(p, word / UNIT_WORDS);
    if (now->kind != T0_READS)
        unsettle(p, word, 1);
    if (!w)
        return;
    w += word % UNIT_WORDS;
    if (bytes == 15 && !(p->parted && p->parted[word])) {
        visit(r, g, b, a, w, now, 4);
        if (is_settled(g, w, now))
            settle(p, word, 1);
        return;
    }
    struct word *part = race_page_bytes(p, word, w);
    for (unsigned k = 0; k < 4 && part; k++)
        if (bytes >> k & 1)
            visit(r, g, b, a, &part[k], now, 1);
}

static struct stamp stamp_of(const struct race_global *g, const struct race_block *b, uint64_t block,
                             const struct race_access *a)
{
    const uint64_t time = g->releases;
    return (struct stamp){.time = time < UINT32_MAX ? (uint32_t)time : UINT32_MAX,
                          .block = (uint32_t)block + 1,
                          .pc = a->pc,
                          .clock = race_now(b->clocks, a->slot).clock,
                          .slot = (uint16_t)a->slot,
                          .kind = a->kind & 3,
                          .strong = a->strong,
                          .silent = a->silent >> a->lane & 1};
}

void race_global_access(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                        const struct race_access *a)
{
    const struct stamp now = stamp_of(g, b, block, a);
    const uint64_t end = a->address + a->size;
    for (uint64_t at = a->address & ~(uint64_t)3; at < end;) {
        struct race_page *p = page_of(g, b, at / 4 / PAGE_WORDS);
        if (!p)
            return;
        if (now.kind == T0_READS && !now.strong && at % (4 * PAGE_WORDS) + a->size <= 4 * PAGE_WORDS &&
            are_settled(g, p, at, end - at))
            return;
        race_page_lock(p);
        do {
            const uint64_t from = at < a->address ? a->address : at, to = at + 4 < end ? at + 4 : end;
            const uint32_t word = at / 4 % PAGE_WORDS;
            visit_word(r, g, b, a, p, word, &now, (1u << (to - at)) - (1u << (from - at)));
            at += 4;
        } while (at < end && at / 4 % PAGE_WORDS);
        race_page_unlock(p);
    }
}

/* An access of all of a unit: where the lanes are those that used it before, or none of them is, all of it fares alike.
 * False: it is looked at word by word, as there may be a hazard. */
static inline bool use_unit(const struct race_global *g, const struct race_block *b, struct word *u,
                            const struct stamp *now, unsigned shift)
{
    if (!u->used) {
        u->shift = (uint8_t)shift;
        u->used = true;
        *(now->kind == T0_READS ? &u->read[0] : &u->write) = *now;
        return true;
    }
    if (u->words || u->shift != shift || clashes(g, b, &u->write, now))
        return false;
    if (now->kind == T0_READS) {
        add_reader(g, b, u, now);
        return true;
    }
    if (clashes(g, b, &u->read[0], now) || clashes(g, b, &u->read[1], now))
        return false;
    u->read[0].block = u->read[1].block = 0;
    set_write(u, now);
    return true;
}

/* Whether the lanes of these bytes store what is there, all of them or none. */
static inline bool is_uniform(const struct race_access *a, unsigned lane, unsigned count)
{
    const uint32_t those = (count < LIR_LANES ? (1u << count) - 1 : ~0u) << lane, silent = a->silent & those;
    return !silent || silent == those;
}

/* Bytes from `at` to `end`, which lie in one page. a is the first lane's, `now` at first, too. */
static void use_page(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                     struct race_page *p, uint64_t at, uint64_t end, struct stamp *now)
{
    enum { UNIT = 4 * UNIT_WORDS, ROW = 4 * ROW_WORDS };
    const unsigned shift = (unsigned)__builtin_ctz(a->size);
    const bool reads = now->kind == T0_READS;
    struct race_access one = *a;
    for (uint64_t next; at < end; at = next) {
        const uint32_t word = at / 4 % PAGE_WORDS, lane = (uint32_t)(at - a->address) >> shift;
        struct word *u = &p->unit[word / UNIT_WORDS];
        next = (at & ~(uint64_t)(UNIT - 1)) + UNIT;
        next = next < end ? next : end;
        now->slot = (uint16_t)(a->slot + lane);
        now->silent = a->silent >> (a->lane + lane) & 1;
        uint64_t *used = note_use(p, word, now, b);
        struct word *row = &p->row[word / ROW_WORDS];
        if (word % ROW_WORDS == 0 && end - at >= ROW && (at - a->address) % a->size == 0 && !row->words &&
            is_uniform(a, a->lane + lane, ROW >> shift) && use_unit(g, b, row, now, shift)) {
            used[word / 16] = used[word / 16 + 1] = UINT64_MAX;
            if (!reads)
                unsettle(p, word, ROW_WORDS);
            else if (is_settled(g, row, now))
                settle(p, word, ROW_WORDS);
            next = at + ROW;
            continue;
        }
        race_page_divide(p, word / ROW_WORDS);
        if (next - at == UNIT && (at - a->address) % a->size == 0 && is_uniform(a, a->lane + lane, UNIT >> shift) &&
            use_unit(g, b, u, now, shift)) {
            used[word / 16] |= (uint64_t)UINT32_MAX << 4 * (word % 16);
            if (!reads)
                unsettle(p, word, UNIT_WORDS);
            else if (is_settled(g, u, now))
                settle(p, word, UNIT_WORDS);
            continue;
        }
        for (uint64_t k = at, stop; k < next; k = stop) {
            one.lane = a->lane + (unsigned)((k - a->address) >> shift);
            one.address = a->address + ((k - a->address) & ~(uint64_t)(a->size - 1));
            stop = a->size < 4 ? k + a->size : (k & ~(uint64_t)3) + 4;
            now->slot = (uint16_t)(a->slot + one.lane - a->lane);
            now->silent = a->silent >> one.lane & 1;
            visit_word(r, g, b, &one, p, (uint32_t)(k / 4 % PAGE_WORDS), now, ((1u << (stop - k)) - 1) << k % 4);
        }
    }
}

/* 1 << shift bytes a lane, of a warp that is even. */
void race_global_side_by_side(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                              const struct race_access *a, unsigned lanes)
{
    struct stamp now = stamp_of(g, b, block, a);
    const uint64_t end = a->address + (uint64_t)lanes * a->size;
    for (uint64_t at = a->address, next; at < end; at = next) {
        struct race_page *p = page_of(g, b, at / 4 / PAGE_WORDS);
        next = (at / (4 * PAGE_WORDS) + 1) * (4 * PAGE_WORDS);
        next = next < end ? next : end;
        if (!p)
            return;
        if (now.kind == T0_READS && !now.strong && are_settled(g, p, at, next - at))
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
        if (address[l] % (4 * PAGE_WORDS) + n * size > 4 * PAGE_WORDS)
            n = 1;
        those = (n < LIR_LANES ? (1u << n) - 1 : ~0u) << l;
        const struct race_page *p = page_of(g, b, address[l] / 4 / PAGE_WORDS);
        const bool over = address[l] % (4 * PAGE_WORDS) + n * size > 4 * PAGE_WORDS;
        if (!p || over || !are_settled(g, p, address[l] & ~(uint64_t)3, address[l] % 4 + n * size))
            left |= those;
    }
    return left;
}

static void close_page(struct t0_race *r, const struct race_page *p)
{
    struct race_use use[PAGE_CHUNKS];
    unsigned n = 0;
    for (unsigned chunk = 0; chunk < PAGE_CHUNKS; chunk++) {
        struct race_use *u = &use[n];
        if (!(u->classes = p->classes[chunk]))
            continue;
        u->chunk = p->number * PAGE_CHUNKS + chunk;
        for (unsigned class = 0; class < RACE_CLASSES; class ++)
            if (u->classes >> class & 1) {
                u->part[class].first = p->first[chunk][class];
                memcpy(u->part[class].bits, &p->used[class][chunk * CHUNK_WORDS / 16], sizeof u->part[class].bits);
            }
        n++;
    }
    race_history_add(r, use, n);
}

/* Merges lists in the order of addresses: blocks make their pages in any order, and reports shall not depend on it. */
static struct race_page *merge(struct race_page *a, struct race_page *b)
{
    struct race_page *first = NULL, **end = &first;
    while (a && b) {
        struct race_page **less = a->number < b->number ? &a : &b;
        *end = *less;
        *less = (*less)->beside;
        end = &(*end)->beside;
    }
    *end = a ? a : b;
    return first;
}

static struct race_page *sort_pages(struct race_page *left)
{
    enum { LISTS = 48 }; /* the k-th has 1 << k pages, or none */
    struct race_page *list[LISTS] = {NULL}, *all = NULL;
    while (left) {
        struct race_page *p = left;
        unsigned k = 0;
        left = left->beside;
        p->beside = NULL;
        for (; list[k]; k++) {
            p = merge(list[k], p);
            list[k] = NULL;
        }
        list[k] = p;
    }
    for (unsigned k = 0; k < LISTS; k++)
        all = merge(list[k], all);
    return all;
}

void race_global_close(struct t0_race *r, struct race_global *g)
{
    g->pages = sort_pages(g->pages);
    for (const struct race_page *p = g->pages; p; p = p->beside)
        close_page(r, p);
}
