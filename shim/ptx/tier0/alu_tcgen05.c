/* tcgen05.mma: products of a block, or of a pair of blocks, whose sums lie in tensor memory. */
#include "ptx/tier0/alu_tile.h"
#include "ptx/tier0/tools.h"

struct job {
    struct t0_warp *w;
    const struct lir_insn *i;
    const struct lir_tile *x;
    unsigned lane, m, n, k; /* m: rows of one block */
    unsigned ka;            /* columns of A that are stored: half of a sparse one's */
    unsigned blocks;        /* scale factors of a row */
    unsigned fa, fb;        /* TILE_PAIRS_* where integers are multiplied so */
    enum step step;
    u32 desc; /* the instruction descriptor */
    bool pair, sparse, ws;
    bool wide; /* three chunks of 16 bytes along k: sm_103 */
    u64 zero;  /* .ws: the zero-column mask descriptor */
};

static u32 word_of(const struct job *j, unsigned row) { return t0_tile_u32(j->w, j->x, row, j->lane); }

/* Formats by kind, from the instruction descriptor's bits. */
static unsigned format_of(const struct job *j, unsigned code)
{
    static const uint8_t small[8] = {LIR_TILE_E4M3, LIR_TILE_E5M2, 255, LIR_TILE_E2M3,
                                     LIR_TILE_E3M2, LIR_TILE_E2M1, 255, 255};
    unsigned f = 255;
    switch (j->x->p[1]) {
    case LIR_TC_F16: f = code == 0 ? LIR_TILE_F16 : code == 1 ? LIR_TILE_BF16 : 255; break;
    case LIR_TC_TF32: f = code == 2 ? LIR_TILE_TF32 : 255; break;
    case LIR_TC_I8: f = code == 0 ? LIR_TILE_U8 : code == 1 ? LIR_TILE_S8 : 255; break;
    case LIR_TC_F8F6F4:
    case LIR_TC_MXF8F6F4: f = small[code]; break;
    default: f = code == 1 || code == 5 ? LIR_TILE_E2M1_PACKED : 255;
    }
    if (f == 255)
        refuse(j->w, j->i, "instruction descriptor: no such element type of this kind");
    return f;
}

/* Types that may lie along m or n, too. */
static bool has_majors(unsigned format)
{
    return lir_tile_bits(format) >= 8 && format != LIR_TILE_E2M3 && format != LIR_TILE_E3M2 && format != LIR_TILE_E2M1;
}

static void read_descriptor(struct job *j)
{
    const u32 d = j->desc;
    const unsigned m = (d >> 24 & 31) * 16, n = (d >> 17 & 63) * 8, sums = d >> 4 & 3;
    const bool scaled = j->x->p[0] & LIR_TC_SCALED, whole = j->x->p[1] == LIR_TC_I8;
    const bool rows = scaled    ? m == 128 || (j->pair && m == 256)
                      : j->pair ? m == 128 || m == 256
                                : m == 64 || m == 128 || (j->ws && m == 32);
    const bool columns = j->ws ? n == 64 || n == 128 || n == 256 : n && n <= 256;
    if (j->sparse != (d >> 2 & 1))
        refuse(j->w, j->i, "instruction descriptor: sparse, and the instruction is not, or the other way round");
    /* The ISA's tables have steps of 16 columns for 128 rows; CUTLASS's example 93 asks one block for 8. */
    if (!rows || !columns || (j->pair && n % 16))
        refuse(j->w, j->i, "instruction descriptor: no such shape");
    if (!scaled && (whole ? sums != 2 : sums > 1))
        refuse(j->w, j->i, "instruction descriptor: no such type of sums");
    /* CuTe has B's scales of such pairs in two halves of the lanes, and makes no such product of 8 bits. */
    if (scaled && j->pair && m == 128)
        refuse(j->w, j->i, "block scales of pairs with 64 rows of a block are not supported");
    j->m = j->pair ? m / 2 : m;
    /* CuTe's fragments of metadata (mma_traits_sm100_frag.hpp) are of 128 lanes; of fewer only those of .ws */
    if (j->sparse && !j->ws && j->m != 128)
        refuse(j->w, j->i, "sparse products of 64 rows of a block are not supported");
    if (j->ws && j->m != 128 && j->x->p[0] & LIR_TC_A_TENSOR)
        refuse(j->w, j->i, "tcgen05.mma.ws of fewer than 128 rows of A in tensor memory is not supported");
    j->n = n;
    j->fa = format_of(j, d >> 7 & 7);
    j->fb = format_of(j, d >> 10 & 7);
    j->wide = scaled && d >> 31;
    j->ka = (j->wide ? 3 : 2) * lir_tile_per_chunk(j->fa);
    j->k = j->ka << j->sparse;
    j->blocks = j->wide ? j->x->p[2] / 2 * 3 : j->x->p[2];
    if (j->x->p[0] & LIR_TC_A_TENSOR && (j->fa == LIR_TILE_E2M3 || j->fa == LIR_TILE_E3M2))
        refuse(j->w, j->i, "elements of 6 bits of an A in tensor memory are not supported");
    if (lir_tile_per_chunk(j->fb) != lir_tile_per_chunk(j->fa))
        refuse(j->w, j->i, "instruction descriptor: types of two widths");
    if ((d >> 15 & 1 && !has_majors(j->fa)) || (d >> 16 & 1 && !has_majors(j->fb)))
        refuse(j->w, j->i, "instruction descriptor: elements of 6 or 4 bits lie along k");
    if (j->wide && (j->fa != LIR_TILE_E2M1_PACKED || j->sparse || j->x->p[0] & LIR_TC_A_TENSOR))
        refuse(j->w, j->i, "instruction descriptor: 96 along k are of 4 bits, dense and in shared memory");
    if (scaled && !(d >> 23 & 1) && j->x->p[1] != LIR_TC_MXF4NVF4)
        refuse(j->w, j->i, "instruction descriptor: scales of this kind are ue8m0");
}

