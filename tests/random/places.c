/* Random items that access several places of a thread's own at once, as programs have them: neighbouring words with
 * gaps, in arrays whose strides between threads are told by the text, by a table of numbers or by one of addresses;
 * what is stored is read again by other widths. Arrays end, or begin, at a page that must not be touched. */
#include <string.h>

#include "random/generate.h"

/* ---- where a thread's own bytes are ---- */

static const unsigned strides[] = {4, 8, 12, 16, 20, 24, 32, 36, 48, 64, 132};

void choose_layouts(void)
{
    for (unsigned k = 0; k < 2; k++) {
        struct layout *l = &prog->layout[k];
        l->order = rnd(4);
        l->columns = k == 0 && rnd(4) == 0 ? 2 + rnd(7) : 1;
        l->stride = strides[rnd(l->columns > 1 ? 2 : sizeof strides / sizeof *strides)];
        l->room = l->stride > PLACE_ROOM ? PLACE_ROOM : l->stride;
        for (l->align = 32; l->stride % l->align;)
            l->align /= 2;
    }
}

/* The place of thread %<who> in the order of the array of %<all>, in %t3. */
static void number(const struct layout *l, const char *who, const char *all, bool shared)
{
    static const char *const wide[] = {"mul.wide.u32 %w1, ", "mul.wide.s32 %w1, "};
    switch (shared && l->order >= ORDER_TABLE ? ORDER_REVERSED : l->order) {
    case ORDER_FORWARD: say("mov.u32 %%t3, %s;\n", who); break;
    case ORDER_REVERSED: say("not.b32 %%t3, %s;\nadd.s32 %%t3, %%t3, %s;\n", who, all); break;
    default: say("%s%s, 4;\nadd.s64 %%w1, %%w1, %%border;\nld.global.u32 %%t3, [%%w1];\n", wide[rnd(2)], who);
    }
}

/* Says %w2 = the address of the thread's own bytes in global memory, in one of the ways that compilers write it. */
static void global_base(const struct layout *l)
{
    if (l->order == ORDER_ADDRESSES && l->columns == 1) {
        say("mul.wide.u32 %%w1, %%g2, 8;\nadd.s64 %%w1, %%w1, %%bpointers;\nld.global.u64 %%w2, [%%w1];\n");
        return;
    }
    number(l, "%g2", "%n2", false);
    switch (rnd(7)) {
    case 0: say("mad.wide.u32 %%w2, %%t3, %u, %%blay;\n", l->stride); break;
    case 1: say("mul.wide.s32 %%w2, %%t3, %u;\nadd.s64 %%w2, %%blay, %%w2;\n", l->stride); break;
    case 2: say("mul.lo.s32 %%t3, %%t3, %u;\ncvt.s64.s32 %%w2, %%t3;\nadd.s64 %%w2, %%w2, %%blay;\n", l->stride); break;
    case 3: say("cvt.u64.u32 %%w2, %%t3;\nmad.lo.s64 %%w2, %%w2, %u, %%blay;\n", l->stride); break;
    case 4: /* a parameter says how far */
        say("ld.param.u32 %%t2, [pstride];\nmul.lo.s32 %%t3, %%t3, %%t2;\ncvt.s64.s32 %%w2, %%t3;\n"
            "add.s64 %%w2, %%blay, %%w2;\n");
        break;
    case 5:
        say("ld.param.u64 %%w1, [pwords];\ncvt.s64.s32 %%w2, %%t3;\nmul.lo.s64 %%w2, %%w2, %%w1;\n"
            "shl.b64 %%w2, %%w2, 2;\nadd.s64 %%w2, %%w2, %%blay;\n");
        break;
    default: /* words of a fixed number, as of an array of arrays */
        say("mul.lo.u32 %%t3, %%t3, %u;\nmul.wide.u32 %%w2, %%t3, 4;\nadd.s64 %%w2, %%w2, %%blay;\n", l->stride / 4);
    }
}

static void shared_base(const struct layout *l, const char *who)
{
    number(l, who, "%nlin", true);
    say(rnd(2) ? "mad.lo.u32 %%t4, %%t3, %u, %%blsh;\n" : "mul.lo.s32 %%t4, %%t3, %u;\nadd.s32 %%t4, %%t4, %%blsh;\n",
        l->stride);
}

/* ---- what is done there ---- */

