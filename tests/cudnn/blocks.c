/* cuDNN's graphs of blocks with scales against plain loops: numbers of four and eight bits times the scale of their
 * block, in rows or in tensor cores' tiles, and such numbers and scales made of others. */
#include "graph.h"

enum { E8M0 = 15, E2M1 = 16, INT4 = 17, UINT4 = 18 }; /* cudnnDataType_t */

static const double e2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
static bool is_nibble(int type) { return type >= E2M1 && type <= UINT4; }
static double value(const unsigned char *p, int type, int i)
{
    unsigned v = is_nibble(type) ? (i % 2 ? p[i / 2] >> 4 : p[i / 2] & 15u) : p[i];
    switch (type) {
    case E8M0: return v == 255 ? NAN : ldexp(1, (int)v - 127);
    case E2M1: return v & 8 ? -e2m1[v & 7] : e2m1[v & 7];
    case INT4: return v & 8 ? (int)v - 16 : (int)v;
    case UINT4: return v;
    default: return get(p, type, (size_t)i);
    }
}

/* Three dimensions: images, rows, columns; the second or third lies densest. */
struct block {
    int dim[3], stride[3], size[3]; /* size: of a block */
    int scales[3], steps[3], type, scale_type;
    bool swizzled, turned;
    unsigned char *x, *s; /* bytes as on the device */
    void *x_at, *s_at;
    int x_bytes, s_bytes;
};
static int padded(int n, int to) { return (n + to - 1) / to * to; }
static int x_place(const struct block *b, const int *i)
{
    return i[0] * b->stride[0] + i[1] * b->stride[1] + i[2] * b->stride[2];
}
static int s_place(const struct block *b, const int *i)
{
    int at[3] = {i[0], i[1] / b->size[1], i[2] / b->size[2]};
    if (!b->swizzled)
        return at[0] * b->steps[0] + at[1] * b->steps[1] + at[2] * b->steps[2];
    /* public: cuBLAS's documentation of the layout of 1D block scaling factors */
    int outer = at[b->turned ? 2 : 1], inner = at[b->turned ? 1 : 2], wide = b->scales[b->turned ? 1 : 2];
    int tile = outer / 128 * (wide / 4) + inner / 4;
    return at[0] * b->steps[0] + tile * 512 + (outer % 32) * 16 + (outer % 128) / 32 * 4 + inner % 4;
}
/* along: the dimension whose blocks share a scale; other: of blocks that are several lines wide. */
static struct block random_block(int type, int scale_type, bool swizzled, int along, int other)
{
    static const int sizes[] = {16, 32, 8, 4};
    struct block b = {.type = type, .scale_type = scale_type, .swizzled = swizzled, .turned = along == 1};
    int inner = along, outer = 3 - along;
    b.size[0] = 1, b.size[inner] = sizes[upto(swizzled ? 2 : 4)], b.size[outer] = other;
    b.dim[0] = 1 + upto(3);
    b.dim[inner] = b.size[inner] * (1 + upto(6)) * (swizzled ? 1 : 1) - (swizzled ? 0 : 2 * upto(2));
    b.dim[outer] = swizzled ? 5 + upto(300) : 1 + upto(20);
    for (int i = 0; i < 3; i++)
        b.scales[i] = (b.dim[i] + b.size[i] - 1) / b.size[i];
    if (swizzled)
        b.scales[inner] = padded(b.scales[inner], 4), b.scales[outer] = padded(b.scales[outer], 128);
    b.stride[inner] = b.steps[inner] = 1;
    b.stride[outer] = b.dim[inner] + (swizzled || is_nibble(type) ? 0 : upto(3));
    b.stride[0] = b.stride[outer] * b.dim[outer];
    b.steps[outer] = b.scales[inner];
    b.steps[0] = b.scales[outer] * b.steps[outer];
    b.x_bytes = (int)(is_nibble(type) ? 1 : type == E8M0 ? 1 : bytes(type)) * b.dim[0] * b.stride[0] + 8;
    b.s_bytes = (int)(scale_type == E8M0 ? 1 : bytes(scale_type)) * b.dim[0] * b.steps[0] + 8;
    b.x = calloc(1, (size_t)b.x_bytes), b.s = calloc(1, (size_t)b.s_bytes);
    for (int i = 0; i < b.x_bytes; i++)
        b.x[i] = (unsigned char)upto(256);
    for (int i = 0; i < b.s_bytes; i++)
        b.s[i] = (unsigned char)(scale_type == E8M0 ? 120 + upto(16) : upto(127));
    if (type != E8M0 && !is_nibble(type)) /* no NaN, nothing that has no end */
        for (int i = 0; i < b.dim[0] * b.stride[0]; i++)
            put(b.x, type, (size_t)i, number(type));
    if (scale_type != E8M0 && scale_type != E4M3)
        for (int i = 0; i < b.dim[0] * b.steps[0]; i++)
            put(b.s, scale_type, (size_t)i, number(scale_type));
    MUST(cudaMalloc(&b.x_at, (size_t)b.x_bytes));
    MUST(cudaMalloc(&b.s_at, (size_t)b.s_bytes));
    OK(cudaMemcpy(b.x_at, b.x, (size_t)b.x_bytes, 1));
    OK(cudaMemcpy(b.s_at, b.s, (size_t)b.s_bytes, 1));
    return b;
}
static void drop_block(struct block *b)
{
    free(b->x), free(b->s);
    OK(cudaFree(b->x_at));
    OK(cudaFree(b->s_at));
}
static desc scales_of(const struct block *b, int64_t uid)
{
    desc d = begin_tensor(uid, b->scale_type, 3, b->scales, b->steps, REAL);
    if (b->swizzled)
        set_enum(d, A(TENSOR_REORDERING_MODE), TYPE(TENSOR_REORDERING_MODE), CUDNN_TENSOR_REORDERING_F8_128x4);
    OK(finalize(d));
    return d;
}
static desc dequantize(desc x, desc scale, desc y, int count, const int *size)
{
    desc d = create(KIND(OPERATION_BLOCK_SCALE_DEQUANTIZE));
    bool noise = upto(2);
    set_desc(d, A(OPERATION_BLOCK_SCALE_DEQUANTIZE_XDESC), x);
    set_desc(d, A(OPERATION_BLOCK_SCALE_DEQUANTIZE_SCALE_DESC), scale);
    set_desc(d, A(OPERATION_BLOCK_SCALE_DEQUANTIZE_YDESC), y);
    set(d, A(OPERATION_BLOCK_SCALE_DEQUANTIZE_BLOCK_SIZE), TYPE(INT32), count, size);
    set(d, A(OPERATION_BLOCK_SCALE_DEQUANTIZE_NEG_SCALE), TYPE(BOOLEAN), 1, &noise);
    OK(finalize(d));
    return d;
}
static desc quantize(desc x, desc y, desc scale, int size)
{
    desc d = create(KIND(OPERATION_BLOCK_SCALE_QUANTIZE));
    set_desc(d, A(OPERATION_BLOCK_SCALE_QUANTIZE_XDESC), x);
    set_desc(d, A(OPERATION_BLOCK_SCALE_QUANTIZE_YDESC), y);
    set_desc(d, A(OPERATION_BLOCK_SCALE_QUANTIZE_SCALE_DESC), scale);
    set_enum(d, A(OPERATION_BLOCK_SCALE_QUANTIZE_BLOCK_SIZE), TYPE(INT32), size);
    OK(finalize(d));
    return d;
}

