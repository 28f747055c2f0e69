/* cuBLAS products with element types of their own, and batches of small systems, against plain loops. */
#include "blas.h"

#include <stdint.h>

typedef const void *V;
enum { F32, F64, F16, I8, C32, C64, I32 = 10, BF16 = 14 }; /* cudaDataType */

static size_t bytes(int t)
{
    static const size_t sizes[] = {
        [F32] = 4, [F64] = 8, [F16] = 2, [I8] = 1, [C32] = 8, [C64] = 16, [I32] = 4, [BF16] = 2};
    return sizes[t];
}

/* By arithmetic, not by bits: the nearest number of so many significant bits; ties to even. */
static double rounded(double v, int digits, int least)
{
    if (v == 0 || isinf(v) || isnan(v))
        return v;
    int e;
    frexp(v, &e);
    e = e - digits < least ? least : e - digits;
    return ldexp(rint(ldexp(v, -e)), e);
}
static double f16(double v)
{
    v = rounded(v, 11, -24);
    return fabs(v) > 65504 ? copysign(INFINITY, v) : v;
}
static uint16_t encode16(double v, int t)
{
    int digits = t == F16 ? 11 : 8, bias = t == F16 ? 15 : 127, e;
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    double m = fabs(v);
    if (m == 0)
        return sign;
    if (isinf(m))
        return (uint16_t)(sign | (t == F16 ? 0x7c00 : 0x7f80));
    frexp(m, &e);
    e = e - 1 < 1 - bias ? 1 - bias : e - 1;
    long fraction = lrint(ldexp(m, digits - 1 - e)); /* with the leading one of normal numbers */
    long hidden = 1L << (digits - 1);
    long exponent = fraction >= hidden ? e + bias : 0;
    return (uint16_t)(sign | exponent << (digits - 1) | (fraction & (hidden - 1)));
}
static double decode16(uint16_t h, int t)
{
    int digits = t == F16 ? 11 : 8, bias = t == F16 ? 15 : 127;
    int exponent = (h & 0x7fff) >> (digits - 1), fraction = h & ((1 << (digits - 1)) - 1);
    double m = exponent ? ldexp(fraction + (1 << (digits - 1)), exponent - bias - digits + 1)
                        : ldexp(fraction, 1 - bias - digits + 1);
    if (exponent == (t == F16 ? 31 : 255))
        m = fraction ? NAN : INFINITY;
    return h & 0x8000 ? -m : m;
}
static void put(void *p, int t, size_t i, double v)
{
    switch (t) {
    case F32: ((float *)p)[i] = (float)v; break;
    case F64: ((double *)p)[i] = v; break;
    case I8: ((signed char *)p)[i] = (signed char)v; break;
    case I32: ((int *)p)[i] = (int)v; break;
    default: ((uint16_t *)p)[i] = encode16(v, t);
    }
}
static double get(const void *p, int t, size_t i)
{
    switch (t) {
    case F32: return ((const float *)p)[i];
    case F64: return ((const double *)p)[i];
    case I8: return ((const signed char *)p)[i];
    case I32: return ((const int *)p)[i];
    default: return decode16(((const uint16_t *)p)[i], t);
    }
}

static void *device(const void *from, size_t size)
{
    void *at;
    if (cudaMalloc(&at, size + 1))
        exit(1);
    cudaMemcpy(at, from, size, 1);
    return at;
}

/* in, out, compute, type of the scalars, digits of the result's type */
static const struct {
    int in, out, compute, scalar, digits;
    const char *name;
} kinds[] = {{F16, F16, 64, F16, 11, "f16"},
             {F16, F16, 68, F32, 11, "f16, sums f32"},
             {F16, F32, 68, F32, 24, "f16 to f32"},
             {BF16, BF16, 68, F32, 8, "bf16"},
             {BF16, F32, 69, F32, 24, "bf16 to f32, pedantic"},
             {I8, I32, 72, I32, 31, "bytes"},
             {I8, F32, 68, F32, 24, "bytes to f32"},
             {F32, F32, 77, F32, 24, "f32 by tf32"},
             {F32, F32, 74, F32, 24, "f32 by f16"},
             {F64, F64, 70, F64, 53, "f64"}};
