/* Drawn pipelines of clusters, beside a model in C: a producer of each block feeds slots of shared memory in bulk, by
 * addresses or by a tensor map, for its own block or for the cluster (pieces of all blocks, or all of it by one), and
 * groups of warps take them in turns or all of them, as words or by wgmma. Full and empty are told by mbarriers, here
 * and in other blocks; results go on to the next block of the cluster. */
#include "ptx/lir/tensor_map.h"
#include "tier0/kernels.h"
#include "xorshift.h"

#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef FED_ALIGNED
#define FED_ALIGNED 0 /* whether all barriers say so */
#endif
enum { SLOTS = 4, ROUNDS = 9, WORDS = 576, DATA = 8192, OUT = 512, BLOCKS = MOST / OUT, A_WORDS = 512 };
enum feed { OWN, SHARED, LEADER, LEADER_TELLS, FEEDS }; /* tells: of the bytes to come, in other blocks, too */
enum release { THREADS, WARPS, LANES, COUNT, RELEASES };
enum pass { NONE, ST_ASYNC, BULK, RED_ASYNC, PASSES };
struct program {
    unsigned size, clusters, slots, rounds, words, copies, feed, leader;
    unsigned groups, warps, producers, idle, threads; /* groups of so many warps */
    unsigned release, pass;
    bool turns, wgmma, tensor, producer_last, registers, early, one_waits, elected_inside, aligned;
};
static struct {
    uint8_t map[128];
    uint32_t data[DATA];
} input __attribute__((aligned(128)));

static uint64_t seed = 88172645463325252u;
static unsigned any(unsigned n) { return (unsigned)(xorshift(&seed) >> 20) % n; }
static unsigned least(unsigned a, unsigned b) { return a < b ? a : b; }
static unsigned first_consumer(const struct program *p) { return p->producer_last ? 0 : 32 * p->producers; }
static unsigned consumers(const struct program *p) { return 32 * p->warps * p->groups; }

static void draw_program(struct program *p)
{
    *p = (struct program){.size = 1u << any(3), .clusters = 1 + any(2), .slots = 1 + any(SLOTS), .leader = any(4)};
    p->rounds = 1 + any(ROUNDS);
    p->feed = any(FEEDS);
    p->leader %= p->size;
    p->wgmma = any(2);
    p->groups = 1 + any(2);
    p->warps = p->wgmma ? 4 : 1 + any(3);
    p->registers = p->warps == 4 && any(2);
    p->producers = p->warps == 4 && (p->registers || any(2)) ? 4 : 1;
    p->producer_last = p->producers == 1 && p->warps == 4 ? true : any(2);
    p->idle = any(2);
    p->turns = any(2);
    if (p->turns && p->slots % p->groups) /* a slot is one group's, as who misses a phase cannot tell */
        p->slots++;
    p->copies = 1 + any(3);
    p->words = p->size * p->copies * 4 * (1 + any(12));
    if (p->wgmma) {
        p->words = WORDS;
        p->copies = 3;
    }
    if (any(2) && !p->wgmma)
        p->words = (p->words + 32 * p->size * p->copies - 1) / (32 * p->size * p->copies) * 32 * p->size * p->copies;
    p->tensor = p->words / p->size / p->copies % 32 == 0 && any(2);
    p->release = any(RELEASES);
    p->pass = any(PASSES);
    p->early = any(2);
    p->one_waits = any(2);
    p->elected_inside = any(2);
    p->aligned = any(4) || FED_ALIGNED;
    p->threads = 32 * (p->producers + p->groups * p->warps + p->idle);
    while (p->words > WORDS)
        p->words -= 32 * p->size * p->copies;
}

/* ---- the model ---- */

static uint32_t word_at(unsigned id, unsigned round) { return (id * 7 + round * 3) * 64 % (DATA - WORDS); }
static unsigned source(const struct program *p, unsigned block)
{
    return p->feed == OWN ? block : p->feed == SHARED ? block / p->size + 40 : block / p->size + 80;
}

