/* Drawn sequences of matrix products whose sums go from one to the next, alone or where something else reads them too,
 * under guards, around branches and in loops, against a scalar reference. */
#include "tier0/kernels.h"
#include "xorshift.h"

#include <math.h>

enum { SUMS = 4, FACTORS = 3, OPS = 20, LANES = 32, ROUNDS = 16, A_AT = 0, B_AT = 4 * FACTORS, C_AT = 6 * FACTORS };
enum what { PRODUCT, GUARDED, ADD, COPY, NWHAT };
enum branch { NONE, AROUND, OVER }; /* a branch over the operation that is not taken, or is */

struct op {
    enum what what;
    enum branch branch;
    bool runs; /* the guard's value */
    unsigned d, c, a, b, to, from;
};
struct drawn {
    struct op op[OPS];
    unsigned first, last, rounds; /* a loop */
};

static uint64_t seed = 0x9e3779b97f4a7c15u;
static unsigned below(unsigned n) { return (unsigned)(xorshift(&seed) >> 20) % n; }

static void draw(struct drawn *k)
{
    k->first = below(OPS / 2);
    k->last = k->first + below(OPS - k->first);
    k->rounds = 1 + below(3);
    for (unsigned i = 0; i < OPS; i++) {
        const unsigned kind = below(12);
        struct op *o = &k->op[i];
        *o = (struct op){.what = kind < 8    ? PRODUCT
                                 : kind == 8 ? GUARDED
                                 : kind < 11 ? ADD
                                             : COPY,
                         .branch = below(8)   ? NONE
                                   : below(2) ? AROUND
                                              : OVER,
                         .runs = below(2),
                         .d = below(SUMS),
                         .a = below(FACTORS),
                         .b = below(FACTORS),
                         .to = below(4),
                         .from = below(4)};
        o->c = i && below(3) ? k->op[i - 1].d : below(SUMS);
        if (below(2))
            o->d = o->c;
    }
}

/* ---- as PTX ---- */

static char text[1 << 16];
static size_t end;
#define PUT(...) (end += (size_t)snprintf(text + end, sizeof text - end, __VA_ARGS__))

static void put_op(const struct op *o, unsigned i)
{
    if (o->branch != NONE)
        PUT("@%%p%u bra X%u;\n", o->branch == OVER ? 1 : 2, i);
    if (o->what == GUARDED)
        PUT("@%%p%u ", o->runs ? 1 : 2);
    if (o->what == PRODUCT || o->what == GUARDED) {
        PUT("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%%c%u,%%c%u,%%c%u,%%c%u}, ", 4 * o->d, 4 * o->d + 1,
            4 * o->d + 2, 4 * o->d + 3);
        PUT("{%%a%u,%%a%u,%%a%u,%%a%u}, {%%b%u,%%b%u}, ", 4 * o->a, 4 * o->a + 1, 4 * o->a + 2, 4 * o->a + 3, 2 * o->b,
            2 * o->b + 1);
        PUT("{%%c%u,%%c%u,%%c%u,%%c%u};\n", 4 * o->c, 4 * o->c + 1, 4 * o->c + 2, 4 * o->c + 3);
    } else if (o->what == ADD) {
        PUT("add.f32 %%c%u, %%c%u, %%c%u;\n", 4 * o->d + o->to, 4 * o->d + o->to, 4 * o->c + o->from);
    } else {
        for (unsigned r = 0; r < 4; r++)
            PUT("mov.f32 %%c%u, %%c%u;\n", 4 * o->d + r, 4 * o->c + r);
    }
    if (o->branch != NONE)
        PUT("X%u:\n", i);
}