typedef int ex_f(void *, int, int, int, int, int, V, V, int, int, V, int, int, V, void *, int, int, int, int);
typedef int strided_f(void *, int, int, int, int, int, V, V, int, int, long long, V, int, int, long long, V, void *,
                      int, int, long long, int, int, int);
typedef int batched_f(void *, int, int, int, int, int, V, V, int, int, V, int, int, V, V, int, int, int, int, int);

static void ex(int kind, int form)
{
    int in = kinds[kind].in, out = kinds[kind].out, ta = upto(2), tb = upto(2), m = upto(12) + 1, n = upto(12) + 1;
    int k = upto(12) + 1, batch = form ? 3 : 1, lda = (ta ? k : m) + upto(3), ldb = (tb ? n : k) + upto(3);
    int ldc = m + upto(3), sa = lda * (ta ? m : k), sb = ldb * (tb ? k : n), sc = ldc * n;
    bool bytes_in = in == I8;
    char a[3 * 15 * 15 * 8], b[sizeof a], c[sizeof a], was[sizeof a];
    double beta = (double[]){0, 1, 2}[upto(3)], alpha = (double[]){1, -1, 3}[upto(3)];
    for (int i = 0; i < sa * batch; i++)
        put(a, in, (size_t)i, bytes_in ? upto(255) - 127 : unit());
    for (int i = 0; i < sb * batch; i++)
        put(b, in, (size_t)i, bytes_in ? upto(255) - 127 : unit());
    for (int i = 0; i < sc * batch; i++)
        put(c, out, (size_t)i, beta == 0 && out != I32 ? INFINITY : out == I32 ? upto(1000) : unit());
    memcpy(was, c, sizeof c);
    size_t wa = bytes(in), wc = bytes(out);
    char *da = device(a, sizeof a), *db = device(b, sizeof b), *dc = device(c, sizeof c);
    char pa[8], pb[8];
    put(pa, kinds[kind].scalar, 0, alpha), put(pb, kinds[kind].scalar, 0, beta);
    void *sa_at = on_device ? device(pa, 8) : pa, *sb_at = on_device ? device(pb, 8) : pb;
    int compute = kinds[kind].compute, algo = (int[]){-1, 99, 3, 107}[upto(4)];
    if (form == 0)
        OK(((ex_f *)symbol("cublasGemmEx"))(handle, ta, tb, m, n, k, sa_at, da, in, lda, db, in, ldb, sb_at, dc, out,
                                            ldc, compute, algo));
    if (form == 1)
        OK(((strided_f *)symbol("cublasGemmStridedBatchedEx"))(handle, ta, tb, m, n, k, sa_at, da, in, lda, sa, db, in,
                                                               ldb, sb, sb_at, dc, out, ldc, sc, batch, compute, algo));
    if (form == 2) {
        char *list[9];
        for (int q = 0; q < 3; q++) {
            list[q] = da + wa * (size_t)(sa * q);
            list[3 + q] = db + wa * (size_t)(sb * q);
            list[6 + q] = dc + wc * (size_t)(sc * q);
        }
        char *lists = device(list, sizeof list);
        OK(((batched_f *)symbol("cublasGemmBatchedEx"))(handle, ta, tb, m, n, k, sa_at, lists, in, lda, lists + 24, in,
                                                        ldb, sb_at, lists + 48, out, ldc, batch, compute, algo));
        cudaMemcpy(c, dc, 1, 2); /* the lists are used until then */
        cudaFree(lists);
    }
    cudaMemcpy(c, dc, sizeof c, 2);
    for (int q = 0; q < batch; q++)
        for (int j = 0; j < n; j++)
            for (int i = 0; i < ldc; i++) {
                size_t p = (size_t)(q * sc + i + j * ldc);
                double s = 0, got = get(c, out, p), old = get(was, out, p);
                for (int x = 0; x < k && i < m; x++)
                    s += get(a, in, (size_t)(q * sa + (ta ? x + i * lda : i + x * lda))) *
                         get(b, in, (size_t)(q * sb + (tb ? j + x * ldb : x + j * ldb)));
                double want = i >= m ? old : alpha * s + (beta == 0 ? 0 : beta * old);
                double slack =
                    i >= m ? 0 : ldexp(fabs(want), -kinds[kind].digits) + (out == I32 || out == F64 ? 1e-12 : 4e-6 * k);
                if (out == F16)
                    want = i >= m ? want : f16(want), slack *= 2;
                if (!EXPECT(fabs(got - want) <= slack || (isinf(got) && got == want),
                            "%s: (%d, %d) of %d is %g, expected %g", kinds[kind].name, i, j, q, got, want)) {
                    q = batch, j = n, i = ldc;
                }
            }
    cudaFree(da), cudaFree(db), cudaFree(dc);
    if (on_device)
        cudaFree(sa_at), cudaFree(sb_at);
}

