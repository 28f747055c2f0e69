/* Divergence: loops, early exit, switches, irreducible graphs, guards; checked against plain C. */
#include "tier0/kernels.h"

/* sum of 1..tid, each lane its own trip count */
static const char loop[] = KERNEL("mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
                                  "L: setp.ge.u32 %p1, %r3, %r1; @%p1 bra D;\n"
                                  "add.u32 %r3, %r3, 1; add.u32 %r2, %r2, %r3; bra L;\n"
                                  "D: " STORE("%r2"));
static uint32_t loop_want(uint32_t i)
{
    uint32_t t = i % 96;
    return t * (t + 1) / 2;
}

/* for a in 0..tid%7: for b in 0..: continue when b odd, break when b*a > tid, count */
static const char nested[] = KERNEL("rem.u32 %r9, %r1, 7; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
                                    "OUTER: setp.ge.u32 %p1, %r3, %r9; @%p1 bra DONE;\n"
                                    "mov.u32 %r4, 0;\n"
                                    "INNER: setp.ge.u32 %p2, %r4, 20; @%p2 bra NEXT;\n"
                                    "and.b32 %r5, %r4, 1; setp.ne.u32 %p3, %r5, 0; @%p3 bra CONT;\n"
                                    "mul.lo.u32 %r6, %r4, %r3; setp.gt.u32 %p4, %r6, %r1; @%p4 bra NEXT;\n"
                                    "mad.lo.u32 %r2, %r2, 3, %r6; add.u32 %r2, %r2, 1;\n"
                                    "CONT: add.u32 %r4, %r4, 1; bra.uni INNER;\n"
                                    "NEXT: add.u32 %r3, %r3, 1; bra.uni OUTER;\n"
                                    "DONE: " STORE("%r2"));
static uint32_t nested_want(uint32_t i)
{
    uint32_t t = i % 64, r = 0;
    for (uint32_t a = 0; a < t % 7; a++)
        for (uint32_t b = 0; b < 20; b++) {
            if (b & 1)
                continue;
            if (a * b > t)
                break;
            r = r * 3 + a * b + 1;
        }
    return r;
}

/* threads leave at different places; the rest goes on through a barrier */
static const char early[] = KERNEL(
    "mov.u32 %r2, 7; " STORE("%r2") "setp.lt.u32 %p1, %r1, 5; @%p1 ret;\n"
                                    "mov.u32 %r2, 8; " STORE("%r2") "setp.gt.u32 %p2, %r1, 70; @%p2 exit;\n"
                                                                    "bar.sync 0; mov.u32 %r2, 9; " STORE("%r2"));
static uint32_t early_want(uint32_t i)
{
    uint32_t t = i % 100;
    return t < 5 ? 7 : t > 70 ? 8 : 9;
}

/* a loop with two entries */
static const char irreducible[] = KERNEL(
    "mov.u32 %r2, 0; mov.u32 %r3, 0; and.b32 %r4, %r1, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra B;\n"
    "A: add.u32 %r2, %r2, 1; add.u32 %r3, %r3, 1;\n"
    "B: add.u32 %r2, %r2, 100; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, %r1; @%p2 bra A;\n" STORE("%r2"));
static uint32_t irreducible_want(uint32_t i)
{
    uint32_t t = i % 64, r = 0, n = 0;
    if (t & 1)
        goto b;
a:
    r++;
    n++;
b:
    r += 100;
    n++;
    if (n < t)
        goto a;
    return r;
}

static const char table[] = KERNEL("rem.u32 %r3, %r1, 5;\n"
                                   "T: .branchtargets S0, S1, S2, S1, S4;\n"
                                   "brx.idx %r3, T;\n"
                                   "S0: mov.u32 %r2, 10; bra E;\n"
                                   "S1: mov.u32 %r2, 11; bra E;\n"
                                   "S2: mov.u32 %r2, 12; // falls through\n"
                                   "S4: add.u32 %r2, %r3, 100;\n"
                                   "E: " STORE("%r2"));
static uint32_t table_want(uint32_t i)
{
    static const uint32_t v[] = {10, 11, 102, 11, 104};
    return v[i % 64 % 5];
}

/* guards on everything: arithmetic, loads, stores, both senses */
static const char guards[] = KERNEL(
    "and.b32 %r3, %r1, 3; setp.eq.u32 %p1, %r3, 1; setp.gt.u32 %p2, %r1, 40;\n"
    "mov.u32 %r2, 5; @%p1 add.u32 %r2, %r2, 10; @!%p2 mul.lo.u32 %r2, %r2, 3;\n"
    "@%p2 ld.global.u32 %r2, [%rd1]; @%p1 mov.b64 {%r4, %r5}, %rd0; @!%p1 mov.u32 %r4, 0;\n"
    "@%p1 setp.ne.u32 %p3|%p4, %r1, 21; @!%p1 setp.eq.u32 %p3|%p4, %r1, %r1;\n"
    "@%p4 add.u32 %r2, %r2, 1000;\n"
    "mov.u32 %r6, 77; " STORE("%r6") "@%p3 st.global.u32 [%rd0], %r2;\n");
static uint32_t guards_want(uint32_t i)
{
    uint32_t t = i % 64, r = 5;
    bool p1 = (t & 3) == 1, p2 = t > 40, p3, p4;
    if (p1)
        r += 10;
    if (!p2)
        r *= 3;
    if (p2)
        r = in[i];
    p3 = p1 ? t != 21 : true;
    p4 = !p3;
    if (p4)
        r += 1000;
    return p3 ? r : 77;
}

