/* Tier 0 execution: copies by tensor maps (TMA), done when issued, and changes of such maps. What the map says is
 * looked at line by line: the elements of the innermost dimension lie together in global memory and, but for the
 * swizzle, in shared memory. */
#include "ptx/lir/tensor_map.h"
#include "ptx/tier0/tile.h"
#include "ptx/tier0/tools.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 256 * 16 }; /* bytes of one line at most: 256 elements, or groups of 16 bytes */

struct copy { /* one instruction of one lane */
    struct t0_warp *w;
    const struct lir_insn *i;
    const struct lir_tile *x;
    unsigned lane;
    const struct lir_tmap *map;
    struct lir_tmap_unit unit;
    uint8_t *to[LIR_CLUSTER_MAX]; /* the window of shared memory of each block that takes part */
    unsigned nto;
    uint32_t at;           /* place of the next line there */
    uint32_t bytes, pitch; /* of a line in shared memory: what it holds, from one to the next */
    uint32_t units;        /* of a line */
    uint64_t told;         /* bytes that the mbarrier hears of */
    int64_t start;         /* of the line in dimension 0, in units */
};

_Noreturn static void refuse(const struct copy *c, const char *why)
{
    t0_raise_text(c->w, c->i, T0_FAULT_INSTRUCTION, c->lane, why);
}

/* Where tools look at the launch. */
static void look_at(const struct copy *c, struct t0_part p)
{
    if (!t0_watch_piece(c->w, c->i, c->lane, &p))
        t0_raise(c->w, c->i, T0_FAULT_ADDRESS, c->lane, p.address);
}

void t0_tile_reads(struct t0_warp *w, const struct lir_insn *i, unsigned lane, const uint8_t *at)
{
    const uint64_t far = (uint64_t)(at - w->block->cluster->base), own = (uint64_t)(at - w->shared);
    const struct t0_part p = {.address = own < LIR_CLUSTER_STRIDE ? own : LIR_CLUSTER_FAR | far,
                              .size = 16,
                              .shared = true,
                              .async = T0_MULTIPLYING};
    if (!t0_watch_piece(w, i, lane, &p))
        t0_raise(w, i, T0_FAULT_SHARED, lane, p.address);
}

static uint64_t dim_of(const struct lir_tmap *m, unsigned k) { return m->dim[k] ? m->dim[k] : (uint64_t)1 << 32; }

static bool in_bounds(const struct lir_tmap *m, unsigned k, int64_t at)
{
    return at >= 0 && (uint64_t)at < dim_of(m, k);
}

/* What fills the places of elements that are out of bounds. */
static void fill_line(const struct lir_tmap *m, uint8_t *line, uint32_t bytes)
{
    memset(line, 0, bytes);
    if (!m->nan_fill)
        return;
    const unsigned size = lir_tmap_unit(m->type).shared;
    for (uint32_t k = 0; k < bytes; k += size) {
        memset(line + k, 0xff, size);
        line[k + size - 1] = 0x7f;
    }
}

/* A float as a copy to shared memory leaves it: no subnormals by types with ftz, for tf32 rounded to the nearest of
 * 10 bits, the even one where two are as near; infinities and NaNs as they are. The ISA names the types only; Triton
 * tells of this and tests it on devices: its descriptors' round_f32_to_tf32. */
static uint32_t loaded_float(unsigned type, uint32_t v)
{
    const uint32_t exponent = v & 0x7f800000u;
    if (!exponent && type != LIR_TMAP_TF32)
        return v & 0x80000000u;
    if (type == LIR_TMAP_F32_FTZ || exponent == 0x7f800000u)
        return v;
    return (v + 0xfffu + (v >> 13 & 1u)) & ~0x1fffu;
}

