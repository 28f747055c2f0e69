/* Racecheck: global memory, while one launch runs. Threads of a block are ordered by their vector clocks, as for shared
 * memory. Blocks are many, and few of them talk to each other, so that one number stands for what a block knows of all
 * others: the launch counts releases, an access is stamped with the count, and a block that acquires from a word learns
 * the count of the release there. An access is ordered before another block's if its block has released since and the
 * other has acquired since: that takes some pairs for ordered which are not, and none the other way round. */
#include "ptx/tier0/race.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE_WORDS = 1024, READERS = 2, BUCKETS = 1 << 14, WORDS_WATCHED = 1 << 14 };
enum { PAGE_CHUNKS = PAGE_WORDS * 4 / RACE_CHUNK, CHUNK_WORDS = RACE_CHUNK / 4 };
enum { UNIT_WORDS = 8, PAGE_UNITS = PAGE_WORDS / UNIT_WORDS, CHUNK_UNITS = CHUNK_WORDS / UNIT_WORDS };

struct stamp {
    uint32_t time;  /* releases of the launch before it */
    uint32_t block; /* the cluster's first one, and 1; 0: none */
    uint32_t pc, clock;
    uint16_t slot; /* of the thread in its cluster */
    uint8_t kind : 2, strong : 1;
};
struct word { /* or a byte of one that is accessed in parts; a line of the cache */
    struct stamp write, read[READERS];
    uint32_t unused;
};
_Static_assert(sizeof(struct word) == 64, "a line");
/* A piece that has only been accessed as a whole, by lanes side by side: the first one's stamps stand for all, whose
 * slots count up, one every 1 << shift bytes. Others are split into words of their own. */
struct unit {
    struct word first;
    uint16_t words; /* where they are in the page's, and 1; 0: it is not split */
    uint8_t shift;
    bool used;
};
struct race_page {
    uint64_t number;
    struct race_page *next;
    pthread_mutex_t lock;
    struct race_first first[PAGE_CHUNKS][RACE_CLASSES];
    uint64_t used[RACE_CLASSES][PAGE_WORDS / 16]; /* bytes that were accessed, a bit each */
    struct unit unit[PAGE_UNITS];
    struct word (*word)[UNIT_WORDS]; /* of units that are split */
    struct word (*byte)[4];          /* of words that are accessed in parts */
    unsigned words, words_room, bytes, bytes_room;
    uint16_t *parted; /* of each word: where its bytes are, and 1; NULL: none is */
};

struct race_global {
    uint64_t blocks;
    uint32_t cluster;
    _Atomic uint64_t releases;
    _Atomic uint64_t *released;                  /* of each block: the count of its last one */
    _Atomic uint64_t at[WORDS_WATCHED];          /* of words, by hash: of the last one there */
    _Atomic(struct race_page *) bucket[BUCKETS]; /* pages only ever come */
};

struct race_global *race_global_new(uint64_t blocks, uint32_t cluster)
{
    struct race_global *g = blocks < UINT32_MAX ? calloc(1, sizeof *g) : NULL;
    if (!g)
        return NULL;
    g->blocks = blocks;
    g->cluster = cluster;
    g->released = calloc(blocks, sizeof *g->released);
    if (g->released)
        return g;
    free(g);
    return NULL;
}

/* Pages of launches that are over: most programs launch again, and fresh memory would cost more than this. */
enum { SPARE_BYTES = 256 << 20 };
static struct race_page *spare;
static size_t spare_bytes;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t bytes_of(const struct race_page *p)
{
    return sizeof *p + p->words_room * sizeof *p->word + p->bytes_room * sizeof *p->byte;
}

/* A page without any access. */
static struct race_page *new_page(void)
{
    pthread_mutex_lock(&spare_lock);
    struct race_page *p = spare;
    if (p) {
        spare = p->next;
        spare_bytes -= bytes_of(p);
    }
    pthread_mutex_unlock(&spare_lock);
    if (!p && (p = calloc(1, sizeof *p)))
        pthread_mutex_init(&p->lock, NULL);
    return p;
}

