/* Drawn warp-specialised programs, beside a model in C: groups of warps in pipelines, each hands rounds of numbers to
 * the next through slots of shared memory that named barriers (sync by one side, arrive by the other) or mbarriers
 * guard. Groups have barriers of their own, too, with bar.red; lanes and warps exit early; one lane may do a warp's
 * work. */
#include "tier0/kernels.h"
#include "xorshift.h"

enum { PIPES = 2, GROUPS = 4, SLOTS = 2, WIDTH = 48, ROUNDS = 5, THREADS = 512, OUT = 2048, ACC = 1024 };

struct link { /* between two groups */
    bool mbarrier;
    unsigned slots, full, empty; /* numbers of the first slot's barriers, or of mbarriers */
    unsigned times;              /* that the producer arrives */
};
struct group {
    unsigned first, warps, lanes; /* lanes: of each warp that do not exit */
    bool elected;
    unsigned own; /* number of its own barrier; 0: none */
    unsigned red; /* 0 none, 1 popc, 2 and, 3 or */
};
struct program {
    unsigned npipe, ngroup[PIPES], width, rounds, warps, idle;
    unsigned style;      /* of telling which group a warp belongs to */
    bool cluster, early; /* early: idle warps exit before the first barrier */
    struct group group[PIPES][GROUPS];
    struct link link[PIPES][GROUPS];
    unsigned barriers, mbarriers; /* taken */
    unsigned more;                /* a wrong count: so many threads more */
};

static uint64_t seed;
static unsigned draw(unsigned n) { return (unsigned)(xorshift(&seed) >> 20) % n; }

static char text[1 << 17];
static size_t used;
static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, ap);
    va_end(ap);
}

/* ---- drawing ---- */

static void draw_program(struct program *p)
{
    *p = (struct program){.npipe = 1 + draw(PIPES), .width = 16 + draw(WIDTH - 15), .rounds = 1 + draw(ROUNDS)};
    p->style = draw(3);
    p->cluster = !draw(4);
    p->barriers = 1;
    for (unsigned k = 0; k < p->npipe; k++) {
        p->ngroup[k] = 2 + draw(GROUPS - 1);
        for (unsigned g = 0; g < p->ngroup[k]; g++) {
            struct group *x = &p->group[k][g];
            *x = (struct group){.first = p->warps, .warps = 1 + draw(2), .lanes = draw(3) ? 32 : 1 + draw(32)};
            p->warps += x->warps;
            x->elected = !g && x->warps == 1 && x->lanes == 32 && draw(2);
            if (!x->elected && p->barriers < 15 && draw(2)) {
                x->own = p->barriers++;
                x->red = draw(4);
            }
        }
        for (unsigned g = 0; g + 1 < p->ngroup[k]; g++) {
            struct link *l = &p->link[k][g];
            *l = (struct link){.slots = 1 + draw(SLOTS), .times = 1 + !draw(4), .mbarrier = !draw(3)};
            l->mbarrier |= p->barriers + 2 * l->slots > 16;
            unsigned *from = l->mbarrier ? &p->mbarriers : &p->barriers;
            l->full = *from;
            l->empty = *from + l->slots;
            *from += 2 * l->slots;
        }
    }
    p->idle = draw(3);
    p->early = draw(2);
}

/* ---- the model ---- */

static bool votes(unsigned t, unsigned r) { return (t * 7 + r * 3) % 5 != 0; }

static void model(const struct program *p, uint32_t *o)
{
    for (unsigned k = 0; k < p->npipe; k++)
        for (unsigned r = 0; r < p->rounds; r++) {
            uint32_t v[WIDTH], w[WIDTH];
            for (unsigned g = 0; g < p->ngroup[k]; g++) {
                const struct group *x = &p->group[k][g];
                for (unsigned i = 0; i < p->width; i++)
                    w[i] = g ? v[(i * 3 + 1) % p->width] * 1664525u + r * 13 + g : 77 + k + r * 1000003u + i * 7919u;
                for (unsigned i = 0; i < p->width; i++)
                    v[i] = w[i] + (x->own ? w[(i + 5) % p->width] : 0);
                unsigned popc = 0, n = x->warps * x->lanes;
                for (unsigned t = 0; t < n; t++)
                    popc += votes(t, r);
                const unsigned red = x->red == 1 ? popc : x->red == 2 ? popc == n : x->red == 3 ? popc != 0 : 0;
                for (unsigned t = 0; t < n && x->own; t++)
                    o[ACC + (x->first + t / x->lanes) * 32 + t % x->lanes] += red * (r + 1);
            }
            memcpy(o + (k * ROUNDS + r) * WIDTH, v, p->width * sizeof *v);
        }
}