static float half_at(const uint32_t *slot, unsigned at) /* small whole numbers */
{
    const unsigned h = slot[at / 2] >> at % 2 * 16 & 0xffff;
    const float v = h & 0x7fff ? (float)(1024 + (h & 0x3ff)) * (float)(1u << (h >> 10 & 31)) / 33554432.0f : 0;
    return h & 0x8000 ? -v : v;
}

/* What one thread of a group adds in a round: its four sums of 64 x 8 of a 64 x 16 by an 16 x 8, by core matrices. */
static void multiply(const uint32_t *slot, unsigned t, float d[4])
{
    for (unsigned e = 0; e < 4; e++) {
        const unsigned row = t / 32 * 16 + t % 32 / 4 + e / 2 * 8, column = t % 4 * 2 + e % 2;
        for (unsigned k = 0; k < 16; k++)
            d[e] += half_at(slot, (row / 8 * 2 + k / 8) * 64 + row % 8 * 8 + k % 8) *
                    half_at(slot + A_WORDS, k / 8 * 64 + column * 8 + k % 8);
    }
}

static void model(const struct program *p, uint32_t *want)
{
    const unsigned group = 32 * p->warps;
    for (unsigned b = 0; b < p->size * p->clusters; b++)
        for (unsigned c = 0; c < consumers(p); c++) {
            uint32_t acc = c;
            float d[4] = {0};
            for (unsigned r = 0; r < p->rounds; r++) {
                const uint32_t *slot = input.data + word_at(source(p, b), r);
                if (p->turns && r % p->groups != c / group)
                    continue;
                if (p->wgmma)
                    multiply(slot, c % group, d);
                else
                    acc = acc * 31 + slot[(c * 5 + r) % p->words];
            }
            for (unsigned e = 0; e < 4; e++)
                acc += (uint32_t)(int32_t)d[e] * (2 * e + 1);
            want[b * OUT + c] = acc;
        }
    uint32_t was[MOST];
    memcpy(was, want, sizeof was);
    for (unsigned b = 0; b < p->size * p->clusters && p->pass; b++)
        for (unsigned c = 0; c < consumers(p); c++) {
            const unsigned before = b / p->size * p->size + (b + p->size - 1) % p->size;
            want[b * OUT + c] = was[b * OUT + c] * 7 + was[before * OUT + c];
        }
}

/* ---- the text ---- */

static char text[1 << 16];
static size_t used;
static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, ap);
    va_end(ap);
}

/* Waits at the mbarrier %r20 for the phase of parity %r21. Clobbers %p5. */
static void put_wait(void)
{
    static unsigned label;
    static const char *const forms[] = {
        "mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r20], %r21;",
        "mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r20], %r21, 0x989680;",
        "mbarrier.test_wait.parity.shared::cta.b64 %p5, [%r20], %r21;",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p5, [%r20], %r21, 20;",
        "mov.u32 %r22, 1000; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p5, [%r20], %r21, %r22;",
        "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p5, [%r20], %r21; fence.acq_rel.cluster;"};
    label++;
    put("W%u: %s @%%p5 bra V%u; %s bra W%u; V%u:\n", label, forms[any(6)], label, any(2) ? "nanosleep.u32 20;" : "",
        label, label);
}

/* The slot %r12 and its phase %r13, for the next round. */
static void put_next(const struct program *p)
{
    put("add.u32 %%r10, %%r10, 1; add.u32 %%r12, %%r12, 1; setp.eq.u32 %%p6, %%r12, %u;\n", p->slots);
    put("@%%p6 mov.u32 %%r12, 0; @%%p6 xor.b32 %%r13, %%r13, 1;\n");
}

static void put_mbarrier(const char *array) { put("mad.lo.u32 %%r20, %%r12, 8, %s;\n", array); }

