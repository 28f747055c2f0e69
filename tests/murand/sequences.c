/* The CPU muRAND: numbers that cuRAND's host generators give for the same seeds, orders and offsets; that requests can
 * be cut anywhere, on streams and in graphs; distributions against their theory; bad input. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "murand/generator.h"

static const murandRngType_t types[] = {MURAND_RNG_PSEUDO_XORWOW, MURAND_RNG_PSEUDO_MRG32K3A,
                                        MURAND_RNG_PSEUDO_PHILOX4_32_10};
enum { TYPES = 3, N = 400000 };
static unsigned bits[N], again[N];

/* Measured with curandCreateGeneratorHost of cuRAND 10.4, at these places. */
enum { PLACES = 18 };
static const int place[PLACES] = {0,    1,    2,     3,     4,     5,      4095,   4096,   4097,
                                  8191, 8192, 16384, 65536, 81920, 131072, 200000, 262144, 399999};
static const struct {
    murandRngType_t type;
    int ordering;
    unsigned at[PLACES];
} known[] = {
    {MURAND_RNG_PSEUDO_DEFAULT,
     MURAND_ORDERING_PSEUDO_DEFAULT,
     {3179217846, 3955638199, 167591721, 4161663997, 3973448494, 1917059131, 3614592305, 1883133293, 1977250130,
      1390773282, 2220552389, 306521119, 1455376252, 907067221, 2175506700, 754617246, 3664895701, 2638760430}},
    {MURAND_RNG_PSEUDO_MRG32K3A,
     MURAND_ORDERING_PSEUDO_BEST,
     {545508615, 341016064, 1125210161, 2161280324, 4046639518, 2878123889, 1800196883, 1945546755, 1855405894,
      2314142367, 4117102638, 4282590515, 1438843990, 1368065476, 3449512754, 3408243890, 34897480, 269793168}},
    {MURAND_RNG_PSEUDO_MRG32K3A,
     MURAND_ORDERING_PSEUDO_LEGACY,
     {545508615, 341016064, 1125210161, 2161280324, 4046639518, 2878123889, 1800196883, 1368065476, 2063042464,
      2734301199, 1327943825, 951893240, 1284087604, 3236436360, 3622838507, 3055518006, 1570595903, 3087471809}},
    {MURAND_RNG_PSEUDO_PHILOX4_32_10,
     MURAND_ORDERING_PSEUDO_LEGACY,
     {1713891541, 3781805453, 3159862348, 2600524760, 2219120097, 4035800746, 2106658482, 2293162991, 3493947545,
      3079225508, 1295728903, 283293023, 4114379006, 2955752089, 2291152170, 1100513273, 4175744164, 4012500090}},
};
/* Of seed 1234 from offset 5 on. */
static const unsigned seeded[TYPES][6] = {
    {3732235839, 1382638835, 3362343509, 48542993, 1225999208, 3356973615},
    {1307787078, 3979394643, 1855630276, 1490292576, 3610284005, 1969578425},
    {1392278645, 3354607383, 253049307, 2336459095, 3966386679, 1896250878},
};
static const double doubles[TYPES][3] = {
    {0x1.c0f9421be076dp-2, 0x1.d769d830c7f6fp-2, 0x1.003848cfa7e53p-2},
    {0x1.041e683c5cd32p-3, 0x1.4537e009829dfp-4, 0x1.0c4560c704a41p-2},
    {0x1.c2d38d787e8d6p-1, 0x1.3601bc757ac4cp-1, 0x1.72c81c7099949p-2},
};
static const float floats[TYPES][3] = {{0x1.7afe08p-1f, 0x1.d78c8p-1f, 0x1.3fa7e6p-5f},
                                       {0x1.041e68p-3f, 0x1.4537ep-4f, 0x1.0c456p-2f},
                                       {0x1.989fa4p-2f, 0x1.c2d38cp-1f, 0x1.78af58p-1f}};
