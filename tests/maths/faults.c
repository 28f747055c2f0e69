/* Library calls with addresses where nothing is: each is error 700 of the context, with one line on stderr that names
 * the call; the process lives on, and so does the next context. */
#define _GNU_SOURCE
#include "maths.h"

static float got;
enum place { FREED, SHORT, LOW, BEYOND, UNMAPPED, HIDDEN, PLACES };
static const char *const place_name[PLACES] = {"freed", "short", "low", "beyond any", "unmapped", "hidden"};
enum { LONG = 24 << 20 };

/* An address that has no (or too little) memory of the kind. */
static void *bad(enum place p)
{
    void *at, *room;
    switch (p) {
    case FREED:
        MUST(cudaMalloc(&at, 16ul * LONG));
        MUST(cudaFree(at));
        return (char *)at + 8ul * LONG; /* what is allocated next takes the beginning */
    case SHORT:
        MUST(cudaMalloc(&room, 16ul * LONG));
        MUST(cudaMalloc(&at, 1 << 20));
        MUST(cudaFree(room)); /* what is allocated next lies in front of it, and not behind */
        return at;
    case LOW: return (void *)64;
    case BEYOND: return (void *)(uintptr_t)0xdeadbeefdeadbe00;
    case UNMAPPED: /* far from what the system, and a sanitizer, gives out */ return (void *)((uintptr_t)1 << 45);
    default: /* as the guard of a stack is */
        at = mmap(NULL, LONG, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return at;
    }
}
static void *good(size_t size)
{
    void *p;
    MUST(cudaMalloc(&p, size));
    MUST(cudaMemset(p, 0, size));
    return p;
}
static void *with(const void *from, size_t size)
{
    void *p = good(size);
    MUST(cudaMemcpy(p, from, size, 1));
    return p;
}

/* What a call must have left behind. */
static void expect(const char *what, const char *place, const char *name)
{
    int error = cudaDeviceSynchronize(), lines = said(name), after = cublasSscal_v2(blas, 1, &one, NULL, 1);
    EXPECT(error == 700 && lines == 1 && after && cudaStreamSynchronize(NULL) == 700,
           "%s, %s: error %d, %d lines with %s, then %d; said: %s", what, place, error, lines, name, after, text);
    end_context();
    begin_context();
}
#define EACH_PLACE(name, ...) \
    for (enum place p = 0; p < PLACES; p++) { \
        void *x = bad(p); \
        (void)(__VA_ARGS__); \
        expect(#__VA_ARGS__, place_name[p], name); \
    }
#define ONCE(name, ...) \
    do { \
        (void)(__VA_ARGS__); \
        expect(#__VA_ARGS__, "", name); \
    } while (0)

static void dense(void)
{
    enum { N = 6000000, SIDE = 1200, MANY = 3 };
    EACH_PLACE("mublasSscal", cublasSscal_v2(blas, N, &two, x, 1));
    EACH_PLACE("mublasSaxpy", cublasSaxpy_v2(blas, N, &one, good(N * 4), -1, x, 1));
    EACH_PLACE("mublasSdot", cublasSdot_v2(blas, N, x, 1, good(N * 4), 1, &got));
    EACH_PLACE("mublasSgemv", cublasSgemv_v2(blas, 0, SIDE * 2, SIDE * 2, &one, x, SIDE * 2, good(SIDE * 8), 1, &one,
                                             good(SIDE * 8), 1));
    EACH_PLACE("mublasSgemm", cublasSgemm_v2(blas, 0, 0, SIDE, SIDE, 64, &one, good(SIDE * SIDE * 4), SIDE,
                                             good(SIDE * SIDE * 4), 64, &one, x, SIDE * 2));
    EACH_PLACE("mublasSgemm", cublasSgemm_v2(blas, 0, 0, 64, 64, SIDE * 80, &one, x, 64, good(SIDE * 80 * 64 * 4),
                                             SIDE * 80, &one, good(64 * 64 * 4), 64));
    EACH_PLACE("mublasStrsm",
               cublasStrsm_v2(blas, 0, 0, 0, 0, SIDE * 2, 3, &one, x, SIDE * 2, good(SIDE * 3 * 8), SIDE * 2));
    EACH_PLACE("mublasGemmEx", cublasGemmEx(blas, 0, 0, SIDE, SIDE, 8, &one, good(SIDE * 64), 2, SIDE, good(SIDE * 64),
                                            2, 8, &one, x, 2, SIDE * 4, 68, -1));
    /* small ones run inside the call; a result's place is the host's */
    enum place some[] = {FREED, LOW, BEYOND, UNMAPPED};
    for (int i = 0; i < 4; i++) {
        void *x = bad(some[i]);
        ONCE("mublasSgemm", cublasSgemm_v2(blas, 0, 0, 4, 4, 4, &one, x, 4, good(64), 4, &one, good(64), 4));
    }
    ONCE("mublasSdot", cublasSdot_v2(blas, 5, good(64), 1, good(64), 1, bad(UNMAPPED)));
    void *members[] = {good(64), NULL, good(64)}, *fine[] = {good(64), good(64), good(64)};
    void *device = with(members, sizeof members), *others = with(fine, sizeof fine);
    ONCE("mublasSgemmBatched",
         cublasSgemmBatched(blas, 0, 0, 4, 4, 4, &one, others, 4, device, 4, &one, others, 4, MANY));
    ONCE("mublasSgemmBatched",
         cublasSgemmBatched(blas, 0, 0, 4, 4, 4, &one, bad(FREED), 4, bad(FREED), 4, &one, bad(FREED), 4, MANY));
    void *again[] = {good(64), NULL, good(64)};
    ONCE("mublasSgetrfBatched", cublasSgetrfBatched(blas, 4, with(again, sizeof again), 4, NULL, good(64), MANY));
    void *too[] = {good(64), NULL, good(64)};
    ONCE("mublasSgeqrfBatched",
         cublasSgeqrfBatched(blas, 4, 4, with(too, sizeof too), 4, with(too, sizeof too), &(int){0}, MANY));
    /* a NULL that is not looked at is none */
    void *none[] = {NULL, NULL, NULL}, *to[] = {good(64), good(64), good(64)};
    int r = cublasSgemmBatched(blas, 0, 0, 4, 4, 0, &one, with(none, sizeof none), 4, with(none, sizeof none), 4, &zero,
                               with(to, sizeof to), 4, MANY);
    EXPECT(!r && !cudaDeviceSynchronize() && !said("mublasSgemmBatched"), "NULL that nobody reads");
}

static void transforms(void)
{
    int plan;
    for (enum place p = 0; p < PLACES; p++) {
        MUST(cufftPlan1d(&plan, 1 << 21, 0x29, 1));
        void *x = bad(p);
        ONCE("mufftExecC2C", cufftExecC2C(plan, x, good(16 << 20), -1));
        MUST(cufftPlan2d(&plan, 512, 4096, 0x29)); /* by blocks, through a lock and a workspace */
        x = bad(p);
        ONCE("mufftExecC2C", cufftExecC2C(plan, x, x, -1));
        void *g;
        MUST(curandCreateGenerator(&g, 161));
        x = bad(p);
        ONCE("murandGenerateUniform", curandGenerateUniform(g, x, 6000000));
        MUST(curandCreateGenerator(&g, 141));
        x = bad(p);
        ONCE("murandGenerate", curandGenerate(g, x, p == SHORT ? 6000000 : 100));
    }
}

static void solvers(void)
{
    enum { SIDE = 2200 };
    int size, *info = NULL;
    for (enum place p = 0; p < PLACES; p++) {
        void *h, *x = bad(p);
        MUST(cusolverDnCreate(&h));
        MUST(cusolverDnSgetrf_bufferSize(h, SIDE, SIDE, x, SIDE, &size));
        ONCE("musolverDnSgetrf",
             cusolverDnSgetrf(h, SIDE, SIDE, x, SIDE, good((size_t)size * 4), good(SIDE * 4), info = good(4)));
        MUST(cusolverDnCreate(&h));
        x = bad(p);
        MUST(cusolverDnSsyevd_bufferSize(h, 1, 0, 100, x, SIDE * 40, good(800), &size));
        ONCE("musolverDnSsyevd",
             cusolverDnSsyevd(h, 1, 0, 100, x, SIDE * 40, good(800), good((size_t)size * 4), size, good(4)));
        MUST(cusolverDnCreate(&h));
        x = bad(p);
        ONCE("musolverDnSgetrs",
             cusolverDnSgetrs(h, 0, 4, 1, good(64), 4, x == NULL ? NULL : bad(FREED), good(64), 4, good(4)));
    }
    int wild[] = {1 << 30, -(1 << 30), 3, 4};
    void *h;
    MUST(cusolverDnCreate(&h));
    ONCE("musolverDnSgetrs", cusolverDnSgetrs(h, 0, 4, 1, good(64), 4, with(wild, sizeof wild), good(64), 4, good(4)));
    MUST(cusolverDnCreate(&h));
    void *members[] = {good(64), NULL};
    ONCE("musolverDnSpotrfBatched", cusolverDnSpotrfBatched(h, 0, 4, with(members, sizeof members), 4, good(64), 2));
}

static void lt(void)
{
    for (enum place p = 0; p < PLACES; p++) {
        void *h, *d, *la, *lc, *x = bad(p);
        MUST(cublasLtCreate(&h));
        MUST(cublasLtMatmulDescCreate(&d, 68, 0));
        MUST(cublasLtMatrixLayoutCreate(&la, 0, 64, 64, 64));
        MUST(cublasLtMatrixLayoutCreate(&lc, 0, 64, 64, 50000));
        ONCE("mublasLtMatmul", cublasLtMatmul(h, d, &one, good(64 * 64 * 4), la, good(64 * 64 * 4), la, &zero, x, lc, x,
                                              lc, NULL, NULL, 0, NULL));
    }
}

/* A matrix of four rows with one element each, some of it wrong. */
static void sparse(void)
{
    void *h, *a, *b, *x, *y, *work = good(1 << 20);
    static const int ptr[] = {0, 1, 2, 3, 4}, ind[] = {0, 1, 2, 3}, wild[] = {0, 1 << 29, 2, -(1 << 29)},
                     near[] = {0, 1, 5, 3};
    static const int back[] = {0, 3, 1, 3, 4}, far[] = {0, 1, 1 << 30, 1 << 30, 4};
    enum { N = 4 };
    for (int way = 0; way < 7; way++) {
        static const int *const pointers[] = {ptr, far, back, ptr, ptr, ptr, ptr};
        int op = way == 4, half = way == 5, type = half ? 2 : 0, value[N] = {0};
        MUST(cusparseCreate(&h));
        work = good(1 << 20);
        void *vals = way == 3 ? bad(FREED) : with(value, sizeof value);
        const int *columns = way == 5 ? near : way == 0 || way == 4 ? wild : ind;
        MUST(cusparseCreateCsr(&a, N, N, N, with(pointers[way], sizeof ptr), with(columns, sizeof ind), vals, 2, 2, 0,
                               type));
        MUST(cusparseCreateDnVec(&x, N, way == 6 ? bad(UNMAPPED) : good(64), type));
        MUST(cusparseCreateDnVec(&y, N, good(64), type));
        if (half || way == 2) /* with copies in the host's heap: products of sparse matrices */
            continue;
        ONCE("musparseSpMV", cusparseSpMV(h, op, &one, a, x, &zero, y, 0, 0, work));
    }
    for (int way = 0; way < 4; way++) {
        static const int *const pointers[] = {ptr, ptr, back, far}, *const columns[] = {wild, near, ind, ind};
        void *descr, *info, *count = good(64);
        int value[N] = {0}, total;
        MUST(cusparseCreate(&h));
        MUST(cusparseCreateMatDescr(&descr));
        MUST(cusparseCreateCsr(&a, N, N, N, with(pointers[way], sizeof ptr), with(columns[way], sizeof ind),
                               with(value, sizeof value), 2, 2, 0, 0));
        MUST(cusparseCreateCsr(&b, N, N, 0, count, NULL, NULL, 2, 2, 0, 0));
        MUST(cusparseSpGEMM_createDescr(&info));
        size_t size = 0;
        cusparseSpGEMM_workEstimation(h, 0, 0, &one, a, a, &zero, b, 0, 0, info, &size, NULL);
        cusparseSpGEMM_workEstimation(h, 0, 0, &one, a, a, &zero, b, 0, 0, info, &size, work = good(1 << 20));
        ONCE("musparseSpGEMM",
             cusparseSpGEMM_compute(h, 0, 0, &one, a, a, &zero, b, 0, 0, info, &size, NULL) ||
                 cusparseSpGEMM_compute(h, 0, 0, &one, a, a, &zero, b, 0, 0, info, &size, good(1 << 20)));
        MUST(cusparseCreate(&h));
        ONCE("musparseXcsr2bsrNnz", cusparseXcsr2bsrNnz(h, 0, N, N, descr, with(pointers[way], sizeof ptr),
                                                        with(columns[way], sizeof ind), 2, descr, good(64), &total));
    }
}

/* On a stream of the program's, from a graph, twice at once. */
static void elsewhere(void)
{
    enum { N = 6000000 };
    void *stream, *graph, *exec;
    MUST(cudaStreamCreateWithFlags(&stream, 1));
    MUST(cublasSetStream_v2(blas, stream));
    ONCE("mublasSscal", cublasSscal_v2(blas, N, &two, bad(FREED), 1));
    MUST(cudaStreamCreateWithFlags(&stream, 1));
    MUST(cublasSetStream_v2(blas, stream));
    MUST(cudaStreamBeginCapture(stream, 0));
    MUST(cublasSscal_v2(blas, N, &two, bad(UNMAPPED), 1));
    MUST(cudaStreamEndCapture(stream, &graph));
    MUST(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    ONCE("mublasSscal", cudaGraphLaunch(exec, stream));
}

int main(void)
{
    begin_context();
    dense();
    transforms();
    solvers();
    lt();
    sparse();
    elsewhere();
    /* Everything still works. */
    float data[] = {1, 2, 3, 4};
    void *v = with(data, sizeof data);
    EXPECT(!cublasSscal_v2(blas, 4, &two, v, 1) && !cudaMemcpy(data, v, sizeof data, 2) && data[3] == 8,
           "a call after all");
    return check_end("faults");
}