/* One piece's copies: of the words from `piece` on, whose number is in %r16, to the slot at %r18. */
static void put_copies(const struct program *p, bool cast)
{
    const unsigned words = p->words / p->size / p->copies, mask = (1u << p->size) - 1;
    put("mov.u16 %%h1, %u;\n", mask);
    for (unsigned c = 0; c < p->copies; c++) {
        put("mad.lo.u32 %%r23, %%r16, %u, %u; add.u32 %%r24, %%r15, %%r23;\n", words * p->copies, words * c);
        put("mad.lo.u32 %%r25, %%r23, 4, %%r18;\n");
        if (p->tensor)
            put("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s [%%r25], [%%rd31, "
                "{%%r24}], [%%r20]%s;\n",
                cast ? ".multicast::cluster" : "", cast ? ", %h1" : "");
        else
            put("mul.wide.u32 %%rd10, %%r24, 4; add.s64 %%rd10, %%rd10, %%rd31; "
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes%s [%%r25], [%%rd10+128], %u, "
                "[%%r20]%s;\n",
                cast ? ".multicast::cluster" : "", 4 * words, cast ? ", %h1" : "");
    }
}

/* All of the cluster's pieces, or this block's. */
static void put_feed(const struct program *p)
{
    put("mad.lo.u32 %%r18, %%r12, %u, slot;\n", 4 * WORDS);
    if (p->feed == SHARED) {
        put("mov.u32 %%r16, %%r40;\n");
        put_copies(p, true);
        return;
    }
    for (unsigned k = 0; k < p->size; k++) {
        put("mov.u32 %%r16, %u;\n", k);
        put_copies(p, p->feed != OWN);
    }
}

static void put_producer(const struct program *p)
{
    const char *const feeds = p->feed < LEADER ? "" : "@%p10 ";
    put("PRODUCER: %s\n", p->registers ? "setmaxnreg.dec.sync.aligned.u32 40;" : "");
    if (p->producers > 1)
        put("sub.u32 %%r11, %%r1, %u; setp.ge.u32 %%p1, %%r11, 32; @%%p1 bra END;\n",
            p->producer_last ? consumers(p) : 0);
    if (p->feed == LEADER_TELLS)
        put("@!%%p10 bra END;\n");
    if (!p->elected_inside)
        put("elect.sync %%r11|%%p1, 0xffffffff; @!%%p1 bra END;\n");
    put("mov.u32 %%r10, 0; mov.u32 %%r12, 0; mov.u32 %%r13, 1;\nP: setp.ge.u32 %%p2, %%r10, %%r8; @%%p2 bra END;\n");
    if (p->elected_inside)
        put("elect.sync %%r11|%%p1, 0xffffffff; @!%%p1 bra Q;\n");
    put_mbarrier("empty");
    put("mov.u32 %%r21, %%r13;\n");
    put_wait();
    put_mbarrier("full");
    put("mad.lo.u32 %%r15, %%r10, 3, %%r41; mul.lo.u32 %%r15, %%r15, 64; rem.u32 %%r15, %%r15, %u;\n", DATA - WORDS);
    if (p->feed == LEADER_TELLS) {
        for (unsigned k = 0; k < p->size; k++)
            put("mapa.shared::cluster.u32 %%r19, %%r20, %u; "
                "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%%r19], %u;\n",
                k, 4 * p->words);
    } else if (any(2)) {
        put("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%%r20], %u;\n", 4 * p->words);
    } else {
        put("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%%r20], %u; mbarrier.arrive.shared::cta.b64 %%rd9, "
            "[%%r20];\n",
            4 * p->words);
    }
    if (*feeds && p->feed == LEADER)
        put("@!%%p10 bra Q;\n");
    put_feed(p);
    put("Q:\n");
    if (p->elected_inside && any(2))
        put("bar.warp.sync 0xffffffff;\n");
    put_next(p);
    put("bra P;\n");
}

