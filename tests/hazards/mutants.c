/* Right kernels drawn at random, and the same with one thing wrong: an index shifted, a guard or a barrier dropped, a
 * mask without a lane, memory that is freed early or not filled. What the tool must say follows from what was done.
 * usage: mutants SEED KERNELS right           all of them as they should be: prints "done"
 *        mutants SEED KERNELS TOOL WANT       each with one defect of that tool's; WANT gets a line each: the kernel,
 *                                             a tab, what the report says, a tab, the lines it may name */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/driver.h"

enum { MOST_STEPS = 7, LOCAL = 64, FAR = 1 << 20 };
enum what {
    LOAD,
    STORE,
    ATOMIC,
    COPY,
    EXCHANGE,
    GLOBAL_EXCHANGE,
    COLLECTIVE,
    NAMED,
    PRIVATE,
    PHASE, /* an exchange by an mbarrier */
    TALLY, /* a sum in shared memory */
    BULK,  /* a copy in bulk by the first thread */
    PEER,  /* an exchange with the other block of a cluster */
    KINDS
};
enum tool { RIGHT, MEMCHECK, RACECHECK, INITCHECK, SYNCCHECK };
enum defect {
    NONE,
    /* memcheck */
    SHIFTED,   /* one element up, so that the last is beyond the end */
    BEFORE,    /* one element down */
    BEYOND,    /* far away */
    UNGUARDED, /* threads beyond the array are not kept out */
    ODD,       /* off by half an element */
    FREED,
    FORGOTTEN, /* the program's own memory */
    /* racecheck */
    HALVED,     /* two threads store to one place */
    SAME_BLOCK, /* all blocks use the first one's part */
    NO_BARRIER,
    WARP_ONLY, /* a barrier of the warp where warps meet */
    NO_WAIT,   /* for what was copied */
    /* initcheck */
    NOT_FILLED,
    LAST_NOT_FILLED,
    FIRST_NOT_FILLED,
    /* synccheck */
    LACKS_A_LANE, /* the mask */
    NAMES_OTHERS,
    IN_A_BRANCH, /* a barrier that half a warp comes to */
    WRONG_COUNT,
    DEFECTS
};

struct step {
    enum what what;
    unsigned bytes, vector;    /* of an element, elements of an access */
    unsigned length;           /* elements of its array; fewer than threads: there is a guard */
    unsigned flip, collective; /* the other thread is thread ^ flip; the last one for 0 */
    int branches, called, loops, reversed;
    unsigned offset; /* of its part of shared memory */
    uint64_t array;
};
static struct step step[MOST_STEPS];
static unsigned steps, threads, blocks, shared;
static int clustered; /* pairs of blocks */
static int waits;     /* steps may wait for what an error may keep away: its kernel would never end */
static uint64_t state;

static unsigned draw(unsigned n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % n;
}

static unsigned size_of(const struct step *s) { return s->bytes * s->vector; }
static unsigned all_threads(void) { return threads * blocks; }
static int is_guarded(const struct step *s) { return s->length < all_threads(); }
static int has_array(const struct step *s) { return s->what <= COPY || s->what == GLOBAL_EXCHANGE || s->what == BULK; }
static int across_warps(const struct step *s) { return !s->flip || s->flip >= 32; }

/* ---- what is drawn ------------------------------------------------------------------------------ */

static void draw_step(struct step *s)
{
    *s = (struct step){.what = (enum what)draw(KINDS), .bytes = 1u << draw(4), .vector = draw(3) ? 1 : 2};
    if (s->what == PEER && !clustered)
        s->what = PHASE;
    if ((s->what == PHASE || s->what == BULK) && !waits)
        s->what = EXCHANGE;
    if (s->what == PHASE || s->what == TALLY || s->what == PEER)
        s->bytes = 4, s->vector = 1;
    if (s->what == EXCHANGE || s->what == GLOBAL_EXCHANGE || s->what == ATOMIC)
        s->bytes = 4 << (s->what == EXCHANGE && !draw(3)), s->vector = 1;
    if (s->what == COPY || s->what == BULK)
        s->bytes = 4, s->vector = 4;
    s->length = all_threads();
    if (s->what <= ATOMIC && !draw(3))
        s->length -= 1 + draw(all_threads() - 2);
    s->flip = threads > 32 && (s->what == TALLY || draw(2)) ? 0 : 1u << draw(5);
    s->collective = draw(5);
    s->branches = (int)draw(2);
    s->called = s->what == STORE && s->bytes * s->vector == 4 && s->bytes == 4 && !draw(2);
    s->loops = (s->what == LOAD || s->what == EXCHANGE) && !draw(2);
    s->reversed = (int)draw(2);
    s->offset = shared;
    if (s->what == EXCHANGE || s->what == COPY || s->what == PEER)
        shared += threads * 16;
    else if (s->what >= PHASE)
        shared += threads * 16 + 16; /* with an mbarrier */
}

