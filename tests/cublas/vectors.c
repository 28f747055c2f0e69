/* cuBLAS levels 1 and 2 against plain loops: increments of both signs, bands, packed triangles, results on host and
 * device. */
#include "blas.h"

typedef const void *V;
static size_t span(int n, int inc) { return n ? (size_t)((n - 1) * abs(inc) + 1) : 1; }
/* Element i of a vector with an increment. */
static num *el(struct buffer x, int n, int inc, int i) { return &x.ref[inc > 0 ? i * inc : (i - n + 1) * inc]; }
static int increment(void) { return (int[]){1, 2, 3, -1, -2}[upto(5)]; }

static void level1(int type)
{
    int n = upto(40), incx = increment(), incy = increment();
    struct buffer x = buffer(type, span(n, incx)), y = buffer(type, span(n, incy));
    char c = letter_of[type];
    num alpha = special(type);
    upload(x), upload(y);
    OK(((int (*)(void *, int, V, V, int, void *, int))symbol("cublas%caxpy_v2", c))(handle, n, scalar(type, alpha),
                                                                                    x.at, incx, y.at, incy));
    for (int i = 0; i < n; i++)
        *el(y, n, incy, i) += alpha * *el(x, n, incx, i);
    COMPARE(y, 1, "axpy");
    OK(((int (*)(void *, int, V, V, int))symbol("cublas%cscal_v2", c))(handle, n, scalar(type, alpha), y.at,
                                                                       abs(incy)));
    for (int i = 0; i < n; i++)
        *el(y, n, incy, i) *= alpha;
    COMPARE(y, 1, "scal");
    OK(((int (*)(void *, int, V, int, V, int))symbol("cublas%cswap_v2", c))(handle, n, x.at, incx, y.at, incy));
    for (int i = 0; i < n; i++) {
        num t = *el(y, n, incy, i);
        *el(y, n, incy, i) = *el(x, n, incx, i);
        *el(x, n, incx, i) = t;
    }
    COMPARE(x, 1, "swap"), COMPARE(y, 1, "swap");
    double cosine = 0.6;
    num sine = type < 2 ? 0.8 : 0.48 + 0.64 * I;
    OK(((int (*)(void *, int, V, int, V, int, V, V))symbol("cublas%crot_v2", c))(
        handle, n, x.at, incx, y.at, incy, scalar(type & 1, cosine), scalar(type, sine)));
    for (int i = 0; i < n; i++) {
        num a = *el(x, n, incx, i), b = *el(y, n, incy, i);
        *el(x, n, incx, i) = cosine * a + sine * b;
        *el(y, n, incy, i) = cosine * b - conj(sine) * a;
    }
    COMPARE(x, 1, "rot"), COMPARE(y, 1, "rot");
    OK(((int (*)(void *, int, V, int, V, int))symbol("cublas%ccopy_v2", c))(handle, n, x.at, incx, y.at, incy));
    for (int i = 0; i < n; i++)
        *el(y, n, incy, i) = *el(x, n, incx, i);
    COMPARE(y, 0, "copy");
    drop(x), drop(y);
}

/* A result of `type` where the pointer mode wants it. */
static void result(int type, int status, void *where, num want, double terms, const char *what)
{
    struct buffer got = {type, 1, where, &want};
    char host[16];
    OK(status);
    if (!on_device) {
        num there;
        memcpy(host, where, size_of(type));
        unpack(type, host, &there, 1);
        EXPECT(near(there, want, type, terms), "%s %c: %g%+gi, expected %g%+gi", what, letter_of[type], creal(there),
               cimag(there), creal(want), cimag(want));
    } else {
        COMPARE(got, terms, what);
    }
}