/* values that are live on only one side of a branch must not share rows with the other side's */
static const char live[] = KERNEL(
    "setp.lt.u32 %p1, %r1, 13; mov.u32 %r2, 1; @%p1 bra X;\n"
    "mul.lo.u32 %r10, %r1, 3; add.u32 %r11, %r10, 5; mul.lo.u32 %r12, %r11, %r10; mov.u32 %r2, %r12; bra Y;\n"
    "X: add.u32 %r20, %r1, 1000; mul.lo.u32 %r21, %r20, 7; mov.u32 %r2, %r21;\n"
    "Y: add.u32 %r2, %r2, %r1; " STORE("%r2"));
static uint32_t live_want(uint32_t i)
{
    uint32_t t = i % 64;
    return (t < 13 ? (t + 1000) * 7 : (t * 3 + 5) * (t * 3)) + t;
}

/* the value of a loop is used after lanes have left it at different times */
static const char leave[] = KERNEL("mov.u32 %r2, %r1; mov.u32 %r3, 0;\n"
                                   "L: and.b32 %r4, %r2, 1; setp.eq.u32 %p1, %r4, 0; @%p1 shr.u32 %r2, %r2, 1;\n"
                                   "@!%p1 mad.lo.u32 %r2, %r2, 3, 1; add.u32 %r3, %r3, 1; setp.gt.u32 %p2, %r2, 1;\n"
                                   "setp.lt.u32 %p3, %r3, 500; and.pred %p2, %p2, %p3; @%p2 bra L;\n" STORE("%r3"));
static uint32_t leave_want(uint32_t i)
{
    uint32_t v = i % 64, n = 0;
    do {
        v = v & 1 ? v * 3 + 1 : v >> 1;
        n++;
    } while (v > 1 && n < 500);
    return n;
}

/* for (i < n) { do s = lcg(s); while (s is small); sum }: both back edges lead to one label, as nvcc has it */
static const char shared[] = KERNEL(
    "ld.param.u32 %r13, [pn]; and.b32 %r13, %r13, 7; add.u32 %r13, %r13, 5; mad.lo.s32 %r25, %r0, 7919, 1;\n"
    "mov.u32 %r22, 0; mov.u32 %r23, %r22;\n"
    "L: mad.lo.s32 %r25, %r25, 1664525, 1013904223; setp.lt.u32 %p1, %r25, -1879048192; @%p1 bra L;\n"
    "mul.wide.u32 %rd5, %r22, 4; add.s64 %rd6, %rd31, %rd5; mad.lo.s32 %r18, %r22, 10, %r23;\n"
    "shr.u32 %r19, %r25, 24; add.s32 %r20, %r18, %r19; ld.global.u32 %r21, [%rd6]; add.s32 %r23, %r20, %r21;\n"
    "add.s32 %r22, %r22, 1; setp.lt.u32 %p2, %r22, %r13; @%p2 bra L;\n" STORE("%r23"));
static uint32_t shared_want(uint32_t i)
{
    uint32_t s = i * 7919 + 1, sum = 0;
    for (uint32_t k = 0; k < 5; k++) {
        do
            s = s * 1664525 + 1013904223;
        while (s < 0x90000000u);
        sum += k * 10 + (s >> 24) + in[k];
    }
    return sum;
}

/* three loops and a continue that share a header; the counters of the outer ones are the same for all lanes */
static const char three[] = KERNEL(
    "mov.u32 %r2, 0; mov.u32 %r3, 0; mov.u32 %r4, 0; mad.lo.s32 %r5, %r1, 37, 11;\n"
    "L: mad.lo.s32 %r5, %r5, 1664525, 1013904223; xor.b32 %r2, %r2, %r4; shr.u32 %r6, %r5, 29;\n"
    "setp.lt.u32 %p1, %r6, 4; @%p1 bra L;\n"
    "mad.lo.u32 %r2, %r2, 5, %r3; add.u32 %r3, %r3, 1; setp.eq.u32 %p2, %r6, 5; @%p2 bra L;\n"
    "add.u32 %r2, %r2, 77; setp.lt.u32 %p3, %r3, 6; @%p3 bra L;\n"
    "mad.lo.u32 %r2, %r4, 1000, %r2; mov.u32 %r3, 0; add.u32 %r4, %r4, 1; setp.lt.u32 %p4, %r4, 4; @%p4 bra L;\n"
    "add.u32 %r2, %r2, %r4; " STORE("%r2"));
static uint32_t three_want(uint32_t i)
{
    uint32_t s = i % 64 * 37 + 11, r = 0, b = 0, a = 0, t;
    for (;;) {
        s = s * 1664525 + 1013904223;
        r ^= a;
        t = s >> 29;
        if (t < 4)
            continue;
        r = r * 5 + b++;
        if (t == 5)
            continue;
        r += 77;
        if (b < 6)
            continue;
        r += a * 1000;
        b = 0;
        if (++a >= 4)
            return r + a;
    }
}

int main(void)
{
    for (uint32_t i = 0; i < MOST; i++)
        in[i] = i * 2654435761u;
    expect("divergent loop", loop, 3, 96, loop_want);
    expect("nested loops with break and continue", nested, 2, 64, nested_want);
    expect("early exit before a barrier", early, 2, 100, early_want);
    expect("irreducible loop", irreducible, 1, 64, irreducible_want);
    expect("branch table", table, 1, 64, table_want);
    expect("guarded instructions", guards, 1, 64, guards_want);
    expect("rows of two sides of a branch", live, 1, 64, live_want);
    expect("values of a divergently left loop", leave, 1, 64, leave_want);
    expect("nested loops that share a header", shared, 1, 64, shared_want);
    expect("three loops and a continue that share a header", three, 2, 64, three_want);
    return t0t_done();
}