static struct burst {
    const char *base; /* a register of 64 bits, or of 32 for shared memory */
    const char *load, *store;
    unsigned room, align;
    bool far; /* the base is a sum's part */
    int moved;
} at;

static void one(const struct element *el, unsigned count, unsigned off, bool store)
{
    static const char *const orders[] = {".volatile", ".relaxed.cta", ".relaxed.gpu"};
    const char *order = (strstr(at.load, "global") || strstr(at.load, "shared")) && !strstr(at.load, ".nc") && !rnd(20)
                            ? orders[rnd(3)]
                            : "";
    if (count * el->size > 16)
        order = "";
    char vec[16] = "", name[32];
    unsigned pool = el->pool;
    const char *type = el->type;
    if (count > 1)
        snprintf(vec, sizeof vec, ".v%u", count);
    if (store && (pool == POOL_F32 || pool == POOL_F64)) {
        pool = pool == POOL_F32 ? POOL_INT : POOL_WIDE;
        type = pool == POOL_INT ? "b32" : "b64";
    }
    snprintf(name, sizeof name, "%s", store ? at.store : at.load);
    const char *space = strchr(name, '.');
    guard();
    say("%.2s%s%s%s.%s ", name, order, space ? space : "", vec, type);
    if (store)
        say("[%s+%d], ", at.base, (int)off - at.moved);
    data(pool, count, store);
    if (!store)
        say(", [%s+%d]", at.base, (int)off - at.moved);
    say(";\n");
}

/* A vector whose address lies in one of its own elements. */
static void alias(unsigned off)
{
    const unsigned d = any(POOL_WIDE), count = at.align >= 16 && off % 16 == 0 && at.room >= off + 16 ? 2 : 1;
    if (strchr(at.base, 't') || off % 8 || at.align < 8 || at.room < off + 8)
        return;
    say("mov.b64 %%d%u, %s;\n", d, at.base);
    if (count == 2)
        say("%s.v2.b64 {%%d%u, %%d%u}, [%%d%u+%d];\n", at.load, d, (d + 1) % pools[POOL_WIDE].n, d,
            (int)off - at.moved);
    else
        say("%s.v2.b32 {%%r%u, %%r%u}, [%%d%u+%d];\nmov.b64 %%d%u, {%%r%u, %%r%u};\n", at.load, 3u, 4u, d,
            (int)off - at.moved, d, 4u, 3u);
}

/* Neighbours of one size in any order, some left out, some twice or as a vector of two; one may be stored among loads,
 * or the reverse. */
static void neighbours(bool store)
{
    static const char *const types[4][2] = {{"u8", "s8"}, {"u16", "s16"}, {"u32", "b32"}, {"b64", "f64"}};
    const unsigned log = rnd(3) ? 2 : rnd(4), size = 1u << log, most = at.room / size;
    if (size > at.align || most < 2)
        return;
    const unsigned n = 2 + rnd(most > 8 ? 7 : most - 1), first = rnd(2) ? 0 : rnd(most - n + 1);
    unsigned order[8];
    for (unsigned k = 0; k < n; k++)
        order[k] = k;
    for (unsigned k = n - 1; k && rnd(3); k--) {
        const unsigned j = rnd(k + 1), was = order[k];
        order[k] = order[j];
        order[j] = was;
    }
    const struct element el = {types[log][rnd(2)], size,
                               log < 2    ? rnd(2) ? POOL_INT : POOL_SHORT
                               : log == 2 ? POOL_INT
                                          : POOL_WIDE};
    const struct element in_f64 = {"f64", 8, POOL_F64}, in_b64 = {"b64", 8, POOL_WIDE};
    for (unsigned k = 0; k < n; k++) {
        if (rnd(12) == 0)
            continue;
        const unsigned off = (first + order[k]) * size;
        const bool pair = log == 2 && at.align >= 8 && off % 8 == 0 && off + 8 <= at.room && rnd(4) == 0;
        one(log < 3             ? &el
            : el.type[0] == 'f' ? &in_f64
                                : &in_b64,
            pair ? 2 : 1, off, at.store && rnd(12) == 0 ? !store : store);
        k -= k && rnd(5) == 0; /* the same once more */
        if (rnd(4) == 0)
            say("add.u32 %s, %s, %s;\n", reg(POOL_INT), reg(POOL_INT), reg(POOL_INT));
    }
}

