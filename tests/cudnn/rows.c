/* Rows in cuDNN's graphs against plain loops: softmax with what it says of rows, of numbers that are none and infinite,
 * too; masks of diagonal bands by every comparison; products that are scaled. */
#include "graph.h"

static const int types[] = {F32, F16, BF16, F64};

static struct tensor rows_of(int type, int b, int h, int q, int k)
{
    return make(type, 4, (int[]){b, h, q, k}, NCHW, upto(3) == 0, false);
}

/* Most rows lie in floats side by side; some are long, and some hold what is no number. */
static void softmaxes(int type, int to)
{
    int b = 1 + upto(2), h = 1 + upto(2), q = 1 + upto(4), k = 1 + upto(upto(4) ? 70 : 2200), rows = b * h * q;
    struct tensor x = rows_of(type, b, h, q, k), y = rows_of(to, b, h, q, k), stats = rows_of(F32, b, h, q, 1);
    struct tensor max = rows_of(F32, b, h, q, 1), sum = rows_of(F32, b, h, q, 1), sink = rows_of(F32, 1, h, 1, 1);
    double *want = calloc((size_t)count(&x), sizeof *want), *row = calloc(3 * (size_t)rows, sizeof *row);
    const bool sinks = upto(3) == 0, two = upto(3) == 0;
    desc op = create(KIND(OPERATION_SOFTMAX));
    for (int i = 0; i < rows; i++) {
        int odd = upto(8), wide = upto(4) ? 1 : 40; /* wide: most of what is there counts for nothing */
        for (int c = 0; c < k; c++) {
            double *v = &x.v[i * k + c];
            *v = *v * wide;
            if (odd == 0 || (odd == 1 && upto(2)))
                *v = -INFINITY;
            if ((odd == 2 && upto(k) == 0) || (odd == 3 && upto(k) == 0))
                *v = odd == 2 ? NAN : INFINITY;
        }
    }
    for (int i = 0; i < count(&x); i++)
        put(x.host, type, place(&x, i), isfinite(x.v[i]) ? x.v[i] : 0);
    upload(&x);
    for (int i = 0; i < rows; i++) {
        double most = sinks ? sink.v[i / q % h] : -INFINITY, all = 0;
        bool none = false;
        for (int c = 0; c < k; c++) {
            most = fmax(most, x.v[i * k + c]);
            none |= isnan(x.v[i * k + c]);
        }
        if (none)
            most = NAN;
        double from = most == -INFINITY ? 0 : most;
        for (int c = 0; c < k; c++)
            all += want[i * k + c] = exp(x.v[i * k + c] - from);
        all += sinks ? exp(sink.v[i / q % h] - from) : 0;
        for (int c = 0; c < k; c++)
            want[i * k + c] = all == 0 ? 0 : want[i * k + c] / all;
        row[i] = (from + log(all)) * (two ? M_LOG2E : 1), row[rows + i] = most, row[2 * rows + i] = all;
    }
    set_desc(op, A(OPERATION_SOFTMAX_XDESC), of(&x, 1));
    set_desc(op, A(OPERATION_SOFTMAX_YDESC), of(&y, 2));
    set_desc(op, A(OPERATION_SOFTMAX_STATS_DESC), of(&stats, 3));
    set_desc(op, A(OPERATION_SOFTMAX_MAX_DESC), of(&max, 4));
    set_desc(op, A(OPERATION_SOFTMAX_SUM_EXP_DESC), of(&sum, 5));
    set_desc(op, A(OPERATION_SOFTMAX_SINK_DESC), sinks ? of(&sink, 6) : NULL);
    if (two || upto(2))
        set(op, A(OPERATION_SOFTMAX_STATS_LOG2), TYPE(BOOLEAN), 1, &two);
    OK(finalize(op));
    if (run_graph(1, &op, 6, (int64_t[]){1, 2, 3, 4, 5, 6},
                  (void *[]){x.at, y.at, stats.at, max.at, sum.at, sink.at})) {
        same(&y, want, to == F32 ? 0.01 : 1, "softmax of rows");
        same(&stats, row, 4, "its statistics");
        same(&max, row + rows, 0, "its greatest");
        same(&sum, row + 2 * rows, 1, "its sums");
    }
    destroy_all();
    free(want), free(row);
    drop(&x), drop(&y), drop(&stats), drop(&max), drop(&sum), drop(&sink);
}

