/* muSPARSE's colouring of a matrix's graph: rows that share an element get different colours. */
#include <stdlib.h>

#include "host/maths/submit.h"
#include "host/musparse/legacy.h"

struct coloring {
    int m, base;
    const int *ptr, *ind;
    struct scalar fraction;
    int *count, *colors, *order;
};

/* The least colour that no neighbour has; of an element (i, j) both rows are neighbours of each other, so those that
 * are named in an earlier row are kept in lists: heads by row, links by element. */
static int color_of(const struct coloring *c, int i, const int *head, const int *link, const int *row, char *used)
{
    int least = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int k = c->ptr[i] - c->base; k < c->ptr[i + 1] - c->base; k++) {
            int j = c->ind[k] - c->base;
            if (j != i && c->colors[j] >= 0)
                used[c->colors[j]] = pass == 0;
        }
        for (int k = head[i]; k >= 0; k = link[k])
            if (row[k] != i && c->colors[row[k]] >= 0)
                used[c->colors[row[k]]] = pass == 0;
        while (pass == 0 && used[least])
            least++;
    }
    return least;
}

/* Colours the graph of a matrix greedily in order of rows, so that no two neighbours share a colour, until the
 * wanted fraction has one; the columns' lists make neighbours of both directions visible. */
static void run(const void *call)
{
    const struct coloring *c = call;
    int nnz = c->m ? c->ptr[c->m] - c->base : 0, colors = 0, colored = 0;
    int *head = maths_alloc(((size_t)c->m + 1) * sizeof *head), *link = maths_alloc(((size_t)nnz + 1) * sizeof *link);
    int *row = maths_alloc(((size_t)nnz + 1) * sizeof *row);
    char *used = maths_zeroed((size_t)c->m + 1, 1);
    double wanted = creal(musparse_read(&c->fraction)) * c->m;
    struct csr graph = {.rows = c->m, .cols = c->m, .nnz = nnz, .base = c->base, .ptr = c->ptr, .ind = c->ind};
    if (head && link && row && used && musparse_sound(&graph)) {
        for (int i = 0; i < c->m; i++) {
            head[i] = -1;
            c->colors[i] = -1;
        }
        for (int i = 0; i < c->m; i++)
            for (int k = c->ptr[i] - c->base; k < c->ptr[i + 1] - c->base; k++) {
                int j = c->ind[k] - c->base;
                row[k] = i;
                link[k] = head[j];
                head[j] = k;
            }
        for (int i = 0; i < c->m && colored < wanted; i++, colored++) {
            c->colors[i] = color_of(c, i, head, link, row, used);
            colors = c->colors[i] >= colors ? c->colors[i] + 1 : colors;
        }
        for (int i = colored; i < c->m; i++) /* the rest gets a colour each */
            c->colors[i] = colors++;
        *c->count = colors;
        for (int color = 0, to = 0; c->order && color < colors; color++)
            for (int i = 0; i < c->m; i++)
                if (c->colors[i] == color)
                    c->order[to++] = i;
    }
    free(head);
    free(link);
    free(row);
    free(used);
}

static musparseStatus_t color(musparseHandle_t h, int m, int nnz, musparseConstMatDescr_t d, const int *ptr,
                              const int *ind, const void *fraction, musaDataType_t type, int *count, int *colors,
                              int *order, musparseConstInfo_t info)
{
    LIVE(h);
    SIZES(m >= 0 && nnz >= 0);
    DESCRIBED(d);
    POINTERS(info && fraction && count && (!m || (ptr && colors)) && (!nnz || ind));
    struct coloring c = {.m = m,
                         .base = d->base,
                         .ptr = ptr,
                         .ind = ind,
                         .count = count,
                         .colors = colors,
                         .order = order,
                         .fraction = musparse_scalar(h, fraction, type)};
    VALUES(c.fraction.at || (creal(c.fraction.value) >= 0 && creal(c.fraction.value) <= 1));
    return musparse_submit_result(h, run, &c, sizeof c, 1e9);
}

/* The fraction is real, also of complex matrices. */
#define COLOR(X, T, W) \
    musparseStatus_t musparse##X##csrcolor(musparseHandle_t h, int m, int nnz, musparseConstMatDescr_t d, \
                                           const T *val, const int *ptr, const int *ind, const void *fraction, \
                                           int *count, int *colors, int *order, musparseConstInfo_t info) \
    { \
        (void)val; \
        return color(h, m, nnz, d, ptr, ind, fraction, W == S || W == C ? MUSA_R_32F : MUSA_R_64F, count, colors, \
                     order, info); \
    }
FOUR(COLOR)