static const double normals[TYPES][4] = {
    {1.0710216055754271, 0.70846867588123497, 0.89437397512237349, -0.86693006529809447},
    {1.8460727868869959, -0.84792482415947401, 0.27734792607997272, -2.2337451499587888},
    {-0.31039573600037634, -0.39766713631503542, 0.3292107012677683, 1.3868442783732757},
};

static void sequences(void)
{
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        murandGenerator_t g = host(known[k].type);
        OK(murandSetGeneratorOrdering(g, known[k].ordering));
        OK(murandGenerateSeeds(g));
        OK(murandGenerate(g, bits, N));
        for (int i = 0; i < PLACES; i++)
            IS(bits[place[i]], known[k].at[i]);
        OK(murandDestroyGenerator(g));
    }
    murandGenerator_t x = host(MURAND_RNG_PSEUDO_XORWOW); /* each lane with a seed of its own */
    OK(murandSetPseudoRandomGeneratorSeed(x, 1234));
    OK(murandSetGeneratorOrdering(x, MURAND_ORDERING_PSEUDO_SEEDED));
    OK(murandGenerate(x, bits, 10000));
    EXPECT(bits[0] == 624778773 && bits[1] == 2069044768 && bits[4095] == 3939988418 && bits[4096] == 1867875844);
    EXPECT(hash(bits, 40000) == 0xba2542a7d61646a9);
    OK(murandDestroyGenerator(x));
    for (int t = 0; t < TYPES; t++) {
        murandGenerator_t g = host(types[t]);
        double d[4];
        float f[4];
        OK(murandSetPseudoRandomGeneratorSeed(g, 1234));
        OK(murandSetGeneratorOffset(g, 5));
        OK(murandGenerate(g, again, 6));
        EXPECT(!memcmp(again, seeded[t], sizeof seeded[t]));
        OK(murandSetPseudoRandomGeneratorSeed(g, 0)); /* a seed leaves the place where it is */
        OK(murandGenerate(g, again, 4));
        OK(murandSetGeneratorOffset(g, 11));
        OK(murandGenerate(g, bits, 4));
        EXPECT(!memcmp(again, bits, 16));
        OK(murandSetGeneratorOffset(g, 0));
        OK(murandGenerateUniformDouble(g, d, 3));
        EXPECT(!memcmp(d, doubles[t], sizeof doubles[t]));
        OK(murandSetGeneratorOffset(g, 0));
        OK(murandGenerateUniform(g, f, 3));
        EXPECT(!memcmp(f, floats[t], sizeof floats[t]));
        OK(murandSetGeneratorOffset(g, 0));
        OK(murandGenerateNormalDouble(g, d, 4, 10, 2));
        for (int i = 0; i < 4; i++)
            EXPECT(fabs(d[i] - (10 + 2 * normals[t][i])) < 1e-13);
        OK(murandSetGeneratorOffset(g, 0));
        OK(murandGenerateLogNormalDouble(g, d, 4, 0, 1));
        for (int i = 0; i < 4; i++)
            EXPECT(fabs(log(d[i]) - normals[t][i]) < 1e-13);
        OK(murandDestroyGenerator(g));
    }
}