static void reductions(int type)
{
    static void *device;
    char host[16];
    int n = upto(40), incx = increment(), incy = increment();
    struct buffer x = buffer(type, span(n, incx)), y = buffer(type, span(n, incy));
    char c = letter_of[type];
    if (!device)
        cudaMalloc(&device, 16);
    void *out = on_device ? device : host;
    upload(x), upload(y);
    for (int conjugate = 0; conjugate <= type / 2; conjugate++) {
        num s = 0;
        for (int i = 0; i < n; i++)
            s += conj_if(conjugate, *el(x, n, incx, i)) * *el(y, n, incy, i);
        const char *name = type < 2 ? "dot" : conjugate ? "dotc" : "dotu";
        result(type,
               ((int (*)(void *, int, V, int, V, int, void *))symbol("cublas%c%s_v2", c, name))(handle, n, x.at, incx,
                                                                                                y.at, incy, out),
               out, s, n, name);
    }
    int inc = abs(incx), most = 0, least = 0;
    double squares = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        num v = x.ref[i * inc];
        double size = fabs(creal(v)) + fabs(cimag(v));
        squares += creal(v) * creal(v) + cimag(v) * cimag(v);
        sum += size;
        num a = n ? x.ref[(most ? most - 1 : 0) * inc] : 0, b = n ? x.ref[(least ? least - 1 : 0) * inc] : 0;
        if (!most || size > fabs(creal(a)) + fabs(cimag(a)))
            most = i + 1;
        if (!least || size < fabs(creal(b)) + fabs(cimag(b)))
            least = i + 1;
    }
    const char *of[] = {"S", "D", "Sc", "Dz"};
    typedef int norm(void *, int, V, int, void *);
    result(type & 1, ((norm *)symbol("cublas%snrm2_v2", of[type]))(handle, n, x.at, inc, out), out, sqrt(squares), n,
           "nrm2");
    result(type & 1, ((norm *)symbol("cublas%sasum_v2", of[type]))(handle, n, x.at, inc, out), out, sum, n, "asum");
    for (int min = 0; min < 2; min++) {
        int at = -1;
        OK(((norm *)symbol("cublasI%ca%s_v2", "sdcz"[type], min ? "min" : "max"))(handle, n, x.at, inc, out));
        if (on_device)
            cudaMemcpy(&at, out, sizeof at, 2);
        else
            memcpy(&at, out, sizeof at);
        IS(at, min ? least : most);
    }
    drop(x), drop(y);
}

/* Where element (i, j) lies: in a band of kl and ku diagonals, in packed triangles, or full. -1: nowhere. */
enum form { FULL, BAND, PACKED };
static int place(enum form f, int uplo, int n, int kl, int ku, int lda, int i, int j)
{
    if (f == BAND)
        return i - j > kl || j - i > ku ? -1 : ku + i - j + j * lda;
    if (uplo >= 0 && (uplo == 0 ? i < j : i > j))
        return -1;
    if (f == FULL)
        return i + j * lda;
    return uplo == 0 ? i - j + j * (2 * n - j + 1) / 2 : i + j * (j + 1) / 2;
}
struct matrix {
    struct buffer b;
    enum form form;
    int uplo, m, n, kl, ku, lda, diag; /* uplo -1: general */
    int mirror;                        /* 1 symmetric, 2 Hermitian, 0 triangular or general */
};
/* Only what counts holds numbers; the rest is NaN, so that a read of it shows. */
static struct matrix matrix(int type, enum form f, int uplo, int m, int n, int k, int mirror, int diag)
{
    struct matrix a = {.form = f, .uplo = uplo, .m = m, .n = n, .mirror = mirror, .diag = diag};
    a.kl = uplo == 1 ? 0 : k;
    a.ku = uplo == 0 ? 0 : uplo == 1 ? k : k / 2;
    a.lda = f == BAND ? a.kl + a.ku + 1 + upto(2) : m + upto(3);
    a.lda = a.lda ? a.lda : 1;
    a.b = buffer(type, f == PACKED ? (size_t)(n * (n + 1) / 2) : (size_t)(a.lda * n));
    num *was = malloc(a.b.n * sizeof *was);
    memcpy(was, a.b.ref, a.b.n * sizeof *was);
    poison(a.b);
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            int p = place(f, uplo, n, a.kl, a.ku, a.lda, i, j);
            if (p >= 0 && !(diag && i == j))
                a.b.ref[p] = was[p] * (uplo >= 0 && !mirror && i != j ? 0.125 : 1) + (i == j && uplo >= 0 ? 2 : 0);
        }
    free(was);
    return a;
}
static num of(struct matrix a, int i, int j)
{
    if (a.diag && i == j)
        return 1;
    int p = place(a.form, a.uplo, a.n, a.kl, a.ku, a.lda, i, j);
    if (p >= 0)
        return a.mirror == 2 && i == j ? creal(a.b.ref[p]) : a.b.ref[p];
    p = a.mirror ? place(a.form, a.uplo, a.n, a.kl, a.ku, a.lda, j, i) : -1;
    return p < 0 ? 0 : conj_if(a.mirror == 2, a.b.ref[p]);
}
static num op_of(struct matrix a, int op, int i, int j)
{
    return op == 0 ? of(a, i, j) : conj_if(op == 2, of(a, j, i));
}

