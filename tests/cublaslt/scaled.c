/* cublasLtMatmul of factors that are scaled by vectors or blocks (nvfp4, mxfp8, rows, 128 and 128 x 128 elements)
 * against plain loops over logical scales, which are laid out tile by tile here. */
#include "lt.h"

enum { E2M1 = 33, SCALAR = 0, VEC16, VEC32, OUTER, VEC128, BLK128 };
enum { NOT_SUPPORTED = 15, INVALID = 7 };

/* A factor, its elements by row (of m or n) and k. */
struct factor {
    int type, mode, rows, k, op, order;
    bool along; /* elements of a line lie along k */
    int64_t ld;
    double *value, *scale; /* scale: of each block of a row */
    void *at, *scales_at, *layout;
};

static int per(int mode) { return mode == VEC16 ? 16 : mode == VEC32 ? 32 : 128; }
static int up(int n, int to) { return (n + to - 1) / to * to; }

static double draw_scale(int mode, void *to, size_t i)
{
    if (mode == VEC16) { /* e4m3 without a sign */
        unsigned u = (unsigned)upto(0x7f);
        ((unsigned char *)to)[i] = (unsigned char)u;
        return decode(u, E4M3);
    }
    if (mode == VEC32) {
        unsigned u = (unsigned)(120 + upto(14));
        ((unsigned char *)to)[i] = (unsigned char)u;
        return ldexp(1, (int)u - 127);
    }
    return ((float *)to)[i] = (float)(upto(1000) - 300) / 256;
}

/* Draws the scales in the order in which they lie: what pads them is drawn, too. */
static void draw_scales(struct factor *f)
{
    int blocks = up(f->k, per(f->mode)) / per(f->mode), wide = up(blocks, 4), tall = up(f->rows, 128);
    void *host = calloc((size_t)tall * (size_t)wide + 128, 4);
    size_t n = 0;
    f->scale = calloc((size_t)tall * (size_t)wide, sizeof(double));
#define AT(row, block) f->scale[(row)*wide + (block)]
    switch (f->mode) {
    case VEC16:
    case VEC32:
        for (int down = 0; down < tall; down += 128)
            for (int right = 0; right < wide; right += 4)
                for (int row = 0; row < 32; row++)
                    for (int group = 0; group < 4; group++)
                        for (int block = 0; block < 4; block++)
                            AT(down + 32 * group + row, right + block) = draw_scale(f->mode, host, n++);
        break;
    case OUTER:
        for (int row = 0; row < f->rows; row++) {
            double s = draw_scale(f->mode, host, n++);
            for (int block = 0; block < blocks; block++)
                AT(row, block) = s;
        }
        break;
    case VEC128:
        for (int block = 0; block < blocks; block++)
            for (int row = 0; row < f->rows; row++)
                AT(row, block) = draw_scale(f->mode, host, n++);
        break;
    default:
        for (int down = 0; down < tall; down += 128)
            for (int block = 0; block < wide; block++) {
                double s = draw_scale(f->mode, host, n++);
                for (int row = 0; row < 128; row++)
                    AT(down + row, block) = s;
            }
    }
    f->scales_at = to_device(host, n * 4);
    free(host);
}
static double scale_of(const struct factor *f, int row, int k)
{
    int blocks = up(f->k, per(f->mode)) / per(f->mode);
    return f->scale[row * up(blocks, 4) + k / per(f->mode)];
}

static const double fours[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};

