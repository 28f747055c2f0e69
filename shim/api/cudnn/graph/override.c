/* Shapes that a program gives when it executes a plan of cuDNN's graphs: the graph is lowered once more with them. Of
 * virtual tensors nobody gives any, so they follow from what their operations read. */
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"
#include "core/resolve.h"

/* ---- what a variant pack says ------------------------------------------------------------------ */

/* cudnn-frontend sets the address of its std::vector of vectors as the attribute's elements (mapping/facts/cuda.md). */
struct cpp_vector {
    void *begin, *end, *room;
};
static size_t bytes_of(const struct cpp_vector *v)
{
    return v->begin && (uintptr_t)v->end > (uintptr_t)v->begin ? (uintptr_t)v->end - (uintptr_t)v->begin : 0;
}

int graph_put_lists(struct graph_body *b, int name, const void *elements, int most)
{
    struct cpp_vector outer, inner;
    memcpy(&outer, elements, sizeof outer);
    const size_t lists = bytes_of(&outer) / sizeof inner;
    DNN_BAD_UNLESS(bytes_of(&outer) % sizeof inner == 0 && lists <= (size_t)most);
    struct graph_list *list = calloc(lists + 1, sizeof *list);
    int r = list ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    for (size_t i = 0; !r && i < lists; i++) {
        memcpy(&inner, (char *)outer.begin + i * sizeof inner, sizeof inner);
        const size_t bytes = bytes_of(&inner);
        if (bytes % sizeof *list->v || bytes > sizeof list->v) {
            r = CUDNN_STATUS_BAD_PARAM;
            break;
        }
        list[i].n = (int64_t)(bytes / sizeof *list->v);
        if (bytes)
            memcpy(list[i].v, inner.begin, bytes);
    }
    if (!r && !graph_put(b, name, CUDNN_TYPE_INT64, (int64_t)(lists * sizeof *list / sizeof(int64_t)), list))
        r = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    free(list);
    return r;
}

int graph_check_overrides(const struct graph_body *pack)
{
    const struct graph_attr *uids = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_UNIQUE_IDS);
    const struct graph_attr *shapes = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES);
    const struct graph_attr *strides = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_STRIDES);
    if (!uids && !shapes && !strides)
        return CUDNN_STATUS_SUCCESS;
    DNN_BAD_UNLESS(uids && shapes && strides && shapes->count == strides->count);
    DNN_BAD_UNLESS(shapes->count * (int64_t)sizeof(int64_t) == uids->count * (int64_t)sizeof(struct graph_list));
    for (int64_t i = 0; i < uids->count; i++) {
        const struct graph_list *d = (struct graph_list *)shapes->data + i, *s = (struct graph_list *)strides->data + i;
        static const int64_t none[MUDNN_DIMS];
        const int64_t *const step = d->n == s->n ? s->v : none;
        DNN_BAD_UNLESS(d->n > 0);
        for (int k = 0; k < d->n; k++)
            DNN_BAD_UNLESS(d->v[k] > 0 && step[k] >= 0);
        if (!mudnn_within(d->n, d->v, step))
            return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
        for (int64_t k = 0; k < i; k++)
            if (((int64_t *)uids->data)[i] == ((int64_t *)uids->data)[k])
                return CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES;
    }
    return CUDNN_STATUS_SUCCESS;
}

/* Strides of another number than the dimensions are not the tensor's: it keeps its own. So cudnn-frontend's tests give
 * those of three dimensions for ragged tensors of four. */
bool graph_override(const struct graph_body *pack, struct graph_tensor *t)
{
    const struct graph_attr *uids = graph_find(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_UNIQUE_IDS);
    for (int64_t i = 0; i < uids->count; i++) {
        if (((int64_t *)uids->data)[i] != t->uid)
            continue;
        const struct graph_list *d =
            (struct graph_list *)graph_find(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES)->data + i;
        const struct graph_list *s =
            (struct graph_list *)graph_find(pack, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_STRIDES)->data + i;
        t->odd |= d->n != s->n && d->n != t->t.n;
        t->t.n = (int)d->n;
        memcpy(t->t.dim, d->v, sizeof d->v);
        if (d->n == s->n)
            memcpy(t->t.stride, s->v, sizeof s->v);
        return true;
    }
    return false;
}

