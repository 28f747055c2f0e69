/* Tier 0 execution: handlers that look at each lane's access before it is made (watch.h). They stand in a table of
 * their own, so that launches which nobody watches pay nothing. */
#include "ptx/tier0/watch.h"
#include "ptx/tier0/tile.h"
#include "ptx/tier0/tools.h"

#include <stdio.h>
#include <string.h>

struct part { /* what an instruction does with memory, for one lane */
    uint64_t address;
    uint32_t size;
    enum t0_access_kind kind;
    bool shared;   /* an offset in the block's shared memory, else flat */
    bool aligned;  /* must be a multiple of its size, */
    uint32_t unit; /* or of this, if it is not 0 */
};
enum { MOST_PARTS = 2 };

/* Bytes of the block's shared memory. Devices give it out in larger units, but what lies behind is not the block's. */
static uint32_t shared_bytes(const struct t0_warp *w)
{
    const struct lir_kernel_rec *k = w->block->rec;
    return k->uses_dynamic ? k->dynamic_offset + w->block->grid->dynamic_shared : k->shared_size;
}

static uint64_t address_at(struct t0_warp *w, uint32_t row, unsigned lane, bool addr32, int32_t offset)
{
    return addr32 ? (uint32_t)(T0_U32(w, row)[lane] + (uint32_t)offset)
                  : T0_U64(w, row)[lane] + (uint64_t)(int64_t)offset;
}

static unsigned any_bytes(uint16_t aux) { return 1u << ((aux & LIR_MEM_LOG2_SIZE) + (aux >> LIR_MEM_VEC_SHIFT & 3)); }

static unsigned copy_parts(struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct part *p)
{
    uint32_t size = 1u << (i->aux & LIR_CP_LOG2);
    uint32_t reads = i->aux & LIR_CP_PARTIAL ? T0_U32(w, i->c)[lane] : size;
    p[0] = (struct part){address_at(w, i->a, lane, i->aux & LIR_CP_ADDR32, i->imm), size, T0_WRITES, true, true, 0};
    p[1] = (struct part){T0_U64(w, i->b)[lane], reads < size ? reads : size, T0_READS, false, true, size};
    return reads ? 2 : 1;
}

/* What a copy's addresses and size are multiples of; of st.bulk. */
static uint32_t bulk_unit(const struct lir_insn *i)
{
    return i->aux & LIR_BULK_ZERO && !(i->aux & LIR_BULK_BARRIER) ? 8 : 16;
}

static unsigned bulk_parts(struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct part *p)
{
    uint32_t size = T0_U32(w, i->c)[lane];
    p[0] = (struct part){address_at(w, i->a, lane, i->aux & LIR_BULK_TO32, 0),
                         size,
                         i->imm ? T0_UPDATES : T0_WRITES,
                         (i->aux & LIR_BULK_TO_SHARED) != 0,
                         true,
                         bulk_unit(i)};
    if (i->aux & LIR_BULK_MULTICAST) /* to the same place in each block */
        p[0].address &= LIR_CLUSTER_STRIDE - 1;
    if (i->aux & LIR_BULK_ZERO)
        return size ? 1 : 0;
    const uint32_t edge = i->aux & LIR_BULK_EDGES ? 15 : 0;
    if (size && size <= 2 * edge)
        return 1;
    p[1] = (struct part){address_at(w, i->b, lane, i->aux & LIR_BULK_FROM32, 0) + edge,
                         size - 2 * edge,
                         T0_READS,
                         (i->aux & LIR_BULK_FROM_SHARED) != 0,
                         !edge,
                         16};
    return size ? 2 : 0;
}

static unsigned mbarrier_parts(struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct part *p)
{
    const unsigned kind = i->aux & LIR_MB_KIND;
    if (kind == LIR_MB_PENDING)
        return 0;
    *p = (struct part){address_at(w, i->a, lane, i->aux & LIR_MEM_ADDR32, i->imm),
                       8,
                       kind == LIR_MB_TEST || kind == LIR_MB_TEST_PARITY ? T0_READS
                       : kind == LIR_MB_INIT || kind == LIR_MB_INVAL     ? T0_WRITES
                                                                         : T0_UPDATES,
                       (i->aux & LIR_MEM_SHARED) != 0,
                       true,
                       0};
    return 1;
}

