/* Words that lanes read from shared memory in a kernel with matrix products, at drawn places: as the factors of a
 * product lie along or across k, which a compiler may load by rows, or nearly so, or anyhow; in blocks that all lanes
 * run or some; and the product of what they have read. Beside a model in C. */
#include "tier0/kernels.h"
#include "xorshift.h"

enum { WORDS = 4096, LOADS = 6, RESULTS = LOADS + 4, PLACES = MOST / 32 / RESULTS };
enum lie { ALONG, ACROSS, ALONG_BUT_ONE, ACROSS_BUT_ONE, ROW, ANYHOW, LIES };

static uint64_t seed = 88172645463325252u;
static unsigned any(unsigned n) { return (unsigned)(xorshift(&seed) >> 20) % n; }

struct program {
    enum lie lie[PLACES];      /* of a block of threads: */
    unsigned word[PLACES][32]; /* of lane l at offset 0 */
    int offset[LOADS];         /* words */
    unsigned blocks;           /* basic blocks that the loads stand in */
    uint32_t who;              /* lanes that read */
};

/* Rows begin wherever words do. */
static void draw_places(enum lie lie, unsigned *word)
{
    unsigned row[8];
    for (unsigned r = 0; r < 8; r++)
        row[r] = 64 + any(WORDS - 128);
    for (unsigned l = 0; l < 32; l++)
        switch (lie) {
        case ALONG:
        case ALONG_BUT_ONE: word[l] = row[l / 4] + l % 4; break;
        case ACROSS:
        case ACROSS_BUT_ONE: word[l] = row[l % 4] + l / 4; break;
        case ROW: word[l] = row[0] + l; break;
        default: word[l] = 64 + any(WORDS - 128); break;
        }
    if (lie == ALONG_BUT_ONE || lie == ACROSS_BUT_ONE)
        word[any(32)] = 64 + any(WORDS - 128);
}

/* Offsets may be below 0; lanes that do not read have places where nothing is. */
static void draw_program(struct program *p)
{
    const uint32_t some = (uint32_t)(xorshift(&seed) >> 13) | 1u << any(32), quads = some & 0x11111111u;
    const uint32_t who[] = {~0u, some, quads * 15 | 0xf00};
    p->who = who[any(3)];
    for (unsigned k = 0; k < PLACES; k++) {
        draw_places(p->lie[k] = (enum lie)(k < LIES ? k : any(LIES)), p->word[k]);
        for (unsigned l = 0; l < 32; l++)
            p->word[k][l] = p->who >> l & 1 ? p->word[k][l] : (1u << 28) + l % 4;
    }
    for (unsigned k = 0; k < LOADS; k++)
        p->offset[k] = (int)any(64) - 32;
    p->blocks = 1 + any(2);
}

