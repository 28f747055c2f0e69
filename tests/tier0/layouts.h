/* Matrices in shared memory as descriptors of wgmma and tcgen05 have them, drawn: CuTe's canonical layouts as tables of
 * shapes and strides, strides and starts of any size, so that no two chunks of 16 bytes lie in one place. After a
 * test's own any(n), a number below n. */
#ifndef CUMU_TESTS_TIER0_LAYOUTS_H
#define CUMU_TESTS_TIER0_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LAYOUT_BYTES = 40960 };
enum layout_swizzle { LAYOUT_PLAIN, LAYOUT_128B, LAYOUT_64B, LAYOUT_32B, LAYOUT_128B_BASE_32B };

struct layout { /* of one factor; bytes, chunks of 16 of `per` elements */
    uint32_t start, lead, stride, base;
    enum layout_swizzle swizzle;
    bool across; /* elements of a chunk lie along m or n */
    bool turns;  /* lines of 128 bytes that end go on at `lead` */
    unsigned per;
};

/* CuTe's Swizzle<bits, base, shift>, and the chunks of a line. */
static const struct {
    uint8_t bits, base, shift, line;
} layout_swizzles[] = {{0, 4, 3, 1}, {3, 4, 3, 8}, {2, 4, 3, 4}, {1, 4, 3, 2}, {2, 5, 2, 8}};

/* An offset by a mode's shapes and strides: the digits of x, the last one takes what is left. */
static uint32_t layout_mode(unsigned x, const unsigned shape[2], const uint32_t stride[3])
{
    return x % shape[0] * stride[0] + x / shape[0] % shape[1] * stride[1] + x / shape[0] / shape[1] * stride[2];
}

/* The chunk of element (row, k), and which element of it. mma_traits_sm90_gmma.hpp and mma_sm100_desc.hpp, in chunks:
 * along k    none ((8,m),(1,k)):((1,SBO),(1,LBO)), else ((8,m),(w,k)):((w,SBO),(1,LBO));
 * across it  none ((1,m),(8,k)):((1,SBO),(1,LBO)), else ((w,m),(8,k)):((1,LBO),(w,SBO)), with the 32-byte base 4 k. */
static uint32_t layout_chunk(const struct layout *y, unsigned row, unsigned k, unsigned *element)
{
    const unsigned w = layout_swizzles[y->swizzle].line, per = y->per;
    const unsigned deep = y->swizzle == LAYOUT_128B_BASE_32B ? 4 : 8;
    uint32_t a;
    if (y->across) {
        const bool plain = y->swizzle == LAYOUT_PLAIN;
        a = layout_mode(row / per, (unsigned[2]){w, 1u << 20}, (uint32_t[3]){16, plain ? y->stride : y->lead, 0}) +
            layout_mode(k, (unsigned[2]){deep, 1u << 20}, (uint32_t[3]){16 * w, plain ? y->lead : y->stride, 0});
        *element = row % per;
    } else {
        a = layout_mode(row, (unsigned[2]){8, 1u << 20}, (uint32_t[3]){16 * w, y->stride, 0}) +
            layout_mode(k / per, (unsigned[2]){w, 1u << 20}, (uint32_t[3]){16, y->lead, 0});
        *element = k % per;
        const unsigned along = y->start / 16 % 8 + k / per;
        if (y->turns && along >= 8)
            a += 16 * (along - 8) - 16 * (k / per) + y->lead - y->start;
    }
    a += y->start - y->base;
    const unsigned mask = (1u << layout_swizzles[y->swizzle].bits) - 1, low = layout_swizzles[y->swizzle].base;
    a ^= (a >> (low + layout_swizzles[y->swizzle].shift) & mask) << low;
    return a + y->base;
}

