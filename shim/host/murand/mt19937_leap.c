/* Leaps of MT19937 (Haramoto and others 2008): a state many steps on is a sum of the next 19937 ones, which a
 * polynomial over two elements picks. */
#include <string.h>

#include "host/murand/mt19937.h"
#include "host/murand/murand.h"

typedef uint64_t product[2 * MT_TERMS];

static void add(uint64_t *to, const uint64_t *from, unsigned words, unsigned shift)
{
    for (unsigned w = 0; w < words; w++) {
        to[w + shift / 64] ^= from[w] << shift % 64;
        if (shift % 64)
            to[w + shift / 64 + 1] ^= from[w] >> (64 - shift % 64);
    }
}

/* p times t^a + t^b. */
static void times(product p, unsigned a, unsigned b)
{
    product sum = {0};
    add(sum, p, MT_TERMS, a);
    add(sum, p, MT_TERMS, b);
    memcpy(p, sum, sizeof sum);
}

/* Exponents of the characteristic polynomial but its highest, by the formula of Matsumoto and Nishimura (1998):
 * with g = t^623 + t^396, h = t^624 + t^397 and the twist's constant a, it is
 * h g^31 + a_0 h g^30 + ... + a_30 h + a_31. */
static struct {
    unsigned count;
    unsigned short at[160];
} terms;

static void characteristic(void)
{
    const uint32_t twist = 0x9908b0df;
    product sum = {0}, power = {1}; /* h g^k, from k = 0 on */
    sum[0] = twist >> 31;
    times(power, 624, 397);
    for (int k = 0; k <= 31; k++) {
        if (k == 31 || (twist >> (30 - k) & 1))
            add(sum, power, MT_TERMS, 0);
        times(power, 623, 396);
    }
    for (unsigned e = 0; e < MT_DEGREE && terms.count < sizeof terms.at / sizeof *terms.at; e++)
        if (sum[e / 64] >> e % 64 & 1)
            terms.at[terms.count++] = (unsigned short)e;
}

/* The highest word goes first: what it is replaced by is at least 227 bits lower. */
static void reduce(product p)
{
    for (unsigned w = 2 * MT_TERMS; w-- >= MT_TERMS;) {
        unsigned low = w == MT_TERMS - 1 ? MT_DEGREE % 64 : 0;
        uint64_t high = p[w] >> low;
        p[w] ^= high << low;
        for (unsigned i = 0; high && i < terms.count; i++)
            add(p, &high, 1, 64 * w + low - MT_DEGREE + terms.at[i]);
    }
}

void mt_square(uint64_t p[MT_TERMS], unsigned times)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, characteristic);
    for (unsigned i = 0; i < times; i++) { /* a square has the bits of what is squared, with room between them */
        product square = {0};
        for (unsigned w = 0; w < 2 * MT_TERMS; w++) {
            uint64_t x = (uint32_t)(p[w / 2] >> w % 2 * 32);
            x = (x | x << 16) & 0x0000ffff0000ffff;
            x = (x | x << 8) & 0x00ff00ff00ff00ff;
            x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
            x = (x | x << 2) & 0x3333333333333333;
            square[w] = (x | x << 1) & 0x5555555555555555;
        }
        reduce(square);
        memcpy(p, square, MT_TERMS * sizeof *p);
    }
}

static unsigned bits(const uint64_t polynomial[MT_TERMS], unsigned at)
{
    uint64_t low = polynomial[at / 64] >> at % 64;
    if (at % 64 > 60 && at / 64 + 1 < MT_TERMS)
        low |= polynomial[at / 64 + 1] << (64 - at % 64);
    return low & 15;
}

/* Words that are summed up in registers. */
typedef uint32_t some __attribute__((vector_size(64)));
enum { BLOCK = 13, PER = sizeof(some) / sizeof(uint32_t), BLOCKS = MT_WORDS / (BLOCK * PER) };

/* Four coefficients at a time, from an odd one on: of the stream and its sums with itself, shifted by up to three. */
MURAND_VECTOR void mt_leap(const uint64_t polynomial[MT_TERMS], const uint32_t state[MT_WORDS], uint32_t out[MT_WORDS],
                           struct mt_buffer *buffer)
{
    uint32_t(*stream)[MT_STREAM] = buffer->stream;
    unsigned picked = 0;
    memcpy(stream[0], state, MT_WORDS * sizeof *state);
    for (unsigned i = MT_WORDS; i < MT_STREAM; i++)
        stream[0][i] = mt_next(stream[0][i - MT_WORDS], stream[0][i - MT_WORDS + 1],
                               stream[0][i - MT_WORDS + MT_MIDDLE]);
    for (unsigned s = 1; s < 8; s++) {
        unsigned by = s >= 4 ? 3 : s >= 2 ? 2 : 1; /* the highest shift; the rest of the sum is there */
        const uint32_t *lower = stream[s >= 4 ? s - 4 : s >= 2 ? s - 2 : 0];
        for (unsigned i = 0; i < MT_STREAM - 3; i++)
            stream[s][i] = lower[i] ^ stream[0][i + by];
    }
    for (unsigned j = 0, four; j < MT_DEGREE; j += four & 1 ? 4 : 1)
        if ((four = bits(polynomial, j)) & 1)
            buffer->picked[picked++] = stream[four >> 1] + j;
    for (unsigned b = 0; b < BLOCKS; b++) {
        some sum[BLOCK] = {0};
        for (unsigned p = 0; p < picked; p++)
            for (unsigned k = 0; k < BLOCK; k++) {
                some x;
                memcpy(&x, buffer->picked[p] + (b * BLOCK + k) * PER, sizeof x);
                sum[k] ^= x;
            }
        memcpy(out + b * BLOCK * PER, sum, sizeof sum);
    }
}