/* Sums in f32 of narrow numbers are made in the order of k, as those of mma are: to the last bit. */
static void in_order(int type)
{
    int m = upto(80) + 1, n = upto(2) ? upto(60) + 1 : 1, k = upto(900) + 100, ta = upto(2), tb = upto(2);
    int lda = (ta ? k : m) + upto(3), ldb = (tb ? n : k) + upto(3);
    size_t sa = (size_t)lda * (size_t)(ta ? m : k), sb = (size_t)ldb * (size_t)(tb ? k : n);
    size_t sc = (size_t)m * (size_t)n;
    char *a = malloc(4 * sa), *b = malloc(4 * sb);
    float *c = malloc(sizeof *c * sc), one = 1, zero = 0;
    for (size_t i = 0; i < sa; i++)
        put(a, type, i, unit());
    for (size_t i = 0; i < sb; i++)
        put(b, type, i, unit());
    char *da = device(a, 4 * sa), *db = device(b, 4 * sb);
    float *dc = device(c, sizeof *c * sc);
    ((int (*)(void *, int))symbol("cublasSetPointerMode_v2"))(handle, 0);
    OK(((ex_f *)symbol("cublasGemmEx"))(handle, ta, tb, m, n, k, &one, da, type, lda, db, type, ldb, &zero, dc, F32, m,
                                        68, -1));
    cudaMemcpy(c, dc, sizeof *c * sc, 2);
    size_t wrong = 0;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            float sum = 0;
            for (int x = 0; x < k; x++)
                sum = (float)(sum + get(a, type, (size_t)(ta ? x + i * lda : i + x * lda)) *
                                        get(b, type, (size_t)(tb ? j + x * ldb : x + j * ldb)));
            wrong += sum != c[i + j * m];
        }
    EXPECT(!wrong, "%d by %d by %d: %zu sums are not those in order", m, n, k, wrong);
    free(a), free(b), free(c);
    cudaFree(da), cudaFree(db), cudaFree(dc);
}

