/* Sobol generators of the CPU muRAND: against sums of direction vectors worked out another way, numbers of cuRAND's
 * host generators, and the even spread that makes such points what they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "murand/generator.h"

enum { ALL = 20000, N = 4 * ALL };
static unsigned numbers[N], again[N];
static unsigned long long wide[N];

/* Every stretch of 2^k points that begins at a multiple of 2^k has one in each of the 2^k parts of [0, 1). */
static void spread(const unsigned *x, unsigned count)
{
    static unsigned char seen[1 << 12];
    unsigned k = 31 - (unsigned)__builtin_clz(count), missing = 0;
    memset(seen, 0, sizeof seen);
    for (unsigned i = 0; i < count; i++)
        seen[x[i] >> (32 - k)] = 1;
    for (unsigned i = 0; i < count; i++)
        missing += !seen[i];
    IS(missing, 0);
}

/* The first two dimensions have short formulas: digits mirrored; Pascal's triangle modulo 2 (Joe and Kuo: polynomial
 * 1 + t, m = 1). */
static unsigned mirrored(unsigned place)
{
    unsigned x = 0;
    for (int b = 0; b < 32; b++)
        x |= (place >> b & 1) << (31 - b);
    return x;
}
static unsigned pascal(unsigned place)
{
    unsigned x = 0;
    for (unsigned row = 0; row < 32; row++)
        for (unsigned column = row; column < 32; column++)
            x ^= (place >> column & (row & ~column ? 0 : 1)) << (31 - row);
    return x;
}

static void points(void)
{
    murandGenerator_t g = host(MURAND_RNG_QUASI_SOBOL32), h = host(MURAND_RNG_QUASI_SOBOL64);
    OK(murandSetQuasiRandomGeneratorDimensions(g, 2));
    OK(murandGenerate(g, numbers, 2 * 5000));
    for (unsigned i = 0; i < 5000; i++) {
        IS(numbers[i], mirrored(i ^ i >> 1));
        IS(numbers[5000 + i], pascal(i ^ i >> 1));
    }
    OK(murandSetGeneratorOffset(g, 1000003));
    OK(murandSetQuasiRandomGeneratorDimensions(g, ALL));
    OK(murandGenerate(g, numbers, N));
    EXPECT(numbers[0] == 1187450880 && numbers[400] == 3390533632 && numbers[79999] == 1589612544);
    EXPECT(hash(numbers, sizeof numbers) == 0x006cebfdc8d25e35);
    OK(murandSetQuasiRandomGeneratorDimensions(h, ALL));
    OK(murandSetGeneratorOffset(h, (1ull << 40) + 1000003));
    OK(murandGenerateLongLong(h, wide, N));
    EXPECT(hash(wide, sizeof wide) == 0x0a8ceed59dfede95);
    OK(murandSetQuasiRandomGeneratorDimensions(g, 1)); /* places have 32 bits */
    OK(murandSetGeneratorOffset(g, (1ull << 32) - 2));
    OK(murandGenerate(g, numbers, 4));
    EXPECT(numbers[0] == 2147483649 && numbers[1] == 1 && numbers[2] == 0 && numbers[3] == 2147483648);
    OK(murandSetGeneratorOffset(h, 0));
    OK(murandSetGeneratorOffset(g, 0));
    OK(murandSetQuasiRandomGeneratorDimensions(h, 700));
    OK(murandSetQuasiRandomGeneratorDimensions(g, 700));
    OK(murandGenerate(g, numbers, 70000));
    OK(murandGenerateLongLong(h, wide, 70000));
    for (int i = 0; i < 70000; i++)
        IS(wide[i] >> 32, numbers[i]);
    OK(murandDestroyGenerator(g));
    OK(murandDestroyGenerator(h));
}

