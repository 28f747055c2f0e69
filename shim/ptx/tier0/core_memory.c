/* Tier 0 execution: loads and stores. Whole warps that touch consecutive addresses move as one
 * block; a load that all lanes make from one address is made once. */
#include "ptx/tier0/warp.h"

#include <string.h>

#define ALWAYS static inline __attribute__((always_inline))

enum shape { SCATTERED, CONSECUTIVE, SAME };

ALWAYS uint64_t flat_address(const struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    return ((const uint64_t *)(const void *)(w->l.regs + i->a))[lane] + (uint64_t)(int64_t)i->imm;
}

ALWAYS uint64_t any_address(struct t0_warp *w, const struct lir_insn *i, unsigned lane)
{
    if (i->aux & LIR_MEM_ADDR32)
        return (uint32_t)(T0_U32(w, i->a)[lane] + (uint32_t)i->imm);
    return flat_address(w, i, lane);
}

ALWAYS void check_aligned(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t a, unsigned size)
{
    if (__builtin_expect((a & (size - 1)) != 0, 0))
        t0_raise(w, i, T0_FAULT_MISALIGNED, lane, a);
}

static void aligned(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    check_aligned(w, i, l, any_address(w, i, l), 1u << (i->aux & LIR_MEM_LOG2_SIZE));
}

/* Host address of an access to shared memory. */
ALWAYS uint8_t *shared_at(struct t0_warp *w, const struct lir_insn *i, unsigned lane, uint64_t a, unsigned size)
{
    uint8_t *p = w->shared + a;
    if (__builtin_expect(a + size > w->shared_size || a + size < a, 0) && !(p = t0_far_shared(w, a, size)))
        t0_raise(w, i, T0_FAULT_SHARED, lane, a);
    check_aligned(w, i, lane, a, size);
    return p;
}

ALWAYS uint8_t *lane_at(struct t0_warp *w, const struct lir_insn *i, unsigned lane, unsigned size, bool shared)
{
    if (shared)
        return shared_at(w, i, lane, (uint32_t)(T0_U32(w, i->a)[lane] + (uint32_t)i->imm), size);
    uint64_t a = flat_address(w, i, lane);
    check_aligned(w, i, lane, a, size);
    return (uint8_t *)(uintptr_t)a;
}

/* How the addresses of a full warp lie; *base is lane 0's address, checked. SCATTERED: not checked.
 */
ALWAYS enum shape shape_of(struct t0_warp *w, const struct lir_insn *i, unsigned size, bool shared, uint8_t **base)
{
    if (shared) {
        const uint32_t *p = T0_U32(w, i->a);
        uint32_t first = p[0], step = 0, same = 0;
        for (uint32_t l = 0; l < LIR_LANES; l++) {
            step |= (p[l] - first) ^ (l * size);
            same |= p[l] ^ first;
        }
        if (step && same)
            return SCATTERED;
        uint64_t a = (uint32_t)(first + (uint32_t)i->imm);
        *base = shared_at(w, i, 0, a, size);
        if (!step && a + LIR_LANES * size > w->shared_size)
            return SCATTERED;
        return step ? SAME : CONSECUTIVE;
    }
    const uint64_t *p = T0_U64(w, i->a);
    uint64_t first = p[0], step = 0, same = 0;
    for (uint32_t l = 0; l < LIR_LANES; l++) {
        step |= (p[l] - first) ^ (uint64_t)(l * size);
        same |= p[l] ^ first;
    }
    if (step && same)
        return SCATTERED;
    *base = lane_at(w, i, 0, size, false);
    return step ? SAME : CONSECUTIVE;
}

/* ---- 32 and 64 bits, rows of the same width ---- */

#define LOAD(NAME, TYPE, ROW, SHARED) \
    static void NAME(struct t0_warp *w, const struct lir_insn *i) \
    { \
        TYPE *d = ROW(w, i->d); \
        uint8_t *base; \
        w->at = i; \
        if (w->l.mask == ~0u) { \
            switch (shape_of(w, i, sizeof(TYPE), SHARED, &base)) { \
            case CONSECUTIVE: memcpy(d, base, sizeof(TYPE) * LIR_LANES); return; \
            case SAME: { \
                TYPE v = *(volatile TYPE *)(void *)base; \
                for (unsigned l = 0; l < LIR_LANES; l++) \
                    d[l] = v; \
                return; \
            } \
            case SCATTERED: \
                for (unsigned l = 0; l < LIR_LANES; l++) \
                    d[l] = *(volatile TYPE *)(void *)lane_at(w, i, l, sizeof(TYPE), SHARED); \
                return; \
            } \
        } \
        T0_FOR_LANES(l, w->l.mask) \
        d[l] = *(volatile TYPE *)(void *)lane_at(w, i, l, sizeof(TYPE), SHARED); \
    }

