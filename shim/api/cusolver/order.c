/* Orders of sparse matrices: reverse Cuthill-McKee, nested dissection by levels (George); by SuiteSparse approximate
 * minimum degree (AMD) and a matching that fills the diagonal (BTF). SuiteSparse has no Cuthill-McKee, and its
 * nested dissection is METIS, which sets signal handlers and ends a process that is out of memory. */
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sparse.h"
#include "api/cusolver/suitesparse.h"

/* The graph of A + A^T without loops: neighbours of i at `at[from[i]]` to `at[from[i + 1]]`. */
struct graph {
    int n;
    int *from, *at;
};
static void release(struct graph *g)
{
    free(g->from);
    free(g->at);
}
/* The graph of A + A' without its diagonal, each neighbour once: what fill-reducing orders look at. Lists are
 * counted, filled, then thinned in place. */
static int graph_of(const struct cumu_csr *a, struct graph *g)
{
    int n = a->n, to = 0, first = 0;
    int *seen = calloc((size_t)n + 1, sizeof(int));
    *g = (struct graph){
        .n = n, .from = calloc((size_t)n + 2, sizeof(int)), .at = malloc((2 * (size_t)a->row[n] + 1) * sizeof(int))};
    if (!g->from || !g->at || !seen) {
        free(seen);
        release(g);
        return CUSOLVER_STATUS_ALLOC_FAILED;
    }
    int *end = g->from + 1; /* where each list ends as it grows: at last, where the next begins */
    for (int i = 0; i < n; i++)
        for (int p = a->row[i]; p < a->row[i + 1]; p++)
            if (a->col[p] != i)
                end[i + 1]++, end[a->col[p] + 1]++;
    for (int i = 0; i < n; i++)
        end[i + 1] += end[i];
    for (int i = 0; i < n; i++)
        for (int p = a->row[i]; p < a->row[i + 1]; p++)
            if (a->col[p] != i)
                g->at[end[i]++] = a->col[p], g->at[end[a->col[p]]++] = i;
    for (int i = 0; i < n; i++) { /* each neighbour once */
        int last = end[i];
        g->from[i] = to;
        for (int p = first; p < last; p++)
            if (seen[g->at[p]] != i + 1) {
                seen[g->at[p]] = i + 1;
                g->at[to++] = g->at[p];
            }
        first = last;
    }
    g->from[n] = to;
    free(seen);
    return CUSOLVER_STATUS_SUCCESS;
}
static int degree(const struct graph *g, int i) { return g->from[i + 1] - g->from[i]; }

/* ---- levels ------------------------------------------------------------------------------------ */

/* Breadth first from `root` within the vertices whose mark is `in`: queue, and levels' beginnings; how many levels. */
static int levels(const struct graph *g, int root, const int *mark, int in, int *visited, int stamp, int *queue,
                  int *begin, int *count)
{
    int depth = 0, head = 0, tail = 0;
    queue[tail++] = root;
    visited[root] = stamp;
    while (head < tail) {
        begin[depth++] = head;
        for (int last = tail; head < last; head++)
            for (int p = g->from[queue[head]]; p < g->from[queue[head] + 1]; p++) {
                int v = g->at[p];
                if (mark[v] == in && visited[v] != stamp) {
                    visited[v] = stamp;
                    queue[tail++] = v;
                }
            }
    }
    begin[depth] = tail;
    *count = tail;
    return depth;
}

/* Goes to a vertex that lies far off, until that gives no more levels; the levels of the last are left in queue. */
static int far_levels(const struct graph *g, int root, const int *mark, int in, int *visited, int *stamp, int *queue,
                      int *begin, int *count)
{
    int depth = levels(g, root, mark, in, visited, ++*stamp, queue, begin, count);
    for (int again = 0; again < 8; again++) {
        int best = queue[begin[depth - 1]];
        for (int p = begin[depth - 1]; p < *count; p++)
            if (degree(g, queue[p]) < degree(g, best))
                best = queue[p];
        int deeper = levels(g, best, mark, in, visited, ++*stamp, queue, begin, count);
        if (deeper <= depth)
            return deeper;
        depth = deeper;
    }
    return depth;
}

