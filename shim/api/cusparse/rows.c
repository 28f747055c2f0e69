/* Formats that muSPARSE lacks (BSR, sliced ELL), as the CSR matrices that they are.
 *
 * The structure is read on the host, so these calls wait for their stream, and no graph can capture them. Elements are
 * found by their place in the program's values, so that any type, block and width of indices goes. */
#include <stdlib.h>
#include <string.h>

#include "api/cusparse/rows.h"
#include "api/fetch.h"

struct cumu_rows {
    struct cumu_spmat csr; /* its arrays are on the device, and ours */
    size_t count;          /* elements of all members of the batch */
    int64_t *place;        /* of each in the values of the matrix */
    size_t values;         /* how many those are */
};

void cumu_cusparse_rows_free(struct cumu_rows *r)
{
    if (!r)
        return;
    if (r->csr.mu)
        mu.musparseDestroySpMat(r->csr.mu);
    mu.musaFree(r->csr.offsets);
    mu.musaFree(r->csr.indices);
    mu.musaFree(r->csr.values);
    free(r->place);
    free(r);
}

const struct cumu_spmat *cumu_cusparse_rows_matrix(const struct cumu_rows *r) { return &r->csr; }

/* ---- from the program's arrays */
struct source {
    void *h;
    musaStream_t stream;
    const struct cumu_spmat *m;
    char *offsets, *indices; /* on the host */
    size_t columns;          /* of blocks or places: how many each member has there */
};
#define NO_MATRIX SIZE_MAX

static int64_t number(const char *at, int type, size_t i)
{
    return type == CUSPARSE_INDEX_64I ? ((const int64_t *)(const void *)at)[i] : ((const int32_t *)(const void *)at)[i];
}
static size_t width_of(int type) { return type == CUSPARSE_INDEX_64I ? 8 : 4; }

/* n bytes to `to` on the device, allocated if it is NULL. */
static bool send(musaStream_t stream, void **to, const void *from, size_t n)
{
    if (!*to && mu.musaMalloc(to, n ? n : 1))
        return false;
    return !n ||
           (!mu.musaMemcpyAsync(*to, from, n, musaMemcpyHostToDevice, stream) && !mu.musaStreamSynchronize(stream));
}

/* Lines of the structure: rows of blocks, or slices. */
static size_t lines(const struct cumu_spmat *m)
{
    bool bsr = m->format == CUSPARSE_FORMAT_BSR;
    return (size_t)(bsr ? m->rows / m->block_rows : (m->rows + m->block_rows - 1) / m->block_rows);
}

/* Writes the elements of one member in the order of its rows; without arrays counts them. NO_MATRIX where the offsets
 * say what is not there. */
static size_t elements(const struct source *s, size_t member, int64_t *ptr, int64_t *ind, int64_t *place)
{
    const struct cumu_spmat *m = s->m;
    bool bsr = m->format == CUSPARSE_FORMAT_BSR;
    size_t n = 0, first = member * (size_t)m->batch_offsets, column = member * (size_t)m->batch_columns;
    for (int64_t row = 0; row < m->rows; row++) {
        int64_t line = row / m->block_rows, in = row % m->block_rows;
        int64_t from = number(s->offsets, m->offsets_type, first + (size_t)line) - m->base;
        int64_t end = number(s->offsets, m->offsets_type, first + (size_t)line + 1) - m->base;
        if (from < 0 || end > (int64_t)s->columns)
            return NO_MATRIX;
        if (ptr)
            ptr[row] = (int64_t)n;
        if (!bsr) /* a slice lies by columns of its rows */
            from += in;
        for (int64_t k = from; k < end; k += bsr ? 1 : m->block_rows) {
            int64_t c = number(s->indices, m->index_type, column + (size_t)k) - m->base;
            if (c < 0) /* padding */
                continue;
            for (int64_t j = 0; j < (bsr ? m->block_cols : 1); j++, n++) {
                if (!ptr)
                    continue;
                int64_t each = bsr ? k * m->block_rows * m->block_cols + (m->order == CUSPARSE_ORDER_ROW
                                                                              ? in * m->block_cols + j
                                                                              : j * m->block_rows + in)
                                   : k;
                ind[n] = bsr ? c * m->block_cols + j : c;
                place[n] = each + (int64_t)member * m->batch_stride;
            }
        }
    }
    if (ptr)
        ptr[m->rows] = (int64_t)n;
    return n;
}