static void some(bool store)
{
    const struct element *el = any_element();
    unsigned count = 1u << rnd(el->size == 8 ? 2 : 3);
    while (count > 1 && (count * el->size > at.room || count * el->size > at.align))
        count /= 2;
    if (strstr(at.load, ".global") && at.align >= 32 && rnd(2)) /* 256 bits */
        count = el->pool == POOL_INT && el->size == 4 ? 8 : el->size == 8 ? 4 : count;
    const unsigned bytes = count * el->size;
    if (bytes <= at.room && bytes <= at.align)
        one(el, count, rnd(at.room / bytes) * bytes, store);
}

static void accesses(void)
{
    for (unsigned n = 1 + rnd(4); n--;) {
        const bool store = at.store && rnd(2);
        if (rnd(4) == 0 && !at.moved) { /* part of them from a sum */
            const bool in32 = strchr(at.base, 't');
            const int by = (int)(rnd(at.room) & ~(at.align - 1)) - (rnd(3) ? 0 : 64);
            say(in32 ? "add.s32 %%t5, %%t4, %d;\n" : "add.s64 %%w3, %%w2, %d;\n", by);
            at.base = in32 ? "%t5" : "%w3";
            at.moved = by;
        }
        switch (rnd(8)) {
        case 0: alias(rnd(at.room) & ~7u); break;
        case 1:
        case 2:
        case 3: some(store); break;
        default: neighbours(store);
        }
        if (rnd(3) == 0) {
            at.base = strchr(at.base, 't') ? "%t4" : "%w2";
            at.moved = 0;
        }
    }
}

/* The same in a loop of so many rounds as the lane has, at a pointer that moves on. */
static void rounds(void)
{
    const unsigned most = 1 + rnd(3), step = at.room / (most + 1) & ~(at.align - 1);
    const unsigned top = prog->nlabel++, c = prog->ncount++;
    if (!step) {
        accesses();
        return;
    }
    char lane[8];
    snprintf(lane, sizeof lane, "%s", rnd(4) ? reg(POOL_INT) : "%u2");
    const bool known = rnd(2); /* before the first round; where a round only reads, tier 1 may go lane by lane */
    at.room -= most * step;
    if (known && rnd(3))
        at.store = NULL;
    if (known)
        say("and.b32 %%t5, %s, 3;\nmin.u32 %%t1, %%t5, %u;\n", lane, most);
    say("mov.u32 %%c%u, 0;\nL%u:\n", c, top);
    accesses();
    if (strchr(at.base, 't'))
        say("add.s32 %%t4, %%t4, %u;\n", step);
    else
        say("add.s64 %%w2, %%w2, %u;\n", step);
    if (!known)
        say("and.b32 %%t5, %s, 3;\nmin.u32 %%t1, %%t5, %u;\n", lane, most);
    say("setp.lt.u32 %%q0, %%c%u, %%t1;\nadd.u32 %%c%u, %%c%u, 1;\n@%%q0 bra L%u;\n", c, c, c, top);
}

/* ---- items ---- */

static void own_global(void)
{
    struct layout l = prog->layout[0];
    unsigned column = l.columns > 1 ? rnd(l.columns) : 0;
    global_base(&l);
    for (unsigned k = 0; k < column; k++) /* columns are as long as there are threads */
        say(k ? "add.s64 %%w2, %%w2, %%w1;\n" : "mul.wide.u32 %%w1, %%n2, %u;\nadd.s64 %%w2, %%w2, %%w1;\n", l.stride);
    const bool generic = rnd(3) == 0;
    at = (struct burst){.base = "%w2",
                        .load = generic ? "ld" : "ld.global",
                        .store = generic ? "st" : "st.global",
                        .room = l.room,
                        .align = l.align};
}

static void own_shared(void)
{
    const struct layout *l = &prog->layout[1];
    const bool generic = rnd(3) == 0;
    shared_base(l, "%lin");
    if (generic)
        say("cvt.u64.u32 %%w2, %%t4;\ncvta.shared.u64 %%w2, %%w2;\n");
    at = (struct burst){.base = generic ? "%w2" : "%t4",
                        .load = generic ? "ld" : "ld.shared",
                        .store = generic ? "st" : "st.shared",
                        .room = l->room,
                        .align = l->align};
}