/* ---- the text ---- */

/* A barrier in one of its spellings; the number is written there or in a register. */
static void barrier(const char *what, unsigned id, const char *slot, unsigned threads)
{
    static const char *const spelling[] = {"bar.%s", "bar.cta.%s", "barrier.%s.aligned", "barrier.cta.%s.aligned"};
    char op[64];
    snprintf(op, sizeof op, spelling[draw(4)], what);
    if (slot)
        put("add.u32 %%r20, %s, %u; %s %%r20, %u;\n", slot, id, op, threads);
    else if (draw(3))
        put("%s %u, %u;\n", op, id, threads);
    else
        put("mov.u32 %%r20, %u; mov.u32 %%r21, %u; %s %%r20, %%r21;\n", id, threads, op);
}

static unsigned both(const struct program *p, unsigned k, unsigned g) /* threads at a link's barriers */
{
    return 32 * (p->group[k][g].warps + p->group[k][g + 1].warps);
}

/* Waits until the slot of this round, %r12, is full or empty. The phase of round %r10 is %r13. */
static void wait_for(const struct program *p, unsigned k, unsigned g, bool full)
{
    const struct link *l = &p->link[k][g];
    static unsigned label;
    put("and.b32 %%r12, %%r10, %u; shr.u32 %%r13, %%r10, %u; and.b32 %%r13, %%r13, 1;\n", l->slots - 1, l->slots - 1);
    if (!l->mbarrier) {
        barrier("sync", full ? l->full : l->empty, l->slots > 1 ? "%r12" : NULL,
                both(p, k, g) + (full ? 32 * p->group[k][g].warps * (l->times - 1) + p->more : 0));
        return;
    }
    put("shl.b32 %%r20, %%r12, 3; add.u32 %%r20, %%r20, mb; add.u32 %%r20, %%r20, %u;\n",
        8 * (full ? l->full : l->empty));
    put("xor.b32 %%r13, %%r13, %u;\nW%u: mbarrier.try_wait.parity.shared.b64 %%p5, [%%r20], %%r13; @!%%p5 bra W%u;\n",
        !full, label, label);
    label++;
}

static void signal_that(const struct program *p, unsigned k, unsigned g, bool full)
{
    const struct link *l = &p->link[k][g];
    put("and.b32 %%r12, %%r10, %u;\n", l->slots - 1);
    if (l->mbarrier) {
        put("shl.b32 %%r20, %%r12, 3; add.u32 %%r20, %%r20, mb; add.u32 %%r20, %%r20, %u;\n",
            8 * (full ? l->full : l->empty));
        put("mbarrier.arrive.shared.b64 %%rd9, [%%r20];\n");
        return;
    }
    const unsigned n = full ? l->times : 1;
    for (unsigned t = 0; t < n; t++)
        barrier("arrive", full ? l->full : l->empty, l->slots > 1 ? "%r12" : NULL,
                both(p, k, g) + (full ? 32 * p->group[k][g].warps * (l->times - 1) + p->more : 0));
}

/* %r17 = address of word %r16 of an array: slots of links, then scratch of groups. */
static void address(unsigned array, const char *slot)
{
    if (slot)
        put("mad.lo.u32 %%r17, %s, %u, %%r16; shl.b32 %%r17, %%r17, 2;\n", slot, WIDTH);
    else
        put("shl.b32 %%r17, %%r16, 2;\n");
    put("add.u32 %%r17, %%r17, sm; add.u32 %%r17, %%r17, %u;\n", array * WIDTH * 4);
}
static unsigned slots_of(unsigned k, unsigned g) { return (k * GROUPS + g) * SLOTS; }
static unsigned scratch_of(unsigned k, unsigned g) { return PIPES * GROUPS * SLOTS + k * GROUPS + g; }

