/* What finalising does with each kind of cuDNN's backend descriptors: checks, plans of operation graphs, and the
 * answers of engines, of which there is one, that runs every plan. */
#include <string.h>

#include "api/cudnn/graph/graph.h"
#include "core/resolve.h"

int graph_refuse(int status, const char *what)
{
    if (status / 1000 == CUDNN_STATUS_NOT_SUPPORTED / 1000)
        dnn_gap("cudnnBackendFinalize", what);
    return status;
}

static int put_integer(struct graph_body *b, int name, int64_t value)
{
    return graph_put(b, name, CUDNN_TYPE_INT64, 1, &value) ? CUDNN_STATUS_SUCCESS
                                                           : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

static int put_body(struct graph_body *b, int name, struct graph_body *member)
{
    return graph_put(b, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &member)
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

/* ---- what operations are described with -------------------------------------------------------- */

static int finalize_tensor(const struct graph_body *b)
{
    const struct graph_attr *dims = graph_find(b, CUDNN_ATTR_TENSOR_DIMENSIONS);
    const struct graph_attr *strides = graph_find(b, CUDNN_ATTR_TENSOR_STRIDES);
    int64_t alignment = graph_integer(b, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, 1);
    DNN_BAD_UNLESS(dims->count == strides->count && alignment > 0 && !(alignment & (alignment - 1)));
    const int64_t type = graph_integer(b, CUDNN_ATTR_TENSOR_DATA_TYPE, -1);
    DNN_BAD_UNLESS((uint64_t)type <= CUDNN_DATA_FP8_E5M3);
    DNN_BAD_UNLESS(graph_integer(b, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_MULTIPLIER, 1) > 0);
    if (type > CUDNN_DATA_COMPLEX_FP64)
        return graph_refuse(CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE, "tensors of FP8_E5M3 and BYTE_BOOLEAN");
    if (graph_integer(b, CUDNN_ATTR_TENSOR_RAGGED_OFFSET_MULTIPLIER, 1) >= MUDNN_LIMIT)
        return CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
    for (int64_t i = 0; i < dims->count; i++)
        DNN_BAD_UNLESS(((int64_t *)dims->data)[i] > 0 && ((int64_t *)strides->data)[i] >= 0);
    return mudnn_within((int)dims->count, dims->data, strides->data) ? CUDNN_STATUS_SUCCESS
                                                                     : CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
}

enum { MOST_STEP = 1 << 30 }; /* of a window, a padding: sums of them stay far below 64 bits */

static int finalize_convolution(const struct graph_body *b)
{
    int64_t n = graph_integer(b, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, 0), v[MUDNN_DIMS];
    static const struct {
        int name;
        int64_t least;
    } lists[] = {{CUDNN_ATTR_CONVOLUTION_DILATIONS, 1},
                 {CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, 1},
                 {CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, 0},
                 {CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, 0}};
    DNN_BAD_UNLESS(n >= 1 && n <= MUDNN_DIMS - 2);
    DNN_BAD_UNLESS((uint64_t)graph_integer(b, CUDNN_ATTR_CONVOLUTION_CONV_MODE, 0) <= CUDNN_CROSS_CORRELATION);
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
        DNN_BAD_UNLESS(graph_integers(b, lists[i].name, v) == n);
        for (int d = 0; d < n; d++)
            DNN_BAD_UNLESS(v[d] >= lists[i].least && v[d] < MOST_STEP);
    }
    return CUDNN_STATUS_SUCCESS;
}

static int finalize_resample(const struct graph_body *b)
{
    const int lists[] = {CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, CUDNN_ATTR_RESAMPLE_PRE_PADDINGS,
                         CUDNN_ATTR_RESAMPLE_POST_PADDINGS, CUDNN_ATTR_RESAMPLE_STRIDES};
    int64_t n = graph_integer(b, CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, 0);
    DNN_BAD_UNLESS(n >= 1 && n <= MUDNN_DIMS - 2);
    DNN_BAD_UNLESS((uint64_t)graph_integer(b, CUDNN_ATTR_RESAMPLE_MODE, 0) <= CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING);
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++) {
        const struct graph_attr *a = graph_find(b, lists[i]);
        DNN_BAD_UNLESS(a->count == n);
        for (int64_t k = 0; k < n; k++) {
            const int64_t *fraction = (const int64_t *)a->data + 2 * k;
            DNN_BAD_UNLESS(fraction[1] > 0 && fraction[0] > -MOST_STEP && fraction[0] < MOST_STEP);
        }
    }
    return CUDNN_STATUS_SUCCESS;
}

