/* Tier 0 execution: multimem, lane after lane. An access is made to the memory of each device behind the address, in
 * the order of the devices, which is the order of sums too; each is a host atomic as those of core_atomics.c are. What
 * the ISA leaves open: of min and max a NaN yields to a number, as elsewhere in PTX, and sums of 8 bits are rounded to
 * the nearest even and saturate, as all conversions to these types do. */
#include <math.h>
#include <string.h>

#include "half/half.h"
#include "ptx/tier0/tile.h"
#include "ptx/tier0/tools.h"

struct access { /* one lane's */
    struct t0_warp *w;
    const struct lir_insn *i;
    unsigned lane;
    uint8_t *at[T0_COPIES];
    unsigned n;
};

/* The memory behind `size` bytes; a whole access lies in what a device has bound as one. */
static uint64_t reach(struct access *a, uint64_t address, bool write)
{
    const struct t0_env *env = a->w->block->grid->env;
    uint64_t extent = 0;
    a->n = env->copies ? env->copies(env->ctx, address, write, a->at, &extent) : 0;
    if (!a->n || !extent)
        t0_raise(a->w, a->i, T0_FAULT_ADDRESS, a->lane, address);
    return extent;
}

/* The same of memory of the device's own. */
static uint64_t plain(struct access *a, uint64_t address, uint32_t size)
{
    const struct t0_part part = {.address = address, .size = size, .kind = T0_WRITES};
    if (!t0_watch_piece(a->w, a->i, a->lane, &part))
        t0_raise(a->w, a->i, T0_FAULT_ADDRESS, a->lane, address);
    a->at[0] = (uint8_t *)(uintptr_t)address;
    a->n = 1;
    return size;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* To the nearest even of a float of 8 bits with so many bits of fraction, whose normal numbers begin at 2^least. */
static uint32_t to_8_bits(float x, int fraction, int least, float most)
{
    const uint32_t sign = f32_bits(x) >> 24 & 0x80;
    double v = fabs((double)x);
    int e;
    if (x != x)
        return 0x7f;
    if (v > most)
        v = most;
    (void)frexp(v, &e);
    e = v == 0 || e - 1 < least ? least : e - 1;
    uint32_t units = (uint32_t)nearbyint(ldexp(v, fraction - e)); /* of 2^(e - fraction) */
    if (units == 2u << fraction) {
        units >>= 1;
        e++;
    }
    return sign |
           (units < 1u << fraction ? units : ((uint32_t)(e - least + 1) << fraction) + (units - (1u << fraction)));
}

static float widen(unsigned type, uint32_t v)
{
    switch (type) {
    case LIR_MM_E4M3: return e4m3_to_f32(v & 0xff);
    case LIR_MM_E5M2: return e5m2_to_f32(v & 0xff);
    case LIR_MM_F16: return f16_to_f32(v & 0xffff);
    case LIR_MM_BF16: return bf16_to_f32(v & 0xffff);
    default: return f32_from(v);
    }
}

static uint32_t narrow(unsigned type, float v)
{
    switch (type) {
    case LIR_MM_E4M3: return to_8_bits(v, 3, -6, 448);
    case LIR_MM_E5M2: return to_8_bits(v, 2, -14, 57344);
    case LIR_MM_F16: return f32_to_f16(v);
    case LIR_MM_BF16: return f32_to_bf16(v);
    default: return f32_bits(v);
    }
}

static float lesser(float x, float y) { return x < y || y != y || (x == y && signbit(x)) ? x : y; }

static float combine(unsigned sub, float x, float y)
{
    return sub == PTX_SUB_ADD ? x + y : sub == PTX_SUB_MIN ? lesser(x, y) : -lesser(-x, -y);
}

/* The elements of one register, from all devices: floats up to 32 bits. `wide`: what sums are rounded to in between. */
static uint32_t reduce_floats(const uint32_t *from, unsigned n, unsigned type, unsigned pack, unsigned sub, bool wide)
{
    const unsigned bits = type <= LIR_MM_LAST_8 ? 8 : type <= LIR_MM_LAST_16 ? 16 : 32;
    const unsigned sums = !wide ? type : bits == 8 ? LIR_MM_F16 : LIR_MM_F32;
    uint32_t all = 0;
    for (unsigned k = 0; k < pack; k++) {
        float v = widen(type, from[0] >> k * bits);
        for (unsigned c = 1; c < n; c++)
            v = widen(sums, narrow(sums, combine(sub, v, widen(type, from[c] >> k * bits))));
        all |= narrow(type, v) << k * bits % 32;
    }
    return all;
}

static uint64_t reduce_words(const uint64_t *from, unsigned n, unsigned type, unsigned sub)
{
    uint64_t v = from[0];
    for (unsigned c = 1; c < n; c++) {
        const uint64_t x = from[c];
        const bool less = type == LIR_MM_S32   ? (int32_t)x < (int32_t)v
                          : type == LIR_MM_S64 ? (int64_t)x < (int64_t)v
                                               : x < v;
        switch (sub) {
        case PTX_SUB_AND: v &= x; break;
        case PTX_SUB_OR: v |= x; break;
        case PTX_SUB_XOR: v ^= x; break;
        case PTX_SUB_MIN: v = less ? x : v; break;
        case PTX_SUB_MAX: v = less ? v : x; break;
        default:
            if (type == LIR_MM_F64) {
                double a, b;
                memcpy(&a, &v, 8);
                memcpy(&b, &x, 8);
                a += b;
                memcpy(&v, &a, 8);
            } else {
                v = type == LIR_MM_U64 || type == LIR_MM_S64 ? v + x : (uint32_t)(v + x);
            }
        }
    }
    return v;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Racecheck knows the memory by its multicast address; the same words have others, so that what synchronises here does
 * so with all of them. */
static struct t0_part part_of(const struct access *a, const struct lir_tile *x, uint64_t address, uint32_t size)
{
    const unsigned kind = x->p[1];
    const bool weak = kind == LIR_MM_BULK ? !x->p[2] : strstr(lir_text(a->w->block->image, a->i), ".weak") != NULL;
    return (struct t0_part){.address = address,
                            .size = size,
                            .kind = kind == LIR_MM_LOAD                           ? T0_READS
                                    : kind == LIR_MM_REDUCE || (!weak && x->p[2]) ? T0_UPDATES
                                                                                  : T0_WRITES,
                            .strong = !weak};
}

static void look_at_race(struct access *a, const struct t0_part *p)
{
    const struct t0_watch *watch = a->w->block->grid->watch;
    if (!watch || !(watch->tools & T0_RACECHECK))
        return;
    t0_tools_access(a->w, a->i, a->lane, p, T0_RACECHECK);
    if (p->strong && p->kind != T0_READS)
        t0_race_release_flat(a->w, a->lane, T0_RACE_ANYWHERE);
    else if (p->strong)
        t0_race_acquire_flat(a->w, a->lane, T0_RACE_ANYWHERE);
}

static uint64_t load(const void *p, unsigned size)
{
    switch (size) {
    case 1: return __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
    case 2: return __atomic_load_n((const uint16_t *)p, __ATOMIC_RELAXED);
    case 4: return __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED);
    default: return __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED);
    }
}

