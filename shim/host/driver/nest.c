/* Grids that kernels launch, after CUDA's rules of dynamic parallelism: a grid is complete when its blocks, all that
 * they have launched and then its tail launches, one after the other, are. Nobody but the host's launch waits for that
 * on a thread: each piece counts what of it is open, and the last to end completes its parent. Pieces that can begin
 * are run by server threads, and by the launch's own once its blocks have ended; the deepest first, so that what waits
 * to begin stays few. */
#include "host/driver/nest.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_RUNNERS = 128, /* threads of one family */
    PIECE = 512,        /* bytes of memory for arguments; longer ones have an allocation of their own */
    SLAB = 64 << 10
};
enum { STREAM_TAIL = 3, STREAM_FORGET = 4 }; /* below: the default stream of the block, by one of its names */

/* ---- kernels by their keys ------------------------------------------------------------------- */

static pthread_mutex_t books = PTHREAD_MUTEX_INITIALIZER;
static struct known {
    struct known *next;
    uint64_t key;
    MUcontext ctx;
    MUfunction f;
} * known[64];
static _Atomic(const struct t1_nest_shim *) shim;

extern __attribute__((visibility("default"))) t1_nest_kernel cumu_host_nest_kernel;
extern __attribute__((visibility("default"))) t1_nest_meet cumu_host_nest_meet;

static struct known **bucket(uint64_t key) { return &known[(key >> 4 ^ key >> 10) % (sizeof known / sizeof *known)]; }

int cumu_host_nest_kernel(uint64_t key, MUfunction f)
{
    if (!host_function_live(f))
        return MUSA_ERROR_INVALID_HANDLE;
    struct known *k = malloc(sizeof *k), **at = bucket(key);
    if (!k)
        return MUSA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&books);
    *k = (struct known){*at, key, f->module->ctx, f}; /* one that was named before is behind it */
    *at = k;
    pthread_mutex_unlock(&books);
    return MUSA_SUCCESS;
}

void cumu_host_nest_meet(const struct t1_nest_shim *s) { shim = s; }

const struct t1_nest_shim *nest_shim(void) { return shim; }

MUfunction nest_kernel(MUcontext ctx, uint64_t key)
{
    pthread_mutex_lock(&books);
    struct known *k = *bucket(key);
    while (k && (k->key != key || k->ctx != ctx))
        k = k->next;
    MUfunction f = k ? k->f : NULL;
    pthread_mutex_unlock(&books);
    return f;
}

