/* cuSOLVER Mg: blocks of columns on several devices; what comes back solves and multiplies out, by plain loops. */
#include "solver.h"

enum { MOST = 8 };
static int devices, ids[MOST];
static void *grid;

/* A matrix in blocks of `block` columns, larger than what is looked at by one row and two columns in front. */
struct spread {
    int type, rows, cols, block;
    void *at[MOST], *desc;
};
static void *mg(const char *name)
{
    static void *lib;
    lib = lib ? lib : dlopen("libcusolverMg.so.12", RTLD_NOW);
    char whole[64];
    snprintf(whole, sizeof whole, "cusolverMg%s", name);
    void *f = lib ? dlsym(lib, whole) : NULL;
    if (!EXPECT(f, "no %s", whole)) {
        exit(1);
    }
    return f;
}
#define MG(name) ((int (*)())mg(name))

static char *column(struct spread s, int j, size_t size)
{
    int block = j / s.block;
    return (char *)s.at[block % devices] +
           ((size_t)(block / devices) * (size_t)s.block + (size_t)(j % s.block)) * (size_t)s.rows * size;
}
static void put_part(struct spread s, struct mat a, int row, int col)
{
    size_t size = size_of(s.type);
    void *raw = malloc((size_t)a.m * 16 + 16);
    for (int j = 0; j < a.n; j++) {
        pack(s.type, &E(a, 0, j), raw, (size_t)a.m);
        cudaMemcpy(column(s, j + col, size) + (size_t)row * size, raw, (size_t)a.m * size, 4);
    }
    free(raw);
}
static struct mat get_part(struct spread s, int m, int n, int row, int col)
{
    size_t size = size_of(s.type);
    struct mat a = mat(m, n);
    void *raw = malloc((size_t)m * 16 + 16);
    for (int j = 0; j < n; j++) {
        cudaMemcpy(raw, column(s, j + col, size) + (size_t)row * size, (size_t)m * size, 4);
        unpack(s.type, raw, &E(a, 0, j), (size_t)m);
    }
    free(raw);
    return a;
}
static struct spread spread(int type, struct mat a, int block, int row, int col)
{
    struct spread s = {.type = type, .rows = a.m + row, .cols = a.n + col, .block = block};
    int blocks = (s.cols + block - 1) / block, each = (blocks + devices - 1) / devices;
    for (int d = 0; d < devices; d++) {
        cudaSetDevice(ids[d]);
        s.at[d] = memory((size_t)s.rows * (size_t)(each * block) * 16);
    }
    cudaSetDevice(0);
    IS(MG("CreateMatrixDesc")(&s.desc, (long)s.rows, (long)s.cols, (long)s.rows, (long)block, cuda_type(type), grid),
       0);
    put_part(s, a, row, col);
    return s;
}
static void gather_back(struct spread s)
{
    for (int d = 0; d < devices; d++)
        cudaFree(s.at[d]);
    IS(MG("DestroyMatrixDesc")(s.desc), 0);
}