static void own_local(void)
{
    const bool generic = rnd(3) == 0;
    const unsigned room = 16u << rnd(3);
    if (room < FAR_BYTES && rnd(2))
        say("and.b32 %%t3, %s, %u;\ncvt.u64.u32 %%w2, %%t3;\nadd.s64 %%w2, %%w2, %%bfar;\n",
            rnd(3) ? reg(POOL_INT) : "%u2", (FAR_BYTES - 1) & ~(room - 1));
    else
        say("mov.u64 %%w2, %%bfar;\n");
    if (generic)
        say("cvta.local.u64 %%w2, %%w2;\n");
    at = (struct burst){.base = "%w2",
                        .load = generic ? "ld" : "ld.local",
                        .store = generic ? "st" : "st.local",
                        .room = room,
                        .align = 16};
}

/* Inputs that all threads read, from the array's begin on, or back from its end. */
static void input(void)
{
    const unsigned stride = strides[rnd(sizeof strides / sizeof *strides - 2)];
    at = (struct burst){.base = "%w2",
                        .load = rnd(3)   ? "ld.global"
                                : rnd(2) ? "ld.global.nc"
                                         : "ld",
                        .room = stride,
                        .align = 32};
    while (stride % at.align)
        at.align /= 2;
    if (rnd(2))
        say("mad.wide.u32 %%w2, %%lin, %u, %%bin;\n", stride);
    else
        say("add.u32 %%t3, %%lin, 1;\nmul.wide.s32 %%w2, %%t3, %u;\nsub.s64 %%w2, %%bin, %%w2;\n"
            "add.s64 %%w2, %%w2, %u;\n",
            stride, 4 * IN_WORDS);
}

static void constants(void)
{
    const bool param = rnd(2);
    const unsigned room = 16u << rnd(2), all = param ? PARAM_BYTES : 256;
    say("and.b32 %%t3, %s, %u;\ncvt.u64.u32 %%w2, %%t3;\n",
        rnd(3)   ? reg(POOL_INT)
        : rnd(2) ? "%u1"
                 : "%u3",
        (all - 1) & ~(room - 1));
    say("add.s64 %%w2, %%w2, %s;\n", param ? "%bparam" : "%btab");
    at = (struct burst){.base = "%w2", .load = param ? "ld.param" : "ld.const", .room = room, .align = 16};
}

/* Words as the lanes of a product's factor read them, along rows and across, and now and then not quite. */
static void factors(void)
{
    static const unsigned pitches[] = {4, 8, 9, 12, 16, 20, 36};
    const unsigned pitch = pitches[rnd(7)], across = rnd(2);
    say("and.b32 %%t4, %%lane, 3;\nshr.u32 %%t5, %%lane, 2;\nmad.lo.u32 %%t4, %s, %u, %s;\nshl.b32 %%t4, %%t4, 2;\n"
        "add.u32 %%t4, %%t4, %%bfactors;\n",
        across ? "%t4" : "%t5", pitch, across ? "%t5" : "%t4");
    if (rnd(3) == 0)
        say("@%s add.u32 %%t4, %%t4, %u;\n", reg(POOL_PRED), 4 * rnd(40));
    for (unsigned n = 3 + rnd(4); n--;) {
        say("ld.shared.u32 %s, [%%t4+%u];\n", reg(POOL_INT), 4 * rnd(64));
    }
    done();
}

/* Another thread's words, between barriers. */
static void others(void)
{
    const struct layout *l = &prog->layout[1];
    say("bar.sync 0;\nadd.u32 %%t2, %%lin, %u;\nrem.u32 %%t2, %%t2, %%nlin;\n", rnd(34));
    shared_base(l, "%t2");
    at = (struct burst){.base = "%t4", .load = "ld.shared", .room = l->room, .align = l->align};
    accesses();
    say("bar.sync 0;\n");
    done();
}

void places(bool uniform)
{
    static void (*const kind[])(void) = {own_global, own_global, own_global, own_shared,
                                         own_shared, own_local,  input,      constants};
    if (may(GEN_CROSS) && rnd(8) == 0) {
        factors();
        return;
    }
    if (uniform && may(GEN_CROSS) && rnd(6) == 0) {
        others();
        return;
    }
    kind[rnd(8)]();
    if (rnd(3) == 0)
        rounds();
    else
        accesses();
    done();
}