/* Numbers times scales, and a product with them: what cudnn-frontend's block scale matmul is. */
static void from_blocks(int type, int scale_type, bool swizzled, int other)
{
    struct block b = random_block(type, scale_type, swizzled, 2, other);
    int columns = 1 + upto(6), along = b.dim[2];
    struct tensor y = make(F32, 3, b.dim, 0, true, false);
    struct tensor w = make(F32, 3, (int[]){b.dim[0], along, columns}, 0, false, false);
    struct tensor c = make(F32, 3, (int[]){b.dim[0], b.dim[1], columns}, 0, false, false);
    double *want = calloc((size_t)count(&y), sizeof *want), *product_of = calloc((size_t)count(&c), sizeof *want);
    for (int i = 0; i < count(&y); i++) {
        int at[3] = {i / along / b.dim[1], i / along % b.dim[1], i % along};
        want[i] = value(b.x, type, x_place(&b, at)) * value(b.s, scale_type, s_place(&b, at));
        for (int k = 0; k < columns; k++)
            product_of[i / along * columns + k] += (float)want[i] * w.v[(at[0] * along + at[2]) * columns + k];
    }
    /* sizes of all dimensions, of the last two, or of one alone */
    int three[] = {1, b.size[1], b.size[2]}, named = other == 1 ? 1 + upto(3) : 2 + upto(2);
    desc x = describe(1, type, 3, b.dim, b.stride, REAL), s = scales_of(&b, 2);
    desc op = dequantize(x, s, of(&y, 3), named, three + 3 - named);
    if (run_graph(1, &op, 3, (int64_t[]){1, 2, 3}, (void *[]){b.x_at, b.s_at, y.at}))
        same(&y, want, 1e-6, "numbers of blocks");
    desc v = describe(4, F32, 3, b.dim, NULL, VIRTUAL);
    desc both[] = {product(v, of(&w, 5), of(&c, 6), NULL, NULL, NULL), dequantize(x, s, v, named, three + 3 - named)};
    double most = 0;
    for (int i = 0; i < count(&y); i++)
        most = fmax(most, fabs(want[i]));
    if (run_graph(2, both, 4, (int64_t[]){1, 2, 5, 6}, (void *[]){b.x_at, b.s_at, w.at, c.at}))
        same(&c, product_of, most * along, "a product with blocks");
    destroy_all();
    drop(&y), drop(&w), drop(&c), drop_block(&b);
    free(want), free(product_of);
}

