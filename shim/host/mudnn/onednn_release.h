/* Convolutions, batch normalisations and products by one release of oneDNN, which whoever includes this names:
 * DNNL_VERSION_MAJOR with the release's declarations, and OF_RELEASE(name) for what is made. The library is opened at
 * run time, with its names to itself: a program may have another release of it. Here is what a shape needs: primitives,
 * and memory of the layouts that oneDNN likes best, which its reorders make of the program's. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/mudnn/mudnn.h"
#include "sanitize.h"

/* Releases 2 and 3 differ in how layouts and convolutions are described: structs and two steps, or objects and one. */
#if DNNL_VERSION_MAJOR == 2
#define SONAME "libdnnl.so.2"
#define LAYOUT(md) (&(md))
typedef const dnnl_memory_desc_t *layout_ref;
// clang-format off
#define VERSIONED(F) \
    F(memory_desc_init_by_strides) \
    F(memory_desc_init_by_tag) \
    F(dilated_convolution_forward_desc_init) \
    F(dilated_convolution_backward_data_desc_init) \
    F(dilated_convolution_backward_weights_desc_init) \
    F(batch_normalization_forward_desc_init) \
    F(batch_normalization_backward_desc_init) \
    F(matmul_desc_init) \
    F(primitive_desc_create)
#else
#define SONAME "libdnnl.so.3"
#define LAYOUT(md) (md)
typedef const_dnnl_memory_desc_t layout_ref;
#define VERSIONED(F) \
    F(memory_desc_create_with_strides) \
    F(memory_desc_create_with_tag) \
    F(memory_desc_destroy) \
    F(convolution_forward_primitive_desc_create) \
    F(convolution_backward_data_primitive_desc_create) \
    F(convolution_backward_weights_primitive_desc_create) \
    F(batch_normalization_forward_primitive_desc_create) \
    F(batch_normalization_backward_primitive_desc_create) \
    F(matmul_primitive_desc_create)
#endif
#define FUNCTIONS(F) \
    VERSIONED(F) \
    F(engine_create) \
    F(sgemm) \
    F(stream_create) \
    F(stream_wait) \
    F(memory_desc_equal) \
    F(memory_desc_get_size) \
    F(primitive_desc_destroy) \
    F(primitive_desc_query) \
    F(primitive_desc_query_md) \
    F(primitive_attr_create) \
    F(primitive_attr_destroy) \
    F(primitive_attr_set_scratchpad_mode) \
    F(primitive_attr_set_post_ops) \
    F(post_ops_create) \
    F(post_ops_destroy) \
    F(post_ops_append_eltwise) \
    F(reorder_primitive_desc_create) \
    F(primitive_create) \
    F(primitive_destroy) \
    F(primitive_execute) \
    F(memory_create) \
    F(memory_set_data_handle) \
    F(memory_destroy)
// clang-format on
#define MEMBER(name) __typeof__(dnnl_##name) *name;
static struct {
    FUNCTIONS(MEMBER)
} dnnl;
static dnnl_engine_t engine;
static dnnl_primitive_attr_t own_scratchpad; /* what most primitives have */
static bool found;

/* Debian's library of release 3 has the minor number in its name, libdnnl.so.3.6, and no link without it. */
static void *open_library(void)
{
    enum { MINORS = 32 };
    char name[sizeof SONAME + 8] = SONAME;
    int flags = RTLD_NOW | RTLD_LOCAL;
#if !CUMU_ASAN && !CUMU_TSAN
    flags |= RTLD_DEEPBIND;
#endif
    void *library = dlopen(name, flags);
    for (int minor = MINORS; !library && DNNL_VERSION_MAJOR == 3 && minor-- > 0;) {
        snprintf(name, sizeof name, "%s.%d", SONAME, minor);
        library = dlopen(name, flags);
    }
    return library;
}

/* Attributes of a primitive that runs in several threads, each with memory of its own. */
static bool make_attributes(dnnl_primitive_attr_t *to)
{
    return !dnnl.primitive_attr_create(to) && !dnnl.primitive_attr_set_scratchpad_mode(*to, dnnl_scratchpad_mode_user);
}