/* Elements between global memory and a line as shared memory has it. */
static void read_units(const struct copy *c, uint8_t *line, const uint8_t *from, uint32_t n)
{
    const struct lir_tmap_unit u = c->unit;
    if (u.global == u.shared)
        memcpy(line, from, (size_t)n * u.global);
    else
        for (uint32_t k = 0; k < n; k++) {
            memcpy(line + k * u.shared, from + k * u.global, u.global);
            memset(line + k * u.shared + u.global, 0, u.shared - u.global); /* ISA: not initialised */
        }
    const unsigned type = c->map->type;
    if (type == LIR_TMAP_F32_FTZ || type == LIR_TMAP_TF32 || type == LIR_TMAP_TF32_FTZ)
        for (uint32_t k = 0; k < n; k++) {
            uint32_t v;
            memcpy(&v, line + 4 * k, 4);
            v = loaded_float(type, v);
            memcpy(line + 4 * k, &v, 4);
        }
}

static unsigned ptx_type_of(unsigned type)
{
    static const uint8_t of[LIR_TMAP_TYPES] = {
        [LIR_TMAP_U16] = PTX_U16,     [LIR_TMAP_U32] = PTX_U32,  [LIR_TMAP_S32] = PTX_S32,
        [LIR_TMAP_U64] = PTX_U64,     [LIR_TMAP_S64] = PTX_S64,  [LIR_TMAP_F16] = PTX_F16,
        [LIR_TMAP_F32] = PTX_F32,     [LIR_TMAP_F64] = PTX_F64,  [LIR_TMAP_BF16] = PTX_BF16,
        [LIR_TMAP_F32_FTZ] = PTX_F32, [LIR_TMAP_TF32] = PTX_F32, [LIR_TMAP_TF32_FTZ] = PTX_F32};
    return of[type];
}

/* Sixteen numbers of 6 bits, each at the lower end of a byte, without what lies above them (ISA: .b6p2x16, which is
 * what the type of .b6x16_p32 means in a store). */
static void pack_six(uint8_t to[12], const uint8_t from[16])
{
    for (unsigned k = 0; k < 4; k++) {
        const uint32_t four = (from[4 * k] & 63u) | (from[4 * k + 1] & 63u) << 6 | (from[4 * k + 2] & 63u) << 12 |
                              (from[4 * k + 3] & 63u) << 18;
        to[3 * k] = (uint8_t)four;
        to[3 * k + 1] = (uint8_t)(four >> 8);
        to[3 * k + 2] = (uint8_t)(four >> 16);
    }
}

static void write_units(const struct copy *c, uint8_t *to, const uint8_t *line, uint32_t n)
{
    const struct lir_tmap_unit u = c->unit;
    if (c->x->p[4]) {
        const unsigned type = ptx_type_of(c->map->type), size = t0_atomic_size(type);
        for (uint32_t k = 0; k < n; k++) {
            uint64_t v = 0;
            memcpy(&v, line + k * size, size);
            t0_atomic_one(to + k * size, type, c->x->p[4], v, 0);
        }
    } else if (u.global == u.shared) {
        memcpy(to, line, (size_t)n * u.global);
    } else {
        for (uint32_t k = 0; k < n; k++)
            pack_six(to + k * u.global, line + k * u.shared);
    }
}

/* One line between shared memory and a buffer, by the pieces that a swizzle leaves together. */
static void shared_line(const struct copy *c, uint8_t *line, bool store)
{
    const unsigned s = c->map->swizzle, piece = s == LIR_TMAP_128B_ATOM_32B_FLIP_8B ? 8 : 16;
    for (uint32_t k = 0; k < c->bytes; k += piece) {
        const uint32_t at = lir_tmap_swizzled(s, c->at + k), n = c->bytes - k < piece ? c->bytes - k : piece;
        for (unsigned b = 0; b < c->nto; b++)
            if (store)
                memcpy(line + k, c->to[b] + at, n);
            else
                memcpy(c->to[b] + at, line + k, n);
    }
}

/* A line: dimension 0 from c->start on; base: the address of its element 0, outside: another coordinate is out of
 * bounds. */
