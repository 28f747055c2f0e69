/* cuDNN's graphs of single operations against plain loops: every pointwise mode on every type, with slopes against
 * differences of the functions; windows and their gradients; random numbers; statistics; caches of pages. */
#include "graph.h"

static struct tensor plain(int type, int n, const int *dim) { return make(type, n, dim, upto(2), upto(3) == 0, false); }
static void unravel(const int *dim, int n, int i, int *index)
{
    for (int d = n - 1; d >= 0; i /= dim[d], d--)
        index[d] = i % dim[d];
}
static int ravel(const int *dim, int n, const int *index) /* a dimension of 1 serves all */
{
    int at = 0;
    for (int d = 0; d < n; d++)
        at = at * dim[d] + (dim[d] > 1 ? index[d] : 0);
    return at;
}

/* ---- pointwise --------------------------------------------------------------------------------- */

static const double low = -0.75, high = 1.25, slope = 0.25, elu = 0.5, softplus = 1.5, swish = 2;
static double forward(int mode, double x)
{
    const double cubic = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
    switch (mode) {
    case CUDNN_POINTWISE_RELU_FWD: return x < low ? low + slope * (x - low) : x > high ? high : x;
    case CUDNN_POINTWISE_TANH_FWD: return tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD: return 1 / (1 + exp(-x));
    case CUDNN_POINTWISE_ELU_FWD: return x > 0 ? x : elu * (exp(x) - 1);
    case CUDNN_POINTWISE_GELU_FWD: return 0.5 * x * (1 + erf(x / sqrt(2)));
    case CUDNN_POINTWISE_SOFTPLUS_FWD: return log(1 + exp(softplus * x)) / softplus;
    case CUDNN_POINTWISE_SWISH_FWD: return x / (1 + exp(-swish * x));
    default: return 0.5 * x * (1 + tanh(cubic));
    }
}
static const struct {
    int mode, operands;
} modes[] = {{CUDNN_POINTWISE_ADD, 2},          {CUDNN_POINTWISE_ADD_SQUARE, 2},
             {CUDNN_POINTWISE_DIV, 2},          {CUDNN_POINTWISE_MAX, 2},
             {CUDNN_POINTWISE_MIN, 2},          {CUDNN_POINTWISE_MOD, 2},
             {CUDNN_POINTWISE_MUL, 2},          {CUDNN_POINTWISE_POW, 2},
             {CUDNN_POINTWISE_SUB, 2},          {CUDNN_POINTWISE_ATAN2, 2},
             {CUDNN_POINTWISE_ABS, 1},          {CUDNN_POINTWISE_CEIL, 1},
             {CUDNN_POINTWISE_COS, 1},          {CUDNN_POINTWISE_EXP, 1},
             {CUDNN_POINTWISE_FLOOR, 1},        {CUDNN_POINTWISE_LOG, 1},
             {CUDNN_POINTWISE_NEG, 1},          {CUDNN_POINTWISE_RSQRT, 1},
             {CUDNN_POINTWISE_SIN, 1},          {CUDNN_POINTWISE_SQRT, 1},
             {CUDNN_POINTWISE_TAN, 1},          {CUDNN_POINTWISE_ERF, 1},
             {CUDNN_POINTWISE_IDENTITY, 1},     {CUDNN_POINTWISE_RECIPROCAL, 1},
             {CUDNN_POINTWISE_RELU_FWD, 1},     {CUDNN_POINTWISE_TANH_FWD, 1},
             {CUDNN_POINTWISE_SIGMOID_FWD, 1},  {CUDNN_POINTWISE_ELU_FWD, 1},
             {CUDNN_POINTWISE_GELU_FWD, 1},     {CUDNN_POINTWISE_SOFTPLUS_FWD, 1},
             {CUDNN_POINTWISE_SWISH_FWD, 1},    {CUDNN_POINTWISE_GELU_APPROX_TANH_FWD, 1},
             {CUDNN_POINTWISE_RELU_BWD, 2},     {CUDNN_POINTWISE_TANH_BWD, 2},
             {CUDNN_POINTWISE_SIGMOID_BWD, 2},  {CUDNN_POINTWISE_ELU_BWD, 2},
             {CUDNN_POINTWISE_GELU_BWD, 2},     {CUDNN_POINTWISE_SOFTPLUS_BWD, 2},
             {CUDNN_POINTWISE_SWISH_BWD, 2},    {CUDNN_POINTWISE_GELU_APPROX_TANH_BWD, 2},
             {CUDNN_POINTWISE_CMP_EQ, 2},       {CUDNN_POINTWISE_CMP_NEQ, 2},
             {CUDNN_POINTWISE_CMP_GT, 2},       {CUDNN_POINTWISE_CMP_GE, 2},
             {CUDNN_POINTWISE_CMP_LT, 2},       {CUDNN_POINTWISE_CMP_LE, 2},
             {CUDNN_POINTWISE_LOGICAL_AND, 2},  {CUDNN_POINTWISE_LOGICAL_OR, 2},
             {CUDNN_POINTWISE_LOGICAL_NOT, 1},  {CUDNN_POINTWISE_GEN_INDEX, 1},
             {CUDNN_POINTWISE_BINARY_SELECT, 3}};
