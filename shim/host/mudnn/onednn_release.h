/* Convolutions, batch normalisations and products of floats by one release of oneDNN, which whoever includes this
 * names: DNNL_VERSION_MAJOR with the release's declarations, and OF_RELEASE(name) for what is made. The library is
 * opened at run time, with its names to itself: a program may have another release of it. The layouts that it
 * likes best are made of the program's by its reorders. What is made for a shape, primitives and memory of those
 * layouts, is kept for the next call of the same shape. */
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
    F(batch_normalization_backward_primitive_desc_create)
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
static dnnl_primitive_attr_t own_scratchpad; /* a primitive runs in several threads, each with memory of its own */
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
    found = all && !dnnl.engine_create(&engine, dnnl_cpu, 0) && !dnnl.primitive_attr_create(&own_scratchpad) &&
            !dnnl.primitive_attr_set_scratchpad_mode(own_scratchpad, dnnl_scratchpad_mode_user);
}

bool OF_RELEASE(dnn_has_onednn)(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find);
    return found;
}

/* ---- what a shape needs ------------------------------------------------------------------------ */

/* Of a normalisation W are the features' numbers, and Y is X's. */
enum { X, W, Y, SIDES };
enum { NORM_TRAINING = DNN_BACKWARD_FILTER + 1, NORM_INFERENCE, NORM_BACKWARD };
/* The shapes of a call, compared byte by byte. */
struct key {
    int way, narrow, spatial, n[SIDES];
    float epsilon;
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

static const int results[] = {Y, X, W}; /* of each way of a convolution */
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
    const dnnl_data_type_t type = k->narrow ? dnnl_bf16 : dnnl_f32;
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
    if (!(k->way < NORM_TRAINING ? describe(s) : describe_norm(s)) || (k->narrow && is_plain_loop(s->pd)) ||
        dnnl.primitive_create(&s->primitive, s->pd))
        goto none;
    s->bytes = dnnl.memory_desc_get_size(scratch_of(s->pd));
    for (int i = 0; k->way < NORM_TRAINING && i < SIDES; i++) {
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

/* ---- what is kept ------------------------------------------------------------------------------ */

/* The shapes that were used last, the very last first; of those that are not in use, the first to go is the last. At
 * a process's end they stay: oneDNN may be gone before. */
enum { SHAPES = 128 };
static const size_t most_bytes = (size_t)512 << 20;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct shape *shapes;

static void unlink_shape(struct shape *s)
{
    struct shape **at = &shapes;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
}
/* Of shapes beyond the limits and without users, the last; NULL: none. Under the lock. */
static struct shape *take_surplus(void)
{
    struct shape *last = NULL;
    size_t bytes = 0;
    int count = 0;
    for (struct shape *s = shapes; s; s = s->next) {
        for (struct memory *m = s->idle; m; m = m->next)
            bytes += s->bytes;
        count++;
        if (!s->users)
            last = s;
    }
    if (!last || (count <= SHAPES && bytes <= most_bytes))
        return NULL;
    unlink_shape(last);
    return last;
}

static struct shape *find_shape(const struct key *k, struct memory **idle)
{
    struct shape *s = shapes;
    while (s && memcmp(&s->key, k, sizeof *k) != 0)
        s = s->next;
    if (!s)
        return NULL;
    unlink_shape(s);
    s->next = shapes;
    shapes = s;
    s->users++;
    *idle = s->idle;
    if (s->idle)
        s->idle = s->idle->next;
    return s;
}
/* The shape of a call and memory for it; NULL: oneDNN has none, or there is no memory. */
static struct shape *borrow(const struct key *k, struct memory **m)
{
    *m = NULL;
    pthread_mutex_lock(&lock);
    struct shape *s = find_shape(k, m);
    pthread_mutex_unlock(&lock);
    if (!s) {
        s = make_shape(k);
        if (!s)
            return NULL;
        s->users = 1;
        pthread_mutex_lock(&lock); /* another thread may have made the same: both serve, one goes in time */
        s->next = shapes;
        shapes = s;
        pthread_mutex_unlock(&lock);
    }
    if (!*m)
        *m = make_memory(s);
    return s;
}
static void give_back(struct shape *s, struct memory *m)
{
    struct shape *surplus;
    pthread_mutex_lock(&lock);
    s->users--;
    if (m) {
        m->next = s->idle;
        s->idle = m;
    }
    while ((surplus = take_surplus())) {
        pthread_mutex_unlock(&lock);
        drop_shape(surplus);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- calls ------------------------------------------------------------------------------------- */

static void write_key(struct key *k, const struct dnn_floats *f)
{
    const struct mudnn_convolution *c = f->c;
    const struct mudnn_tensor *const tensor[] = {&c->x, &c->w, &c->y};
    memset(k, 0, sizeof *k);
    k->way = (int)f->way, k->narrow = f->narrow, k->spatial = c->spatial, k->groups = c->groups;
    for (int i = 0; i < c->spatial; i++)
        k->pad[i] = c->pad[i], k->stride[i] = c->stride[i], k->dilation[i] = c->dilation[i];
    for (int side = 0; side < SIDES; side++) {
        k->n[side] = c->x.n;
        for (int i = 0; i < c->x.n; i++)
            k->dim[side][i] = tensor[side]->dim[i], k->step[side][i] = tensor[side]->stride[i];
    }
}

static bool reorder(const struct shape *s, const struct memory *m, int side, dnnl_stream_t stream)
{
    bool result = side == results[s->key.way];
    dnnl_memory_t from = result ? m->used[side] : m->given[side], to = result ? m->given[side] : m->used[side];
    return !s->reorder[side] ||
           !dnnl.primitive_execute(s->reorder[side], stream, 3,
                                   (const dnnl_exec_arg_t[]){{DNNL_ARG_FROM, from},
                                                             {DNNL_ARG_TO, to},
                                                             {DNNL_ARG_SCRATCHPAD, m->scratch[side]}});
}

/* The operands into the layouts computed in, the convolution, and the result into the program's layout. */
static bool execute(const struct shape *s, const struct memory *m, void *const at[SIDES], dnnl_stream_t stream)
{
    static const int arguments[][SIDES] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                           {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                           {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
    const int result = results[s->key.way];
    dnnl_exec_arg_t exec[SIDES + 1] = {{0}};
    bool good = true;
    for (int i = 0; i < SIDES; i++) {
        good = good && !dnnl.memory_set_data_handle(m->given[i], at[i]);
        exec[i] = (dnnl_exec_arg_t){arguments[s->key.way][i], m->used[i]};
    }
    exec[SIDES] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, m->scratch[SIDES]};
    for (int i = 0; i < SIDES; i++)
        good = good && (i == result || reorder(s, m, i, stream));
    good = good && !dnnl.primitive_execute(s->primitive, stream, SIDES + 1, exec) && reorder(s, m, result, stream);
    return !dnnl.stream_wait(stream) && good;
}

/* A thread keeps its stream: it costs more than a small convolution. NULL: there is none. */
static dnnl_stream_t own_stream(void)
{
    static _Thread_local dnnl_stream_t stream;
    if (!OF_RELEASE(dnn_has_onednn)() || (!stream && dnnl.stream_create(&stream, engine, dnnl_stream_default_flags)))
        return NULL;
    return stream;
}

bool OF_RELEASE(dnn_product_by_onednn)(const struct dnn_product *p)
{
    return OF_RELEASE(dnn_has_onednn)() &&
           !dnnl.sgemm(p->a_turned ? 'T' : 'N', p->b_turned ? 'T' : 'N', p->rows, p->columns, p->inner, p->scale, p->a,
                       p->a_lead, p->b, p->b_lead, 0, p->c, p->c_lead);
}

bool OF_RELEASE(dnn_by_onednn)(const struct dnn_floats *f)
{
    struct key key;
    struct memory *m;
    dnnl_stream_t stream = own_stream();
    if (!stream || f->c->spatial > 3)
        return false;
    write_key(&key, f);
    struct shape *s = borrow(&key, &m);
    if (!s)
        return false;
    bool good = m && execute(s, m, (void *const[]){f->x, f->w, f->y}, stream);
    give_back(s, m);
    return good;
}

/* The tensors and numbers of the features that a way takes; those that it lacks are NULL. */
bool OF_RELEASE(dnn_norm_by_onednn)(const struct dnn_norm_floats *f)
{
    enum { MOST = 10 };
    struct key key;
    struct memory *m;
    dnnl_stream_t stream = own_stream();
    if (!stream || f->x->n > 5)
        return false;
    memset(&key, 0, sizeof key);
    key.way = f->backward ? NORM_BACKWARD : f->training ? NORM_TRAINING : NORM_INFERENCE;
    key.epsilon = f->epsilon;
    key.n[X] = key.n[Y] = f->x->n, key.n[W] = 1;
    key.dim[W][0] = f->x->dim[1], key.step[W][0] = 1;
    for (int i = 0; i < f->x->n; i++)
        key.dim[X][i] = key.dim[Y][i] = f->x->dim[i], key.step[X][i] = key.step[Y][i] = f->x->stride[i];
    const struct {
        int argument, side;
        float *at;
    } all[] = {{DNNL_ARG_SRC, X, f->x_at},         {DNNL_ARG_DST, X, f->y_at},    {DNNL_ARG_DIFF_DST, X, f->dy_at},
               {DNNL_ARG_DIFF_SRC, X, f->dx_at},   {DNNL_ARG_MEAN, W, f->mean},   {DNNL_ARG_VARIANCE, W, f->variance},
               {DNNL_ARG_SCALE, W, f->scale},      {DNNL_ARG_SHIFT, W, f->shift}, {DNNL_ARG_DIFF_SCALE, W, f->dscale},
               {DNNL_ARG_DIFF_SHIFT, W, f->dshift}};
    struct shape *s = borrow(&key, &m);
    if (!s)
        return false;
    dnnl_exec_arg_t exec[MOST + 1] = {{0}};
    int n = 0;
    bool good = m != NULL;
    for (int i = 0; good && i < MOST; i++) {
        if (!all[i].at)
            continue;
        exec[n].arg = all[i].argument;
        good = !dnnl.memory_create(&exec[n].memory, LAYOUT(s->mine[all[i].side]), engine, all[i].at);
        n += good;
    }
    if (good) {
        exec[n] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, m->scratch[SIDES]};
        good = !dnnl.primitive_execute(s->primitive, stream, n + 1, exec);
        good = !dnnl.stream_wait(stream) && good;
    }
    while (n-- > 0)
        dnnl.memory_destroy(exec[n].memory);
    give_back(s, m);
    return good;
}
