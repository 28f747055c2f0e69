/* Copies by tensor maps from several blocks: boxes that reach all blocks of a mask, each of which hears of them at its
 * own mbarrier or at that of its pair's even block; stores of all blocks through one map, and reductions to the same
 * elements; types of 4 and 6 bits, whose padding the copy adds and drops. Random maps and masks, against plain loops
 * over elements. */
#include "tier0/kernels.h"
#include "tier0/tensor_maps.h"

#ifndef ROUNDS
#define ROUNDS 12 /* of each form */
#endif
enum { THREADS = 64, SMEM = 8192, BLOCKS = 16, DATA = 1 << 16, BACK = 1 << 18 };
/* What a block is told, in memory of its own behind the two maps. */
struct order {
    uint32_t mask, at, bytes, from; /* blocks, place in shared memory, bytes to come, place of what it stores */
    int32_t load[5], store[5];
    uint32_t loads, stores;
};
static struct {
    uint8_t map[2][128]; /* of what is read and what is written */
    struct order order[BLOCKS];
} input __attribute__((aligned(128)));
_Static_assert(sizeof(struct order) == 64, "the kernel's");
static struct lir_tmap *map_of(unsigned k) { return (struct lir_tmap *)(void *)input.map[k]; }
static uint8_t data[DATA], back[BACK], want_back[BACK], got[BLOCKS][SMEM], want[BLOCKS][SMEM];

static const char *text(const char *load, const char *store)
{
    static char t[8192];
    snprintf(t, sizeof t,
             "%s.shared .align 1024 .b8 s[8192]; .shared .align 8 .b64 bar;\n"
             "mov.u32 %%r2, s; mov.u32 %%r3, bar; setp.eq.u32 %%p1, %%r1, 0; shl.b32 %%r4, %%r1, 2;\n"
             "add.u32 %%r5, %%r2, %%r4; mov.u32 %%r6, 0;\n"
             "F: st.shared.u32 [%%r5], 0xcccccccc; add.u32 %%r5, %%r5, 256; add.u32 %%r6, %%r6, 1;\n"
             "setp.lt.u32 %%p2, %%r6, 32; @%%p2 bra F;\n"
             "mul.wide.u32 %%rd10, %%r50, 64; add.u64 %%rd10, %%rd10, %%rd31; add.u64 %%rd33, %%rd31, 128;\n"
             "ld.global.v4.u32 {%%r40, %%r41, %%r42, %%r43}, [%%rd10+256];\n"
             "ld.global.v4.u32 {%%r10, %%r11, %%r12, %%r13}, [%%rd10+272];\n"
             "ld.global.v4.u32 {%%r14, %%r20, %%r21, %%r22}, [%%rd10+288];\n"
             "ld.global.v4.u32 {%%r23, %%r24, %%r44, %%r45}, [%%rd10+304];\n"
             "cvt.u16.u32 %%h1, %%r40; add.u32 %%r30, %%r2, %%r41; add.u32 %%r31, %%r2, %%r43;\n"
             "setp.ne.u32 %%p3, %%r44, 0; and.pred %%p3, %%p3, %%p1; setp.ne.u32 %%p4, %%r45, 0;\n"
             "and.pred %%p4, %%p4, %%p1; @%%p1 mbarrier.init.shared::cta.b64 [bar], 1;\n"
             "@%%p1 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %%r42;\n"
             "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
             "@%%p3 %s\n"
             "W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %%p5, [bar], 0; @!%%p5 bra W;\n"
             "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n"
             "@%%p4 %s\ncp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bar.sync 0;\n"
             "mul.wide.u32 %%rd2, %%r50, 8192; cvt.u64.u32 %%rd3, %%r4; add.u64 %%rd2, %%rd2, %%rd3;\n"
             "add.u64 %%rd2, %%rd2, %%rd30; add.u32 %%r5, %%r2, %%r4; mov.u32 %%r6, 0;\n"
             "C: ld.shared.u32 %%r7, [%%r5]; st.global.u32 [%%rd2], %%r7; add.u64 %%rd2, %%rd2, 256;\n"
             "add.u32 %%r5, %%r5, 256; add.u32 %%r6, %%r6, 1; setp.lt.u32 %%p2, %%r6, 32; @%%p2 bra C;\n" END,
             ".version 8.6\n.target sm_100a\n.address_size 64\n" ENTRY("k"), load, store);
    return t;
}

