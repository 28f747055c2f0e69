/* Library calls while memory runs out: of each sequence of calls, the n-th allocation that our libraries make fails,
 * for every n. Each time a call, or the next synchronisation, must have said so, or the results must be right. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>

#include "memory.h"

/* ---- allocations that fail: those of our libraries, while armed -------------------------------- */

enum { LIBRARIES = 64 };
static uintptr_t low[LIBRARIES], high[LIBRARIES];
static int libraries;
static _Atomic long count, failing; /* the number of the one that fails; 0: none */
static _Atomic int no_threads;

static int note(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "/cumu/"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && libraries < LIBRARIES; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            low[libraries] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            high[libraries] = low[libraries] + info->dlpi_phdr[i].p_memsz;
            libraries++;
        }
    return 0;
}
static bool fails(const void *caller)
{
    if (!failing)
        return false;
    for (int i = 0; i < libraries; i++)
        if ((uintptr_t)caller >= low[i] && (uintptr_t)caller < high[i]) {
            if (++count != failing)
                return false;
            errno = ENOMEM;
            return true;
        }
    return false;
}
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
#define CALLER __builtin_return_address(0)
void *malloc(size_t size) { return fails(CALLER) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(CALLER) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return fails(CALLER) ? NULL : __libc_realloc(p, size); }
void *aligned_alloc(size_t align, size_t size) { return fails(CALLER) ? NULL : __libc_memalign(align, size); }

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *), void *arg)
{
    static int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!next)
        next = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT,
                                                                                              "pthread_create");
    return no_threads ? EAGAIN : next(thread, attr, body, arg);
}

/* ---- sequences --------------------------------------------------------------------------------- */

char *results;
int last_status;

/* Device memory with small numbers in it; each sequence has its own, freed after it. */
static void *owned[64];
static int owns;
void *fresh(const void *from, size_t bytes)
{
    long kept = failing; /* the program's own */
    failing = 0;
    void *p;
    MUST(cudaMalloc(&p, bytes));
    MUST(from ? cudaMemcpy(p, from, bytes, 1) : cudaMemset(p, 0, bytes));
    owned[owns++] = p;
    failing = kept;
    return p;
}
void *floats(int n)
{
    float f[4096];
    for (int i = 0; i < n; i++)
        f[i] = (float)((i * 37 + 11) % 17) - 5 + (i % (N + 1) == 0 ? 40 : 0);
    return fresh(f, (size_t)n * 4);
}
static void *halves(int n)
{
    uint16_t h[4096];
    for (int i = 0; i < n; i++)
        h[i] = (uint16_t)(0x3c00 + i % 64 * 8);
    return fresh(h, (size_t)n * 2);
}