int cumu_cusparse_rows_set(void *h, struct cumu_rows *r, const void *values)
{
    musaStream_t stream;
    int status = CUSPARSE(mu.musparseGetStream(h, &stream));
    if (status)
        return status;
    size_t size = cumu_cusparse_size(r->csr.type);
    char *from = cumu_fetch(stream, values, r->values * size), *to = malloc(r->count * size + 1);
    bool done = from && to;
    for (size_t k = 0; done && k < r->count; k++)
        memcpy(to + k * size, from + (size_t)r->place[k] * size, size);
    done = done && send(stream, &r->csr.values, to, r->count * size);
    free(from);
    free(to);
    return done ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}

int cumu_cusparse_rows_back(void *h, const struct cumu_rows *r, void *values)
{
    musaStream_t stream;
    int status = CUSPARSE(mu.musparseGetStream(h, &stream));
    if (status)
        return status;
    size_t size = cumu_cusparse_size(r->csr.type);
    char *from = cumu_fetch(stream, r->csr.values, r->count * size), *to = cumu_fetch(stream, values, r->values * size);
    for (size_t k = 0; from && to && k < r->count; k++)
        memcpy(to + (size_t)r->place[k] * size, from + k * size, size);
    bool done = from && to && send(stream, &values, to, r->values * size);
    free(from);
    free(to);
    return done ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}

/* The arrays of `r`, whose indices are of 64 bits. */
static int convert(const struct source *s, struct cumu_rows *r)
{
    const struct cumu_spmat *m = s->m;
    size_t batch = (size_t)m->batch, each = elements(s, 0, NULL, NULL, NULL), rows = (size_t)m->rows + 1;
    if (each == NO_MATRIX)
        return CUSPARSE_STATUS_INVALID_VALUE;
    int64_t *ptr = malloc(batch * rows * sizeof *ptr), *ind = malloc(batch * each * sizeof *ind + 1);
    r->place = malloc(batch * each * sizeof *r->place + 1);
    int status = CUSPARSE_STATUS_ALLOC_FAILED;
    if (!ptr || !ind || !r->place)
        goto out;
    status = CUSPARSE_STATUS_INVALID_VALUE; /* members of a batch have as many elements each */
    for (size_t i = 0; i < batch; i++) {
        if (i && elements(s, i, NULL, NULL, NULL) != each)
            goto out;
        elements(s, i, ptr + i * rows, ind + i * each, r->place + i * each);
    }
    r->count = batch * each;
    for (size_t k = 0; k < r->count; k++)
        if (r->place[k] < 0 || (size_t)r->place[k] >= r->values)
            goto out;
    status = CUSPARSE_STATUS_EXECUTION_FAILED;
    if (!send(s->stream, &r->csr.offsets, ptr, batch * rows * sizeof *ptr) ||
        !send(s->stream, &r->csr.indices, ind, r->count * sizeof *ind))
        goto out;
    status = cumu_cusparse_rows_set(s->h, r, m->values);
    if (status)
        goto out;
    r->csr.nnz = (int64_t)each;
    status = CUSPARSE(mu.musparseCreateCsr((musparseSpMatDescr_t *)&r->csr.mu, m->rows, m->cols, (int64_t)each,
                                           r->csr.offsets, r->csr.indices, r->csr.values, CUSPARSE_INDEX_64I,
                                           CUSPARSE_INDEX_64I, CUSPARSE_INDEX_BASE_ZERO, m->type));
    if (!status && batch > 1)
        status = CUSPARSE(mu.musparseCsrSetStridedBatch(r->csr.mu, m->batch, (int64_t)rows, (int64_t)each));
    for (int what = CUSPARSE_SPMAT_FILL_MODE; !status && what <= CUSPARSE_SPMAT_DIAG_TYPE; what++) {
        int value = what == CUSPARSE_SPMAT_FILL_MODE ? m->fill : m->diag;
        status = CUSPARSE(mu.musparseSpMatSetAttribute(r->csr.mu, what, &value, sizeof value));
    }
out:
    free(ptr);
    free(ind);
    return status;
}