#define STORE(NAME, TYPE, ROW, SHARED) \
    static void NAME(struct t0_warp *w, const struct lir_insn *i) \
    { \
        const TYPE *d = ROW(w, i->d); \
        uint8_t *base; \
        w->at = i; \
        if (w->l.mask == ~0u && shape_of(w, i, sizeof(TYPE), SHARED, &base) == CONSECUTIVE) { \
            memcpy(base, d, sizeof(TYPE) * LIR_LANES); \
            return; \
        } \
        T0_FOR_LANES(l, w->l.mask) \
        *(volatile TYPE *)(void *)lane_at(w, i, l, sizeof(TYPE), SHARED) = d[l]; \
    }

LOAD(ldg_32, uint32_t, T0_U32, false)
LOAD(ldg_64, uint64_t, T0_U64, false)
LOAD(lds_32, uint32_t, T0_U32, true)
LOAD(lds_64, uint64_t, T0_U64, true)
STORE(stg_32, uint32_t, T0_U32, false)
STORE(stg_64, uint64_t, T0_U64, false)
STORE(sts_32, uint32_t, T0_U32, true)
STORE(sts_64, uint64_t, T0_U64, true)

/* ---- 8 and 16 bits, rows of 16 or 32 bits (stores: the low bits of a 32-bit row) ---- */

#define NARROW(SUFFIX, UTYPE, STYPE, SHARED) \
    static void ld##SUFFIX(struct t0_warp *w, const struct lir_insn *i) \
    { \
        uint32_t *d = T0_U32(w, i->d); \
        bool sign = i->aux & LIR_MEM_SIGNED; \
        uint32_t keep = (i->aux >> LIR_MEM_DST_SHIFT & 3) == 0 ? 0xffff : ~0u; \
        w->at = i; \
        T0_FOR_LANES(l, w->l.mask) \
        { \
            UTYPE v = *(volatile UTYPE *)(void *)lane_at(w, i, l, sizeof(UTYPE), SHARED); \
            d[l] = (sign ? (uint32_t)(int32_t)(STYPE)v : v) & keep; \
        } \
    } \
    static void st##SUFFIX(struct t0_warp *w, const struct lir_insn *i) \
    { \
        const uint32_t *d = T0_U32(w, i->d); \
        w->at = i; \
        T0_FOR_LANES(l, w->l.mask) \
        *(volatile UTYPE *)(void *)lane_at(w, i, l, sizeof(UTYPE), SHARED) = (UTYPE)d[l]; \
    }

NARROW(g_8, uint8_t, int8_t, false)
NARROW(g_16, uint16_t, int16_t, false)
NARROW(s_8, uint8_t, int8_t, true)
NARROW(s_16, uint16_t, int16_t, true)

/* ---- every other form ---- */

/* 16 bytes move as one access where the machine has one: status words of look-back scans rely on
 * it. */
typedef uint64_t quad __attribute__((vector_size(16)));

/* One element of memory into a lane of a row, extended to the row's width. */
ALWAYS void get_element(struct t0_warp *w, uint32_t row, unsigned lane, const uint8_t *p, uint16_t aux)
{
    uint64_t v = 0;
    switch (aux & LIR_MEM_LOG2_SIZE) {
    case 0: v = *p; break;
    case 1: {
        uint16_t t;
        memcpy(&t, p, 2);
        v = t;
        break;
    }
    case 2: {
        uint32_t t;
        memcpy(&t, p, 4);
        v = t;
        break;
    }
    case 3: memcpy(&v, p, 8); break;
    default:
        memcpy(&T0_U64(w, row)[lane], p, 8);
        memcpy(&T0_U64(w, row + 256)[lane], p + 8, 8);
        return;
    }
    if (aux & LIR_MEM_SIGNED) {
        unsigned shift = 64 - (8u << (aux & 3));
        v = (uint64_t)((int64_t)(v << shift) >> shift);
    }
    switch (aux >> LIR_MEM_DST_SHIFT & 3) {
    case 0: T0_U32(w, row)[lane] = (uint16_t)v; break;
    case 1: T0_U32(w, row)[lane] = (uint32_t)v; break;
    case 3: T0_U64(w, row + 256)[lane] = 0; /* fall through */
    default: T0_U64(w, row)[lane] = v;
    }
}

ALWAYS void put_element(struct t0_warp *w, uint32_t row, unsigned lane, uint8_t *p, uint16_t aux)
{
    unsigned log2 = aux & LIR_MEM_LOG2_SIZE;
    uint64_t v = (aux >> LIR_MEM_DST_SHIFT & 3) < 2 ? T0_U32(w, row)[lane] : T0_U64(w, row)[lane];
    memcpy(p, &v, log2 < 3 ? 1u << log2 : 8);
    if (log2 > 3)
        memcpy(p + 8, &T0_U64(w, row + 256)[lane], 8);
}