static void copy_line(struct copy *c, uint64_t base, bool outside)
{
    uint8_t line[LINE];
    const bool store = c->x->p[3] & LIR_TENSOR_STORE;
    const int64_t dim = (int64_t)(dim_of(c->map, 0) / c->unit.elements);
    int64_t first = c->start < 0 ? -c->start : 0, end = dim - c->start;
    first = first > (int64_t)c->units ? (int64_t)c->units : first;
    end = end > (int64_t)c->units ? (int64_t)c->units : end;
    if (outside || end < first)
        end = first;
    uint8_t *memory = (uint8_t *)(uintptr_t)(base + (uint64_t)((c->start + first) * c->unit.global));
    const uint32_t n = (uint32_t)(end - first);
    if (n)
        look_at(c, (struct t0_part){.address = (uint64_t)(uintptr_t)memory,
                                    .size = n * c->unit.global,
                                    .kind = c->x->p[4] ? T0_UPDATES
                                            : store    ? T0_WRITES
                                                       : T0_READS,
                                    .strong = c->x->p[4] != 0});
    if (store) {
        shared_line(c, line, true);
        if (n)
            write_units(c, memory, line + first * c->unit.shared, n);
    } else {
        if (n < c->units)
            fill_line(c->map, line, c->bytes);
        if (n)
            read_units(c, line + first * c->unit.shared, memory, n);
        shared_line(c, line, false);
    }
    c->at += c->pitch;
    c->told += (uint64_t)c->units * c->unit.global;
}

/* Lines in shared memory lie without gaps, but that a swizzle has lines of its own width. */
static void plan(struct copy *c, uint32_t elements)
{
    const unsigned span = lir_tmap_span(c->map->swizzle);
    c->units = elements / c->unit.elements;
    c->bytes = c->units * c->unit.shared;
    c->pitch = c->bytes < span ? span : c->bytes;
    if (!c->units || c->bytes > LINE || c->bytes % 16)
        refuse(c, "tensor map: the innermost dimension of its box is no multiple of 16 bytes");
    if (span && c->bytes > span)
        refuse(c, "tensor map: the innermost dimension of its box is wider than its swizzle");
}

static int64_t coordinate(const struct copy *c, unsigned k)
{
    return (int32_t)t0_tile_u32(c->w, c->x, LIR_TENSOR_COORD + k, c->lane);
}

/* Where the lines begin. ISA: padded elements by 128; sm_103a stores 64 of 6 bits, too. */
static int64_t first_unit(const struct copy *c)
{
    const int64_t at = coordinate(c, 0);
    const bool store = c->x->p[3] & LIR_TENSOR_STORE;
    if (at % (c->unit.global == c->unit.shared ? c->unit.elements : store ? 64 : 128))
        refuse(c, "coordinate of packed elements is no multiple of their group");
    return at / c->unit.elements;
}

static void reach_window(struct copy *c, uint64_t address, uint32_t bytes)
{
    look_at(c, (struct t0_part){.address = address,
                                .size = bytes,
                                .kind = c->x->p[3] & LIR_TENSOR_STORE ? T0_READS : T0_WRITES,
                                .shared = true,
                                .async = c->x->p[3] & LIR_TENSOR_STORE ? T0_SENDING : T0_FETCHING});
    c->to[c->nto++] = t0_shared_at(c->w, c->i, c->lane, address, bytes, 128) - c->at;
}