/* The accesses of an instruction in one lane, at most MOST_PARTS. Matrices of wmma are looked at where their rows are
 * moved (t0_watch_row), textures and surfaces by the bounds of what they describe. */
static unsigned find_parts(struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct part *p)
{
    const bool addr32 = i->aux & LIR_MEM_ADDR32, in_shared = i->aux & LIR_MEM_SHARED;
    switch (i->op) {
    case LIR_LDG_8:
    case LIR_LDG_16:
    case LIR_LDG_32:
    case LIR_LDG_64:
        *p = (struct part){
            address_at(w, i->a, lane, false, i->imm), 1u << (i->op - LIR_LDG_8), T0_READS, false, true, 0};
        return 1;
    case LIR_STG_8:
    case LIR_STG_16:
    case LIR_STG_32:
    case LIR_STG_64:
        *p = (struct part){
            address_at(w, i->a, lane, false, i->imm), 1u << (i->op - LIR_STG_8), T0_WRITES, false, true, 0};
        return 1;
    case LIR_LDS_8:
    case LIR_LDS_16:
    case LIR_LDS_32:
    case LIR_LDS_64:
        *p = (struct part){address_at(w, i->a, lane, true, i->imm), 1u << (i->op - LIR_LDS_8), T0_READS, true, true, 0};
        return 1;
    case LIR_STS_8:
    case LIR_STS_16:
    case LIR_STS_32:
    case LIR_STS_64:
        *p = (struct part){
            address_at(w, i->a, lane, true, i->imm), 1u << (i->op - LIR_STS_8), T0_WRITES, true, true, 0};
        return 1;
    case LIR_LD_ANY:
    case LIR_ST_ANY:
        *p = (struct part){address_at(w, i->a, lane, addr32, i->imm),
                           any_bytes(i->aux),
                           i->op == LIR_LD_ANY ? T0_READS : T0_WRITES,
                           in_shared,
                           true,
                           0};
        return 1;
    case LIR_ALIGNED: { /* of ld, st, red or atom, which is done in parts */
        const char *text = lir_text(w->block->image, i);
        *p = (struct part){address_at(w, i->a, lane, addr32, i->imm),
                           1u << (i->aux & LIR_MEM_LOG2_SIZE),
                           !strncmp(text, "ld", 2)   ? T0_READS
                           : !strncmp(text, "st", 2) ? T0_WRITES
                                                     : T0_UPDATES,
                           in_shared,
                           true,
                           0};
        return 1;
    }
    case LIR_LDMATRIX:
    case LIR_STMATRIX:
        if (lane >= 8u << (i->aux & LIR_LDM_LOG2))
            return 0;
        *p = (struct part){address_at(w, i->a, lane, addr32, i->imm),
                           16,
                           i->op == LIR_LDMATRIX ? T0_READS : T0_WRITES,
                           in_shared,
                           true,
                           0};
        return 1;
    case LIR_ATOM:
        *p = (struct part){address_at(w, i->a, lane, i->aux & LIR_ATOM_ADDR32, i->imm),
                           t0_atomic_size(i->aux >> LIR_ATOM_TYPE_SHIFT & 0x1f),
                           T0_UPDATES,
                           (i->aux & LIR_ATOM_SHARED) != 0,
                           true,
                           0};
        return p->size != 0;
    case LIR_CP_ASYNC: return copy_parts(w, i, lane, p);
    case LIR_BULK: return bulk_parts(w, i, lane, p);
    case LIR_MBARRIER: return mbarrier_parts(w, i, lane, p);
    default: return 0;
    }
}

static bool within(uint64_t a, uint32_t size, const void *base, uint64_t bytes)
{
    uint64_t offset = a - (uint64_t)(uintptr_t)base;
    return offset < bytes && size <= bytes - offset;
}

/* Loads and stores that name the space; all others may be generic. */
static bool says_global(const struct lir_insn *i) { return i->op <= LIR_ST_ANY && i->aux & LIR_MEM_GLOBAL; }

