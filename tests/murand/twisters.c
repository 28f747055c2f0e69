/* MT19937 and MTGP32 of the CPU muRAND: against the textbook's loop, and numbers of cuRAND's host generators. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "murand/generator.h"

enum { ROW = 65536, N = 3 * ROW };
static unsigned numbers[N], again[N];

/* The textbook's generator, one number at a time, with remainders for indices. */
static struct {
    uint32_t at[624];
    int next;
} book;
static void book_seed(uint32_t seed)
{
    book.next = 0;
    for (uint32_t i = 0; i < 624; seed = 1812433253 * (seed ^ seed >> 30) + ++i)
        book.at[i] = seed;
}
static uint32_t book_number(void)
{
    int i = book.next, j = (i + 1) % 624;
    uint32_t y = (book.at[i] & 0x80000000) + (book.at[j] & 0x7fffffff), x = book.at[(i + 397) % 624] ^ y / 2;
    if (y % 2)
        x ^= 0x9908b0df;
    book.at[i] = x;
    book.next = j;
    x ^= x >> 11;
    x ^= (x << 7) & 0x9d2c5680;
    x ^= (x << 15) & 0xefc60000;
    return x ^ x >> 18;
}

static int ascending(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return x < y ? -1 : x > y;
}

/* The first generator's numbers, eight a row, are the textbook's in another order, 624 after 624. */
static void mt19937(void)
{
    enum { STATES = 2, ROWS = 78 * STATES, FAR = 10000 };
    static unsigned *many, got[624], want[624];
    murandGenerator_t g = host(MURAND_RNG_PSEUDO_MT19937);
    book_seed(5489);
    for (int i = 1; i < FAR; i++)
        book_number();
    EXPECT(book_number() == 4123659995); /* as the C++ standard says of its 10000th number */

    OK(murandSetPseudoRandomGeneratorSeed(g, 5489));
    OK(murandGenerate(g, numbers, 2000));
    EXPECT(numbers[0] == 3499211612 && numbers[1] == 2464257528 && numbers[9] == 924617084);
    EXPECT(hash(numbers, 2000 * sizeof *numbers) == 0xdda5e9c3e6c5c7b8);
    many = malloc(sizeof *many * ROWS * ROW);
    EXPECT(many);
    OK(murandSetPseudoRandomGeneratorSeed(g, 5489)); /* the same seed changes nothing */
    OK(murandGenerate(g, many + 2000, (size_t)ROWS * ROW - 2000));
    memcpy(many, numbers, 2000 * sizeof *many);
    EXPECT(hash(many, N * sizeof *many) == 0xc609bdffdd7013da); /* all of the 8192 generators */
    book_seed(5489);
    for (int s = 0; s < STATES; s++) {
        for (int i = 0; i < 624; i++) {
            got[i] = many[(size_t)(s * 78 + i / 8) * ROW + (size_t)i % 8];
            want[i] = book_number();
        }
        EXPECT(got[0] == want[0] && got[8] == want[1] && got[16] == want[2] && got[9] == want[8]);
        qsort(got, 624, sizeof *got, ascending);
        qsort(want, 624, sizeof *want, ascending);
        EXPECT(!memcmp(got, want, sizeof got));
    }
    OK(murandSetPseudoRandomGeneratorSeed(g, 5490)); /* another begins anew */
    OK(murandSetPseudoRandomGeneratorSeed(g, 5489));
    OK(murandGenerate(g, again, 2000));
    EXPECT(!memcmp(numbers, again, 2000 * sizeof *again));
    free(many);
    OK(murandDestroyGenerator(g));
}

static void mtgp32(void)
{
    murandGenerator_t g = host(MURAND_RNG_PSEUDO_MTGP32);
    OK(murandSetPseudoRandomGeneratorSeed(g, 77));
    OK(murandGenerate(g, numbers, 120000));
    EXPECT(numbers[0] == 2854946878 && numbers[256] == 265482502 && numbers[49152] == 3293200585);
    EXPECT(hash(numbers, 120000 * sizeof *numbers) == 0x5fda2dab8b04b47c);
    OK(murandSetPseudoRandomGeneratorSeed(g, 0x123456789abcdef)); /* both its halves count */
    OK(murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_LEGACY));
    OK(murandGenerate(g, numbers, 40000));
    EXPECT(hash(numbers, 40000 * sizeof *numbers) == 0xf4365b6254273105);
    OK(murandDestroyGenerator(g));
}