/* Reverse Cuthill-McKee (George 1971): breadth-first from a vertex that is as far out as can be found, neighbours by
 * ascending degree, then the order reversed. Each component begins anew. */
static int cuthill_mckee(const struct graph *g, int *order)
{
    int n = g->n, done = 0, stamp = 0, count;
    int *work = calloc(4 * ((size_t)n + 1), sizeof(int));
    if (!work)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    int *mark = work, *visited = work + n + 1, *queue = visited + n + 1, *begin = queue + n + 1;
    for (int i = 0; i < n; i++) {
        if (mark[i])
            continue;
        far_levels(g, i, mark, 0, visited, &stamp, queue, begin, &count);
        int head = done;
        order[done++] = queue[0];
        mark[queue[0]] = 1;
        for (; head < done; head++) {
            int first = done;
            for (int p = g->from[order[head]]; p < g->from[order[head] + 1]; p++) {
                int v = g->at[p], to = done;
                if (mark[v])
                    continue;
                mark[v] = 1;
                for (; to > first && degree(g, order[to - 1]) > degree(g, v); to--)
                    order[to] = order[to - 1];
                order[to] = v;
                done++;
            }
        }
    }
    for (int i = 0; i < n / 2; i++) {
        int swap = order[i];
        order[i] = order[n - 1 - i];
        order[n - 1 - i] = swap;
    }
    free(work);
    return CUSOLVER_STATUS_SUCCESS;
}

/* ---- minimum degree ---------------------------------------------------------------------------- */