/* Requests follow each other in each dimension, in any number of pieces, on streams and on several threads. */
static void cuts(murandRngType_t type)
{
    enum { DIMENSIONS = 3, POINTS = 26000 };
    static double whole[DIMENSIONS][POINTS], part[DIMENSIONS * POINTS];
    murandGenerator_t g = host(type), h;
    double *device;
    musaStream_t s;
    OK(murandSetQuasiRandomGeneratorDimensions(g, DIMENSIONS));
    OK(murandSetGeneratorOffset(g, 123));
    OK(murandGenerateUniformDouble(g, whole[0], DIMENSIONS * POINTS));
    OK(musaMalloc((void **)&device, sizeof part));
    OK(musaStreamCreateWithFlags(&s, musaStreamNonBlocking));
    OK(murandCreateGenerator(&h, type));
    OK(murandSetStream(h, s));
    OK(murandSetQuasiRandomGeneratorDimensions(h, DIMENSIONS));
    OK(murandSetGeneratorOffset(h, 123));
    for (int at = 0, n = 1; at < POINTS; at += n, n = n * 5 / 2 + 1) {
        n = n < POINTS - at ? n : POINTS - at;
        OK(murandGenerateUniformDouble(h, device, (size_t)n * DIMENSIONS));
        OK(musaMemcpyAsync(part, device, (size_t)n * DIMENSIONS * sizeof *part, musaMemcpyDeviceToHost, s));
        OK(musaStreamSynchronize(s));
        for (int d = 0; d < DIMENSIONS; d++)
            EXPECT(!memcmp(whole[d] + at, part + (size_t)d * (size_t)n, (size_t)n * sizeof *part));
    }
    OK(murandDestroyGenerator(h));
    OK(musaStreamDestroy(s));
    OK(musaFree(device));
    OK(murandDestroyGenerator(g));
}

/* Scrambled points are spread as evenly, and are others; of 32 bits and of 64 they are the same. */
static void scrambled(void)
{
    enum { DIMENSIONS = 40, POINTS = 1024 };
    murandGenerator_t g = host(MURAND_RNG_QUASI_SCRAMBLED_SOBOL32), h = host(MURAND_RNG_QUASI_SCRAMBLED_SOBOL64);
    murandGenerator_t plain = host(MURAND_RNG_QUASI_DEFAULT);
    OK(murandSetQuasiRandomGeneratorDimensions(plain, DIMENSIONS));
    OK(murandSetQuasiRandomGeneratorDimensions(g, DIMENSIONS));
    OK(murandSetQuasiRandomGeneratorDimensions(h, DIMENSIONS));
    OK(murandGenerate(plain, again, DIMENSIONS * POINTS));
    OK(murandGenerate(g, numbers, DIMENSIONS * POINTS));
    OK(murandGenerateLongLong(h, wide, DIMENSIONS * POINTS));
    unsigned same = 0;
    for (int i = 0; i < DIMENSIONS * POINTS; i++) {
        IS(wide[i] >> 32, numbers[i]);
        same += numbers[i] == again[i];
    }
    EXPECT(same < 5);
    for (unsigned d = 0; d < DIMENSIONS; d++) {
        spread(again + d * POINTS, POINTS);
        for (unsigned from = 0; from < POINTS; from += 64)
            spread(numbers + d * POINTS + from, 64);
        spread(numbers + d * POINTS, POINTS);
        /* Sums of points at places a, b, c and a ^ b ^ c (in Gray's code) are 0: shifted, not stirred. */
        for (unsigned i = 1; i < 500; i++) {
            unsigned a = i, b = 2 * i, c = a ^ b, at[3] = {a, b, c};
            for (int k = 0; k < 3; k++)
                for (unsigned shift = 1; shift < 16; shift *= 2)
                    at[k] ^= at[k] >> shift;
            const unsigned *x = numbers + d * POINTS;
            if (at[0] < POINTS && at[1] < POINTS && at[2] < POINTS)
                IS(x[at[0]] ^ x[at[1]] ^ x[at[2]] ^ x[0], 0);
        }
    }
    OK(murandDestroyGenerator(plain));
    OK(murandDestroyGenerator(g));
    OK(murandDestroyGenerator(h));
}