/* Matrices in shared memory are of lines that end after the last chunk, or go on at another address. */
static struct matrix open_factor(const struct job *j, unsigned row)
{
    struct matrix m = open_matrix(j->w, j->i, t0_tile_u64(j->w, j->x, row, j->lane), true);
    if (m.absolute && (!j->wide || m.span != 128))
        refuse(j->w, j->i,
               "matrix descriptor: an absolute leading dimension goes with 96 along k and lines of 128 bytes");
    if (j->wide && !m.absolute && m.start % m.span && m.start % m.span + 48 > m.span)
        refuse(j->w, j->i, "matrix descriptor: rows of 48 bytes pass the end of their lines");
    m.lane = j->lane;
    return m;
}

/* The lane of tensor memory that holds a row of A or of the sums, and the column of the latter. */
static unsigned lane_of(const struct job *j, unsigned row, unsigned *column)
{
    if (j->m == 128)
        return row;
    if (j->pair || j->ws) { /* groups of columns lie below each other */
        const unsigned each = j->n * j->m / 128, group = column ? *column / each : 0;
        if (column)
            *column -= group * each;
        return row + group * j->m;
    }
    return row / 16 * 32 + row % 16;
}

/* So many columns of a lane, from this one on. */
static u32 *cells(const struct job *j, struct t0_tensor *t, u32 address, unsigned lane, unsigned column, unsigned count)
{
    lane += address >> 16;
    column += address & 0xffff;
    if (lane >= T0_TENSOR_LANES || column + count > T0_TENSOR_COLUMNS)
        t0_raise_text(j->w, j->i, T0_FAULT_ADDRESS, j->lane, "address outside tensor memory");
    return &t->cell[lane][column];
}
static u32 cell(const struct job *j, struct t0_tensor *t, u32 address, unsigned lane, unsigned column)
{
    return *cells(j, t, address, lane, column, 1);
}

/* Four bits of metadata of a chunk of a row: 32 bits a row of the chunks of 16 and 32 bits (CuTe's tmem_e_frg: eight
 * lanes hold two rows' first half, the next eight the second), 64 bits of smaller ones, in the row's own lane. */
static unsigned metadata(const struct job *j, struct t0_tensor *t, unsigned row, unsigned chunk)
{
    const u32 address = word_of(j, LIR_TC_META);
    if (lir_tile_bits(j->fa) <= 8)
        return cell(j, t, address, row, chunk / 8) >> chunk % 8 * 4 & 15;
    return cell(j, t, address, row / 16 * 16 + row % 8 + chunk / 4 * 8, j->desc & 3) >>
               (row / 8 % 2 * 16 + chunk % 4 * 4) &
           15;
}