/* ---- graphs and what runs them ----------------------------------------------------------------- */

static int finalize_graph(struct graph_body *b)
{
    int r = graph_lower(b, NULL, &b->plan);
    if (r)
        return graph_refuse(r, "a graph with an operation, type or shape that no engine here computes");
    return put_integer(b, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1);
}

/* Does the library below have what plans are made of? muDNN has not. */
static int serves(const struct graph_body *graph)
{
    return graph->plan->open || !cumu_mu_has("mudnnHostMatmul") ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

/* Programs that try an engine's configurations one by one find one: its only knob has one value. */
enum { KNOB = CUDNN_KNOB_TYPE_KERNEL_CFG };
static int put_knob(struct graph_body *engine)
{
    const int type = KNOB;
    struct graph_body *info = graph_body_new(CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
    int r = info && graph_put(info, CUDNN_ATTR_KNOB_INFO_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type)
                ? CUDNN_STATUS_SUCCESS
                : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    r = r ? r : put_integer(info, CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE, 0);
    r = r ? r : put_integer(info, CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE, 0);
    r = r ? r : put_integer(info, CUDNN_ATTR_KNOB_INFO_STRIDE, 1);
    if (!r) {
        info->ready = true;
        r = put_body(engine, CUDNN_ATTR_ENGINE_KNOB_INFO, info);
    }
    graph_body_drop(info);
    return r;
}

static int check_knobs(const struct graph_attr *choices)
{
    for (int64_t i = 0; choices && i < choices->count; i++) {
        const struct graph_body *c = ((struct graph_body **)choices->data)[i];
        if (graph_integer(c, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, -1) != KNOB ||
            graph_integer(c, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, -1) != 0)
            return CUDNN_STATUS_NOT_SUPPORTED;
    }
    return CUDNN_STATUS_SUCCESS;
}

static int finalize_engine(struct graph_body *b)
{
    int64_t index = graph_integer(b, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0);
    DNN_BAD_UNLESS(index >= 0);
    if (index)
        return CUDNN_STATUS_NOT_SUPPORTED;
    const int note = CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API;
    if (!graph_put(b, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 1, &note))
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    int r = put_knob(b);
    return r ? r : serves(graph_member(b, CUDNN_ATTR_ENGINE_OPERATION_GRAPH));
}

static int finalize_config(struct graph_body *b)
{
    const struct graph_body *engine = graph_member(b, CUDNN_ATTR_ENGINECFG_ENGINE);
    const struct graph_body *graph = graph_member(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
    int32_t shared = 0;
    int r = check_knobs(graph_find(b, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES));
    if (r)
        return r;
    if (!graph_put(b, CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED, CUDNN_TYPE_INT32, 1, &shared))
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    return put_integer(b, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, (int64_t)graph->plan->workspace);
}

/* The engine's configuration of a graph. */
static int make_config(struct graph_body *graph, struct graph_body **out)
{
    struct graph_body *engine = graph_body_new(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    struct graph_body *config = graph_body_new(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    int r = engine && config ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (!r)
        r = put_body(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph);
    if (!r)
        r = put_integer(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0);
    if (!r)
        r = finalize_engine(engine);
    if (!r) {
        engine->ready = true;
        r = put_body(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
    }
    if (!r)
        r = finalize_config(config);
    if (r)
        graph_body_drop(config);
    else
        config->ready = true;
    graph_body_drop(engine);
    *out = r ? NULL : config;
    return r;
}

static int finalize_heuristics(struct graph_body *b)
{
    struct graph_body *config;
    DNN_BAD_UNLESS((uint64_t)graph_integer(b, CUDNN_ATTR_ENGINEHEUR_MODE, -1) < CUDNN_HEUR_MODES_COUNT);
    int r = make_config(graph_member(b, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH), &config);
    if (!r) {
        r = put_body(b, CUDNN_ATTR_ENGINEHEUR_RESULTS, config);
        graph_body_drop(config);
    }
    return r;
}

/* A plan's text stands for the graph that it was made of. */
static int load_plan(struct graph_body *b, const struct graph_attr *text)
{
    struct graph_body *graph = graph_body_new(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR), *config = NULL;
    int r = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (!graph)
        return r;
    r = graph_read(text->data, (size_t)text->count, &graph->plan);
    if (!r)
        r = put_integer(graph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1);
    graph->ready = true;
    if (!r)
        r = make_config(graph, &config);
    if (!r)
        r = put_body(b, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config);
    graph_body_drop(config);
    graph_body_drop(graph);
    return r;
}

static int finalize_plan(struct graph_body *b)
{
    const struct graph_attr *text = graph_find(b, CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION);
    if (!graph_member(b, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)) {
        DNN_BAD_UNLESS(text);
        int r = load_plan(b, text);
        if (r)
            return r;
    }
    const struct graph_body *config = graph_member(b, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
    return put_integer(b, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                       graph_integer(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 0));
}

static int finalize_pack(const struct graph_body *b)
{
    const struct graph_attr *uids = graph_find(b, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
    const struct graph_attr *places = graph_find(b, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
    int r = graph_check_overrides(b);
    if (r)
        return r;
    if (!uids && !places) { /* which asks for a workspace's size alone */
        DNN_BAD_UNLESS(graph_find(b, CUDNN_ATTR_VARIANT_PACK_OVERRIDE_UNIQUE_IDS));
        return CUDNN_STATUS_SUCCESS;
    }
    DNN_BAD_UNLESS(uids && places && uids->count == places->count);
    const int64_t *uid = uids->data;
    for (int64_t i = 0; i < uids->count; i++)
        for (int64_t k = 0; k < i; k++)
            if (uid[i] == uid[k])
                return CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES;
    return CUDNN_STATUS_SUCCESS;
}

/* Texts of caches and devices hold nothing: no kernel is compiled that could be kept. */
static int put_text(struct graph_body *b, int name)
{
    static const char text[] = "{}";
    return graph_find(b, name) || graph_put(b, name, CUDNN_TYPE_CHAR, sizeof text - 1, text)
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
}

static int finalize_cache(struct graph_body *b)
{
    int r = put_text(b, CUDNN_ATTR_KERNEL_CACHE_JSON_REPRESENTATION);
    r = r ? r : put_integer(b, CUDNN_ATTR_KERNEL_CACHE_REVISION, 0);
    return r ? r : put_integer(b, CUDNN_ATTR_KERNEL_CACHE_ENTRY_COUNT, 0);
}

int graph_finalize(struct graph_body *b)
{
    const struct graph_kind *k = graph_kind_of(b->kind);
    if (k->operation) {
        struct graph_node scratch = {.kind = b->kind};
        if (!k->known)
            return graph_refuse(CUDNN_STATUS_NOT_SUPPORTED, "an operation that no engine here computes");
        return graph_gather(&scratch, b);
    }
    switch (b->kind) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR: return finalize_tensor(b);
    case CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR: return finalize_convolution(b);
    case CUDNN_BACKEND_RESAMPLE_DESCRIPTOR: return finalize_resample(b);
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return finalize_graph(b);
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: return finalize_engine(b);
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: return finalize_config(b);
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: return finalize_heuristics(b);
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return finalize_plan(b);
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: return finalize_pack(b);
    case CUDNN_BACKEND_KERNEL_CACHE_DESCRIPTOR: return finalize_cache(b);
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR: return put_text(b, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION);
    default: return CUDNN_STATUS_SUCCESS;
    }
}
