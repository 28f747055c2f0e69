/* Calls of cuDNN with one thing wrong, made of right ones: each argument in turn is nothing, noise, an object of
 * another kind, destroyed or not set, one that does not fit, a mode that is none, a length that cannot be, a space too
 * small, memory that begins at an odd address. What is wrong has an error and writes nothing, nothing is ever written
 * behind the memory that a call was given, and the right call is right again behind all of it. Numbers of the host lie
 * in memory of their size, so that sanitizers see who reads more. */
#ifndef CUMU_TESTS_WRONG_H
#define CUMU_TESTS_WRONG_H

#include "dnn.h"

enum kind {
    HANDLE,
    TENSOR,
    FILTER,
    OTHER,
    ARRAY, /* of descriptors of tensors, on the host */
    DATA,
    RESULT,
    NUMBER,
    MODE,
    INTS, /* on the host */
    WORK,
    SIZE,
    PLAIN
};
enum { ARGS = 32, TENSORS = 10, BLOBS = 24, UNLIKE = 8, GUARD = 64 };
/* A descriptor, or a number, that is right elsewhere. */
struct unlike {
    void *p;
    int at, v; /* of INTS */
    const char *what;
    int (*destroy)(void *);
};
struct arg {
    enum kind kind;
    bool optional; /* NULL means something, or the other shape does */
    void *p;
    int i, n; /* n: of ARRAY and INTS */
    size_t z;
    double d;
    size_t unit; /* of addresses */
    const struct tensor *t;
    unsigned free; /* dimensions, by bits, that need not fit */
    struct unlike unlike[UNLIKE];
    int unlikes;
};
/* Memory of the device that no tensor describes. */
struct blob {
    char *at, *host, *right; /* right: what the right call left there */
    size_t size;
    bool work; /* what is in there is nobody's matter */
};
static struct arg a[ARGS];
static int args;
static struct tensor all[TENSORS];
static int tensors;
static struct blob blobs[BLOBS];
static int blob_count;
static void *others[64];
static int (*destroy_other[64])(void *);
static int other_count;

static inline struct arg *add(enum kind kind)
{
    a[args] = (struct arg){.kind = kind};
    return &a[args++];
}
static bool gaps = true;
static inline struct tensor *tensor(int type, int n, const int *dim, bool filter)
{
    all[tensors] = make(type, n, dim, NCHW, gaps && !filter && upto(2), filter);
    return &all[tensors++];
}
static inline void may_be(unsigned dims) /* of the last descriptor but one argument */ { a[args - 2].free = dims; }
static inline void described(const struct tensor *t)
{
    struct arg *x = add(t->is_filter ? FILTER : TENSOR);
    x->p = t->desc, x->t = t;
}
static inline void memory(const struct tensor *t, bool result)
{
    struct arg *x = add(result ? RESULT : DATA);
    x->p = t->at, x->t = t, x->unit = bytes(t->type);
}
static inline void both(const struct tensor *t, bool result)
{
    described(t);
    memory(t, result);
}
static inline void factor(int type, double v)
{
    const union scalar s = scalar(type, v);
    const size_t size = type == F64 ? sizeof(double) : sizeof(float);
    struct arg *x = add(NUMBER);
    x->p = malloc(size);
    memcpy(x->p, &s, size);
}
static inline void mode(int v) { add(MODE)->i = v; }
static inline void plain(double v) { add(PLAIN)->d = v; }
static inline void *keep_other(void *d, int (*destroy)(void *))
{
    others[other_count] = d;
    destroy_other[other_count++] = destroy;
    return d;
}
static inline void *other(int (*create)(void *), int (*destroy)(void *))
{
    void *d = NULL;
    MUST(create(&d));
    add(OTHER)->p = d;
    return keep_other(d, destroy);
}
/* The last argument may not be this instead. */
static inline void unlike(void *p, const char *what, int (*destroy)(void *))
{
    struct arg *x = &a[args - 1];
    x->unlike[x->unlikes++] = (struct unlike){.p = p, .what = what, .destroy = destroy};
}
static inline void *blob(size_t size, const void *from, bool work)
{
    struct blob *b = &blobs[blob_count++];
    *b = (struct blob){.size = size, .work = work, .host = malloc(size + GUARD), .right = malloc(size + GUARD)};
    memset(b->host, 0x5a, size + GUARD);
    if (from)
        memcpy(b->host, from, size);
    MUST(cudaMalloc((void **)&b->at, size + GUARD));
    OK(cudaMemcpy(b->at, b->host, size + GUARD, 1));
    return b->at;
}
/* `size` bytes of numbers of a type, each the same small one. */
static inline void *numbers_of(int type, size_t size)
{
    char *host = calloc(size + 8, 1);
    for (size_t i = 0; i < size / bytes(type); i++)
        put(host, type, i, 0.25);
    void *at = blob(size, host, false);
    free(host);
    return at;
}
/* Memory as an argument; unit 0: any address will do. */
static inline struct arg *raw(void *at, size_t unit, bool result, bool optional)
{
    struct arg *x = add(result ? RESULT : DATA);
    x->p = at, x->unit = unit, x->optional = optional;
    return x;
}
static inline void size_of_space(size_t size) { add(SIZE)->z = size; }
static inline void space_at(size_t size, size_t unit)
{
    struct arg *w = add(WORK);
    w->p = blob(size, NULL, true);
    w->z = size, w->unit = unit, w->optional = !size;
}
static inline void workspace(size_t size)
{
    space_at(size, 0);
    size_of_space(size);
}
static inline int *ints(int n, const int *v)
{
    struct arg *x = add(INTS);
    x->n = n;
    x->p = malloc((size_t)n * sizeof(int));
    memcpy(x->p, v, (size_t)n * sizeof(int));
    return x->p;
}
static inline void never(int at, int v) /* of the last argument's numbers */
{
    struct arg *x = &a[args - 1];
    x->unlike[x->unlikes++] = (struct unlike){.at = at, .v = v};
}