/* Finds the shared memory of all blocks that take part, for `lines` lines. */
static void reach_shared(struct copy *c, uint64_t lines, uint64_t address)
{
    const uint64_t bytes = lines * c->pitch;
    if (bytes > LIR_CLUSTER_STRIDE)
        refuse(c, "tensor map: its box is larger than shared memory");
    if (address & 127)
        t0_misaligned(c->w, c->i, c->lane,
                      &(struct t0_part){.address = address,
                                        .size = (uint32_t)bytes,
                                        .kind = c->x->p[3] & LIR_TENSOR_STORE ? T0_READS : T0_WRITES,
                                        .shared = true});
    c->at = (uint32_t)(address & (LIR_CLUSTER_STRIDE - 1));
    if (c->x->p[3] & LIR_TENSOR_MULTICAST) {
        T0_FOR_LANES(rank, t0_tile_u32(c->w, c->x, LIR_TENSOR_MASK, c->lane) & 0xffff)
        reach_window(c, t0_tile_far(rank, c->at), (uint32_t)bytes);
    } else {
        reach_window(c, address, (uint32_t)bytes);
    }
}

/* ---- the modes ---- */

static void copy_tile(struct copy *c, uint64_t shared)
{
    const struct lir_tmap *m = c->map;
    uint32_t n[LIR_TMAP_RANK], k[LIR_TMAP_RANK] = {0};
    uint64_t lines = 1;
    for (unsigned d = 1; d < m->rank; d++) {
        n[d] = (m->box[d] + m->estride[d] - 1u) / m->estride[d];
        lines *= n[d];
    }
    plan(c, m->box[0]);
    reach_shared(c, lines, shared);
    c->start = first_unit(c);
    for (; lines; lines--) {
        uint64_t base = m->address;
        bool outside = false;
        for (unsigned d = 1; d < m->rank; d++) {
            const int64_t at = coordinate(c, d) + (int64_t)k[d] * m->estride[d];
            outside |= !in_bounds(m, d, at);
            base += (uint64_t)at * m->stride[d - 1];
        }
        copy_line(c, base, outside);
        for (unsigned d = 1; d < m->rank && ++k[d] == n[d]; d++)
            k[d] = 0;
    }
}

/* Four rows of a matrix, whose numbers are coordinates. */
static void copy_rows(struct copy *c, uint64_t shared)
{
    const struct lir_tmap *m = c->map;
    if (m->rank != 2 || m->box[1] != 1)
        refuse(c, "tensor map: gather4 and scatter4 are of two dimensions and a box of one row");
    plan(c, m->box[0]);
    reach_shared(c, 4, shared);
    c->start = first_unit(c);
    for (unsigned k = 0; k < 4; k++) {
        const int64_t row = coordinate(c, 1 + k);
        copy_line(c, m->address + (uint64_t)row * m->stride[0], !in_bounds(m, 1, row));
    }
}

/* Pixels one after the other: along the width within the corners' box, then along the height and so on; what is read
 * lies at the pixel plus the offsets. The box of im2col::w has one pixel in height and depth; wOffset moves it and the
 * place in it alike. */
static void copy_pixels(struct copy *c, uint64_t shared)
{
    const struct lir_tmap *m = c->map;
    const unsigned mode = c->x->p[1];
    const bool wide = mode >= LIR_TENSOR_IM2COL_W;
    const unsigned inner = wide ? 1 : m->rank - 2u; /* dimensions of the box: 1 to inner; the last one is the batch */
    int64_t at[LIR_TMAP_RANK] = {0}, offset[LIR_TMAP_RANK] = {0};
    if (m->mode != (mode == LIR_TENSOR_IM2COL_W      ? LIR_TMAP_IM2COL_W
                    : mode == LIR_TENSOR_IM2COL_W128 ? LIR_TMAP_IM2COL_W128
                                                     : LIR_TMAP_IM2COL))
        refuse(c, "tensor map: made for tiles or another im2col, used for im2col");
    if (wide && (uint16_t)t0_tile_u32(c->w, c->x, LIR_TENSOR_OFFSET, c->lane))
        refuse(c, "im2col::w with wHalo: which pixels those are, the ISA shows in figures only");
    plan(c, m->channels);
    reach_shared(c, m->pixels, shared);
    c->start = first_unit(c);
    for (unsigned d = 1; d < m->rank; d++)
        at[d] = coordinate(c, d);
    for (unsigned d = 1; d <= inner && mode == LIR_TENSOR_IM2COL; d++)
        offset[d] = (uint16_t)t0_tile_u32(c->w, c->x, LIR_TENSOR_OFFSET + d - 1, c->lane);
    if (wide)
        offset[1] = (int16_t)t0_tile_u32(c->w, c->x, LIR_TENSOR_OFFSET + 1, c->lane);
    for (unsigned n = 0; n < m->pixels; n++) {
        uint64_t base = m->address;
        bool outside = false;
        for (unsigned d = 1; d < m->rank; d++) {
            const int64_t x = at[d] + offset[d];
            outside |= !in_bounds(m, d, x);
            base += (uint64_t)x * m->stride[d - 1];
        }
        copy_line(c, base, outside);
        unsigned d = 1;
        for (; d <= inner; d++) {
            at[d] += m->estride[d];
            if (at[d] < (int64_t)dim_of(m, d) + m->upper[d - 1])
                break;
            at[d] = m->lower[d - 1];
        }
        if (d > inner)
            at[m->rank - 1]++;
    }
}