/* From place 3 on, as cuRAND gives them. */
static void kinds(void)
{
    static const double normals[2][3] = {{-0.6744897498297384, -0.31863936365736895, 1.1503493809415335},
                                         {-0.6744897501960816, -0.31863936396437503, 1.1503493803760088}};
    static const unsigned poisson[2][6] = {{4952, 4977, 5081, 5022, 4919, 4937}, {4952, 4977, 5081, 5023, 4919, 4937}};
    static const unsigned hundred[6] = {93, 97, 112, 103, 89, 91};
    static const double first[2] = {0x1.00000004p-2, 0x1.0000000000001p-2};
    for (int t = 0; t < 2; t++) {
        murandGenerator_t g = host(t ? MURAND_RNG_QUASI_SOBOL64 : MURAND_RNG_QUASI_SOBOL32);
        double d[3];
        float f[3];
        OK(murandSetGeneratorOffset(g, 3));
        OK(murandGenerateUniformDouble(g, d, 3));
        EXPECT(d[0] == first[t]);
        OK(murandSetGeneratorOffset(g, 3));
        OK(murandGenerateUniform(g, f, 3));
        EXPECT(f[0] == 0.25f && f[1] == 0.375f && f[2] == 0.875f);
        OK(murandSetGeneratorOffset(g, 3));
        OK(murandGenerateNormalDouble(g, d, 3, 0, 1));
        for (int i = 0; i < 3; i++)
            EXPECT(fabs(d[i] - normals[t][i]) < 1e-14);
        OK(murandSetGeneratorOffset(g, 3));
        OK(murandGenerateNormal(g, f, 3, 0, 1));
        for (int i = 0; i < 3; i++)
            EXPECT(fabs((double)f[i] - normals[t][i]) < 3e-7);
        OK(murandSetGeneratorOffset(g, 3));
        OK(murandGenerateLogNormalDouble(g, d, 3, 1, 2));
        for (int i = 0; i < 3; i++)
            EXPECT(fabs(log(d[i]) - (1 + 2 * normals[t][i])) < 1e-13);
        OK(murandSetGeneratorOffset(g, 3));
        OK(murandGeneratePoisson(g, again, 6, 5000));
        EXPECT(!memcmp(again, poisson[t], sizeof poisson[t]));
        OK(murandSetGeneratorOffset(g, 3));
        OK(murandGeneratePoisson(g, again, 6, 100));
        EXPECT(!memcmp(again, hundred, sizeof hundred));
        OK(murandDestroyGenerator(g));
    }
}

static void bad(void)
{
    murandGenerator_t g = host(MURAND_RNG_QUASI_SOBOL32), h = host(MURAND_RNG_QUASI_SCRAMBLED_SOBOL64);
    IS(murandSetQuasiRandomGeneratorDimensions(g, 0), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandSetQuasiRandomGeneratorDimensions(g, ALL + 1), MURAND_STATUS_OUT_OF_RANGE);
    IS(murandSetQuasiRandomGeneratorDimensions(NULL, 1), MURAND_STATUS_NOT_INITIALIZED);
    IS(murandSetPseudoRandomGeneratorSeed(g, 1), MURAND_STATUS_TYPE_ERROR);
    IS(murandSetGeneratorOrdering(g, MURAND_ORDERING_PSEUDO_DEFAULT), MURAND_STATUS_OUT_OF_RANGE);
    OK(murandSetGeneratorOrdering(g, MURAND_ORDERING_QUASI_DEFAULT));
    IS(murandGenerateLongLong(g, wide, 2), MURAND_STATUS_TYPE_ERROR);
    IS(murandGenerate(h, numbers, 2), MURAND_STATUS_TYPE_ERROR);
    OK(murandSetQuasiRandomGeneratorDimensions(g, 7));
    IS(murandGenerate(g, numbers, 20), MURAND_STATUS_LENGTH_NOT_MULTIPLE);
    IS(murandGenerateUniform(g, (float *)numbers, 8), MURAND_STATUS_LENGTH_NOT_MULTIPLE);
    IS(murandGeneratePoisson(g, numbers, 6, 3), MURAND_STATUS_LENGTH_NOT_MULTIPLE);
    OK(murandGenerate(g, numbers, 21)); /* what was refused has not moved it */
    EXPECT(numbers[0] == 0 && numbers[1] == 1u << 31);
    OK(murandGenerate(g, NULL, 0));
    OK(murandDestroyGenerator(g));
    OK(murandDestroyGenerator(h));
}

int main(void)
{
    points();
    cuts(MURAND_RNG_QUASI_SOBOL32);
    cuts(MURAND_RNG_QUASI_SCRAMBLED_SOBOL64);
    scrambled();
    kinds();
    bad();
    return check_end("Sobol generators of the CPU muRAND");
}