static bool is_used(const struct race_page *p, unsigned chunk)
{
    const struct race_first *f = p->first[chunk];
    return f[0].set || f[1].set || f[2].set || f[3].set;
}

static void free_parts(struct race_page *p)
{
    free(p->word);
    free(p->byte);
    p->word = NULL;
    p->byte = NULL;
    p->words_room = p->bytes_room = 0;
}

static void drop_page(struct race_page *p)
{
    for (unsigned c = 0; c < PAGE_CHUNKS; c++)
        if (is_used(p, c)) {
            memset(p->first[c], 0, sizeof p->first[c]);
            for (unsigned class = 0; class < RACE_CLASSES; class ++)
                memset(&p->used[class][c * CHUNK_WORDS / 16], 0, CHUNK_WORDS / 2);
            memset(&p->unit[c * CHUNK_UNITS], 0, CHUNK_UNITS * sizeof p->unit[0]);
        }
    if (p->bytes)
        memset(p->parted, 0, PAGE_WORDS * sizeof *p->parted);
    p->words = p->bytes = 0;
    pthread_mutex_lock(&spare_lock);
    if (spare_bytes + bytes_of(p) > SPARE_BYTES)
        free_parts(p);
    const bool keeps = spare_bytes + bytes_of(p) <= SPARE_BYTES;
    if (keeps) {
        p->next = spare;
        spare = p;
        spare_bytes += bytes_of(p);
    }
    pthread_mutex_unlock(&spare_lock);
    if (keeps)
        return;
    pthread_mutex_destroy(&p->lock);
    free(p->parted);
    free(p);
}

void race_global_free(struct race_global *g)
{
    if (!g)
        return;
    for (unsigned k = 0; k < BUCKETS; k++)
        for (struct race_page *p = g->bucket[k], *next; p; p = next) {
            next = p->next;
            drop_page(p);
        }
    free((void *)g->released);
    free(g);
}

static uint64_t hash(uint64_t n) { return n * 0x9e3779b97f4a7c15u >> 32; }