static void check_map(struct copy *c)
{
    const struct lir_tmap *m = c->map;
    const unsigned mode = c->x->p[1];
    if (m->magic != LIR_TMAP_MAGIC || m->type >= LIR_TMAP_TYPES || m->swizzle >= LIR_TMAP_SWIZZLES || !m->rank ||
        m->rank > LIR_TMAP_RANK)
        refuse(c, "no tensor map: it was not made by cuTensorMapEncode*, or has been overwritten");
    if (mode != LIR_TENSOR_GATHER4 && m->rank != c->x->p[2])
        refuse(c, "tensor map: another number of dimensions than the instruction's");
    if (mode < LIR_TENSOR_IM2COL && m->mode != LIR_TMAP_TILED)
        refuse(c, "tensor map: made for im2col, used for tiles");
    for (unsigned d = 0; d < m->rank; d++)
        if (!m->estride[d] || (m->mode == LIR_TMAP_TILED && (!m->box[d] || m->box[d] > 256)))
            refuse(c, "tensor map: box or element stride out of range");
    for (unsigned d = 0; d + 1 < m->rank; d++)
        if (m->stride[d] & 15)
            refuse(c, "tensor map: a stride is no multiple of 16");
    if (m->mode != LIR_TMAP_TILED && !m->pixels)
        refuse(c, "tensor map: no pixels");
    if (c->x->p[4] && !ptx_type_of(m->type))
        refuse(c, "tensor map: no reduction of its type");
    if (c->x->p[3] & LIR_TENSOR_STORE && m->type == LIR_TMAP_U4X16_P64)
        refuse(c, "tensor map: no store of 4 bits padded to 16 bytes");
    if (c->x->p[3] & LIR_TENSOR_STORE && m->swizzle == LIR_TMAP_128B_ATOM_32B_FLIP_8B)
        refuse(c, "tensor map: no store with halves of 16 bytes that change places");
    if (m->address & 15)
        refuse(c, "tensor map: address is no multiple of 16");
}