/* The defects of a tool that a step can have. */
static int can_have(const struct step *s, enum defect d)
{
    switch (d) {
    case SHIFTED:
    case BEFORE: return has_array(s) && s->what != BULK; /* for whose copy the others would wait for ever */
    case BEYOND: return (has_array(s) && s->what != BULK) || s->what == EXCHANGE || s->what == PRIVATE;
    case UNGUARDED: return has_array(s) && is_guarded(s);
    case ODD: return has_array(s) && s->what != COPY && s->what != BULK && size_of(s) > 1;
    case FREED:
    case FORGOTTEN: return has_array(s) && s->what != BULK;
    case HALVED: return s->what == STORE && s->length > 1;
    case SAME_BLOCK:
        return (s->what == STORE && blocks > 1 && !is_guarded(s)) || (s->what == GLOBAL_EXCHANGE && blocks > 1);
    case NO_BARRIER:
        return s->what == EXCHANGE || s->what == GLOBAL_EXCHANGE || s->what == COPY || s->what == PHASE ||
               s->what == TALLY || s->what == PEER;
    case WARP_ONLY:
        return (s->what == EXCHANGE || s->what == GLOBAL_EXCHANGE || s->what == TALLY) && across_warps(s) &&
               threads > 32;
    case NO_WAIT: return s->what == COPY || s->what == PHASE || s->what == BULK;
    case NOT_FILLED:
    case LAST_NOT_FILLED:
    case FIRST_NOT_FILLED: return s->what == LOAD || s->what == ATOMIC || s->what == COPY || s->what == BULK;
    case LACKS_A_LANE: return s->what == COLLECTIVE;
    case NAMES_OTHERS: return s->what == COLLECTIVE && s->branches;
    case IN_A_BRANCH: return s->what == EXCHANGE;
    case WRONG_COUNT: return s->what == NAMED;
    default: return 0;
    }
}

static const struct {
    enum defect first, last;
} defects_of[] = {[RIGHT] = {NONE, NONE},
                  [MEMCHECK] = {SHIFTED, FORGOTTEN},
                  [RACECHECK] = {HALVED, NO_WAIT},
                  [INITCHECK] = {NOT_FILLED, FIRST_NOT_FILLED},
                  [SYNCCHECK] = {LACKS_A_LANE, WRONG_COUNT}};

/* Draws until a step can have a defect of the tool: *which. */
static enum defect draw_kernel(enum tool tool, unsigned *which)
{
    for (;;) {
        threads = 32 * (1 + draw(5));
        blocks = 1 + draw(4);
        clustered = blocks % 2 == 0 && draw(2);
        waits = tool != MEMCHECK && tool != SYNCCHECK;
        steps = 2 + draw(MOST_STEPS - 1);
        shared = 0;
        for (unsigned k = 0; k < steps; k++)
            draw_step(&step[k]);
        *which = draw(steps);
        const enum defect first = defects_of[tool].first, last = defects_of[tool].last;
        const enum defect d = first + draw(last - first + 1);
        if (tool == RIGHT || can_have(&step[*which], d))
            return d;
    }
}

/* ---- text ---------------------------------------------------------------------------------------- */

static char text[1 << 16], functions[1 << 14];
static size_t length, function_length;

static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
    va_list a;
    va_start(a, format);
    length += (size_t)vsnprintf(text + length, sizeof text - length, format, a);
    va_end(a);
}

/* Lines of step k: its first access, what orders, its second access. */
static unsigned line_of(unsigned k, unsigned n) { return 10 * (k + 1) + n; }
static void put_line(unsigned k, unsigned n) { put(".loc 1 %u 3\n", line_of(k, n)); }

static const char *type_of(const struct step *s)
{
    static const char *const name[] = {"u8", "u16", "u32", "u64"};
    return name[s->bytes == 8 ? 3 : s->bytes >> 1];
}