/* The slot %r12 may be filled again: told to all who fill it. */
static void put_release(const struct program *p)
{
    const char *const count = p->release == COUNT ? ", %r26" : "";
    put_mbarrier("empty");
    put("mov.u32 %%r26, %u;\n", p->warps);
    if (p->release != THREADS)
        put("bar.warp.sync 0xffffffff;\n");
    if (p->release == COUNT)
        put("add.u32 %%r27, %%r28, 1; barrier.sync%s %%r27, %u;\n", p->aligned ? ".aligned" : "", 32 * p->warps);
    if (p->release == LANES && p->feed == SHARED) {
        put("setp.lt.u32 %%p7, %%r5, %u; mapa.shared::cluster.u32 %%r19, %%r20, %%r5;\n"
            "@%%p7 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%%r19];\n",
            p->size);
        return;
    }
    if (p->release == THREADS)
        put("setp.eq.u32 %%p7, 0, 0;\n");
    else if (p->release == COUNT)
        put("setp.eq.u32 %%p7, %%r4, 0;\n");
    else
        put("elect.sync %%r11|%%p7, 0xffffffff;\n");
    if (p->feed == OWN || (p->feed == LEADER && any(2)))
        put("@%%p7 mbarrier.arrive%s.shared::cta.b64 _, [%%r20]%s;\n", *count ? ".release.cta" : "", count);
    else if (p->feed == LEADER)
        put("mapa.shared::cluster.u32 %%r19, %%r20, %%r40; @%%p7 mbarrier.arrive.release.cluster.shared::cluster.b64 "
            "_, [%%r19]%s;\n",
            count);
    if (p->feed == LEADER) /* its own block has heard already */
        put("and.pred %%p7, %%p7, %%p11;\n");
    for (unsigned k = 0; k < p->size; k++)
        if (p->feed == SHARED || (p->feed >= LEADER && k == p->leader))
            put("mapa.shared::cluster.u32 %%r19, %%r20, %u; @%%p7 "
                "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%%r19]%s;\n",
                k, count);
}

static void put_take(const struct program *p)
{
    put("mad.lo.u32 %%r18, %%r12, %u, slot;\n", 4 * WORDS);
    if (!p->wgmma) {
        put("mad.lo.u32 %%r16, %%r6, 5, %%r10; rem.u32 %%r16, %%r16, %u; mad.lo.u32 %%r16, %%r16, 4, %%r18;\n",
            p->words);
        put("ld.shared.u32 %%r17, [%%r16]; mad.lo.u32 %%r30, %%r30, 31, %%r17;\n");
        return;
    }
    put("shr.u32 %%r16, %%r18, 4; cvt.u64.u32 %%rd11, %%r16; add.u64 %%rd12, %%rd11, %u;\n", A_WORDS / 4);
    put("or.b64 %%rd11, %%rd11, 0x1000080000; or.b64 %%rd12, %%rd12, 0x1000080000;\n"); /* 128 along k, 256 along m */
    put("wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%%f0, %%f1, %%f2, %%f3}, %%rd11, "
        "%%rd12, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n");
}

static void put_pass(const struct program *p)
{
    static const char *const async[] = {
        [ST_ASYNC] = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32",
        [RED_ASYNC] = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                      "bytes.add.u32"};
    put("add.u32 %%r16, %%r40, 1; rem.u32 %%r16, %%r16, %u; mad.lo.u32 %%r17, %%r6, 4, ring;\n"
        "mapa.shared::cluster.u32 %%r19, %%r17, %%r16; mov.u32 %%r20, final; mapa.shared::cluster.u32 %%r23, %%r20, "
        "%%r16;\n",
        p->size);
    if (p->pass == BULK) {
        put("mad.lo.u32 %%r24, %%r6, 4, mine; st.shared.u32 [%%r24], %%r30; fence.proxy.async.shared::cta; bar.sync "
            "15, %u; setp.ne.u32 %%p7, %%r6, 0; @%%p7 bra R;\n"
            "mov.u32 %%r24, mine; cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%%r19], "
            "[%%r24], %u, [%%r23];\nR:\n",
            consumers(p), 4 * consumers(p));
    } else {
        put("%s [%%r19], %%r30, [%%r23];\n", async[p->pass]);
    }
    put("mov.u32 %%r21, 0;\n");
    put_wait();
    put("ld.shared.u32 %%r18, [%%r17]; mad.lo.u32 %%r30, %%r30, 7, %%r18;\n");
}