/* Bytes of the whole access; 0 for an encoding that no lowering makes. */
ALWAYS unsigned access_bytes(uint16_t aux)
{
    unsigned log2 = (unsigned)(aux & LIR_MEM_LOG2_SIZE) + (aux >> LIR_MEM_VEC_SHIFT & 3);
    return (aux & LIR_MEM_LOG2_SIZE) <= 4 && log2 <= 5 ? 1u << log2 : 0;
}

ALWAYS uint8_t *general_at(struct t0_warp *w, const struct lir_insn *i, unsigned lane, unsigned bytes)
{
    uint64_t a = any_address(w, i, lane);
    if (i->aux & LIR_MEM_SHARED)
        return shared_at(w, i, lane, a, bytes);
    check_aligned(w, i, lane, a, bytes);
    return (uint8_t *)(uintptr_t)a;
}

ALWAYS void load_words(struct t0_warp *w, const struct lir_insn *i, unsigned bytes, unsigned n)
{
    uint32_t *rows[4] = {T0_U32(w, i->d), T0_U32(w, i->b), T0_U32(w, i->c), T0_U32(w, i->e)};
    T0_FOR_LANES(l, w->l.mask)
    {
        const uint8_t *p = general_at(w, i, l, bytes);
        uint32_t v[4];
        if (n == 4) {
            quad q = *(volatile quad *)(void *)(uintptr_t)p;
            memcpy(v, &q, 16);
        } else {
            uint64_t q = *(volatile uint64_t *)(void *)(uintptr_t)p;
            memcpy(v, &q, 8);
        }
        for (unsigned k = 0; k < n; k++)
            rows[k][l] = v[k];
    }
}

/* The general load: any size, vector, space and ordering. Accesses of 16 bytes are single ones, because programs
 * pass status words by them (CUB's look-back scans); an acquire is a fence behind the load. */
static void ld_any(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned bytes = access_bytes(i->aux), n = 1u << (i->aux >> LIR_MEM_VEC_SHIFT & 3);
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    unsigned size = 1u << (i->aux & LIR_MEM_LOG2_SIZE), dst = i->aux >> LIR_MEM_DST_SHIFT & 3;
    w->at = i;
    if (size == 4 && dst == 1 && n == 4) {
        load_words(w, i, 16, 4);
    } else if (size == 4 && dst == 1 && n == 2) {
        load_words(w, i, 8, 2);
    } else if (bytes == 16) {
        T0_FOR_LANES(l, w->l.mask)
        {
            quad q = *(volatile quad *)(void *)general_at(w, i, l, 16);
            uint8_t v[16];
            memcpy(v, &q, 16);
            for (unsigned k = 0; k < n && k < 4; k++)
                get_element(w, row[k], l, v + k * size, i->aux);
        }
    } else if (bytes) {
        T0_FOR_LANES(l, w->l.mask)
        {
            uint8_t v[32];
            memcpy(v, general_at(w, i, l, bytes), bytes);
            for (unsigned k = 0; k < n && k < 4; k++)
                get_element(w, row[k], l, v + k * size, i->aux);
        }
    }
    if (i->aux & (LIR_MEM_ACQUIRE | LIR_MEM_SC))
        atomic_thread_fence(memory_order_acquire);
}

static void st_any(struct t0_warp *w, const struct lir_insn *i)
{
    unsigned bytes = access_bytes(i->aux), n = 1u << (i->aux >> LIR_MEM_VEC_SHIFT & 3);
    const uint32_t row[4] = {i->d, i->b, i->c, i->e};
    unsigned size = 1u << (i->aux & LIR_MEM_LOG2_SIZE);
    w->at = i;
    if (i->aux & (LIR_MEM_RELEASE | LIR_MEM_SC))
        atomic_thread_fence(memory_order_release);
    if (!bytes)
        return;
    T0_FOR_LANES(l, w->l.mask)
    {
        uint8_t *p = general_at(w, i, l, bytes), v[32];
        for (unsigned k = 0; k < n && k < 4; k++)
            put_element(w, row[k], l, v + k * size, i->aux);
        if (bytes == 16) {
            quad q;
            memcpy(&q, v, 16);
            *(volatile quad *)(void *)p = q;
        } else {
            memcpy(p, v, bytes);
        }
    }
}

/* ---- parameters, lane slots, local memory ---- */

