/* cuRAND on the CPU muRAND beside plain C of the same algorithms (-O3 -march=native), into the same memory:
 * ns a number, ratios of the process's CPU time, that of all threads; the call's part is waited for. */
#include "library.h"

#include <math.h>
#include <stdint.h>

enum { N = 1 << 22, ROUNDS = 7, XORWOW = 101, MRG32K3A = 121, MTGP32 = 141, PHILOX = 161, SOBOL32 = 201 };
typedef int fill_f(void *, void *, size_t);
typedef int normal_f(void *, float *, size_t, float, float);

static double now(void) { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

/* ---- what one would write ---------------------------------------------------------------------- */

static void philox(uint32_t out[4], uint64_t counter)
{
    uint32_t c[4] = {(uint32_t)counter, (uint32_t)(counter >> 32), 0, 0}, k0 = 1, k1 = 2;
    for (int r = 0; r < 10; r++, k0 += 0x9e3779b9, k1 += 0xbb67ae85) {
        uint64_t x = 0xd2511f53ull * c[0], y = 0xcd9e8d57ull * c[2];
        uint32_t next[4] = {(uint32_t)(y >> 32) ^ c[1] ^ k0, (uint32_t)y, (uint32_t)(x >> 32) ^ c[3] ^ k1, (uint32_t)x};
        for (int i = 0; i < 4; i++)
            c[i] = next[i];
    }
    for (int i = 0; i < 4; i++)
        out[i] = c[i];
}
static void plain_philox(void *to)
{
    float *out = to;
    for (uint64_t i = 0; i < N / 4; i++) {
        uint32_t x[4];
        philox(x, i);
        for (int k = 0; k < 4; k++)
            out[4 * i + (uint64_t)k] = (float)x[k] * 0x1p-32f + 0x1p-33f;
    }
}
static void plain_normal(void *to)
{
    float *out = to;
    for (uint64_t i = 0; i < N / 4; i++) {
        uint32_t x[4];
        philox(x, i);
        for (int k = 0; k < 4; k += 2) {
            float far = sqrtf(-2 * logf((float)x[k] * 0x1p-32f + 0x1p-33f));
            float turn = (float)(2 * M_PI) * ((float)x[k + 1] * 0x1p-32f + 0x1p-33f);
            out[4 * i + (uint64_t)k] = far * sinf(turn);
            out[4 * i + (uint64_t)k + 1] = far * cosf(turn);
        }
    }
}
static void plain_xorwow(void *to)
{
    float *out = to;
    uint32_t v[5] = {123456789, 362436069, 521288629, 88675123, 5783321}, d = 6615241;
    for (size_t i = 0; i < N; i++) {
        uint32_t t = v[0] ^ v[0] >> 2;
        for (int k = 0; k < 4; k++)
            v[k] = v[k + 1];
        v[4] = (v[4] ^ v[4] << 4) ^ (t ^ t << 1);
        out[i] = (float)(v[4] + (d += 362437)) * 0x1p-32f + 0x1p-33f;
    }
}
static void plain_mrg32k3a(void *to)
{
    float *out = to;
    const int64_t m = 4294967087, n = 4294944443;
    int64_t s[6] = {12345, 12345, 12345, 12345, 12345, 12345};
    for (size_t i = 0; i < N; i++) {
        int64_t x = (1403580 * s[1] - 810728 * s[0]) % m, y = (527612 * s[5] - 1370589 * s[3]) % n;
        x += x < 0 ? m : 0;
        y += y < 0 ? n : 0;
        s[0] = s[1], s[1] = s[2], s[2] = x;
        s[3] = s[4], s[4] = s[5], s[5] = y;
        out[i] = (float)((double)(x > y ? x - y : x - y + m) * 2.3283065498378288e-10);
    }
}
static void plain_mt19937(void *to)
{
    float *out = to;
    static uint32_t s[624];
    int at = 624;
    s[0] = 5489;
    for (uint32_t i = 1; i < 624; i++)
        s[i] = 1812433253 * (s[i - 1] ^ s[i - 1] >> 30) + i;
    for (size_t i = 0; i < N; i++) {
        for (int k = 0; at == 624 && k < 624; k++) {
            uint32_t y = (s[k] & 0x80000000) | (s[(k + 1) % 624] & 0x7fffffff);
            s[k] = s[(k + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
        }
        at %= 624;
        uint32_t x = s[at++];
        x ^= x >> 11;
        x ^= x << 7 & 0x9d2c5680;
        x ^= x << 15 & 0xefc60000;
        out[i] = (float)(x ^ x >> 18) * 0x1p-32f + 0x1p-33f;
    }
}
static void plain_sobol(void *to)
{
    float *out = to;
    uint32_t x = 0;
    for (uint32_t i = 0; i < N; i++) {
        out[i] = (float)x * 0x1p-32f + 0x1p-33f;
        x ^= 0x80000000u >> __builtin_ctz(~i);
    }
}

int main(void)
{
    static const struct {
        const char *name;
        int type, normal;
        void (*plain)(void *);
    } cases[] = {{"philox_uniform", PHILOX, 0, plain_philox},     {"philox_normal", PHILOX, 1, plain_normal},
                 {"xorwow_uniform", XORWOW, 0, plain_xorwow},     {"mrg32k3a_uniform", MRG32K3A, 0, plain_mrg32k3a},
                 {"mtgp32_vs_mt19937", MTGP32, 0, plain_mt19937}, {"sobol32_uniform", SOBOL32, 0, plain_sobol}};
    int (*create)(void **, int) = in("libcurand.so.10", "curandCreateGenerator");
    int (*destroy)(void *) = in("libcurand.so.10", "curandDestroyGenerator");
    fill_f *uniform = in("libcurand.so.10", "curandGenerateUniform");
    normal_f *normal = in("libcurand.so.10", "curandGenerateNormal");
    int (*allocate)(void **, size_t) = in("libcudart.so.12", "cudaMalloc");
    int (*synchronize)(void *) = in("libcudart.so.12", "cudaStreamSynchronize");
    void *data, *g;
    if (allocate(&data, N * sizeof(float)))
        return 1;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double best[2] = {1e9, 1e9};
        if (create(&g, cases[c].type))
            return 1;
        for (int r = -1; r < ROUNDS; r++) { /* the first makes the lanes */
            double t = now();
            cases[c].plain(data);
            double half = now();
            if ((cases[c].normal ? normal(g, data, N, 0, 1) : uniform(g, data, N)) || synchronize(NULL))
                return 1;
            double took[2] = {half - t, now() - half};
            for (int k = 0; k < 2 && r >= 0; k++)
                best[k] = took[k] < best[k] ? took[k] : best[k];
        }
        destroy(g);
        printf("# %s: plain C %.2f ns a number, cuRAND %.2f ns, %.1f GB/s\n", cases[c].name, best[0] / N * 1e9,
               best[1] / N * 1e9, N * sizeof(float) / best[1] * 1e-9);
        printf("bench murand.%s%s %.3f ratio\n", cases[c].name, cases[c].type == MTGP32 ? "" : "_vs_plain",
               best[1] / best[0]);
    }
    return 0;
}