/* Numbers do not depend on how they are asked for, nor on whom. */
static void cuts(void)
{
    for (int t = 0; t < TYPES; t++) {
        murandGenerator_t g = host(types[t]);
        OK(murandSetPseudoRandomGeneratorSeed(g, 99));
        OK(murandGenerate(g, bits, N));
        OK(murandDestroyGenerator(g));
        g = host(types[t]);
        OK(murandSetPseudoRandomGeneratorSeed(g, 99));
        for (int at = 0, step = 1; at < N; at += step, step = step * 5 / 2 + 1) {
            step = step < N - at ? step : N - at;
            OK(murandGenerate(g, again + at, (size_t)step));
        }
        EXPECT(!memcmp(bits, again, sizeof bits));
        for (unsigned long long offset = 1; offset < N - 1000; offset = offset * 7 + 3) {
            OK(murandSetGeneratorOffset(g, offset));
            OK(murandGenerate(g, again, 1000));
            EXPECT(!memcmp(bits + offset, again, 1000 * sizeof *bits));
        }
        OK(murandDestroyGenerator(g));

        unsigned *device;
        musaStream_t s;
        OK(musaMalloc((void **)&device, sizeof bits));
        OK(musaStreamCreateWithFlags(&s, musaStreamNonBlocking));
        OK(murandCreateGenerator(&g, types[t]));
        OK(murandSetStream(g, s));
        OK(murandSetPseudoRandomGeneratorSeed(g, 99));
        OK(murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_DYNAMIC));
        OK(murandGenerate(g, device, N / 2));
        OK(murandGenerate(g, device + N / 2, N / 2));
        OK(murandDestroyGenerator(g));
        OK(musaMemcpyAsync(again, device, sizeof bits, musaMemcpyDeviceToHost, s));
        OK(musaStreamSynchronize(s));
        EXPECT(!memcmp(bits, again, sizeof bits));

        musaGraph_t graph;
        musaGraphExec_t exec;
        OK(murandCreateGenerator(&g, types[t]));
        OK(murandSetStream(g, s));
        OK(murandSetPseudoRandomGeneratorSeed(g, 99));
        OK(musaStreamBeginCapture(s, musaStreamCaptureModeThreadLocal));
        OK(murandGenerate(g, device, 1000));
        OK(musaStreamEndCapture(s, &graph));
        OK(musaGraphInstantiate(&exec, graph, 0));
        for (int i = 0; i < 3; i++) /* each launch goes on where the last ended */
            OK(musaGraphLaunch(exec, s));
        OK(musaStreamSynchronize(s));
        EXPECT(!memcmp(bits + 2000, device, 1000 * sizeof *bits));
        OK(murandDestroyGenerator(g));
        OK(musaGraphExecDestroy(exec));
        OK(musaGraphDestroy(graph));
        OK(musaStreamDestroy(s));
        OK(musaFree(device));
    }
}

/* Philox's normal numbers are of their places, wherever a request begins. */
static void neighbours(void)
{
    static double whole[4000], part[4000];
    static float uncut[4000], cut[4000];
    murandGenerator_t g = host(MURAND_RNG_PSEUDO_PHILOX4_32_10), h = host(MURAND_RNG_PSEUDO_PHILOX4_32_10);
    OK(murandGenerateNormalDouble(g, whole, 4000, 0, 1));
    OK(murandGenerate(h, bits, 1));
    for (int at = 1, n = 2; at + n <= 4000; at += n, n += 2)
        OK(murandGenerateNormalDouble(h, part + at, (size_t)n, 0, 1));
    EXPECT(!memcmp(whole + 1, part + 1, 3900 * sizeof *part));
    OK(murandSetGeneratorOffset(g, 0));
    OK(murandGenerateNormal(g, uncut, 4000, 0, 1));
    OK(murandSetGeneratorOffset(g, 77));
    OK(murandGenerateNormal(g, cut, 3000, 0, 1));
    EXPECT(!memcmp(uncut + 77, cut, 3000 * sizeof *cut));
    OK(murandDestroyGenerator(g));
    OK(murandDestroyGenerator(h));
}

static void moments(const char *what, const double *x, int n, double mean, double variance)
{
    double m = 0, v = 0;
    for (int i = 0; i < n; i++)
        m += x[i] / n;
    for (int i = 0; i < n; i++)
        v += (x[i] - m) * (x[i] - m) / n;
    EXPECT(fabs(m - mean) <= 5 * sqrt(variance / n) && fabs(v - variance) <= 0.03 * variance,
           "%s: mean %g, variance %g, expected %g, %g", what, m, v, mean, variance);
}