/* Takes the chunks of a matrix of whole chunks; false: they leave the space or lie where another does. */
static bool layout_take(const struct layout *y, unsigned rows, unsigned ks, uint8_t used[LAYOUT_BYTES / 16])
{
    static uint8_t now[LAYOUT_BYTES / 16];
    unsigned e;
    memcpy(now, used, sizeof now);
    for (unsigned r = 0; r < rows; r += y->across ? y->per : 1)
        for (unsigned k = 0; k < ks; k += y->across ? 1 : y->per) {
            const uint32_t at = layout_chunk(y, r, k, &e);
            if (at + 16 > LAYOUT_BYTES || now[at / 16]++)
                return false;
        }
    memcpy(used, now, sizeof now);
    return true;
}

/* A layout of rows by ks elements: one behind the other, or with gaps, or within another's lines. False: there seems to
 * be no place left for it. */
static bool layout_draw(struct layout *to, unsigned per, unsigned rows, unsigned ks, enum layout_swizzle swizzle,
                        bool across, uint8_t used[LAYOUT_BYTES / 16])
{
    const unsigned w = layout_swizzles[swizzle].line, deep = swizzle == LAYOUT_128B_BASE_32B ? 4 : 8;
    const unsigned by_row = across ? (rows + per * w - 1) / (per * w) : (rows + 7) / 8; /* lines of chunks, or eights */
    const unsigned by_k = across ? (ks + deep - 1) / deep : (ks + per * w - 1) / (per * w);
    const bool lead_is_k = !across || swizzle == LAYOUT_PLAIN;
    for (unsigned try = 0; try < 64; try++) {
        struct layout y = {.swizzle = swizzle, .across = across, .per = per};
        const uint32_t atom = 16 * w * (across ? deep : 8);
        uint32_t k_step, row_step, gap = try % 2 ? 16 * any(9) : 0;
        if (any(2))
            k_step = atom + gap, row_step = by_k * k_step + (gap ? 16 * any(9) : 0);
        else
            row_step = atom + gap, k_step = by_row * row_step + (gap ? 16 * any(9) : 0);
        y.lead = lead_is_k ? k_step : row_step;
        y.stride = lead_is_k ? row_step : k_step;
        if (lead_is_k && by_k == 1) /* not looked at */
            y.lead = 16 * any(1024);
        y.start = any(LAYOUT_BYTES / 1024) * 1024;
        if (!across && w > 2) /* as programs go along k within a line */
            y.start += 32 * any(w * 16 > ks / per * 16 ? (w * 16 - ks / per * 16) / 32 + 1 : 1);
        if (any(4) == 0)
            y.start += swizzle == LAYOUT_PLAIN ? 16 * any(64) : 128 * (any(8));
        if (swizzle != LAYOUT_PLAIN && swizzle != LAYOUT_128B_BASE_32B && any(2))
            y.base = y.start / 128 % (layout_swizzles[swizzle].line) * 128;
        if (layout_take(&y, rows, ks, used)) {
            *to = y;
            return true;
        }
    }
    return false;
}

/* Rows of three chunks in lines of 128 bytes, from any chunk on: what is left of them begins other lines. */
static __attribute__((unused)) bool layout_draw_turning(struct layout *to, unsigned per, unsigned rows,
                                                        uint8_t used[LAYOUT_BYTES / 16])
{
    for (unsigned try = 0; try < 64; try++) {
        struct layout y = {.swizzle = LAYOUT_128B, .per = per, .turns = true, .stride = 1024};
        y.start = 1024 * any(LAYOUT_BYTES / 1024) + 16 * any(8);
        y.lead = 1024 * any(LAYOUT_BYTES / 1024);
        if (layout_take(&y, rows, 3 * per, used)) {
            *to = y;
            return true;
        }
    }
    return false;
}

static uint64_t layout_descriptor(const struct layout *y, bool blackwell)
{
    static const uint8_t hopper[] = {0, 1, 2, 3}, later[] = {0, 2, 4, 6, 1};
    return (uint64_t)(y->start >> 4) | (uint64_t)(y->lead >> 4 & 0x3fff) << 16 | (uint64_t)(y->stride >> 4) << 32 |
           (uint64_t)(y->base >> 7) << 49 | (uint64_t)y->turns << 52 |
           (blackwell ? 1ull << 46 | (uint64_t)later[y->swizzle] << 61 : (uint64_t)hopper[y->swizzle & 3] << 62);
}

#endif