static void store(void *p, unsigned size, uint64_t v)
{
    switch (size) {
    case 1: __atomic_store_n((uint8_t *)p, (uint8_t)v, __ATOMIC_RELAXED); break;
    case 2: __atomic_store_n((uint16_t *)p, (uint16_t)v, __ATOMIC_RELAXED); break;
    case 4: __atomic_store_n((uint32_t *)p, (uint32_t)v, __ATOMIC_RELAXED); break;
    default: __atomic_store_n((uint64_t *)p, v, __ATOMIC_RELAXED);
    }
}

static uint64_t reduce(const struct access *a, const struct lir_tile *x, unsigned at, unsigned size)
{
    const unsigned type = x->p[3] & 255, pack = x->p[3] >> 8 & 255;
    const bool floats = type <= LIR_MM_LAST_16 || type == LIR_MM_F32;
    uint64_t word[T0_COPIES];
    uint32_t half[T0_COPIES];
    for (unsigned c = 0; c < a->n; c++) {
        word[c] = load(a->at[c] + at, size);
        half[c] = (uint32_t)word[c];
    }
    return floats ? reduce_floats(half, a->n, type, pack, x->p[2], x->p[3] & LIR_MM_WIDE)
                  : reduce_words(word, a->n, type, x->p[2]);
}