/* Columns of the elements that the rows of a sparse A have. */
static void find_columns(const struct job *j, struct t0_tensor *t, uint8_t *column)
{
    const unsigned bits = lir_tile_bits(j->fa), chunks = j->k / (bits == 32 ? 2 : bits == 4 ? 8 : 4);
    if ((j->desc & 3) > (bits > 8 ? 1 : 0))
        refuse(j->w, j->i, "instruction descriptor: no such sparsity selector");
    for (unsigned r = 0; r < j->m; r++)
        for (unsigned c = 0; c < chunks; c++)
            column += lir_mx_kept(bits, c, metadata(j, t, r, c), column);
}

/* Elements of 4 bits have a byte each in tensor memory, of which they are bits 2 to 5, as in the registers of mma: by
 * Triton's test of it on devices (test_tcgen05_mma_scaled_lhs_tmem). The ISA has that in figures only. */
static void widen_padded(f32 *out, const u32 *cells_of, unsigned n)
{
    uint8_t v[64];
    memcpy(v, cells_of, n);
    for (unsigned e = 0; e < n; e++)
        v[e] = v[e] >> 2 & 15;
    widen_bytes(LIR_TILE_E2M1, out, v, n);
}

/* A of one block: from its shared memory or its tensor memory. */
static void read_a(const struct job *j, struct scratch *s, unsigned rank, struct t0_tensor *t)
{
    if (!(j->x->p[0] & LIR_TC_A_TENSOR)) {
        struct matrix m = open_factor(j, LIR_TC_A);
        m.window = t0_tile_window(j->w, rank);
        tell_rows(&m, j->m, j->ka, j->fa, j->desc >> 15 & 1);
        gather_rows(&m, s->raw, j->m, j->ka, j->fa, j->desc >> 15 & 1);
        widen_left(s->a, s->raw, j->m, j->ka, j->fa, j->desc >> 15 & 1);
        return;
    }
    const u32 address = word_of(j, LIR_TC_A);
    const unsigned chunks = j->ka / per_chunk(j->fa);
    for (unsigned r = 0; r < j->m; r++) {
        const u32 *from = cells(j, t, address, lane_of(j, r, NULL), 0, 4 * chunks);
        if (j->fa == LIR_TILE_E2M1)
            widen_padded(s->a + r * j->ka, from, j->ka);
        else
            widen_chunks(j->fa, s->a + r * j->ka, (const uint8_t *)from, chunks);
    }
}

static unsigned shift_of(const struct job *j) { return j->zero >> 56 & 63; }

/* Columns of B that count as zeros: spans of them and of used ones, in turns, in each part of the columns that has
 * lanes of its own. By the examples of the ISA, whose table has the lengths of both the other way round. */
static bool is_zeroed(const struct job *j, unsigned part, unsigned column)
{
    const unsigned zeros = (j->zero >> 40 & 255) + 1, used = (j->zero >> 48 & 255) + 1;
    const bool first = j->zero >> (32 + part) & 1;
    const unsigned skip = j->zero >> 8 * part & 255, at = (column + skip) % (zeros + used);
    if (skip >= (first ? zeros : used))
        refuse(j->w, j->i, "zero-column mask: a start behind the first span is not supported");
    return first ? at < zeros : at >= used;
}

static void check_mask(const struct job *j)
{
    static const uint8_t most[] = {0, 8, 16, 32};
    if (j->zero & 0xc000007000000000u)
        refuse(j->w, j->i, "zero-column mask: reserved bits");
    if (shift_of(j) > most[j->desc >> 30] || (j->m == 32 && shift_of(j) > 16))
        refuse(j->w, j->i, "zero-column mask: columns are shifted by more than the instruction descriptor has");
}