static void put_consumer(const struct program *p)
{
    put("CONSUMER: %s\n", p->registers ? "setmaxnreg.inc.sync.aligned.u32 232;" : "");
    /* %r6 number among the consumers, %r28 group, %r4 in it */
    put("sub.u32 %%r6, %%r1, %u; div.u32 %%r28, %%r6, %u; rem.u32 %%r4, %%r6, %u; mov.u32 %%r30, %%r6;\n",
        first_consumer(p), 32 * p->warps, 32 * p->warps);
    for (unsigned e = 0; e < 4; e++)
        put("mov.f32 %%f%u, 0f00000000;\n", e);
    put("mov.u32 %%r10, 0; mov.u32 %%r12, 0; mov.u32 %%r13, 0;\nC: setp.ge.u32 %%p2, %%r10, %%r8; @%%p2 bra D;\n");
    if (p->turns)
        put("rem.u32 %%r16, %%r10, %u; setp.ne.u32 %%p3, %%r16, %%r28; @%%p3 bra N;\n", p->groups);
    put_mbarrier("full");
    put("mov.u32 %%r21, %%r13;\n");
    if (p->one_waits)
        put("elect.sync %%r11|%%p1, 0xffffffff; @!%%p1 bra B;\n");
    put_wait();
    if (p->one_waits)
        put("B: bar.warp.sync 0xffffffff;\n");
    put_take(p);
    put_release(p);
    put("N:\n");
    put_next(p);
    put("bra C;\nD:\n");
    for (unsigned e = 0; e < 4; e++)
        put("cvt.rzi.s32.f32 %%r16, %%f%u; mad.lo.u32 %%r30, %%r16, %u, %%r30;\n", e, 2 * e + 1);
    if (p->pass)
        put_pass(p);
    put("mad.lo.u32 %%r16, %%r50, %u, %%r6; mul.wide.u32 %%rd8, %%r16, 4; add.s64 %%rd8, %%rd8, %%rd30; "
        "st.global.u32 [%%rd8], %%r30; bra END;\n",
        OUT);
}

static void put_start(const struct program *p)
{
    const unsigned each = p->release == THREADS ? 32 * p->warps : p->warps;
    const unsigned arrivals = each * (p->turns ? 1 : p->groups);
    put("setp.ne.u32 %%p1, %%r1, 0; @%%p1 bra Z;\n");
    for (unsigned s = 0; s < p->slots; s++) {
        put("mbarrier.init.shared::cta.b64 [full+%u], 1;\n", 8 * s);
        /* a leader hears of all blocks, the others of their own */
        put("mov.u32 %%r16, %u; %s mov.u32 %%r16, %u; mbarrier.init.shared::cta.b64 [empty+%u], %%r16;\n", arrivals,
            p->feed == OWN      ? "@!%p1"
            : p->feed == SHARED ? ""
                                : "@%p10",
            p->feed == OWN ? arrivals : arrivals * p->size, 8 * s);
    }
    put("mbarrier.init.shared::cta.b64 [final], 1; fence.mbarrier_init.release.cluster;\n");
    if (p->pass)
        put("mbarrier.arrive.expect_tx.shared::cta.b64 _, [final], %u;\n", 4 * consumers(p));
    put("Z: mad.lo.u32 %%r16, %%r1, 4, ring; st.shared.u32 [%%r16], 0;\n");
    if (any(2))
        put("fence.proxy.async; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n");
    else
        put("fence.proxy.async; bar.sync 0; barrier.cluster.arrive.release.aligned; "
            "barrier.cluster.wait.acquire.aligned;\n");
}

