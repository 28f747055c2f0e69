/* cuBLASLt beside its products: transformations, descriptions and their attributes, algorithms, bad input. */
#include "lt.h"

#include <dlfcn.h>

/* ---- transformations --------------------------------------------------------------------------- */

static void transform(void)
{
    static const int types[] = {F32, F16, BF16, I8, I32, F64, E4M3, C32, C64};
    int in = types[upto(9)], out = types[upto(9)];
    if (is_complex(in) != is_complex(out))
        return;
    int scale = is_complex(out) ? C64 : upto(2) ? F32 : F64, rows = upto(70) + 1, cols = upto(70) + 1, mode = upto(2);
    int ops = is_complex(in) ? 3 : 2, ta = upto(ops), tb = upto(ops), batch = upto(2) + 1;
    bool second = upto(2), created = upto(2);
    struct matrix a = matrix(in, upto(5), ta ? cols : rows, ta ? rows : cols, batch, false);
    struct matrix b = matrix(out, upto(5), tb ? cols : rows, tb ? rows : cols, batch, false);
    struct matrix c = matrix(out, upto(5), rows, cols, batch, false), *all[] = {&a, &b, &c};
    num alpha = (double[]){1, -1, 0.5, 0}[upto(4)], beta = second ? (double[]){1, -1, 2}[upto(3)] : 0;
    if (is_complex(out))
        alpha += I * 0.5;
    char pa[16] = {0}, pb[16] = {0};
    put(pa, scale, 0, alpha), put(pb, scale, 0, beta);
    void *da = to_device(pa, 16), *db = to_device(pb, 16), *desc;
    uint64_t own[8];
    for (int i = 0; i < 3; i++)
        upload(all[i]);
    if (created)
        OK(cublasLtMatrixTransformDescCreate(&desc, scale));
    else
        OK(cublasLtMatrixTransformDescInit_internal(desc = own, sizeof own, scale));
    OK(cublasLtMatrixTransformDescSetAttribute(desc, 1, &mode, 4));
    OK(cublasLtMatrixTransformDescSetAttribute(desc, 2, &ta, 4));
    OK(cublasLtMatrixTransformDescSetAttribute(desc, 3, &tb, 4));
    OK(cublasLtMatrixTransform(handle, desc, mode ? da : pa, a.at, a.layout, mode ? db : pb, second ? b.at : NULL,
                               second ? b.layout : NULL, c.at, c.layout, NULL));
    OK(cudaDeviceSynchronize());
    char *got = malloc(c.n * bytes(out));
    cudaMemcpy(got, c.at, c.n * bytes(out), 2);
    for (int i = 0, wrong = 0; i < batch && !wrong; i++)
        for (int k = 0; k < rows * cols && !wrong; k++) {
            int row = k % rows, col = k / rows;
            num x = ta ? at(&a, a.host, i, col, row) : at(&a, a.host, i, row, col);
            num y = !second ? 0 : tb ? at(&b, b.host, i, col, row) : at(&b, b.host, i, row, col);
            x = ta == 2 ? conj(x) : x, y = tb == 2 ? conj(y) : y;
            num want = held(alpha * x + beta * y, out), it = at(&c, got, i, row, col);
            wrong = !close_to(it, want, out, out == I8 || out == I32 ? 0.51 : 1e-6);
            EXPECT(!wrong, "transform %d to %d, orders %d %d %d: (%d, %d) is %g%+gi, not %g%+gi", in, out, a.order,
                   b.order, c.order, row, col, creal(it), cimag(it), creal(want), cimag(want));
        }
    free(got);
    for (int i = 0; i < 3; i++)
        drop(all[i]);
    if (created)
        OK(cublasLtMatrixTransformDescDestroy(desc));
    cudaFree(da), cudaFree(db);
}

/* ---- descriptions ------------------------------------------------------------------------------ */

enum { INVALID = 7, REFUSED = 15 };