/* Local memory lies somewhere in the process, among other things: what PTX says tells a wrong index from a pointer. */
static bool says_local(const struct t0_warp *w, const struct lir_insn *i)
{
    const char *text = lir_text(w->block->image, i);
    return !strncmp(text, "ld.local", 8) || !strncmp(text, "st.local", 8);
}

/* Where an access went that may not be made. */
enum space { GLOBAL, SHARED, LOCAL };
struct miss {
    enum space space;
    uint64_t address; /* of shared memory: the offset in the block's */
    uint64_t limit;   /* bytes of shared memory of the block, of local memory of the thread */
};

/* The same of shared memory, of any block of the cluster: all have as much. */
static bool may_share(const struct t0_warp *w, const struct part *p, struct miss *m)
{
    const struct t0_part first = {.address = p->address, .size = 1, .shared = p->shared};
    uint32_t rank;
    m->space = SHARED;
    m->limit = shared_bytes(w);
    if (!t0_in_shared(w, &first, &rank, &m->address))
        return false;
    m->limit = t0_shared_limit(shared_bytes(w), m->address, p->size, p->kind);
    return m->address < m->limit && p->size <= m->limit - m->address;
}

/* Whether the lane may make the access. *m says where it is. */
static bool may_access(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct part *p, struct miss *m)
{
    const struct t0_watch *watch = w->block->grid->watch;
    const uint64_t at = p->address, stride = w->block->local_stride;
    *m = (struct miss){.address = at};
    if (p->shared)
        return may_share(w, p, m);
    if (says_local(w, i)) {
        m->space = LOCAL;
        m->limit = stride;
        return within(at, p->size, t0_local(w, lane), stride);
    }
    if (watch->allowed(watch->ctx, at, p->size, p->kind))
        return true;
    if (says_global(i))
        return false;
    if (t0_generic_shared(w, at, 1))
        return may_share(w, p, m);
    if (stride && within(at, 1, w->block->local, stride * w->block->nwarp * LIR_LANES)) {
        m->space = LOCAL;
        m->limit = stride;
        return within(at, p->size, t0_local(w, lane), stride);
    }
    return within(at, p->size, w->l.regs, w->block->rec->regs_size) || /* parameters of calls */
           (p->kind == T0_READS && within(at, p->size, w->params, w->block->rec->param_size));
}

void t0_place_of(const struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct t0_place *p)
{
    const struct t0_block *b = w->block;
    const struct lir_image *m = b->image;
    const char *strings = LIR_AT(m, strings, char);
    const struct lir_line *lines = LIR_AT(m, lines, struct lir_line);
    const struct lir_fn *fns = LIR_AT(m, funcs, struct lir_fn);
    memset(p, 0, sizeof *p);
    p->pc = (uint32_t)(i - LIR_AT(m, code, struct lir_insn));
    p->line = lines[p->pc].line;
    p->source = t0_source(m, p->line);
    p->kernel = strings + b->rec->name;
    memcpy(p->block, b->index, sizeof p->block);
    t0_thread_index(b, w->index * LIR_LANES + lane, p->thread);
    for (const struct t0_frame *f = w->frame; f && f->call; f = f->parent) {
        const char *name = strings + fns[f->fn].name;
        if (!p->function)
            p->function = name;
        else if (p->callers)
            p->caller[p->callers - 1].function = name;
        if (p->callers == T0_CALLERS)
            return;
        const uint32_t line = lines[f->ret_pc ? f->ret_pc - 1 : 0].line;
        p->caller[p->callers].function = p->kernel;
        p->caller[p->callers].line = line;
        p->caller[p->callers++].source = t0_source(m, line);
    }
}