static void distributions(void)
{
    enum { COUNT = 100000, BINS = 100 };
    static double x[COUNT];
    static float f[COUNT];
    for (int t = 0; t < TYPES; t++) {
        murandGenerator_t g = host(types[t]);
        double chi = 0;
        int bin[BINS] = {0};
        OK(murandSetPseudoRandomGeneratorSeed(g, 31));
        OK(murandGenerateUniformDouble(g, x, COUNT));
        moments("uniform", x, COUNT, 0.5, 1 / 12.0);
        for (int i = 0; i < COUNT; i++) {
            EXPECT(x[i] > 0 && x[i] <= 1);
            bin[x[i] < 1 ? (int)(x[i] * BINS) : BINS - 1]++;
        }
        for (int i = 0; i < BINS; i++)
            chi += (bin[i] - COUNT / BINS) * (double)(bin[i] - COUNT / BINS) / (COUNT / BINS);
        EXPECT(chi > 50 && chi < 170); /* 99 degrees of freedom */
        OK(murandGenerateNormal(g, f, COUNT, -3, 0.5f));
        for (int i = 0; i < COUNT; i++)
            x[i] = (double)f[i];
        moments("normal", x, COUNT, -3, 0.25);
        OK(murandGenerateLogNormal(g, f, COUNT, 0, 0.25f));
        for (int i = 0; i < COUNT; i++)
            x[i] = log((double)f[i]);
        moments("log-normal", x, COUNT, 0, 0.0625);
        static const double lambda[] = {0.3, 4, 40, 700, 20000};
        for (int l = 0; l < 5; l++) {
            OK(murandGeneratePoisson(g, again, COUNT, lambda[l]));
            double zero = 0;
            for (int i = 0; i < COUNT; i++) {
                x[i] = again[i];
                zero += again[i] == 0;
            }
            moments("Poisson", x, COUNT, lambda[l], lambda[l]);
            EXPECT(fabs(zero / COUNT - exp(-lambda[l])) < 0.01);
        }
        OK(murandDestroyGenerator(g));
    }
}

static void bad(void)
{
    murandGenerator_t g = NULL, none = (void *)bits;
    float f[4];
    int v;
    IS(murandCreateGeneratorHost(&g, 7), MURAND_STATUS_TYPE_ERROR);
    IS(murandCreateGenerator(NULL, MURAND_RNG_PSEUDO_XORWOW), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandDestroyGenerator(NULL), MURAND_STATUS_NOT_INITIALIZED);
    IS(murandGenerate(none, bits, 2), MURAND_STATUS_NOT_INITIALIZED);
    IS(murandSetPseudoRandomGeneratorSeed(none, 1), MURAND_STATUS_NOT_INITIALIZED);
    g = host(MURAND_RNG_PSEUDO_MRG32K3A);
    IS(murandGenerateNormal(g, f, 3, 0, 1), MURAND_STATUS_LENGTH_NOT_MULTIPLE);
    OK(murandGenerate(g, NULL, 0));
    IS(murandGenerate(g, NULL, 1), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandGeneratePoisson(g, bits, 2, 0), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandGeneratePoisson(g, bits, 2, NAN), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandGeneratePoisson(g, bits, 2, 400001), MURAND_STATUS_OUT_OF_RANGE);
    OK(murandGeneratePoisson(g, bits, 1, 400000));
    IS(murandGenerateLongLong(g, NULL, 1), MURAND_STATUS_TYPE_ERROR);
    IS(murandSetQuasiRandomGeneratorDimensions(g, 2), MURAND_STATUS_TYPE_ERROR);
    IS(murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_SEEDED), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_DYNAMIC), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandSetGeneratorOrdering(g, MURAND_ORDERING_QUASI_DEFAULT), MURAND_STATUS_OUT_OF_RANGE);
    OK(murandDestroyGenerator(g));
    IS(murandDestroyGenerator(g), MURAND_STATUS_NOT_INITIALIZED);
    IS(murandGetVersion(NULL), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandGetProperty(3, &v), MURAND_STATUS_OUT_OF_RANGE);
}

int main(void)
{
    sequences();
    cuts();
    neighbours();
    distributions();
    bad();
    return check_end("sequences of the CPU muRAND");
}