static void attributes(void)
{
    static const struct {
        int id, size, first;
    } table[] = {{0, 4, 68},  {1, 4, 0},  {2, 4, 0},  {3, 4, 0},  {4, 4, 0},   {5, 4, 0},  {6, 4, 2},  {7, 4, 1},
                 {8, 8, 0},   {10, 8, 0}, {11, 8, 0}, {12, 8, 0}, {13, 8, 0},  {14, 8, 0}, {15, 4, 0}, {17, 8, 0},
                 {18, 8, 0},  {19, 8, 0}, {20, 8, 0}, {21, 8, 0}, {22, 4, -1}, {23, 8, 0}, {24, 8, 0}, {25, 1, 0},
                 {26, 4, -1}, {27, 4, 0}, {28, 4, 0}, {29, 8, 0}, {30, 8, 0},  {31, 4, 0}, {32, 4, 0}, {33, 4, 0},
                 {34, 4, 0},  {35, 4, 0}, {36, 8, 0}, {37, 4, 0}, {38, 8, 0}};
    uint64_t own[32], guard = 0x1234567890abcdef;
    for (int size = 88; size <= 256; size += size == 88 ? 96 : 72) { /* 88, 184, 256: releases 11.4, 11.8, 12.2 */
        memset(own, 0xee, sizeof own);
        OK(cublasLtMatmulDescInit_internal(own, (size_t)size, 68, F32));
        EXPECT(size == 256 || ((unsigned char *)own)[size] == 0xee);
        for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
            int last = size == 88 ? 15 : size == 184 ? 26 : 99;
            struct {
                int64_t value;
                uint64_t after;
            } buf = {0, guard};
            size_t written = 0;
            if (table[i].id > last)
                continue;
            OK(cublasLtMatmulDescGetAttribute(own, table[i].id, &buf, (size_t)table[i].size, &written));
            EXPECT(written == (size_t)table[i].size && buf.after == guard);
            EXPECT((table[i].size == 8   ? buf.value
                    : table[i].size == 4 ? (int)buf.value
                                         : (signed char)buf.value) == table[i].first);
            IS(cublasLtMatmulDescGetAttribute(own, table[i].id, &buf, (size_t)table[i].size + 1, &written), INVALID);
            OK(cublasLtMatmulDescGetAttribute(own, table[i].id, NULL, 0, &written));
            IS(cublasLtMatmulDescSetAttribute(own, table[i].id, &buf, (size_t)table[i].size - 1), INVALID);
            IS(cublasLtMatmulDescSetAttribute(own, table[i].id, NULL, (size_t)table[i].size), INVALID);
            if (table[i].id >= 27 && table[i].id <= 30)
                continue;
            buf.value = 1;
            OK(cublasLtMatmulDescSetAttribute(own, table[i].id, &buf, (size_t)table[i].size));
            buf.value = 0;
            OK(cublasLtMatmulDescGetAttribute(own, table[i].id, &buf, (size_t)table[i].size, NULL));
            EXPECT(buf.value == 1);
        }
    }
    int two = 2, mode;
    size_t written;
    IS(cublasLtMatmulDescSetAttribute(own, 27, &two, 4), REFUSED);
    IS(cublasLtMatmulDescSetAttribute(own, 9, &two, 4), INVALID);
    IS(cublasLtMatmulDescSetAttribute(own, 99, &two, 4), INVALID);
    IS(cublasLtMatmulDescInit_internal(own, 80, 68, F32), INVALID);
    IS(cublasLtMatmulDescInit_internal(NULL, 256, 68, F32), INVALID);
    IS(cublasLtMatmulDescCreate(NULL, 68, F32), INVALID);
    IS(cublasLtMatmulDescSetAttribute(NULL, 2, &two, 4), INVALID);
    OK(cublasLtMatmulDescDestroy(NULL));
    OK(cublasLtMatmulDescInit_internal(own, 256, 68, F32));
    IS(cublasLtMatmulDescDestroy((void *)own), INVALID);                   /* it is not the library's */
    IS(cublasLtMatrixLayoutGetAttribute(own, 1, &mode, 4, NULL), INVALID); /* of another kind */
    memset(own, 0, sizeof own);
    IS(cublasLtMatmulDescSetAttribute(own, 2, &two, 4), INVALID); /* never initialised */

    void *pref;
    uint64_t space = 0;
    unsigned align = 0;
    OK(cublasLtMatmulPreferenceCreate(&pref));
    OK(cublasLtMatmulPreferenceSetAttribute(pref, 1, &(uint64_t){1 << 20}, 8));
    OK(cublasLtMatmulPreferenceGetAttribute(pref, 1, &space, 8, &written));
    OK(cublasLtMatmulPreferenceGetAttribute(pref, 5, &align, 4, &written));
    EXPECT(space == 1 << 20 && align == 256);
    OK(cublasLtMatmulPreferenceDestroy(pref));
    OK(cublasLtMatmulPreferenceInit_internal(own, 80));
    OK(cublasLtMatmulPreferenceSetAttribute(own, 2, &align, 4)); /* of CUDA 11 alone */
    OK(cublasLtMatmulPreferenceInit_internal(own, 64));
    IS(cublasLtMatmulPreferenceInit_internal(own, 56), INVALID);
    IS(cublasLtMatrixLayoutInit_internal(own, 56, F32, 1, 1, 1), INVALID);
}

