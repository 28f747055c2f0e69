/* What products of warpgroups keep of B: columns of the last descriptors, as they were widened. Each of a group's four
 * warps multiplies by the same B, after all that the warp before did; whatever has been written in between, equal bytes
 * have equal columns. */
#ifndef CUMU_PTX_TIER0_ALU_KEPT_H
#define CUMU_PTX_TIER0_ALU_KEPT_H

#include "ptx/tier0/alu_factor.h"

enum {
    KEPT = 8,              /* the steps along k of a stage or two */
    KEPT_WORDS = 256 * 32, /* of sparse bytes there are twice as many, which take two places */
    KEPT_BYTES = 256 * 64, /* of shared memory */
    KEPT_PIECES = MOST_PERIOD * 32
};
struct kept {
    u64 form, descriptor; /* 0: nothing is kept here */
    u32 shared;           /* bytes of the shared memory in which all pieces were found */
    u32 size, pieces, periods, stride;
    u32 at[KEPT_PIECES]; /* of the first period's, which lie together */
};
struct kept_columns {
    struct kept entry[KEPT];
    f32 b[KEPT][KEPT_WORDS];
    uint8_t seen[KEPT][KEPT_BYTES]; /* piece by piece */
    u32 next;
};

typedef u64 bytes32 __attribute__((vector_size(32)));
typedef u64 bytes64 __attribute__((vector_size(64)));
#define SAME(NAME, T) \
    ALWAYS bool NAME(const struct kept *x, const uint8_t *window, const uint8_t *seen) \
    { \
        const unsigned parts = x->size / (unsigned)sizeof(T); \
        T differ = {0}, now, old; \
        for (u32 p = 0; p < x->periods; p++, window += x->stride) \
            for (u32 k = 0; k < x->pieces; k++) \
                for (unsigned part = 0; part < parts; part++, seen += sizeof(T)) { \
                    memcpy(&now, window + x->at[k] + part * sizeof(T), sizeof now); \
                    memcpy(&old, seen, sizeof old); \
                    differ |= now ^ old; \
                } \
        u64 any = 0; \
        for (unsigned e = 0; e < sizeof(T) / 8; e++) \
            any |= differ[e]; \
        return !any; \
    }
SAME(same_by_16, bytes16)
SAME(same_by_32, bytes32)
#if T0_LEVEL >= 4
SAME(same_by_64, bytes64)
#endif
#undef SAME

static inline bool is_same(const struct kept *x, const uint8_t *window, const uint8_t *seen)
{
#if T0_LEVEL >= 4
    if (x->size >= 64)
        return same_by_64(x, window, seen);
#endif
    return x->size >= 32 ? same_by_32(x, window, seen) : same_by_16(x, window, seen);
}

/* Whether 2^log chunks that follow one another along a line, or down the lines, lie together. */
static inline bool lie_together(const struct places *p, unsigned chunks, unsigned log, bool down)
{
    const u32 n = 1u << log, own = ~(16 * n - 1);
    if ((down ? p->period : chunks) % n)
        return false;
    for (unsigned l = 0; l < p->period; l++)
        for (unsigned c = 0; c < chunks; c++) {
            const u32 at = p->at[l][c];
            if (down ? at != p->at[l & ~(n - 1)][c] + 16 * (l & (n - 1)) : (at & own) != (p->at[l][c & ~(n - 1)] & own))
                return false;
        }
    return true;
}

/* Notes where the pieces are, and what is there now. False: this is not for keeping. */
static inline bool note(const struct matrix *m, struct kept *x, uint8_t *seen, unsigned lines, unsigned chunks,
                        bool across)
{
    struct places p;
    unsigned log = 3;
    bool down = false;
    if (lines * chunks * 16 > KEPT_BYTES || !find_places(m, &p, lines, chunks, across) || lines % p.period ||
        p.period * chunks > KEPT_PIECES)
        return false;
    for (; log; log--) {
        if (lie_together(&p, chunks, log, false))
            break;
        down = lie_together(&p, chunks, log, true);
        if (down)
            break;
    }
    const u32 n = 1u << log, by_line = down ? n : 1, by_chunk = down ? 1 : n;
    x->size = 16 * n;
    x->pieces = 0;
    x->periods = lines / p.period;
    x->stride = p.stride;
    x->shared = m->w->shared_size;
    for (unsigned l = 0; l < p.period; l += by_line)
        for (unsigned c = 0; c < chunks; c += by_chunk)
            x->at[x->pieces++] = down ? p.at[l][c] : p.at[l][c] & ~(x->size - 1);
    const uint8_t *from = m->window;
    for (u32 period = 0; period < x->periods; period++, from += x->stride)
        for (u32 k = 0; k < x->pieces; k++, seen += x->size)
            memcpy(seen, from + x->at[k], x->size);
    return true;
}

/* The entry of a form of a descriptor, or the one to be used for it; `wide`: it takes two places. */
static inline unsigned find_kept(struct kept_columns *all, u64 form, u64 descriptor, bool wide)
{
    for (unsigned k = 0; k < KEPT; k++)
        if (all->entry[k].form == form && all->entry[k].descriptor == descriptor)
            return k;
    unsigned at = all->next++ % KEPT;
    if (wide)
        at &= ~1u, all->next = at + 2;
    all->entry[at].form = 0;
    if (wide)
        all->entry[at + 1].form = 0;
    return at;
}

#endif
