/* Rules of the analysis: how strides, alignments and ranges pass through integer instructions. */
#include "ptx/analysis/analyse.h"

#include "ptx/front/front.h"

static unsigned trailing_zeros(int64_t v) { return v ? (unsigned)__builtin_ctzll((unsigned long long)v) : 63; }

struct ptx_fact ptx_fact_varying(void) { return (struct ptx_fact){.state = PTX_FACT_VARYING}; }

struct ptx_fact ptx_fact_uniform(void) { return (struct ptx_fact){.state = PTX_FACT_LANES}; }

struct ptx_fact ptx_fact_range(struct ptx_fact f, int64_t lo, int64_t hi)
{
    f.has_range = lo >= -PTX_RANGE_MAX && hi <= PTX_RANGE_MAX && lo <= hi;
    f.lo = f.has_range ? lo : 0;
    f.hi = f.has_range ? hi : 0;
    if (f.has_range && lo == hi) { /* one value for every lane */
        f.state = PTX_FACT_LANES;
        f.grouped = false;
        f.stride = 0;
        f.align = (uint8_t)trailing_zeros(lo);
    }
    return f;
}

struct ptx_fact ptx_fact_const(int64_t v)
{
    struct ptx_fact f = ptx_fact_range(ptx_fact_uniform(), v, v);
    f.align = (uint8_t)trailing_zeros(v);
    return f;
}

bool ptx_fact_is_const(const struct ptx_fact *f, int64_t *v)
{
    *v = f->lo;
    return f->has_range && f->lo == f->hi;
}

bool ptx_fact_is_uniform(const struct ptx_fact *f) { return f->state != PTX_FACT_VARYING && !f->stride && !f->grouped; }

struct ptx_fact ptx_fact_join(struct ptx_fact a, struct ptx_fact b)
{
    if (a.state == PTX_FACT_NONE)
        return b;
    if (b.state == PTX_FACT_NONE)
        return a;
    struct ptx_fact r = {.state = PTX_FACT_LANES,
                         .grouped = a.grouped || b.grouped,
                         .stride = a.stride,
                         .align = a.align < b.align ? a.align : b.align};
    if (a.state == PTX_FACT_VARYING || b.state == PTX_FACT_VARYING || a.stride != b.stride ||
        (a.grouped != b.grouped && a.stride))
        r = ptx_fact_varying();
    if (a.has_range && b.has_range) {
        r.has_range = true;
        r.lo = a.lo < b.lo ? a.lo : b.lo;
        r.hi = a.hi > b.hi ? a.hi : b.hi;
    }
    return r;
}

/* ---- special registers ----------------------------------------------------------------------- */

static struct ptx_fact lanes(int64_t stride, bool grouped, unsigned align)
{
    return (struct ptx_fact){.state = PTX_FACT_LANES, .stride = stride, .grouped = grouped, .align = (uint8_t)align};
}

/* tid along one axis: `below` threads stand in one row of the axes before it. */
static struct ptx_fact tid(const struct ptx_shape *s, unsigned axis)
{
    uint64_t x = s->block[0], y = s->block[1], z = s->block[2];
    uint64_t below = axis == 0 ? 1 : axis == 1 ? x : x * y;
    struct ptx_fact f = ptx_fact_varying();
    if (axis == 0 && ((y <= 1 && z <= 1) || x % 32 == 0))
        f = lanes(1, false, 5);
    else if (axis == 0 && x % 16 == 0)
        f = lanes(1, true, 4);
    else if (axis && below && below % 32 == 0)
        f = ptx_fact_uniform();
    else if (axis && below && below % 16 == 0)
        f = lanes(0, true, 0);
    uint64_t n = s->block[axis];
    if (s->exact && n)
        return ptx_fact_range(f, 0, (int64_t)n - 1);
    return n == 1 ? ptx_fact_const(0) : ptx_fact_range(f, 0, 1023);
}

/* What a special register is in the lanes of a warp: uniform, affine or varying, and its range by CUDA's limits of
 * grids and blocks. */