/* B, of which each block of a pair has half of the columns. What a mask shifts is read from a later column on. */
static void read_b(const struct job *j, struct scratch *s, unsigned even)
{
    const unsigned parts = j->pair ? 2 : 1, n = j->n / parts, shift = shift_of(j), more = (shift + 15) & ~15u;
    const bool across = j->desc >> 16 & 1;
    struct matrix m = open_factor(j, LIR_TC_B);
    for (unsigned p = 0; p < parts; p++) {
        m.window = t0_tile_window(j->w, even + p);
        tell_rows(&m, n + (across ? more : shift), j->k, j->fb, across);
        gather_rows(&m, s->right, n + (across ? more : shift), j->k, j->fb, across);
        widen_right(s->b + p * n, s->right, n + (across ? more : shift), j->k, j->n + more, j->fb, across);
    }
    for (unsigned k = 0; shift && k < j->k; k++)
        memmove(s->b + k * j->n, s->b + k * (j->n + more) + shift, j->n * sizeof *s->b);
    const unsigned each = j->n * j->m / 128;
    for (unsigned c = 0; j->zero >> 39 & 1 && c < j->n; c++)
        for (unsigned k = 0; is_zeroed(j, c / each, c % each) && k < j->k; k++)
            s->b[k * j->n + c] = 0;
}

/* Four of a row's scales lie in a word, the next four as many columns further as there are groups of 32 rows, which are
 * of whole 128 (CuTe's tmem_sf_frg). */
static f32 scale_of(const struct job *j, struct t0_tensor *t, u32 address, unsigned row, unsigned rows, unsigned at)
{
    const u32 v = cell(j, t, address, row % 32, row / 32 + at / 4 * (rows > 128 ? 8 : 4)) >> 8 * (at & 3) & 255;
    if (j->desc >> 23 & 1)
        return v == 255 ? NAN : f32_from(v ? v << 23 : 1u << 22); /* 2^(v - 127) */
    return e4m3_to_f32(v & 0x7f);
}

/* Scales of the rows of A, behind them those of B's columns; whether a scaled element may be too large for f32. */
static bool read_scales(const struct job *j, f32 *out, struct t0_tensor *t)
{
    const unsigned ida = j->desc >> 29 & 3, idb = j->desc >> 4 & 3;
    const u32 a = word_of(j, LIR_TC_SCALE_A) & 0x3fffffff, b = word_of(j, LIR_TC_SCALE_B) & 0x3fffffff;
    bool far = false;
    for (unsigned x = 0; x < (j->m + j->n) * j->blocks; x++) {
        const unsigned q = x % j->blocks, r = x / j->blocks;
        out[x] = r < j->m ? scale_of(j, t, a, r, j->m, ida + q) : scale_of(j, t, b, r - j->m, j->n, idb + q);
        far |= out[x] > 0x1p111f;
    }
    return far;
}

static void scale(const struct job *j, f32 *a, f32 *b, const f32 *of)
{
    const unsigned per = j->k / j->blocks;
    for (unsigned r = 0; r < j->m; r++)
        for (unsigned k = 0; k < j->k; k++)
            a[r * j->k + k] *= of[r * j->blocks + k / per];
    of += j->m * j->blocks;
    for (unsigned k = 0; k < j->k; k++)
        for (unsigned c = 0; c < j->n; c++)
            b[k * j->n + c] *= of[c * j->blocks + k / per];
}

/* The same sums as multiply(), one element after the other: of a sparse A what it has, and with scales that are not
 * applied yet, as one of them alone may be too large. */
static void multiply_each(const struct job *j, struct scratch *s, const f32 *of)
{
    const unsigned stored = j->sparse ? j->k / 2 : j->k, per = of ? j->k / j->blocks : j->k;
    for (unsigned r = 0; r < j->m; r++)
        for (unsigned e = 0; e < stored; e++) {
            const unsigned kk = j->sparse ? s->raw[r * stored + e] & 127 : e, q = kk / per;
            const f64 a = (f64)s->a[r * j->k + kk] * (of ? (f64)of[r * j->blocks + q] : 1);
            for (unsigned c = 0; c < j->n; c++) {
                const f64 b = (f64)s->b[kk * j->n + c] * (of ? (f64)of[(j->m + c) * j->blocks + q] : 1);
                s->sum[r * j->n + c] += (f32)(a * b);
            }
        }
}

static bool disabled(const struct job *j, unsigned rank, unsigned lane)
{
    if (!(j->x->p[0] & LIR_TC_MASK))
        return false;
    return word_of(j, LIR_TC_MASKS + (j->pair ? 4 * (rank & 1) : 0) + lane / 32) >> lane % 32 & 1;
}