static const char *data_of(const struct step *s)
{
    return s->vector == 4   ? "{%x0, %x1, %x2, %x3}"
           : s->vector == 2 ? s->bytes == 8   ? "{%d0, %d1}"
                              : s->bytes == 4 ? "{%x0, %x1}"
                                              : "{%h0, %h1}"
           : s->bytes == 8  ? "%d0"
           : s->bytes == 4  ? "%x0"
                            : "%h0";
}

/* What was loaded is used. */
static void put_use(const struct step *s)
{
    put(s->bytes == 8   ? "add.u64 %%d2, %%d2, %%d0;\n"
        : s->bytes == 4 ? "add.u32 %%r7, %%r7, %%x0;\n"
                        : "add.u16 %%h3, %%h3, %%h0;\n");
    if (s->vector > 1)
        put(s->bytes == 8   ? "add.u64 %%d2, %%d2, %%d1;\n"
            : s->bytes == 4 ? "add.u32 %%r7, %%r7, %%x1;\n"
                            : "add.u16 %%h3, %%h3, %%h1;\n");
}

/* %r10 = the thread's index, %a1 = the address of its element in the step's array. */
static void put_address(const struct step *s, unsigned k, enum defect d)
{
    put("ld.param.u64 %%a0, [p%u];\nmov.u32 %%r10, %s;\n", k, d == SAME_BLOCK ? "%r1" : "%r4");
    if (s->reversed && s->what <= COPY)
        put("sub.u32 %%r10, %u, %%r10;\n", all_threads() - 1);
    if (d == HALVED)
        put("shr.u32 %%r10, %%r10, 1;\n");
    put("mul.wide.u32 %%a1, %%r10, %u; add.u64 %%a1, %%a1, %%a0;\n", size_of(s));
    const int by = d == SHIFTED  ? (int)size_of(s)
                   : d == BEFORE ? -(int)size_of(s)
                   : d == BEYOND ? FAR
                   : d == ODD    ? (int)size_of(s) / 2
                                 : 0;
    if (by)
        put("add.s64 %%a1, %%a1, %d;\n", by);
}

static void put_global(const struct step *s, unsigned k, enum defect d)
{
    const int guarded = is_guarded(s) && d != UNGUARDED;
    const char *vector = s->vector == 4 ? ".v4" : s->vector == 2 ? ".v2" : "";
    put_address(s, k, d);
    if (guarded && s->branches)
        put("setp.ge.u32 %%p1, %%r10, %u;\n@%%p1 bra G%u;\n", s->length, k);
    else if (guarded)
        put("setp.lt.u32 %%p1, %%r10, %u;\n", s->length);
    const char *guard = guarded && !s->branches && !s->called ? "@%p1 " : "";
    if (s->called && guarded && !s->branches)
        put("@!%%p1 bra G%u;\n", k);
    if (s->what == STORE)
        put("mov.u32 %%x0, %%r4; cvt.u64.u32 %%d0, %%r4; cvt.u16.u32 %%h0, %%r4;\n");
    put_line(k, 1);
    if (s->called)
        put("call touch%u, (%%a1, %%x0);\n", k);
    else if (s->what == LOAD)
        put("%sld.global%s.%s %s, [%%a1];\n", guard, vector, type_of(s), data_of(s));
    else if (s->what == STORE)
        put("%sst.global%s.%s [%%a1], %s;\n", guard, vector, type_of(s), data_of(s));
    else
        put("%sred.global.add.u32 [%%a1], %%r1;\n", guard);
    if (s->what == LOAD && !*guard)
        put_use(s);
    else if (s->what == LOAD)
        put("@!%%p1 bra G%u;\n", k), put_use(s);
    put("G%u:\n", k);
    if (s->called)
        function_length += (size_t)snprintf(
            functions + function_length, sizeof functions - function_length,
            ".func touch%u(.param .u64 a, .param .u32 v)\n{\n.reg .u64 %%a<2>; .reg .u32 %%r<2>;\n"
            "ld.param.u64 %%a1, [a]; ld.param.u32 %%r1, [v];\n.loc 1 %u 3\n"
            "st.global.u32 [%%a1], %%r1;\nret;\n}\n",
            k, line_of(k, 2));
}

