/* Every sparse format as CSR: in place where it is that already, else by copies. */
#include <stdlib.h>
#include <string.h>

#include "host/maths/submit.h"
#include "host/musparse/musparse.h"

static void put_index(void *at, int wide, size_t i, int64_t value)
{
    if (wide)
        ((int64_t *)at)[i] = value;
    else
        ((int32_t *)at)[i] = (int32_t)value;
}
static int64_t get_index(const void *at, int wide, size_t i)
{
    return wide ? ((const int64_t *)at)[i] : ((const int32_t *)at)[i];
}

static void *own(struct csr *c, size_t size)
{
    void *p = maths_alloc(size + 1);
    for (int i = 0; p && i < 4; i++)
        if (!c->made[i])
            return c->made[i] = p;
    free(p);
    return NULL;
}

bool musparse_sound(const struct csr *c)
{
    for (int64_t i = 0, end; i < c->rows; i++) {
        int64_t k = get_index(c->ptr, c->wide, (size_t)i) - c->base;
        end = get_index(c->ptr, c->wide, (size_t)i + 1) - c->base;
        if (!maths_in_range(k, end + 1) || !maths_in_range(end, c->nnz + 1))
            return false;
        for (; c->ind && k < end; k++)
            if (!maths_in_range(get_index(c->ind, c->wide, (size_t)k) - c->base, c->cols))
                return false;
    }
    return true;
}

void musparse_csr_free(struct csr *c)
{
    for (int i = 0; i < 4; i++)
        free(c->made[i]);
}

/* Indices in the width of the matrix. */
static const void *indices(struct csr *c, const void *from, musparseIndexType_t type, size_t n)
{
    if (type == (c->wide ? MUSPARSE_INDEX_64I : MUSPARSE_INDEX_32I))
        return from;
    void *to = own(c, n * (c->wide ? 8 : 4));
    for (size_t i = 0; to && i < n; i++)
        put_index(to, c->wide, i, musparse_index(from, type, i));
    return to;
}

static const void *skip(const void *at, size_t size, int64_t n)
{
    return at ? (const char *)at + (int64_t)size * n : at;
}

/* Rows may come in any order; those of a row keep theirs. */
static bool from_coo(struct csr *c, const void *row, const void *col, const struct musparse_spmat *m, size_t size)
{
    size_t nnz = (size_t)c->nnz, rows = (size_t)c->rows;
    void *ptr = own(c, (rows + 1) * 8);
    int64_t *count = ptr;
    if (!ptr)
        return false;
    memset(ptr, 0, (rows + 1) * 8);
    bool sorted = true;
    int64_t last = INT64_MIN;
    for (size_t i = 0; i < nnz; i++) {
        int64_t r = musparse_index(row, m->itype, i);
        if (!maths_in_range(r - c->base, c->rows))
            return false;
        sorted &= r >= last;
        last = r;
        count[r - c->base + 1]++;
    }
    for (size_t i = 0; i < rows; i++)
        count[i + 1] += count[i];
    if (sorted) {
        c->ind = indices(c, col, m->itype, nnz);
    } else {
        void *ind = own(c, nnz * (c->wide ? 8 : 4));
        char *val = own(c, nnz * size);
        if (!ind || !val)
            return false;
        for (size_t i = 0; i < nnz; i++) {
            size_t to = (size_t)count[musparse_index(row, m->itype, i) - c->base]++;
            put_index(ind, c->wide, to, musparse_index(col, m->itype, i));
            if (c->val)
                memcpy(val + to * size, (const char *)c->val + i * size, size);
        }
        memmove(count + 1, count, rows * 8);
        count[0] = 0;
        c->ind = ind;
        c->val = val;
    }
    for (size_t i = 0; i <= rows; i++) /* ascending: a narrower entry never overtakes the one read */
        put_index(ptr, c->wide, i, count[i] + c->base);
    c->ptr = ptr;
    return c->ind;
}