/* ---- algorithms -------------------------------------------------------------------------------- */

struct result {
    uint64_t algo[8];
    size_t workspace;
    int state;
    float waves;
    int reserved[4];
};

static void algorithms(void)
{
    void *desc, *l, *wide, *pref;
    struct result results[3], one;
    int found = -1, ids[4] = {0}, id = 0, many = 0;
    uint64_t algo[8];
    size_t written = 99;
    OK(cublasLtMatmulDescCreate(&desc, 68, F32));
    OK(cublasLtMatrixLayoutCreate(&l, F32, 8, 8, 8));
    OK(cublasLtMatrixLayoutCreate(&wide, F64, 8, 8, 8));
    OK(cublasLtMatmulPreferenceCreate(&pref));
    OK(cublasLtMatmulAlgoGetHeuristic(handle, desc, l, l, l, l, pref, 3, results, &found));
    EXPECT(found == 1 && results[0].state == 0 && results[0].workspace == 0);
    IS(cublasLtMatmulAlgoGetHeuristic(handle, desc, l, wide, l, l, pref, 3, results, &found), REFUSED);
    EXPECT(found == 0);
    IS(cublasLtMatmulAlgoGetHeuristic(handle, desc, l, l, l, l, pref, 0, results, &found), INVALID);
    IS(cublasLtMatmulAlgoGetHeuristic(handle, desc, l, l, l, l, NULL, 1, results, &found), INVALID);
    IS(cublasLtMatmulAlgoGetHeuristic(handle, NULL, l, l, l, l, pref, 1, results, &found), INVALID);
    IS(cublasLtMatmulAlgoGetHeuristic(NULL, desc, l, l, l, l, pref, 1, results, &found), 1);
    OK(cublasLtMatmulAlgoGetIds(handle, 68, F32, F32, F32, F32, F32, 4, ids, &many));
    EXPECT(many == 1);
    IS(cublasLtMatmulAlgoGetIds(handle, 68, F32, F64, F32, F32, F32, 4, ids, &many), REFUSED);
    IS(cublasLtMatmulAlgoGetIds(handle, 68, F32, F32, F32, F32, F32, 0, ids, &many), INVALID);
    OK(cublasLtMatmulAlgoInit(handle, 68, F32, F32, F32, F32, F32, ids[0], algo));
    IS(cublasLtMatmulAlgoInit(handle, 68, F32, F32, F32, F32, F32, 7777, algo), INVALID);
    IS(cublasLtMatmulAlgoInit(handle, 68, F32, F32, F32, F32, F32, -1, algo), INVALID);
    IS(cublasLtMatmulAlgoInit(handle, 68, F32, F32, F32, F32, F32, 21, NULL), INVALID);
    OK(cublasLtMatmulAlgoInit(handle, 68, F32, F32, F32, F32, F32, 21, algo)); /* a kernel of NVIDIA's */
    OK(cublasLtMatmulAlgoInit(handle, 68, F32, F32, F32, F32, F32, ids[0], algo));
    OK(cublasLtMatmulAlgoConfigGetAttribute(algo, 0, &id, 4, &written));
    EXPECT(id == ids[0] && written == 4);
    OK(cublasLtMatmulAlgoConfigSetAttribute(algo, 1, &(unsigned){15}, 4));
    OK(cublasLtMatmulAlgoConfigGetAttribute(algo, 1, &id, 4, NULL));
    EXPECT(id == 15);
    IS(cublasLtMatmulAlgoConfigSetAttribute(algo, 7, &(unsigned){1}, 4), INVALID); /* of two bytes */
    OK(cublasLtMatmulAlgoCapGetAttribute(algo, 6, NULL, 0, &written));             /* tiles: none */
    EXPECT(written == 0);
    OK(cublasLtMatmulAlgoCapGetAttribute(algo, 12, &id, 4, &written));
    EXPECT(id == 0x3ff && written == 4);
    IS(cublasLtMatmulAlgoCapGetAttribute(algo, 77, &id, 4, &written), INVALID);
    OK(cublasLtMatmulAlgoCheck(handle, desc, l, l, l, l, algo, &one));
    EXPECT(!memcmp(one.algo, algo, sizeof algo) && one.state == 0);
    IS(cublasLtMatmulAlgoCheck(handle, desc, l, wide, l, l, algo, &one), REFUSED);
    EXPECT(one.state == REFUSED);
    IS(cublasLtMatmulAlgoCheck(handle, desc, l, l, l, l, NULL, &one), INVALID);
    OK(cublasLtMatmulPreferenceDestroy(pref));
    OK(cublasLtMatrixLayoutDestroy(l));
    OK(cublasLtMatrixLayoutDestroy(wide));
    OK(cublasLtMatmulDescDestroy(desc));
}