static void draw_factor(struct factor *f, bool transposed)
{
    bool rows_k; /* the matrix's rows are along k */
    f->order = upto(2);
    f->along = f->type == E2M1 || upto(2);
    rows_k = f->along == (f->order == COL);
    f->op = transposed != rows_k; /* of a plain A columns are along k, of a plain B rows */
    int lines = f->along ? f->rows : f->k, length = f->along ? f->k : f->rows;
    f->ld = length + 2 * upto(3);
    if (f->type == E2M1)
        f->ld = up((int)f->ld, 2);
    size_t n = (size_t)f->ld * (size_t)lines;
    unsigned char *host = calloc(n + 1, 1);
    f->value = calloc((size_t)f->rows * (size_t)f->k, sizeof(double));
    for (int row = 0; row < f->rows; row++)
        for (int k = 0; k < f->k; k++) {
            size_t at = (size_t)(f->along ? row * f->ld + k : k * f->ld + row);
            double *v = &f->value[row * f->k + k];
            if (f->type == E2M1) {
                unsigned u = (unsigned)upto(16);
                *v = u & 8 ? -fours[u & 7] : fours[u & 7];
                host[at / 2] |= (unsigned char)(u << at % 2 * 4);
            } else {
                *v = creal(element(f->type));
                put(host, f->type, at, *v);
            }
        }
    f->at = to_device(host, n + 1);
    OK(cublasLtMatrixLayoutCreate(&f->layout, f->type, (uint64_t)(rows_k ? f->k : f->rows),
                                  (uint64_t)(rows_k ? f->rows : f->k), f->ld));
    OK(cublasLtMatrixLayoutSetAttribute(f->layout, 1, &f->order, 4));
    free(host);
    draw_scales(f);
}
static void drop_factor(struct factor *f)
{
    OK(cublasLtMatrixLayoutDestroy(f->layout));
    cudaFree(f->at), cudaFree(f->scales_at);
    free(f->value), free(f->scale);
}

static void set(void *desc, int id, V value, size_t size) { OK(cublasLtMatmulDescSetAttribute(desc, id, value, size)); }
#define SET(id, T, value) set(desc, id, &(T){value}, sizeof(T))

static void try(const char *name, int a_type, int b_type, int a_mode, int b_mode)
{
    static const int outs[] = {F16, BF16, F32};
    int m = upto(200) + 1, n = upto(200) + 1, k = upto(300) + 1, out = outs[upto(3)], wrong = 0;
    if (a_type == E2M1)
        k = up(k, 2);
    struct factor a = {a_type, a_mode, m, k, .ld = 0}, b = {b_type, b_mode, n, k, .ld = 0};
    struct matrix c = matrix(out, upto(2), m, n, 1, false), d = matrix(out, upto(2), m, n, 1, false);
    float alpha = 0.0078125f, beta = (float)upto(2), bias[256];
    int epilogue = upto(2) ? 4 : 1;
    void *desc, *bias_at;
    draw_factor(&a, false);
    draw_factor(&b, true);
    upload(&c), upload(&d);
    for (int i = 0; i < m; i++)
        bias[i] = (float)upto(16);
    bias_at = to_device(bias, sizeof bias);
    OK(cublasLtMatmulDescCreate(&desc, 68, F32));
    SET(3, int, a.op);
    SET(4, int, b.op);
    SET(7, int, epilogue);
    SET(8, void *, bias_at);
    SET(26, int, F32);
    SET(17, void *, a.scales_at);
    SET(18, void *, b.scales_at);
    SET(31, int, a_mode);
    SET(32, int, b_mode);
    OK(cublasLtMatmul(handle, desc, &alpha, a.at, a.layout, b.at, b.layout, &beta, c.at, c.layout, d.at, d.layout, NULL,
                      NULL, 0, NULL));
    OK(cudaStreamSynchronize(NULL));
    char *got = malloc(d.n * bytes(out));
    cudaMemcpy(got, d.at, d.n * bytes(out), 2);
    for (int i = 0; i < m && !wrong; i++)
        for (int j = 0; j < n && !wrong; j++) {
            double sum = 0, size = 0;
            for (int e = 0; e < k; e++) {
                double x = a.value[i * k + e] * scale_of(&a, i, e) * b.value[j * k + e] * scale_of(&b, j, e);
                sum += x, size += fabs(x);
            }
            sum *= alpha;
            double before = beta != 0 ? creal(at(&c, c.host, 0, i, j)) : 0;
            sum += before + (epilogue == 4 ? bias[i] : 0);
            num it = at(&d, got, 0, i, j);
            bool most = out == F16 && fabs(sum) > 65504;
            wrong = !(most || close_to(it, sum, out, 1e-6 * (1 + size)));
            EXPECT(!wrong, "%s: %dx%dx%d ops %d %d orders %d %d: (%d, %d) is %g, not %g", name, m, n, k, a.op, b.op,
                   a.order, b.order, i, j, creal(it), sum);
        }
    free(got);
    OK(cublasLtMatmulDescDestroy(desc));
    cudaFree(bias_at);
    drop_factor(&a), drop_factor(&b), drop(&c), drop(&d);
}