/* Factors, solutions and inverses of a batch of systems whose solutions are known. */
static void systems(int type, bool pivots)
{
    enum { BATCH = 3 };
    int n = upto(10) + 1, nrhs = upto(4) + 1, lda = n + upto(3), ldb = n + upto(3), op = upto(3);
    char c = letter_of[type];
    struct buffer a[BATCH], b[BATCH], inverse[BATCH];
    num *x[BATCH], *was[BATCH];
    void *list[3 * BATCH];
    for (int q = 0; q < BATCH; q++) {
        a[q] = buffer(type, (size_t)(lda * n)), b[q] = buffer(type, (size_t)(ldb * nrhs));
        inverse[q] = buffer(type, (size_t)(lda * n));
        for (int i = 0; i < n; i++)
            a[q].ref[i + i * lda] += 2 * n;
        was[q] = malloc(a[q].n * sizeof **was), x[q] = malloc(b[q].n * sizeof **x);
        memcpy(was[q], a[q].ref, a[q].n * sizeof **was);
        memcpy(x[q], b[q].ref, b[q].n * sizeof **x);
        for (int j = 0; j < nrhs; j++)
            for (int i = 0; i < n; i++) {
                num s = 0;
                for (int k = 0; k < n; k++)
                    s += (op == 0 ? was[q][i + k * lda] : conj_if(op == 2, was[q][k + i * lda])) * x[q][k + j * ldb];
                b[q].ref[i + j * ldb] = s;
            }
        upload(a[q]), upload(b[q]), upload(inverse[q]);
        list[q] = a[q].at, list[BATCH + q] = b[q].at, list[2 * BATCH + q] = inverse[q].at;
    }
    void **lists = device(list, sizeof list);
    int ints[BATCH * 16], host_info = -7, *piv = device(ints, sizeof ints), *info = piv + BATCH * 12;
    typedef int matinv(void *, int, V, int, V, int, int *, int);
    typedef int getrf(void *, int, V, int, int *, int *, int);
    typedef int getrs(void *, int, int, int, V, int, int *, V, int, int *, int);
    typedef int getri(void *, int, V, int, int *, V, int, int *, int);
    for (int way = 0; way < 2; way++) {
        if (way == 0)
            OK(((matinv *)symbol("cublas%cmatinvBatched", c))(handle, n, lists, lda, lists + 2 * BATCH, lda, info,
                                                              BATCH));
        else {
            OK(((getrf *)symbol("cublas%cgetrfBatched", c))(handle, n, lists, lda, pivots ? piv : NULL, info, BATCH));
            OK(((getri *)symbol("cublas%cgetriBatched", c))(handle, n, lists, lda, pivots ? piv : NULL,
                                                            lists + 2 * BATCH, lda, info, BATCH));
        }
        cudaMemcpy(ints, info, BATCH * sizeof *ints, 2);
        for (int q = 0; q < BATCH; q++) {
            OK(ints[q]);
            void *raw = malloc(inverse[q].n * size_of(type));
            num *inv = malloc(inverse[q].n * sizeof *inv);
            cudaMemcpy(raw, inverse[q].at, inverse[q].n * size_of(type), 2);
            unpack(type, raw, inv, inverse[q].n);
            for (int j = 0; j < n; j++)
                for (int i = 0; i < n; i++) {
                    num s = 0;
                    for (int k = 0; k < n; k++)
                        s += was[q][i + k * lda] * inv[k + j * lda];
                    EXPECT(near(s, i == j, type, 10 * n), "inverse %c: (%d, %d) is %g", c, i, j, creal(s));
                }
            free(raw), free(inv);
        }
    }
    OK(((getrs *)symbol("cublas%cgetrsBatched", c))(handle, op, n, nrhs, lists, lda, pivots ? piv : NULL, lists + BATCH,
                                                    ldb, &host_info, BATCH));
    OK(host_info);
    for (int q = 0; q < BATCH; q++) {
        for (int j = 0; j < nrhs; j++)
            for (int i = 0; i < n; i++)
                b[q].ref[i + j * ldb] = x[q][i + j * ldb];
        COMPARE(b[q], 20 * n, "getrs");
        drop(a[q]), drop(b[q]), drop(inverse[q]), free(x[q]), free(was[q]);
    }
    IS(((getrs *)symbol("cublas%cgetrsBatched", c))(handle, op, -1, nrhs, lists, lda, piv, lists, ldb, &host_info, 1),
       7);
    IS(host_info, -2);
    cudaFree(lists), cudaFree(piv);
}

/* A captured call keeps its host scalar and outlives the graph it was captured into. */
static void captured(void)
{
    void *stream, *graph, *exec;
    float x[4] = {1, 2, 3, 4}, two = 2, *at = device(x, sizeof x);
    OK(cudaStreamCreate(&stream));
    OK(((int (*)(void *, void *))symbol("cublasSetStream_v2"))(handle, stream));
    OK(cudaStreamBeginCapture(stream, 0));
    OK(((int (*)(void *, int, V, void *, int))symbol("cublasSscal_v2"))(handle, 4, &two, at, 1));
    OK(cudaStreamEndCapture(stream, &graph));
    two = 100;
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphDestroy(graph));
    for (int i = 0; i < 3; i++)
        OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    cudaMemcpy(x, at, sizeof x, 2);
    IS((int)x[0], 8);
    IS((int)x[3], 32);
    OK(cudaGraphExecDestroy(exec));
    OK(((int (*)(void *, void *))symbol("cublasSetStream_v2"))(handle, NULL));
    cudaFree(at);
}