static double value_of(int mode, double x, double b, double t, int index)
{
    if (mode >= CUDNN_POINTWISE_RELU_BWD && mode <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD) {
        int f = mode - CUDNN_POINTWISE_RELU_BWD + CUDNN_POINTWISE_RELU_FWD;
        return x * (forward(f, b + 1e-6) - forward(f, b - 1e-6)) / 2e-6;
    }
    switch (mode) {
    case CUDNN_POINTWISE_ADD: return x + b;
    case CUDNN_POINTWISE_ADD_SQUARE: return x + b * b;
    case CUDNN_POINTWISE_DIV: return x / b;
    case CUDNN_POINTWISE_MAX: return x > b ? x : b;
    case CUDNN_POINTWISE_MIN: return x < b ? x : b;
    case CUDNN_POINTWISE_MOD: return x - b * trunc(x / b);
    case CUDNN_POINTWISE_MUL: return x * b;
    case CUDNN_POINTWISE_POW: return pow(x, b);
    case CUDNN_POINTWISE_SUB: return x - b;
    case CUDNN_POINTWISE_ATAN2: return atan2(x, b);
    case CUDNN_POINTWISE_ABS: return fabs(x);
    case CUDNN_POINTWISE_CEIL: return ceil(x);
    case CUDNN_POINTWISE_COS: return cos(x);
    case CUDNN_POINTWISE_EXP: return exp(x);
    case CUDNN_POINTWISE_FLOOR: return floor(x);
    case CUDNN_POINTWISE_LOG: return log(x);
    case CUDNN_POINTWISE_NEG: return -x;
    case CUDNN_POINTWISE_RSQRT: return 1 / sqrt(x);
    case CUDNN_POINTWISE_SIN: return sin(x);
    case CUDNN_POINTWISE_SQRT: return sqrt(x);
    case CUDNN_POINTWISE_TAN: return tan(x);
    case CUDNN_POINTWISE_ERF: return erf(x);
    case CUDNN_POINTWISE_IDENTITY: return x;
    case CUDNN_POINTWISE_RECIPROCAL: return 1 / x;
    case CUDNN_POINTWISE_CMP_EQ: return x == b;
    case CUDNN_POINTWISE_CMP_NEQ: return x != b;
    case CUDNN_POINTWISE_CMP_GT: return x > b;
    case CUDNN_POINTWISE_CMP_GE: return x >= b;
    case CUDNN_POINTWISE_CMP_LT: return x < b;
    case CUDNN_POINTWISE_CMP_LE: return x <= b;
    case CUDNN_POINTWISE_LOGICAL_AND: return x != 0 && b != 0;
    case CUDNN_POINTWISE_LOGICAL_OR: return x != 0 || b != 0;
    case CUDNN_POINTWISE_LOGICAL_NOT: return x == 0;
    case CUDNN_POINTWISE_GEN_INDEX: return index;
    case CUDNN_POINTWISE_BINARY_SELECT: return t != 0 ? x : b;
    default: return forward(mode, x);
    }
}
static desc settings(int mode)
{
    desc d = create(KIND(POINTWISE));
    set_enum(d, A(POINTWISE_MODE), TYPE(POINTWISE_MODE), mode);
    set_enum(d, A(POINTWISE_MATH_PREC), TYPE(DATA_TYPE), F32);
    const struct {
        int name;
        double v;
    } all[] = {{A(POINTWISE_RELU_LOWER_CLIP), low}, {A(POINTWISE_RELU_UPPER_CLIP), high},
               {A(POINTWISE_ELU_ALPHA), elu},       {A(POINTWISE_RELU_LOWER_CLIP_SLOPE), slope},
               {A(POINTWISE_SWISH_BETA), swish},    {A(POINTWISE_SOFTPLUS_BETA), softplus}};
    for (int i = 0; i < 6; i++) {
        float f = (float)all[i].v;
        if (upto(2))
            set(d, all[i].name, TYPE(DOUBLE), 1, &all[i].v);
        else
            set(d, all[i].name, TYPE(FLOAT), 1, &f);
    }
    if (mode == CUDNN_POINTWISE_GEN_INDEX)
        set_int(d, A(POINTWISE_AXIS), 2);
    OK(finalize(d));
    return d;
}
/* Rounded as the types of whole numbers and of few bits are. */
static double stored(int type, double v)
{
    if (type == I8 || type == U8 || type == I32) {
        double least = type == I8   ? -128
                       : type == U8 ? 0
                                    : -0x1p31,
               most = type == I8   ? 127
                      : type == U8 ? 255
                                   : 0x1p31 - 1;
        v = isnan(v) ? 0 : rint(v);
        return v < least ? least : v > most ? most : v;
    }
    return type == BOOL                   ? v != 0
           : type == E4M3 || type == E5M2 ? eighth(to_eighth(v, type), type)
           : type == BF16                 ? half(to_half(v, 7), 7)
           : type == F32                  ? (double)(float)v
                                          : v;
}
static void mode(unsigned m, int type, int result)
{
    const int how = modes[m].mode, dim[] = {1 + upto(3), 1 + upto(3), 1 + upto(6), 1 + upto(6)};
    const bool back = how >= CUDNN_POINTWISE_RELU_BWD && how <= CUDNN_POINTWISE_GELU_APPROX_TANH_BWD;
    int small[4];
    for (int i = 0; i < 4; i++)
        small[i] = upto(3) ? dim[i] : 1;
    struct tensor x = plain(type, 4, dim), b = plain(type, 4, small), t = plain(BOOL, 4, upto(2) ? dim : small);
    struct tensor y = plain(result, 4, dim);
    double *want = calloc((size_t)count(&y), sizeof *want);
    for (int i = 0; i < count(&b); i++) /* no quotient by 0, no edge of a slope */
        b.v[i] = b.v[i] == 0 ? 1 : b.v[i] == low || b.v[i] == high ? 0.5 : b.v[i];
    upload(&b);
    for (int i = 0; i < count(&y); i++) {
        int index[4];
        unravel(dim, 4, i, index);
        want[i] = stored(result,
                         value_of(how, x.v[i], b.v[ravel(small, 4, index)], t.v[ravel(t.dim, 4, index)], index[2]));
    }
    desc d = create(KIND(OPERATION_POINTWISE));
    set_desc(d, A(OPERATION_POINTWISE_PW_DESCRIPTOR), settings(how));
    set_desc(d, back ? A(OPERATION_POINTWISE_DYDESC) : A(OPERATION_POINTWISE_XDESC), of(&x, 1));
    if (modes[m].operands > 1)
        set_desc(d, back ? A(OPERATION_POINTWISE_XDESC) : A(OPERATION_POINTWISE_BDESC), of(&b, 2));
    if (modes[m].operands > 2)
        set_desc(d, A(OPERATION_POINTWISE_TDESC), of(&t, 4));
    set_desc(d, back ? A(OPERATION_POINTWISE_DXDESC) : A(OPERATION_POINTWISE_YDESC), of(&y, 3));
    OK(finalize(d));
    char what[64];
    snprintf(what, sizeof what, "mode %d of type %d", how, type);
    if (run_graph(1, &d, 4, (int64_t[]){1, 2, 3, 4}, (void *[]){x.at, b.at, y.at, t.at}))
        same(&y, want, 1, what);
    destroy_all();
    free(want);
    drop(&x), drop(&b), drop(&t), drop(&y);
}
/* Numbers of all sizes become numbers of few bits: the nearest, bounded. */
static void narrowing(int result)
{
    struct tensor x = make(F32, 4, (int[]){1, 3, 9, 31}, 0, false, false), y = make(result, 4, x.dim, 0, false, false);
    double *want = calloc((size_t)count(&y), sizeof *want);
    for (int i = 0; i < count(&x); i++)
        x.v[i] = ldexp(upto(1 << 20) - (1 << 19), -upto(36));
    upload(&x);
    for (int i = 0; i < count(&x); i++)
        want[i] = stored(result, x.v[i]);
    desc op = apply(CUDNN_POINTWISE_IDENTITY, of(&x, 1), NULL, of(&y, 2));
    if (run_graph(1, &op, 2, (int64_t[]){1, 2}, (void *[]){x.at, y.at})) {
        unsigned char now[3 * 9 * 31 * 8];
        OK(cudaMemcpy(now, y.at, y.size * bytes(result), 2));
        for (int i = 0; i < count(&y); i++)
            EXPECT(get(now, result, (size_t)i) == want[i], "%g as type %d: %g, not %g", x.v[i], result,
                   get(now, result, (size_t)i), want[i]);
    }
    destroy_all();
    free(want);
    drop(&x), drop(&y);
}

