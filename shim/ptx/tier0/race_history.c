/* Racecheck: global memory between launches, copies and fills. While one of them runs, race_global.c looks at each
 * access; once it is over, what it did is kept by pieces of memory, a bit a byte, and held to what others did there
 * before it that are not ordered with it. Those that are, and did no more, are forgotten. */
#include "ptx/tier0/race.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- operations -------------------------------------------------------------------------------- */

enum { OPS = 1 << 14 }; /* the latest ones */
struct op {
    uint32_t number; /* 0: none */
    struct t0_grid grid;
    const char *name; /* of what is no launch; else NULL */
    void *user;
};
static struct op *ops;
static uint32_t last_op;
static const struct t0_race_hooks *hooks;
static pthread_mutex_t ops_lock = PTHREAD_MUTEX_INITIALIZER; /* of these; taken last */

static struct op *find_op(uint32_t number)
{
    struct op *o = ops && number ? &ops[number % OPS] : NULL;
    return o && o->number == number ? o : NULL;
}

static void forget_op(struct op *o)
{
    if (o->number)
        hooks->drop(o->user);
    o->number = 0;
}

uint32_t t0_race_op(const struct t0_race_hooks *h, const struct t0_grid *g, const char *name, void *user)
{
    uint32_t number = 0;
    pthread_mutex_lock(&ops_lock);
    hooks = h;
    if (!ops)
        ops = calloc(OPS, sizeof *ops);
    if (ops) {
        last_op += last_op == UINT32_MAX;
        struct op *o = &ops[++last_op % OPS];
        forget_op(o);
        *o = (struct op){.number = number = last_op, .name = g ? NULL : name, .user = user};
        if (g)
            o->grid = *g;
    }
    pthread_mutex_unlock(&ops_lock);
    if (!number)
        h->drop(user);
    return number;
}

void t0_race_user(uint32_t number, void (*see)(void *ctx, const void *user), void *ctx)
{
    pthread_mutex_lock(&ops_lock);
    const struct op *o = find_op(number);
    if (o)
        see(ctx, o->user);
    pthread_mutex_unlock(&ops_lock);
}

void t0_race_module_gone(const struct t0_module *m)
{
    pthread_mutex_lock(&ops_lock);
    for (uint32_t k = 0; ops && k < OPS; k++)
        if (ops[k].number && !ops[k].name && ops[k].grid.kernel->module == m)
            forget_op(&ops[k]);
    pthread_mutex_unlock(&ops_lock);
}

bool race_history_alike(uint32_t a, uint32_t b)
{
    if (a == b)
        return true;
    pthread_mutex_lock(&ops_lock);
    const struct op *x = find_op(a), *y = find_op(b);
    const bool alike = x && y && x->name == y->name && (x->name || x->grid.kernel == y->grid.kernel);
    pthread_mutex_unlock(&ops_lock);
    return alike;
}

bool race_history_place(uint32_t number, const struct race_place *from, struct t0_place *to, const char **copy)
{
    pthread_mutex_lock(&ops_lock);
    const struct op *o = find_op(number);
    if (o && o->name)
        *copy = o->name;
    else if (o)
        t0_race_place(&o->grid, from->pc, from->block, from->thread, to);
    pthread_mutex_unlock(&ops_lock);
    return o;
}

/* ---- what they did ----------------------------------------------------------------------------- */

enum { REGION_LOG2 = 26, REGIONS = 1 << (47 - REGION_LOG2), RECORDS = 16, WORDS = RACE_CHUNK / 64 };
enum { CHUNKS = (1 << REGION_LOG2) / RACE_CHUNK };
struct record {          /* most are of one class: a line of the cache */
    struct record *next; /* made before it */
    uint32_t op;
    uint8_t classes;
    struct race_part part[]; /* of these classes, the lowest first */
};
enum { LINE = 64, SLAB = 16 << 10 };
_Static_assert(sizeof(struct record) + sizeof(struct race_part) == LINE, "a record of one class");
static struct record **regions[REGIONS];   /* of a piece each; mapped when they are first written to, and for ever */
static struct record *spare[RACE_CLASSES]; /* of that many parts and 1 */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of these */