/* The legacy stream would wait for one that captures: a call on it, however short, is an error and ends the capture. */
static void beside_capture(void)
{
    void *stream, *graph;
    float two = 2, x = 3, *at = device(&x, sizeof x);
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, 0));
    IS(((int (*)(void *, int, V, void *, int))symbol("cublasSscal_v2"))(handle, 1, &two, at, 1) != 0, 1);
    IS(cudaStreamEndCapture(stream, &graph) != 0, 1);
    cudaMemcpy(&x, at, sizeof x, 2);
    IS((int)x, 3);
    OK(((int (*)(void *, int, V, void *, int))symbol("cublasSscal_v2"))(handle, 1, &two, at, 1));
    cudaMemcpy(&x, at, sizeof x, 2);
    IS((int)x, 6);
    OK(cudaStreamDestroy(stream));
    cudaFree(at);
}

/* A handle's first call for f16 takes memory: legal in a capture, though the program's own may not be. */
static void first_captured(void)
{
    void *stream, *graph, *exec, *fresh;
    float two = 2;
    uint16_t one = encode16(1, F16), got = 0, *at = device(&one, sizeof one);
    OK(cudaStreamCreate(&stream));
    OK(((int (*)(void **))symbol("cublasCreate_v2"))(&fresh));
    OK(((int (*)(void *, void *))symbol("cublasSetStream_v2"))(fresh, stream));
    OK(cudaStreamBeginCapture(stream, 0));
    OK(((int (*)(void *, int, V, int, void *, int, int, int))symbol("cublasScalEx"))(fresh, 1, &two, F32, at, F16, 1,
                                                                                     F32));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    cudaMemcpy(&got, at, sizeof got, 2);
    IS((int)decode16(got, F16), 4);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(((int (*)(void *))symbol("cublasDestroy_v2"))(fresh));
    cudaFree(at);
}

static void expect_close(double got, double want, int digits, double terms, const char *what)
{
    /* A result's rounding, and that of sums in f32. */
    if (fabs(got - want) <= ldexp(fabs(want), -digits) + terms * 1e-6) /* values are below 2.5 */
        return;
    check(false, "%s: %.9g, expected %.9g", what, got, want);
}