static void find(void)
{
    void *library = open_library();
    if (!library)
        return;
    bool all = true;
#define FIND(name) \
    { \
        void *at = dlsym(library, "dnnl_" #name); \
        memcpy(&dnnl.name, &at, sizeof at); \
        all &= at != NULL; \
    }
    FUNCTIONS(FIND)
    found = all && !dnnl.engine_create(&engine, dnnl_cpu, 0) && make_attributes(&own_scratchpad);
}

bool OF_RELEASE(dnn_has_onednn)(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}

/* ---- what a shape needs ------------------------------------------------------------------------ */

/* Of a normalisation W are the features' numbers, and Y is X's; a product's Y is X W. */
enum { X, W, Y, SIDES };
enum { PRODUCT = DNN_BACKWARD_FILTER + 1, NORM_TRAINING, NORM_INFERENCE, NORM_BACKWARD };
/* The shapes of a call, compared byte by byte. */
struct key {
    int way, narrow[SIDES], spatial, n[SIDES];
    float epsilon, scale; /* of a normalisation; of a product */
    int64_t groups, pad[3], stride[3], dilation[3], dim[SIDES][5], step[SIDES][5];
};
/* Memory of one call: the program's tensors, those in the layouts computed in (the same where the layouts are), and
 * what the primitives need beside. */
struct memory {
    struct memory *next;
    dnnl_memory_t given[SIDES], used[SIDES], scratch[1 + SIDES];
};
struct shape {
    struct shape *next;
    struct key key;
    unsigned users;
    size_t bytes; /* of one memory */
    struct memory *idle;
    dnnl_memory_desc_t mine[SIDES];
    dnnl_primitive_desc_t pd, reorder_pd[SIDES];
    dnnl_primitive_t primitive, reorder[SIDES]; /* to what is used, of the result from it; NULL where it is the same */
};

static const int results[] = {Y, X, W, Y}; /* of each way of a convolution, and of a product */
static layout_ref layout_of(const struct shape *s, int side)
{
    static const dnnl_query_t queries[][SIDES] = {
        {dnnl_query_src_md, dnnl_query_weights_md, dnnl_query_dst_md},
        {dnnl_query_diff_src_md, dnnl_query_weights_md, dnnl_query_diff_dst_md},
        {dnnl_query_src_md, dnnl_query_diff_weights_md, dnnl_query_diff_dst_md},
    };
    return dnnl.primitive_desc_query_md(s->pd, queries[s->key.way][side], 0);
}

/* A tensor's dimensions and strides, groups first where there are any. `any`: in whatever layout is best. */
static bool describe_layout(dnnl_memory_desc_t *to, const struct key *k, int side, bool any)
{
    const dnnl_data_type_t type = k->narrow[side] ? dnnl_bf16 : dnnl_f32;
    dnnl_dims_t dims, strides;
    int n = 0;
    bool groups = side == W && k->groups > 1;
    if (groups) {
        dims[n] = k->groups;
        strides[n++] = k->dim[side][0] / k->groups * k->step[side][0];
    }
    for (int i = 0; i < k->n[side]; i++) {
        dims[n] = i == 0 && groups ? k->dim[side][i] / k->groups : k->dim[side][i];
        strides[n++] = k->step[side][i];
    }
#if DNNL_VERSION_MAJOR == 2
    return any ? !dnnl.memory_desc_init_by_tag(to, n, dims, type, dnnl_format_tag_any)
               : !dnnl.memory_desc_init_by_strides(to, n, dims, type, strides);
#else
    return any ? !dnnl.memory_desc_create_with_tag(to, n, dims, type, dnnl_format_tag_any)
               : !dnnl.memory_desc_create_with_strides(to, n, dims, type, strides);
#endif
}

/* oneDNN's description of the way, with the layouts left to it. */
static bool describe(struct shape *s)
{
    const struct key *k = &s->key;
    dnnl_memory_desc_t md[SIDES] = {0};
    dnnl_dims_t stride, dilation, before, after;
    bool good = true;
    for (int i = 0; i < SIDES; i++)
        good = good && describe_layout(&md[i], k, i, true);
    for (int i = 0; i < k->spatial; i++) {
        stride[i] = k->stride[i];
        dilation[i] = k->dilation[i] - 1;
        before[i] = k->pad[i];
        /* what the last window leaves over is no padding */
        after[i] = (k->dim[Y][i + 2] - 1) * k->stride[i] + (k->dim[W][i + 2] - 1) * k->dilation[i] + 1 - k->pad[i] -
                   k->dim[X][i + 2];
    }
#if DNNL_VERSION_MAJOR == 2
    dnnl_convolution_desc_t d;
    if (k->way == DNN_FORWARD)
        good = good &&
               !dnnl.dilated_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct, &md[X],
                                                           &md[W], NULL, &md[Y], stride, dilation, before, after);
    else if (k->way == DNN_BACKWARD_DATA)
        good = good && !dnnl.dilated_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, &md[X], &md[W],
                                                                         &md[Y], stride, dilation, before, after);
    else
        good = good && !dnnl.dilated_convolution_backward_weights_desc_init(
                           &d, dnnl_convolution_direct, &md[X], &md[W], NULL, &md[Y], stride, dilation, before, after);
    return good && !dnnl.primitive_desc_create(&s->pd, &d, own_scratchpad, engine, NULL);