static int narrow_products(void)
{
    void *c = floats(N * N);
    TRY(cublasGemmEx(blas, 0, 1, N, N, N, &one, halves(N * N), 2, N, halves(N * N), 2, N, &zero, c, 2, N, 68, -1));
    GIVE(c, N * N * 2);
    return 0;
}
static int packed_columns(void)
{
    void *a = floats(2 * N * N);
    static const float alpha[] = {1, 2};
    TRY(cublasCsyr2_v2(blas, 0, N, alpha, floats(2 * N), 1, floats(2 * N), -1, a, N));
    GIVE(a, N * N * 8);
    return 0;
}
static int batches(void)
{
    void *a[] = {floats(N * N), floats(N * N)}, *b[] = {floats(N * N), floats(N * N)}, *d = fresh(a, sizeof a),
         *e = fresh(b, sizeof b);
    void *infos = fresh(NULL, 64);
    int info;
    TRY(cublasSmatinvBatched(blas, N, d, N, e, N, infos, 2));
    GIVE(b[1], N * N * 4);
    TRY(cublasSgeqrfBatched(blas, N, N, d, N, e, &info, 2));
    TRY(cudaMemcpy(results + 1024, a[1], N * N * 4, 2));
    TRY(cublasSgelsBatched(blas, 0, N, N, 2, d, N, e, N, &info, infos, 2));
    TRY(cudaMemcpy(results + 2048, b[0], N * 2 * 4, 2));
    return 0;
}
static int large_product(void)
{
    enum { M = 64 };
    void *c = floats(M * M);
    void *stream;
    TRY(cudaStreamCreateWithFlags(&stream, 1));
    TRY(cublasSetStream_v2(blas, stream));
    int r = cublasSgemm_v2(blas, 0, 0, M, M, M, &one, floats(M * M), M, floats(M * M), M, &one, c, M);
    cublasSetStream_v2(blas, NULL);
    TRY(r);
    TRY(cudaStreamSynchronize(stream));
    GIVE(c, M * M * 4);
    return 0;
}
static int lt_products(void)
{
    void *h, *d, *l, *t, *c = halves(N * N), *e = halves(N * N);
    int bias = 4;
    void *at = halves(N);
    TRY(cublasLtCreate(&h));
    TRY(cublasLtMatmulDescCreate(&d, 68, 0));
    TRY(cublasLtMatmulDescSetAttribute(d, 7, &bias, 4));
    TRY(cublasLtMatmulDescSetAttribute(d, 8, &at, 8));
    TRY(cublasLtMatrixLayoutCreate(&l, 2, N, N, N));
    TRY(cublasLtMatmul(h, d, &one, halves(N * N), l, halves(N * N), l, &one, halves(N * N), l, c, l, NULL, NULL, 0,
                       NULL));
    GIVE(c, N * N * 2);
    TRY(cublasLtMatrixTransformDescCreate(&t, 0));
    TRY(cublasLtMatrixTransform(h, t, &two, c, l, &zero, NULL, NULL, e, l, NULL));
    TRY(cudaMemcpy(results + 1024, e, N * N * 2, 2));
    return 0;
}
static int transforms(void)
{
    static float points[512 * 256 * 2];
    int plan, r;
    for (int i = 0; i < 512 * 256 * 2; i++)
        points[i] = (float)(i % 7);
    void *x = fresh(points, sizeof points);
    TRY(cufftPlan2d(&plan, 512, 256, 0x29));
    r = cufftExecC2C(plan, x, x, -1);
    TRY(r ? r : cufftDestroy(plan));
    GIVE(x, 8192);
    TRY(cufftPlan1d(&plan, 60, 0x29, 3));
    r = cufftExecC2C(plan, x, x, 1);
    TRY(r ? r : cufftDestroy(plan));
    TRY(cudaMemcpy(results + 8192, x, 60 * 3 * 8, 2));
    return 0;
}
static int random_numbers(void)
{
    static const int types[] = {101, 121, 141, 142, 161, 201, 203};
    void *x = fresh(NULL, 1 << 20);
    for (int i = 0; i < 7; i++) {
        void *g;
        TRY(curandCreateGenerator(&g, types[i]));
        int r = types[i] == 203 ? curandGenerateNormalDouble(g, x, 5000, 1, 2) : curandGenerateUniform(g, x, 5000);
        if (!r && types[i] != 203)
            r = curandGeneratePoisson(g, (char *)x + 65536, 700, 30);
        if (!r)
            r = cudaMemcpy(results + i * 4096, x, 2048, 2);
        if (!r)
            r = cudaMemcpy(results + i * 4096 + 2048, (char *)x + 65536, 1024, 2);
        curandDestroyGenerator(g);
        TRY(r);
    }
    return 0;
}

static const int row_ptr[] = {0, 2, 4, 6, 8, 10, 12, 14, 16};
static const int columns[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 0, 7};
static const int rows[] = {0, 0, 1, 1, 3, 3, 2, 2, 5, 5, 4, 4, 6, 6, 7, 7};
enum { NNZ = 16 };

