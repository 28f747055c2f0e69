/* What cuDNN's backend descriptors stand for: lists of attributes, shared by those that lead to them. */
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"

struct graph_body *graph_body_new(int kind)
{
    struct graph_body *b = calloc(1, sizeof *b);
    if (b) {
        b->kind = kind;
        b->users = 1;
    }
    return b;
}

void graph_body_hold(struct graph_body *b)
{
    if (b)
        b->users++;
}

static void clear(struct graph_attr *a)
{
    struct graph_body **bodies = a->data;
    for (int64_t i = 0; a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < a->count; i++)
        graph_body_drop(bodies[i]);
    free(a->data);
}

/* What it leads to goes as well; graphs in graphs are a few levels deep. */
void graph_body_drop(struct graph_body *b)
{
    if (!b || --b->users)
        return;
    for (unsigned i = 0; i < b->attrs; i++)
        clear(&b->attr[i]);
    free(b->attr);
    graph_plan_free(b->plan);
    free(b);
}

const struct graph_attr *graph_find(const struct graph_body *b, int name)
{
    for (unsigned i = 0; i < b->attrs; i++)
        if (b->attr[i].name == name)
            return &b->attr[i];
    return NULL;
}

bool graph_put(struct graph_body *b, int name, int type, int64_t count, const void *data)
{
    size_t size = (size_t)count * graph_type_size(type);
    void *copy = malloc(size ? size : 1);
    struct graph_attr *a = (struct graph_attr *)(uintptr_t)graph_find(b, name);
    if (copy && !a) {
        struct graph_attr *more = realloc(b->attr, (b->attrs + 1) * sizeof *more);
        if (more) {
            b->attr = more;
            a = &more[b->attrs++];
            *a = (struct graph_attr){.name = name};
        }
    }
    if (!copy || !a) {
        free(copy);
        return false;
    }
    if (size)
        memcpy(copy, data, size);
    for (int64_t i = 0; type == CUDNN_TYPE_BACKEND_DESCRIPTOR && i < count; i++)
        graph_body_hold(((struct graph_body **)copy)[i]);
    clear(a);
    a->type = type;
    a->count = count;
    a->data = copy;
    return true;
}

/* ---- values ------------------------------------------------------------------------------------ */

static int64_t element(const struct graph_attr *a, int64_t i)
{
    switch (graph_type_size(a->type)) {
    case 1: return ((const unsigned char *)a->data)[i];
    case 4: return ((const int32_t *)a->data)[i];
    case 8: return ((const int64_t *)a->data)[i];
    default: return 0;
    }
}

int64_t graph_integer(const struct graph_body *b, int name, int64_t none)
{
    const struct graph_attr *a = graph_find(b, name);
    return a && a->count ? element(a, 0) : none;
}

double graph_number(const struct graph_body *b, int name, double none)
{
    const struct graph_attr *a = graph_find(b, name);
    if (!a || !a->count)
        return none;
    return a->type == CUDNN_TYPE_FLOAT ? (double)*(float *)a->data : *(double *)a->data;
}

struct graph_body *graph_member(const struct graph_body *b, int name)
{
    const struct graph_attr *a = graph_find(b, name);
    return a && a->count && a->type == CUDNN_TYPE_BACKEND_DESCRIPTOR ? *(struct graph_body **)a->data : NULL;
}

/* Of fractions those that are whole; one that is not leads to -1. */
int graph_integers(const struct graph_body *b, int name, int64_t *to)
{
    const struct graph_attr *a = graph_find(b, name);
    int n = a ? (int)(a->count < MUDNN_DIMS ? a->count : MUDNN_DIMS) : 0;
    for (int i = 0; i < n; i++) {
        if (a->type == CUDNN_TYPE_FRACTION) {
            const int64_t *f = (const int64_t *)a->data + 2 * (int64_t)i;
            if (f[1] <= 0 || f[0] % f[1])
                return -1;
            to[i] = f[0] / f[1];
        } else {
            to[i] = element(a, i);
        }
    }
    return n;
}