#else
    dnnl_primitive_desc_t hint = NULL, *forward = k->way == DNN_FORWARD ? &s->pd : &hint;
    good = good && !dnnl.convolution_forward_primitive_desc_create(forward, engine, dnnl_forward_training,
                                                                   dnnl_convolution_direct, md[X], md[W], NULL, md[Y],
                                                                   stride, dilation, before, after, own_scratchpad);
    if (k->way == DNN_BACKWARD_DATA)
        good = good && !dnnl.convolution_backward_data_primitive_desc_create(&s->pd, engine, dnnl_convolution_direct,
                                                                             md[X], md[W], md[Y], stride, dilation,
                                                                             before, after, hint, own_scratchpad);
    else if (k->way == DNN_BACKWARD_FILTER)
        good = good && !dnnl.convolution_backward_weights_primitive_desc_create(
                           &s->pd, engine, dnnl_convolution_direct, md[X], md[W], NULL, md[Y], stride, dilation, before,
                           after, hint, own_scratchpad);
    for (int i = 0; i < SIDES; i++)
        if (md[i])
            dnnl.memory_desc_destroy(md[i]);
    if (hint)
        dnnl.primitive_desc_destroy(hint);
    return good;
#endif
}

/* A normalisation by the statistics of the batch or by those given; its backward one wants a forward one before it. */
static bool describe_norm(struct shape *s)
{
    const struct key *k = &s->key;
    const unsigned flags = dnnl_use_scale | dnnl_use_shift | (k->way == NORM_INFERENCE ? dnnl_use_global_stats : 0);
    const dnnl_prop_kind_t kind = k->way == NORM_INFERENCE ? dnnl_forward_inference : dnnl_forward_training;
    dnnl_primitive_desc_t hint = NULL, *forward = k->way == NORM_BACKWARD ? &hint : &s->pd;
    bool good;
#if DNNL_VERSION_MAJOR == 2
    dnnl_batch_normalization_desc_t d;
    good = !dnnl.batch_normalization_forward_desc_init(&d, kind, &s->mine[X], k->epsilon, flags) &&
           !dnnl.primitive_desc_create(forward, &d, own_scratchpad, engine, NULL);
    if (k->way == NORM_BACKWARD)
        good = good &&
               !dnnl.batch_normalization_backward_desc_init(&d, dnnl_backward, &s->mine[Y], &s->mine[X], k->epsilon,
                                                            flags) &&
               !dnnl.primitive_desc_create(&s->pd, &d, own_scratchpad, engine, hint);
#else
    good = !dnnl.batch_normalization_forward_primitive_desc_create(forward, engine, kind, s->mine[X], s->mine[X],
                                                                   k->epsilon, flags, own_scratchpad);
    if (k->way == NORM_BACKWARD)
        good = good && !dnnl.batch_normalization_backward_primitive_desc_create(
                           &s->pd, engine, dnnl_backward, s->mine[Y], s->mine[Y], s->mine[X], k->epsilon, flags, hint,
                           own_scratchpad);
#endif
    if (hint)
        dnnl.primitive_desc_destroy(hint);
    return good;
}

/* A product, scaled where its sums are. */
static bool describe_product(struct shape *s)
{
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t then = NULL;
    bool good = make_attributes(&attr);
    if (s->key.scale != 1) {
        good = good && !dnnl.post_ops_create(&then);
#if DNNL_VERSION_MAJOR == 2
        good = good && !dnnl.post_ops_append_eltwise(then, 1, dnnl_eltwise_linear, s->key.scale, 0);
#else
        good = good && !dnnl.post_ops_append_eltwise(then, dnnl_eltwise_linear, s->key.scale, 0);
#endif
        good = good && !dnnl.primitive_attr_set_post_ops(attr, then);
    }
#if DNNL_VERSION_MAJOR == 2
    dnnl_matmul_desc_t d;
    good = good && !dnnl.matmul_desc_init(&d, &s->mine[X], &s->mine[W], NULL, &s->mine[Y]) &&
           !dnnl.primitive_desc_create(&s->pd, &d, attr, engine, NULL);
#else
    good = good && !dnnl.matmul_primitive_desc_create(&s->pd, engine, s->mine[X], s->mine[W], NULL, s->mine[Y], attr);
#endif
    if (then)
        dnnl.post_ops_destroy(then);
    if (attr)
        dnnl.primitive_attr_destroy(attr);
    return good;
}