static int sparse_products(void)
{
    void *h, *a, *b, *x, *y, *c, *bsr, *out = floats(N * N), *narrow = halves(N);
    TRY(cusparseCreate(&h));
    TRY(cusparseCreateCoo(&a, N, N, NNZ, fresh(rows, sizeof rows), fresh(columns, sizeof columns), floats(NNZ), 2, 0,
                          0));
    TRY(cusparseCreateCsr(&b, N, N, NNZ, fresh(row_ptr, sizeof row_ptr), fresh(columns, sizeof columns), halves(NNZ), 2,
                          2, 0, 2));
    TRY(cusparseCreateDnVec(&x, N, floats(N), 0));
    TRY(cusparseCreateDnVec(&y, N, out, 0));
    TRY(cusparseSpMV(h, 1, &one, a, x, &zero, y, 0, 0, NULL));
    GIVE(out, N * 4);
    void *xh, *yh;
    TRY(cusparseCreateDnVec(&xh, N, halves(N), 2));
    TRY(cusparseCreateDnVec(&yh, N, narrow, 2));
    TRY(cusparseSpMV(h, 0, &one, b, xh, &zero, yh, 0, 0, NULL));
    TRY(cudaMemcpy(results + 1024, narrow, N * 2, 2));
    TRY(cusparseCreateDnMat(&c, N, N, N, out, 0, 1));
    TRY(cusparseCreateBsr(&bsr, N / 2, N / 2, 4, 2, 2, fresh((int[]){0, 1, 2, 3, 4}, 20),
                          fresh((int[]){0, 2, 1, 3}, 16), floats(16), 2, 2, 0, 0, 1));
    void *d;
    TRY(cusparseCreateDnMat(&d, N, N, N, floats(N * N), 0, 1));
    TRY(cusparseSpMM(h, 0, 0, &one, bsr, d, &zero, c, 0, 0, fresh(NULL, 4096)));
    TRY(cudaMemcpy(results + 2048, out, N * N * 4, 2));
    void *sv, *half = halves(N);
    TRY(cusparseCreateSpVec(&sv, N, 3, fresh((int[]){1, 4, 6}, 12), halves(3), 2, 0, 2));
    TRY(cusparseCreateDnVec(&y, N, half, 2));
    TRY(cusparseAxpby(h, &two, sv, &one, y));
    TRY(cudaMemcpy(results + 4096, half, N * 2, 2));
    return cusparseDestroy(h);
}
static int sparse_matrices(void)
{
    void *h, *a, *c, *info, *descr, *color, *ptr = fresh(NULL, 64), *ind = fresh(NULL, 1024), *val = fresh(NULL, 1024);
    void *rp = fresh(row_ptr, sizeof row_ptr), *ci = fresh(columns, sizeof columns), *v = floats(NNZ);
    size_t size = 0;
    TRY(cusparseCreate(&h));
    TRY(cusparseCreateCsr(&a, N, N, NNZ, rp, ci, v, 2, 2, 0, 0));
    TRY(cusparseCreateCsr(&c, N, N, 0, ptr, NULL, NULL, 2, 2, 0, 0));
    TRY(cusparseSpGEMM_createDescr(&info));
    TRY(cusparseSpGEMM_workEstimation(h, 0, 0, &one, a, a, &zero, c, 0, 0, info, &size, NULL));
    TRY(cusparseSpGEMM_workEstimation(h, 0, 0, &one, a, a, &zero, c, 0, 0, info, &size, fresh(NULL, 4096)));
    TRY(cusparseSpGEMM_compute(h, 0, 0, &one, a, a, &zero, c, 0, 0, info, &size, NULL));
    TRY(cusparseSpGEMM_compute(h, 0, 0, &one, a, a, &zero, c, 0, 0, info, &size, fresh(NULL, 4096)));
    TRY(cusparseCsrSetPointers(c, ptr, ind, val));
    TRY(cusparseSpGEMM_copy(h, 0, 0, &one, a, a, &zero, c, 0, 0, info));
    GIVE(val, 128);
    void *x, *y, *solution = floats(N), *sv;
    TRY(cusparseCreateDnVec(&x, N, floats(N), 0));
    TRY(cusparseCreateDnVec(&y, N, solution, 0));
    TRY(cusparseSpSV_createDescr(&sv));
    TRY(cusparseSpSV_analysis(h, 1, &one, a, x, y, 0, 0, sv, fresh(NULL, 4096)));
    TRY(cusparseSpSV_solve(h, 1, &one, a, x, y, 0, 0, sv));
    TRY(cudaMemcpy(results + 512, solution, N * 4, 2));
    TRY(cusparseCreateMatDescr(&descr));
    TRY(cusparseCreateColorInfo(&color));
    float fraction = 1;
    int count;
    void *colors = fresh(NULL, 64), *order = fresh(NULL, 64);
    TRY(cusparseScsrcolor(h, N, NNZ, descr, v, rp, ci, &fraction, &count, colors, order, color));
    TRY(cudaMemcpy(results + 1024, colors, N * 4, 2));
    void *r = fresh(rows, sizeof rows), *p = fresh(columns, sizeof columns);
    TRY(cusparseXcoosortByRow(h, N, N, NNZ, r, p, fresh(rows, sizeof rows), fresh(NULL, 4096)));
    TRY(cudaMemcpy(results + 2048, p, sizeof rows, 2));
    void *rhs = floats(N);
    TRY(cusparseSgtsv2(h, N, 1, floats(N), floats(N), floats(N), rhs, N, fresh(NULL, 4096)));
    TRY(cudaMemcpy(results + 3072, rhs, N * 4, 2));
    void *bp = fresh(NULL, 64), *bi = fresh(NULL, 256), *bv = fresh(NULL, 1024);
    int total;
    TRY(cusparseXcsr2bsrNnz(h, 1, N, N, descr, rp, ci, 2, descr, bp, &total));
    TRY(cusparseScsr2bsr(h, 1, N, N, descr, v, rp, ci, 2, descr, bv, bp, bi));
    TRY(cudaMemcpy(results + 4096, bv, 128, 2));
    return cusparseDestroy(h);
}