static void put_barrier(const struct step *s, unsigned k, unsigned line, enum defect d)
{
    put_line(k, line);
    if (d == NO_BARRIER)
        return;
    if (d == IN_A_BRANCH)
        put("setp.ge.u32 %%p1, %%r5, 16;\n@%%p1 bra B%u;\nbar.sync 0;\nB%u:\n", k, k);
    else if (d == WARP_ONLY || !across_warps(s))
        put("bar.warp.sync 0xffffffff;\n");
    else
        put("bar.sync 0;\n");
}

/* %r11 = the number of the thread that this one exchanges with. */
static void put_other(const struct step *s)
{
    if (s->flip)
        put("xor.b32 %%r11, %%r1, %u;\n", s->flip);
    else
        put("sub.u32 %%r11, %u, %%r1;\n", threads - 1);
}

static void put_exchange(const struct step *s, unsigned k, enum defect d)
{
    const unsigned size = size_of(s);
    put_other(s);
    put("mov.u32 %%r12, s; add.u32 %%r12, %%r12, %u; mad.lo.u32 %%r13, %%r1, %u, %%r12; "
        "mad.lo.u32 %%r14, %%r11, %u, %%r12;\n",
        s->offset + (d == BEYOND ? (unsigned)FAR : 0), size, size);
    if (s->loops)
        put("mov.u32 %%r15, 3;\nL%u:\n", k);
    put("mov.u32 %%x0, %%r4; cvt.u64.u32 %%d0, %%r4;\n");
    if (s->loops) /* no store of what is there */
        put("mad.lo.u32 %%x0, %%r15, 1000, %%x0; cvt.u64.u32 %%d0, %%x0;\n");
    put_line(k, 1);
    put("st.shared.%s [%%r13], %s;\n", type_of(s), data_of(s));
    put_barrier(s, k, 2, d);
    put_line(k, 3);
    put("ld.shared.%s %s, [%%r14];\n", type_of(s), data_of(s));
    put_use(s);
    if (s->loops) {
        put_barrier(s, k, 4, d == IN_A_BRANCH ? NONE : d);
        put("sub.u32 %%r15, %%r15, 1; setp.ne.u32 %%p1, %%r15, 0;\n@%%p1 bra L%u;\n", k);
    }
}

static void put_global_exchange(const struct step *s, unsigned k, enum defect d)
{
    put_address(s, k, d);
    put_other(s);
    put("mad.lo.u32 %%r12, %%r2, %u, %%r11;\nmul.wide.u32 %%a2, %%r12, 4; add.u64 %%a2, %%a2, %%a0;\n",
        d == SAME_BLOCK ? 0 : threads);
    put_line(k, 1);
    put("st.global.u32 [%%a1], %%r4;\n");
    put_barrier(s, k, 2, d);
    put_line(k, 3);
    put("ld.global.u32 %%x0, [%%a2];\nadd.u32 %%r7, %%r7, %%x0;\n");
}

static void put_copy(const struct step *s, unsigned k, enum defect d)
{
    put_address(s, k, d);
    put_other(s);
    put("mov.u32 %%r12, s; add.u32 %%r12, %%r12, %u; mad.lo.u32 %%r13, %%r1, 16, %%r12; "
        "mad.lo.u32 %%r14, %%r11, 16, %%r12;\n",
        s->offset);
    put_line(k, 1);
    put("cp.async.ca.shared.global [%%r13], [%%a1], 16;\n");
    put_line(k, 2);
    put(d == NO_WAIT ? "cp.async.commit_group;\n" : "cp.async.wait_all;\n");
    put_barrier(s, k, 2, d);
    put_line(k, 3);
    put("ld.shared.v4.u32 {%%x0, %%x1, %%x2, %%x3}, [%%r14];\nadd.u32 %%r7, %%r7, %%x0;\n");
}

/* %r12, %r13, %r14 = the step's part of shared memory, this thread's place, the other's; %r17 = an mbarrier behind
 * them, for so many; %p3: the first thread. */
static void put_places(const struct step *s, unsigned count)
{
    put_other(s);
    put("mov.u32 %%r12, s; add.u32 %%r12, %%r12, %u; mad.lo.u32 %%r13, %%r1, 16, %%r12; "
        "mad.lo.u32 %%r14, %%r11, 16, %%r12;\nadd.u32 %%r17, %%r12, %u; setp.eq.u32 %%p3, %%r1, 0;\n",
        s->offset, threads * 16);
    if (count)
        put("@%%p3 mbarrier.init.shared.b64 [%%r17], %u;\nbar.sync 0;\n", count);
}