static void drop_memory(struct memory *m)
{
    for (int i = 0; i < SIDES; i++) {
        if (m->used[i] && m->used[i] != m->given[i])
            dnnl.memory_destroy(m->used[i]);
        if (m->given[i])
            dnnl.memory_destroy(m->given[i]);
    }
    for (int i = 0; i <= SIDES; i++)
        if (m->scratch[i])
            dnnl.memory_destroy(m->scratch[i]);
    free(m);
}
static void drop_shape(struct shape *s)
{
    for (struct memory *m = s->idle, *next; m; m = next) {
        next = m->next;
        drop_memory(m);
    }
    for (int i = 0; i < SIDES; i++) {
        if (s->reorder[i])
            dnnl.primitive_destroy(s->reorder[i]);
        if (s->reorder_pd[i])
            dnnl.primitive_desc_destroy(s->reorder_pd[i]);
#if DNNL_VERSION_MAJOR == 3
        if (s->mine[i])
            dnnl.memory_desc_destroy(s->mine[i]);
#endif
    }
    if (s->primitive)
        dnnl.primitive_destroy(s->primitive);
    if (s->pd)
        dnnl.primitive_desc_destroy(s->pd);
    free(s);
}

static layout_ref scratch_of(dnnl_primitive_desc_t pd)
{
    return dnnl.primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
}

/* oneDNN has a plain loop for what it has no code for, which takes longer than floats do. */
static bool is_plain_loop(dnnl_primitive_desc_t pd)
{
    const char *name = NULL;
    return dnnl.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, (void *)&name) || strncmp(name, "ref", 3) == 0;
}

static struct shape *make_shape(const struct key *k)
{
    struct shape *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->key = *k;
    for (int i = 0; i < SIDES; i++)
        if (!describe_layout(&s->mine[i], k, i, false))
            goto none;
    if (!(k->way < PRODUCT    ? describe(s)
          : k->way == PRODUCT ? describe_product(s)
                              : describe_norm(s)) ||
        (k->narrow[X] && is_plain_loop(s->pd)) || dnnl.primitive_create(&s->primitive, s->pd))
        goto none;
    s->bytes = dnnl.memory_desc_get_size(scratch_of(s->pd));
    for (int i = 0; k->way < PRODUCT && i < SIDES; i++) {
        layout_ref best = layout_of(s, i), mine = LAYOUT(s->mine[i]);
        bool result = i == results[k->way];
        if (dnnl.memory_desc_equal(best, mine))
            continue;
        if (dnnl.reorder_primitive_desc_create(&s->reorder_pd[i], result ? best : mine, engine, result ? mine : best,
                                               engine, own_scratchpad) ||
            dnnl.primitive_create(&s->reorder[i], s->reorder_pd[i]))
            goto none;
        s->bytes += dnnl.memory_desc_get_size(best) + dnnl.memory_desc_get_size(scratch_of(s->reorder_pd[i]));
    }
    return s;
none:
    drop_shape(s);
    return NULL;
}

static struct memory *make_memory(const struct shape *s)
{
    struct memory *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    bool good = !dnnl.memory_create(&m->scratch[SIDES], scratch_of(s->pd), engine, DNNL_MEMORY_ALLOCATE);
    for (int i = 0; good && i < SIDES; i++) {
        good = !dnnl.memory_create(&m->given[i], LAYOUT(s->mine[i]), engine, DNNL_MEMORY_NONE);
        m->used[i] = m->given[i];
        if (!good || !s->reorder[i])
            continue;
        m->used[i] = NULL;
        good = !dnnl.memory_create(&m->used[i], layout_of(s, i), engine, DNNL_MEMORY_ALLOCATE) &&
               !dnnl.memory_create(&m->scratch[i], scratch_of(s->reorder_pd[i]), engine, DNNL_MEMORY_ALLOCATE);
    }
    if (good)
        return m;
    drop_memory(m);
    return NULL;
}

#include "host/mudnn/onednn_calls.h"