/* y = alpha op(a) x + beta y, by the call that fits. */
static void multiply(int type, const char *name, enum form f, int mirror)
{
    bool general = !mirror;
    int uplo = general ? -1 : upto(2), n = upto(14) + 1, m = general ? upto(14) + 1 : n, k = upto(3),
        op = general ? upto(3) : 0;
    struct matrix a = matrix(type, f, uplo, m, n, k, mirror, 0);
    int nx = op ? m : n, ny = op ? n : m, incx = increment(), incy = increment();
    struct buffer x = buffer(type, span(nx, incx)), y = buffer(type, span(ny, incy));
    num alpha = special(type), beta = special(type);
    for (int i = 0; i < ny && beta == 0; i++)
        *el(y, ny, incy, i) = NAN;
    upload(a.b), upload(x), upload(y);
    V pa = scalar(type, alpha), pb = scalar(type, beta);
    void *fn = symbol("cublas%c%s_v2", letter_of[type], name);
    if (general && f == FULL)
        OK(((int (*)(void *, int, int, int, V, V, int, V, int, V, V, int))fn)(handle, op, m, n, pa, a.b.at, a.lda, x.at,
                                                                              incx, pb, y.at, incy));
    else if (general)
        OK(((int (*)(void *, int, int, int, int, int, V, V, int, V, int, V, V, int))fn)(
            handle, op, m, n, a.kl, a.ku, pa, a.b.at, a.lda, x.at, incx, pb, y.at, incy));
    else if (f == FULL)
        OK(((int (*)(void *, int, int, V, V, int, V, int, V, V, int))fn)(handle, uplo, n, pa, a.b.at, a.lda, x.at, incx,
                                                                         pb, y.at, incy));
    else if (f == BAND)
        OK(((int (*)(void *, int, int, int, V, V, int, V, int, V, V, int))fn)(handle, uplo, n, k, pa, a.b.at, a.lda,
                                                                              x.at, incx, pb, y.at, incy));
    else
        OK(((int (*)(void *, int, int, V, V, V, int, V, V, int))fn)(handle, uplo, n, pa, a.b.at, x.at, incx, pb, y.at,
                                                                    incy));
    for (int i = 0; i < ny; i++) {
        num s = 0;
        for (int j = 0; j < nx; j++)
            s += op_of(a, op, i, j) * *el(x, nx, incx, j);
        num *to = el(y, ny, incy, i);
        *to = alpha * s + (beta == 0 ? 0 : beta * *to);
    }
    COMPARE(y, nx, name);
    drop(a.b), drop(x), drop(y);
}

/* x = op(a) x, or the x that op(a) makes that. */
static void triangle(int type, enum form f)
{
    static const char *const products[] = {"trmv", "tbmv", "tpmv"}, *const solves[] = {"trsv", "tbsv", "tpsv"};
    int uplo = upto(2), op = upto(3), diag = upto(2), n = upto(14) + 1, k = upto(3), inc = increment();
    struct matrix a = matrix(type, f, uplo, n, n, k, 0, diag);
    struct buffer x = buffer(type, span(n, inc));
    upload(a.b), upload(x);
    num *first = malloc(x.n * sizeof *first);
    memcpy(first, x.ref, x.n * sizeof *first);
    for (int solve = 0; solve < 2; solve++) {
        void *fn = symbol("cublas%c%s_v2", letter_of[type], solve ? solves[f] : products[f]);
        if (f == FULL)
            OK(((int (*)(void *, int, int, int, int, V, int, V, int))fn)(handle, uplo, op, diag, n, a.b.at, a.lda, x.at,
                                                                         inc));
        else if (f == BAND)
            OK(((int (*)(void *, int, int, int, int, int, V, int, V, int))fn)(handle, uplo, op, diag, n, k, a.b.at,
                                                                              a.lda, x.at, inc));
        else
            OK(((int (*)(void *, int, int, int, int, V, V, int))fn)(handle, uplo, op, diag, n, a.b.at, x.at, inc));
        if (!solve) {
            num *was = malloc(x.n * sizeof *was);
            memcpy(was, x.ref, x.n * sizeof *was);
            struct buffer old = x;
            old.ref = was;
            for (int i = 0; i < n; i++) {
                num s = 0;
                for (int j = 0; j < n; j++)
                    s += op_of(a, op, i, j) * *el(old, n, inc, j);
                *el(x, n, inc, i) = s;
            }
            free(was);
        } else {
            memcpy(x.ref, first, x.n * sizeof *first);
        }
        COMPARE(x, 8 * n, solve ? solves[f] : products[f]);
    }
    free(first);
    drop(a.b), drop(x);
}