static int dense_solvers(void)
{
    void *h, *info, *a = floats(N * N), *w = floats(N), *u = floats(N * N), *v = floats(N * N), *flag = fresh(NULL, 64);
    int lwork, iterations;
    size_t bytes;
    TRY(cusolverDnCreate(&h));
    TRY(cusolverDnSsyevd_bufferSize(h, 1, 0, N, a, N, w, &lwork));
    TRY(cusolverDnSsyevd(h, 1, 0, N, a, N, w, fresh(NULL, (size_t)lwork * 4), lwork, flag));
    GIVE(w, N * 4);
    TRY(cusolverDnCreateGesvdjInfo(&info));
    a = floats(N * N);
    TRY(cusolverDnSgesvdj_bufferSize(h, 1, 0, N, N, a, N, w, u, N, v, N, &lwork, info));
    TRY(cusolverDnSgesvdj(h, 1, 0, N, N, a, N, w, u, N, v, N, fresh(NULL, (size_t)lwork * 4), lwork, flag, info));
    TRY(cudaMemcpy(results + 256, w, N * 4, 2));
    a = floats(N * N);
    void *pivots = fresh(NULL, 64), *b = floats(N), *x = floats(N);
    TRY(cusolverDnSgetrf_bufferSize(h, N, N, a, N, &lwork));
    TRY(cusolverDnSgetrf(h, N, N, a, N, fresh(NULL, (size_t)lwork * 4 + 4), pivots, flag));
    TRY(cusolverDnSgetrs(h, 0, N, 1, a, N, pivots, b, N, flag));
    TRY(cudaMemcpy(results + 512, b, N * 4, 2));
    a = floats(N * N), b = floats(N);
    TRY(cusolverDnSSgesv_bufferSize(h, N, 1, a, N, pivots, b, N, x, N, NULL, &bytes));
    TRY(cusolverDnSSgesv(h, N, 1, a, N, pivots, b, N, x, N, fresh(NULL, bytes + 1), bytes, &iterations, flag));
    TRY(cudaMemcpy(results + 768, x, N * 4, 2));
    void *params, *values = fresh(NULL, 256);
    size_t host;
    TRY(cusolverDnCreateParams(&params));
    a = floats(N * N);
    TRY(cusolverDnXgeev_bufferSize(h, params, 0, 1, N, 0, a, N, 4, values, 0, NULL, 1, 0, u, N, 0, &bytes, &host));
    void *space = __libc_malloc(host + 1);
    int r = cusolverDnXgeev(h, params, 0, 1, N, 0, a, N, 4, values, 0, NULL, 1, 0, u, N, 0, fresh(NULL, bytes + 1),
                            bytes, space, host, flag);
    TRY(r);
    TRY(cudaMemcpy(results + 1024, values, N * 8, 2));
    return cusolverDnDestroy(h);
}

static int sparse_solvers(void)
{
    /* tridiagonal, symmetric, positive */
    enum { SIDE = 12, ALL = 3 * SIDE - 2 };
    static bool here;
    int ptr[SIDE + 1], ind[ALL], singular;
    double val[ALL], b[SIDE], x[SIDE];
    int to = 0;
    for (int i = 0; i < SIDE; i++) {
        ptr[i] = to;
        b[i] = i + 1;
        for (int j = i ? i - 1 : 0; j <= i + 1 && j < SIDE; j++)
            val[to] = i == j ? 4 + i : -1, ind[to++] = j;
    }
    ptr[SIDE] = to;
    void *h, *descr, *dp = fresh(ptr, sizeof ptr), *di = fresh(ind, sizeof ind), *dv = fresh(val, sizeof val),
                     *db = fresh(b, sizeof b), *dx = fresh(b, sizeof b);
    TRY(cusolverSpCreate(&h));
    TRY(cusparseCreateMatDescr(&descr));
    if (!here && cusolverSpDcsrlsvluHost(h, SIDE, ALL, descr, val, ptr, ind, b, 1e-12, 3, x, &singular) == 9)
        return 0; /* no SuiteSparse */
    here = true;
    TRY(cusolverSpDcsrlsvqr(h, SIDE, ALL, descr, dv, dp, di, db, 1e-12, 1, dx, &singular));
    GIVE(dx, sizeof x);
    TRY(cusolverSpDcsrlsvchol(h, SIDE, ALL, descr, dv, dp, di, db, 1e-12, 2, dx, &singular));
    TRY(cudaMemcpy(results + 256, dx, sizeof x, 2));
    TRY(cusolverSpDcsrlsvluHost(h, SIDE, ALL, descr, val, ptr, ind, b, 1e-12, 3, x, &singular));
    memcpy(results + 512, x, sizeof x);
    TRY(cusolverSpDestroy(h));
    /* The factors of a diagonal matrix are known. */
    int lp[SIDE + 1] = {0}, up[SIDE + 1], ui[SIDE], order[SIDE];
    double uv[SIDE];
    for (int i = 0; i < SIDE; i++)
        up[i] = ui[i] = order[i] = i, uv[i] = i + 2;
    up[SIDE] = SIDE;
    TRY(cusolverRfCreate(&h));
    TRY(cusolverRfSetupHost(SIDE, SIDE, up, ui, uv, 0, lp, ui, uv, SIDE, up, ui, uv, order, order, h));
    TRY(cusolverRfAnalyze(h));
    TRY(cusolverRfRefactor(h));
    void *d_order = fresh(order, sizeof order), *work = fresh(NULL, 4096);
    dx = fresh(b, sizeof b);
    TRY(cusolverRfSolve(h, d_order, d_order, 1, work, SIDE, dx, SIDE));
    TRY(cudaMemcpy(results + 1024, dx, sizeof x, 2));
    return cusolverRfDestroy(h);
}

