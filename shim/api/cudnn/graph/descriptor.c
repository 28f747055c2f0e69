/* cuDNN's backend descriptors: creating them, their attributes, finalising. */
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"

struct graph_body *graph_body_of(const void *descriptor)
{
    return dnn_is(DNN_BACKEND, descriptor) ? ((const struct dnn_backend *)descriptor)->body : NULL;
}

int wrap_cudnnBackendCreateDescriptor(int kind, void **out)
{
    DNN_BAD_UNLESS(out);
    if (kind >= GRAPH_RAGGED_LOAD || !graph_kind_of(kind))
        return kind >= 0 && kind <= CUDNN_BACKEND_OPERATION_ROPE_BWD_DESCRIPTOR ? CUDNN_STATUS_NOT_SUPPORTED
                                                                                : CUDNN_STATUS_BAD_PARAM;
    struct graph_body *b = graph_body_new(kind);
    if (!b)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    void *made = NULL;
    int r = dnn_create(DNN_BACKEND, sizeof(struct dnn_backend), &made);
    if (r) {
        graph_body_drop(b);
        return r;
    }
    ((struct dnn_backend *)made)->body = b;
    *out = made;
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnBackendDestroyDescriptor(void *descriptor)
{
    struct graph_body *b = graph_body_of(descriptor);
    int r = dnn_destroy(DNN_BACKEND, descriptor);
    if (!r)
        graph_body_drop(b);
    return r;
}

/* For memory that a program brought in cuDNN 8's first days; nothing but a new descriptor can be such memory here. */
int wrap_cudnnBackendInitialize(void *descriptor)
{
    struct graph_body *b = graph_body_of(descriptor);
    DNN_BAD_UNLESS(b);
    struct graph_body *fresh = graph_body_new(b->kind);
    if (!fresh)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    ((struct dnn_backend *)descriptor)->body = fresh;
    graph_body_drop(b);
    return CUDNN_STATUS_SUCCESS;
}

static bool takes_type(const struct graph_rule *r, int type)
{
    return type == r->type || ((r->flags & GRAPH_SCALAR) && (type == CUDNN_TYPE_FLOAT || type == CUDNN_TYPE_DOUBLE)) ||
           ((r->flags & GRAPH_INTEGER) && type == CUDNN_TYPE_INT64);
}

/* ---- set --------------------------------------------------------------------------------------- */

/* The bodies of finalised descriptors of the kind that the rule asks for. */
static int put_descriptors(struct graph_body *b, const struct graph_rule *r, int64_t count, void *const *descriptors)
{
    struct graph_body **bodies = malloc((size_t)count * sizeof *bodies);
    int status = bodies ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    for (int64_t i = 0; !status && i < count; i++) {
        bodies[i] = graph_body_of(descriptors[i]);
        const struct graph_kind *k = bodies[i] ? graph_kind_of(bodies[i]->kind) : NULL;
        if (!k)
            status = CUDNN_STATUS_BAD_PARAM;
        else if ((r->flags & GRAPH_OPERATION) ? !k->operation : k->kind != r->of)
            status = CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
        else if (!bodies[i]->ready)
            status = CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    }
    if (!status && !graph_put(b, r->name, CUDNN_TYPE_BACKEND_DESCRIPTOR, count, bodies))
        status = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    free(bodies);
    return status;
}

int wrap_cudnnBackendSetAttribute(void *descriptor, int name, int type, long long count, const void *elements)
{
    struct graph_body *b = graph_body_of(descriptor);
    DNN_BAD_UNLESS(b);
    if (b->ready)
        return CUDNN_STATUS_NOT_INITIALIZED;
    const struct graph_kind *k = graph_kind_of(b->kind);
    if (!k->known)
        return elements && count > 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_BAD_PARAM;
    const struct graph_rule *r = graph_rule_of(k, name);
    if (!r && !graph_is_attribute(name)) {
        dnn_gap("cudnnBackendSetAttribute", "an attribute of a later release, or one that no operation here has");
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    DNN_BAD_UNLESS(r && !(r->flags & GRAPH_READ));
    if (!takes_type(r, type))
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (!elements)
        return CUDNN_STATUS_BAD_PARAM_NULL_POINTER;
    if (!count && name == CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)
        return CUDNN_STATUS_SUCCESS; /* how cudnn-frontend chooses nothing of an engine's knobs */
    if (count < 1 || count > r->most)
        return CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND;
    if (name == CUDNN_ATTR_VARIANT_PACK_OVERRIDE_SHAPES || name == CUDNN_ATTR_VARIANT_PACK_OVERRIDE_STRIDES)
        return graph_put_lists(b, name, elements, graph_rule_of(k, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS)->most);
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
        return put_descriptors(b, r, count, elements);
    if (type == CUDNN_TYPE_HANDLE)
        DNN_BAD_UNLESS(dnn_is(DNN_HANDLE, *(void *const *)elements));
    int64_t constant = 0;
    if (name == CUDNN_ATTR_TENSOR_CONSTANT_VALUE) { /* the address of the number, which is read at once */
        const struct graph_attr *data_type = graph_find(b, CUDNN_ATTR_TENSOR_DATA_TYPE);
        const void *at = *(void *const *)elements;
        DNN_BAD_UNLESS(at && data_type);
        memcpy(&constant, at, dnn_size(*(int *)data_type->data));
        elements = &constant;
        type = CUDNN_TYPE_INT64;
    }
    return graph_put(b, name, type, count, elements) ? CUDNN_STATUS_SUCCESS
                                                     : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

/* ---- get --------------------------------------------------------------------------------------- */

/* Lets the program's descriptors, which it created for this, stand for the attribute's bodies. */
static int give_descriptors(const struct graph_rule *r, const struct graph_attr *a, int64_t wanted, void **descriptors)
{
    struct graph_body **bodies = a->data;
    for (int64_t i = 0; i < wanted && i < a->count; i++) {
        struct graph_body *old = graph_body_of(descriptors[i]);
        DNN_BAD_UNLESS(old);
        if ((r->flags & GRAPH_OPERATION) ? !graph_kind_of(old->kind)->operation : old->kind != r->of)
            return CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE;
        graph_body_hold(bodies[i]);
        ((struct dnn_backend *)descriptors[i])->body = bodies[i];
        graph_body_drop(old);
    }
    return CUDNN_STATUS_SUCCESS;
}

const struct graph_body *graph_of_plan(const struct graph_body *execution_plan)
{
    const struct graph_body *b = graph_member(execution_plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    return graph_member(graph_member(b, CUDNN_ATTR_ENGINECFG_ENGINE), CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
}

static int give_text(const struct graph_body *b, int64_t wanted, int64_t *count, char *to)
{
    size_t length;
    char *text = graph_write(graph_of_plan(b)->plan, &length);
    if (!text)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (count)
        *count = (int64_t)length;
    if (to && wanted > 0)
        memcpy(to, text, (size_t)wanted < length ? (size_t)wanted : length);
    free(text);
    return CUDNN_STATUS_SUCCESS;
}

int wrap_cudnnBackendGetAttribute(void *descriptor, int name, int type, long long wanted, long long *count,
                                  void *elements)
{
    const struct graph_body *b = graph_body_of(descriptor);
    DNN_BAD_UNLESS(b);
    const struct graph_kind *k = graph_kind_of(b->kind);
    const struct graph_rule *r = graph_rule_of(k, name);
    if (!b->ready)
        return CUDNN_STATUS_NOT_INITIALIZED;
    DNN_BAD_UNLESS(r && wanted >= 0);
    const struct graph_attr *a = graph_find(b, name);
    if (!takes_type(r, type))
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    if (name == CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION) {
        int64_t length = 0;
        int status = give_text(b, wanted, &length, elements);
        if (count)
            *count = length;
        return status;
    }
    if (count)
        *count = a ? a->count : 0;
    if (!a || !elements)
        return CUDNN_STATUS_SUCCESS;
    if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR && a->type == type)
        return give_descriptors(r, a, wanted, elements);
    if (a->type != type) /* of a number given as float, or as double */
        return CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE;
    memcpy(elements, a->data, (size_t)(wanted < a->count ? wanted : a->count) * graph_type_size(type));
    return CUDNN_STATUS_SUCCESS;
}

/* ---- the rest ---------------------------------------------------------------------------------- */

int wrap_cudnnBackendFinalize(void *descriptor)
{
    struct graph_body *b = graph_body_of(descriptor);
    DNN_BAD_UNLESS(b);
    if (b->ready)
        return CUDNN_STATUS_SUCCESS;
    const struct graph_kind *k = graph_kind_of(b->kind);
    for (unsigned i = 0; i < k->rules; i++)
        DNN_BAD_UNLESS(!(k->rule[i].flags & GRAPH_NEEDED) || graph_find(b, k->rule[i].name));
    int r = graph_finalize(b);
    if (!r)
        b->ready = true;
    return r;
}