/* a += alpha x y^T or x y^H (form GENERAL, mirror 0: conjugate says which); alpha x x^T; both orders of x and y. */
static void update(int type, const char *name, enum form f, int mirror, bool two, bool conjugate)
{
    int uplo = mirror ? upto(2) : -1, n = upto(14) + 1, m = mirror ? n : upto(14) + 1;
    int incx = increment(), incy = increment();
    struct matrix a = matrix(type, f, uplo, m, n, 0, mirror, 0);
    struct buffer x = buffer(type, span(m, incx)), y = buffer(type, span(n, incy));
    bool real = mirror == 2 && !two;
    num alpha = real ? unit() : value(type);
    for (int i = 0; i < n && mirror == 2; i++)
        a.b.ref[place(f, uplo, n, 0, 0, a.lda, i, i)] = 1;
    upload(a.b), upload(x), upload(y);
    V pa = scalar(real ? type & 1 : type, alpha);
    void *fn = symbol("cublas%c%s_v2", letter_of[type], name);
    if (!mirror)
        OK(((int (*)(void *, int, int, V, V, int, V, int, V, int))fn)(handle, m, n, pa, x.at, incx, y.at, incy, a.b.at,
                                                                      a.lda));
    else if (two && f == FULL)
        OK(((int (*)(void *, int, int, V, V, int, V, int, V, int))fn)(handle, uplo, n, pa, x.at, incx, y.at, incy,
                                                                      a.b.at, a.lda));
    else if (two)
        OK(((int (*)(void *, int, int, V, V, int, V, int, V))fn)(handle, uplo, n, pa, x.at, incx, y.at, incy, a.b.at));
    else if (f == FULL)
        OK(((int (*)(void *, int, int, V, V, int, V, int))fn)(handle, uplo, n, pa, x.at, incx, a.b.at, a.lda));
    else
        OK(((int (*)(void *, int, int, V, V, int, V))fn)(handle, uplo, n, pa, x.at, incx, a.b.at));
    bool c = conjugate || mirror == 2;
    for (int j = 0; j < n; j++)
        for (int i = 0; i < m; i++) {
            int p = place(f, uplo, n, 0, 0, a.lda, i, j);
            if (p < 0)
                continue;
            num xi = *el(x, m, incx, i), other = two ? *el(y, n, incy, j) : *el(x, m, incx, j);
            a.b.ref[p] += alpha * xi * conj_if(c, other);
            if (mirror && two)
                a.b.ref[p] += conj_if(c, alpha) * *el(y, n, incy, i) * conj_if(c, *el(x, m, incx, j));
            if (mirror == 2 && i == j)
                a.b.ref[p] = creal(a.b.ref[p]);
        }
    COMPARE(a.b, 2, name);
    drop(a.b), drop(x), drop(y);
}

int main(void)
{
    OK(begin());
    for (int round = 0; round < 40; round++)
        for (int type = 0; type < 4; type++) {
            bool complex_type = type > 1;
            pointer_mode();
            level1(type);
            reductions(type);
            multiply(type, "gemv", FULL, 0);
            multiply(type, "gbmv", BAND, 0);
            multiply(type, "symv", FULL, 1);
            update(type, "syr", FULL, 1, false, false);
            update(type, "syr2", FULL, 1, true, false);
            for (int f = FULL; f <= PACKED; f++)
                triangle(type, (enum form)f);
            multiply(type, complex_type ? "hbmv" : "sbmv", BAND, 1 + complex_type);
            multiply(type, complex_type ? "hpmv" : "spmv", PACKED, 1 + complex_type);
            update(type, complex_type ? "geru" : "ger", FULL, 0, true, false);
            update(type, complex_type ? "hpr" : "spr", PACKED, 1 + complex_type, false, false);
            update(type, complex_type ? "hpr2" : "spr2", PACKED, 1 + complex_type, true, false);
            if (complex_type) {
                multiply(type, "hemv", FULL, 2);
                update(type, "gerc", FULL, 0, true, true);
                update(type, "her", FULL, 2, false, false);
                update(type, "her2", FULL, 2, true, false);
            }
        }
    return check_end("vectors");
}