static void put_wait(unsigned k)
{
    put("W%u:\nmbarrier.test_wait.parity.shared.b64 %%p1, [%%r17], 0;\n@!%%p1 bra W%u;\n", k, k);
}

static void put_last_read(unsigned k, const char *at)
{
    put_line(k, 3);
    put("ld.shared.u32 %%x0, [%s];\nadd.u32 %%r7, %%r7, %%x0;\n", at);
}

static void put_phase(const struct step *s, unsigned k, enum defect d)
{
    put_places(s, threads);
    put_line(k, 1);
    put("st.shared.u32 [%%r13], %%r4;\n");
    put_line(k, 2);
    if (d != NO_BARRIER)
        put("mbarrier.arrive.shared.b64 %%a3, [%%r17];\n");
    if (d != NO_BARRIER && d != NO_WAIT)
        put_wait(k);
    put_last_read(k, "%r14");
}

static void put_tally(const struct step *s, unsigned k, enum defect d)
{
    put_places(s, 0);
    put("@%%p3 st.shared.u32 [%%r12], 0;\nbar.sync 0;\n");
    put_line(k, 1);
    put("red.shared.add.u32 [%%r12], %%r4;\n");
    put_barrier(s, k, 2, d);
    put_last_read(k, "%r12");
}

static void put_bulk(const struct step *s, unsigned k, enum defect d)
{
    put_address(s, k, d);
    put_places(s, 1);
    put("@%%p3 mbarrier.arrive.expect_tx.shared.b64 %%a3, [%%r17], %u;\n", threads * 16);
    put_line(k, 1);
    put("@%%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%%r12], [%%a1], %u, [%%r17];\n",
        threads * 16);
    put_line(k, 2);
    if (d == NO_WAIT)
        put("bar.sync 0;\n");
    else
        put_wait(k);
    put_last_read(k, "%r14");
}

static void put_peer(const struct step *s, unsigned k, enum defect d)
{
    static const char meet[] = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
    put_places(s, 0);
    put("mov.u32 %%r18, %%cluster_ctarank; xor.b32 %%r18, %%r18, 1; mapa.shared::cluster.u32 %%r17, %%r13, %%r18;\n%s",
        meet);
    put_line(k, 1);
    put("st.shared::cluster.u32 [%%r17], %%r4;\n");
    put_line(k, 2);
    if (d != NO_BARRIER)
        put("%s", meet);
    put_last_read(k, "%r14");
    put_line(k, 4);
    put("%s", meet); /* neither ends before it was read */
}

static void put_collective(const struct step *s, unsigned k, enum defect d)
{
    static const char *const op[] = {"shfl.sync.bfly.b32 %x0, %r1, 1, 31,", "vote.sync.ballot.b32 %x0, %p2,",
                                     "match.any.sync.b32 %x0, %r6,", "redux.sync.add.u32 %x0, %r1,", "bar.warp.sync"};
    const unsigned mine = s->branches ? 0xffff : 0xffffffff;
    const unsigned mask = d == LACKS_A_LANE ? mine & ~(1u << (3 + s->flip % 8)) : d == NAMES_OTHERS ? 0xffffffff : mine;
    put("setp.eq.u32 %%p2, %%r5, 3;\n");
    if (s->branches)
        put("setp.ge.u32 %%p1, %%r5, 16;\n@%%p1 bra C%u;\n", k);
    put_line(k, 1);
    put("%s 0x%x;\n", op[s->collective], mask);
    put("C%u:\n", k);
    if (s->branches) /* where the others are meanwhile */
        put("bar.sync 0;\n");
}

static void put_named(unsigned k, enum defect d)
{
    put_line(k, 1);
    /* in a register, as the front end refuses what is no whole warps */
    put("mov.u32 %%r13, %u; bar.sync %u, %%r13;\n", d != WRONG_COUNT ? threads : threads - 16, 1 + k);
}

static void put_private(const struct step *s, unsigned k, enum defect d)
{
    put("mov.u64 %%a1, room; and.b32 %%r10, %%r1, %u; mul.wide.u32 %%a2, %%r10, 4; add.u64 %%a1, %%a1, %%a2;\n",
        LOCAL / 4 - 1);
    put("st.local.u32 [%%a1], %%r1;\n");
    if (d == BEYOND)
        put("add.s64 %%a1, %%a1, %d;\n", s->reversed ? -FAR : FAR);
    put_line(k, 1);
    put("ld.local.u32 %%x0, [%%a1];\nadd.u32 %%r7, %%r7, %%x0;\n");
}