struct ptx_fact ptx_fact_sreg(unsigned sreg, const struct ptx_shape *s)
{
    switch (sreg) {
    case PTX_SR_TID_X:
    case PTX_SR_TID_Y:
    case PTX_SR_TID_Z: return tid(s, sreg - PTX_SR_TID_X);
    case PTX_SR_NTID_X:
    case PTX_SR_NTID_Y:
    case PTX_SR_NTID_Z:
        if (s->exact)
            return ptx_fact_const(s->block[sreg - PTX_SR_NTID_X]);
        return ptx_fact_range(lanes(0, false, s->warps && sreg == PTX_SR_NTID_X ? 5 : 0), 1, 1024);
    case PTX_SR_CTAID_X:
    case PTX_SR_NCTAID_X:
        return s->few_blocks ? ptx_fact_range(ptx_fact_uniform(), 0, PTX_FEW_BLOCKS - (sreg == PTX_SR_CTAID_X))
                             : ptx_fact_uniform();
    case PTX_SR_CTAID_Y:
    case PTX_SR_CTAID_Z:
    case PTX_SR_NCTAID_Y:
    case PTX_SR_NCTAID_Z: return ptx_fact_range(ptx_fact_uniform(), 0, 65535);
    case PTX_SR_LANEID: return ptx_fact_range(lanes(1, false, 31), 0, 31);
    case PTX_SR_WARPID:
    case PTX_SR_NWARPID: return ptx_fact_range(ptx_fact_uniform(), 0, 32);
    case PTX_SR_LANEMASK_EQ:
    case PTX_SR_LANEMASK_LE:
    case PTX_SR_LANEMASK_LT:
    case PTX_SR_LANEMASK_GE:
    case PTX_SR_LANEMASK_GT:
    case PTX_SR_CLOCK:
    case PTX_SR_CLOCK_HI:
    case PTX_SR_CLOCK64:
    case PTX_SR_GLOBALTIMER:
    case PTX_SR_GLOBALTIMER_LO:
    case PTX_SR_GLOBALTIMER_HI: /* lanes may read them one by one */ return ptx_fact_varying();
    default: return ptx_fact_uniform();
    }
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

/* The range of r from the corners of an operation on two ranges. */
static struct ptx_fact corners(struct ptx_fact r, const struct ptx_fact *a, const struct ptx_fact *b, char op)
{
    r.has_range = false;
    r.lo = r.hi = 0;
    if (!a->has_range || !b->has_range)
        return r;
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    for (int i = 0; i < 4; i++) {
        int64_t x = i & 1 ? a->hi : a->lo, y = i & 2 ? b->hi : b->lo;
        int64_t v = op == '+' ? x + y : op == '-' ? x - y : x * y; /* within 2^60 */
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    return ptx_fact_range(r, lo, hi);
}

/* Sum or difference: strides add up unless one side has none that we know. */
static struct ptx_fact sum(const struct ptx_fact *a, const struct ptx_fact *b, bool minus)
{
    struct ptx_fact r = {.state = PTX_FACT_LANES, .grouped = a->grouped || b->grouped};
    if (a->state == PTX_FACT_VARYING || b->state == PTX_FACT_VARYING)
        r = ptx_fact_varying();
    else /* a stride over 32 lanes is one over 16 with the upper half's base moved */
        r.stride = (int64_t)((uint64_t)a->stride + (minus ? 0 - (uint64_t)b->stride : (uint64_t)b->stride));
    unsigned align = a->align < b->align ? a->align : b->align;
    if (r.grouped && (!a->grouped || !b->grouped)) { /* the moved base has only the stride's zeros */
        const struct ptx_fact *whole = a->grouped ? b : a;
        unsigned moved = whole->stride ? trailing_zeros(whole->stride) + 4 : 63;
        align = align < moved ? align : moved;
    }
    r.align = (uint8_t)align;
    return corners(r, a, b, minus ? '-' : '+');
}

static struct ptx_fact scale(const struct ptx_fact *a, int64_t k)
{
    struct ptx_fact r = *a;
    r.has_range = false;
    if (a->state == PTX_FACT_VARYING)
        r = ptx_fact_varying();
    r.stride = (int64_t)((uint64_t)a->stride * (uint64_t)k);
    if (a->state == PTX_FACT_LANES && k)
        r.align = (uint8_t)(a->align + trailing_zeros(k) > 63 ? 63 : a->align + trailing_zeros(k));
    struct ptx_fact c = ptx_fact_const(k);
    r = c.has_range ? corners(r, a, &c, '*') : r;
    return k ? r : ptx_fact_const(0);
}

static struct ptx_fact product(const struct ptx_fact *a, const struct ptx_fact *b)
{
    int64_t k;
    if (ptx_fact_is_const(b, &k))
        return scale(a, k);
    if (ptx_fact_is_const(a, &k))
        return scale(b, k);
    struct ptx_fact r = ptx_fact_varying();
    if (a->state == PTX_FACT_LANES && b->state == PTX_FACT_LANES && !a->stride && !b->stride) {
        r = lanes(0, a->grouped || b->grouped, 0);
        r.align = (uint8_t)(a->align + b->align > 63 ? 63 : a->align + b->align);
    }
    return corners(r, a, b, '*');
}

/* Lanes occupy a bit field of their own when the base is aligned above them: stride 2^j, then bits
 * j .. j+4 (j+3 in groups) hold the lane and everything else the base. */
static bool lane_field(const struct ptx_fact *a, unsigned *j, unsigned *width)
{
    if (a->state != PTX_FACT_LANES || a->stride <= 0 || (a->stride & (a->stride - 1)))
        return false;
    *j = trailing_zeros(a->stride);
    *width = a->grouped ? 4 : 5;
    return *j + *width <= a->align && *j + *width < 32;
}

static bool divides_all(const struct ptx_fact *number, const struct ptx_fact *by, bool is_signed)
{
    unsigned j, width;
    return lane_field(number, &j, &width) && ptx_fact_is_uniform(by) && by->align >= j + width &&
           (!is_signed || (number->has_range && number->lo >= 0)); /* those below 0 round upwards */
}

/* i < n and the like: all lanes are on one side of a multiple of all their steps. */
static bool on_one_side(const struct ptx_instr *in, const struct ptx_fact *s)
{
    const bool below = in->cmp == PTX_LT || in->cmp == PTX_GE, above = in->cmp == PTX_GT || in->cmp == PTX_LE;
    return in->op == PTX_OP_SETP && !ptx_type_is_float(in->type[0]) && ptx_type_size(in->type[0]) >= 4 && !in->sub &&
           ((below && divides_all(&s[0], &s[1], false)) || (above && divides_all(&s[1], &s[0], false)));
}

struct ptx_fact ptx_fact_quotient(const struct ptx_fact *number, const struct ptx_fact *by, bool is_signed)
{
    return divides_all(number, by, is_signed) ? lanes(0, number->grouped, 0) : ptx_fact_varying();
}

struct ptx_fact ptx_fact_remainder(const struct ptx_fact *number, const struct ptx_fact *by, bool is_signed)
{
    const unsigned align = number->align < by->align ? number->align : by->align;
    return divides_all(number, by, is_signed) ? lanes(number->stride, number->grouped, align) : ptx_fact_varying();
}

/* Of 32 bits that are extended as a signed number on trust (convert): so small that what hashes lane numbers is not
 * taken for an index. */
static bool is_index_stride(int64_t stride) { return stride > -(1 << 25) && stride < 1 << 25; }

static struct ptx_fact shift_right(const struct ptx_instr *in, const struct ptx_fact *a, int64_t c)
{
    struct ptx_fact r = ptx_fact_varying();
    unsigned j, width, bits = ptx_type_size(in->type[0]) * 8;
    bool is_signed = ptx_type_is_signed(in->type[0]);
    if (c < 0 || c > (int64_t)bits)
        c = bits;
    if (a->state == PTX_FACT_LANES && !a->stride)
        r = lanes(0, a->grouped, a->align > c ? (unsigned)(a->align - c) : 0);
    else if (lane_field(a, &j, &width) && c >= j + width)
        r = lanes(0, a->grouped, a->align > c ? (unsigned)(a->align - c) : 0);
    else if (lane_field(a, &j, &width) && c <= j)
        r = lanes(a->stride >> c, a->grouped, (unsigned)(a->align - c));
    else if (lane_field(a, &j, &width) && width == 5 && c == j + 4) /* tid / 16 */
        r = lanes(0, true, 0);
    else if (a->state == PTX_FACT_LANES && is_signed && bits == 64 && c == 32 && a->align >= 32 &&
             !((uint64_t)a->stride << 32) &&
             is_index_stride(a->stride >> 32)) /* shl 32 before it: an index, extended */
        r = lanes(a->stride >> 32, a->grouped, a->align - 32u);
    if (a->has_range && (a->lo >= 0 || is_signed))
        return ptx_fact_range(r, a->lo >> (c > 62 ? 62 : c), a->hi >> (c > 62 ? 62 : c));
    if (!is_signed && bits <= 32 && c > 1)
        return ptx_fact_range(r, 0, ((int64_t)1 << (bits - (unsigned)c)) - 1);
    return r;
}

/* and, or, xor with a constant keep or drop the lanes' field as a whole. */
static struct ptx_fact bitwise(const struct ptx_instr *in, const struct ptx_fact *a, int64_t c)
{
    struct ptx_fact r = ptx_fact_varying();
    unsigned j, width;
    unsigned zeros = in->op == PTX_OP_AND ? (a->align > trailing_zeros(c) ? a->align : trailing_zeros(c))
                                          : (a->align < trailing_zeros(c) ? a->align : trailing_zeros(c));
    if (a->state == PTX_FACT_LANES && !a->stride) {
        r = lanes(0, a->grouped, zeros);
    } else if (lane_field(a, &j, &width)) {
        int64_t field = ((int64_t)1 << width) - 1, got = c >> j & field;
        unsigned base = in->op == PTX_OP_AND ? a->align : zeros;
        if (in->op == PTX_OP_AND ? got == field : !got)
            r = lanes(a->stride, a->grouped, base);
        else if (in->op == PTX_OP_AND && !got)
            r = lanes(0, a->grouped, zeros);
        else if (in->op == PTX_OP_AND && got == 15) /* tid % 16: the halves of a warp count alike */
            r = lanes(a->stride, true, base);
        else if (in->op == PTX_OP_AND && got == 16)
            r = lanes(0, true, zeros < j + 4 ? zeros : j + 4);
    }
    if (in->op == PTX_OP_AND && c >= 0)
        return ptx_fact_range(r, 0, a->has_range && a->lo >= 0 && a->hi < c ? a->hi : c);
    return r;
}

/* or of an aligned base and something that fits below it is their sum: nvcc writes it so. */
static bool disjoint(const struct ptx_fact *a, const struct ptx_fact *b)
{
    return ptx_fact_is_uniform(a) && b->has_range && b->lo >= 0 && a->align < 62 && b->hi < (int64_t)1 << a->align;
}

/* Bits of a, where b has zeros: compilers look so for what 32 bits do not hold. */
static bool without(const struct ptx_fact *a, const struct ptx_fact *b)
{
    return ptx_fact_is_uniform(b) && a->has_range && a->lo >= 0 &&
           a->hi < (int64_t)1 << (b->align < 62 ? b->align : 62);
}

static struct ptx_fact bits_of(const struct ptx_instr *in, const struct ptx_fact *a, const struct ptx_fact *b)
{
    int64_t c;
    if (in->op == PTX_OP_AND && (without(a, b) || without(b, a)))
        return ptx_fact_const(0);
    if (ptx_fact_is_const(b, &c))
        return bitwise(in, a, c);
    if (ptx_fact_is_const(a, &c))
        return bitwise(in, b, c);
    if (in->op == PTX_OP_OR && disjoint(a, b))
        return sum(a, b, false);
    if (in->op == PTX_OP_OR && disjoint(b, a))
        return sum(b, a, false);
    struct ptx_fact r = ptx_fact_varying();
    if (a->state == PTX_FACT_LANES && b->state == PTX_FACT_LANES && !a->stride && !b->stride)
        r = lanes(0, a->grouped || b->grouped, a->align < b->align ? a->align : b->align);
    if (in->op != PTX_OP_AND && a->has_range && a->lo >= 0 && b->has_range && b->lo >= 0 && (a->hi | b->hi))
        return ptx_fact_range(r, 0, (int64_t)((2ull << (63 - __builtin_clzll((uint64_t)(a->hi | b->hi)))) - 1));
    if (in->op == PTX_OP_AND && ((a->has_range && a->lo >= 0) || (b->has_range && b->lo >= 0))) {
        int64_t hi = a->has_range && a->lo >= 0 ? a->hi : b->hi;
        if (b->has_range && b->lo >= 0 && b->hi < hi)
            hi = b->hi;
        return ptx_fact_range(r, 0, hi);
    }
    return r;
}

/* Integer conversion, and the widening half of mul.wide: a stride survives when no lane can wrap.
 * The signed case is taken on trust, as compilers do: a 32-bit index that overflows is undefined in
 * C; but only of strides that an index may have. */
static struct ptx_fact convert(const struct ptx_fact *a, unsigned to, unsigned from)
{
    struct ptx_fact r = *a;
    unsigned want = ptx_type_size(to), have = ptx_type_size(from);
    if (ptx_type_is_float(to) || ptx_type_is_float(from)) {
        r = a->state == PTX_FACT_LANES && !a->stride ? lanes(0, a->grouped, 0) : ptx_fact_varying();
        return r;
    }
    unsigned narrow = have < want ? have : want;
    bool is_signed = ptx_type_is_signed(have < want ? from : to);
    int64_t top = narrow < 4 ? (int64_t)1 << (8 * narrow - is_signed) : PTX_RANGE_MAX;
    bool fits = a->has_range && a->hi < top && a->lo >= (is_signed ? -top : 0);
    if (!fits) {
        if (a->stride && (narrow < 4 || (want > have && (!is_signed || !is_index_stride((int32_t)a->stride)))))
            r = ptx_fact_varying();
        if (narrow == 4 && want > have)
            r.stride = (int32_t)r.stride; /* of what is kept of it */
        r.has_range = false;
        if (narrow < 4)
            r = ptx_fact_range(r, is_signed ? -top : 0, top - 1);
        else if (have >= want && a->has_range) /* same or fewer bits, same meaning */
            r = ptx_fact_range(r, a->lo, a->hi);
        if (r.align > 8 * narrow)
            r.align = (uint8_t)(8 * narrow);
    }
    return r;
}

static bool is_int(const struct ptx_instr *in)
{
    return !ptx_type_is_float(in->type[0]) && ptx_type_size(in->type[0]) >= 4 && in->type[0] != PTX_U16X2 &&
           in->type[0] != PTX_S16X2;
}

/* An instruction of which nothing is known but that it computes each lane by itself. */
static struct ptx_fact lanewise(const struct ptx_fact *src, unsigned n, bool is_pred)
{
    struct ptx_fact r = ptx_fact_uniform();
    for (unsigned i = 0; i < n; i++) {
        if (src[i].state == PTX_FACT_NONE)
            continue;
        if (src[i].state == PTX_FACT_VARYING || src[i].stride)
            return ptx_fact_varying();
        r.grouped |= src[i].grouped;
    }
    return is_pred && r.grouped ? ptx_fact_varying() : r;
}

static struct ptx_fact min_max(const struct ptx_instr *in, const struct ptx_fact *s, struct ptx_fact r)
{
    bool ok = s[0].has_range && s[1].has_range && (ptx_type_is_signed(in->type[0]) || (s[0].lo >= 0 && s[1].lo >= 0));
    if (!ok)
        return r;
    bool max = in->op == PTX_OP_MAX;
    int64_t lo = (s[0].lo < s[1].lo) == max ? s[1].lo : s[0].lo;
    int64_t hi = (s[0].hi < s[1].hi) == max ? s[1].hi : s[0].hi;
    return ptx_fact_range(r, lo, hi);
}

/* The transfer function of the fixpoint: what is known of a result by what is known of its sources. An instruction
 * without a case here is uniform if its sources are. */
struct ptx_fact ptx_fact_apply(const struct ptx_instr *in, const struct ptx_fact *s, unsigned n)
{
    struct ptx_fact r = lanewise(
        s, n, in->type[0] == PTX_PRED || in->op == PTX_OP_SETP || in->op == PTX_OP_TESTP || in->op == PTX_OP_ISSPACEP);
    int64_t k;
    for (unsigned i = 0; i < n; i++)
        if (s[i].state == PTX_FACT_NONE)
            return (struct ptx_fact){0}; /* comes again when its source is known */
    if (in->op == PTX_OP_CVT && n == 1 && !(in->flags & PTX_F_SAT))
        return convert(&s[0], in->type[0], in->type[1]);
    if (in->op == PTX_OP_MOV && n == 1)
        return s[0];
    if (r.state == PTX_FACT_VARYING && n == 2 && on_one_side(in, s))
        return lanes(0, s[0].grouped || s[1].grouped, 0);
    if (!is_int(in) || (in->flags & (PTX_F_CC | PTX_F_SAT)))
        return r;
    struct ptx_fact wide[2];
    switch (in->op) {
    case PTX_OP_ADD: return sum(&s[0], &s[1], false);
    case PTX_OP_SUB: return sum(&s[0], &s[1], true);
    case PTX_OP_NEG: return scale(&s[0], -1);
    case PTX_OP_MUL:
    case PTX_OP_MAD:
        if (in->flags & PTX_F_HI)
            return r;
        for (int i = 0; i < 2; i++) {
            unsigned to = ptx_type_is_signed(in->type[0]) ? PTX_S64 : PTX_U64;
            wide[i] = in->flags & PTX_F_WIDE ? convert(&s[i], to, in->type[0]) : s[i];
        }
        r = product(&wide[0], &wide[1]);
        if (in->op == PTX_OP_MUL)
            return r;
        if (wide[0].state == PTX_FACT_VARYING || wide[1].state == PTX_FACT_VARYING)
            r.state = PTX_FACT_VARYING; /* 0 too: only results are known to be numbers, and this one's is computed */
        return sum(&r, &s[2], false);
    case PTX_OP_SHL:
        if (ptx_fact_is_const(&s[1], &k) && k >= 0 && k < 8 * (int64_t)ptx_type_size(in->type[0]))
            return scale(&s[0], (int64_t)((uint64_t)1 << k));
        return r;
    case PTX_OP_SHR: return ptx_fact_is_const(&s[1], &k) ? shift_right(in, &s[0], k) : r;
    case PTX_OP_AND:
    case PTX_OP_OR:
    case PTX_OP_XOR: return bits_of(in, &s[0], &s[1]);
    case PTX_OP_SELP: return ptx_fact_is_uniform(&s[2]) ? ptx_fact_join(s[0], s[1]) : r;
    case PTX_OP_MIN:
    case PTX_OP_MAX: return min_max(in, s, r);
    case PTX_OP_REM:
        if (r.state == PTX_FACT_VARYING)
            r = ptx_fact_remainder(&s[0], &s[1], ptx_type_is_signed(in->type[0]));
        if (s[0].has_range && s[0].lo >= 0 && s[1].has_range && s[1].lo > 0)
            return ptx_fact_range(r, 0, s[0].hi < s[1].hi ? s[0].hi : s[1].hi - 1);
        return r;
    case PTX_OP_DIV:
        if (r.state == PTX_FACT_VARYING)
            r = ptx_fact_quotient(&s[0], &s[1], ptx_type_is_signed(in->type[0]));
        if (s[0].has_range && s[0].lo >= 0 && s[1].has_range && s[1].lo > 0)
            return ptx_fact_range(r, s[0].lo / s[1].hi, s[0].hi / s[1].lo);
        return r;
    case PTX_OP_BFE:
        if (n == 3 && !ptx_type_is_signed(in->type[0]) && ptx_fact_is_const(&s[2], &k) && k >= 0 && k < 30)
            return ptx_fact_range(r, 0, ((int64_t)1 << k) - 1);
        return r;
    case PTX_OP_POPC:
    case PTX_OP_CLZ: return ptx_fact_range(r, 0, 64);
    default: return r;
    }
}