/* The value %r19 of element %r14: made, or of the slot before. */
static void put_value(const struct program *p, unsigned k, unsigned g)
{
    if (!g) {
        put("mad.lo.u32 %%r19, %%r10, 1000003, %u; mad.lo.u32 %%r19, %%r14, 7919, %%r19;\n", 77 + k);
        return;
    }
    put("mad.lo.u32 %%r16, %%r14, 3, 1; rem.u32 %%r16, %%r16, %u; and.b32 %%r12, %%r10, %u;\n", p->width,
        p->link[k][g - 1].slots - 1);
    address(slots_of(k, g - 1), "%r12");
    put("ld.shared.u32 %%r19, [%%r17]; mad.lo.u32 %%r18, %%r10, 13, %u; mad.lo.u32 %%r19, %%r19, 1664525, %%r18;\n", g);
}

/* %r19 goes to the next group, or out. */
static void put_store(const struct program *p, unsigned k, unsigned g)
{
    if (g + 1 < p->ngroup[k]) {
        put("mov.u32 %%r16, %%r14; and.b32 %%r12, %%r10, %u;\n", p->link[k][g].slots - 1);
        address(slots_of(k, g), "%r12");
        put("st.shared.u32 [%%r17], %%r19;\n");
    } else {
        put("mad.lo.u32 %%r16, %%r10, %u, %%r14; add.u32 %%r16, %%r16, %u; mul.wide.u32 %%rd8, %%r16, 4;\n", WIDTH,
            k * ROUNDS * WIDTH);
        put("add.s64 %%rd8, %%rd8, %%rd7; st.global.u32 [%%rd8], %%r19;\n");
    }
}

/* A loop over the elements of a thread: from %r11 on, so many apart. */
static void elements(const struct program *p, unsigned apart, const char *name, unsigned k, unsigned g, bool begin)
{
    if (begin)
        put("mov.u32 %%r14, %s;\nE%s%u_%u: setp.ge.u32 %%p4, %%r14, %u; @%%p4 bra F%s%u_%u;\n",
            apart == 1 ? "0" : "%r11", name, k, g, p->width, name, k, g);
    else
        put("add.u32 %%r14, %%r14, %u; bra E%s%u_%u;\nF%s%u_%u:\n", apart, name, k, g, name, k, g);
}

