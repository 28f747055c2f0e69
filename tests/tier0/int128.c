/* 128-bit integers as nvcc computes them out of carry chains (ptx/int128.cu), against the host's. Its division reads
 * the flag of sub.cc by addc, subc and madc, so the flag has to be one for all of them. */
#include "tier0/harness.h"
#include "xorshift.h"

typedef unsigned __int128 u128;
typedef __int128 s128;
enum { RESULTS = 12, THREADS = 64, BLOCKS = 48 };
static const char *const names[RESULTS] = {"a + b",        "a - b",  "a * b",  "a / b",         "a % b", "signed a / b",
                                           "signed a % b", "a << n", "a >> n", "signed a >> n", "a < b", "-a"};

static uint64_t random_bits(void)
{
    static uint64_t seed = 88172645463325252u;
    return xorshift(&seed);
}

/* Values next to powers of two, or random ones of any length, of either sign. */
static u128 operand(void)
{
    uint64_t how = random_bits();
    u128 v = how & 1 ? (u128)1 << (how >> 8 & 127) : ((u128)random_bits() << 64 | random_bits()) >> (how >> 8 & 127);
    v += (how >> 16 & 3) - (u128)1;
    return how & 2 ? -v : v;
}

static void host_ops(u128 a, u128 b, u128 *to)
{
    const unsigned n = (unsigned)b & 127;
    const bool wraps = b == (u128)-1; /* the most negative value by -1 has no quotient in C */
    const u128 want[RESULTS] = {a + b,
                                a - b,
                                a * b,
                                a / b,
                                a % b,
                                wraps ? -a : (u128)((s128)a / (s128)b),
                                wraps ? 0 : (u128)((s128)a % (s128)b),
                                a << n,
                                a >> n,
                                (u128)((s128)a >> n),
                                (u128)(a < b) | (u128)((s128)a < (s128)b) << 1,
                                -a};
    memcpy(to, want, sizeof want);
}

int main(void)
{
    static char text[1 << 16];
    static u128 in[2 * THREADS * BLOCKS], out[RESULTS * THREADS * BLOCKS];
    FILE *f = fopen("tests/tier0/ptx/int128.ptx", "r");
    const bool got = f && fread(text, 1, sizeof text - 1, f) > 0;
    void *params[] = {in, out};
    unsigned wrong[RESULTS] = {0};
    if (f)
        fclose(f);
    for (unsigned i = 0; i < 2 * THREADS * BLOCKS; i++)
        in[i] = operand();
    for (unsigned t = 0; t < THREADS * BLOCKS; t++)
        in[2 * t + 1] += !in[2 * t + 1]; /* the quotient by 0 is anything */
    if (!check(got, "tests/tier0/ptx/int128.ptx can be read") ||
        !t0t_once(text, "wide_ops", BLOCKS, THREADS, params, NULL))
        return t0t_done() | 1;
    for (unsigned t = 0; t < THREADS * BLOCKS; t++) {
        u128 want[RESULTS];
        host_ops(in[2 * t], in[2 * t + 1], want);
        for (unsigned r = 0; r < RESULTS; r++)
            wrong[r] += want[r] != out[RESULTS * t + r];
    }
    for (unsigned r = 0; r < RESULTS; r++)
        check(!wrong[r], "__int128: %s (%u of %d wrong)", names[r], wrong[r], THREADS * BLOCKS);
    return t0t_done();
}