/* Level 1 of f16 and bf16, sums in f32: vectors with increments, those of y forwards or, both, backwards. */
static void vectors(int type)
{
    typedef int axpy_f(void *, int, V, int, V, int, int, void *, int, int, int);
    typedef int scal_f(void *, int, V, int, void *, int, int, int);
    typedef int dot_f(void *, int, V, int, int, V, int, int, void *, int, int);
    typedef int norm_f(void *, int, V, int, int, void *, int, int);
    int n = upto(40), ix = upto(3) + 1, iy = upto(3) + 1, digits = type == F16 ? 11 : 8, back = upto(2) ? -1 : 1;
    char x[40 * 3 * 2], y[sizeof x], got[sizeof x];
    double dot = 0, squares = 0, alpha = (double[]){0, 1, -2.5}[upto(3)];
    for (int i = 0; i < 120; i++)
        put(x, type, (size_t)i, unit()), put(y, type, (size_t)i, unit());
    char *dx = device(x, sizeof x), *dy = device(y, sizeof y);
    float a = (float)alpha;
    uint16_t result[2] = {0, 0xabcd};
    void *alpha_at = on_device ? device(&a, 4) : (void *)&a, *to = on_device ? device(result, 4) : result;
    for (int i = 0; i < n; i++) {
        double v = get(x, type, (size_t)(i * ix));
        dot += v * get(y, type, (size_t)(i * iy));
        squares += v * v;
    }
    for (int conjugate = 0; conjugate < 2; conjugate++) {
        OK(((dot_f *)symbol(conjugate ? "cublasDotcEx" : "cublasDotEx"))(handle, n, dx, type, back * ix, dy, type,
                                                                         back * iy, to, type, F32));
        if (on_device)
            cudaMemcpy(result, to, 4, 2);
        expect_close(get(result, type, 0), dot, digits, n, "dot");
    }
    OK(((norm_f *)symbol("cublasNrm2Ex"))(handle, n, dx, type, ix, to, type, F32));
    if (on_device)
        cudaMemcpy(result, to, 4, 2);
    expect_close(get(result, type, 0), sqrt(squares), digits, n, "nrm2");
    expect_close(result[1], 0xabcd, 24, 0, "what lies behind the result");
    axpy_f *axpy = symbol("cublasAxpyEx");
    OK(axpy(handle, n, alpha_at, F32, dx, type, back * ix, dy, type, back * iy, F32));
    cudaMemcpy(got, dy, sizeof got, 2);
    for (int i = 0; i < 120; i++) {
        bool in = i % iy == 0 && i / iy < n;
        double add = in ? alpha * get(x, type, (size_t)(i / iy * ix)) : 0;
        expect_close(get(got, type, (size_t)i), get(y, type, (size_t)i) + add, digits, in ? 2 : 0, "axpy");
    }
    OK(((scal_f *)symbol("cublasScalEx"))(handle, n, alpha_at, F32, dx, type, ix, F32));
    cudaMemcpy(got, dx, sizeof got, 2);
    for (int i = 0; i < 120; i++) {
        bool in = i % ix == 0 && i / ix < n;
        double want = (in ? alpha : 1) * get(x, type, (size_t)i);
        expect_close(get(got, type, (size_t)i), want, digits, in ? 1 : 0, "scal");
    }
    IS(axpy(handle, 2, alpha_at, F32, dx, type, 1, dy, type, -1, F32), 15);
    IS(((dot_f *)symbol("cublasDotEx"))(handle, 2, dx, type, 0, dy, type, 1, to, type, F32), 15);
    IS(((dot_f *)symbol("cublasDotEx"))(handle, 2, dx, type, 1, dy, type, 1, to, F32, F32), 15);
    IS(((scal_f *)symbol("cublasScalEx"))(handle, 2, alpha_at, type, dx, type, 1, F32), 15);
    IS(((norm_f *)symbol("cublasNrm2Ex"))(NULL, 2, dx, type, 1, to, type, F32), 1);
    cudaFree(dx), cudaFree(dy);
    if (on_device)
        cudaFree(alpha_at), cudaFree(to);
}

int main(void)
{
    OK(begin());
    for (int round = 0; round < 20; round++) {
        pointer_mode();
        for (int kind = 0; kind < (int)(sizeof kinds / sizeof *kinds); kind++)
            for (int form = 0; form < 3; form++)
                ex(kind, form);
        for (int type = 0; type < 4; type++)
            systems(type, round & 1);
        vectors(F16);
        vectors(BF16);
        in_order(round & 1 ? F16 : BF16);
    }
    void *p = device("", 1);
    float one = 1;
    ((int (*)(void *, int))symbol("cublasSetPointerMode_v2"))(handle, 0);
    captured();
    beside_capture();
    first_captured();
    ex_f *f = symbol("cublasGemmEx");
    IS(f(handle, 0, 0, 1, 1, 1, &one, p, F16, 1, p, BF16, 1, &one, p, F16, 1, 68, -1), 15); /* of two types */
    IS(f(handle, 0, 0, 1, 1, 1, &one, p, F64, 1, p, F64, 1, &one, p, F64, 1, 68, -1), 15);
    IS(f(handle, 0, 0, 1, 1, 1, &one, p, F32, 1, p, F32, 1, &one, p, F32, 1, 67, -1), 7); /* no compute type */
    IS(f(handle, 0, 0, 2, 1, 1, &one, p, F32, 1, p, F32, 1, &one, p, F32, 2, 68, -1), 7);
    IS(f(NULL, 0, 0, 1, 1, 1, &one, p, F32, 1, p, F32, 1, &one, p, F32, 1, 68, -1), 1);
    return check_end("mixed");
}