/* A number a draw, however it is asked for; normal ones are the inverse of their integral. */
static void kinds(murandRngType_t type, const double *normals, const unsigned *poisson)
{
    enum { COUNT = 500 };
    static double d[COUNT];
    static float f[COUNT];
    murandGenerator_t g = host(type);
    OK(murandSetPseudoRandomGeneratorSeed(g, 5));
    OK(murandGenerate(g, numbers, 5 * COUNT));
    OK(murandSetPseudoRandomGeneratorSeed(g, 6));
    OK(murandSetPseudoRandomGeneratorSeed(g, 5));
    OK(murandGenerateUniform(g, f, 7));
    OK(murandGenerateUniform(g, f, COUNT - 7));
    for (int i = 0; i < COUNT - 7; i++)
        EXPECT(fabs((double)f[i] - (numbers[7 + i] + 0.5) / 4294967296.0) < 1e-7);
    OK(murandGenerateUniformDouble(g, d, COUNT));
    double first = type == MURAND_RNG_PSEUDO_MTGP32 ? 1 : 0.5;
    for (int i = 0; i < COUNT; i++)
        EXPECT(d[i] == (numbers[COUNT + i] + first) / 4294967296.0);
    OK(murandGenerateNormalDouble(g, d, COUNT - 1, 10, 2)); /* no pairs: odd counts will do */
    for (int i = 0; i < COUNT - 1; i++) {
        double p = 0.5 * erfc(-(d[i] - 10) / 2 / sqrt(2));
        EXPECT(fabs(p - (numbers[2 * COUNT + i] + 0.5) / 4294967296.0) < 1e-6);
    }
    OK(murandGenerateLogNormal(g, f, COUNT, 0, 1));
    for (int i = 0; i < COUNT; i++) {
        double p = 0.5 * erfc(-log((double)f[i]) / sqrt(2));
        EXPECT(fabs(p - (numbers[3 * COUNT - 1 + i] + 0.5) / 4294967296.0) < 1e-6);
    }
    OK(murandSetPseudoRandomGeneratorSeed(g, 6));
    OK(murandSetPseudoRandomGeneratorSeed(g, 5));
    OK(murandGenerateNormalDouble(g, d, 3, 0, 1));
    for (int i = 0; i < 3; i++)
        EXPECT(fabs(d[i] - normals[i]) < (type == MURAND_RNG_PSEUDO_MTGP32 ? 3e-7 : 1e-14));
    OK(murandSetPseudoRandomGeneratorSeed(g, 6));
    OK(murandSetPseudoRandomGeneratorSeed(g, 5));
    OK(murandGeneratePoisson(g, again, 6, 5000));
    EXPECT(!memcmp(again, poisson, 6 * sizeof *again));
    IS(murandSetGeneratorOffset(g, 1), MURAND_STATUS_TYPE_ERROR);
    IS(murandSetQuasiRandomGeneratorDimensions(g, 1), MURAND_STATUS_TYPE_ERROR);
    IS(murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_SEEDED), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_BEST),
       type == MURAND_RNG_PSEUDO_MTGP32 ? 0 : MURAND_STATUS_OUT_OF_RANGE);
    IS(murandGenerateLongLong(g, (unsigned long long *)numbers, 2), MURAND_STATUS_TYPE_ERROR);
    OK(murandDestroyGenerator(g));
}

/* On a stream, cut at any place. */
static void streams(murandRngType_t type)
{
    enum { COUNT = 5000 };
    unsigned *device;
    musaStream_t s;
    murandGenerator_t g = host(type), h;
    OK(murandGenerate(g, numbers, COUNT));
    OK(musaMalloc((void **)&device, COUNT * sizeof *device));
    OK(musaStreamCreateWithFlags(&s, musaStreamNonBlocking));
    OK(murandCreateGenerator(&h, type));
    OK(murandSetStream(h, s));
    for (int at = 0, n = 1; at < COUNT; at += n, n = n * 7 / 2 + 1) {
        n = n < COUNT - at ? n : COUNT - at;
        OK(murandGenerate(h, device + at, (size_t)n));
    }
    OK(murandDestroyGenerator(h));
    OK(musaMemcpyAsync(again, device, COUNT * sizeof *device, musaMemcpyDeviceToHost, s));
    OK(musaStreamSynchronize(s));
    EXPECT(!memcmp(numbers, again, COUNT * sizeof *again));
    OK(musaStreamDestroy(s));
    OK(musaFree(device));
    OK(murandDestroyGenerator(g));
}

int main(void)
{
    mt19937();
    mtgp32();
    kinds(MURAND_RNG_PSEUDO_MT19937, (const double[]){-0.7654790397351992, -0.5967292120352649, -0.29653947451170704},
          (const unsigned[]){4946, 4958, 4979, 5050, 5049, 5009});
    kinds(MURAND_RNG_PSEUDO_MTGP32, (const double[]){1.0630450248718262, -0.5766523480415344, -1.7147183418273926},
          (const unsigned[]){5075, 4959, 4879, 5021, 4950, 4952});
    streams(MURAND_RNG_PSEUDO_MT19937);
    streams(MURAND_RNG_PSEUDO_MTGP32);
    return check_end("Mersenne twisters of the CPU muRAND");
}