/* ---- windows ----------------------------------------------------------------------------------- */

struct windows {
    int mode, padding, n, window[3], pre[3], post[3], stride[3];
};
static desc window_desc(const struct windows *w)
{
    desc d = create(KIND(RESAMPLE));
    const int *from[] = {w->window, w->pre, w->post, w->stride};
    const int names[] = {A(RESAMPLE_WINDOW_DIMS), A(RESAMPLE_PRE_PADDINGS), A(RESAMPLE_POST_PADDINGS),
                         A(RESAMPLE_STRIDES)};
    set_enum(d, A(RESAMPLE_MODE), TYPE(RESAMPLE_MODE), w->mode);
    set_enum(d, A(RESAMPLE_COMP_TYPE), TYPE(DATA_TYPE), F32);
    set_enum(d, A(RESAMPLE_NAN_PROPAGATION), TYPE(NAN_PROPOGATION), CUDNN_PROPAGATE_NAN);
    set_enum(d, A(RESAMPLE_PADDING_MODE), TYPE(PADDING_MODE), w->padding);
    set_int(d, A(RESAMPLE_SPATIAL_DIMS), w->n);
    for (int i = 0; i < 4; i++) {
        int64_t v[3][2];
        for (int k = 0; k < w->n; k++)
            v[k][0] = from[i][k], v[k][1] = 1;
        set(d, names[i], TYPE(FRACTION), w->n, v);
    }
    return d;
}
static void windows(int type)
{
    static const int all[] = {CUDNN_RESAMPLE_MAXPOOL, CUDNN_RESAMPLE_AVGPOOL, CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING};
    struct windows w = {.mode = all[upto(3)], .n = 1 + upto(3)};
    const bool most = w.mode == CUDNN_RESAMPLE_MAXPOOL, indexed = most && upto(2);
    w.padding = most ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD;
    int x[5] = {1 + upto(2), 1 + upto(3)}, y[5] = {x[0], x[1]}, taps = 1, planes = x[0] * x[1], out = 1;
    for (int i = 0; i < w.n; i++) {
        w.window[i] = 1 + upto(3);
        w.pre[i] = upto(w.window[i]), w.post[i] = upto(w.window[i]);
        w.stride[i] = 1 + upto(3);
        x[i + 2] = w.window[i] + upto(5);
        y[i + 2] = (x[i + 2] + w.pre[i] + w.post[i] - w.window[i]) / w.stride[i] + 1;
        taps *= w.window[i], out *= y[i + 2];
    }
    struct tensor tx = plain(type, w.n + 2, x), ty = plain(type, w.n + 2, y), dy = plain(type, w.n + 2, y);
    struct tensor dx = plain(type, w.n + 2, x), index = plain(I32, w.n + 2, y);
    double *wy = calloc((size_t)count(&ty), sizeof *wy), *wdx = calloc((size_t)count(&tx), sizeof *wdx);
    double *wi = calloc((size_t)count(&ty), sizeof *wi);
    for (int i = 0; i < planes * out; i++) {
        int at[5], cell[27], inside = 0, best = -1;
        unravel(ty.dim, ty.n, i, at);
        for (int tap = 0; tap < taps; tap++) {
            int rest = tap, place[5] = {at[0], at[1]};
            bool good = true;
            for (int k = w.n - 1; k >= 0; rest /= w.window[k], k--) {
                place[k + 2] = at[k + 2] * w.stride[k] - w.pre[k] + rest % w.window[k];
                good &= place[k + 2] >= 0 && place[k + 2] < x[k + 2];
            }
            cell[tap] = good ? ravel(tx.dim, tx.n, place) : -1;
            inside += cell[tap] >= 0;
            wy[i] += cell[tap] >= 0 && !most ? tx.v[cell[tap]] : 0;
            if (cell[tap] >= 0 && (best < 0 || tx.v[cell[tap]] > tx.v[cell[best]]))
                best = tap;
        }
        double each = w.mode == CUDNN_RESAMPLE_AVGPOOL ? taps : inside ? inside : 1;
        wy[i] = most ? (best < 0 ? -INFINITY : tx.v[cell[best]]) : wy[i] / each;
        wi[i] = best < 0 ? 0 : best;
        for (int tap = 0; tap < taps; tap++)
            if (cell[tap] >= 0 && (!most || tap == best))
                wdx[cell[tap]] += dy.v[i] / (most ? 1 : each);
    }
    desc shape = window_desc(&w), f = create(KIND(OPERATION_RESAMPLE_FWD)), b = create(KIND(OPERATION_RESAMPLE_BWD));
    OK(finalize(shape));
    set_desc(f, A(OPERATION_RESAMPLE_FWD_DESC), shape);
    set_desc(f, A(OPERATION_RESAMPLE_FWD_XDESC), of(&tx, 1));
    set_desc(f, A(OPERATION_RESAMPLE_FWD_YDESC), of(&ty, 2));
    set_desc(f, A(OPERATION_RESAMPLE_FWD_IDXDESC), indexed ? of(&index, 3) : NULL);
    OK(finalize(f));
    int64_t uid[] = {1, 2, 3, 4, 5};
    void *at[] = {tx.at, ty.at, index.at, dy.at, dx.at};
    if (run_graph(1, &f, 5, uid, at)) {
        same(&ty, wy, 1, "windows");
        if (indexed)
            same(&index, wi, 0, "the greatest's places");
    }
    set_desc(b, A(OPERATION_RESAMPLE_BWD_DESC), shape);
    set_desc(b, A(OPERATION_RESAMPLE_BWD_DYDESC), of(&dy, 4));
    set_desc(b, A(OPERATION_RESAMPLE_BWD_DXDESC), of(&dx, 5));
    set_desc(b, A(OPERATION_RESAMPLE_BWD_IDXDESC), indexed ? of(&index, 3) : NULL);
    set_desc(b, A(OPERATION_RESAMPLE_BWD_XDESC), most && !indexed ? of(&tx, 1) : NULL);
    OK(finalize(b));
    if (run_graph(1, &b, 5, uid, at))
        same(&dx, wdx, 4, "windows' gradient");
    destroy_all();
    free(wy), free(wdx), free(wi);
    drop(&tx), drop(&ty), drop(&dy), drop(&dx), drop(&index);
}
/* Between elements nobody here computes. */
static void interpolations(void)
{
    for (int m = 0; m < 2; m++) {
        struct windows w = {m ? CUDNN_RESAMPLE_BILINEAR : CUDNN_RESAMPLE_NEAREST,
                            CUDNN_EDGE_VAL_PAD,
                            2,
                            {2, 2},
                            {0, 0},
                            {1, 1},
                            {1, 1}};
        desc shape = window_desc(&w), d = create(KIND(OPERATION_RESAMPLE_FWD));
        OK(finalize(shape));
        set_desc(d, A(OPERATION_RESAMPLE_FWD_DESC), shape);
        set_desc(d, A(OPERATION_RESAMPLE_FWD_XDESC), describe(1, F32, 4, (int[]){1, 1, 4, 4}, NULL, REAL));
        set_desc(d, A(OPERATION_RESAMPLE_FWD_YDESC), describe(2, F32, 4, (int[]){1, 1, 4, 4}, NULL, REAL));
        IS(finalize(d) / 1000 * 1000, UNSUPPORTED);
    }
    destroy_all();
}

