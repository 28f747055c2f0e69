/* Orders of sparse matrices: reverse Cuthill-McKee, approximate minimum degree (Amestoy, Davis and Duff), nested
 * dissection by levels (George), and a matching that fills the diagonal (Duff). */
#include <stdlib.h>
#include <string.h>

#include "api/cusolver/sparse.h"

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

/* The quotient graph. A variable's place in the graph holds its variables, then its elements: one joins only where
 * another has left, so it never grows. An element's variables lie in memory of its own. */
enum { LIVE, ELEMENT, GONE };
struct quotient {
    struct graph *g;
    int *variables, *elements, *state, *degree, *size, *left; /* size, left: an element's variables */
    int *head, *next, *before;                                /* variables by degree */
    int **members;
    int least;
};
static void enlist(struct quotient *q, int i)
{
    int d = q->degree[i];
    q->next[i] = q->head[d];
    q->before[i] = -1;
    if (q->head[d] >= 0)
        q->before[q->head[d]] = i;
    q->head[d] = i;
    if (d < q->least)
        q->least = d;
}
static void delist(struct quotient *q, int i)
{
    if (q->next[i] >= 0)
        q->before[q->next[i]] = q->before[i];
    if (q->before[i] >= 0)
        q->next[q->before[i]] = q->next[i];
    else
        q->head[q->degree[i]] = q->next[i];
}
static void absorb(struct quotient *q, int e)
{
    free(q->members[e]);
    q->members[e] = NULL;
    q->state[e] = GONE;
}

/* The pivot becomes the element of all that it is connected with. */
static int form(struct quotient *q, int pivot, int *mark, int stamp)
{
    const int *at = q->g->at + q->g->from[pivot];
    int nv = q->variables[pivot], ne = q->elements[pivot];
    size_t room = (size_t)nv;
    for (int k = nv; k < nv + ne; k++)
        room += (size_t)q->size[at[k]];
    int *all = malloc((room + 1) * sizeof(int)), count = 0;
    if (!all)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    mark[pivot] = stamp;
    for (int k = 0; k < nv; k++)
        if (q->state[at[k]] == LIVE && mark[at[k]] != stamp)
            mark[all[count++] = at[k]] = stamp;
    for (int k = nv; k < nv + ne; k++) {
        if (q->state[at[k]] != ELEMENT)
            continue;
        for (int j = 0; j < q->size[at[k]]; j++)
            if (mark[q->members[at[k]][j]] != stamp)
                mark[all[count++] = q->members[at[k]][j]] = stamp;
        absorb(q, at[k]);
    }
    q->members[pivot] = all;
    q->size[pivot] = count;
    q->state[pivot] = ELEMENT;
    return CUSOLVER_STATUS_SUCCESS;
}

/* One variable of the new element: what the element stands for is left out, and its degree estimated anew. Says
 * whether nothing but the element is left of it. */
static bool prune(struct quotient *q, int i, int pivot, const int *mark, int stamp, int remaining)
{
    int *at = q->g->at + q->g->from[i], nv = q->variables[i], ne = q->elements[i];
    int v = 0, e = 0, others = q->size[pivot] - 1, sum = others;
    int *old = at + nv;
    for (int k = 0; k < nv; k++)
        if (q->state[at[k]] == LIVE && mark[at[k]] != stamp)
            at[v++] = at[k];
    for (int k = 0; k < ne; k++)
        if (q->state[old[k]] == ELEMENT && q->left[old[k]] > 0) {
            sum += q->left[old[k]];
            at[v + e++] = old[k];
        }
    at[v + e++] = pivot;
    q->variables[i] = v;
    q->elements[i] = e;
    sum += v;
    if (sum > q->degree[i] + others)
        sum = q->degree[i] + others;
    q->degree[i] = sum < remaining ? sum : remaining > 0 ? remaining : 0;
    return v == 0 && e == 1;
}

static int eliminate(struct quotient *q, int *mark, int *seen, int *order)
{
    int n = q->g->n, done = 0;
    while (done < n) {
        while (q->head[q->least] < 0)
            q->least++;
        int pivot = q->head[q->least], stamp = pivot + 1, kept = 0;
        delist(q, pivot);
        order[done++] = pivot;
        if (form(q, pivot, mark, stamp))
            return CUSOLVER_STATUS_ALLOC_FAILED;
        /* How many variables each older element has outside of the new one. */
        for (int k = 0; k < q->size[pivot]; k++) {
            int i = q->members[pivot][k];
            const int *e = q->g->at + q->g->from[i] + q->variables[i];
            for (int j = 0; j < q->elements[i]; j++) {
                if (q->state[e[j]] != ELEMENT)
                    continue;
                if (seen[e[j]] != stamp) {
                    seen[e[j]] = stamp;
                    q->left[e[j]] = q->size[e[j]];
                }
                if (--q->left[e[j]] == 0)
                    absorb(q, e[j]);
            }
        }
        int count = q->size[pivot];
        for (int k = 0; k < count; k++) {
            int i = q->members[pivot][k];
            delist(q, i);
            if (prune(q, i, pivot, mark, stamp, n - done - 1)) {
                order[done++] = i; /* costs nothing more */
                q->state[i] = GONE;
            } else {
                q->members[pivot][kept++] = i;
            }
        }
        q->size[pivot] = kept;
        for (int k = 0; k < kept; k++)
            enlist(q, q->members[pivot][k]);
        if (!kept)
            absorb(q, pivot);
    }
    return CUSOLVER_STATUS_SUCCESS;
}