static bool go(const char *now, uint32_t blocks, uint32_t size)
{
    static char before[8192];
    static struct t0t t;
    static bool open;
    struct args a = {got, &input, 0};
    struct t0_fault f = {0};
    if (strcmp(before, now)) {
        if (open)
            t0t_close(&t);
        snprintf(before, sizeof before, "%s", now);
        if (!(open = t0t_open(&t, now, "k")))
            check(false, "k: %s", t.why);
    }
    memcpy(t0t_cluster, (uint32_t[3]){size, 1, 1}, sizeof t0t_cluster);
    if (open && t0t_run(&t, (uint32_t[3]){blocks, 1, 1}, (uint32_t[3]){THREADS, 1, 1}, 0, &a, &f) != T0_OK)
        check(false, "k: fault %d at line %u: %s", f.kind, f.line, f.text);
    memset(t0t_cluster, 0, sizeof t0t_cluster);
    return open && f.kind == T0_OK;
}

/* ---- what a copy does to one unit of elements ---- */

static uint8_t *shared; /* of the block that is looked at */
static unsigned reduction;
enum { ADD, MIN, MAX, AND, OR, XOR, REDUCTIONS };
static const char *const reductions[] = {"add", "min", "max", "and", "or", "xor"};

static void arrives(const struct lir_tmap *m, uint32_t at, uint8_t *p, uint32_t size)
{
    const bool padded = unit_of(m->type).shared != size;
    for (uint32_t k = 0; k < size; k++)
        shared[at + k] = p ? p[k] : m->nan_fill ? (k % 4 == 3 ? 0x7f : 0xff) : 0;
    for (uint32_t k = size; padded && k < 16; k++)
        shared[at + k] = 0; /* anything */
}

static void leaves(const struct lir_tmap *m, uint32_t at, uint8_t *p, uint32_t size)
{
    if (!p)
        return;
    uint8_t *to = want_back + (p - back);
    if (m->type != LIR_TMAP_U6X16_P32) {
        memcpy(to, shared + at, size);
        return;
    }
    for (unsigned bit = 0; bit < 96; bit++) {
        const unsigned v = shared[at + bit / 6] >> bit % 6 & 1;
        to[bit / 8] = (uint8_t)((to[bit / 8] & ~(1u << bit % 8)) | v << bit % 8);
    }
}

static void reduces(const struct lir_tmap *m, uint32_t at, uint8_t *p, uint32_t size)
{
    uint64_t a = 0, b = 0;
    if (!p)
        return;
    uint8_t *to = want_back + (p - back);
    memcpy(&a, to, size);
    memcpy(&b, shared + at, size);
    const bool less = m->type == LIR_TMAP_S32   ? (int32_t)b < (int32_t)a
                      : m->type == LIR_TMAP_S64 ? (int64_t)b < (int64_t)a
                                                : b < a;
    switch (reduction) {
    case ADD: a += b; break;
    case MIN: a = less ? b : a; break;
    case MAX: a = less ? a : b; break;
    case AND: a &= b; break;
    case OR: a |= b; break;
    default: a ^= b;
    }
    memcpy(to, &a, size);
}

/* ---- one launch ---- */

struct form {
    unsigned rank, size, type; /* of the maps, of the clusters; LIR_TMAP_TYPES: any */
    bool pair, reduce;
};

static uint32_t pitch_of(const struct lir_tmap *m)
{
    const uint32_t bytes = m->box[0] / unit_of(m->type).elements * unit_of(m->type).shared;
    return bytes < lir_tmap_span(m->swizzle) ? lir_tmap_span(m->swizzle) : bytes;
}

/* The map that is read; every box of a cluster finds a place in shared memory. */
static void draw_map(const struct form *f, struct lir_tmap *m)
{
    static const uint8_t whole[] = {LIR_TMAP_U32, LIR_TMAP_S32, LIR_TMAP_U64, LIR_TMAP_S64};
    static const uint8_t swizzles[] = {LIR_TMAP_PLAIN, LIR_TMAP_128B, LIR_TMAP_128B_ATOM_32B, LIR_TMAP_128B_ATOM_64B};
    do {
        random_map(m, f->rank, data);
        const uint32_t old = unit_of(m->type).global;
        m->type = f->reduce ? whole[any(4)] : f->type < LIR_TMAP_TYPES ? (uint8_t)f->type : m->type;
        const struct unit u = unit_of(m->type);
        m->nan_fill = m->type == LIR_TMAP_F32 && m->nan_fill;
        m->box[0] = (uint16_t)(m->box[0] * old / u.shared * u.elements);
        m->dim[0] = (m->dim[0] + u.elements - 1) / u.elements * u.elements;
        if (u.global != u.shared) {
            m->box[0] = 128;
            m->dim[0] = 128 * (1 + any(3));
            m->swizzle = swizzles[any(4)];
        }
        for (unsigned d = 0; d + 1 < f->rank; d++)
            m->stride[d] = d ? m->stride[d - 1] * m->dim[d]
                             : ((uint64_t)m->dim[0] / u.elements * u.global + 31) / 32 * 32 + 32 * any(2);
    } while (!m->box[0] || m->box[0] > 256 || lines_of(m) * pitch_of(m) + 128 > SMEM / f->size ||
             (f->rank > 1 && m->stride[f->rank - 2] * m->dim[f->rank - 1] > DATA));
}

