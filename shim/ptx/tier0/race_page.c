/* Racecheck: pages of the shadow of global memory: where they come from, and how they become finer. */
#include "ptx/tier0/race_page.h"

#include <stdlib.h>
#include <string.h>

/* ---- of launches ------------------------------------------------------------------------------- */

/* Pages of launches that are over: most programs launch again, and fresh memory would cost more than this. */
enum { SPARE_BYTES = 256 << 20 };
static struct race_page *spare;
static size_t spare_bytes;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t bytes_of(const struct race_page *p)
{
    return sizeof *p + p->words_room * sizeof *p->word + p->bytes_room * sizeof *p->byte;
}

struct race_page *race_page_new(void)
{
    pthread_mutex_lock(&spare_lock);
    struct race_page *p = spare;
    if (p) {
        spare = p->next;
        spare_bytes -= bytes_of(p);
    }
    pthread_mutex_unlock(&spare_lock);
    if (!p && (p = aligned_alloc(_Alignof(struct race_page), sizeof *p)))
        memset(p, 0, sizeof *p);
    return p;
}

/* What another launch has left there goes when it is needed: it has to be fetched only once. */
uint64_t *race_page_use(struct race_page *p, unsigned chunk, unsigned class, bool *first)
{
    uint64_t *used = p->used[class];
    if (!p->classes[chunk])
        memset(&p->row[chunk * CHUNK_ROWS], 0, CHUNK_ROWS * sizeof p->row[0]);
    *first = !(p->classes[chunk] >> class & 1);
    if (*first)
        memset(&used[chunk * CHUNK_WORDS / 16], 0, CHUNK_WORDS / 2);
    p->classes[chunk] |= (uint8_t)(1u << class);
    return used;
}

static void free_parts(struct race_page *p)
{
    free(p->word);
    free(p->byte);
    p->word = NULL;
    p->byte = NULL;
    p->words_room = p->bytes_room = 0;
}

void race_page_drop(struct race_page *p)
{
    memset(p->classes, 0, sizeof p->classes);
    for (unsigned k = 0; k < PAGE_WORDS / 64; k++)
        atomic_store_explicit(&p->settled[k], 0, memory_order_relaxed);
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
    free(p->parted);
    free(p);
}

/* ---- finer ones --------------------------------------------------------------------------------- */

/* Lines for one element more, of whole lines of the cache: most accesses touch one. NULL: no memory, and nothing was
 * done. */
static void *room_for_one(void *old, unsigned used, unsigned *room, unsigned first, size_t each)
{
    if (used < *room)
        return old;
    const unsigned more = *room ? 2 * *room : first;
    void *p = aligned_alloc(64, more * each);
    if (!p)
        return NULL;
    if (used)
        memcpy(p, old, used * each);
    free(old);
    *room = more;
    return p;
}

/* What a piece's stamps are at one of its bytes. */
static struct word at_byte(const struct piece *u, unsigned byte)
{
    const uint64_t lanes = (uint64_t)(byte >> u->shift) << STAMP_THREAD;
    struct word w = u->all;
    w.write.what += w.write.what ? lanes : 0;
    for (unsigned j = 0; j < READERS; j++)
        w.read[j].what += w.read[j].what ? lanes : 0;
    return w;
}

void race_page_divide(struct race_page *p, uint32_t row)
{
    struct piece *whole = &p->row[row], *unit = &p->unit[row * ROW_UNITS];
    if (whole->words)
        return;
    for (unsigned k = 0; k < ROW_UNITS; k++)
        unit[k] = (struct piece){at_byte(whole, k * 4 * UNIT_WORDS), 0, whole->shift, whole->used};
    whole->words = true;
}

struct word *race_page_bytes(struct race_page *p, uint32_t word, const struct word *whole)
{
    if (!p->parted && !(p->parted = calloc(PAGE_WORDS, sizeof *p->parted)))
        return NULL;
    if (p->parted[word])
        return p->byte[p->parted[word] - 1];
    void *lines = room_for_one(p->byte, p->bytes, &p->bytes_room, 16, sizeof *p->byte);
    if (!lines)
        return NULL;
    p->byte = lines;
    struct word *part = p->byte[p->bytes++];
    for (unsigned k = 0; k < 4; k++)
        part[k] = *whole;
    p->parted[word] = (uint16_t)p->bytes;
    return part;
}

struct word *race_page_split(struct race_page *p, uint32_t unit)
{
    struct piece *u = &p->unit[unit];
    if (u->words)
        return p->word[u->words - 1];
    void *lines = room_for_one(p->word, p->words, &p->words_room, 8, sizeof *p->word);
    if (!lines)
        return NULL;
    p->word = lines;
    struct word *word = p->word[p->words++];
    u->words = (uint16_t)p->words;
    for (unsigned k = 0; k < UNIT_WORDS; k++) {
        word[k] = at_byte(u, 4 * k);
        struct word *part = u->used && u->shift < 2 ? race_page_bytes(p, unit * UNIT_WORDS + k, &word[k]) : NULL;
        for (unsigned j = 0; j < 4 && part; j++)
            part[j] = at_byte(u, 4 * k + j);
    }
    u->used = true;
    return word;
}