/* ---- random numbers ---------------------------------------------------------------------------- */

static void draw(int how, double a, double b, int64_t seed_at, struct tensor *seed, struct tensor *offset,
                 struct tensor *y, double *to)
{
    static const int names[][2] = {{A(RNG_BERNOULLI_DIST_PROBABILITY), 0},
                                   {A(RNG_UNIFORM_DIST_MINIMUM), A(RNG_UNIFORM_DIST_MAXIMUM)},
                                   {A(RNG_NORMAL_DIST_MEAN), A(RNG_NORMAL_DIST_STANDARD_DEVIATION)}};
    desc r = create(KIND(RNG)), d = create(KIND(OPERATION_RNG));
    set_enum(r, A(RNG_DISTRIBUTION), TYPE(RNG_DISTRIBUTION), how);
    set(r, names[how][0], TYPE(DOUBLE), 1, &a);
    if (names[how][1])
        set(r, names[how][1], TYPE(DOUBLE), 1, &b);
    OK(finalize(r));
    set_desc(d, A(OPERATION_RNG_DESC), r);
    set_desc(d, A(OPERATION_RNG_YDESC), of(y, 1));
    if (seed)
        set_desc(d, A(OPERATION_RNG_SEED), of(seed, 2));
    else
        set_int(d, A(OPERATION_RNG_SEED), seed_at);
    set_desc(d, A(OPERATION_RNG_OFFSET_DESC), offset ? of(offset, 3) : NULL);
    OK(finalize(d));
    if (run_graph(1, &d, 3, (int64_t[]){1, 2, 3},
                  (void *[]){y->at, seed ? seed->at : y->at, offset ? offset->at : y->at})) {
        char *host = malloc(y->size * 8);
        OK(cudaMemcpy(host, y->at, y->size * bytes(y->type), 2));
        for (int i = 0; i < count(y); i++)
            to[i] = get(host, y->type, place(y, i));
        free(host);
    }
    destroy_all();
}
static void random_numbers(int how)
{
    const double a = how == 0 ? 0.3 : how == 1 ? -1 : 2, b = how == 0 ? 0 : 3, n = 40 * 400;
    const double mean = how == 1 ? 1 : a, variance = how == 0 ? a * (1 - a) : how == 1 ? 16.0 / 12 : b * b;
    struct tensor y = make(F32, 4, (int[]){1, 4, 10, 400}, upto(2), true, false),
                  z = make(I64, 4, (int[]){1, 1, 1, 1}, 0, false, false);
    double *v[4], sum = 0, squares = 0;
    bool differ[4] = {false};
    for (int k = 0; k < 4; k++)
        v[k] = calloc((size_t)n, sizeof(double));
    z.v[0] = 77;
    upload(&z);
    draw(how, a, b, 77, NULL, NULL, &y, v[0]);
    draw(how, a, b, 0, &z, NULL, &y, v[1]); /* the same seed, in memory */
    draw(how, a, b, 78, NULL, NULL, &y, v[2]);
    draw(how, a, b, 77, NULL, &z, &y, v[3]);
    for (int i = 0; i < (int)n; i++) {
        sum += v[0][i], squares += (v[0][i] - mean) * (v[0][i] - mean);
        for (int k = 1; k < 4; k++)
            differ[k] |= v[k][i] != v[0][i];
        EXPECT(how == 0 ? v[0][i] == 0 || v[0][i] == 1 : how == 2 || (v[0][i] >= a && v[0][i] <= b), "%g drawn",
               v[0][i]);
    }
    /* five deviations; of a variance's own deviation at most sqrt(2 / n) of it */
    EXPECT(fabs(sum / n - mean) < 5 * sqrt(variance / n), "mean %g, not %g", sum / n, mean);
    EXPECT(fabs(squares / n / variance - 1) < 5 * sqrt(2 / n), "variance %g, not %g", squares / n, variance);
    EXPECT(!differ[1] && differ[2] && differ[3], "seeds: %d %d %d", differ[1], differ[2], differ[3]);
    for (int k = 0; k < 4; k++)
        free(v[k]);
    drop(&y), drop(&z);
}