/* ---- bad input --------------------------------------------------------------------------------- */

static int product(void *h, void *desc, V alpha, V a, void *la, void *lb, void *lc, void *d, void *ld)
{
    static const float beta = 0;
    return cublasLtMatmul(h, desc, alpha, a, la, a, lb, &beta, NULL, lc, d, ld, NULL, NULL, 0, NULL);
}

static void refusals(void)
{
    struct matrix good = matrix(F32, COL, 8, 8, 1, false);
    void *desc, *short_ld, *tall;
    float one = 1;
    upload(&good);
    void *g = good.layout, *d = to_device(good.host, good.n * 4), *at = good.at;
    OK(cublasLtMatmulDescCreate(&desc, 68, F32));
    OK(cublasLtMatrixLayoutCreate(&short_ld, F32, 8, 8, 7));
    OK(cublasLtMatrixLayoutCreate(&tall, F32, 9, 8, 9));
    OK(product(handle, desc, &one, at, g, g, g, d, g));
    OK(product(handle, desc, &one, at, g, g, NULL, d, g));
    IS(product(NULL, desc, &one, at, g, g, g, d, g), 1);
    IS(product(desc, desc, &one, at, g, g, g, d, g), 1);
    IS(product(handle, NULL, &one, at, g, g, g, d, g), INVALID);
    IS(product(handle, desc, NULL, at, g, g, g, d, g), INVALID);
    IS(product(handle, desc, &one, NULL, g, g, g, d, g), INVALID);
    IS(product(handle, desc, &one, at, g, g, g, NULL, g), INVALID);
    IS(product(handle, desc, &one, at, NULL, g, g, d, g), INVALID);
    IS(product(handle, desc, &one, at, g, g, g, d, NULL), INVALID);
    IS(product(handle, desc, &one, at, short_ld, g, g, d, g), INVALID);
    IS(product(handle, desc, &one, at, tall, g, g, d, g), INVALID);
    IS(product(handle, desc, &one, (char *)at + 2, g, g, g, d, g), INVALID);
    IS(product(handle, desc, &one, at, g, g, g, (char *)d + 1, g), INVALID);
    IS(cublasLtMatmul(handle, desc, &one, at, g, at, g, NULL, NULL, g, d, g, NULL, NULL, 0, NULL), INVALID);
    IS(cublasLtMatmul(handle, desc, &one, at, g, at, g, &one, NULL, g, d, g, NULL, NULL, 0, NULL), INVALID);
    IS(cublasLtMatmul(handle, desc, &one, at, g, at, g, &one, d, g, d, g, good.host, NULL, 0, NULL), INVALID);
    IS(cublasLtMatmul(handle, desc, &one, at, g, at, g, &one, d, g, d, g, NULL, NULL, 64, NULL), INVALID);
    int order = ROW;
    static const struct {
        int id, value, want;
    } wrong[] = {{2, 9, INVALID},   {3, 5, INVALID}, {5, 1, REFUSED},  {6, 0, REFUSED},  {7, 3, INVALID},
                 {7, 130, INVALID}, {7, 4, INVALID}, {31, 2, REFUSED}, {0, 64, REFUSED}, {0, 9, INVALID}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) { /* epilogues without their pointers among them */
        int was, status;
        OK(cublasLtMatmulDescGetAttribute(desc, wrong[i].id, &was, 4, NULL));
        status = cublasLtMatmulDescSetAttribute(desc, wrong[i].id, &wrong[i].value, 4);
        IS(status ? status : product(handle, desc, &one, at, g, g, g, d, g), wrong[i].want);
        OK(cublasLtMatmulDescSetAttribute(desc, wrong[i].id, &was, 4));
    }
    OK(product(handle, desc, &one, at, g, g, g, d, g));
    OK(cublasLtMatrixLayoutSetAttribute(tall, 1, &order, 4));
    IS(product(handle, desc, &one, at, tall, g, g, d, g), INVALID); /* 8 columns, 9 apart, 9 rows */
    order = 17;
    OK(cublasLtMatrixLayoutSetAttribute(tall, 1, &order, 4));
    IS(product(handle, desc, &one, at, tall, g, g, d, g), INVALID);
    OK(cublasLtMatrixLayoutDestroy(short_ld));
    OK(cublasLtMatrixLayoutDestroy(tall));
    OK(cublasLtMatmulDescDestroy(desc));
    drop(&good);
    cudaFree(d);
}