static int minimum_degree(int n, const int *from, const int *at, int *order)
{
    const struct cumu_suitesparse *s = cumu_suitesparse();
    if (!s)
        return CUSOLVER_STATUS_NOT_SUPPORTED;
    bool made = s->amd_order(n, from, at, order, NULL, NULL) >= 0;
    return made ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

/* ---- nested dissection ------------------------------------------------------------------------- */

enum { SMALL = 100 };
struct dissection {
    const struct graph *g;
    int *mark, *visited, *queue, *begin, *index, stamp, parts;
};

/* A part that is not cut any more: by minimum degree on its own graph. */
static int dissect_small(struct dissection *d, int *part, int n)
{
    struct graph g = {.n = n, .from = calloc((size_t)n + 1, sizeof(int))};
    int *order = malloc(((size_t)n + 1) * sizeof(int)), in = d->mark[part[0]], total = 0, r = 0;
    for (int i = 0; i < n; i++) {
        d->index[part[i]] = i;
        total += degree(d->g, part[i]);
    }
    g.at = malloc(((size_t)total + 1) * sizeof(int));
    if (!g.from || !order || !g.at)
        r = CUSOLVER_STATUS_ALLOC_FAILED;
    for (int i = 0, to = 0; !r && i < n; i++) {
        for (int p = d->g->from[part[i]]; p < d->g->from[part[i] + 1]; p++)
            if (d->mark[d->g->at[p]] == in)
                g.at[to++] = d->index[d->g->at[p]];
        g.from[i + 1] = to;
    }
    if (!r)
        r = minimum_degree(n, g.from, g.at, order);
    for (int i = 0; !r && i < n; i++)
        order[i] = part[order[i]];
    if (!r)
        memcpy(part, order, (size_t)n * sizeof(int));
    release(&g);
    free(order);
    return r;
}

static int dissect(struct dissection *d, int *part, int n);

/* A part that falls into pieces: one after the other. */
static int dissect_pieces(struct dissection *d, int *part, int n)
{
    int in = d->mark[part[0]], to = 0, count, r = CUSOLVER_STATUS_SUCCESS;
    int *all = malloc((size_t)n * sizeof(int));
    if (!all)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    for (int k = 0; k < n; k++) {
        if (d->mark[part[k]] != in)
            continue;
        levels(d->g, part[k], d->mark, in, d->visited, ++d->stamp, d->queue, d->begin, &count);
        d->parts++;
        for (int p = 0; p < count; p++)
            d->mark[all[to++] = d->queue[p]] = d->parts;
    }
    memcpy(part, all, (size_t)n * sizeof(int));
    free(all);
    for (int first = 0, last = 0; !r && first < n; first = last) {
        while (last < n && d->mark[part[last]] == d->mark[part[first]])
            last++;
        r = dissect(d, part + first, last - first);
    }
    return r;
}

/* The vertices of `part` have one mark. They are put in the order: one side, the other, what separates them; a side
 * has at most half of them. */
static int dissect(struct dissection *d, int *part, int n)
{
    if (n <= SMALL)
        return dissect_small(d, part, n);
    int count, a = 0, b = 0, c = 0, cut = 1;
    int depth = far_levels(d->g, part[0], d->mark, d->mark[part[0]], d->visited, &d->stamp, d->queue, d->begin, &count);
    if (count < n)
        return dissect_pieces(d, part, n);
    if (depth < 3)
        return dissect_small(d, part, n);
    while (cut < depth - 2 && d->begin[cut + 1] < n / 2)
        cut++;
    int low = ++d->parts, high = ++d->parts, middle = ++d->parts;
    for (int p = 0; p < n; p++)
        d->mark[d->queue[p]] = p < d->begin[cut] ? low : p < d->begin[cut + 1] ? middle : high;
    for (int k = 0; k < n; k++) {
        int v = part[k];
        if (d->mark[v] == low)
            part[a++] = v;
        else if (d->mark[v] == high)
            d->queue[b++] = v;
        else
            d->queue[n - ++c] = v;
    }
    memcpy(part + a, d->queue, (size_t)b * sizeof(int));
    memcpy(part + a + b, d->queue + n - c, (size_t)c * sizeof(int));
    int r = dissect(d, part, a);
    return r || !b ? r : dissect(d, part + a, b);
}

static int nested_dissection(const struct graph *g, int *order)
{
    size_t each = (size_t)g->n + 2;
    int *work = calloc(5 * each, sizeof(int)), r = CUSOLVER_STATUS_ALLOC_FAILED;
    if (work) {
        struct dissection d = {g, work, work + each, work + 2 * each, work + 3 * each, work + 4 * each, 0, 0};
        for (int i = 0; i < g->n; i++)
            order[i] = i;
        r = dissect(&d, order, g->n);
    }
    free(work);
    return r;
}

int cumu_sparse_order(int how, const struct cumu_csr *a, int *order)
{
    struct graph g;
    if (how == CUMU_ORDER_NONE || a->n == 0) {
        for (int i = 0; i < a->n; i++)
            order[i] = i;
        return CUSOLVER_STATUS_SUCCESS;
    }
    if (how == CUMU_ORDER_AMD)
        return minimum_degree(a->n, a->row, a->col, order);
    int r = graph_of(a, &g);
    if (r)
        return r;
    r = how == CUMU_ORDER_RCM ? cuthill_mckee(&g, order) : nested_dissection(&g, order);
    release(&g);
    return r;
}

/* ---- the diagonal ------------------------------------------------------------------------------ */

/* Which row stands at a column: BTF's matching of A^T. Rows that found no place go where none is. */
int cumu_sparse_diagonal(const struct cumu_csr *a, int *order, int *found)
{
    const struct cumu_suitesparse *s = cumu_suitesparse();
    size_t n = (size_t)a->n;
    int *work = malloc(6 * (n + 1) * sizeof(int));
    double done;
    if (s && work) {
        int *used = work + 5 * n;
        *found = s->btf_maxtrans(a->n, a->n, a->row, a->col, 0, &done, order, work);
        memset(used, 0, n * sizeof(int));
        for (int j = 0; j < a->n; j++)
            if (order[j] >= 0)
                used[order[j]] = 1;
        for (int j = 0, i = 0; j < a->n; j++)
            if (order[j] < 0) {
                while (used[i])
                    i++;
                order[j] = i++;
            }
    }
    free(work);
    return !s ? CUSOLVER_STATUS_NOT_SUPPORTED : work ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