int cumu_cusparse_rows(void *h, const struct cumu_spmat *m, const char *function, struct cumu_rows **out)
{
    struct source s = {.h = h, .m = m};
    musaStreamCaptureStatus capture = musaStreamCaptureStatusNone;
    *out = NULL;
    int status = CUSPARSE(mu.musparseGetStream(h, &s.stream));
    if (status)
        return status;
    if (mu.musaStreamIsCapturing(s.stream, &capture) || capture != musaStreamCaptureStatusNone) {
        cumu_gap("cusparse", function, "a graph cannot capture matrices of a format that muSPARSE lacks");
        return CUSPARSE_STATUS_NOT_SUPPORTED;
    }
    struct cumu_rows *r = calloc(1, sizeof *r);
    if (!r)
        return CUSPARSE_STATUS_ALLOC_FAILED;
    bool bsr = m->format == CUSPARSE_FORMAT_BSR;
    size_t last = (size_t)m->batch - 1, n = m->rows ? lines(m) + 1 + last * (size_t)m->batch_offsets : 0;
    size_t blocks = bsr ? (size_t)(m->nnz / (m->block_rows * m->block_cols)) : (size_t)m->width;
    r->csr = (struct cumu_spmat){.format = CUSPARSE_FORMAT_CSR,
                                 .rows = m->rows,
                                 .cols = m->cols,
                                 .offsets_type = CUSPARSE_INDEX_64I,
                                 .index_type = CUSPARSE_INDEX_64I,
                                 .type = m->type,
                                 .fill = m->fill,
                                 .diag = m->diag,
                                 .batch = m->batch};
    s.columns = blocks;
    r->values = (size_t)(bsr ? m->nnz : m->width) + last * (size_t)m->batch_stride;
    s.offsets = cumu_fetch(s.stream, m->offsets, n * width_of(m->offsets_type));
    s.indices = cumu_fetch(s.stream, m->indices, (blocks + last * (size_t)m->batch_columns) * width_of(m->index_type));
    status = s.offsets && s.indices ? convert(&s, r) : CUSPARSE_STATUS_EXECUTION_FAILED;
    free(s.offsets);
    free(s.indices);
    if (status) {
        cumu_cusparse_rows_free(r);
        return status;
    }
    *out = r;
    return status;
}

/* ---- for one call */
int cumu_cusparse_view(void *h, const struct cumu_spmat *m, const char *function, unsigned formats, struct cumu_view *v)
{
    CUSPARSE_CHECK(m);
    *v = (struct cumu_view){m->mu, NULL};
    if (m->mu)
        return CUSPARSE_STATUS_SUCCESS;
    if (!(formats >> m->format & 1))
        return cumu_cusparse_format(m, function);
    int status = cumu_cusparse_rows(h, m, function, &v->rows);
    if (!status)
        v->mu = v->rows->csr.mu;
    return status;
}

int cumu_cusparse_viewed(void *h, const struct cumu_view *v, int status)
{
    musaStream_t stream;
    if (!v->rows)
        return status;
    /* what has been queued reads the arrays */
    if (!status && (mu.musparseGetStream(h, &stream) || mu.musaStreamSynchronize(stream)))
        status = CUSPARSE_STATUS_EXECUTION_FAILED;
    cumu_cusparse_rows_free(v->rows);
    return status;
}
