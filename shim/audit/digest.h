/* The digest by which a function of a known release is recognised; computed by gen, checked at run time. */
#ifndef CUMU_AUDIT_DIGEST_H
#define CUMU_AUDIT_DIGEST_H

#include <stdint.h>

enum {
    AUDIT_ANCHOR = 8, /* bytes of an anchor, which stands at a multiple of AUDIT_ALIGN */
    AUDIT_ALIGN = 16, /* of the runtime's text */
    AUDIT_COVER = 32  /* bytes of a function that its digest covers at most */
};

/* FNV-1a's step over the bytes p[i] whose bit i in mask is set: a linker changes the others, or they are past the
 * end. */
static inline uint64_t audit_digest(const uint8_t *p, uint32_t mask)
{
    uint64_t h = mask;
    for (unsigned i = 0; mask >> i && i < AUDIT_COVER; i++)
        if (mask >> i & 1)
            h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

/* The same for an anchor, which is looked for in all of a program's text: one multiplication, by 2^64 over the golden
 * ratio (Knuth). */
static inline uint64_t audit_anchor(const uint8_t *p)
{
    uint64_t h;
    __builtin_memcpy(&h, p, AUDIT_ANCHOR);
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

#endif