static int32_t multiple(int32_t at, uint32_t of)
{
    return (at < 0 ? at - (int32_t)of + 1 : at) / (int32_t)of * (int32_t)of;
}

/* Boxes of blocks beside one another in the last dimension, so that only reductions meet. */
static bool draw_target(const struct form *f, struct lir_tmap *b, uint32_t blocks)
{
    const unsigned last = f->rank - 1;
    *b = *map_of(0);
    b->address = (uint64_t)(uintptr_t)back;
    b->dim[last] = (uint32_t)b->box[last] * blocks - (last ? any(b->box[last]) : 0);
    for (unsigned d = 0; d < last; d++)
        b->stride[d] = d ? b->stride[d - 1] * b->dim[d] : b->stride[0];
    return (last ? b->stride[last - 1] : unit_of(b->type).global) * b->dim[last] <= BACK;
}

static void draw_orders(const struct form *f, uint32_t blocks)
{
    const struct lir_tmap *m = map_of(0), *b = map_of(1);
    const uint32_t all = (1u << f->size) - 1,
                   align = unit_of(m->type).global != unit_of(m->type).shared ? 128 : unit_of(m->type).elements;
    memset(input.order, 0, sizeof input.order);
    for (uint32_t n = 0; n < blocks; n++) {
        struct order *o = &input.order[n];
        const uint32_t rank = n % f->size;
        o->mask = f->size == 1 ? 1 : any(3) ? 1 + any(all) : 1u << any(f->size);
        o->loads = any(5) != 0;
        o->stores = any(5) && m->type != LIR_TMAP_U4X16_P64; /* ISA: no stores of it */
        o->at = rank * (SMEM / f->size) + 128 * any(2);
        o->from = any(f->size) * (SMEM / f->size);
        for (unsigned d = 0; d < f->rank; d++) {
            o->load[d] = (int32_t)any(m->dim[d] + m->box[d] + 2) - (int32_t)m->box[d];
            o->store[d] = (int32_t)any(b->dim[d]);
        }
        o->load[0] = multiple(o->load[0], align);
        o->store[0] = multiple(o->store[0], align);
        if (!f->reduce)
            o->store[f->rank - 1] = (int32_t)(n * b->box[f->rank - 1]);
    }
}

static bool same(void)
{
    for (uint32_t n = 0; n < BLOCKS; n++)
        for (uint32_t k = 0; k < SMEM; k++)
            if (got[n][k] != want[n][k])
                return check(false, "block %u: shared byte %u is 0x%x, want 0x%x", n, k, got[n][k], want[n][k]), false;
    for (uint32_t k = 0; k < BACK; k++)
        if (back[k] != want_back[k])
            return check(false, "global byte %u is 0x%x, want 0x%x", k, back[k], want_back[k]), false;
    return true;
}

static bool launch(const struct form *f, const char *kernel)
{
    const uint32_t blocks = f->size * (1 + any(BLOCKS / f->size));
    do
        draw_map(f, map_of(0));
    while (!draw_target(f, map_of(1), blocks));
    draw_orders(f, blocks);
    for (uint32_t k = 0; k < BACK; k++)
        back[k] = want_back[k] = (uint8_t)any(256);
    memset(got, 0, sizeof got);
    memset(want, 0, sizeof want);
    memset(want, 0xcc, blocks * sizeof want[0]);
    for (uint32_t n = 0; n < blocks; n++) {
        const struct order *o = &input.order[n];
        const uint32_t first = n - n % f->size;
        for (uint32_t to = 0; to < f->size && o->loads; to++)
            if (o->mask >> to & 1) {
                shared = want[first + to];
                const uint32_t bytes = walk(map_of(0), o->load, data, o->at, arrives);
                input.order[first + (f->pair ? to & ~1u : to)].bytes += bytes;
            }
    }
    for (uint32_t n = 0; n < blocks; n++) {
        shared = want[n];
        if (input.order[n].stores)
            walk(map_of(1), input.order[n].store, back, input.order[n].from, f->reduce ? reduces : leaves);
    }
    return go(kernel, blocks, f->size) && same();
}

