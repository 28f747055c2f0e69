/* The prelude: matrix products and fragments, exact on any machine: every thread of 32 gathers what the
 * others hold by shuffles and works out its own sums, in the order tier 0 has (of k). Tiles of a fragment
 * as ptx/lir/matrix.h says. A mubin for a part with matrix units would use them instead. */
namespace cm
{
CM_FN u32 mx_bits(u32 f)
{
    return f == CM_MX_F64                                        ? 64
           : f == CM_MX_TF32 || f == CM_MX_F32 || f == CM_MX_S32 ? 32
           : f == CM_MX_F16 || f == CM_MX_BF16                   ? 16
           : f == CM_MX_S4 || f == CM_MX_U4                      ? 4
           : f == CM_MX_B1                                       ? 1
                                                                 : 8;
}
/* Tiles go two by two along 16 rows: register r's rows 8 * row, and along the other dimension col. */
CM_FN u32 tile_row(u32 m, u32 across, u32 r) { return m == 8 ? 0 : r / (2 * across) * 2 + r % 2; }
CM_FN u32 tile_col(u32 m, u32 across, u32 r) { return m == 8 ? r : r % (2 * across) / 2; }
CM_FN u32 tile_at(u32 m, u32 across, u32 row, u32 col)
{
    return m == 8 ? col : row / 2 * 2 * across + col * 2 + row % 2;
}
/* Of 6 bits, sign at the top; least: the lowest number's size. */
CM_FN f32 mx_small(u32 v, u32 mantissa, f32 least)
{
    const u32 e = (v & 31) >> mantissa, m = v & ((1u << mantissa) - 1);
    f32 x = (f32)(e ? m | 1u << mantissa : m) * least;
    for (u32 k = 1; k < e; k++)
        x *= 2;
    return v & 32 ? -x : x;
}
CM_FN f32 mx_value(u32 f, u32 word, u32 k)
{
    switch (f) {
    case CM_MX_F16: return from_f16(word >> 16 * k & 0xffff);
    case CM_MX_BF16: return from_bf16(word >> 16 * k & 0xffff);
    case CM_MX_E4M3: return from_e4m3(word >> 8 * k & 0xff);
    case CM_MX_E5M2: return from_f16((word >> 8 * k & 0xff) << 8);
    case CM_MX_E2M3: return mx_small(word >> 8 * k & 63, 3, 0.125f);
    case CM_MX_E3M2: return mx_small(word >> 8 * k & 63, 2, 0.0625f);
    case CM_MX_E2M1: return mx_small((word >> (8 * k + 2) & 7) | (word >> (8 * k) & 32), 1, 0.5f);
    default: return as_f32(word & 0xffffe000u);
    }
}
CM_FN s32 mx_int(u32 f, u32 word, u32 k)
{
    switch (f) {
    case CM_MX_S8: return (s8)(word >> 8 * k);
    case CM_MX_U8: return (u8)(word >> 8 * k);
    case CM_MX_S4: return (s32)((word >> 4 * k & 15) ^ 8) - 8;
    default: return (s32)(word >> 4 * k & 15);
    }
}
/* A row of a fragment that has `height` rows: the words of k tiles, each in four lanes. */
CM_FN void gather_row(u32 *out, const u32 *reg, u32 height, u32 ktiles, u32 row, bool is_a)
{
    for (u32 t = 0; t < ktiles; t++)
        for (u32 q = 0; q < 4; q++) {
            /* lanes want different registers of the source lane: all are offered in turn */
            u32 lane = row % 8 * 4 + q, want = is_a ? tile_at(height, ktiles, row / 8, t) : row / 8 * ktiles + t, v = 0;
            for (u32 part = 0; part < height / 8; part++) {
                u32 r = is_a ? tile_at(height, ktiles, part, t) : part * ktiles + t;
                u32 got = shfl_idx(~0u, reg[r], lane);
                v = r == want ? got : v;
            }
            out[4 * t + q] = v;
        }
}
struct product {
    u32 m, n, k, fa, fb, fc, fd, flags, rnd;
};
/* Columns that a sparse A has, of one row: the e-th element's. */
CM_FN u32 sparse_column(u32 fa, u32 e, u32 row, u32 k, u32 flags, u32 meta)
{
    u32 n = mx_bits(fa), chunk = n == 32 ? 2 : n == 4 ? 8 : 4, words = k / chunk / 4;
    u32 first = flags >> CM_MX_SELECTOR & 3, per = n == 32 ? 1 : n == 4 ? 4 : 2, c = e / per, k0 = e % per;
    u32 at = n > 8 ? c / 4 : c / 8 * 2 + row / 8, shift = n > 8 ? row / 8 * 16 + c % 4 * 4 : c % 8 * 4;
    u32 code = shfl_idx(~0u, meta, row % 8 * 4 + ((first * words + at) & 3)) >> shift, low = code & 3,
        high = code >> 2 & 3;
    return n == 32 ? 2 * c + low / 2 : n == 4 ? 8 * c + 2 * (k0 < 2 ? low : high) + k0 % 2 : 4 * c + (k0 ? high : low);
}
/* One accumulator of this thread: pair r (of neighbours in a row), element h. */
enum { CM_MX_WORDS = 16 }; /* of a row: see mu_matrix */
CM_FN void sum_rows(product p, const u32 *a, const u32 *b, u32 r, u32 h, u32 meta, f32 *fs, s32 *is)
{
    u32 l = lane_id(), across = p.n / 8, row = tile_row(p.m, across, r) * 8 + l / 4;
    u32 col = tile_col(p.m, across, r) * 8 + l % 4 * 2 + h, per = 32 / mx_bits(p.fa);
    bool sparse = p.flags & CM_MX_SPARSE;
    u32 x[CM_MX_WORDS], y[CM_MX_WORDS], ka = sparse ? p.k / 2 : p.k;
    gather_row(x, a, p.m, ka / (4 * per), row, true);
    gather_row(y, b, p.n, p.k / (4 * per), col, false);
    if (p.fa == CM_MX_B1) {
        for (u32 k = 0; k < p.k / 32; k++)
            *is += (s32)POPC_B32(p.flags & CM_MX_AND ? x[k] & y[k] : x[k] ^ y[k]);
        return;
    }
    bool ints = p.fc == CM_MX_S32;
    for (u32 e = 0; e < ka; e++) {
        u32 k = e;
        if (sparse) /* lanes of one row ask the same lanes, but rows differ: each asks for itself */
            k = sparse_column(p.fa, e, row, p.k, p.flags, meta);
        if (ints)
            *is += mx_int(p.fa, x[e / per], e % per) * mx_int(p.fb, y[k / per], k % per);
        else
            *fs = fmaf(mx_value(p.fa, x[e / per], e % per), mx_value(p.fb, y[k / per], k % per), *fs);
    }
}
CM_FN f32 accumulator(product p, const u32 *c, u32 r, u32 h)
{
    return p.fc == CM_MX_F16 ? from_f16(c[r] >> 16 * h & 0xffff) : as_f32(c[2 * r + h]);
}
CM_CALLED void MMA(product p, u32 *d, const u32 *a, const u32 *b, const u32 *c, u32 meta)
{
    u32 pairs = p.m / 8 * (p.n / 8);
    for (u32 r = 0; r < pairs; r++)
        for (u32 h = 0; h < 2; h++) {
            f32 f = 0;
            s32 s = 0;
            if (p.fc == CM_MX_S32) {
                sum_rows(p, a, b, r, h, meta, &f, &s);
                s64 v = (s64)(s32)c[2 * r + h] + s;
                d[2 * r + h] = p.flags & CM_MX_LIMIT ? clamp_s32(v) : (u32)v;
                continue;
            }
            f = accumulator(p, c, r, h);
            sum_rows(p, a, b, r, h, meta, &f, &s);
            u32 u = out32(f, 0);
            if (p.fd == CM_MX_F16)
                d[r] = h ? (d[r] & 0xffff) | to_f16(as_f32(u)) << 16 : to_f16(as_f32(u));
            else
                d[2 * r + h] = u;
        }
}
CM_CALLED void MMA64(product p, u64 *d, const u64 *a, const u64 *b, const u64 *c)
{
    u32 pairs = p.m / 8 * (p.n / 8), l = lane_id(), across = p.n / 8, kt = p.k / 4;
    for (u32 r = 0; r < pairs; r++)
        for (u32 h = 0; h < 2; h++) {
            u32 row = tile_row(p.m, across, r) * 8 + l / 4, col = tile_col(p.m, across, r) * 8 + l % 4 * 2 + h;
            f64 s = as_f64(c[2 * r + h]);
            for (u32 k = 0; k < p.k; k++) {
                u64 x = 0, y = 0;
                for (u32 part = 0; part < p.m / 8; part++) {
                    u64 v = shfl_idx64(~0u, a[tile_at(p.m, kt, part, k / 4)], row % 8 * 4 + k % 4);
                    x = part == row / 8 ? v : x;
                }
                for (u32 part = 0; part < p.n / 8; part++) {
                    u64 v = shfl_idx64(~0u, b[part * kt + k / 4], col % 8 * 4 + k % 4);
                    y = part == col / 8 ? v : y;
                }
                s = CM_IS_DIRECTED(p.rnd) ? fma_directed(as_f64(x), as_f64(y), s, p.rnd) : fma(as_f64(x), as_f64(y), s);
            }
            d[2 * r + h] = bits(s);
        }
}
/* mma.m8n8k4.f16: four products, each of lanes 4q.. and 16+4q.. */
CM_FN u32 quad_at(u32 f, u32 s, u32 i)
{
    return f == CM_MX_F16 ? s * 8 + i : ((s & 1) + (i & 2) + (s & 4)) * 8 + (i & 4) + (s & 2) + (i & 1);
}
/* mma.m8n8k4 of f16, which each quad pair of lanes computes alone: eight lanes hold one product. The fragments are
 * gathered by shuffles, each lane sums all 64 elements, and keeps its eight. */
CM_CALLED void MMA_QUADS(product p, u32 *d, const u32 *a, const u32 *b, const u32 *c)
{
    u32 l = lane_id(), q = l / 4 % 4, own = (l & 3) + (l & 16 ? 4 : 0);
    f32 fa[32], fb[32], sum[64];
    for (u32 s = 0; s < 8; s++) {
        u32 lane = 4 * q + (s & 3) + (s & 4 ? 16 : 0), half = s & 4;
        for (u32 i = 0; i < 4; i++) {
            f32 u = from_f16(shfl_idx(~0u, a[i / 2], lane) >> 16 * (i % 2) & 0xffff);
            f32 v = from_f16(shfl_idx(~0u, b[i / 2], lane) >> 16 * (i % 2) & 0xffff);
            fa[p.flags & CM_MX_COL ? (half + i) * 4 + (s & 3) : s * 4 + i] = u;
            fb[p.flags & CM_MX_COL_B ? i * 8 + s : (s & 3) * 8 + half + i] = v;
        }
        for (u32 i = 0; i < 8; i++)
            sum[quad_at(p.fc, s, i)] = p.fc == CM_MX_F16
                                           ? from_f16(shfl_idx(~0u, c[i / 2], lane) >> 16 * (i % 2) & 0xffff)
                                           : as_f32(shfl_idx(~0u, c[i], lane));
    }
    for (u32 i = 0; i < 8; i++)
        for (u32 j = 0; j < 8; j++)
            for (u32 k = 0; k < 4; k++)
                sum[i * 8 + j] = sum[i * 8 + j] + fa[i * 4 + k] * fb[k * 8 + j];
    for (u32 i = 0; i < 8; i++) {
        u32 u = out32(sum[quad_at(p.fd, own, i)], 0);
        if (p.fd == CM_MX_F16)
            d[i / 2] = i % 2 ? (d[i / 2] & 0xffff) | to_f16(as_f32(u)) << 16 : to_f16(as_f32(u));
        else
            d[i] = u;
    }
}

/* ---- between memory and fragments ---- */
/* A (rows by k) or B (k by rows): register r of this lane; elements that follow one another along k. */
CM_FN u64 load_factor(u64 base, u64 stride, u32 rows, u32 k, u32 f, bool is_a, bool along_k, u32 r)
{
    u32 n = mx_bits(f), per = n > 32 ? 1 : 32 / n, kt = k / (4 * per), l = lane_id();
    u64 row = 8 * (is_a ? tile_row(rows, kt, r) : r / kt) + l / 4,
        at = (is_a ? tile_col(rows, kt, r) : r % kt) * 4 * per + l % 4 * per;
    if (along_k) {
        u64 a = base + (row * stride + at) * n / 8;
        return n == 64 ? load<8>(flat(a)) : load<4>(flat(a));
    }
    u64 v = 0;
    for (u32 e = 0; e < per; e++) {
        u64 a = base + ((at + e) * stride + row) * (n / 8);
        v |= (n == 64   ? load<8>(flat(a))
              : n == 32 ? load<4>(flat(a))
              : n == 16 ? load<2>(flat(a))
                        : load<1>(flat(a)))
             << e * (n & 63);
    }
    return v;
}
/* Address of the accumulator that this lane has in pair r, element h. */
CM_FN u64 sum_address(u64 base, u64 stride, u32 m, u32 n, u32 size, bool col, u32 r, u32 h)
{
    u32 l = lane_id();
    u64 row = tile_row(m, n / 8, r) * 8 + l / 4, column = tile_col(m, n / 8, r) * 8 + l % 4 * 2 + h;
    return base + (col ? column * stride + row : row * stride + column) * size;
}
CM_FN u32 MOVMATRIX(u32 v)
{
    u32 l = lane_id(), row = l % 4 * 2, col = l / 4;
    u32 low = shfl_idx(~0u, v, row * 4 + col / 2), high = shfl_idx(~0u, v, (row + 1) * 4 + col / 2);
    return (low >> 16 * (col % 2) & 0xffff) | (high >> 16 * (col % 2) & 0xffff) << 16;
}
/* Matrix q has its rows, of 16 bytes, where lanes 8q to 8q + 7 say. */
CM_FN u32 load_matrix(u64 a, u32 q, bool turned)
{
    u32 l = lane_id();
    u32 v = (u32)load<4>(flat(shfl_idx64(~0u, a, 8 * q + l / 4) + l % 4 * 4));
    return turned ? MOVMATRIX(v) : v;
}
CM_FN void store_matrix(u64 a, u32 q, bool turned, u32 v)
{
    u32 l = lane_id();
    v = turned ? MOVMATRIX(v) : v;
    store<4>(flat(shfl_idx64(~0u, a, 8 * q + l / 4) + l % 4 * 4), v);
}
} // namespace cm