/* ---- virtual tensors --------------------------------------------------------------------------- */

/* While a plan is inferred: which tensors have their shape. */
struct inference {
    struct graph_plan *p;
    bool *known;
    bool more; /* something was found */
};

static const struct mudnn_tensor *known_of(const struct inference *f, const struct graph_node *n, int name)
{
    int t = graph_operand(n, name);
    return t >= 0 && f->known[t] ? &f->p->tensor[t].t : NULL;
}

/* All descriptions of one virtual tensor are one. */
static void learn(struct inference *f, int tensor, const struct mudnn_tensor *shape)
{
    if (tensor < 0 || f->known[tensor])
        return;
    struct mudnn_tensor *t = &f->p->tensor[tensor].t;
    int64_t step = 1;
    t->n = shape->n;
    for (int i = t->n; i-- > 0; step *= t->dim[i]) {
        t->dim[i] = shape->dim[i];
        t->stride[i] = step;
    }
    f->known[tensor] = f->more = true;
}

/* The longest of each dimension, from the last on. */
static void widen(struct mudnn_tensor *to, const struct mudnn_tensor *by)
{
    struct mudnn_tensor t = *by;
    if (t.n > to->n ? !graph_fit(to, t.n) : !graph_fit(&t, to->n))
        return;
    for (int i = 0; i < to->n; i++)
        if (t.dim[i] > to->dim[i])
            to->dim[i] = t.dim[i];
}

static void infer_pointwise(struct inference *f, const struct graph_node *n)
{
    static const int inputs[] = {CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
                                 CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_ATTR_OPERATION_POINTWISE_DYDESC};
    const int outputs[] = {graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_DXDESC),
                           graph_operand(n, CUDNN_ATTR_OPERATION_POINTWISE_YDESC)};
    struct mudnn_tensor shape = {.n = 1, .vector = 1, .dim = {1}};
    bool any = false;
    for (int i = 0; i < 4; i++) {
        if (graph_operand(n, inputs[i]) < 0)
            continue;
        const struct mudnn_tensor *t = known_of(f, n, inputs[i]);
        if (!t)
            return;
        widen(&shape, t);
        any = true;
    }
    if (any) /* the function's value is read where there is a gradient */
        learn(f, outputs[0] >= 0 ? outputs[0] : outputs[1], &shape);
}

static void infer_matmul(struct inference *f, const struct graph_node *n)
{
    const struct mudnn_tensor *a = known_of(f, n, CUDNN_ATTR_OPERATION_MATMUL_ADESC);
    const struct mudnn_tensor *b = known_of(f, n, CUDNN_ATTR_OPERATION_MATMUL_BDESC);
    if (!a || !b || a->n != b->n || a->n < 2)
        return;
    struct mudnn_tensor c = *a;
    for (int i = 0; i < c.n - 2; i++)
        c.dim[i] = b->dim[i] > a->dim[i] ? b->dim[i] : a->dim[i];
    c.dim[c.n - 1] = b->dim[c.n - 1];
    learn(f, graph_operand(n, CUDNN_ATTR_OPERATION_MATMUL_CDESC), &c);
}

