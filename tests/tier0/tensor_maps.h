/* Tensor maps for tests: random ones, and where each element of a box lies, in plain loops over elements. */
#ifndef CUMU_TESTS_TIER0_TENSOR_MAPS_H
#define CUMU_TESTS_TIER0_TENSOR_MAPS_H

#include "ptx/lir/tensor_map.h"
#include "xorshift.h"

static uint64_t seed = 88172645463325252u;
static uint32_t any(uint32_t n) { return (uint32_t)(xorshift(&seed) >> 20) % n; }

/* The same by chunks of a line of 128 bytes, as the ISA draws it. */
static uint32_t place(unsigned swizzle, uint32_t a)
{
    const uint32_t line = a / 128, chunk = a / 16 % 8, low = a % 16;
    switch (swizzle) {
    case LIR_TMAP_32B: return line * 128 + (chunk ^ (line & 1)) * 16 + low;
    case LIR_TMAP_64B: return line * 128 + (chunk ^ (line & 3)) * 16 + low;
    case LIR_TMAP_128B: return line * 128 + (chunk ^ (line & 7)) * 16 + low;
    case LIR_TMAP_128B_ATOM_32B: return line * 128 + ((chunk / 2 ^ (line & 3)) * 2 + chunk % 2) * 16 + low;
    case LIR_TMAP_128B_ATOM_64B: return line * 128 + ((chunk / 4 ^ (line & 1)) * 4 + chunk % 4) * 16 + low;
    default: return a;
    }
}

static void random_map(struct lir_tmap *m, unsigned rank, uint8_t *to)
{
    static const uint8_t types[] = {LIR_TMAP_U8, LIR_TMAP_U16, LIR_TMAP_F32, LIR_TMAP_U64, LIR_TMAP_BF16};
    static const uint8_t swizzles[] = {LIR_TMAP_PLAIN, LIR_TMAP_32B,           LIR_TMAP_64B,
                                       LIR_TMAP_128B,  LIR_TMAP_128B_ATOM_32B, LIR_TMAP_128B_ATOM_64B};
    memset(m, 0, sizeof *m);
    m->magic = LIR_TMAP_MAGIC;
    m->type = types[any(5)];
    m->rank = (uint8_t)rank;
    m->swizzle = swizzles[any(6)];
    m->nan_fill = m->type == LIR_TMAP_F32 && any(2);
    m->address = (uint64_t)(uintptr_t)to;
    const uint32_t size = lir_tmap_unit(m->type).global, span = lir_tmap_span(m->swizzle);
    const uint32_t units = 16 / size, lines = span ? span / 16 : 8;
    uint64_t stride = 0;
    for (unsigned d = 0; d < 5; d++) {
        m->dim[d] = d < rank ? (d ? 1 + any(6) : 1 + any(100)) : 1;
        m->estride[d] = d && any(3) == 0 ? 2 : 1;
        m->box[d] = d < rank ? (uint16_t)(d ? 1 + any(d > 2 ? 2 : 5) : units * (1 + any(lines))) : 1;
        if (d + 1 < rank) {
            stride = d ? stride * m->dim[d] : ((uint64_t)m->dim[0] * size + 15 + 16 * any(2)) / 16 * 16;
            m->stride[d] = stride;
        }
    }
    if (m->box[0] > 256)
        m->box[0] = 256;
}

/* Elements that lie together and their bytes in global and in shared memory, by the ISA's figures 5 to 7. */
struct unit {
    uint32_t elements, global, shared;
};
static struct unit unit_of(unsigned type)
{
    return type == LIR_TMAP_U4X16       ? (struct unit){16, 8, 8}
           : type == LIR_TMAP_U4X16_P64 ? (struct unit){16, 8, 16}
           : type == LIR_TMAP_U6X16_P32 ? (struct unit){16, 12, 16}
                                        : (struct unit){1, lir_tmap_unit(type).global, lir_tmap_unit(type).global};
}

static __attribute__((unused)) uint32_t lines_of(const struct lir_tmap *m)
{
    uint32_t n = 1;
    for (unsigned d = 1; d < m->rank; d++)
        n *= (m->box[d] + m->estride[d] - 1u) / m->estride[d];
    return n;
}

/* Calls with every element of the box: where it lies in shared memory, where the box begins at `from`, and in global
 * memory (NULL: out of bounds). */
static uint32_t walk(const struct lir_tmap *m, const int32_t *at, uint8_t *elements, uint32_t from,
                     void (*visit)(const struct lir_tmap *m, uint32_t shared, uint8_t *p, uint32_t size))
{
    const struct unit u = unit_of(m->type);
    const uint32_t span = lir_tmap_span(m->swizzle);
    uint32_t n[5], pitch = m->box[0] / u.elements * u.shared, line = 0, told = 0;
    pitch = pitch < span ? span : pitch;
    for (unsigned d = 0; d < 5; d++)
        n[d] = d ? (m->box[d] + m->estride[d] - 1u) / m->estride[d] : m->box[0] / u.elements;
    for (uint32_t k4 = 0; k4 < n[4]; k4++)
        for (uint32_t k3 = 0; k3 < n[3]; k3++)
            for (uint32_t k2 = 0; k2 < n[2]; k2++)
                for (uint32_t k1 = 0; k1 < n[1]; k1++, line++)
                    for (uint32_t k0 = 0; k0 < n[0]; k0++) {
                        const uint32_t k[5] = {k0, k1, k2, k3, k4};
                        uint64_t p = (uintptr_t)elements;
                        bool inside = true;
                        for (unsigned d = 0; d < m->rank; d++) {
                            const int64_t c = at[d] + (int64_t)k[d] * (d ? m->estride[d] : u.elements);
                            inside &= c >= 0 && (c < (int64_t)m->dim[d] || !m->dim[d]);
                            p += d ? (uint64_t)c * m->stride[d - 1] : (uint64_t)(c / (int64_t)u.elements * u.global);
                        }
                        visit(m, place(m->swizzle, from + line * pitch + k0 * u.shared),
                              inside ? (uint8_t *)(uintptr_t)p : NULL, u.global);
                        told += u.global;
                    }
    return told;
}

#endif