static void ld_kparam(struct t0_warp *w, const struct lir_insn *i)
{
    const uint8_t *p = w->params + i->imm;
    if ((i->aux & LIR_MEM_LOG2_SIZE) == 2 && (i->aux >> LIR_MEM_DST_SHIFT & 3) == 1) {
        uint32_t v, *d = T0_U32(w, i->d);
        memcpy(&v, p, 4);
        if (w->l.mask == ~0u)
            for (unsigned l = 0; l < LIR_LANES; l++)
                d[l] = v;
        else
            T0_FOR_LANES(l, w->l.mask)
        d[l] = v;
        return;
    }
    if ((i->aux & LIR_MEM_LOG2_SIZE) == 3 && w->l.mask == ~0u) {
        uint64_t v, *d = T0_U64(w, i->d);
        memcpy(&v, p, 8);
        for (unsigned l = 0; l < LIR_LANES; l++)
            d[l] = v;
        return;
    }
    T0_FOR_LANES(l, w->l.mask)
    get_element(w, i->d, l, p, i->aux);
}

static void lane_ld(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    get_element(w, i->d, l, w->l.regs + i->a + (size_t)l * i->c + i->imm, i->aux);
}

static void lane_st(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    put_element(w, i->d, l, w->l.regs + i->a + (size_t)l * i->c + i->imm, i->aux);
}

static void lane_addr(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    T0_U64(w, i->d)[l] = (uint64_t)(uintptr_t)(w->l.regs + i->a + (size_t)l * i->c + i->imm);
}

static void local_addr(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    T0_U64(w, i->d)[l] = (uint64_t)(uintptr_t)t0_local(w, l) + w->frame->local_base + (uint64_t)(int64_t)i->imm;
}

static uint32_t own_local(const struct t0_warp *w)
{
    return LIR_AT(w->block->image, funcs, struct lir_fn)[w->frame->fn].local_size;
}

static void alloca_block(struct t0_warp *w, const struct lir_insn *i)
{
    uint64_t align = i->imm > 0 ? (uint64_t)i->imm : 16, most = 0;
    uint64_t at = (uint64_t)w->frame->local_base + own_local(w) + w->frame->extra;
    at = (at + align - 1) & ~(align - 1);
    T0_FOR_LANES(l, w->l.mask)
    most = T0_U64(w, i->a)[l] > most ? T0_U64(w, i->a)[l] : most;
    if (most > w->block->local_stride || at + most > w->block->local_stride)
        t0_raise(w, i, T0_FAULT_STACK, (unsigned)__builtin_ctz(w->l.mask), 0);
    T0_FOR_LANES(l, w->l.mask)
    T0_U64(w, i->d)[l] = (uint64_t)(uintptr_t)t0_local(w, l) + at;
    w->frame->extra = (uint32_t)(at + most - w->frame->local_base - own_local(w));
}

static void stack_save(struct t0_warp *w, const struct lir_insn *i)
{
    T0_FOR_LANES(l, w->l.mask)
    T0_U64(w, i->d)[l] = w->frame->extra;
}

/* Blocks are given back only when no other lane of the frame may still use what lies above. */
static void stack_restore(struct t0_warp *w, const struct lir_insn *i)
{
    uint64_t v = T0_U64(w, i->a)[__builtin_ctz(w->l.mask)];
    if (w->frame->refs == 1 && v < w->frame->extra)
        w->frame->extra = (uint32_t)v;
}

void t0_memory_handlers(t0_handler *table[LIR_NOPS])
{
    static const struct {
        uint16_t op;
        t0_handler *handler;
    } all[] = {{LIR_LDG_8, ldg_8},           {LIR_LDG_16, ldg_16},
               {LIR_LDG_32, ldg_32},         {LIR_LDG_64, ldg_64},
               {LIR_LDS_8, lds_8},           {LIR_LDS_16, lds_16},
               {LIR_LDS_32, lds_32},         {LIR_LDS_64, lds_64},
               {LIR_STG_8, stg_8},           {LIR_STG_16, stg_16},
               {LIR_STG_32, stg_32},         {LIR_STG_64, stg_64},
               {LIR_STS_8, sts_8},           {LIR_STS_16, sts_16},
               {LIR_STS_32, sts_32},         {LIR_STS_64, sts_64},
               {LIR_LD_ANY, ld_any},         {LIR_ST_ANY, st_any},
               {LIR_LD_KPARAM, ld_kparam},   {LIR_LANE_LD, lane_ld},
               {LIR_LANE_ST, lane_st},       {LIR_LANE_ADDR, lane_addr},
               {LIR_LOCAL_ADDR, local_addr}, {LIR_ALLOCA, alloca_block},
               {LIR_STACKSAVE, stack_save},  {LIR_STACKRESTORE, stack_restore},
               {LIR_ALIGNED, aligned}};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        table[all[k].op] = all[k].handler;
}