/* A matrix whose blocks lie along its second dimension, as the right operand of a product has them. */
static void from_turned_blocks(int type, int scale_type, bool swizzled)
{
    struct block b = random_block(type, scale_type, swizzled, 1, 1);
    struct tensor y = make(F32, 3, b.dim, 0, true, false);
    double *want = calloc((size_t)count(&y), sizeof *want);
    for (int i = 0; i < count(&y); i++) {
        int at[3] = {i / b.dim[2] / b.dim[1], i / b.dim[2] % b.dim[1], i % b.dim[2]};
        want[i] = value(b.x, type, x_place(&b, at)) * value(b.s, scale_type, s_place(&b, at));
    }
    int size[] = {b.size[1], 1};
    desc op = dequantize(describe(1, type, 3, b.dim, b.stride, REAL), scales_of(&b, 2), of(&y, 3), 2, size);
    if (run_graph(1, &op, 3, (int64_t[]){1, 2, 3}, (void *[]){b.x_at, b.s_at, y.at}))
        same(&y, want, 1e-6, "numbers of turned blocks");
    destroy_all();
    drop(&y), drop_block(&b), free(want);
}

/* The scale is the least that its type has from the greatest number's share on. */
static double round_up(double v, int type)
{
    if (type == F32)
        return (float)v;
    for (int i = 0; i < (type == E8M0 ? 255 : 127); i++) {
        double s = type == E8M0 ? ldexp(1, i - 127) : eighth((unsigned)i, E4M3);
        if (s >= v)
            return s;
    }
    return type == E8M0 ? ldexp(1, 127) : 448;
}
static double nearest_e2m1(double v)
{
    int best = 0;
    for (int i = 1; i < 8; i++) {
        double far = fabs(fabs(v) - e2m1[i]), least = fabs(fabs(v) - e2m1[best]);
        best = far < least || (far == least && i % 2 == 0) ? i : best;
    }
    return v < 0 ? -e2m1[best] : e2m1[best];
}
static void to_blocks(int type, int scale_type, bool swizzled)
{
    struct block b = random_block(type, scale_type, swizzled, 2, 1);
    struct tensor x = make(F32, 3, b.dim, 0, true, false);
    int along = b.dim[2];
    unsigned char *now = calloc(1, (size_t)b.x_bytes), *scales = calloc(1, (size_t)b.s_bytes);
    for (int i = 0; i < count(&x); i++) /* of any size; some blocks are 0 */
        x.v[i] = i / b.size[2] % 7 == 3 ? 0 : number(F32) * ldexp(1, upto(12) - 8) * (1 + i / 97 % 3);
    upload(&x);
    desc op = quantize(of(&x, 1), describe(2, type, 3, b.dim, b.stride, REAL), scales_of(&b, 3), b.size[2]);
    bool ran = run_graph(1, &op, 3, (int64_t[]){1, 2, 3}, (void *[]){x.at, b.x_at, b.s_at});
    OK(cudaMemcpy(now, b.x_at, (size_t)b.x_bytes, 2));
    OK(cudaMemcpy(scales, b.s_at, (size_t)b.s_bytes, 2));
    bool good = ran;
    for (int i = 0; i < count(&x) && good; i++) {
        int at[3] = {i / along / b.dim[1], i / along % b.dim[1], i % along}, first = i - i % along % b.size[2];
        double most = 0, limit = type == E4M3 ? 448 : type == E5M2 ? 57344 : 6;
        for (int k = first; k < first + b.size[2] && k / along == i / along; k++)
            most = fmax(most, fabs(x.v[k]));
        double scale = round_up(most / limit, scale_type), share = scale > 0 ? x.v[i] / scale : 0;
        double want = type == E2M1 ? nearest_e2m1(share) : eighth(to_eighth((float)share, type), type);
        double got = value(now, type, x_place(&b, at)), s = value(scales, scale_type, s_place(&b, at));
        good = s == scale && got == want;
        EXPECT(good, "type %d, scales %d: element %d of %d, %g: %g by %g, not %g by %g", type, scale_type, i, count(&x),
               x.v[i], got, s, want, scale);
    }
    EXPECT(!ran || !memcmp(now + b.x_bytes - 4, b.x + b.x_bytes - 4, 4), "written behind the numbers");
    destroy_all();
    drop(&x), drop_block(&b), free(now), free(scales);
}