#define P(n) a[n].p
#define I(n) a[n].i
#define Z(n) a[n].z
#define D(n) a[n].d
struct call {
    const char *name;
    void (*set_up)(int type);
    int (*run)(void);
    bool one_shape; /* of all its tensors: no other can be wrong */
    bool any_type;  /* types may differ */
};
enum { FOUR = 4 }; /* of a batch, at most */
static inline void *give_descriptor(int (*create)(void *))
{
    void *d = NULL;
    MUST(create(&d));
    return d;
}
static inline void keep_memory(void) /* which is restored from now on */
{
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < blob_count; i++)
        OK(cudaMemcpy(blobs[i].host, blobs[i].at, blobs[i].size, 2));
}
static inline int sized(int most) { return 2 + upto(most - 1); }
static int box[4];
static inline const int *draw_box(void)
{
    for (int i = 0; i < 4; i++)
        box[i] = sized(5);
    return box;
}

/* ---- what is wrong ----------------------------------------------------------------------------- */

static inline void tear_down(void)
{
    for (int i = 0; i < args; i++) {
        if (a[i].kind == NUMBER || a[i].kind == INTS || a[i].kind == ARRAY)
            free(a[i].p);
        for (int k = 0; k < a[i].unlikes; k++)
            if (a[i].unlike[k].destroy)
                OK(a[i].unlike[k].destroy(a[i].unlike[k].p));
    }
    for (int i = 0; i < other_count; i++)
        OK(destroy_other[i](others[i]));
    other_count = 0;
    while (tensors)
        drop(&all[--tensors]);
    while (blob_count) {
        struct blob *b = &blobs[--blob_count];
        OK(cudaFree(b->at));
        free(b->host);
        free(b->right);
    }
    args = 0;
}
static inline void restore(void)
{
    for (int i = 0; i < tensors; i++)
        OK(cudaMemcpy(all[i].at, all[i].host, all[i].size * bytes(all[i].type), 1));
    for (int i = 0; i < blob_count; i++)
        OK(cudaMemcpy(blobs[i].at, blobs[i].host, blobs[i].size + GUARD, 1));
}
/* Is it what it was before any call, but for what is nobody's matter? */
static inline void untouched(const char *name)
{
    for (int i = 0; i < tensors; i++) {
        size_t size = all[i].size * bytes(all[i].type);
        char *now = malloc(size + 1);
        OK(cudaMemcpy(now, all[i].at, size, 2));
        EXPECT(!memcmp(now, all[i].host, size), "%s: a call that was refused wrote tensor %d", name, i);
        free(now);
    }
    for (int i = 0; i < blob_count; i++) {
        char *now = malloc(blobs[i].size + GUARD);
        OK(cudaMemcpy(now, blobs[i].at, blobs[i].size + GUARD, 2));
        EXPECT(blobs[i].work || !memcmp(now, blobs[i].host, blobs[i].size),
               "%s: a call that was refused wrote memory %d", name, i);
        free(now);
    }
}
static inline int run(const struct call *c)
{
    char now[GUARD];
    int r = c->run();
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < blob_count; i++) {
        OK(cudaMemcpy(now, blobs[i].at + blobs[i].size, GUARD, 2));
        EXPECT(!memcmp(now, blobs[i].host + blobs[i].size, GUARD), "%s: written behind memory %d", c->name, i);
    }
    return r;
}
static inline bool is_refusal(int r)
{
    return VERSION == 9 ? r / 1000 == BAD / 1000 || r / 1000 == UNSUPPORTED / 1000 || r == NOT_INITIALIZED
                        : r == BAD || r == UNSUPPORTED || r == NOT_INITIALIZED || r == 7 /* INVALID_VALUE */;
}
static inline void refused(const struct call *c, int i, const char *what)
{
    int r = run(c);
    EXPECT(is_refusal(r), "%s: argument %d: %s: %d", c->name, i, what, r);
}

