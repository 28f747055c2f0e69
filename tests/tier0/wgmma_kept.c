/* Many products of warpgroups in one kernel, drawn: whatever is kept of a matrix from one product to the next must not
 * be told from reading it anew, and sums are what all products, copies and arithmetic between them made of their
 * registers. More descriptors than anything is kept of, whose matrices lie within each other, are multiplied again and
 * again in a loop, while single words of them change; sums are swapped, copied, turned by some lanes or all, and added
 * to by other products. Values are small integers, so that each order of summing gives the same bits. */
#include "tier0/kernels.h"

#ifndef KERNELS
#define KERNELS 12
#endif
enum { THREADS = 128, SMEM = 40960, FORMS = 11, STEPS = 14, TURNS = 3, SUMS = 32, COLUMNS = 2 * SUMS };
static uint16_t shared[SMEM / 2];
static uint32_t words[THREADS * 4 + SMEM / 4], result[THREADS * SUMS];

static uint64_t seed = 5;
static uint32_t any(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

#include "tier0/layouts.h"

static uint16_t half(int v)
{
    static const uint16_t of[] = {0, 0x3c00, 0x4000, 0x4200};
    return (uint16_t)(of[v < 0 ? -v : v] | (v < 0 ? 0x8000 : 0));
}
static int value(uint16_t bits)
{
    const unsigned m = bits & 0x7fff;
    const int n = m == 0x3c00 ? 1 : m == 0x4000 ? 2 : m == 0x4200 ? 3 : 0;
    return bits & 0x8000 ? -n : n;
}

struct form {
    struct layout b;
    bool minus;
    unsigned n;
};
enum kind { CHANGE, SWAP, COPY, TURN, TURN_SOME, MULTIPLY, KINDS };
struct step {
    enum kind kind;
    unsigned form, first, x, y, word; /* first: sum that the product begins with */
    uint32_t bits;
};
static struct form forms[FORMS];
static struct step steps[STEPS * 3];
static unsigned nsteps;

static char text_of[65536];
static size_t length;
#define PUT(...) length += (size_t)snprintf(text_of + length, sizeof text_of - length, __VA_ARGS__)

static void put_product(const struct step *s)
{
    const struct form *f = &forms[s->form];
    PUT("mov.u64 %%rd6, 0x%llx;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n%uk16.f32.f16.f16 {",
        (unsigned long long)layout_descriptor(&f->b, false), f->n);
    for (unsigned k = 0; k < f->n / 2; k++)
        PUT("%s%%z%u", k ? ", " : "", s->first + k);
    PUT("}, {%%y0, %%y1, %%y2, %%y3}, %%rd6, 1, 1, %d, %d;\nwgmma.commit_group.sync.aligned;\n"
        "wgmma.wait_group.sync.aligned 0;\n",
        f->minus ? -1 : 1, f->b.across);
}

static void put_step(const struct step *s, unsigned at)
{
    switch (s->kind) {
    case CHANGE:
        PUT("@%%p3 bra C%u; st.shared.u32 [s+%u], 0x%x; fence.proxy.async; C%u: bar.sync 0;\n", at, 4 * s->word,
            s->bits, at);
        break;
    case SWAP: PUT("mov.b32 %%t0, %%z%u; mov.b32 %%z%u, %%z%u; mov.b32 %%z%u, %%t0;\n", s->x, s->x, s->y, s->y); break;
    case COPY: PUT("mov.b32 %%z%u, %%z%u;\n", s->x, s->y); break;
    case TURN: PUT("neg.f32 %%z%u, %%z%u;\n", s->x, s->x); break;
    case TURN_SOME: PUT("@%%p4 bra D%u; neg.f32 %%z%u, %%z%u; D%u:\n", at, s->x, s->x, at); break;
    default: put_product(s);
    }
}

static void put_kernel(void)
{
    length = 0;
    PUT("%s.reg .b32 %%z<33>; .reg .b32 %%y<5>; .reg .b32 %%t<2>;\n"
        ".shared .align 1024 .b8 s[40960];\n"
        "mov.u32 %%r2, s; shl.b32 %%r3, %%r1, 2; add.u32 %%r4, %%r2, %%r3; mov.u32 %%r5, 0;\n"
        "cvt.u64.u32 %%rd2, %%r3; add.u64 %%rd2, %%rd31, %%rd2; add.u64 %%rd2, %%rd2, 2048;\n"
        "F: ld.global.u32 %%r6, [%%rd2]; st.shared.u32 [%%r4], %%r6; add.u64 %%rd2, %%rd2, 512;\n"
        "add.u32 %%r4, %%r4, 512; add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p1, %%r5, 80; @%%p1 bra F;\n"
        "shl.b32 %%r7, %%r1, 4; cvt.u64.u32 %%rd3, %%r7; add.u64 %%rd3, %%rd3, %%rd31;\n"
        "ld.global.v4.u32 {%%y0, %%y1, %%y2, %%y3}, [%%rd3]; mul.wide.u32 %%rd4, %%r1, %u;\n"
        "add.u64 %%rd4, %%rd4, %%rd30; fence.proxy.async; bar.sync 0; mov.u32 %%r5, 0; setp.ne.u32 %%p3, %%r1, 0;\n"
        "and.b32 %%r8, %%r1, 5; setp.ne.u32 %%p4, %%r8, 0;\n",
        HEAD ENTRY("k"), 4 * SUMS);
    for (unsigned k = 0; k < SUMS; k++)
        PUT("ld.global.u32 %%z%u, [%%rd4+%u];\n", k, 4 * k);
    PUT("L:\n");
    for (unsigned k = 0; k < nsteps; k++)
        put_step(&steps[k], k);
    PUT("add.u32 %%r5, %%r5, 1; setp.lt.u32 %%p1, %%r5, %u; @%%p1 bra L;\n", TURNS);
    for (unsigned k = 0; k < SUMS; k++) { /* registers whose sums are stored already get others, which are read */
        PUT("st.global.u32 [%%rd4+%u], %%z%u;\n", 4 * k, k);
        if (any(2))
            PUT("neg.f32 %%z%u, %%z%u;\n", k, k);
    }
    PUT("mov.b32 %%t0, 0;\n");
    for (unsigned k = 0; k < SUMS; k++)
        PUT("xor.b32 %%t0, %%t0, %%z%u;\n", k);
    PUT("st.global.u32 [%%rd31+2048], %%t0;\n%s", END);
}

/* What the kernel does, by single elements. */
static double sum[THREADS][SUMS + 1];
static int a_of(unsigned row, unsigned k)
{
    const unsigned lane = row % 8 * 4 + k * 2 % 16 / 4, reg = row / 8 % 2 + k * 2 / 16 * 2;
    return value((uint16_t)(words[(row / 16 * 32 + lane) * 4 + reg] >> 16 * (k % 2)));
}
static void model(const struct step *s)
{
    for (unsigned t = 0; t < THREADS && s->kind != MULTIPLY; t++) {
        double *z = sum[t], old = z[s->x];
        if (s->kind == SWAP || s->kind == COPY)
            z[s->x] = z[s->y];
        if (s->kind == SWAP)
            z[s->y] = old;
        if (s->kind == TURN || (s->kind == TURN_SOME && !(t & 5)))
            z[s->x] = -old;
    }
    if (s->kind == CHANGE)
        memcpy(&shared[2 * s->word], &s->bits, 4);
    const struct form *f = &forms[s->form];
    for (unsigned row = 0; row < 64 && s->kind == MULTIPLY; row++)
        for (unsigned c = 0; c < f->n; c++) {
            const unsigned thread = row / 16 * 32 + row % 8 * 4 + c % 8 / 2;
            double *to = &sum[thread][s->first + c / 8 * 4 + row / 8 % 2 * 2 + c % 2];
            for (unsigned k = 0; k < 16; k++) {
                unsigned e;
                const uint32_t chunk = layout_chunk(&f->b, c, k, &e);
                *to += (f->minus ? -1 : 1) * a_of(row, k) * value(shared[chunk / 2 + e]);
            }
        }
}

static void draw(void)
{
    for (unsigned k = 0; k < FORMS; k++) {
        uint8_t used[LAYOUT_BYTES / 16];
        struct form *f = &forms[k];
        do {
            memset(used, 0, sizeof used);
            f->n = any(3) ? COLUMNS : 8 * (1 + any(COLUMNS / 8));
            f->minus = any(3) == 0;
        } while (!layout_draw(&f->b, 8, f->n, 16, any(4), any(2), used));
        if (k && any(3) == 0) /* an earlier one's matrix in another way */
            f->b = forms[any(k)].b, f->n = 8;
    }
    nsteps = 0;
    for (unsigned k = 0; k < STEPS; k++) {
        struct step s = {.kind = MULTIPLY, .form = any(FORMS)};
        const struct form *f = &forms[s.form];
        unsigned e;
        s.first = any(4) ? 0 : any(SUMS - f->n / 2 + 1);
        if (any(2)) { /* of this matrix, most likely */
            const uint32_t at = layout_chunk(&f->b, any(f->n), any(16), &e) + 4 * any(4);
            const uint32_t bits = half((int)any(7) - 3) | (uint32_t)half((int)any(7) - 3) << 16;
            steps[nsteps++] = (struct step){.kind = CHANGE, .word = at / 4, .bits = bits};
        }
        steps[nsteps++] = s;
        if (any(3) == 0)
            steps[nsteps++] = (struct step){.kind = SWAP + any(3), .x = any(SUMS), .y = any(SUMS)};
    }
    /* in some kernels lanes part */
    if (any(3) == 0)
        steps[nsteps++] = (struct step){.kind = TURN_SOME, .x = any(SUMS)};
}

static bool try_kernel(void)
{
    struct args a = {result, words, 0};
    draw();
    put_kernel();
    for (unsigned k = 0; k < SMEM / 2; k++)
        shared[k] = half((int)any(7) - 3);
    for (unsigned k = 0; k < THREADS * 4; k++)
        words[k] = half((int)any(7) - 3) | (uint32_t)half((int)any(7) - 3) << 16;
    memcpy(words + THREADS * 4, shared, SMEM);
    for (unsigned k = 0; k < THREADS * SUMS; k++) {
        const float f = (float)((int)any(65) - 32);
        memcpy(&result[k], &f, 4);
        sum[k / SUMS][k % SUMS] = (double)f;
    }
    if (!t0t_once(text_of, "k", 1, THREADS, &a, NULL))
        return false;
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (unsigned k = 0; k < nsteps; k++)
            model(&steps[k]);
    for (unsigned k = 0; k < THREADS * SUMS; k++) {
        float got;
        memcpy(&got, &result[k], 4);
        if ((double)got != sum[k / SUMS][k % SUMS])
            return check(false, "thread %u sum %u is %g, want %g", k / SUMS, k % SUMS, (double)got,
                         sum[k / SUMS][k % SUMS]),
                   false;
    }
    return true;
}

int main(void)
{
    unsigned good = 0;
    for (unsigned k = 0; k < KERNELS; k++)
        good += try_kernel();
    check(good == KERNELS, "%u of %u drawn kernels", good, KERNELS);
    for (unsigned level = 1; level <= 3 && (int)level <= t0_alu_level(); level += 2) {
        t0_alu_handlers_level(lir_table, (int)level);
        good = 0;
        for (unsigned k = 0; k < KERNELS; k++)
            good += try_kernel();
        check(good == KERNELS, "level %u: %u of %u drawn kernels", level, good, KERNELS);
    }
    t0_alu_handlers(lir_table);
    return t0t_done();
}