static void infer_convolution(struct inference *f, const struct graph_node *n)
{
    const struct mudnn_tensor *x = known_of(f, n, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
    const struct mudnn_tensor *w = known_of(f, n, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
    if (!x || !w || x->n != n->spatial + 2 || w->n != x->n)
        return;
    struct mudnn_tensor y = *x;
    y.dim[1] = w->dim[0];
    for (int i = 0; i < n->spatial; i++) {
        const int64_t reach = (w->dim[i + 2] - 1) * n->window[i] + 1;
        y.dim[i + 2] = (x->dim[i + 2] + n->pre[i] + n->post[i] - reach) / n->stride[i] + 1;
        if (y.dim[i + 2] < 1)
            return;
    }
    learn(f, graph_operand(n, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y), &y);
}

/* As long as x but where it was 1: what was reduced. */
static void infer_reduction(struct inference *f, const struct graph_node *n)
{
    const struct mudnn_tensor *x = known_of(f, n, CUDNN_ATTR_OPERATION_REDUCTION_XDESC);
    const int to = graph_operand(n, CUDNN_ATTR_OPERATION_REDUCTION_YDESC);
    if (!x || to < 0 || f->p->tensor[to].t.n != x->n)
        return;
    struct mudnn_tensor y = *x;
    for (int i = 0; i < y.n; i++)
        y.dim[i] = f->p->tensor[to].t.dim[i] == 1 ? 1 : y.dim[i];
    learn(f, to, &y);
}

static void infer_softmax(struct inference *f, const struct graph_node *n)
{
    static const int of_rows[] = {CUDNN_ATTR_OPERATION_SOFTMAX_STATS_DESC, CUDNN_ATTR_OPERATION_SOFTMAX_MAX_DESC,
                                  CUDNN_ATTR_OPERATION_SOFTMAX_SUM_EXP_DESC};
    const struct mudnn_tensor *x = known_of(f, n, CUDNN_ATTR_OPERATION_SOFTMAX_XDESC);
    if (!x)
        return;
    struct mudnn_tensor shape = *x;
    learn(f, graph_operand(n, CUDNN_ATTR_OPERATION_SOFTMAX_YDESC), &shape);
    shape.dim[shape.n - 1] = 1;
    for (int i = 0; i < 3; i++)
        learn(f, graph_operand(n, of_rows[i]), &shape);
}

static void infer_node(struct inference *f, const struct graph_node *n)
{
    const struct mudnn_tensor *x;
    switch (n->kind) {
    case CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR: infer_pointwise(f, n); break;
    case CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR: infer_matmul(f, n); break;
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR: infer_convolution(f, n); break;
    case CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR: infer_reduction(f, n); break;
    case CUDNN_BACKEND_OPERATION_SOFTMAX_DESCRIPTOR: infer_softmax(f, n); break;
    case CUDNN_BACKEND_OPERATION_DIAGONAL_BAND_MASK_DESCRIPTOR:
        x = known_of(f, n, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_XDESC);
        if (x) {
            const struct mudnn_tensor shape = *x;
            learn(f, graph_operand(n, CUDNN_ATTR_OPERATION_DIAGONAL_BAND_MASK_YDESC), &shape);
        }
        break;
    default: break;
    }
}

/* Until nothing more follows. What is left keeps its shape: if that fits no more, the plan's check says so. */
int graph_infer(struct graph_plan *p)
{
    struct inference f = {p, calloc(p->tensors + 1, sizeof(bool)), true};
    if (!f.known)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    for (unsigned i = 0; i < p->tensors; i++) {
        struct graph_tensor t = p->tensor[i];
        f.known[i] = t.place != GRAPH_VIRTUAL || graph_is_own(&t) || graph_override(p->overrides, &t);
    }
    while (f.more) {
        f.more = false;
        for (unsigned i = 0; i < p->nodes; i++)
            infer_node(&f, &p->node[i]);
        for (unsigned i = 0; i < p->tensors; i++) /* the same one, described again */
            for (unsigned k = 0; !f.known[i] && k < p->tensors; k++)
                if (f.known[k] && p->tensor[k].uid == p->tensor[i].uid) {
                    const struct mudnn_tensor shape = p->tensor[k].t;
                    learn(&f, (int)i, &shape);
                }
    }
    free(f.known);
    return CUDNN_STATUS_SUCCESS;
}