/* Another description of the tensor: a dimension shorter, or a narrower type, so that nothing is read beyond it. */
static inline void *described_anew(const struct tensor *t, int which)
{
    static const int narrower[] = {[F32] = F16, [F64] = F32, [F16] = I8, [I32] = F16};
    struct tensor o = *t;
    void *d;
    if (which == t->n)
        o.type = narrower[t->type];
    else
        o.dim[which]--;
    if (t->is_filter) {
        OK(cudnnCreateFilterDescriptor(&d));
        OK(cudnnSetFilterNdDescriptor(d, o.type, NCHW, o.n, o.dim));
    } else {
        OK(cudnnCreateTensorDescriptor(&d));
        OK(cudnnSetTensorNdDescriptor(d, o.type, o.n, o.dim, o.stride));
    }
    return d;
}

/* The same for what is at `x`: an argument, or an element of an array; `t`: what it should describe, or NULL. */
static inline void objects_at(const struct call *c, int i, void **x, const struct tensor *t)
{
    static long long noise[64] = {0x1234567812345678, -1, 77};
    void *const right = *x;
    void *gone = NULL, *unset = NULL, *unlike_all = NULL;
    const bool filter = a[i].kind == FILTER;
    if (!a[i].optional) {
        *x = NULL;
        refused(c, i, "NULL");
    }
    *x = noise;
    refused(c, i, "noise");
    *x = a[i].kind == HANDLE ? tensors ? all[0].desc : others[0] : handle;
    refused(c, i, "another kind");
    OK(filter ? cudnnCreateFilterDescriptor(&gone) : cudnnCreateTensorDescriptor(&gone));
    OK(filter ? cudnnDestroyFilterDescriptor(gone) : cudnnDestroyTensorDescriptor(gone));
    *x = gone;
    refused(c, i, "destroyed");
    OK(filter ? cudnnCreateTensorDescriptor(&unlike_all) : cudnnCreateActivationDescriptor(&unlike_all));
    if (a[i].kind != OTHER) {
        *x = unlike_all;
        refused(c, i, "a descriptor of another kind");
    }
    OK(filter ? cudnnDestroyTensorDescriptor(unlike_all) : cudnnDestroyActivationDescriptor(unlike_all));
    if (t) {
        OK(filter ? cudnnCreateFilterDescriptor(&unset) : cudnnCreateTensorDescriptor(&unset));
        *x = unset;
        refused(c, i, "not set");
        OK(filter ? cudnnDestroyFilterDescriptor(unset) : cudnnDestroyTensorDescriptor(unset));
    }
    for (int k = 0; t && !c->one_shape && k <= t->n; k++) {
        if (k < t->n ? t->dim[k] < 3 || a[i].free >> k & 1 : c->any_type)
            continue; /* a dimension of 1 may serve all */
        *x = described_anew(t, k);
        refused(c, i, k < t->n ? "another shape" : "another type");
        OK(filter ? cudnnDestroyFilterDescriptor(*x) : cudnnDestroyTensorDescriptor(*x));
    }
    for (int k = 0; k < a[i].unlikes; k++) {
        *x = a[i].unlike[k].p;
        refused(c, i, a[i].unlike[k].what);
    }
    *x = right;
}
static inline void objects(const struct call *c, int i) { objects_at(c, i, &a[i].p, a[i].t); }
static inline void array(const struct call *c, int i)
{
    void **const right = a[i].p;
    a[i].p = NULL;
    refused(c, i, "NULL");
    a[i].p = right;
    for (int k = 0; k < a[i].n; k++)
        objects_at(c, i, &right[k], NULL);
}