static void put_kernel(const struct drawn *k)
{
    end = 0;
    PUT("%s", HEAD ENTRY("k") ".reg .b32 %a<12>, %b<6>; .reg .f32 %c<16>;\n"
                              "setp.eq.u32 %p1, %r51, 32; setp.ne.u32 %p2, %r51, 32; mov.u32 %r2, 0;\n");
    for (unsigned r = 0; r < 4 * FACTORS; r++)
        PUT("ld.global.b32 %%a%u, [%%rd1+%u];\n", r, (A_AT + r) * 4 * LANES);
    for (unsigned r = 0; r < 2 * FACTORS; r++)
        PUT("ld.global.b32 %%b%u, [%%rd1+%u];\n", r, (B_AT + r) * 4 * LANES);
    for (unsigned r = 0; r < 4 * SUMS; r++)
        PUT("ld.global.f32 %%c%u, [%%rd1+%u];\n", r, (C_AT + r) * 4 * LANES);
    for (unsigned i = 0; i < OPS; i++) {
        if (i == k->first)
            PUT("L:\n");
        put_op(&k->op[i], i);
        if (i == k->last)
            PUT("add.u32 %%r2, %%r2, 1; setp.lt.u32 %%p3, %%r2, %u; @%%p3 bra L;\n", k->rounds);
    }
    for (unsigned r = 0; r < 4 * SUMS; r++)
        PUT("st.global.f32 [%%rd0+%u], %%c%u;\n", r * 4 * LANES, r);
    PUT("%s", END);
}

/* ---- the plain way ---- */

static float value(unsigned at, unsigned lane)
{
    float f;
    memcpy(&f, &in[at * LANES + lane], 4);
    return f;
}

/* Lanes of a fragment as the PTX ISA has them for m16n8k8 of tf32. */
static void multiply(float c[SUMS][4][LANES], const struct op *o)
{
    float sum[4][LANES];
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned r = 0; r < 4; r++) {
            const unsigned row = lane / 4, high = r / 2, column = lane % 4 * 2 + r % 2;
            sum[r][lane] = c[o->c][r][lane];
            for (unsigned k = 0; k < 8; k++)
                sum[r][lane] = fmaf(value(A_AT + 4 * o->a + high + k / 4 * 2, row * 4 + k % 4),
                                    value(B_AT + 2 * o->b + k / 4, column * 4 + k % 4), sum[r][lane]);
        }
    memcpy(c[o->d], sum, sizeof sum);
}

static void run_plainly(const struct drawn *k, float c[SUMS][4][LANES])
{
    for (unsigned i = 0, round = 0; i < OPS; i++) {
        const struct op *o = &k->op[i];
        if (o->branch == OVER || (o->what == GUARDED && !o->runs))
            ;
        else if (o->what == PRODUCT || o->what == GUARDED)
            multiply(c, o);
        else if (o->what == COPY)
            memmove(c[o->d], c[o->c], sizeof c[0]);
        else
            for (unsigned lane = 0; lane < LANES; lane++)
                c[o->d][o->to][lane] += c[o->c][o->from][lane];
        if (i == k->last && ++round < k->rounds)
            i = k->first - 1; /* and one up: the loop's first */
    }
}

static void one(unsigned round)
{
    static float c[SUMS][4][LANES];
    struct drawn k;
    unsigned bad = 0;
    draw(&k);
    put_kernel(&k);
    for (unsigned e = 0; e < (C_AT + 4 * SUMS) * LANES; e++) {
        const float f = (float)below(e < C_AT * LANES ? 5 : 17) - (e < C_AT * LANES ? 2 : 8);
        memcpy(&in[e], &f, 4);
    }
    for (unsigned r = 0; r < 4 * SUMS; r++)
        for (unsigned lane = 0; lane < LANES; lane++)
            c[r / 4][r % 4][lane] = value(C_AT + r, lane);
    run_plainly(&k, c);
    memset(out, 0xee, sizeof out);
    if (!run(text, 1, LANES, NULL))
        return;
    for (unsigned r = 0; r < 4 * SUMS; r++)
        bad += !!memcmp(&out[r * LANES], c[r / 4][r % 4], sizeof c[0][0]);
    check(!bad, "sequence %u: %u of %u registers wrong", round, bad, 4 * SUMS);
    if (bad && getenv("SHOW"))
        puts(text);
}

int main(void)
{
    for (unsigned round = 0; round < ROUNDS; round++)
        one(round);
    return t0t_done();
}