enum wrong { OUT_OF_BOUNDS, MISALIGNED, ODD_SIZE };
static void report(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct part *p,
                   const struct miss *m, enum wrong wrong)
{
    static const char *const space[] = {"global", "shared", "local"};
    static const char *const kind[] = {"read", "write", "atomic"};
    const struct t0_watch *watch = w->block->grid->watch;
    char title[80], where[80], limit[80];
    struct t0_finding f = {.tool = T0_MEMCHECK, .fatal = true, .title = title, .places = 1, .note = {where}};
    snprintf(title, sizeof title, "Invalid __%s__ %s of size %u bytes", space[m->space], kind[p->kind], p->size);
    snprintf(where, sizeof where, "Address 0x%llx is %s", (unsigned long long)m->address,
             wrong                ? "misaligned"
             : m->space == GLOBAL ? watch->denied(watch->ctx, m->address, p->size, p->kind)
                                  : "out of bounds");
    if (wrong == ODD_SIZE)
        snprintf(where, sizeof where, "Address 0x%llx is right, but the size is no multiple of %u bytes",
                 (unsigned long long)m->address, p->unit);
    f.notes = 1;
    if (m->space != GLOBAL && !wrong) {
        snprintf(limit, sizeof limit, "of %llu bytes of %s memory that the %s has", (unsigned long long)m->limit,
                 space[m->space], m->space == SHARED ? "block" : "thread");
        f.note[f.notes++] = limit;
    } else if (!wrong) {
        f.has_address = true;
        f.address = m->address;
        f.size = p->size;
    }
    t0_place_of(w, i, lane, &f.at[0].place);
    watch->report(watch->ctx, &f);
}

static bool is_odd(const struct part *p) { return p->aligned && p->address & ((p->unit ? p->unit : p->size) - 1); }

/* Bit of the lane if it may not make an access, which is reported. */
static uint32_t look(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    struct part p[MOST_PARTS];
    const unsigned n = find_parts(w, i, lane, p);
    for (unsigned k = 0; k < n; k++) {
        struct miss m;
        const bool good = may_access(w, i, lane, &p[k], &m), odd = is_odd(&p[k]);
        const bool odd_size = i->op == LIR_BULK && !k && p[k].size % p[k].unit;
        if (good && !odd && !odd_size)
            continue;
        /* A word that begins in an allocation and reaches beyond its end is misaligned first, as devices see it. */
        const struct part first = {p[k].address, 1, p[k].kind, p[k].shared, false, 0};
        struct miss unused;
        const bool misaligned = odd && (good || may_access(w, i, lane, &first, &unused));
        report(w, i, lane, &p[k], &m, misaligned ? MISALIGNED : good && odd_size ? ODD_SIZE : OUT_OF_BOUNDS);
        return 1u << lane;
    }
    return 0;
}

uint32_t t0_watch_look(struct t0_warp *w, const struct lir_insn *i)
{
    uint32_t bad = 0;
    if (w->block->grid->watch->tools & T0_MEMCHECK)
        T0_FOR_LANES(l, w->l.mask)
    bad |= look(w, i, l);
    w->ended |= bad;
    return bad;
}

uint32_t t0_watch_mbarrier_outside(struct t0_warp *w, const struct lir_insn *i)
{
    const struct t0_watch *watch = w->block->grid->watch;
    uint32_t outside = 0;
    if (!watch || !(watch->tools & T0_MEMCHECK) || i->op != LIR_MBARRIER)
        return 0;
    T0_FOR_LANES(l, w->l.mask)
    {
        struct part p;
        struct miss unused;
        outside |= (uint32_t)(mbarrier_parts(w, i, l, &p) && !may_access(w, i, l, &p, &unused)) << l;
    }
    return outside;
}

static bool is_strong(const struct lir_insn *i)
{
    if (i->op <= LIR_ST_ANY)
        return i->aux & (LIR_MEM_STRONG | LIR_MEM_ACQUIRE | LIR_MEM_RELEASE | LIR_MEM_SC | LIR_MEM_L2);
    return i->op == LIR_ATOM || (i->op == LIR_BULK && i->imm);
}

static struct t0_part part_of(const struct lir_insn *i, const struct part *p)
{
    return (struct t0_part){p->address, p->size,      p->kind,
                            p->shared,  is_strong(i), p->shared ? t0_copy_of(i) : T0_AT_ONCE};
}

