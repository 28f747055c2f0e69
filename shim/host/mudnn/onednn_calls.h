/* Calls of one release of oneDNN, included by onednn_release.h alone. What is made for a shape is kept for the next
 * call of the same shape. */

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
    k->way = (int)f->way, k->spatial = c->spatial, k->groups = c->groups;
    for (int i = 0; i < c->spatial; i++)
        k->pad[i] = c->pad[i], k->stride[i] = c->stride[i], k->dilation[i] = c->dilation[i];
    for (int side = 0; side < SIDES; side++) {
        k->n[side] = c->x.n, k->narrow[side] = f->narrow;
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

/* The operands into the layouts computed in, what is computed, and the result into the program's layout. */
static bool execute(const struct shape *s, const struct memory *m, void *const at[SIDES], dnnl_stream_t stream)
{
    static const int arguments[][SIDES] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                           {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                           {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
                                           {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST}};
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

/* By what is kept for the key's shape. */
static bool run_kept(const struct key *k, void *const at[SIDES], dnnl_stream_t stream)
{
    struct memory *m;
    struct shape *s = borrow(k, &m);
    if (!s)
        return false;
    const bool good = m && execute(s, m, at, stream);
    give_back(s, m);
    return good;
}

bool OF_RELEASE(dnn_by_onednn)(const struct dnn_floats *f)
{
    struct key key;
    dnnl_stream_t stream = own_stream();
    if (!stream || f->c->spatial > 3)
        return false;
    write_key(&key, f);
    return run_kept(&key, (void *const[]){f->x, f->w, f->y}, stream);
}

bool OF_RELEASE(dnn_product_by_onednn)(const struct dnn_product *p)
{
    const struct {
        int64_t rows, columns, lead;
        bool turned, narrow;
    } side[] = {{p->rows, p->inner, p->a_lead, p->a_turned, p->narrow},
                {p->inner, p->columns, p->b_lead, p->b_turned, p->narrow},
                {p->rows, p->columns, p->c_lead, false, p->c_narrow}};
    struct key key;
    if (!p->narrow)
        return OF_RELEASE(dnn_has_onednn)() &&
               !dnnl.sgemm(p->a_turned ? 'T' : 'N', p->b_turned ? 'T' : 'N', p->rows, p->columns, p->inner, p->scale,
                           p->a, p->a_lead, p->b, p->b_lead, 0, p->c, p->c_lead);
    dnnl_stream_t stream = own_stream();
    if (!stream)
        return false;
    memset(&key, 0, sizeof key);
    key.way = PRODUCT, key.scale = p->scale;
    for (int i = 0; i < SIDES; i++) {
        key.n[i] = 2, key.narrow[i] = side[i].narrow;
        key.dim[i][0] = side[i].rows, key.step[i][0] = side[i].turned ? 1 : side[i].lead;
        key.dim[i][1] = side[i].columns, key.step[i][1] = side[i].turned ? side[i].lead : 1;
    }
    return run_kept(&key, (void *const[]){(void *)(uintptr_t)p->a, (void *)(uintptr_t)p->b, p->c}, stream);
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