static void write_program(const struct program *p)
{
    used = 0;
    put(".version 8.6\n.target sm_90a\n.address_size 64\n"
        ".shared .align 128 .b8 slot[%u]; .shared .align 16 .b32 ring[%u]; .shared .align 16 .b32 mine[%u];\n"
        ".shared .align 8 .b64 full[%u]; .shared .align 8 .b64 empty[%u]; .shared .align 8 .b64 final;\n",
        4 * WORDS * p->slots, OUT, OUT, p->slots, p->slots);
    put("%s", ENTRY("k"));
    put("ld.param.u32 %%r8, [pn]; and.b32 %%r5, %%r1, 31; mov.u32 %%r40, %%cluster_ctarank;\n");
    /* %r41: whose data; p10: the leader; p11: not */
    put("%s add.u32 %%r41, %%r41, %u;\n", p->feed == OWN ? "mov.u32 %r41, %r50;" : "mov.u32 %r41, %clusterid.x;",
        p->feed == OWN      ? 0
        : p->feed == SHARED ? 40
                            : 80);
    put("mul.lo.u32 %%r41, %%r41, 7; setp.eq.u32 %%p10, %%r40, %u; setp.ne.u32 %%p11, %%r40, %u;\n", p->leader,
        p->leader);
    if (any(2))
        put("griddepcontrol.wait;\n");
    put_start(p);
    const unsigned busy = 32 * (p->producers + p->groups * p->warps);
    put("setp.ge.u32 %%p3, %%r1, %u; @%%p3 %s;\n", busy, p->early ? "exit" : "bra END");
    if (p->producer_last)
        put("setp.ge.u32 %%p3, %%r1, %u; @%%p3 bra PRODUCER; bra CONSUMER;\n", consumers(p));
    else
        put("setp.lt.u32 %%p3, %%r1, %u; @%%p3 bra PRODUCER; bra CONSUMER;\n", 32 * p->producers);
    put_producer(p);
    put_consumer(p);
    const char *const dot = p->aligned ? ".aligned" : "";
    put("END: %s bar.warp.sync 0xffffffff; barrier.cluster.arrive%s; barrier.cluster.wait%s;\n" END,
        any(2) ? "griddepcontrol.launch_dependents;" : "", dot, dot);
}

/* ---- runs ---- */

static bool right(unsigned number)
{
    static uint32_t want[MOST];
    struct program p;
    struct t0_fault f = {0};
    seed = 0x9e3779b97f4a7c15u * (number + 1);
    draw_program(&p);
    write_program(&p);
    struct lir_tmap *map = (struct lir_tmap *)(void *)input.map;
    *map = (struct lir_tmap){.magic = LIR_TMAP_MAGIC,
                             .type = LIR_TMAP_U32,
                             .rank = 1,
                             .address = (uint64_t)(uintptr_t)input.data,
                             .dim = {DATA, 1, 1, 1, 1},
                             .estride = {1, 1, 1, 1, 1},
                             .box = {(uint16_t)least(256, p.words / p.size / p.copies), 1, 1, 1, 1}};
    struct args a = {out, &input, p.rounds};
    memset(out, 0, sizeof out);
    memset(want, 0, sizeof want);
    model(&p, want);
    memcpy(t0t_cluster, (uint32_t[3]){p.size, 1, 1}, sizeof t0t_cluster);
    const bool ran = t0t_once(text, "k", p.size * p.clusters, p.threads, &a, &f);
    memset(t0t_cluster, 0, sizeof t0t_cluster);
    if (!ran) {
        printf("# program %u: fault %d at line %u: %s\n", number, f.kind, f.line, f.text);
        return false;
    }
    for (unsigned i = 0; i < MOST; i++)
        if (out[i] != want[i]) {
            printf("# program %u: out[%u] = 0x%x, want 0x%x\n", number, i, out[i], want[i]);
            return false;
        }
    return true;
}