/* Bytes as pairs along k, if that is how they lie. */
static void choose_step(struct job *j)
{
    const bool tensor = j->x->p[0] & LIR_TC_A_TENSOR;
    if (j->x->p[1] == LIR_TC_I8 && !j->sparse && (tensor || !(j->desc >> 15 & 1)) && !(j->desc >> 16 & 1)) {
        j->fa = j->fa == LIR_TILE_S8 ? TILE_PAIRS_S8 : TILE_PAIRS_U8;
        j->fb = j->fb == LIR_TILE_S8 ? TILE_PAIRS_S8 : TILE_PAIRS_U8;
        j->ka /= 2;
        j->k /= 2;
    }
    j->step = step_of(j->fa);
}

/* Where tools look at the launch. */
static void tell(const struct job *j, unsigned rank, u32 address, unsigned lane, unsigned column, unsigned columns,
                 enum t0_access_kind kind)
{
    t0_tools_tensor(j->w, j->i, j->lane,
                    &(struct t0_tensor_part){.rank = rank,
                                             .lane = lane + (address >> 16),
                                             .column = column + (address & 0xffff),
                                             .columns = columns,
                                             .kind = kind,
                                             .async = T0_MULTIPLYING});
}

static void tell_scales(const struct job *j, unsigned rank, unsigned row, unsigned rows, unsigned first)
{
    const u32 address = word_of(j, row) & 0x3fffffff;
    for (unsigned r = 0; r < rows; r += 16)
        for (unsigned at = first / 4; at <= (first + j->blocks - 1) / 4; at++)
            tell(j, rank, address, r % 32, r / 32 + at * (rows > 128 ? 8 : 4), 1, T0_READS);
}

/* What a product reads and writes of a block's tensor memory, by sixteen rows. */
static void tell_tensor(const struct job *j, unsigned rank)
{
    const u32 d = word_of(j, LIR_TC_D);
    const unsigned chunks = j->ka / per_chunk(j->fa), bits = lir_tile_bits(j->fa);
    const unsigned each = j->m != 128 && (j->pair || j->ws) ? j->n * j->m / 128 : j->n;
    for (unsigned r = 0; r < j->m; r += 16) {
        if (j->x->p[0] & LIR_TC_A_TENSOR)
            tell(j, rank, word_of(j, LIR_TC_A), lane_of(j, r, NULL), 0, 4 * chunks, T0_READS);
        if (j->sparse && bits <= 8)
            tell(j, rank, word_of(j, LIR_TC_META), r, 0, (j->k / (bits == 4 ? 8 : 4) + 7) / 8, T0_READS);
        else if (j->sparse)
            tell(j, rank, word_of(j, LIR_TC_META), r, j->desc & 3, 1, T0_READS);
        for (unsigned c = 0; c < j->n; c += each) {
            unsigned column = c, lane = lane_of(j, r, &column);
            bool writes = false;
            for (unsigned k = 0; k < 16 && !writes; k++)
                writes = !disabled(j, rank, lane + k);
            if (writes)
                tell(j, rank, d, lane, column, each, T0_WRITES);
        }
    }
    if (j->x->p[0] & LIR_TC_SCALED) {
        tell_scales(j, rank, LIR_TC_SCALE_A, j->m, j->desc >> 29 & 3);
        tell_scales(j, rank, LIR_TC_SCALE_B, j->n, j->desc >> 4 & 3);
    }
}