/* What fits nowhere is refused. */
static void wrong(void)
{
    desc x = describe(1, E4M3, 3, (int[]){1, 4, 32}, NULL, REAL),
         y = describe(3, F32, 3, (int[]){1, 4, 32}, NULL, REAL);
    desc s = describe(2, E8M0, 3, (int[]){1, 4, 1}, NULL, REAL),
         few = describe(4, E8M0, 3, (int[]){1, 3, 1}, NULL, REAL);
    desc narrow = describe(5, E2M1, 3, (int[]){1, 4, 32}, NULL, REAL),
         flat = describe(6, E8M0, 1, (int[]){4}, NULL, REAL);
    const struct {
        desc op;
        int status;
    } all[] = {{dequantize(x, s, y, 1, (int[]){16}), BAD},
               {dequantize(x, few, y, 1, (int[]){32}), BAD},
               {dequantize(x, s, y, 1, (int[]){0}), BAD},
               {dequantize(x, flat, y, 1, (int[]){32}), BAD},
               {dequantize(x, s, describe(7, F32, 3, (int[]){1, 4, 31}, NULL, REAL), 1, (int[]){32}), BAD},
               {dequantize(x, s, narrow, 1, (int[]){32}), UNSUPPORTED},
               {dequantize(s, s, describe(8, F32, 3, (int[]){1, 4, 1}, NULL, REAL), 1, (int[]){1}), UNSUPPORTED},
               {quantize(y, describe(9, I8, 3, (int[]){1, 4, 32}, NULL, REAL), s, 32), UNSUPPORTED},
               {quantize(y, x, describe(10, F16, 3, (int[]){1, 4, 1}, NULL, REAL), 32), UNSUPPORTED},
               {quantize(y, describe(11, E2M1, 3, (int[]){1, 4, 32}, NULL, VIRTUAL), s, 32), UNSUPPORTED},
               {apply(CUDNN_POINTWISE_ABS, narrow, NULL, y), UNSUPPORTED},
               {apply(CUDNN_POINTWISE_ABS, s, NULL, s), UNSUPPORTED}};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++) {
        int r = finalize(graph_of(1, &all[i].op));
        EXPECT(r / 1000 == all[i].status / 1000, "%u: %d, not %d", i, r, all[i].status);
    }
    destroy_all();
}

int main(void)
{
    static const int few[] = {E4M3, E5M2, E2M1, INT4, UINT4, F16}, scales[] = {E8M0, E4M3, F32, F16};
    static const int made_of[][2] = {{E4M3, E8M0}, {E5M2, E8M0}, {E2M1, E4M3}, {E2M1, E8M0}, {E4M3, F32}};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 96; i++)
        from_blocks(few[i % 6], scales[i / 6 % 4], i / 24 % 2, i % 5 == 4 && !(i / 24 % 2) ? 1 + upto(4) : 1);
    for (int i = 0; i < 48; i++)
        from_turned_blocks(few[i % 6], scales[i / 6 % 4], i / 24 % 2);
    for (int i = 0; i < 60; i++)
        to_blocks(made_of[i % 5][0], made_of[i % 5][1], i / 5 % 2);
    wrong();
    OK(cudnnDestroy(handle));
    return check_end("blocks");
}