/* Block columns of -1 are padding. Values lie by rows of the block, block after block of a row of them. */
static bool from_blocks(struct csr *c, const struct musparse_spmat *m, size_t size)
{
    size_t b = (size_t)m->block, width = (size_t)m->ellcols / b, rows = (size_t)m->rows, to = 0;
    size_t room = rows * (size_t)m->ellcols;
    void *ptr = own(c, (rows + 1) * (c->wide ? 8 : 4)), *ind = own(c, room * (c->wide ? 8 : 4));
    char *val = own(c, room * size);
    if (!ptr || !ind || !val)
        return false;
    for (size_t r = 0; r < rows; r++) {
        put_index(ptr, c->wide, r, (int64_t)to + c->base);
        for (size_t k = 0; k < width; k++) {
            int64_t col = musparse_index(m->indices, m->itype, r / b * width + k) - c->base;
            if (col < 0)
                continue;
            for (size_t j = 0; j < b; j++, to++) {
                put_index(ind, c->wide, to, col * (int64_t)b + (int64_t)j + c->base);
                memcpy(val + to * size, (const char *)c->val + (r * (size_t)m->ellcols + k * b + j) * size, size);
            }
        }
    }
    put_index(ptr, c->wide, rows, (int64_t)to + c->base);
    c->nnz = (int64_t)to;
    c->ptr = ptr;
    c->ind = ind;
    c->val = val;
    return true;
}

bool musparse_csr(struct csr *c, const struct musparse_spmat *m, int i, musparseOperation_t op)
{
    size_t size = musparse_size(m->type);
    bool flip = m->format == CSC;
    *c = (struct csr){.rows = flip ? m->cols : m->rows,
                      .cols = flip ? m->rows : m->cols,
                      .nnz = m->nnz,
                      .wide = m->otype == MUSPARSE_INDEX_64I || m->nnz > INT32_MAX,
                      .base = m->base,
                      .trans = is_trans(op) != flip,
                      .conj = is_conj(op)};
    c->val = skip(m->values, size, m->values_stride * i);
    const void *offsets = skip(m->offsets, musparse_index_size(m->otype), m->offsets_stride * i);
    const void *ind = skip(m->indices, musparse_index_size(m->itype), m->values_stride * i);
    if (m->format == COO)
        return from_coo(c, offsets, ind, m, size);
    if (m->format == BELL)
        return from_blocks(c, m, size);
    c->ptr = indices(c, offsets, m->otype, (size_t)c->rows + 1);
    c->ind = indices(c, ind, m->itype, (size_t)m->nnz);
    return c->ptr && (c->ind || !m->nnz);
}

bool musparse_csr_wide(struct csr *c, const struct musparse_spmat *m, int i, musparseOperation_t op, int work)
{
    void *made;
    if (!musparse_csr(c, m, i, op))
        return false;
    const void *val = musparse_wide(c->val, m->type, work, (size_t)c->nnz, &made);
    for (int k = 0; made && k < 4; k++)
        if (!c->made[k]) {
            c->made[k] = made;
            made = NULL;
        }
    c->val = val;
    return !made && (val || !c->nnz);
}

bool musparse_csr_plain(struct csr *c, size_t size)
{
    if (!c->trans)
        return true;
    if (!musparse_sound(c))
        return false;
    struct csr t = {.rows = c->cols, .cols = c->rows, .nnz = c->nnz, .wide = c->wide, .base = c->base, .conj = c->conj};
    size_t rows = (size_t)t.rows, nnz = (size_t)t.nnz, index = t.wide ? 8 : 4;
    int64_t *at = maths_zeroed(rows + 2, 8);
    void *ptr = own(&t, (rows + 1) * index), *ind = own(&t, nnz * index);
    char *val = own(&t, nnz * size);
    if (!at || !ptr || !ind || !val) {
        free(at);
        musparse_csr_free(&t);
        return false;
    }
    for (size_t i = 0; i < nnz; i++)
        at[get_index(c->ind, c->wide, i) - c->base + 2]++;
    for (size_t i = 0; i <= rows; i++)
        at[i + 1] += at[i];
    for (size_t i = 0; i <= rows; i++)
        put_index(ptr, t.wide, i, at[i + 1] + t.base);
    for (int64_t r = 0; r < c->rows; r++) {
        int64_t end = get_index(c->ptr, c->wide, (size_t)r + 1) - c->base;
        for (int64_t i = get_index(c->ptr, c->wide, (size_t)r) - c->base; i < end; i++) {
            size_t to = (size_t)at[get_index(c->ind, c->wide, (size_t)i) - c->base + 1]++;
            put_index(ind, t.wide, to, r + t.base);
            if (c->val)
                memcpy(val + to * size, (const char *)c->val + (size_t)i * size, size);
        }
    }
    free(at);
    musparse_csr_free(c);
    t.ptr = ptr;
    t.ind = ind;
    t.val = val;
    *c = t;
    return true;
}