static void put_step(const struct step *s, unsigned k, enum defect d)
{
    if (s->what == LOAD && s->loops)
        put("mov.u32 %%r16, 2;\nM%u:\n", k);
    switch (s->what) {
    case LOAD:
    case STORE:
    case ATOMIC: put_global(s, k, d); break;
    case COPY: put_copy(s, k, d); break;
    case EXCHANGE: put_exchange(s, k, d); break;
    case GLOBAL_EXCHANGE: put_global_exchange(s, k, d); break;
    case COLLECTIVE: put_collective(s, k, d); break;
    case NAMED: put_named(k, d); break;
    case PHASE: put_phase(s, k, d); break;
    case TALLY: put_tally(s, k, d); break;
    case BULK: put_bulk(s, k, d); break;
    case PEER: put_peer(s, k, d); break;
    default: put_private(s, k, d); break;
    }
    if (s->what == LOAD && s->loops)
        put("sub.u32 %%r16, %%r16, 1; setp.ne.u32 %%p1, %%r16, 0;\n@%%p1 bra M%u;\n", k);
}

static void put_kernel(const char *name, unsigned which, enum defect d)
{
    length = function_length = 0;
    functions[0] = 0;
    put(".visible .entry %s(", name);
    for (unsigned k = 0; k <= MOST_STEPS; k++)
        put(".param .u64 p%u%s", k, k < MOST_STEPS ? ", " : ")\n");
    put("%s{\n.reg .u32 %%r<20>; .reg .u32 %%x<4>; .reg .u64 %%d<4>; .reg .u64 %%a<4>; .reg .u16 %%h<4>; "
        ".reg .pred %%p<4>;\n"
        ".shared .align 16 .b8 s[%u];\n.local .align 16 .b8 room[%u];\n"
        "mov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%ctaid.x; mov.u32 %%r3, %%ntid.x; mad.lo.u32 %%r4, %%r2, %%r3, %%r1;\n"
        "and.b32 %%r5, %%r1, 31; shr.u32 %%r6, %%r1, 5; mov.u32 %%r7, 0; mov.u64 %%d2, 0; mov.u16 %%h3, 0;\n",
        clustered ? ".reqnctapercluster 2\n" : "", shared ? shared : 16, LOCAL);
    for (unsigned k = 0; k < steps; k++)
        put_step(&step[k], k, k == which ? d : NONE);
    /* what was read goes somewhere */
    put("cvt.u32.u64 %%x0, %%d2; add.u32 %%r7, %%r7, %%x0; cvt.u32.u16 %%x0, %%h3; add.u32 %%r7, %%r7, %%x0;\n"
        "ld.param.u64 %%a0, [p%u]; mul.wide.u32 %%a1, %%r4, 4; add.u64 %%a1, %%a1, %%a0;\n.loc 1 5 3\n"
        "st.global.u32 [%%a1], %%r7;\nret;\n}\n.file 1 \"mutants.cu\"\n",
        MOST_STEPS);
}

/* ---- one kernel ---------------------------------------------------------------------------------- */

static void restart(void)
{
    static void *context;
    if (context)
        need(cuCtxDestroy_v2(context), "cuCtxDestroy");
    need(cuCtxCreate_v2(&context, 0, 0), "cuCtxCreate");
}

static void fill(const struct step *s, enum defect d)
{
    const unsigned size = size_of(s);
    const size_t all = (size_t)s->length * size;
    if (d == NOT_FILLED || (d == FREED))
        return;
    const size_t from = d == FIRST_NOT_FILLED ? size : 0, to = d == LAST_NOT_FILLED ? all - size : all;
    if (to > from)
        need(cuMemsetD8_v2(s->array + from, 1, to - from), "fill");
}