static void tensor(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    struct copy c = {.w = w, .i = i, .x = x, .lane = lane};
    struct lir_tmap map;
    const uint64_t shared = t0_tile_address(w, x, LIR_TENSOR_SHARED, lane, x->p[0] & LIR_TILE_B32);
    const uint64_t at = t0_tile_u64(w, x, LIR_TENSOR_MAP, lane);
    if (!t0_watch_allows(w, i, lane, &(struct t0_part){.address = at, .size = sizeof map, .kind = T0_READS}))
        t0_raise(w, i, T0_FAULT_ADDRESS, lane, at);
    memcpy(&map, (const void *)(uintptr_t)at, sizeof map);
    c.map = &map;
    c.unit = lir_tmap_unit(map.type);
    check_map(&c);
    if (x->p[1] == LIR_TENSOR_TILE)
        copy_tile(&c, shared);
    else if (x->p[1] == LIR_TENSOR_GATHER4)
        copy_rows(&c, shared);
    else
        copy_pixels(&c, shared);
    if (!(x->p[3] & LIR_TENSOR_TELLS))
        return;
    uint64_t barrier = t0_tile_address(w, x, LIR_TENSOR_BARRIER, lane, x->p[0] & LIR_TILE_C32);
    if (x->p[3] & LIR_TENSOR_MULTICAST) {
        T0_FOR_LANES(rank, t0_tile_u32(w, x, LIR_TENSOR_MASK, lane) & 0xffff)
        {
            const uint64_t of = x->p[3] & LIR_TENSOR_PAIR ? t0_tile_pair(w, barrier, rank) : rank;
            t0_barrier_told(w, i, lane, t0_tile_far(of, barrier), c.told);
        }
    } else {
        if (x->p[3] & LIR_TENSOR_PAIR && !(barrier >> 31 & 1) && w->block->cluster->size > 1)
            barrier = t0_tile_far(t0_tile_own_rank(w) & ~1u, barrier);
        t0_barrier_told(w, i, lane, barrier, c.told);
    }
}

/* ---- tensormap ---- */

static bool is_zero(const uint8_t map[128])
{
    uint64_t any = 0, v;
    for (unsigned k = 0; k < 128; k += 8) {
        memcpy(&v, map + k, 8);
        any |= v;
    }
    return !any;
}

/* Where tools look at the launch: a map that is changed. Each change is of a field, which may be another thread's, so
 * that only memcheck is asked. */
static void look_at_map(struct t0_warp *w, const struct lir_insn *i, unsigned lane, struct t0_part p)
{
    if (!t0_watch_allows(w, i, lane, &p))
        t0_raise(w, i, T0_FAULT_ADDRESS, lane, p.address);
}

/* Changes one field; what a copy needs to hold of it is checked by the copy. */
static void replace(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    static const uint8_t atom[] = {LIR_TMAP_128B, LIR_TMAP_128B_ATOM_32B, LIR_TMAP_128B_ATOM_32B_FLIP_8B,
                                   LIR_TMAP_128B_ATOM_64B};
    /* ISA: PTX has other numbers of types than the driver API from f32.ftz on */
    static const uint8_t type[] = {LIR_TMAP_U8,       LIR_TMAP_U16,   LIR_TMAP_U32,       LIR_TMAP_S32,
                                   LIR_TMAP_U64,      LIR_TMAP_S64,   LIR_TMAP_F16,       LIR_TMAP_F32,
                                   LIR_TMAP_F32_FTZ,  LIR_TMAP_F64,   LIR_TMAP_BF16,      LIR_TMAP_TF32,
                                   LIR_TMAP_TF32_FTZ, LIR_TMAP_U4X16, LIR_TMAP_U4X16_P64, LIR_TMAP_U6X16_P32};
    const uint64_t address = t0_tile_address(w, x, 0, lane, x->p[0] & LIR_TILE_A32);
    const unsigned field = x->p[1] & (LIR_MAP_STRIDE_BY_16 - 1), k = x->p[2];
    look_at_map(w, i, lane,
                (struct t0_part){
                    .address = address, .size = 128, .kind = T0_WRITES, .shared = (x->p[0] & LIR_TILE_A_SHARED) != 0});
    uint8_t *p = x->p[0] & LIR_TILE_A_SHARED ? t0_shared_at(w, i, lane, address, 128, 8)
                                             : (uint8_t *)(uintptr_t)address;
    struct lir_tmap m;
    uint64_t v = field == LIR_MAP_ADDRESS || field == LIR_MAP_STRIDE ? t0_tile_u64(w, x, 1, lane)
                                                                     : t0_tile_u32(w, x, 1, lane);
    bool good = true;
    memcpy(&m, p, sizeof m);
    if (is_zero(p)) { /* Triton makes maps of zeros, field by field, and leaves out zeros: of the rank 0 is 1-D */
        m.magic = LIR_TMAP_MAGIC;
        m.rank = 1;
    }
    if (m.magic != LIR_TMAP_MAGIC)
        t0_raise_text(w, i, T0_FAULT_INSTRUCTION, lane, "no tensor map: it was not made by cuTensorMapEncode*");
    switch (field) {
    case LIR_MAP_ADDRESS: m.address = v; break;
    case LIR_MAP_RANK:
        good = v < LIR_TMAP_RANK;
        m.rank = (uint8_t)(v + 1);
        break;
    case LIR_MAP_BOX:
        good = v - 1 < 256;
        m.box[k] = (uint16_t)v;
        break;
    case LIR_MAP_DIM: m.dim[k] = (uint32_t)v; break;
    case LIR_MAP_STRIDE: m.stride[k] = x->p[1] & LIR_MAP_STRIDE_BY_16 ? v << 4 : v; break;
    case LIR_MAP_ESTRIDE:
        good = v - 1 < 8;
        m.estride[k] = (uint8_t)v;
        break;
    case LIR_MAP_TYPE:
        good = v < sizeof type;
        m.type = good ? type[v] : 0;
        break;
    case LIR_MAP_INTERLEAVE:
        if (v)
            t0_raise_text(w, i, T0_FAULT_INSTRUCTION, lane, "tensor maps with interleaved layouts are not supported");
        break;
    case LIR_MAP_SWIZZLE:
        good = v <= LIR_TMAP_128B;
        m.swizzle = (uint8_t)v;
        break;
    case LIR_MAP_FILL: m.nan_fill = v & 1; break;
    default: good = v < sizeof atom && m.swizzle >= LIR_TMAP_128B; m.swizzle = good ? atom[v] : 0;
    }
    if (!good)
        t0_raise_text(w, i, T0_FAULT_INSTRUCTION, lane, "tensormap.replace: no such value of this field");
    memcpy(p, &m, sizeof m);
}