/* The rows of one block. */
static void rows_of(const struct job *j, struct scratch *s, unsigned rank, bool add)
{
    struct t0_tensor *t = t0_tensor_of(j->w, rank);
    const u32 d = word_of(j, LIR_TC_D), sums = j->desc >> 4 & 3;
    const bool scaled = j->x->p[0] & LIR_TC_SCALED, whole = j->x->p[1] == LIR_TC_I8, half = !scaled && !whole && !sums;
    const bool saturate = j->desc >> 3 & 1, in_place = whole && j->step == STEP_PAIRS && !saturate;
    const f32 down = ldexpf(1, -(int)j->x->p[3]);
    read_a(j, s, rank, t);
    if (j->sparse) {
        find_columns(j, t, s->raw);
        spread(s->a, s->raw, j->m, j->k);
    }
    if (!whole && j->desc >> 13 & 1)
        negate(s->a, j->m * j->k);
    f32 *const of = scaled ? s->quads : NULL; /* which only wgmma needs */
    const bool far = scaled && read_scales(j, of, t), by_element = far || (j->sparse && has_special(s->b, j->n * j->k));
    if (scaled && !by_element)
        scale(j, s->a, s->b, of);
    if (!half && (!whole || in_place) && !by_element && j->m == 128 && !(j->x->p[0] & LIR_TC_MASK)) {
        f32 *const to = (f32 *)cells(j, t, d, 0, 0, j->n);
        cells(j, t, d, 127, 0, j->n);
        for (unsigned r = 0; r < 128 && (!add || down != 1); r++)
            for (unsigned c = 0; c < j->n; c++)
                to[r * T0_TENSOR_COLUMNS + c] = add ? down * to[r * T0_TENSOR_COLUMNS + c] : 0;
        multiply(scaled ? STEP_FLOAT : j->step, to, T0_TENSOR_COLUMNS, s->a, s->b, 128, j->n, j->k);
        return;
    }
    const unsigned each = j->m != 128 && (j->pair || j->ws) ? j->n * j->m / 128 : j->n; /* columns of one lane */
    for (unsigned r = 0; r < j->m; r++)
        for (unsigned c = 0; c < j->n; c += each) {
            unsigned column = c, lane = lane_of(j, r, &column);
            const u32 *from = cells(j, t, d, lane, column, each);
            f32 *to = s->sum + r * j->n + c;
            if (!add || (whole && !in_place))
                memset(to, 0, each * sizeof *to);
            else if (in_place)
                memcpy(to, from, each * sizeof *to);
            for (unsigned e = 0; add && !whole && e < each; e++)
                to[e] = down * (half ? f16_to_f32(from[e] & 0xffff) : f32_from(from[e]));
        }
    if (by_element)
        multiply_each(j, s, of);
    else
        multiply(scaled ? STEP_FLOAT : j->step, s->sum, j->n, s->a, s->b, j->m, j->n, j->k);
    for (unsigned r = 0; r < j->m; r++)
        for (unsigned c = 0; c < j->n; c += each) {
            unsigned column = c, lane = lane_of(j, r, &column);
            u32 *to = cells(j, t, d, lane, column, each);
            const f32 *from = s->sum + r * j->n + c;
            if (disabled(j, rank, lane))
                continue;
            if (in_place)
                memcpy(to, from, each * sizeof *to);
            for (unsigned e = 0; !in_place && e < each; e++)
                to[e] = whole  ? whole_sum(from[e], j->step == STEP_PAIRS, add ? (s32)to[e] : 0, saturate)
                        : half ? f32_to_f16(from[e])
                               : f32_bits(f32_canon(from[e]));
        }
}

static void product(struct t0_warp *w, const struct lir_insn *i, const struct lir_tile *x, unsigned lane)
{
    const unsigned own = t0_tile_own_rank(w);
    struct job j = {.w = w,
                    .i = i,
                    .x = x,
                    .lane = lane,
                    .pair = x->p[0] & LIR_TC_PAIR,
                    .sparse = x->p[0] & LIR_TC_SPARSE,
                    .ws = x->p[0] & LIR_TC_WS};
    struct scratch *s = t0_scratch(w, i);
    const unsigned even = j.pair ? own & ~1u : own;
    const bool add = T0_PRED(w, t0_tile_row(w, x, LIR_TC_ADD)) >> lane & 1;
    if (j.pair && even + 1 >= w->block->cluster->size)
        refuse(w, i, "cta_group::2 without the other block of the pair");
    j.zero = x->p[0] & LIR_TC_ZEROES ? t0_tile_u64(w, x, LIR_TC_ZERO, lane) : 0;
    j.desc = word_of(&j, LIR_TC_DESCRIPTOR);
    read_descriptor(&j);
    choose_step(&j);
    check_mask(&j);
    for (unsigned rank = even; rank <= even + j.pair; rank++) {
        read_b(&j, s, even); /* anew, as scales are the block's own */
        if (x->p[1] != LIR_TC_I8 && j.desc >> 14 & 1)
            negate(s->b, j.n * j.k);
        if (w->block->grid->watch)
            tell_tensor(&j, rank);
        rows_of(&j, s, rank, add);
    }
}

/* One product for each thread that is here; programs elect one. */
HANDLER(TCMMA)
{
    w->at = i;
    T0_FOR_LANES(lane, MASK)
    product(w, i, t0_tile_of(w, i), lane);
}