static int minimum_degree(struct graph *g, int *order)
{
    size_t n = (size_t)g->n, each = n + 1;
    int r = CUSOLVER_STATUS_ALLOC_FAILED;
    int *work = calloc(11 * each, sizeof(int));
    struct quotient q = {.g = g, .members = calloc(each, sizeof(int *)), .least = 0};
    if (work && q.members) {
        int **fields[] = {&q.variables, &q.elements, &q.state, &q.degree, &q.size,
                          &q.left,      &q.head,     &q.next,  &q.before};
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            *fields[k] = work + k * each;
        memset(q.head, -1, each * sizeof(int));
        for (int i = 0; i < g->n; i++) {
            q.variables[i] = q.degree[i] = degree(g, i);
            enlist(&q, i);
        }
        q.least = 0;
        r = eliminate(&q, work + 9 * each, work + 10 * each, order);
        for (size_t i = 0; i < n; i++)
            free(q.members[i]);
    }
    free(q.members);
    free(work);
    return r;
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
        r = minimum_degree(&g, order);
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
    int r = graph_of(a, &g);
    if (r)
        return r;
    r = how == CUMU_ORDER_RCM   ? cuthill_mckee(&g, order)
        : how == CUMU_ORDER_AMD ? minimum_degree(&g, order)
                                : nested_dissection(&g, order);
    release(&g);
    return r;
}

/* The same for A^T A, whose factor is QR's R: columns that meet in a row are neighbours. A row that is nearly full
 * would make all of them so, and is left out, as column orders do. */
int cumu_sparse_order_qr(int how, const struct cumu_csr *a, int *order)
{
    enum { FULL = 1000 };
    struct cumu_csr met = {a->n, a->n, calloc((size_t)a->n + 2, sizeof(int)), NULL, NULL};
    int *from = calloc((size_t)a->n + 2, sizeof(int)), *row = malloc(((size_t)a->row[a->m] + 1) * sizeof(int));
    int *seen = calloc((size_t)a->n + 1, sizeof(int)), r = CUSOLVER_STATUS_ALLOC_FAILED;
    size_t room = 0, count = 0;
    for (int i = 0; how != CUMU_ORDER_NONE && i < a->m; i++) {
        size_t each = (size_t)(a->row[i + 1] - a->row[i]);
        room += each > FULL ? 0 : each * each;
    }
    if (room < (size_t)__INT_MAX__ / 2)
        met.col = malloc((room + 1) * sizeof(int));
    if (met.row && met.col && from && row && seen) {
        int *end = from + 1;
        for (int p = 0; p < a->row[a->m]; p++)
            end[a->col[p] + 1]++;
        for (int j = 0; j < a->n; j++)
            end[j + 1] += end[j];
        for (int i = 0; i < a->m; i++)
            for (int p = a->row[i]; p < a->row[i + 1]; p++)
                row[end[a->col[p]]++] = i;
        for (int j = 0; how != CUMU_ORDER_NONE && j < a->n; j++) {
            for (int q = from[j]; q < from[j + 1]; q++) {
                int i = row[q];
                for (int p = a->row[i]; a->row[i + 1] - a->row[i] <= FULL && p < a->row[i + 1]; p++)
                    if (a->col[p] < j && seen[a->col[p]] != j) { /* the other half comes with the graph */
                        seen[a->col[p]] = j;
                        met.col[count++] = a->col[p];
                    }
            }
            met.row[j + 1] = (int)count;
        }
        r = cumu_sparse_order(how, &met, order);
    }
    free(from);
    free(row);
    free(seen);
    cumu_csr_free(&met);
    return r;
}

/* ---- the diagonal ------------------------------------------------------------------------------ */

/* Which row stands at a column: grown row by row along alternating paths, without recursion. */
int cumu_sparse_diagonal(const struct cumu_csr *a, int *order, int *found)
{
    int n = a->n;
    int *work = malloc(5 * ((size_t)n + 1) * sizeof(int));
    if (!work)
        return CUSOLVER_STATUS_ALLOC_FAILED;
    int *row_at = order, *seen = work, *next = work + n, *path = next + n, *via = path + n, *used = via + n;
    *found = 0;
    memset(used, 0, (size_t)n * sizeof(int));
    for (int j = 0; j < n; j++)
        row_at[j] = seen[j] = -1;
    for (int i = 0; i < n; i++) {
        int depth = 0, hit = -1;
        path[0] = i;
        next[0] = a->row[i];
        while (depth >= 0 && hit < 0) {
            int r = path[depth], p = next[depth];
            while (p < a->row[r + 1] && seen[a->col[p]] == i)
                p++;
            if (p == a->row[r + 1]) {
                depth--;
                continue;
            }
            int c = a->col[p];
            seen[c] = i;
            next[depth] = p + 1;
            via[depth] = c;
            if (row_at[c] < 0)
                hit = c;
            else
                path[++depth] = row_at[c], next[depth] = a->row[row_at[c]];
        }
        if (hit < 0)
            continue;
        for (; depth >= 0; depth--)
            row_at[via[depth]] = path[depth];
        (*found)++;
    }
    /* Rows that found no place go where none is. */
    for (int j = 0; j < n; j++)
        if (row_at[j] >= 0)
            used[row_at[j]] = 1;
    for (int j = 0, i = 0; j < n; j++)
        if (row_at[j] < 0) {
            while (used[i])
                i++;
            row_at[j] = i++;
        }
    free(work);
    return CUSOLVER_STATUS_SUCCESS;
}