/* All warps wait for each phase, one of them brings about the next: who may run ahead without bound is to let the
 * others see each, as parities tell two phases apart. The work between two waits is drawn. */
static bool kept_up(unsigned number)
{
    struct args a = {out, in, 0};
    struct t0_fault f = {0};
    seed = 0x9e3779b97f4a7c15u * (number + 1);
    const unsigned warps = 2 + any(7), phases = 2 + any(9), first = any(warps), lanes = any(2) ? 1 : 32;
    used = 0;
    put(HEAD ".shared .align 8 .b64 here, back;\n%s", ENTRY("k"));
    put("setp.ne.u32 %%p1, %%r1, 0; @%%p1 bra Z; mbarrier.init.shared.b64 [here], %u;\n"
        "mbarrier.init.shared.b64 [back], 1;\nZ: bar.sync 0; mov.u32 %%r10, 0; mov.u32 %%r30, 0; shr.u32 %%r4, %%r1, 5; and.b32 %%r5, %%r1, 31;\n"
        "setp.eq.u32 %%p2, %%r4, %u; setp.lt.u32 %%p3, %%r5, %u; and.pred %%p3, %%p2, %%p3; setp.eq.u32 %%p4, %%r5, 0;\n"
        "and.pred %%p4, %%p4, %%p2; mov.u32 %%r23, here; mov.u32 %%r24, back;\n"
        "L: and.b32 %%r21, %%r10, 1; mov.u32 %%r20, %%r23; @%%p3 mbarrier.arrive.shared.b64 %%rd9, [here];\n",
        lanes, first, lanes);
    put_wait();
    if (any(2))
        put("mad.lo.u32 %%r30, %%r10, %%r10, %%r30; bar.warp.sync 0xffffffff;\n");
    put("@%%p4 mbarrier.arrive.shared.b64 %%rd9, [back]; mov.u32 %%r20, %%r24;\n");
    put_wait();
    put("add.u32 %%r10, %%r10, 1; setp.lt.u32 %%p6, %%r10, %u; @%%p6 bra L;\n%s", phases, STORE("%r10") END);
    memset(out, 0, sizeof out);
    bool good = t0t_once(text, "k", 1, 32 * warps, &a, &f);
    for (unsigned t = 0; t < 32 * warps; t++)
        good &= out[t] == phases;
    return good;
}

static void on_alarm(int sig)
{
    static const char why[] = "not ok hangs: warps that wait for every phase\n";
    (void)sig;
    _exit(write(1, why, sizeof why - 1) < 0 ? 2 : 1);
}

int main(void)
{
    const char *seeds = getenv("FED_SEEDS"), *show = getenv("FED_SHOW");
    const unsigned n = seeds ? (unsigned)atoi(seeds) : 10;
    static const uint16_t halves[] = {0, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4200, 0xc200, 0x4400};
    unsigned wrong = 0;
    for (unsigned i = 0; i < DATA; i++)
        input.data[i] = halves[any(8)] | (uint32_t)halves[any(8)] << 16;
    for (unsigned k = show ? (unsigned)atoi(show) : 0; k < (show ? (unsigned)atoi(show) + 1 : n); k++) {
        wrong += !right(k);
        if (show)
            puts(text);
    }
    check(!wrong, "%u programs of clusters that are fed in bulk, %u wrong", n, wrong);
    wrong = 0;
    signal(SIGPROF, on_alarm); /* by the CPU's time: half a minute is a hang */
    (void)setitimer(ITIMER_PROF, &(struct itimerval){.it_value = {30, 0}}, NULL);
    for (unsigned k = 0; k < n; k++)
        wrong += !kept_up(k);
    (void)setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
    check(!wrong, "%u programs whose warps wait for every phase, %u wrong", n, wrong);
    return t0t_done();
}