/* Accesses of one part, as a row of all lanes. */
static bool find_row(struct t0_warp *w, const struct lir_insn *i, struct t0_row *row)
{
    struct part p[MOST_PARTS];
    if (!w->l.mask || i->op > LIR_ATOM)
        return false;
    const unsigned first = (unsigned)__builtin_ctz(w->l.mask), n = find_parts(w, i, first, p);
    row->mask = n ? w->l.mask : 0;
    row->size = p[0].size;
    row->kind = p[0].kind;
    row->shared = p[0].shared;
    row->strong = is_strong(i);
    row->bounded = false;
    const uint64_t offset = (uint64_t)(int64_t)i->imm;
    const bool narrow = i->op <= LIR_ST_ANY
                            ? (i->op >= LIR_LDS_8 && i->op <= LIR_LDS_64) ||
                                  (i->op >= LIR_STS_8 && i->op <= LIR_STS_64) ||
                                  ((i->op == LIR_LD_ANY || i->op == LIR_ST_ANY) && i->aux & LIR_MEM_ADDR32)
                            : (i->aux & LIR_ATOM_ADDR32) != 0;
    const uint32_t *a = T0_U32(w, i->a);
    const uint64_t *wide = T0_U64(w, i->a);
    for (unsigned l = 0; l < LIR_LANES && n; l++)
        row->address[l] = narrow ? (uint32_t)(a[l] + (uint32_t)offset) : wide[l] + offset;
    return true;
}

/* Tools other than memcheck look at what a lane is about to do. */
static void hand_on(struct t0_warp *w, const struct lir_insn *i, unsigned lane, unsigned tools)
{
    struct part p[MOST_PARTS];
    for (unsigned k = 0, n = find_parts(w, i, lane, p); k < n; k++) {
        struct t0_part part = part_of(i, &p[k]);
        if (i->op != LIR_BULK || !(i->aux & LIR_BULK_MULTICAST) || !part.shared) {
            t0_tools_access(w, i, lane, &part, tools);
            continue;
        }
        T0_FOR_LANES(rank, T0_U32(w, i->d)[lane] & 0xffff)
        {
            part.address = t0_tile_far(rank, p[k].address);
            t0_tools_access(w, i, lane, &part, tools);
        }
    }
}

/* Whatever is strong may acquire once it is made; by then its address may be overwritten. */
static void make_strong(struct t0_warp *w, const struct lir_insn *i)
{
    struct part p[LIR_LANES][MOST_PARTS];
    uint32_t any = 0;
    T0_FOR_LANES(l, w->l.mask)
    any |= (uint32_t)(find_parts(w, i, l, p[l]) != 0) << l;
    lir_table[i->op](w, i);
    T0_FOR_LANES(l, w->l.mask & any)
    {
        const struct t0_part part = part_of(i, &p[l][0]);
        t0_tools_done(w, i, l, &part);
    }
}

/* The handler of a watched operation: lanes whose access is wrong do not make it, and end behind it. */
static void watched(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t all = w->l.mask;
    const unsigned tools = w->block->grid->watch->tools;
    w->at = i; /* tools read what stands where a lane writes, which may not be there */
    w->l.mask = all & ~t0_watch_look(w, i);
    unsigned lanewise = tools & (T0_RACECHECK | T0_INITCHECK);
    struct t0_row row;
    if (tools & T0_RACECHECK && find_row(w, i, &row)) {
        t0_tools_race_row(w, i, &row);
        lanewise &= ~(unsigned)T0_RACECHECK;
    }
    if (lanewise)
        T0_FOR_LANES(l, w->l.mask)
    hand_on(w, i, l, lanewise);
    if (w->l.mask && tools & T0_RACECHECK && is_strong(i))
        make_strong(w, i);
    else if (w->l.mask)
        lir_table[i->op](w, i);
    w->l.mask = all;
}

/* What stands before an access and is none. */
static void watched_aligned(struct t0_warp *w, const struct lir_insn *i)
{
    const uint32_t all = w->l.mask;
    w->at = i;
    w->l.mask = all & ~t0_watch_look(w, i);
    lir_table[i->op](w, i);
    w->l.mask = all;
}