/* From an address on that is odd, or half of what numbers lie at. */
static inline void odd_address(const struct call *c, int i)
{
    struct arg *const x = &a[i];
    void *const right = x->p;
    if (x->unit < 2 || !right)
        return;
    x->p = (char *)right + (upto(2) ? 1 : x->unit / 2);
    int r = run(c);
    EXPECT(r == (VERSION == 9 ? 2003 : BAD), "%s: argument %d: an odd address: %d", c->name, i, r);
    x->p = right;
}
static inline void numbers_of_host(const struct call *c, int i)
{
    struct arg *const x = &a[i];
    int *const right = x->p;
    char what[64];
    x->p = NULL;
    if (!x->optional)
        refused(c, i, "NULL");
    x->p = right;
    for (int k = 0; k < x->unlikes; k++) {
        int *v = &right[x->unlike[k].at], old = *v;
        *v = x->unlike[k].v;
        snprintf(what, sizeof what, "%d in place %d", *v, x->unlike[k].at);
        refused(c, i, what);
        *v = old;
    }
}

static inline void wrong_in(const struct call *c, int i)
{
    static const int modes[] = {-1, 99, 1 << 30};
    struct arg *const x = &a[i];
    const struct arg right = *x;
    switch (x->kind) {
    case HANDLE:
    case TENSOR:
    case FILTER:
    case OTHER: objects(c, i); break;
    case ARRAY: array(c, i); break;
    case INTS: numbers_of_host(c, i); break;
    case DATA:
    case RESULT:
    case NUMBER:
        x->p = NULL;
        if (!x->optional)
            refused(c, i, "NULL");
        *x = right;
        if (x->kind != NUMBER)
            odd_address(c, i);
        break;
    case MODE:
        for (int k = 0; k < 3; k++) {
            x->i = modes[k];
            refused(c, i, "a mode that is none");
        }
        break;
    case WORK:
        x->p = NULL;
        if (!x->optional)
            refused(c, i, "no workspace");
        x->p = (char *)right.p + 1;
        if (x->unit > 1 && !x->optional)
            refused(c, i, "a workspace at an odd address");
        break;
    case SIZE:
        x->z = right.z - 1;
        if (right.z)
            refused(c, i, "a workspace too small");
        break;
    case PLAIN: break;
    }
    *x = right;
}

static inline void one(const struct call *c, int type)
{
    double *want[TENSORS];
    c->set_up(type);
    int r = run(c);
    EXPECT(!r, "%s: %d", c->name, r);
    for (int k = 0; k < tensors; k++) {
        struct tensor t = all[k];
        t.v = want[k] = calloc((size_t)count(&t), sizeof(double));
        download(&t);
    }
    for (int k = 0; k < blob_count; k++)
        OK(cudaMemcpy(blobs[k].right, blobs[k].at, blobs[k].size, 2));
    restore();
    for (int i = 0; i < args; i++)
        wrong_in(c, i);
    untouched(c->name);
    restore();
    r = run(c);
    EXPECT(!r, "%s: %d at the end", c->name, r);
    for (int k = 0; k < tensors; k++) {
        same(&all[k], want[k], 1e-3, c->name);
        free(want[k]);
    }
    for (int k = 0; k < blob_count; k++) {
        char *now = malloc(blobs[k].size + 1);
        OK(cudaMemcpy(now, blobs[k].at, blobs[k].size, 2));
        EXPECT(blobs[k].work || !memcmp(now, blobs[k].right, blobs[k].size), "%s: memory %d is another at the end",
               c->name, k);
        free(now);
    }
    tear_down();
}
static inline void all_of(const struct call *calls, size_t n, int rounds)
{
    static const int types[] = {F32, F64, F16};
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < n; i++)
            one(&calls[i], types[round % 3]);
}

#endif
