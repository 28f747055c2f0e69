/* cuSOLVER Mg: matrices whose blocks of columns go round several devices. muSOLVER has no such functions: the blocks
 * are brought onto the first device of the handle, worked on by the functions of one device, and put back; a call
 * ends when its result is there. */
#include <stdlib.h>

#include "api/cusolver/cusolver.h"
#include "api/object.h"
#include "api/visit.h"

enum { LARGEST = 64 };

struct mg {
    int devices, device; /* the one that works */
    void *below;
};
struct grid {
    int devices, id[LARGEST];
};
struct desc {
    int element;
    long rows, cols, block;
    struct grid grid;
};
static struct mg *alive(void *handle) { return cumu_object(CUMU_MG, handle); }

/* ---- handles and descriptions ------------------------------------------------------------------ */

int wrap_cusolverMgCreate(void *out)
{
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *(void **)out = cumu_object_new(CUMU_MG, sizeof(struct mg));
    return *(void **)out ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
int wrap_cusolverDnDestroy(void *h);
int wrap_cusolverDnCreate(void *h);
int wrap_cusolverMgDestroy(void *handle)
{
    struct mg *h = alive(handle);
    if (!h || !cumu_object_end(CUMU_MG, h))
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (h->below)
        wrap_cusolverDnDestroy(h->below);
    free(h);
    return CUSOLVER_STATUS_SUCCESS;
}
static bool devices(int count, const int *id)
{
    int there = 0;
    if (count <= 0 || count > LARGEST || !id || mu.musaGetDeviceCount(&there))
        return false;
    for (int i = 0; i < count; i++)
        if (id[i] < 0 || id[i] >= there)
            return false;
    return true;
}
/* One handle of one device below; it is made on that device. */
int wrap_cusolverMgDeviceSelect(void *handle, int count, void *id)
{
    struct mg *h = alive(handle);
    struct cumu_visit visit;
    if (!h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!devices(count, id))
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (h->below)
        wrap_cusolverDnDestroy(h->below);
    h->below = NULL;
    h->devices = count;
    h->device = *(int *)id;
    int r = cumu_visit(&visit, h->device) ? CUSOLVER_STATUS_EXECUTION_FAILED : wrap_cusolverDnCreate(&h->below);
    cumu_visit_end(&visit);
    return r;
}

int wrap_cusolverMgCreateDeviceGrid(void *out, int rows, int cols, const void *id, int mapping)
{
    if (!out || rows != 1 || !devices(cols, id) || mapping < 0 || mapping > 1)
        return CUSOLVER_STATUS_INVALID_VALUE;
    struct grid *g = cumu_object_new(CUMU_MG_GRID, sizeof *g);
    *(struct grid **)out = g;
    if (!g)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    g->devices = cols;
    for (int i = 0; i < cols; i++)
        g->id[i] = ((const int *)id)[i];
    return CUSOLVER_STATUS_SUCCESS;
}
/* Rows are not cut: one block of them is all. A description keeps the grid's devices, not the grid. */
int wrap_cusolverMgCreateMatrixDesc(void *out, long long rows, long long cols, long long row_block, long long col_block,
                                    int element, void *grid)
{
    const struct grid *g = cumu_object(CUMU_MG_GRID, grid);
    if (!out || !g || rows <= 0 || cols <= 0 || row_block < rows || col_block <= 0)
        return CUSOLVER_STATUS_INVALID_VALUE;
    if (element != CUDA_R_32F && element != CUDA_R_64F && element != CUDA_C_32F && element != CUDA_C_64F)
        return CUSOLVER_STATUS_INVALID_VALUE;
    struct desc *d = cumu_object_new(CUMU_MG_DESC, sizeof *d);
    *(struct desc **)out = d;
    if (!d)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    *d = (struct desc){element, rows, cols, col_block, *g};
    return CUSOLVER_STATUS_SUCCESS;
}
static int destroy(enum cumu_object kind, void *object)
{
    if (!cumu_object_end(kind, object))
        return CUSOLVER_STATUS_INVALID_VALUE;
    free(object);
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverMgDestroyGrid(void *grid) { return destroy(CUMU_MG_GRID, grid); }
int wrap_cusolverMgDestroyMatrixDesc(void *desc) { return destroy(CUMU_MG_DESC, desc); }

/* ---- matrices ---------------------------------------------------------------------------------- */

/* The part of a distributed matrix that a call is about; on the working device it lies in `at`, packed. */
struct part {
    const struct desc *desc;
    char **blocks; /* of each device */
    long row, col; /* where it begins, from 0 */
    int m, n;
    void *at;
};
static int type_of(const struct desc *d)
{
    return d->element == CUDA_R_32F ? S : d->element == CUDA_R_64F ? D : d->element == CUDA_C_32F ? C : Z;
}
static struct part part(void *desc, void *blocks, int m, int n, int row, int col)
{
    return (struct part){cumu_object(CUMU_MG_DESC, desc), blocks, row - 1L, col - 1L, m, n, NULL};
}
static bool valid(const struct part *p)
{
    return p->desc && p->blocks && p->m >= 0 && p->n >= 0 && p->row >= 0 && p->col >= 0 &&
           p->row + p->m <= p->desc->rows && p->col + p->n <= p->desc->cols;
}

/* Columns between the blocks and the packed matrix, as many at once as a block has. */
static int move(const struct part *p, bool back)
{
    size_t size = cumu_solver_size(type_of(p->desc)), ld = (size_t)p->desc->rows * size, width = (size_t)p->m * size;
    for (long done = 0, count; done < p->n; done += count) {
        long col = p->col + done, block = col / p->desc->block, within = col % p->desc->block;
        long local = block / p->desc->grid.devices * p->desc->block + within;
        char *there = p->blocks[block % p->desc->grid.devices];
        count = p->desc->block - within < p->n - done ? p->desc->block - within : p->n - done;
        if (!there)
            return CUSOLVER_STATUS_INVALID_VALUE;
        there += (size_t)local * ld + (size_t)p->row * size;
        char *here = (char *)p->at + (size_t)done * width;
        if (mu.musaMemcpy2D(back ? there : here, back ? ld : width, back ? here : there, back ? width : ld, width,
                            (size_t)count, musaMemcpyDefault))
            return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    return CUSOLVER_STATUS_SUCCESS;
}
static int load(struct part *p)
{
    size_t bytes = (size_t)p->m * (size_t)p->n * cumu_solver_size(type_of(p->desc));
    return mu.musaMalloc(&p->at, bytes + 16) ? CUSOLVER_STATUS_ALLOC_FAILED : move(p, false);
}

/* Pivots go with the columns: as a matrix of one row of ints. */
static int move_pivots(const struct part *a, int **blocks, int *at, bool back)
{
    for (long j = 0, count; j < a->n; j += count) {
        long col = a->col + j, block = col / a->desc->block, within = col % a->desc->block;
        int *there = blocks[block % a->desc->grid.devices];
        count = a->desc->block - within < a->n - j ? a->desc->block - within : a->n - j;
        if (!there)
            return CUSOLVER_STATUS_INVALID_VALUE;
        there += block / a->desc->grid.devices * a->desc->block + within;
        if (mu.musaMemcpy(back ? there : at + j, back ? at + j : there, (size_t)count * sizeof(int), musaMemcpyDefault))
            return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- calls ------------------------------------------------------------------------------------- */

/* A call in progress: the device is set, all streams have ended, info and a workspace lie on the device. */
struct call {
    struct mg *h;
    struct cumu_visit visit;
    int type;
    void *info, *work, *more;
};
static int begin(struct call *c, void *handle, const struct part *a, const struct part *b)
{
    *c = (struct call){.h = alive(handle)};
    if (!c->h)
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!c->h->below || !valid(a) || (b && (!valid(b) || b->desc->element != a->desc->element)))
        return CUSOLVER_STATUS_INVALID_VALUE;
    c->type = type_of(a->desc);
    for (int i = 0; i < a->desc->grid.devices; i++) {
        struct cumu_visit visit;
        bool ended = !cumu_visit(&visit, a->desc->grid.id[i]) && !mu.musaDeviceSynchronize();
        cumu_visit_end(&visit);
        if (!ended)
            return CUSOLVER_STATUS_EXECUTION_FAILED;
    }
    if (cumu_visit(&c->visit, c->h->device))
        return CUSOLVER_STATUS_EXECUTION_FAILED;
    return mu.musaMalloc(&c->info, sizeof(int)) ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_SUCCESS;
}
static int workspace(struct call *c, int lwork)
{
    size_t bytes = (size_t)(lwork > 0 ? lwork : 1) * cumu_solver_size(c->type);
    return mu.musaMalloc(&c->work, bytes) ? CUSOLVER_STATUS_ALLOC_FAILED : CUSOLVER_STATUS_SUCCESS;
}
static int end(struct call *c, int status, struct part *a, struct part *b, int *info)
{
    if (!status && (mu.musaDeviceSynchronize() || mu.musaMemcpy(info, c->info, sizeof *info, musaMemcpyDeviceToHost)))
        status = CUSOLVER_STATUS_EXECUTION_FAILED;
    void *all[] = {c->info, c->work, c->more, a->at, b ? b->at : NULL};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            mu.musaFree(all[i]);
    cumu_visit_end(&c->visit);
    return status;
}

/* The workspaces that the program allocates are not needed: the smallest that it can. */
static int size(void *handle, const struct part *a, const struct part *b, long *lwork)
{
    if (!alive(handle))
        return CUSOLVER_STATUS_NOT_INITIALIZED;
    if (!valid(a) || (b && !valid(b)) || !lwork)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *lwork = 1;
    return CUSOLVER_STATUS_SUCCESS;
}

int wrap_cusolverMgPotrf_bufferSize(void *h, int uplo, int n, void *a, int ia, int ja, void *desc, int compute,
                                    void *lwork)
{
    struct part p = part(desc, a, n, n, ia, ja);
    (void)uplo, (void)compute;
    return size(h, &p, NULL, lwork);
}
int wrap_cusolverMgPotrf(void *h, int uplo, int n, void *a, int ia, int ja, void *desc, int compute, void *work,
                         long long lwork, void *info)
{
    struct part p = part(desc, a, n, n, ia, ja);
    struct call c;
    int need = 0, r = begin(&c, h, &p, NULL);
    (void)compute, (void)work, (void)lwork;
    if (!r)
        r = load(&p);
    if (!r)
        r = cumu_solver_potrf_size(c.type, c.h->below, uplo, n, p.at, n, &need);
    if (!r)
        r = workspace(&c, need);
    if (!r)
        r = cumu_solver_potrf(c.type, c.h->below, uplo, n, p.at, n, c.work, need, c.info);
    if (!r)
        r = mu.musaDeviceSynchronize() ? CUSOLVER_STATUS_EXECUTION_FAILED : move(&p, true);
    return end(&c, r, &p, NULL, info);
}

int wrap_cusolverMgPotri_bufferSize(void *h, int uplo, int n, void *a, int ia, int ja, void *desc, int compute,
                                    void *lwork)
{
    return wrap_cusolverMgPotrf_bufferSize(h, uplo, n, a, ia, ja, desc, compute, lwork);
}
int wrap_cusolverMgPotri(void *h, int uplo, int n, void *a, int ia, int ja, void *desc, int compute, void *work,
                         long long lwork, void *info)
{
    struct part p = part(desc, a, n, n, ia, ja);
    struct call c;
    int need = 0, u = cumu_cublasFillMode_t_to_musa(uplo), r = begin(&c, h, &p, NULL);
    (void)compute, (void)work, (void)lwork;
    if (!r)
        r = load(&p);
    if (!r)
        r = CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH(c.type, potri_bufferSize, c.h->below, u, n, p.at, n, &need));
    if (!r)
        r = workspace(&c, need);
    if (!r)
        r = CUMU_SOLVER_STATUS(CUMU_SOLVER_EACH(c.type, potri, c.h->below, u, n, p.at, n, c.work, need, c.info));
    if (!r)
        r = mu.musaDeviceSynchronize() ? CUSOLVER_STATUS_EXECUTION_FAILED : move(&p, true);
    return end(&c, r, &p, NULL, info);
}

int wrap_cusolverMgPotrs_bufferSize(void *h, int uplo, int n, int nrhs, void *a, int ia, int ja, void *desc_a, void *b,
                                    int ib, int jb, void *desc_b, int compute, void *lwork)
{
    struct part p = part(desc_a, a, n, n, ia, ja), q = part(desc_b, b, n, nrhs, ib, jb);
    (void)uplo, (void)compute;
    return size(h, &p, &q, lwork);
}
int wrap_cusolverMgPotrs(void *h, int uplo, int n, int nrhs, void *a, int ia, int ja, void *desc_a, void *b, int ib,
                         int jb, void *desc_b, int compute, void *work, long long lwork, void *info)
{
    struct part p = part(desc_a, a, n, n, ia, ja), q = part(desc_b, b, n, nrhs, ib, jb);
    struct call c;
    int r = begin(&c, h, &p, &q);
    (void)compute, (void)work, (void)lwork;
    if (!r)
        r = load(&p);
    if (!r)
        r = load(&q);
    if (!r)
        r = cumu_solver_potrs(c.type, c.h->below, uplo, n, nrhs, p.at, n, q.at, n, c.info);
    if (!r)
        r = mu.musaDeviceSynchronize() ? CUSOLVER_STATUS_EXECUTION_FAILED : move(&q, true);
    return end(&c, r, &p, &q, info);
}

int wrap_cusolverMgGetrf_bufferSize(void *h, int m, int n, void *a, int ia, int ja, void *desc, void *pivots,
                                    int compute, void *lwork)
{
    struct part p = part(desc, a, m, n, ia, ja);
    (void)pivots, (void)compute;
    return size(h, &p, NULL, lwork);
}
/* LU over several devices: all blocks are brought onto the first device, factored there and put back, pivots to
 * where the blocks of their columns are. */
int wrap_cusolverMgGetrf(void *h, int m, int n, void *a, int ia, int ja, void *desc, void *pivots, int compute,
                         void *work, long long lwork, void *info)
{
    struct part p = part(desc, a, m, n, ia, ja);
    struct call c;
    int need = 0, r = begin(&c, h, &p, NULL);
    (void)compute, (void)work, (void)lwork;
    if (!r && !pivots)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = load(&p);
    if (!r && mu.musaMalloc(&c.more, ((size_t)n + 1) * sizeof(int)))
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r && mu.musaMemset(c.more, 0, ((size_t)n + 1) * sizeof(int)))
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    if (!r)
        r = cumu_solver_getrf_size(c.type, c.h->below, m, n, p.at, m, &need);
    if (!r)
        r = workspace(&c, need);
    if (!r)
        r = cumu_solver_getrf(c.type, c.h->below, m, n, p.at, m, c.work, c.more, c.info);
    if (!r)
        r = mu.musaDeviceSynchronize() ? CUSOLVER_STATUS_EXECUTION_FAILED : move(&p, true);
    if (!r)
        r = move_pivots(&p, pivots, c.more, true);
    return end(&c, r, &p, NULL, info);
}

int wrap_cusolverMgGetrs_bufferSize(void *h, int op, int n, int nrhs, void *a, int ia, int ja, void *desc_a,
                                    void *pivots, void *b, int ib, int jb, void *desc_b, int compute, void *lwork)
{
    struct part p = part(desc_a, a, n, n, ia, ja), q = part(desc_b, b, n, nrhs, ib, jb);
    (void)op, (void)pivots, (void)compute;
    return size(h, &p, &q, lwork);
}
int wrap_cusolverMgGetrs(void *h, int op, int n, int nrhs, void *a, int ia, int ja, void *desc_a, void *pivots, void *b,
                         int ib, int jb, void *desc_b, int compute, void *work, long long lwork, void *info)
{
    struct part p = part(desc_a, a, n, n, ia, ja), q = part(desc_b, b, n, nrhs, ib, jb);
    struct call c;
    int r = begin(&c, h, &p, &q);
    (void)compute, (void)work, (void)lwork;
    if (!r && !pivots)
        r = CUSOLVER_STATUS_INVALID_VALUE;
    if (!r)
        r = load(&p);
    if (!r)
        r = load(&q);
    if (!r && mu.musaMalloc(&c.more, ((size_t)n + 1) * sizeof(int)))
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r)
        r = move_pivots(&p, pivots, c.more, false);
    if (!r)
        r = cumu_solver_getrs(c.type, c.h->below, op, n, nrhs, p.at, n, c.more, q.at, n, c.info);
    if (!r)
        r = mu.musaDeviceSynchronize() ? CUSOLVER_STATUS_EXECUTION_FAILED : move(&q, true);
    return end(&c, r, &p, &q, info);
}

/* Eigenvalues go to the host, in the real type beside the matrix's. */
static bool values_of(const struct part *p, int wtype)
{
    return p->desc && wtype == (cumu_solver_real(type_of(p->desc)) == sizeof(float) ? CUDA_R_32F : CUDA_R_64F);
}
int wrap_cusolverMgSyevd_bufferSize(void *h, int jobz, int uplo, int n, void *a, int ia, int ja, void *desc, void *w,
                                    int wtype, int compute, void *lwork)
{
    struct part p = part(desc, a, n, n, ia, ja);
    (void)jobz, (void)uplo, (void)w, (void)compute;
    int r = size(h, &p, NULL, lwork);
    return !r && !values_of(&p, wtype) ? CUSOLVER_STATUS_INVALID_VALUE : r;
}
/* Eigenvalues over several devices, on the first one; values go to the host, vectors back into the blocks if they
 * are wanted. */
int wrap_cusolverMgSyevd(void *h, int jobz, int uplo, int n, void *a, int ia, int ja, void *desc, void *w, int wtype,
                         int compute, void *work, long long lwork, void *info)
{
    struct part p = part(desc, a, n, n, ia, ja);
    struct call c;
    int need = 0, r = begin(&c, h, &p, NULL);
    (void)compute, (void)work, (void)lwork;
    if (!r && (!w || !values_of(&p, wtype)))
        r = CUSOLVER_STATUS_INVALID_VALUE;
    size_t bytes = r ? 0 : (size_t)n * cumu_solver_real(c.type);
    if (!r)
        r = load(&p);
    if (!r && mu.musaMalloc(&c.more, bytes + 16))
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (!r)
        r = cumu_solver_syevd_size(c.type, c.h->below, jobz, uplo, n, p.at, n > 1 ? n : 1, &need);
    if (!r)
        r = workspace(&c, need);
    if (!r)
        r = cumu_solver_syevd(c.type, c.h->below, jobz, uplo, n, p.at, n > 1 ? n : 1, c.more, c.work, need, c.info);
    if (!r && (mu.musaDeviceSynchronize() || mu.musaMemcpy(w, c.more, bytes, musaMemcpyDeviceToHost)))
        r = CUSOLVER_STATUS_EXECUTION_FAILED;
    if (!r && jobz == CUSOLVER_EIG_MODE_VECTOR)
        r = move(&p, true);
    return end(&c, r, &p, NULL, info);
}