static void systems(int type, int n, int block, int off)
{
    struct mat a = positive(type, n), x = random_mat(type, n, 3), b = product(OP_N, a, OP_N, x);
    struct spread p = spread(type, a, block, off, off), q = spread(type, b, 2, 0, 0);
    int e = cuda_type(type), info = 7, one = off + 1, device = -1;
    long lwork = 0;
    void *work[MOST] = {NULL};
    IS(MG("Potrf_bufferSize")(handle, LOWER, n, p.at, one, one, p.desc, e, &lwork), 0);
    EXPECT(lwork > 0, "no workspace");
    IS(MG("Potrf")(handle, LOWER, n, p.at, one, one, p.desc, e, work, lwork, &info), 0);
    IS(info, 0);
    struct mat l = triangle(get_part(p, n, n, off, off), false, false, n, n);
    SAME(product(OP_N, l, OP_C, l), a, "MgPotrf");
    IS(MG("Potrs_bufferSize")(handle, LOWER, n, 3, p.at, one, one, p.desc, q.at, 1, 1, q.desc, e, &lwork), 0);
    IS(MG("Potrs")(handle, LOWER, n, 3, p.at, one, one, p.desc, q.at, 1, 1, q.desc, e, work, lwork, &info), 0);
    SAME(product(OP_N, a, OP_N, get_part(q, n, 3, 0, 0)), b, "MgPotrs");
    IS(MG("Potri_bufferSize")(handle, LOWER, n, p.at, one, one, p.desc, e, &lwork), 0);
    IS(MG("Potri")(handle, LOWER, n, p.at, one, one, p.desc, e, work, lwork, &info), 0);
    struct mat inverse = get_part(p, n, n, off, off);
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            E(inverse, i, j) = conj(E(inverse, j, i));
    SMALL(distance(product(OP_N, a, OP_N, inverse), identity(n, n)) / n, "MgPotri");

    struct mat g = random_mat(type, n, n);
    b = product(OP_T, g, OP_N, x);
    put_part(p, g, off, off);
    put_part(q, b, 0, 0);
    struct spread pivots = spread(0, mat(1, n + off), block, 0, 0);
    IS(MG("Getrf_bufferSize")(handle, n, n, p.at, one, one, p.desc, pivots.at, e, &lwork), 0);
    IS(MG("Getrf")(handle, n, n, p.at, one, one, p.desc, pivots.at, e, work, lwork, &info), 0);
    IS(info, 0);
    IS(MG("Getrs_bufferSize")(handle, OP_T, n, 3, p.at, one, one, p.desc, pivots.at, q.at, 1, 1, q.desc, e, &lwork), 0);
    IS(MG("Getrs")(handle, OP_T, n, 3, p.at, one, one, p.desc, pivots.at, q.at, 1, 1, q.desc, e, work, lwork, &info),
       0);
    SMALL(distance(product(OP_T, g, OP_N, get_part(q, n, 3, 0, 0)), b) / 20, "MgGetrs");
    struct mat f = get_part(p, n, n, off, off), lu;
    lu = product(OP_N, triangle(f, false, true, n, n), OP_N, triangle(f, true, false, n, n));
    for (int j = n; j-- > 0;) { /* rows back in the order in which the pivots say they went */
        int i = number(column(pivots, j + off, 4)) - 1;
        EXPECT(i >= j && i < n, "MgGetrf: a pivot of %d in column %d", i, j);
        for (int k = 0; i >= j && i < n && k < n; k++) {
            num swap = E(lu, i, k);
            E(lu, i, k) = E(lu, j, k);
            E(lu, j, k) = swap;
        }
    }
    SAME(lu, g, "MgGetrf");

    struct mat h = symmetric(type, n, true);
    double *w = calloc((size_t)n, 8), *wide = calloc((size_t)n, 8);
    put_part(p, h, off, off);
    IS(MG("Syevd_bufferSize")(handle, 1, LOWER, n, p.at, one, one, p.desc, w, type % 2, e, &lwork), 0);
    IS(MG("Syevd")(handle, 1, LOWER, n, p.at, one, one, p.desc, w, type % 2, e, work, lwork, &info), 0);
    struct mat v = get_part(p, n, n, off, off), scaled = copied(v);
    for (int j = 0; j < n; j++) {
        wide[j] = type % 2 ? w[j] : (double)((float *)w)[j];
        for (int i = 0; i < n; i++)
            E(scaled, i, j) *= wide[j];
    }
    SAME(product(OP_N, scaled, OP_C, v), h, "MgSyevd");
    IS(MG("Syevd")(handle, 1, LOWER, n, p.at, one, one, p.desc, w, !(type % 2), e, work, lwork, &info), INVALID);
    IS(MG("Potrf")(handle, LOWER, n, p.at, one + 1, one, p.desc, e, work, lwork, &info), INVALID);
    IS(MG("Potrf")(handle, LOWER, n, p.at, 0, one, p.desc, e, work, lwork, &info), INVALID);
    IS(MG("Potrf")(NULL, LOWER, n, p.at, one, one, p.desc, e, work, lwork, &info), NOT_INITIALIZED);
    cudaGetDevice(&device);
    IS(device, 0);
    gather_back(p), gather_back(q), gather_back(pivots);
    free(w), free(wide);
}

int main(void)
{
    int there = 0, wrong[] = {99};
    void *other = NULL;
    int r = F("cusolverDnCreate")(&handle);
    if (r == 1) {
        printf("skip: built without OpenBLAS\n");
        return 77;
    }
    cudaGetDeviceCount(&there);
    devices = there < MOST ? there : MOST;
    for (int i = 0; i < devices; i++)
        ids[i] = devices - 1 - i;
    IS(MG("Create")(&handle), 0);
    IS(MG("DeviceSelect")(handle, 1, wrong), INVALID);
    IS(MG("DeviceSelect")(handle, devices, ids), 0);
    IS(MG("CreateDeviceGrid")(&other, 2, devices, ids, 1), INVALID);
    IS(MG("CreateDeviceGrid")(&other, 1, 1, wrong, 1), INVALID);
    IS(MG("CreateDeviceGrid")(&grid, 1, devices, ids, 1), 0);
    IS(MG("CreateMatrixDesc")(&other, 4L, 4L, 2L, 2L, 1, grid), INVALID);
    IS(MG("CreateMatrixDesc")(&other, 4L, 4L, 4L, 2L, 2, grid), INVALID);
    for (int type = 0; type < 4; type++) {
        systems(type, 1, 1, 0);
        systems(type, 17, 3, 0);
        systems(type, 24, 5, 2);
        systems(type, 12, 64, 1);
    }
    IS(MG("DestroyGrid")(grid), 0);
    IS(MG("Destroy")(handle), 0);
    IS(MG("Destroy")(NULL), NOT_INITIALIZED);
    printf("# %d devices\n", devices);
    return check_end("cuSOLVER Mg");
}