static void run_kernel(const char *name, unsigned which, enum defect d)
{
    static char own[FAR];
    static char module_text[sizeof text + sizeof functions + 100];
    void *module, *f, *args[MOST_STEPS + 1];
    uint64_t p[MOST_STEPS + 1] = {0};
    put_kernel(name, which, d);
    snprintf(module_text, sizeof module_text, ".version 8.0\n.target sm_90\n.address_size 64\n%s%s", functions, text);
    for (unsigned k = 0; k < steps; k++) {
        struct step *s = &step[k];
        const enum defect mine = k == which ? d : NONE;
        if (!has_array(s))
            continue;
        need(cuMemAlloc_v2(&s->array, (size_t)s->length * size_of(s)), "allocation");
        fill(s, mine);
        p[k] = mine == FORGOTTEN ? (uint64_t)(uintptr_t)own : s->array;
    }
    need(cuMemAlloc_v2(&p[MOST_STEPS], 4 * all_threads()), "allocation");
    if (d == FREED)
        need(cuMemFree_v2(step[which].array), "free");
    for (unsigned k = 0; k <= MOST_STEPS; k++)
        args[k] = &p[k];
    need(cuModuleLoadData(&module, module_text), name);
    need(cuModuleGetFunction(&f, module, name), name);
    need(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, NULL, args, NULL), name);
    if (cuCtxSynchronize()) { /* who waits for each other ends with the context, and all that is in it */
        restart();
        return;
    }
    need(cuModuleUnload(module), name);
    for (unsigned k = 0; k < steps; k++)
        if (has_array(&step[k]) && !(k == which && d == FREED))
            need(cuMemFree_v2(step[k].array), "free");
    need(cuMemFree_v2(p[MOST_STEPS]), "free");
}

/* What is to be said of the defect. */
static void want(FILE *out, const char *name, unsigned k, enum defect d)
{
    const struct step *s = &step[k];
    static const char *const said[DEFECTS] = {
        [SHIFTED] = "is out of bounds",
        [BEFORE] = "is out of bounds",
        [BEYOND] = "is out of bounds",
        [UNGUARDED] = "is out of bounds",
        [ODD] = "is misaligned",
        [FREED] = "that was freed",
        [FORGOTTEN] = "the program's own memory",
        [HALVED] = "Race in global memory reported between Write",
        [SAME_BLOCK] = "Error: Race in global memory reported between Write",
        [NO_BARRIER] = "Race .*reported between (Write|Atomic)",
        [WARP_ONLY] = "Error: Race .*reported between (Write|Atomic)",
        [NO_WAIT] = "Race reported between Write",
        [NOT_FILLED] = "Uninitialized __global__ memory read",
        [LAST_NOT_FILLED] = "Uninitialized __global__ memory read",
        [FIRST_NOT_FILLED] = "Uninitialized __global__ memory read",
        [LACKS_A_LANE] = "Barrier error detected. Invalid arguments",
        [NAMES_OTHERS] = "Barrier error detected. Divergent thread",
        [IN_A_BRANCH] = "Barrier error detected. Divergent thread|threads wait for each other",
        [WRONG_COUNT] = "Barrier error detected. Invalid arguments",
    };
    const unsigned first = s->called ? 2 : d == IN_A_BRANCH ? 2 : 1;
    fprintf(out, "%s\t%s\t%u", name, said[d], line_of(k, first));
    if (s->called)
        fprintf(out, " %u", line_of(k, 1)); /* the call */
    if (s->what == EXCHANGE || s->what == GLOBAL_EXCHANGE || s->what == COPY || s->what >= PHASE)
        fprintf(out, " %u %u", line_of(k, 3), line_of(k, 4));
    fprintf(out, "\tdefect %d of step %d\n", (int)d, (int)s->what);
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"right", "memcheck", "racecheck", "initcheck", "synccheck"};
    enum tool tool = RIGHT;
    if (argc < 4)
        return 2;
    while (tool < SYNCCHECK && strcmp(argv[3], names[tool]))
        tool++;
    if (argc < (tool ? 5 : 4))
        return 2;
    state = strtoull(argv[1], NULL, 10) * 2654435761u + 1;
    FILE *out = tool ? fopen(argv[4], "w") : NULL;
    need(tool && !out, "the list of what is wanted");
    need(cuInit(0), "cuInit");
    restart();
    for (int k = 0; k < atoi(argv[2]); k++) {
        char name[32];
        unsigned which;
        snprintf(name, sizeof name, "k%d", k);
        const enum defect d = draw_kernel(tool, &which);
        if (tool)
            want(out, name, which, d);
        run_kernel(name, which, d);
    }
    if (out)
        fclose(out);
    puts("done");
    return 0;
}