void nest_forget(MUfunction f)
{
    if (!f->info.launches && !shim)
        return;
    pthread_mutex_lock(&books);
    for (size_t b = 0; b < sizeof known / sizeof *known; b++)
        for (struct known **at = &known[b], *k; (k = *at);)
            if (k->f == f) {
                *at = k->next;
                free(k);
            } else {
                at = &k->next;
            }
    pthread_mutex_unlock(&books);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Memory of the device, as kernels write arguments to it, with a pointer in front of it for the list of slabs. */
void *nest_params(struct nest_family *f, size_t size)
{
    struct host_device *d = f->ctx->device;
    if (size > PIECE)
        return host_mem_alloc(d, size, 512);
    if (!f->piece) {
        char *slab = host_mem_alloc(d, SLAB, 512);
        if (!slab)
            return NULL;
        memcpy(slab, &f->slab, sizeof f->slab); /* the first piece is the list's */
        f->slab = slab;
        for (size_t at = PIECE; at < SLAB; at += PIECE) {
            memcpy(slab + at, &f->piece, sizeof f->piece);
            f->piece = slab + at;
        }
    }
    void *p = f->piece;
    memcpy(&f->piece, p, sizeof f->piece);
    return p;
}

static void free_params(struct nest_family *f, void *p, size_t size)
{
    if (!p)
        return;
    if (size > PIECE) {
        host_mem_free(f->ctx->device, p);
        return;
    }
    memcpy(p, &f->piece, sizeof f->piece);
    f->piece = p;
}

static void free_slabs(struct nest_family *f)
{
    for (void *slab = f->slab, *next; slab; slab = next) {
        memcpy(&next, slab, sizeof next);
        host_mem_free(f->ctx->device, slab);
    }
}

void nest_unmark(struct nest_mark *m)
{
    if (m && !--m->refs)
        free(m);
}

struct nest *nest_new(struct nest *parent, enum nest_kind kind, uint64_t block)
{
    struct nest *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->family = parent->family;
    n->parent = parent;
    n->kind = kind;
    n->block = block;
    n->depth = parent->depth + 1;
    n->prepared_end = &n->prepared;
    n->tail_end = &n->tail;
    return n;
}

void nest_drop(struct nest *n)
{
    for (struct nest *p = n->prepared, *next; p; p = next) {
        next = p->next;
        nest_drop(p);
    }
    for (struct nest_queue *q = n->queues, *next; q; q = next) {
        next = q->next;
        free(q);
    }
    for (struct nest_event *e = n->events, *next; e; e = next) {
        next = e->next;
        nest_unmark(e->mark);
        free(e);
    }
    for (struct nest_status *s = n->status, *next; s; s = next) {
        next = s->next;
        free(s);
    }
    for (struct nest_block *b = n->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    nest_unmark(n->mark);
    free_params(n->family, n->params, n->params_size);
    free(n);
}

/* ---- what can begin -------------------------------------------------------------------------- */

static void run_ready(struct nest_family *f);

struct runner {
    struct host_task task; /* first */
    struct nest_family *family;
};

static void serve(struct host_task *t)
{
    struct nest_family *f = ((struct runner *)(void *)t)->family;
    free(t);
    pthread_mutex_lock(&f->lock);
    run_ready(f);
    f->runners--;
    pthread_cond_broadcast(&f->changed);
    pthread_mutex_unlock(&f->lock);
}

/* One more thread, if there are fewer than CPUs that do not wait for others. Without memory the launch's own thread
 * does the work. */
static void call_runner(struct nest_family *f)
{
    const unsigned threads = (unsigned)host_config()->threads + f->stuck;
    if (f->runners >= MOST_RUNNERS || f->runners >= threads)
        return;
    struct runner *r = malloc(sizeof *r);
    if (!r)
        return;
    *r = (struct runner){{.run = serve}, f};
    f->runners++;
    host_task_post(&r->task);
}

static void push_ready(struct nest *n)
{
    struct nest_family *f = n->family;
    const unsigned level = n->depth < NEST_LEVELS ? n->depth : NEST_LEVELS - 1;
    n->next_ready = NULL;
    *f->ready_end[level] = n;
    f->ready_end[level] = &n->next_ready;
    f->nready++;
    pthread_cond_broadcast(&f->changed);
    call_runner(f);
}

static struct nest *pop_ready(struct nest_family *f)
{
    for (unsigned level = NEST_LEVELS; f->nready && level--;) {
        struct nest *n = f->ready[level];
        if (!n)
            continue;
        f->ready[level] = n->next_ready;
        if (!f->ready[level])
            f->ready_end[level] = &f->ready[level];
        f->nready--;
        return n;
    }
    return NULL;
}

/* ---- what has ended -------------------------------------------------------------------------- */

static struct nest_block *block_of(struct nest *p, uint64_t number, bool make)
{
    struct nest_block **at = &p->blocks, *b;
    while ((b = *at) && b->number != number)
        at = &b->next;
    if (b) /* to the front: who launches once does so again */
        *at = b->next;
    else if (make && (b = calloc(1, sizeof *b)))
        b->number = number;
    if (b) {
        b->next = p->blocks;
        p->blocks = b;
    }
    return b;
}

/* Something that the block has issued has ended. */
static void leave_block(struct nest *p, uint64_t number)
{
    struct nest_block *b = block_of(p, number, false); /* in front now */
    if (b && !--b->live) {
        p->blocks = b->next;
        free(b);
    }
}

/* The head of the queue has ended. */
static void advance(struct nest *p, struct nest_queue *q)
{
    q->head = q->head->next;
    if (q->head) {
        push_ready(q->head);
        return;
    }
    q->last = NULL;
    if (!q->destroyed)
        return;
    struct nest_queue **at = &p->queues;
    while (*at != q)
        at = &(*at)->next;
    *at = q->next;
    free(q);
}

/* The last tail launch of n, of which nothing else is open, stands for n from now on, so that grids that go on by
 * launching themselves behind themselves need no memory for those that have been. */
static void take_place(struct nest *n, struct nest *t)
{
    t->parent = n->parent;
    t->block = n->block;
    t->depth = n->depth;
    t->queue = n->queue;
    t->next = n->next;
    if (n->queue) {
        n->queue->head = t;
        if (n->queue->last == n)
            n->queue->last = t;
    }
}

/* Less by one of what is open of n: the end of n, of its parent, and so on. */
static void close_one(struct nest *n)
{
    struct nest_family *f = n->family;
    while (!--n->open) {
        struct nest *t = n->tail, *parent = n->parent;
        if (t) {
            n->tail = t->next;
            if (n->tail) {
                n->open = 1;
            } else {
                take_place(n, t);
                nest_drop(n);
            }
            push_ready(t);
            return;
        }
        if (!parent) {
            f->done = true;
            nest_drop(n);
            break;
        }
        struct nest_queue *queue = n->queue;
        uint64_t block = n->block;
        if (queue)
            advance(parent, queue);
        leave_block(parent, block);
        nest_drop(n);
        n = parent;
    }
    pthread_cond_broadcast(&f->changed);
}

/* ---- running --------------------------------------------------------------------------------- */

static void fail(struct nest_family *f, MUresult r)
{
    if (!r || f->failed)
        return;
    f->result = r;
    f->failed = true; /* all grids of the family give up where they wait, and none begins */
}

static MUresult run_grid(struct nest *n)
{
    const struct nest_family *f = n->family;
    const struct t1_nest_shim *s = shim;
    struct t0_grid g = host_grid_of(&n->launch, f->ctx, n->params);
    g.nest = n;
    g.ended = &f->failed;
    if (s)
        s->begin(n->key, f->ctx, n->launch.grid, n->launch.block);
    const uint64_t start = host_now();
    MUresult r = host_grid_perform(n->f, f->ctx, &g, f->origin);
    if (s)
        s->end(n->key, f->ctx, n->launch.grid, n->launch.block, n->launch.shared, start, host_now());
    return r;
}

static void run_region(const struct nest *n)
{
    const struct nest_region *r = &n->region;
    for (size_t z = 0; z < r->depth; z++)
        for (size_t y = 0; y < r->height; y++) {
            char *to = r->to + z * r->to_slice + y * r->to_pitch;
            if (n->kind == NEST_SET)
                memset(to, r->value, r->width);
            else
                memmove(to, r->from + z * r->from_slice + y * r->from_pitch, r->width);
        }
}

static MUresult perform(struct nest *n)
{
    if (n->kind == NEST_GRID)
        return run_grid(n);
    run_region(n);
    return MUSA_SUCCESS;
}

/* Lock held on entry and exit, not while a grid runs. */
static void run_piece(struct nest *n)
{
    struct nest_family *f = n->family;
    if (!n->begun) {
        n->begun = true;
        f->pending--;
        pthread_cond_broadcast(&f->changed);
    }
    n->open = 1;
    if (n->kind == NEST_WAIT && !n->mark->reached) {
        n->next_ready = n->mark->waiting;
        n->mark->waiting = n;
        return;
    }
    if (n->kind == NEST_RECORD) {
        n->mark->reached = true;
        for (struct nest *w = n->mark->waiting, *next; w; w = next) {
            next = w->next_ready;
            push_ready(w);
        }
        n->mark->waiting = NULL;
    } else if (n->kind != NEST_WAIT && !f->failed) {
        f->running++;
        pthread_mutex_unlock(&f->lock);
        MUresult r = perform(n);
        pthread_mutex_lock(&f->lock);
        f->running--;
        fail(f, r);
        pthread_cond_broadcast(&f->changed);
    }
    close_one(n);
}

static void run_ready(struct nest_family *f)
{
    for (struct nest *n; (n = pop_ready(f));)
        run_piece(n);
}

/* ---- waiting in a call ----------------------------------------------------------------------- */

static bool has_room(struct nest *p, uint64_t unused)
{
    (void)unused;
    return p->family->pending < p->family->ctx->limit[MU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT];
}

static bool block_is_done(struct nest *p, uint64_t number)
{
    const struct nest_block *b = block_of(p, number, false);
    return !b || !b->live;
}

/* A thread of p waits until it is so, as long as some other piece gets on, or has a thread to begin on. */
static bool wait_until(struct nest *p, bool (*is_so)(struct nest *p, uint64_t block), uint64_t block)
{
    struct nest_family *f = p->family;
    bool so = is_so(p, block);
    if (so)
        return true;
    f->stuck++;
    f->held += !p->stuck++;
    pthread_cond_broadcast(&f->changed);
    while (!(so = is_so(p, block)) && !f->failed &&
           ((f->nready && f->runners < MOST_RUNNERS) || f->running > f->held)) {
        if (f->nready)
            call_runner(f);
        pthread_cond_wait(&f->changed, &f->lock);
    }
    f->stuck--;
    f->held -= !--p->stuck;
    return so;
}

bool nest_room(struct nest *parent) { return wait_until(parent, has_room, 0); }

int nest_wait(struct nest *parent, uint64_t block)
{
    return wait_until(parent, block_is_done, block) ? NEST_OK : NEST_SYNC_DEPTH;
}

/* ---- launches -------------------------------------------------------------------------------- */

bool nest_stream(struct nest *parent, uint64_t block, uint64_t value, struct nest_queue **queue, bool *tail)
{
    *queue = NULL;
    *tail = value == STREAM_TAIL;
    if (value == STREAM_TAIL || value == STREAM_FORGET)
        return true;
    if (value < STREAM_TAIL) {
        struct nest_block *b = block_of(parent, block, true);
        *queue = b ? &b->stream : NULL;
        return b != NULL;
    }
    struct nest_queue *q = parent->queues;
    while (q && (q != (struct nest_queue *)(uintptr_t)value || q->destroyed))
        q = q->next;
    *queue = q;
    return q != NULL;
}

int nest_issue(struct nest *n, struct nest_queue *queue, bool tail)
{
    struct nest *p = n->parent;
    struct nest_block *b = tail ? NULL : block_of(p, n->block, true);
    if (!tail && !b)
        return NEST_NO_MEMORY;
    n->next = NULL;
    n->queue = queue;
    p->family->pending++;
    if (tail) {
        *p->tail_end = n;
        p->tail_end = &n->next;
        return NEST_OK;
    }
    b->live++;
    p->open++;
    if (queue && queue->last) {
        queue->last->next = n;
        queue->last = n;
        return NEST_OK;
    }
    if (queue)
        queue->head = queue->last = n;
    push_ready(n);
    return NEST_OK;
}

/* Runs the host's launch and then, on this thread too, what is ready, until all has ended. */
MUresult nest_run(MUfunction f, MUcontext ctx, struct t0_grid *g, const struct host_frames *origin)
{
    struct nest_family *all = calloc(1, sizeof *all);
    struct nest *root = all ? calloc(1, sizeof *root) : NULL;
    if (!root) {
        free(all);
        return MUSA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->changed, NULL);
    all->ctx = ctx;
    all->origin = origin;
    all->graph = graph_env_current();
    all->running = 1;
    for (unsigned k = 0; k < NEST_LEVELS; k++)
        all->ready_end[k] = &all->ready[k];
    *root = (struct nest){.family = all, .kind = NEST_GRID, .f = f, .begun = true, .open = 1};
    root->prepared_end = &root->prepared;
    root->tail_end = &root->tail;
    g->nest = root;
    g->ended = &all->failed;
    MUresult r = host_grid_perform(f, ctx, g, origin);
    pthread_mutex_lock(&all->lock);
    all->running--;
    fail(all, r);
    close_one(root);
    while (!all->done || all->runners) {
        run_ready(all);
        if (!all->done || all->runners)
            pthread_cond_wait(&all->changed, &all->lock);
    }
    r = all->result;
    pthread_mutex_unlock(&all->lock);
    free_slabs(all);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->lock);
    free(all);
    return r;
}