static struct record **piece_of(uint64_t chunk, bool make)
{
    const uint64_t region = chunk / CHUNKS;
    if (region >= REGIONS || (!regions[region] && !make))
        return NULL;
    if (!regions[region]) {
        void *p = mmap(NULL, CHUNKS * sizeof(struct record *), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            return NULL;
        regions[region] = p;
    }
    return &regions[region][chunk % CHUNKS];
}

/* Bits of a number of four; a builtin would be a call on the oldest CPUs that this is built for. */
static unsigned parts_of(unsigned classes) { return (unsigned)(0x4332322132212110u >> 4 * classes & 7); }
_Static_assert(RACE_CLASSES == 4, "parts_of");

static const struct race_part *part_of(const struct record *r, unsigned class)
{
    return &r->part[parts_of(r->classes & ((1u << class) - 1))];
}

static void keep_spare(struct record *r, unsigned parts)
{
    r->next = spare[parts - 1];
    spare[parts - 1] = r;
}

static void drop_record(struct record **link)
{
    struct record *gone = *link;
    *link = gone->next;
    keep_spare(gone, parts_of(gone->classes));
}

/* NULL: there is no memory. */
static struct record *new_record(unsigned parts)
{
    if (!spare[parts - 1]) {
        const size_t size = (sizeof(struct record) + parts * sizeof(struct race_part) + LINE - 1) / LINE * LINE;
        char *slab = aligned_alloc(LINE, SLAB);
        for (size_t at = 0; slab && at + size <= SLAB; at += size)
            keep_spare((struct record *)(void *)(slab + at), parts);
    }
    struct record *r = spare[parts - 1];
    if (r)
        spare[parts - 1] = r->next;
    return r;
}

/* Which classes race with which: 0 reads, 1 writes, 2 strong reads, 3 strong writes. */
static const uint8_t clashing[RACE_CLASSES] = {[0] = 1 << 1 | 1 << 3, [1] = 0xf, [2] = 1 << 1, [3] = 1 << 0 | 1 << 1};

/* The pieces of memory that one operation touched ask for the same pairs, one behind the other; under `lock`. */
static bool is_ordered(uint32_t before, uint32_t now)
{
    static uint32_t last_before, last_now;
    static bool ordered;
    if (before == last_before && now == last_now)
        return ordered;
    pthread_mutex_lock(&ops_lock);
    const struct op *a = find_op(before), *b = find_op(now);
    ordered = !a || !b || hooks->ordered(a->user, b->user);
    last_before = a && b ? before : 0;
    last_now = now;
    pthread_mutex_unlock(&ops_lock);
    return ordered;
}

/* Hazards of two uses, entered as those of the one that is over now. */
static void compare(struct t0_race *r, const struct record *before, const struct race_use *now)
{
    for (unsigned pair = 0; pair < RACE_CLASSES * RACE_CLASSES; pair++) {
        const unsigned x = pair / RACE_CLASSES, y = pair % RACE_CLASSES;
        if (!(clashing[x] >> y & before->classes >> x & now->classes >> y & 1))
            continue;
        const struct race_part *a = part_of(before, x), *b = &now->part[y];
        uint64_t bytes = 0;
        for (unsigned k = 0; k < WORDS; k++)
            bytes += (unsigned)__builtin_popcountll(a->bits[k] & b->bits[k]);
        if (!bytes)
            continue;
        const struct race_hazard h = {.a = {a->first.pc, a->first.thread, a->first.block, a->first.kind, before->op},
                                      .b = {b->first.pc, b->first.thread, b->first.block, b->first.kind, r->op},
                                      .count = bytes,
                                      .error = true,
                                      .global = true};
        t0_race_found(r, &h);
    }
}

/* Whether whoever races with the earlier use races with the later one, too. */
static bool covers(const struct race_use *now, const struct record *before)
{
    static const uint8_t covering[RACE_CLASSES] = {[0] = 1 << 0 | 1 << 1, [1] = 1 << 1, [2] = 7, [3] = 1 << 1 | 1 << 3};
    for (unsigned x = 0; x < RACE_CLASSES; x++) {
        uint64_t left[WORDS];
        if (!(before->classes >> x & 1))
            continue;
        memcpy(left, part_of(before, x)->bits, sizeof left);
        for (unsigned y = 0; y < RACE_CLASSES; y++)
            for (unsigned k = 0; k < WORDS && covering[x] & now->classes & 1u << y; k++)
                left[k] &= ~now->part[y].bits[k];
        for (unsigned k = 0; k < WORDS; k++)
            if (left[k])
                return false;
    }
    return true;
}

static unsigned first_byte(const struct race_use *u)
{
    for (unsigned k = 0; k < WORDS; k++) {
        uint64_t any = 0;
        for (unsigned class = 0; class < RACE_CLASSES; class ++)
            any |= u->classes >> class & 1 ? u->part[class].bits[k] : 0;
        if (any)
            return 64 * k + (unsigned)__builtin_ctzll(any);
    }
    return 0;
}

/* Under `lock`. */
static void add_use(struct t0_race *r, const struct race_use *u)
{
    unsigned kept = 0;
    struct record **first = piece_of(u->chunk, true), *fresh;
    for (struct record **link = first; link && *link;) {
        struct record *before = *link;
        const bool ordered = is_ordered(before->op, r->op);
        if (!ordered)
            compare(r, before, u);
        if (++kept >= RECORDS || (ordered && covers(u, before)))
            drop_record(link);
        else
            link = &before->next;
    }
    if (!first)
        return;
    if (!(fresh = new_record(parts_of(u->classes))))
        return;
    fresh->next = *first;
    fresh->op = r->op;
    fresh->classes = u->classes;
    unsigned n = 0;
    for (unsigned class = 0; class < RACE_CLASSES; class ++)
        if (u->classes >> class & 1)
            fresh->part[n++] = u->part[class];
    *first = fresh;
}

void race_history_add(struct t0_race *r, const struct race_use *u, unsigned count)
{
    pthread_mutex_lock(&lock);
    for (unsigned k = 0; k < count; k++) { /* far from each other, and mostly long not used */
        struct record **first = piece_of(u[k].chunk, false);
        if (first && *first)
            __builtin_prefetch(*first);
    }
    for (unsigned k = 0; k < count; k++)
        if (hooks->tracked(u[k].chunk * RACE_CHUNK + first_byte(&u[k])))
            add_use(r, &u[k]);
    pthread_mutex_unlock(&lock);
}

void t0_race_touched(struct t0_race *r, uint64_t address, uint64_t size, enum t0_access_kind kind)
{
    const unsigned class = race_class(kind, false);
    for (uint64_t at = address, end = address + size, next; at < end; at = next) {
        struct race_use u = {.chunk = at / RACE_CHUNK, .classes = (uint8_t)(1u << class)};
        struct race_part *part = &u.part[class];
        next = (u.chunk + 1) * RACE_CHUNK;
        next = next < end ? next : end;
        part->first = (struct race_first){.kind = (uint8_t)kind};
        if (next - at == RACE_CHUNK)
            memset(part->bits, 0xff, sizeof part->bits);
        for (uint64_t k = at % RACE_CHUNK; next - at < RACE_CHUNK && k < at % RACE_CHUNK + (next - at); k++)
            part->bits[k / 64] |= (uint64_t)1 << k % 64;
        race_history_add(r, &u, 1);
    }
}

void t0_race_forget(uint64_t address, uint64_t size)
{
    pthread_mutex_lock(&lock);
    for (uint64_t c = address / RACE_CHUNK; size && c <= (address + size - 1) / RACE_CHUNK; c++) {
        struct record **first = piece_of(c, false);
        if (!first)
            c |= CHUNKS - 1; /* the whole region */
        while (first && *first)
            drop_record(first);
    }
    pthread_mutex_unlock(&lock);
}