/* How core_atomics.c calls what red has. */
static unsigned atomic_type(unsigned type, unsigned pack)
{
    static const uint8_t of[LIR_MM_TYPES] = {
        [LIR_MM_F16] = PTX_F16, [LIR_MM_BF16] = PTX_BF16, [LIR_MM_U32] = PTX_U32, [LIR_MM_S32] = PTX_S32,
        [LIR_MM_F32] = PTX_F32, [LIR_MM_U64] = PTX_U64,   [LIR_MM_S64] = PTX_S64, [LIR_MM_F64] = PTX_F64};
    return pack == 2 ? (type == LIR_MM_F16 ? PTX_F16X2 : PTX_BF16X2) : of[type];
}

static void elements(struct access *a, const struct lir_tile *x)
{
    struct t0_warp *w = a->w;
    const unsigned size = lir_mm_size(x), all = size * x->p[4], kind = x->p[1];
    const uint64_t address = t0_tile_address(w, x, 0, a->lane, x->p[0] & LIR_TILE_A32);
    const struct t0_part part = part_of(a, x, address, all);
    if (address & (all - 1))
        t0_misaligned(w, a->i, a->lane, &part);
    reach(a, address, kind != LIR_MM_LOAD);
    if (kind != LIR_MM_LOAD) {
        look_at_race(a, &part);
        __atomic_thread_fence(__ATOMIC_RELEASE);
    }
    for (unsigned k = 0; k < x->p[4]; k++) {
        const uint32_t row = t0_tile_row(w, x, 1 + k);
        if (kind == LIR_MM_LOAD) {
            const uint64_t v = reduce(a, x, k * size, size);
            if (size == 8)
                T0_U64(w, row)[a->lane] = v;
            else
                T0_U32(w, row)[a->lane] = (uint32_t)v;
            continue;
        }
        const uint64_t v = size == 8 ? T0_U64(w, row)[a->lane] : T0_U32(w, row)[a->lane];
        for (unsigned c = 0; c < a->n; c++)
            if (kind == LIR_MM_STORE)
                store(a->at[c] + k * size, size, v);
            else
                t0_atomic_one(a->at[c] + k * size, atomic_type(x->p[3] & 255, x->p[3] >> 8 & 255), x->p[2], v, 0);
    }
    if (kind == LIR_MM_LOAD) {
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        look_at_race(a, &part); /* by now what was released may have been read */
    }
}

/* ---- copies in bulk -------------------------------------------------------------------------- */

static void copy(uint8_t *to, const uint8_t *from, uint32_t n, const struct lir_tile *x, uint32_t mask)
{
    if (!x->p[2] && !x->p[4]) {
        memcpy(to, from, n);
    } else if (!x->p[2]) {
        for (uint32_t k = 0; k < n; k++)
            if (mask >> k % 16 & 1)
                to[k] = from[k];
    } else {
        const unsigned size = t0_atomic_size(x->p[3]);
        for (uint32_t k = 0; size && size <= 8 && k < n; k += size) {
            uint64_t v = 0;
            memcpy(&v, from + k, size);
            t0_atomic_one(to + k, x->p[3], x->p[2], v, 0);
        }
    }
}

static void bulk(struct access *a, const struct lir_tile *x)
{
    struct t0_warp *w = a->w;
    uint64_t to = t0_tile_address(w, x, 0, a->lane, x->p[0] & LIR_TILE_A32);
    const uint64_t from = t0_tile_address(w, x, 1, a->lane, x->p[0] & LIR_TILE_B32);
    uint32_t size = t0_tile_u32(w, x, 2, a->lane);
    const uint32_t mask = x->p[4] ? t0_tile_u32(w, x, 3, a->lane) : 0;
    if ((to | size) & 15) {
        const struct t0_part part = part_of(a, x, to, size);
        t0_misaligned(w, a->i, a->lane, &part);
    }
    if (!size)
        return;
    const uint8_t *q = t0_shared_at(w, a->i, a->lane, from, size, 16);
    while (size) { /* what is bound piece by piece */
        const uint64_t extent = x->p[5] ? plain(a, to, size) : reach(a, to, true);
        const uint32_t n = extent < size ? (uint32_t)extent : size;
        const struct t0_part part = part_of(a, x, to, n);
        if (!x->p[5])
            look_at_race(a, &part);
        for (unsigned c = 0; c < a->n; c++)
            copy(a->at[c], q, n, x, mask);
        to += n;
        q += n;
        size -= n;
    }
}

void t0_multimem(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x)
{
    T0_FOR_LANES(l, w->l.mask)
    {
        struct access a = {.w = w, .i = i, .lane = l};
        if (x->p[1] == LIR_MM_BULK)
            bulk(&a, x);
        else
            elements(&a, x);
    }
}