bool t0_watch_allows(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p)
{
    const struct t0_watch *watch = w->block->grid->watch;
    const struct part part = {p->address, p->size, p->kind, p->shared, false, 0};
    struct miss m;
    if (!watch || !(watch->tools & T0_MEMCHECK) || may_access(w, i, lane, &part, &m))
        return true;
    if (!w->block->again)
        report(w, i, lane, &part, &m, OUT_OF_BOUNDS);
    return false;
}

_Noreturn void t0_misaligned(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p)
{
    const struct t0_watch *watch = w->block->grid->watch;
    const struct part part = {p->address, p->size, p->kind, p->shared, false, 0};
    struct miss m;
    if (watch && watch->tools & T0_MEMCHECK && !w->block->again) {
        (void)may_access(w, i, lane, &part, &m);
        report(w, i, lane, &part, &m, MISALIGNED);
    }
    t0_raise(w, i, T0_FAULT_MISALIGNED, lane, p->address);
}

bool t0_watch_piece(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_part *p)
{
    const struct t0_watch *watch = w->block->grid->watch;
    if (!t0_watch_allows(w, i, lane, p))
        return false;
    if (watch && watch->tools & (T0_RACECHECK | T0_INITCHECK))
        t0_tools_access(w, i, lane, p, watch->tools);
    return true;
}

void t0_watch_tensor(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const struct t0_tensor_part *t)
{
    const struct t0_watch *watch = w->block->grid->watch;
    const uint32_t used = t0_tensor_of(w, t->rank)->used, address = t->lane << 16 | t->column;
    unsigned column = t->column, end = t->column + t->columns;
    char title[80], where[80];
    struct t0_finding f = {
        .tool = T0_MEMCHECK, .fatal = true, .title = title, .places = 1, .note = {where}, .notes = 1};
    if (end > T0_TENSOR_COLUMNS)
        return;
    while (column < end && used >> column / T0_TENSOR_UNIT & 1)
        column = (column | (T0_TENSOR_UNIT - 1)) + 1;
    if (column >= end)
        return;
    snprintf(title, sizeof title, "Invalid __tensor__ %s of %u columns", t->kind == T0_READS ? "read" : "write",
             t->columns);
    snprintf(where, sizeof where, "Address 0x%x: column %u is not allocated", address, column);
    t0_place_of(w, i, lane, &f.at[0].place);
    if (!w->block->again)
        watch->report(watch->ctx, &f);
    t0_raise(w, i, T0_FAULT_ADDRESS, lane, address);
}

void t0_watch_free(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t address)
{
    const struct t0_watch *watch = w->block->grid->watch;
    char where[80];
    struct t0_finding f = {.tool = T0_MEMCHECK,
                           .title = "Malloc/Free Error encountered : Invalid pointer to free, or double free",
                           .places = 1,
                           .note = {where},
                           .notes = 1,
                           .fatal = true,
                           .has_address = true,
                           .address = address};
    if (!(watch->tools & T0_MEMCHECK))
        return;
    snprintf(where, sizeof where, "Address 0x%llx is no live block of the device heap", (unsigned long long)address);
    t0_place_of(w, i, lane, &f.at[0].place);
    watch->report(watch->ctx, &f);
}

void t0_watch_handlers(t0_handler *table[LIR_NOPS])
{
    static const uint16_t ops[] = {LIR_LDG_8,    LIR_LDG_16,   LIR_LDG_32, LIR_LDG_64,   LIR_LDS_8,  LIR_LDS_16,
                                   LIR_LDS_32,   LIR_LDS_64,   LIR_STG_8,  LIR_STG_16,   LIR_STG_32, LIR_STG_64,
                                   LIR_STS_8,    LIR_STS_16,   LIR_STS_32, LIR_STS_64,   LIR_LD_ANY, LIR_ST_ANY,
                                   LIR_LDMATRIX, LIR_STMATRIX, LIR_ATOM,   LIR_CP_ASYNC, LIR_BULK};
    memcpy(table, lir_table, sizeof lir_table);
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        table[ops[k]] = watched;
    table[LIR_ALIGNED] = watched_aligned;
    t0_watch_texture_handlers(table);
    t0_tools_handlers(table);
}