/* Sums of f16 are made in f32 in the order of k, as those of mma are: to the last bit. */
static void in_order(void)
{
    enum { M = 50, N = 20, K = 700 };
    struct matrix a = matrix(F16, COL, K, M, 1, false), b = matrix(F16, COL, K, N, 1, false);
    static float got[M * N];
    static const float one = 1, zero = 0;
    float *d = to_device(got, sizeof got);
    void *desc, *ld;
    int transposed = 1, wrong = 0;
    for (size_t i = 0; i < a.n; i++)
        put(a.host, F16, i, upto(2001) - 1000);
    for (size_t i = 0; i < b.n; i++)
        put(b.host, F16, i, upto(2001) - 1000);
    upload(&a), upload(&b);
    OK(cublasLtMatmulDescCreate(&desc, 68, F32));
    OK(cublasLtMatmulDescSetAttribute(desc, 3, &transposed, 4));
    OK(cublasLtMatrixLayoutCreate(&ld, F32, M, N, M));
    OK(cublasLtMatmul(handle, desc, &one, a.at, a.layout, b.at, b.layout, &zero, NULL, ld, d, ld, NULL, NULL, 0, NULL));
    cudaMemcpy(got, d, sizeof got, 2);
    for (int i = 0; i < M * N; i++) {
        float sum = 0;
        for (int k = 0; k < K; k++)
            sum = (float)(sum + creal(at(&a, a.host, 0, k, i % M)) * creal(at(&b, b.host, 0, k, i / M)));
        wrong += sum != got[i];
    }
    EXPECT(!wrong, "%d sums are not those in order", wrong);
    OK(cublasLtMatrixLayoutDestroy(ld));
    OK(cublasLtMatmulDescDestroy(desc));
    drop(&a), drop(&b);
    cudaFree(d);
}

/* cuBLAS needs cuBLASLt's library, so that the latter's functions are found by the former's handle. */
static void looked_up(void)
{
    void *blas = dlopen("libcublas.so.12", RTLD_NOW | RTLD_LOCAL);
    check(blas && dlsym(blas, "cublasLtMatmul"), "cublasLtMatmul by libcublas.so.12's handle");
}

int main(void)
{
    if (!opened())
        return 77;
    IS(cublasLtCreate(NULL), 7);
    for (int i = 0; i < 400 && check_failures < 20; i++)
        transform();
    attributes();
    algorithms();
    refusals();
    in_order();
    looked_up();
    OK(cublasLtDestroy(handle));
    return check_end("cublasLt beside products");
}