/* ---- every allocation once --------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(void);
} sequences[] = {
    {"narrow products", narrow_products},
    {"packed columns", packed_columns},
    {"batches", batches},
    {"a large product", large_product},
    {"cuBLASLt", lt_products},
    {"transforms", transforms},
    {"random numbers", random_numbers},
    {"sparse products", sparse_products},
    {"sparse matrices", sparse_matrices},
    {"dense solvers", dense_solvers},
    {"sparse solvers", sparse_solvers},
    {"cublasXt", xt_products},
    {"cuSOLVER Mg", distributed_solvers},
    {"cuFFTW", host_transforms},
    {"nvJPEG", pictures},
    {"cuFile", files},
    {"cuSPARSELt", structured_products},
};

/* What the sequence says, with all that it has put on streams. */
static int run(int which)
{
    int r = sequences[which].run(), after = cudaDeviceSynchronize();
    failing = 0;
    while (owns)
        cudaFree(owned[--owns]);
    while (cudaDeviceSynchronize() || cudaGetLastError())
        continue;
    return r ? r : after;
}

int main(void)
{
    static char right[ROOM], got_here[ROOM];
    setvbuf(stdout, NULL, _IOLBF, 0);
    MUST(cudaFree(NULL));
    MUST(cublasCreate_v2(&blas));
    enum { NUMBERS = 6, MANY = 1 << 20 };
    void *numbers;
    MUST(cudaMalloc(&numbers, MANY * 4));
    no_threads = 1;
    EXPECT(cublasSscal_v2(blas, MANY, &two, numbers, 1), "a stream without a thread");
    no_threads = 0;
    EXPECT(!cublasSscal_v2(blas, MANY, &two, numbers, 1) && !cudaDeviceSynchronize(), "the same stream with one");
    MUST(cudaFree(numbers));
    for (int i = 0; i < (int)(sizeof sequences / sizeof *sequences); i++) {
        int heard = 0;
        long n = 1;
        results = right;
        memset(right, 0, ROOM);
        for (int twice = 0; twice < 2; twice++) /* what is made once is not made again */
            EXPECT(!run(i), "%s", sequences[i].name);
        libraries = 0; /* they are loaded when they are needed */
        dl_iterate_phdr(note, NULL);
        results = got_here;
        for (;; n++) {
            memset(got_here, 0, ROOM);
            count = 0;
            failing = n;
            int r = run(i);
            heard += r != 0;
            if (!r && memcmp(right, got_here, ROOM)) {
                int at = 0;
                while (right[at] == got_here[at])
                    at++;
                check(false, "%s: allocation %ld fails: success with other results from byte %d on", sequences[i].name,
                      n, at);
            }
            if (count < n)
                break;
        }
        EXPECT(heard > 0 || n == 1, "an allocation's failure was heard"); /* none: the library is not there */
        if (getenv("VERBOSE"))
            printf("# %s: %ld allocations, %d failures heard\n", sequences[i].name, n - 1, heard);
    }
    results = right;
    memset(right, 0, ROOM);
    MUST(run(NUMBERS));
    no_threads = 1;
    results = got_here;
    memset(got_here, 0, ROOM);
    MUST(run(NUMBERS));
    EXPECT(!memcmp(right, got_here, ROOM), "numbers without threads");
    return check_end("memory");
}