/* ---- statistics -------------------------------------------------------------------------------- */

/* Batch normalisation of parts: sums, what follows from them, the normalised, and back to the gradient of x. */
static void statistics(int type)
{
    const int dim[] = {2 + upto(2), 1 + upto(5), 1 + upto(4), 2 + upto(4)}, one[] = {1, dim[1], 1, 1};
    const int per = dim[2] * dim[3], c = dim[1], each = dim[0] * per;
    enum {
        SUM = 3,
        SQUARE,
        SCALE,
        BIAS,
        OLD,
        OLDVAR,
        NEW,
        NEWVAR,
        MEAN,
        INVERSE,
        EQS,
        EQB,
        DSCALE,
        DBIAS,
        EQDY,
        EQX,
        EQC,
        ALL
    };
    struct tensor x = plain(type, 4, dim), dy = plain(type, 4, dim), t[ALL];
    double want[ALL][8] = {{0}}, gx[8] = {0}, g[8] = {0}, *dx = calloc((size_t)count(&x), sizeof *dx);
    float epsilon = 0.5f, factor = 0.25f;
    int64_t n = each, uid[ALL + 3];
    void *at[ALL + 3];
    for (int i = 0; i < ALL; i++)
        t[i] = make(F32, 4, one, 0, false, false);
    for (int i = 0; i < ALL + 3; i++)
        uid[i] = i + 1, at[i] = i < ALL ? t[i].at : NULL;
    at[0] = x.at, at[1] = dy.at, at[ALL] = &epsilon, at[ALL + 1] = &factor, at[ALL + 2] = &n;
    for (int i = 0; i < count(&x); i++) {
        want[SUM][i / per % c] += x.v[i];
        want[SQUARE][i / per % c] += x.v[i] * x.v[i];
    }
    for (int k = 0; k < c; k++) {
        double mean = want[SUM][k] / each, var = want[SQUARE][k] / each - mean * mean;
        want[MEAN][k] = mean;
        want[INVERSE][k] = 1 / sqrt(var + epsilon);
        want[EQS][k] = t[SCALE].v[k] * want[INVERSE][k];
        want[EQB][k] = t[BIAS].v[k] - mean * want[EQS][k];
        want[NEW][k] = 0.75 * t[OLD].v[k] + 0.25 * mean;
        want[NEWVAR][k] = 0.75 * t[OLDVAR].v[k] + 0.25 * var * each / (each - 1);
    }
    for (int i = 0; i < count(&x); i++) {
        int k = i / per % c;
        double hat = (x.v[i] - want[MEAN][k]) * want[INVERSE][k];
        want[DSCALE][k] += dy.v[i] * hat;
        want[DBIAS][k] += dy.v[i];
        g[k] += dy.v[i] / each;
        gx[k] += dy.v[i] * hat / each;
    }
    desc s = create(KIND(OPERATION_GEN_STATS)), f = create(KIND(OPERATION_BN_FINALIZE_STATISTICS));
    desc w = create(KIND(OPERATION_BN_BWD_WEIGHTS));
    set_enum(s, A(OPERATION_GENSTATS_MODE), TYPE(GENSTATS_MODE), CUDNN_GENSTATS_SUM_SQSUM);
    set_enum(s, A(OPERATION_GENSTATS_MATH_PREC), TYPE(DATA_TYPE), F32);
    set_desc(s, A(OPERATION_GENSTATS_XDESC), of(&x, 1));
    set_desc(s, A(OPERATION_GENSTATS_SUMDESC), of(&t[SUM], SUM + 1));
    set_desc(s, A(OPERATION_GENSTATS_SQSUMDESC), of(&t[SQUARE], SQUARE + 1));
    OK(finalize(s));
    set_enum(f, A(OPERATION_BN_FINALIZE_STATS_MODE), TYPE(BN_FINALIZE_STATS_MODE),
             CUDNN_BN_FINALIZE_STATISTICS_TRAINING);
    set_enum(f, A(OPERATION_BN_FINALIZE_MATH_PREC), TYPE(DATA_TYPE), F32);
    static const int names[] = {A(OPERATION_BN_FINALIZE_Y_SUM_DESC),
                                A(OPERATION_BN_FINALIZE_Y_SQ_SUM_DESC),
                                A(OPERATION_BN_FINALIZE_SCALE_DESC),
                                A(OPERATION_BN_FINALIZE_BIAS_DESC),
                                A(OPERATION_BN_FINALIZE_PREV_RUNNING_MEAN_DESC),
                                A(OPERATION_BN_FINALIZE_PREV_RUNNING_VAR_DESC),
                                A(OPERATION_BN_FINALIZE_UPDATED_RUNNING_MEAN_DESC),
                                A(OPERATION_BN_FINALIZE_UPDATED_RUNNING_VAR_DESC),
                                A(OPERATION_BN_FINALIZE_SAVED_MEAN_DESC),
                                A(OPERATION_BN_FINALIZE_SAVED_INV_STD_DESC),
                                A(OPERATION_BN_FINALIZE_EQ_SCALE_DESC),
                                A(OPERATION_BN_FINALIZE_EQ_BIAS_DESC)};
    for (int i = 0; i < 12; i++)
        set_desc(f, names[i], of(&t[SUM + i], SUM + i + 1));
    set_desc(f, A(OPERATION_BN_FINALIZE_EPSILON_DESC), scalar_of(ALL + 1, F32, 4));
    set_desc(f, A(OPERATION_BN_FINALIZE_EXP_AVERATE_FACTOR_DESC), scalar_of(ALL + 2, F32, 4));
    set_desc(f, A(OPERATION_BN_FINALIZE_ACCUM_COUNT_DESC), scalar_of(ALL + 3, I64, 4));
    OK(finalize(f));
    set_enum(w, A(OPERATION_BN_BWD_WEIGHTS_MATH_PREC), TYPE(DATA_TYPE), F32);
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_X_DESC), of(&x, 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_DY_DESC), of(&dy, 2));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_MEAN_DESC), of(&t[MEAN], MEAN + 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_INVSTD_DESC), of(&t[INVERSE], INVERSE + 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_BN_SCALE_DESC), of(&t[SCALE], SCALE + 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_DBN_SCALE_DESC), of(&t[DSCALE], DSCALE + 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_DBN_BIAS_DESC), of(&t[DBIAS], DBIAS + 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_EQ_DY_SCALE_DESC), of(&t[EQDY], EQDY + 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_EQ_X_SCALE_DESC), of(&t[EQX], EQX + 1));
    set_desc(w, A(OPERATION_BN_BWD_WEIGHTS_EQ_BIAS), of(&t[EQC], EQC + 1));
    OK(finalize(w));
    if (run_graph(3, (desc[]){w, f, s}, ALL + 3, uid, at)) {
        for (int i = SUM; i < EQDY; i++)
            if (i < SCALE || i > OLDVAR)
                same(&t[i], want[i], 8, "statistics");
        float eq[3][8];
        for (int i = 0; i < 3; i++)
            OK(cudaMemcpy(eq[i], t[EQDY + i].at, sizeof(float) * (size_t)c, 2));
        for (int i = 0; i < count(&x); i++) {
            int k = i / per % c;
            double hat = (x.v[i] - want[MEAN][k]) * want[INVERSE][k];
            double right = want[EQS][k] * (dy.v[i] - g[k] - hat * gx[k]);
            double got = eq[0][k] * dy.v[i] + eq[1][k] * x.v[i] + eq[2][k];
            EXPECT(fabs(got - right) < 1e-4 * (1 + fabs(right)), "gradient by parts: %g, not %g", got, right);
        }
    }
    destroy_all();
    free(dx);
    for (int i = 0; i < ALL; i++)
        drop(&t[i]);
    drop(&x), drop(&dy);
}