static void put_group(const struct program *p, unsigned k, unsigned g)
{
    const struct group *x = &p->group[k][g];
    const bool last = g + 1 == p->ngroup[k];
    const unsigned apart = x->elected ? 1 : x->warps * x->lanes;
    put("G%u_%u:\n", k, g);
    if (x->lanes < 32)
        put("setp.ge.u32 %%p6, %%r5, %u; @%%p6 exit;\n", x->lanes);
    put("sub.u32 %%r11, %%r4, %u; mad.lo.u32 %%r11, %%r11, %u, %%r5; mov.u32 %%r30, 0;\n", x->first, x->lanes);
    put("mov.u32 %%r10, 0;\n");
    if (g && !p->link[k][g - 1].mbarrier) /* its slots are empty */
        for (unsigned s = 0; s < p->link[k][g - 1].slots; s++)
            put("setp.gt.u32 %%p7, %%r8, %u; @!%%p7 bra I%u_%u;\nbar.arrive %u, %u;\n", s, k, g,
                p->link[k][g - 1].empty + s, both(p, k, g - 1));
    put("I%u_%u:\nL%u_%u:\n", k, g, k, g);
    if (g)
        wait_for(p, k, g - 1, true);
    const bool inside = x->elected && p->link[k][g].mbarrier;
    if (!last && !inside)
        wait_for(p, k, g, false);
    if (x->elected)
        put("elect.sync %%r20|%%p8, 0xffffffff; @!%%p8 bra J%u_%u;\n", k, g);
    if (inside)
        wait_for(p, k, g, false);
    elements(p, apart, "a", k, g, true);
    put_value(p, k, g);
    if (x->own) {
        put("mov.u32 %%r16, %%r14;\n");
        address(scratch_of(k, g), NULL);
        put("st.shared.u32 [%%r17], %%r19;\n");
        elements(p, apart, "a", k, g, false);
        barrier("sync", x->own, NULL, 32 * x->warps);
        elements(p, apart, "b", k, g, true);
        put("mov.u32 %%r16, %%r14;\n");
        address(scratch_of(k, g), NULL);
        put("ld.shared.u32 %%r19, [%%r17]; add.u32 %%r16, %%r14, 5; rem.u32 %%r16, %%r16, %u;\n", p->width);
        address(scratch_of(k, g), NULL);
        put("ld.shared.u32 %%r18, [%%r17]; add.u32 %%r19, %%r19, %%r18;\n");
    }
    put_store(p, k, g);
    elements(p, apart, x->own ? "b" : "a", k, g, false);
    if (inside)
        signal_that(p, k, g, true);
    if (x->elected)
        put("J%u_%u: bar.warp.sync 0xffffffff;\n", k, g);
    if (!last && !inside)
        signal_that(p, k, g, true);
    if (g && p->link[k][g - 1].mbarrier) {
        signal_that(p, k, g - 1, false);
    } else if (g) {
        put("add.u32 %%r20, %%r10, %u; setp.lt.u32 %%p7, %%r20, %%r8; @!%%p7 bra K%u_%u;\n", p->link[k][g - 1].slots, k,
            g);
        signal_that(p, k, g - 1, false);
        put("K%u_%u:\n", k, g);
    }
    if (x->own) {
        put("mad.lo.u32 %%r20, %%r11, 7, 0; mad.lo.u32 %%r20, %%r10, 3, %%r20; rem.u32 %%r20, %%r20, 5;\n");
        put("setp.ne.u32 %%p9, %%r20, 0; mov.u32 %%r22, 0;\n");
        if (x->red == 1)
            put("bar.red.popc.u32 %%r22, %u, %u, %%p9;\n", x->own, 32 * x->warps);
        else if (x->red)
            put("bar.red.%s.pred %%p9, %u, %u, %%p9; selp.u32 %%r22, 1, 0, %%p9;\n", x->red == 2 ? "and" : "or", x->own,
                32 * x->warps);
        else
            barrier("sync", x->own, NULL, 32 * x->warps);
        put("add.u32 %%r20, %%r10, 1; mad.lo.u32 %%r30, %%r22, %%r20, %%r30;\n");
    }
    put("add.u32 %%r10, %%r10, 1; setp.lt.u32 %%p7, %%r10, %%r8; @%%p7 bra L%u_%u;\n", k, g);
    if (x->own)
        put("mul.wide.u32 %%rd8, %%r1, 4; add.s64 %%rd8, %%rd8, %%rd7; st.global.u32 [%%rd8+%u], %%r30;\n", 4 * ACC);
    put("ret;\n");
}

static void put_roles(const struct program *p)
{
    static const char *const of_warp[] = {"shr.u32 %r4, %r1, 5;\n",
                                          "shr.u32 %r4, %r1, 5; shfl.sync.idx.b32 %r4, %r4, 0, 31, 0xffffffff;\n",
                                          "shr.u32 %r4, %r1, 5;\n"};
    put("%s", of_warp[p->style]);
    for (unsigned k = 0; k < p->npipe; k++)
        for (unsigned g = 0; g < p->ngroup[k]; g++) {
            const unsigned end = p->group[k][g].first + p->group[k][g].warps;
            if (p->style == 2)
                put("setp.lt.u32 %%p2, %%r1, %u; @%%p2 bra G%u_%u;\n", 32 * end, k, g);
            else
                put("setp.lt.u32 %%p2, %%r4, %u; @%%p2 bra G%u_%u;\n", end, k, g);
        }
    put("ret;\n");
}