static struct race_page *find_page(struct race_global *g, uint64_t number)
{
    _Atomic(struct race_page *) *bucket = &g->bucket[hash(number) % BUCKETS];
    struct race_page *first = *bucket, *fresh = NULL;
    for (;;) {
        for (struct race_page *p = first; p; p = p->next)
            if (p->number == number) {
                if (fresh)
                    drop_page(fresh);
                return p;
            }
        if (!fresh) {
            if (!(fresh = new_page()))
                return NULL;
            fresh->number = number;
        }
        fresh->next = first;
        if (atomic_compare_exchange_strong(bucket, &first, fresh))
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
static bool is_ordered(const struct race_global *g, const struct race_block *b, const struct stamp *before,
                       const struct stamp *now)
{
    if (before->block == now->block)
        return race_is_ordered(b->clocks, (struct race_stamp){before->clock, before->slot}, now->slot);
    const bool looked = before->kind == T0_READS && b->watched > b->acquired;
    return g->released[before->block - 1] > before->time && (looked ? b->watched : b->acquired) > before->time;
}

static bool clashes(const struct race_global *g, const struct race_block *b, const struct stamp *before,
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
    const unsigned lane = before->slot % LIR_LANES;
    const struct race_hazard h = {.a = place_of(b, before),
                                  .b = place_of(b, now),
                                  .count = bytes,
                                  .error = !at_once,
                                  .same = both_write && a->same(a, at_once && before->pc == now->pc ? &lane : NULL),
                                  .global = true};
    t0_race_found(r, &h);
}

static void add_reader(const struct race_global *g, const struct race_block *b, struct word *w, const struct stamp *now)
{
    struct stamp *free = NULL;
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
    w->write = *now;
}

/* What other launches are held to (race_history.c). */
static void note_first(struct race_page *p, uint32_t word, const struct stamp *now, const struct race_block *b)
{
    struct race_first *f = &p->first[word / CHUNK_WORDS][race_class((enum t0_access_kind)now->kind, now->strong)];
    if (!f->set)
        *f = (struct race_first){now->pc, now->block - 1 + now->slot / b->per_block,
                                 (uint16_t)(now->slot % b->per_block), now->kind, true};
}

/* bytes: of the word, a bit each. */
static void note_use(struct race_page *p, uint32_t word, const struct stamp *now, const struct race_block *b,
                     unsigned bytes)
{
    p->used[race_class((enum t0_access_kind)now->kind, now->strong)][word / 16] |= (uint64_t)bytes << 4 * (word % 16);
    note_first(p, word, now, b);
}

static struct race_page *page_of(struct race_global *g, struct race_block *b, uint64_t number)
{
    if (!b->page || b->page->number != number)
        b->page = find_page(g, number);
    return b->page;
}

/* Whole lines of the cache: most accesses touch one. */
static void *grow_lines(void *old, size_t used, size_t size)
{
    void *p = aligned_alloc(64, size);
    if (!p)
        return NULL;
    if (used)
        memcpy(p, old, used);
    free(old);
    return p;
}

/* What a unit's stamps are at one of its bytes. */
static void give_lane(const struct unit *u, const struct word *first, unsigned byte, struct word *w)
{
    const unsigned lane = byte >> u->shift;
    *w = *first;
    w->write.slot = (uint16_t)(w->write.slot + lane);
    for (unsigned j = 0; j < READERS; j++)
        w->read[j].slot = (uint16_t)(w->read[j].slot + lane);
}

/* The bytes of a word that is accessed in parts, made of what is known of the word; NULL: there is no memory. */
static struct word *part_word(struct race_page *p, uint32_t word, const struct word *whole)
{
    if (!p->parted && !(p->parted = calloc(PAGE_WORDS, sizeof *p->parted)))
        return NULL;
    if (p->parted[word])
        return p->byte[p->parted[word] - 1];
    if (p->bytes == p->bytes_room) {
        const unsigned more = p->bytes_room ? 2 * p->bytes_room : 16;
        void *byte = grow_lines(p->byte, p->bytes * sizeof *p->byte, more * sizeof *p->byte);
        if (!byte)
            return NULL;
        p->byte = byte;
        p->bytes_room = more;
    }
    struct word *part = p->byte[p->bytes++];
    for (unsigned k = 0; k < 4; k++)
        part[k] = *whole;
    p->parted[word] = (uint16_t)p->bytes;
    return part;
}

/* The words of a unit; NULL: there is no memory for them. */
static struct word *split_unit(struct race_page *p, uint32_t unit)
{
    struct unit *u = &p->unit[unit];
    if (u->words)
        return p->word[u->words - 1];
    if (p->words == p->words_room) {
        const unsigned more = p->words_room ? 2 * p->words_room : 8;
        void *lines = grow_lines(p->word, p->words * sizeof *p->word, more * sizeof *p->word);
        if (!lines)
            return NULL;
        p->word = lines;
        p->words_room = more;
    }
    struct word *word = p->word[p->words++];
    u->words = (uint16_t)p->words;
    for (unsigned k = 0; k < UNIT_WORDS; k++) {
        give_lane(u, &u->first, 4 * k, &word[k]);
        struct word *part = u->used && u->shift < 2 ? part_word(p, unit * UNIT_WORDS + k, &word[k]) : NULL;
        for (unsigned j = 0; j < 4 && part; j++)
            give_lane(u, &u->first, 4 * k + j, &part[j]);
    }
    u->used = true;
    return word;
}

/* Some bytes of a word, a bit each; the page is locked. */
static void visit_word(struct t0_race *r, struct race_global *g, struct race_block *b, const struct race_access *a,
                       struct race_page *p, uint32_t word, const struct stamp *now, unsigned bytes)
{
    struct word *w = split_unit(p, word / UNIT_WORDS);
    note_use(p, word, now, b, bytes);
    if (!w)
        return;
    w += word % UNIT_WORDS;
    if (bytes == 15 && !(p->parted && p->parted[word])) {
        visit(r, g, b, a, w, now, 4);
        return;
    }
    struct word *part = part_word(p, word, w);
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
                          .strong = a->strong};
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
        pthread_mutex_lock(&p->lock);
        do {
            const uint64_t from = at < a->address ? a->address : at, to = at + 4 < end ? at + 4 : end;
            const uint32_t word = at / 4 % PAGE_WORDS;
            visit_word(r, g, b, a, p, word, &now, (1u << (to - at)) - (1u << (from - at)));
            at += 4;
        } while (at < end && at / 4 % PAGE_WORDS);
        pthread_mutex_unlock(&p->lock);
    }
}