/* e^x and e^(x - b) of floats of every size: below the least power 0, beyond the largest float infinity. */
static void powers(bool difference)
{
    static const float all[] = {-INFINITY, -3e38f, -1e30f, -1e10f, -5e7f, -1e6f, -1000, -104, -87.4f, -86.5f,   -1,
                                -1e-20f,   0,      1,      80,     88.7f, 88.8f, 1000,  1e9f, 3e38f,  INFINITY, NAN};
    enum { MANY = sizeof all / sizeof *all, TIMES = 9 };
    struct tensor x = make(F32, 3, (int[]){1, TIMES, MANY}, NCHW, false, false),
                  y = make(F32, 3, x.dim, NCHW, upto(2), false);
    struct tensor b = make(F32, 3, (int[]){1, upto(2) ? 1 : TIMES, 1}, NCHW, false, false);
    double want[TIMES * MANY];
    for (int i = 0; i < TIMES * MANY; i++)
        x.v[i] = i < 2 * MANY ? all[i % MANY] : (upto(2) ? -1 : 1) * ldexp(1 + upto(1000) / 1000.0, upto(150) - 30);
    upload(&x);
    for (int i = 0; i < TIMES * MANY; i++) {
        const float less = (float)(x.v[i] - (difference ? b.v[b.dim[1] > 1 ? i / MANY : 0] : 0));
        want[i] = exp(less) < 1.2e-38 ? 0 : (double)(float)exp(less);
        want[i] = isnan(less) ? NAN : want[i];
    }
    desc op[2], v = describe(4, F32, 3, x.dim, NULL, VIRTUAL);
    op[0] = apply(CUDNN_POINTWISE_SUB, of(&x, 1), of(&b, 2), v);
    op[1] = apply(CUDNN_POINTWISE_EXP, difference ? v : of(&x, 1), NULL, of(&y, 3));
    if (run_graph(1 + difference, op + !difference, 3, (int64_t[]){1, 2, 3}, (void *[]){x.at, b.at, y.at}))
        same(&y, want, 1e-30, "powers");
    destroy_all();
    drop(&x), drop(&y), drop(&b);
}

static bool holds(int how, double a, double b)
{
    return how == CUDNN_POINTWISE_CMP_EQ    ? a == b
           : how == CUDNN_POINTWISE_CMP_NEQ ? a != b
           : how == CUDNN_POINTWISE_CMP_GT  ? a > b
           : how == CUDNN_POINTWISE_CMP_GE  ? a >= b
           : how == CUDNN_POINTWISE_CMP_LT  ? a < b
                                            : a <= b;
}

static void bands(int type, int to, int how)
{
    int b = 1 + upto(2), h = 1 + upto(2), q = 1 + upto(9), k = 1 + upto(9), shift = upto(13) - 6;
    const bool left = upto(2), lengths = upto(2);
    const int summed = upto(4);
    struct tensor x = rows_of(type, b, h, q, k), y = rows_of(to, b, h, q, k);
    struct tensor ql = make(I32, 4, (int[]){b, 1, 1, 1}, NCHW, false, false),
                  kl = make(I32, 4, ql.dim, NCHW, false, false);
    double *want = calloc((size_t)count(&x), sizeof *want);
    float fill = -3.5f;
    desc op = create(KIND(OPERATION_DIAGONAL_BAND_MASK));
    for (int i = 0; i < b; i++)
        ql.v[i] = upto(q + 1), kl.v[i] = upto(k + 1);
    upload(&ql), upload(&kl);
    struct tensor qs = sums_of(&ql), ks = sums_of(&kl);
    for (int i = 0; i < count(&x); i++) {
        int c = i % k, r = i / k % q, batch = i / k / q / h;
        double more = lengths ? kl.v[batch] - ql.v[batch] : 0;
        bool keep = left ? holds(how, c + shift - more, r) : holds(how, r + more + shift, c);
        want[i] = keep ? x.v[i] : (double)fill;
    }
    set_desc(op, A(OPERATION_DIAGONAL_BAND_MASK_XDESC), of(&x, 1));
    set_desc(op, A(OPERATION_DIAGONAL_BAND_MASK_YDESC), of(&y, 2));
    set_desc(op, A(OPERATION_DIAGONAL_BAND_MASK_BDESC), scalar_of(3, F32, 4));
    set_desc(op,
             left ? A(OPERATION_DIAGONAL_BAND_MASK_LEFT_BOUND_DESC)
                  : A(OPERATION_DIAGONAL_BAND_MASK_SHIFT_RIGHT_BOUND_DESC),
             scalar_of(4, I32, 4));
    set_enum(op, A(OPERATION_DIAGONAL_BAND_MASK_COMPARISON_MODE), TYPE(POINTWISE_MODE), how);
    if (lengths) {
        if (summed & 1)
            set_desc(op, A(OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_QDESC), of(&qs, 5));
        else
            set_desc(op, A(OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_QDESC), of(&ql, 5));
        if (summed & 2)
            set_desc(op, A(OPERATION_DIAGONAL_BAND_MASK_CU_SEQ_LEN_KVDESC), of(&ks, 6));
        else
            set_desc(op, A(OPERATION_DIAGONAL_BAND_MASK_SEQ_LEN_KVDESC), of(&kl, 6));
    }
    OK(finalize(op));
    if (run_graph(1, &op, 6, (int64_t[]){1, 2, 3, 4, 5, 6},
                  (void *[]){x.at, y.at, &fill, &shift, summed & 1 ? qs.at : ql.at, summed & 2 ? ks.at : kl.at}))
        same(&y, want, 0, "band");
    destroy_all();
    free(want);
    drop(&x), drop(&y), drop(&ql), drop(&kl), drop(&qs), drop(&ks);
}