static void write_program(const struct program *p)
{
    used = 0;
    put(HEAD ".shared .align 16 .b32 sm[%u]; .shared .align 8 .b64 mb[%u];\n", (PIPES * GROUPS * (SLOTS + 1)) * WIDTH,
        p->mbarriers + 1);
    put("%s", ENTRY("k"));
    put("ld.param.u32 %%r8, [pn]; and.b32 %%r5, %%r1, 31; mul.wide.u32 %%rd7, %%r50, %u;\n"
        "add.s64 %%rd7, %%rd7, %%rd30;\n",
        4 * OUT);
    put("setp.ge.u32 %%p3, %%r1, %u;\n", 32 * p->warps);
    if (p->early)
        put("@%%p3 exit;\n");
    put("setp.ne.u32 %%p1, %%r1, 0; @%%p1 bra Z;\n");
    for (unsigned k = 0; k < p->npipe; k++)
        for (unsigned g = 0; g + 1 < p->ngroup[k]; g++) {
            const struct link *l = &p->link[k][g];
            const struct group *a = &p->group[k][g], *b = a + 1;
            for (unsigned s = 0; s < l->slots && l->mbarrier; s++) {
                put("mbarrier.init.shared.b64 [mb+%u], %u;\n", 8 * (l->full + s), a->elected ? 1 : a->warps * a->lanes);
                put("mbarrier.init.shared.b64 [mb+%u], %u;\n", 8 * (l->empty + s), b->warps * b->lanes);
            }
        }
    put("Z: bar.sync 0;\n");
    if (p->cluster)
        put("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n");
    put_roles(p);
    for (unsigned k = 0; k < p->npipe; k++)
        for (unsigned g = 0; g < p->ngroup[k]; g++)
            put_group(p, k, g);
    put("%s", "}\n");
}

/* ---- runs ---- */

static bool launch(const struct program *p, struct t0_fault *fault)
{
    struct args a = {out, in, p->rounds};
    memset(out, 0, sizeof out);
    memcpy(t0t_cluster, (uint32_t[3]){p->cluster ? 2 : 0, p->cluster, p->cluster}, sizeof t0t_cluster);
    const bool good = t0t_once(text, "k", MOST / OUT, 32 * (p->warps + p->idle), &a, fault);
    memset(t0t_cluster, 0, sizeof t0t_cluster);
    return good;
}

static bool right(unsigned number)
{
    static uint32_t want[MOST];
    struct program p;
    seed = 0x9e3779b97f4a7c15u * (number + 1);
    draw_program(&p);
    write_program(&p);
    memset(want, 0, sizeof want);
    model(&p, want);
    model(&p, want + OUT);
    if (!launch(&p, NULL))
        return false;
    for (unsigned i = 0; i < MOST; i++)
        if (out[i] != want[i]) {
            printf("# program %u: out[%u] = 0x%x, want 0x%x\n", number, i, out[i], want[i]);
            return false;
        }
    return true;
}

/* A count that nobody meets is an error that names the line. */
static bool told(unsigned number)
{
    struct program p;
    struct t0_fault f = {0};
    seed = 0x9e3779b97f4a7c15u * (number + 1);
    do
        draw_program(&p);
    while (p.mbarriers); /* who spins for ever may yet be helped */
    p.more = 32;
    write_program(&p);
    launch(&p, &f);
    if (f.kind == T0_FAULT_DEADLOCK && f.line)
        return true;
    printf("# program %u with a count too high: kind %d line %u %s\n", number, f.kind, f.line, f.text);
    return false;
}

int main(void)
{
    const char *seeds = getenv("SPECIALISED_SEEDS"), *show = getenv("SPECIALISED_SHOW");
    const unsigned n = seeds ? (unsigned)atoi(seeds) : 8;
    unsigned wrong = 0;
    for (unsigned k = show ? (unsigned)atoi(show) : 0; k < n; k++) {
        wrong += !right(k);
        if (show)
            puts(text);
    }
    check(!wrong, "%u programs of specialised warps, %u wrong", n, wrong);
    wrong = 0;
    for (unsigned k = 0; k < n / 4; k++)
        wrong += !told(k);
    check(!wrong, "%u programs with counts that do not fit, %u not told", n / 4, wrong);
    return t0t_done();
}