/* Whether what happens to the first word of a unit happens to all: without a hazard, which is told word by word. */
static bool is_alike(const struct race_global *g, const struct race_block *b, const struct unit *u,
                     const struct stamp *now, unsigned shift)
{
    const struct word *w = &u->first;
    if (!u->used)
        return true;
    return !u->words && u->shift == shift && !clashes(g, b, &w->write, now) &&
           (now->kind == T0_READS || (!clashes(g, b, &w->read[0], now) && !clashes(g, b, &w->read[1], now)));
}

/* 1 << shift bytes a lane, of a warp that is even: where the lanes of a unit are those that used it before, or none of
 * them is, all of it fares alike. */
void race_global_side_by_side(struct t0_race *r, struct race_global *g, struct race_block *b, uint64_t block,
                              const struct race_access *a, unsigned lanes)
{
    enum { UNIT = 4 * UNIT_WORDS };
    const unsigned shift = (unsigned)__builtin_ctz(a->size);
    struct stamp now = stamp_of(g, b, block, a);
    struct race_access one = *a;
    const uint64_t end = a->address + (uint64_t)lanes * a->size;
    const unsigned class = race_class((enum t0_access_kind)now.kind, now.strong);
    struct race_page *p = NULL;
    for (uint64_t at = a->address, next; at < end; at = next) {
        if (!p || at / 4 % PAGE_WORDS == 0) {
            if (p)
                pthread_mutex_unlock(&p->lock);
            if (!(p = page_of(g, b, at / 4 / PAGE_WORDS)))
                return;
            pthread_mutex_lock(&p->lock);
        }
        const uint32_t word = at / 4 % PAGE_WORDS, first = (uint32_t)(at - a->address) >> shift;
        struct unit *u = &p->unit[word / UNIT_WORDS];
        next = (at & ~(uint64_t)(UNIT - 1)) + UNIT;
        next = next < end ? next : end;
        now.slot = (uint16_t)(a->slot + first);
        if (next - at == UNIT && (at - a->address) % a->size == 0 && is_alike(g, b, u, &now, shift)) {
            visit(r, g, b, a, &u->first, &now, UNIT);
            u->shift = (uint8_t)shift;
            u->used = true;
            p->used[class][word / 16] |= (uint64_t)UINT32_MAX << 4 * (word % 16);
            note_first(p, word, &now, b);
            continue;
        }
        for (uint64_t k = at, stop; k < next; k = stop) {
            const unsigned lane = (unsigned)(k - a->address) >> shift;
            stop = a->size < 4 ? k + a->size : (k & ~(uint64_t)3) + 4;
            now.slot = (uint16_t)(a->slot + lane);
            one.lane = a->lane + lane;
            one.address = a->address + ((uint64_t)lane << shift);
            visit_word(r, g, b, &one, p, (uint32_t)(k / 4 % PAGE_WORDS), &now, ((1u << (stop - k)) - 1) << k % 4);
        }
    }
    if (p)
        pthread_mutex_unlock(&p->lock);
}

static void close_chunk(struct t0_race *r, const struct race_page *p, unsigned chunk)
{
    struct race_use u = {.chunk = (p->number * PAGE_WORDS * 4) / RACE_CHUNK + chunk};
    for (unsigned class = 0; class < RACE_CLASSES; class ++) {
        u.first[class] = p->first[chunk][class];
        memcpy(u.bits[class], &p->used[class][chunk * CHUNK_WORDS / 16], sizeof u.bits[class]);
    }
    race_history_add(r, &u);
}

void race_global_close(struct t0_race *r, const struct race_global *g)
{
    for (unsigned k = 0; k < BUCKETS; k++)
        for (const struct race_page *p = g->bucket[k]; p; p = p->next)
            for (unsigned c = 0; c < PAGE_CHUNKS; c++)
                if (is_used(p, c))
                    close_chunk(r, p, c);
}