/* What these modes have not: by the same call, and by the choice of an algorithm. */
static void refuse(const char *name, int want, int a_type, int b_type, int out, int a_mode, int b_mode, int ta, int ld,
                   bool scaled)
{
    enum { N = 64 };
    float one = 1;
    void *desc, *pref, *la, *lb, *ld_of, *at = to_device((char[4 *N *N]){0}, (size_t)4 * N * N);
    char results[96];
    int found = 0, c_type = bytes(out) == 1 ? BF16 : out;
    void *lc;
    OK(cublasLtMatmulDescCreate(&desc, 68, F32));
    SET(3, int, ta);
    if (scaled) {
        SET(17, void *, at);
        SET(18, void *, at);
    }
    SET(31, int, a_mode);
    SET(32, int, b_mode);
    OK(cublasLtMatrixLayoutCreate(&la, a_type, N, N, ld));
    OK(cublasLtMatrixLayoutCreate(&lb, b_type, N, N, N));
    OK(cublasLtMatrixLayoutCreate(&lc, c_type, N, N, N));
    OK(cublasLtMatrixLayoutCreate(&ld_of, out, N, N, N));
    int r = cublasLtMatmul(handle, desc, &one, at, la, at, lb, &one, at, lc, (char *)at, ld_of, NULL, NULL, 0, NULL);
    check(r == want, "%s: %d", name, r);
    OK(cublasLtMatmulPreferenceCreate(&pref));
    if (scaled)
        IS(cublasLtMatmulAlgoGetHeuristic(handle, desc, la, lb, lc, ld_of, pref, 1, results, &found), want);
    OK(cublasLtMatmulPreferenceDestroy(pref));
    void *all[] = {la, lb, lc, ld_of};
    for (int i = 0; i < 4; i++)
        OK(cublasLtMatrixLayoutDestroy(all[i]));
    OK(cublasLtMatmulDescDestroy(desc));
    cudaFree(at);
}

int main(void)
{
    if (!opened())
        return 77;
    for (int i = 0; i < 12 && check_failures < 20; i++) {
        try("nvfp4", E2M1, E2M1, VEC16, VEC16);
        try("mxfp8", E4M3, upto(2) ? E5M2 : E4M3, VEC32, VEC32);
        try("rows", upto(2) ? E5M2 : E4M3, E4M3, OUTER, OUTER);
        try("128", E4M3, E4M3, VEC128, VEC128);
        try("128 by blocks", E4M3, E4M3, VEC128, BLK128);
        try("blocks by 128", E4M3, E4M3, BLK128, VEC128);
    }
    refuse("4 bits without block scales", NOT_SUPPORTED, E2M1, E2M1, BF16, SCALAR, SCALAR, 1, 64, true);
    refuse("4 bits by ue8m0", NOT_SUPPORTED, E2M1, E2M1, BF16, VEC32, VEC32, 1, 64, true);
    refuse("4 bits by 8", NOT_SUPPORTED, E2M1, E4M3, BF16, VEC16, VEC16, 1, 64, true);
    refuse("4 bits across k", NOT_SUPPORTED, E2M1, E2M1, BF16, VEC16, VEC16, 0, 64, true);
    refuse("4 bits in lines of whole and a half bytes", INVALID, E2M1, E2M1, BF16, VEC16, VEC16, 1, 65, true);
    refuse("8 bits by ue4m3", NOT_SUPPORTED, E4M3, E4M3, BF16, VEC16, VEC16, 1, 64, true);
    refuse("two modes", NOT_SUPPORTED, E4M3, E4M3, BF16, VEC32, OUTER, 1, 64, true);
    refuse("one mode", NOT_SUPPORTED, E4M3, E4M3, BF16, VEC32, SCALAR, 1, 64, true);
    refuse("blocks by blocks", NOT_SUPPORTED, E4M3, E4M3, BF16, BLK128, BLK128, 1, 64, true);
    refuse("8 bits out of blocks", NOT_SUPPORTED, E4M3, E4M3, E4M3, VEC32, VEC32, 1, 64, true);
    refuse("16 bits by ue8m0", NOT_SUPPORTED, BF16, BF16, BF16, VEC32, VEC32, 1, 64, true);
    refuse("no scales", INVALID, E4M3, E4M3, BF16, VEC32, VEC32, 1, 64, false);
    OK(cublasLtDestroy(handle));
    return check_end("cublasLtMatmul by blocks of scales");
}