/* ---- pages ------------------------------------------------------------------------------------- */

/* A cache of pages in any order, as a matrix of each head or its transpose; entries beyond a length are rubbish. */
static void pages(int type)
{
    int b = 1 + upto(3), h = 1 + upto(3), d = 1 + upto(5), page = 1 + upto(4), entries = 1 + upto(4),
        all = entries * b + 2;
    int s = page * entries - upto(page), turned = upto(2);
    struct tensor cache = plain(type, 4, (int[]){all, h, page, d}), table = plain(I32, 4, (int[]){b, 1, entries, 1});
    struct tensor lengths = make(I32, 4, (int[]){b, 1, 1, 1}, 0, false, false);
    struct tensor y = make(type, 4, (int[]){b, h, s, d}, 0, false, false);
    double *want = calloc((size_t)count(&y), sizeof *want);
    for (int i = 0; i < b; i++) {
        lengths.v[i] = upto(s + 1);
        for (int e = 0; e < entries; e++)
            table.v[i * entries + e] = e * page < lengths.v[i] ? upto(all) : upto(2) ? -1 : 1 << 30;
    }
    upload(&lengths), upload(&table);
    if (turned) {
        int dim[] = {b, h, d, s}, stride[] = {h * s * d, s * d, 1, d};
        memcpy(y.dim, dim, sizeof dim), memcpy(y.stride, stride, sizeof stride);
    }
    for (int i = 0; i < count(&y); i++) {
        int at[4];
        unravel(y.dim, 4, i, at);
        int k = at[turned ? 3 : 2], e = at[turned ? 2 : 3];
        if (k < lengths.v[at[0]])
            want[i] = cache.v[(((int)table.v[at[0] * entries + k / page] * h + at[1]) * page + k % page) * d + e];
    }
    desc op = create(KIND(OPERATION_PAGED_CACHE_LOAD));
    set_desc(op, A(OPERATION_PAGED_CACHE_LOAD_CONTAINER_DESC), of(&cache, 1));
    set_desc(op, A(OPERATION_PAGED_CACHE_LOAD_PAGE_TABLE_DESC), of(&table, 2));
    set_desc(op, A(OPERATION_PAGED_CACHE_LOAD_SEQUENCE_DESC), of(&lengths, 3));
    set_desc(op, A(OPERATION_PAGED_CACHE_LOAD_YDESC), of(&y, 4));
    OK(finalize(op));
    if (run_graph(1, &op, 4, (int64_t[]){1, 2, 3, 4}, (void *[]){cache.at, table.at, lengths.at, y.at}))
        same(&y, want, 0, "pages");
    destroy_all();
    free(want);
    drop(&cache), drop(&table), drop(&lengths), drop(&y);
}

int main(void)
{
    static const int types[] = {F32, F16, BF16, F64, E4M3, E5M2, I8, I32, U8}, results[] = {F32, F64, BF16, E4M3, I8};
    OK(cudnnCreate(&handle));
    for (unsigned m = 0; m < sizeof modes / sizeof *modes; m++)
        for (int i = 0; i < 4; i++)
            mode(m, types[i ? upto(9) : 0], i < 3 || modes[m].mode / 100 == 2 ? F32 : results[upto(2)]);
    for (int i = 0; i < 5; i++)
        narrowing(results[i]);
    narrowing(E5M2), narrowing(U8), narrowing(I32);
    for (int i = 0; i < 60; i++)
        windows(types[i % 4]);
    interpolations();
    for (int i = 0; i < 3; i++)
        random_numbers(i);
    for (int i = 0; i < 12; i++)
        statistics(types[i % 4]);
    for (int i = 0; i < 40; i++)
        pages(types[i % 6]);
    OK(cudnnDestroy(handle));
    return check_end("pieces");
}