static void copy_map(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    const uint64_t to = t0_tile_address(w, x, 0, lane, false);
    const uint64_t from = t0_tile_address(w, x, 1, lane, x->p[0] & LIR_TILE_B32);
    const struct t0_part writes = {.address = to, .size = 128, .kind = T0_WRITES};
    if (to & 127)
        t0_misaligned(w, i, lane, &writes);
    look_at_map(w, i, lane, writes);
    memcpy((void *)(uintptr_t)to, t0_shared_at(w, i, lane, from, 128, 128), 128);
}

void *t0_scratch(struct t0_warp *w, const struct lir_insn *i)
{
    struct t0_worker *worker = w->block->worker;
    if (!worker->scratch) {
        if (!(worker->scratch = aligned_alloc(64, T0_SCRATCH)))
            t0_raise(w, i, T0_FAULT_NOMEM, (unsigned)__builtin_ctz(w->l.mask), 0);
        memset(worker->scratch, 0, T0_SCRATCH);
    }
    return worker->scratch;
}

static void tile(struct t0_warp *w, const struct lir_insn *i)
{
    const struct lir_tile *x = t0_tile_of(w, i);
    w->at = i;
    switch (x->kind) {
    case LIR_TILE_TENSOR:
        T0_FOR_LANES(l, w->l.mask)
        tensor(w, i, x, l);
        break;
    case LIR_TILE_MAP_REPLACE:
        T0_FOR_LANES(l, w->l.mask)
        replace(w, i, x, l);
        break;
    case LIR_TILE_MAP_COPY: copy_map(w, i, x, (unsigned)__builtin_ctz(w->l.mask)); break;
    case LIR_TILE_MULTIMEM: t0_multimem(w, i, x); break;
    default: t0_tmem(w, i, x);
    }
}

void t0_tensor_handlers(t0_handler *table[LIR_NOPS]) { table[LIR_TILE] = tile; }