/* A product that an operation scales, alone or with more that reads the product itself. */
static void scaled(int type, int middle, int to)
{
    int b = 1 + upto(2), m = 1 + upto(7), n = 1 + upto(7), inner = 1 + upto(7);
    const bool read_twice = upto(3) == 0, swapped = upto(3) == 0;
    struct tensor a = rows_of(type, b, 1, m, inner), x = rows_of(type, b, 1, inner, n), y = rows_of(to, b, 1, m, n);
    struct tensor twice = rows_of(F32, b, 1, m, n);
    double *want = calloc((size_t)count(&y), sizeof *want), *also = calloc((size_t)count(&y), sizeof *also);
    float scale = -0.375f;
    char between[8];
    desc c = describe(10, middle, 4, y.dim, NULL, VIRTUAL), s = scalar_of(4, F32, 4), op[3];
    for (int i = 0; i < count(&y); i++) {
        double v = 0;
        for (int k = 0; k < inner; k++)
            v += a.v[i / n * inner + k] * x.v[(i / n / m * inner + k) * n + i % n];
        put(between, middle, 0, v);
        v = get(between, middle, 0);
        also[i] = v + v;
        want[i] = v * (double)scale;
    }
    op[0] = product(of(&a, 1), of(&x, 2), c, NULL, NULL, NULL);
    op[1] = apply(CUDNN_POINTWISE_MUL, swapped ? s : c, swapped ? c : s, of(&y, 3));
    op[2] = read_twice ? apply(CUDNN_POINTWISE_ADD, c, c, of(&twice, 5)) : NULL;
    if (run_graph(read_twice ? 3 : 2, op, 5, (int64_t[]){1, 2, 3, 4, 5},
                  (void *[]){a.at, x.at, y.at, &scale, twice.at})) {
        same(&y, want, 4, "scaled product");
        if (read_twice)
            same(&twice, also, 4, "the product itself");
    }
    destroy_all();
    free(want), free(also);
    drop(&a), drop(&x), drop(&y), drop(&twice);
}

int main(void)
{
    static const int comparisons[] = {CUDNN_POINTWISE_CMP_EQ, CUDNN_POINTWISE_CMP_NEQ, CUDNN_POINTWISE_CMP_GT,
                                      CUDNN_POINTWISE_CMP_GE, CUDNN_POINTWISE_CMP_LT,  CUDNN_POINTWISE_CMP_LE};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 300; i++) {
        int type = upto(3) ? F32 : types[upto(4)];
        softmaxes(type, types[i % 4]);
        bands(type, upto(2) ? type : types[upto(4)], comparisons[i % 6]);
        scaled(types[i % 4], upto(4) ? F32 : types[upto(4)], types[upto(4)]);
        powers(i % 2);
    }
    OK(cudnnDestroy(handle));
    return check_end("rows");
}
