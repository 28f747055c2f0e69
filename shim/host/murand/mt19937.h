/* MT19937's states and the leaps between them. */
#ifndef CUMU_HOST_MURAND_MT19937_H
#define CUMU_HOST_MURAND_MT19937_H

#include <stdint.h>

enum {
    MT_WORDS = 624,
    MT_MIDDLE = 397,
    MT_DEGREE = 19937,
    MT_TERMS = MT_DEGREE / 64 + 1,       /* 64-bit words of a polynomial below that degree */
    MT_STREAM = MT_DEGREE + MT_WORDS + 8 /* words that a leap is made of, and a few more */
};

/* Squares a polynomial so many times, modulo the generator's characteristic one. Bit j of word j / 64 is the
 * coefficient of t^j. */
void mt_square(uint64_t polynomial[MT_TERMS], unsigned times);

/* The state as many steps after `state` as t has in the polynomial. The buffer is for
 * this function to use. */
struct mt_buffer {
    uint32_t stream[8][MT_STREAM];
    const uint32_t *picked[MT_DEGREE];
};
void mt_leap(const uint64_t polynomial[MT_TERMS], const uint32_t state[MT_WORDS], uint32_t out[MT_WORDS],
             struct mt_buffer *buffer);

/* Word i + 624 of the sequence of states, of words i, i + 1 and i + 397. */
static inline uint32_t mt_next(uint32_t oldest, uint32_t old, uint32_t middle)
{
    uint32_t y = (oldest & 0x80000000) | (old & 0x7fffffff);
    return middle ^ y >> 1 ^ (0x9908b0df & (0 - (y & 1)));
}

#endif