static void form(const char *name, struct form f)
{
    static const char *const first[] = {"%r10", "%r10, %r11", "%r10, %r11, %r12", "%r10, %r11, %r12, %r13",
                                        "%r10, %r11, %r12, %r13, %r14"};
    static const char *const second[] = {"%r20", "%r20, %r21", "%r20, %r21, %r22", "%r20, %r21, %r22, %r23",
                                         "%r20, %r21, %r22, %r23, %r24"};
    char load[300], store[300];
    unsigned good = 0;
    reduction = any(REDUCTIONS);
    snprintf(
        load, sizeof load,
        "cp.async.bulk.tensor.%ud.shared::cluster.global.tile.mbarrier::complete_tx::bytes%s%s [%%r30], [%%rd31, {%s}], "
        "[%%r3]%s;",
        f.rank, f.size > 1 ? ".multicast::cluster" : "", f.pair ? ".cta_group::2" : "", first[f.rank - 1],
        f.size > 1 ? ", %h1" : "");
    if (f.type == LIR_TMAP_U4X16_P64)
        snprintf(store, sizeof store, "mov.u32 %%r7, 0;");
    else
        snprintf(store, sizeof store,
                 "cp.%sasync.bulk.tensor.%ud.global.shared::cta%s%s.tile.bulk_group [%%rd33, {%s}], [%%r31];",
                 f.reduce ? "reduce." : "", f.rank, f.reduce ? "." : "", f.reduce ? reductions[reduction] : "",
                 second[f.rank - 1]);
    const char *kernel = text(load, store);
    for (unsigned n = 0; n < ROUNDS; n++) {
        if (!launch(&f, kernel))
            break;
        good++;
    }
    check(good == ROUNDS, "%s, %u dimensions, clusters of %u%s: %u of %u random launches", name, f.rank, f.size,
          f.pair ? ", pairs" : "", good, ROUNDS);
}

/* What the ISA does not have of these types. */
static void refused(void)
{
    static const struct {
        const char *name, *copy;
        uint8_t type, swizzle;
    } wrong[] = {{"a store of padded 4 bits",
                  "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd33, {%r20}], [%r2];",
                  LIR_TMAP_U4X16_P64, LIR_TMAP_PLAIN},
                 {"a store with halves that change places",
                  "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd33, {%r20}], [%r2];", LIR_TMAP_U32,
                  LIR_TMAP_128B_ATOM_32B_FLIP_8B},
                 {"a sum of 6 bits",
                  "cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.tile.bulk_group [%rd33, {%r20}], [%r2];",
                  LIR_TMAP_U6X16_P32, LIR_TMAP_PLAIN},
                 {"a box of 6 bits from the middle of another",
                  "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::"
                  "complete_tx::bytes [%r2], [%rd33, {%r21}], [%r3];",
                  LIR_TMAP_U6X16_P32, LIR_TMAP_PLAIN}};
    const struct form f = {1, 1, LIR_TMAP_TYPES, false, false};
    for (unsigned k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct args a = {got, &input, 0};
        struct t0_fault fault = {0};
        draw_map(&f, map_of(1));
        map_of(1)->type = wrong[k].type;
        map_of(1)->swizzle = wrong[k].swizzle;
        map_of(1)->box[0] = wrong[k].type == LIR_TMAP_U32 ? 32 : 128;
        memset(input.order, 0, sizeof input.order);
        input.order[0].stores = 1;
        input.order[0].store[1] = 64;
        t0t_once(text("mov.u32 %r7, 0;", wrong[k].copy), "k", 1, THREADS, &a, &fault);
        check(fault.kind == T0_FAULT_INSTRUCTION && fault.line, "%s (kind %d line %u: %s)", wrong[k].name, fault.kind,
              fault.line, fault.text);
    }
}

int main(void)
{
    for (uint32_t k = 0; k < DATA; k++)
        data[k] = (uint8_t)any(256);
    for (unsigned rank = 1; rank <= 5; rank++) {
        for (unsigned size = 1; size <= 8; size *= 2) {
            form("any type", (struct form){rank, size, LIR_TMAP_TYPES, false, false});
            form("reduced", (struct form){rank, size, LIR_TMAP_TYPES, size > 1 && rank % 2, true});
            if (size > 1)
                form("any type", (struct form){rank, size, LIR_TMAP_TYPES, true, false});
        }
        form("4 bits", (struct form){rank, 1 + any(2), LIR_TMAP_U4X16, false, false});
        form("4 bits, padded", (struct form){rank, 1 + any(2), LIR_TMAP_U4X16_P64, false, false});
        form("6 bits, padded", (struct form){rank, 1 + any(2), LIR_TMAP_U6X16_P32, false, false});
    }
    refused();
    return t0t_done();
}