/* Small numbers, which tf32 holds and whose sums are exact. */
static uint32_t number(unsigned at)
{
    const float f = (float)((int)(at * 2654435761u >> 27) - 16);
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static float factor(const struct program *p, unsigned place, unsigned lane, unsigned k)
{
    const uint32_t u = p->who >> lane & 1 ? number(p->word[place][lane] + (unsigned)p->offset[k]) : 0;
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

/* Lane's sum e of A (loads 0 to 3) times B (4 and 5): PTX ISA, mma.m16n8k8, fragments of tf32. */
static float product(const struct program *p, unsigned place, unsigned lane, unsigned e)
{
    float sum = 0;
    for (unsigned k = 0; k < 8; k++)
        sum += factor(p, place, lane / 4 * 4 + k % 4, e / 2 + k / 4 * 2) *
               factor(p, place, (lane % 4 * 2 + e % 2) * 4 + k % 4, 4 + k / 4);
    return sum;
}

static bool right(const struct program *p, unsigned place)
{
    bool ok = true;
    for (unsigned l = 0; l < 32; l++) {
        const uint32_t *got = out + (32 * place + l) * RESULTS;
        for (unsigned k = 0; k < LOADS; k++) {
            const float f = factor(p, place, l, k);
            ok &= !memcmp(&f, got + k, sizeof f);
        }
        for (unsigned e = 0; e < 4; e++) {
            const float f = product(p, place, l, e) + 0.0f;
            ok &= !memcmp(&f, got + LOADS + e, sizeof f);
        }
    }
    return ok;
}

static const char *text_of(const struct program *p)
{
    static char text[8192];
    unsigned n = (unsigned)snprintf(
        text, sizeof text, /* the words, by all lanes; then this lane's place */
        "%smov.u32 %%r2, words; mov.u32 %%r3, %%r1;\n"
        "L: mul.lo.u32 %%r4, %%r3, 2654435761; shr.u32 %%r4, %%r4, 27; sub.s32 %%r4, %%r4, 16;\n"
        "cvt.rn.f32.s32 %%f0, %%r4;\n"
        "mad.lo.u32 %%r5, %%r3, 4, %%r2; st.shared.f32 [%%r5], %%f0; add.u32 %%r3, %%r3, 32;\n"
        "setp.lt.u32 %%p1, %%r3, %u; @%%p1 bra L; bar.sync 0;\n"
        "ld.global.u32 %%r6, [%%rd1]; mad.lo.u32 %%r6, %%r6, 4, %%r2;\n"
        "mov.u32 %%r7, 1; shl.b32 %%r7, %%r7, %%r1; and.b32 %%r7, %%r7, %u; setp.eq.u32 %%p2, %%r7, 0;\n",
        HEAD ".shared .align 16 .b32 words[4096];\n" ENTRY("k"), WORDS, p->who);
    for (unsigned k = 0; k < LOADS; k++)
        n += (unsigned)snprintf(text + n, sizeof text - n, "mov.u32 %%r%u, 0;\n", 10 + k);
    if (~p->who)
        n += (unsigned)snprintf(text + n, sizeof text - n, "@%%p2 bra M;\n");
    for (unsigned k = 0; k < LOADS; k++)
        n += (unsigned)snprintf(text + n, sizeof text - n, "%sld.shared.u32 %%r%u, [%%r6+%d];\n",
                                p->blocks > 1 && k == LOADS / 2 ? "setp.eq.u32 %p3, %r50, 77; @%p3 bra N; N: " : "",
                                10 + k, 4 * p->offset[k]);
    n += (unsigned)snprintf(
        text + n, sizeof text - n,
        "M: mov.f32 %%f1, 0f00000000;\n"
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%%f2, %%f3, %%f4, %%f5}, {%%r10, %%r11, %%r12, %%r13}, "
        "{%%r14, %%r15}, {%%f1, %%f1, %%f1, %%f1};\n"
        "mul.wide.u32 %%rd5, %%r0, %u; add.s64 %%rd5, %%rd5, %%rd30;\n",
        4 * RESULTS);
    for (unsigned k = 0; k < RESULTS; k++)
        n += (unsigned)snprintf(text + n, sizeof text - n, "st.global.b32 [%%rd5+%u], %s%u;\n", 4 * k,
                                k < LOADS ? "%r" : "%f", k < LOADS ? 10 + k : 2 + k - LOADS);
    snprintf(text + n, sizeof text - n, END);
    return text;
}

int main(void)
{
    enum { PROGRAMS = 10 };
    unsigned wrong = 0;
    for (unsigned k = 0; k < PROGRAMS; k++) {
        struct program p;
        draw_program(&p);
        memcpy(in, p.word, sizeof p.word);
        memset(out, 0xee, sizeof out);
        const bool ran = run(text_of(&p), PLACES, 32, NULL);
        for (unsigned place = 0; place < PLACES; place++)
            if (!ran || !right(&p, place)) {
                printf("# wrong: program %u, lie %d, who 0x%x, %u blocks\n", k, p.lie[place], p.who, p.blocks);
                wrong++;
            }
    }
    check(!wrong, "factors of %u products, %u wrong", PROGRAMS * PLACES, wrong);
    return t0t_done();
}
