/* Products of rows in groups, each by its expert's matrix, as mixtures of experts have them. */
#include "host/mudnn/mudnn.h"

#include <stdlib.h>
#include <string.h>

#include "abi/mudnn_graph.h"

/* The operand's rows from `first` on, or its one matrix of `batch`; all have three dimensions. */
static struct mudnn_operand part_of(const struct mudnn_operand *o, int64_t batch, int64_t first, int64_t rows)
{
    struct mudnn_operand p = *o;
    p.t.dim[0] = 1;
    p.t.dim[1] = rows;
    p.at = (char *)o->at + (batch * o->t.stride[0] + first * o->t.stride[1]) * (int64_t)dnn_size(o->t.type);
    return p;
}

static void copy_row(const struct mudnn_operand *to, int64_t to_row, const struct mudnn_operand *from, int64_t from_row)
{
    const size_t size = dnn_size(to->t.type);
    char *t = (char *)to->at + to_row * to->t.stride[1] * (int64_t)size;
    const char *f = (const char *)from->at + from_row * from->t.stride[1] * (int64_t)size;
    for (int64_t i = 0; i < to->t.dim[2]; i++)
        memcpy(t + i * to->t.stride[2] * (int64_t)size, f + i * from->t.stride[2] * (int64_t)size, size);
}

/* Number r of an operand of one column. */
static int64_t get(const struct mudnn_operand *o, int64_t r)
{
    return (int64_t)dnn_get(o->at, o->t.type, r * o->t.stride[o->t.dim[0] > 1 ? 0 : 1]);
}

/* Memory for `rows` rows as the operand's are. */
static struct mudnn_operand make_rows(const struct mudnn_operand *like, int64_t rows)
{
    struct mudnn_operand o = {dnn_packed(&like->t, like->t.type), NULL};
    o.t.dim[0] = 1;
    o.t.dim[1] = rows;
    o.at = maths_alloc((size_t)(rows * o.t.dim[2]) * dnn_size(o.t.type));
    return o;
}

static void one_group(const struct mudnn_grouped *g, int64_t expert, int64_t first, int64_t rows)
{
    const bool gathered = g->index.at && !g->place.at, scattered = g->place.at;
    struct mudnn_matmul m = {.b = part_of(&g->weight, expert, 0, g->weight.t.dim[1])};
    bool good = true;
    m.a = gathered ? make_rows(&g->token, rows) : part_of(&g->token, 0, first, rows);
    m.c = scattered ? make_rows(&g->y, rows) : part_of(&g->y, 0, first, rows);
    good = m.a.at && m.c.at;
    for (int64_t r = 0; good && gathered && r < rows; r++) {
        const int64_t from = get(&g->index, first + r);
        good = maths_in_range(from, g->token.t.dim[1]);
        if (good)
            copy_row(&m.a, r, &g->token, from);
    }
    if (good)
        dnn_matmul(&m);
    for (int64_t r = 0; good && scattered && r < rows; r++) {
        const int64_t to = get(&g->index, first + r) * g->top_k + get(&g->place, first + r);
        good = maths_in_range(to, g->y.t.dim[1]);
        if (good)
            copy_row(&g->y, to, &m.c, r);
    }
    if (gathered)
        free(m.a.at);
    if (scattered)
        free(m.c.at);
}

/* The group's rows of token, turned, times its rows of y; of a group without rows nothing but zeros. */
static void one_gradient(const struct mudnn_grouped *g, int64_t expert, int64_t first, int64_t rows)
{
    struct mudnn_matmul m = {.c = part_of(&g->weight, expert, 0, g->weight.t.dim[1])};
    const struct mudnn_tensor *c = &m.c.t;
    for (int64_t i = 0; !rows && i < c->dim[1]; i++)
        for (int64_t k = 0; k < c->dim[2]; k++)
            dnn_put(m.c.at, c->type, i * c->stride[1] + k * c->stride[2], 0);
    if (!rows)
        return;
    m.a = part_of(&g->token, 0, first, rows);
    m.b = part_of(&g->y, 0, first, rows);
    m.a.t.dim[1] = g->token.t.dim[2];
    m.a.t.dim[2] = rows;
    m.a.t.stride[1] = g->token.t.stride[2];
    m.a.t.stride[2] = g->token.t.stride[1];
    dnn_matmul(&m);
}

static void run(const void *call)
{
    const struct mudnn_grouped *g = call;
    const struct mudnn_operand *const all[] = {&g->token, &g->weight, &g->first, &g->index, &g->place, &g->y};
    const int64_t rows = g->index.at ? g->index.t.dim[1] : g->token.t.dim[1], groups = g->first.t.dim[0];
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]->at)
            dnn_touch(&all[i]->t, all[i]->at, all[i] == (g->backward ? &g->weight : &g->y));
    for (int64_t i = 0; i < groups; i++) {
        const int64_t first = get(&g->first, i), end = i + 1 < groups ? get(&g->first, i + 1) : rows;
        if (!maths_in_range(first, rows + 1) || !maths_in_range(end - first, rows - first + 1))
            return;
        if (g->backward)
            one_gradient(g, i, first, end - first);
        else if (end > first)
            one_group(g, i % g->weight.t.dim[0], first, end - first);
    }
}

DNN_EXPORT mudnnStatus_t mudnnHostGroupedMatmul(musaStream_t stream, const struct mudnn_grouped *g)
{
    struct mudnn_grouped call = *g;
    struct mudnn_operand *const all[] = {&call.token, &call.weight, &call.first, &call.index, &call.place, &call.y};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        all[i]->at = maths_operand(all[i]->at);
    return dnn_submit(stream, MATHS_LIBRARY, run, &call, sizeof call,
                      2.0 * (double)dnn_count(&g->y.t) * (double)g->token.t.dim[2]);
}
