/* Descriptors of cuDNN's graph interface in drawn states: attributes set in any order, again, wrongly and too late;
 * finalised too early and once more; read back; parts shared by several operations and graphs, destroyed before or
 * after what is made of them, by one thread and by several. A model says what each call answers and each graph
 * computes. */
#include <pthread.h>

#include "graph.h"

enum { OPS = 6, TENSORS = OPS, RANK = 3, MOST = 64, THREADS = 4, TURNS = 3000 };

/* ---- tensors ----------------------------------------------------------------------------------- */

/* By attribute, whether it was set. */
enum { HAS_TYPE = 1, HAS_DIMS = 2, HAS_STRIDES = 4, HAS_UID = 8, HAS_ALIGNMENT = 16, ALL = 31 };
struct part {
    desc d;
    bool ready, hidden; /* hidden: virtual */
    unsigned has;
    int64_t dims[RANK], strides[RANK], uid, alignment;
    int n, steps; /* of dims and of strides */
};
static int64_t next_uid = 1;
static float *memory[4096]; /* by number */

static void begin_part(struct part *t)
{
    *t = (struct part){.alignment = 1};
    OK(cudnnBackendCreateDescriptor(KIND(TENSOR), &t->d));
}

/* A right value, which counts only before it is finalised. */
static void set_part(struct part *t, int which)
{
    const int type = F32, want = t->ready ? NOT_INITIALIZED : 0;
    int64_t v[RANK] = {1, 1 + upto(3), 1 + upto(3)}, uid = next_uid, alignment = 1 << upto(5);
    const bool hide = upto(3) == 0;
    switch (which) {
    case 0: IS(cudnnBackendSetAttribute(t->d, A(TENSOR_DATA_TYPE), TYPE(DATA_TYPE), 1, &type), want); break;
    case 1: IS(cudnnBackendSetAttribute(t->d, A(TENSOR_DIMENSIONS), TYPE(INT64), RANK, v), want); break;
    case 2: IS(cudnnBackendSetAttribute(t->d, A(TENSOR_STRIDES), TYPE(INT64), RANK, v), want); break;
    case 3: IS(cudnnBackendSetAttribute(t->d, A(TENSOR_UNIQUE_ID), TYPE(INT64), 1, &uid), want); break;
    case 4: IS(cudnnBackendSetAttribute(t->d, A(TENSOR_BYTE_ALIGNMENT), TYPE(INT64), 1, &alignment), want); break;
    default: IS(cudnnBackendSetAttribute(t->d, A(TENSOR_IS_VIRTUAL), TYPE(BOOLEAN), 1, &hide), want);
    }
    if (t->ready)
        return;
    t->has |= which < 5 ? 1u << which : 0;
    if (which == 1)
        memcpy(t->dims, v, sizeof v), t->n = RANK;
    if (which == 2)
        memcpy(t->strides, v, sizeof v), t->steps = RANK;
    if (which == 3)
        t->uid = uid, next_uid++;
    if (which == 4)
        t->alignment = alignment;
    if (which == 5)
        t->hidden = hide;
}

/* What is refused leaves all as it was; what only finalising can find is put right again. */
static void set_part_wrong(struct part *t)
{
    const int64_t v[RANK] = {5, 5, 5}, odd = 3;
    const int type = 99;
    static const int names[] = {A(TENSOR_DATA_TYPE), A(TENSOR_DIMENSIONS), A(TENSOR_STRIDES), A(TENSOR_UNIQUE_ID)};
    const int name = names[upto(4)], right = name == A(TENSOR_DATA_TYPE) ? TYPE(DATA_TYPE) : TYPE(INT64);
    EXPECT(cudnnBackendSetAttribute(t->d, name, right == TYPE(INT64) ? TYPE(FLOAT) : TYPE(INT64), 1, v), "a type");
    EXPECT(cudnnBackendSetAttribute(t->d, name, right, 0, v), "no number");
    EXPECT(cudnnBackendSetAttribute(t->d, name, right, -1, v), "less than none");
    EXPECT(cudnnBackendSetAttribute(t->d, name, right, 1000, v), "too many");
    EXPECT(cudnnBackendSetAttribute(t->d, name, right, 1, NULL), "nowhere");
    EXPECT(cudnnBackendSetAttribute(t->d, A(POINTWISE_MODE), TYPE(POINTWISE_MODE), 1, &type), "another kind's");
    if (t->ready)
        return;
    OK(cudnnBackendSetAttribute(t->d, A(TENSOR_BYTE_ALIGNMENT), TYPE(INT64), 1, &odd));
    EXPECT(finalize(t->d), "an alignment of 3");
    OK(cudnnBackendSetAttribute(t->d, A(TENSOR_BYTE_ALIGNMENT), TYPE(INT64), 1, &t->alignment));
    t->has |= HAS_ALIGNMENT;
}

static void finalize_part(struct part *t)
{
    const bool good = t->has == ALL;
    int r = finalize(t->d);
    EXPECT(t->ready || !r == good, "finalised with %x: %d", t->has, r);
    t->ready |= good;
}

static void read_part(const struct part *t)
{
    int64_t v[MOST] = {0};
    long long n = -1;
    int type = -1;
    const int want = t->ready ? 0 : NOT_INITIALIZED;
    IS(cudnnBackendGetAttribute(t->d, A(TENSOR_DIMENSIONS), TYPE(INT64), MOST, &n, v), want);
    EXPECT(!t->ready || (n == t->n && !memcmp(v, t->dims, sizeof t->dims)), "dimensions are kept");
    IS(cudnnBackendGetAttribute(t->d, A(TENSOR_STRIDES), TYPE(INT64), 1, &n, v), want);
    EXPECT(!t->ready || (n == t->steps && v[0] == t->strides[0] && v[1] == t->dims[1]), "one stride of all");
    IS(cudnnBackendGetAttribute(t->d, A(TENSOR_UNIQUE_ID), TYPE(INT64), 1, &n, v), want);
    EXPECT(!t->ready || (n == 1 && v[0] == t->uid), "the number is kept");
    IS(cudnnBackendGetAttribute(t->d, A(TENSOR_DATA_TYPE), TYPE(DATA_TYPE), 1, &n, &type), want);
    EXPECT(!t->ready || type == F32, "the type is kept");
}

/* One that any of the pool's shape may be: right in the end, however it came to it. */
static void draw_part(struct part *t, bool hidden)
{
    begin_part(t);
    while (!t->ready) {
        const int what = upto(12);
        if (what < 6)
            set_part(t, what);
        else if (what == 6)
            set_part_wrong(t);
        else if (what == 7)
            read_part(t);
        else if (what == 8 || t->has == ALL) {
            static const int64_t dims[] = {2, 3, 4}, strides[] = {12, 4, 1};
            set(t->d, A(TENSOR_DIMENSIONS), TYPE(INT64), RANK, dims);
            set(t->d, A(TENSOR_STRIDES), TYPE(INT64), RANK, strides);
            set(t->d, A(TENSOR_IS_VIRTUAL), TYPE(BOOLEAN), 1, &hidden);
            memcpy(t->dims, dims, sizeof dims), memcpy(t->strides, strides, sizeof strides);
            t->n = t->steps = RANK, t->hidden = hidden, t->has |= HAS_DIMS | HAS_STRIDES;
            finalize_part(t);
        }
    }
    finalize_part(t); /* once more */
    set_part(t, upto(6));
    set_part_wrong(t);
    read_part(t);
}

/* ---- graphs ------------------------------------------------------------------------------------ */

enum { COUNT = 24 };
struct step {
    desc d;
    int mode, x, b, y;
};

static double apply_mode(int mode, double x, double b)
{
    return mode == CUDNN_POINTWISE_ADD ? x + b : mode == CUDNN_POINTWISE_SUB ? x - b : fmax(x, b);
}

/* Sums, differences and maxima of tensors before them; the operation's parts are destroyed when they like. */
static struct step draw_step(struct part *t, int index)
{
    static const int modes[] = {CUDNN_POINTWISE_ADD, CUDNN_POINTWISE_SUB, CUDNN_POINTWISE_MAX};
    struct step s = {.mode = modes[upto(3)], .x = upto(index + 2), .b = upto(index + 2), .y = index + 2};
    desc pw, raw;
    const int type = F32;
    OK(cudnnBackendCreateDescriptor(KIND(POINTWISE), &pw));
    OK(cudnnBackendCreateDescriptor(KIND(TENSOR), &raw));
    OK(cudnnBackendCreateDescriptor(KIND(OPERATION_POINTWISE), &s.d));
    EXPECT(cudnnBackendSetAttribute(s.d, A(OPERATION_POINTWISE_PW_DESCRIPTOR), TYPE(BACKEND_DESCRIPTOR), 1, &pw),
           "a part that is not finalised");
    EXPECT(finalize(pw), "nothing is set");
    for (int again = upto(3); again >= 0; again--)
        set_enum(pw, A(POINTWISE_MODE), TYPE(POINTWISE_MODE), again ? CUDNN_POINTWISE_DIV : s.mode);
    set_enum(pw, A(POINTWISE_MATH_PREC), TYPE(DATA_TYPE), type);
    OK(finalize(pw));
    set_desc(s.d, A(OPERATION_POINTWISE_PW_DESCRIPTOR), pw);
    EXPECT(finalize(s.d), "without operands");
    if (upto(2)) /* another one first */
        set_desc(s.d, A(OPERATION_POINTWISE_XDESC), t[upto(index + 2)].d);
    EXPECT(cudnnBackendSetAttribute(s.d, A(OPERATION_POINTWISE_XDESC), TYPE(BACKEND_DESCRIPTOR), 1, &pw), "of a kind");
    set_desc(s.d, A(OPERATION_POINTWISE_XDESC), t[s.x].d);
    EXPECT(cudnnBackendSetAttribute(s.d, A(OPERATION_POINTWISE_XDESC), TYPE(BACKEND_DESCRIPTOR), 1, &raw), "early");
    set_desc(s.d, A(OPERATION_POINTWISE_BDESC), t[s.b].d);
    set_desc(s.d, A(OPERATION_POINTWISE_YDESC), t[s.y].d);
    if (upto(2)) {
        OK(cudnnBackendDestroyDescriptor(pw));
        pw = NULL;
    }
    OK(finalize(s.d));
    EXPECT(cudnnBackendSetAttribute(s.d, A(OPERATION_POINTWISE_XDESC), TYPE(BACKEND_DESCRIPTOR), 1, &t[0].d), "late");
    OK(cudnnBackendDestroyDescriptor(pw));
    OK(cudnnBackendDestroyDescriptor(raw));
    return s;
}

/* The first `n` steps, in any order, as a graph whose plan runs; what they are made of may be gone by then. */
static void run_steps(struct part *t, struct step *s, int n, bool last)
{
    double want[TENSORS + 2][COUNT];
    void *at[TENSORS + 2];
    int64_t uid[TENSORS + 2];
    desc ops[OPS];
    int used = 0;
    for (int i = 0; i < n; i++)
        ops[i] = s[i].d;
    for (int i = n - 1; i > 0; i--) {
        const int k = upto(i + 1);
        desc d = ops[i];
        ops[i] = ops[k], ops[k] = d;
    }
    desc g = graph_of(n, ops);
    if (upto(2)) { /* wrong at first: the last result twice */
        desc twice[] = {ops[0], ops[0]};
        set(g, A(OPERATIONGRAPH_OPS), TYPE(BACKEND_DESCRIPTOR), 2, twice);
        EXPECT(finalize(g), "one result of two operations");
        set(g, A(OPERATIONGRAPH_OPS), TYPE(BACKEND_DESCRIPTOR), n, ops);
    }
    OK(finalize(g));
    for (int i = 0; last && i < n; i++)
        OK(cudnnBackendDestroyDescriptor(s[i].d));
    for (int i = 0; last && i < TENSORS + 2; i++)
        OK(cudnnBackendDestroyDescriptor(t[i].d));
    desc plan = plan_of(g);
    if (!plan) {
        EXPECT(plan, "a plan of %d steps", n);
        destroy_all();
        return;
    }
    for (int i = 0; i < n + 2; i++) {
        float *m = memory[t[i].uid % 4096];
        for (int k = 0; k < COUNT; k++)
            if (i < 2)
                want[i][k] = number(F32), m[k] = (float)want[i][k];
            else
                want[i][k] = apply_mode(s[i - 2].mode, want[s[i - 2].x][k], want[s[i - 2].b][k]), m[k] = -99;
        if (!t[i].hidden)
            uid[used] = t[i].uid, at[used++] = m;
    }
    execute(plan, used, uid, at);
    for (int i = 0; i < n + 2; i++)
        for (int k = 0; k < COUNT && !t[i].hidden; k++)
            EXPECT((double)memory[t[i].uid % 4096][k] == want[i][k], "tensor %d of %d steps: %g, not %g", i, n,
                   (double)memory[t[i].uid % 4096][k], want[i][k]);
    destroy_all();
}

static void one_thread(float *region)
{
    struct part t[TENSORS + 2];
    struct step s[OPS];
    for (int i = 0; i < TENSORS + 2; i++) {
        draw_part(&t[i], i > 2 && i < TENSORS + 1 && upto(3) == 0);
        memory[t[i].uid % 4096] = region + 32 * i;
    }
    for (int i = 0; i < OPS; i++)
        s[i] = draw_step(t, i);
    for (int n = 1 + upto(3); n < OPS; n += 1 + upto(3))
        run_steps(t, s, n, false);
    run_steps(t, s, OPS, true);
}

/* ---- threads ----------------------------------------------------------------------------------- */

/* Operations of the same tensors, made and destroyed by all threads at once. */
static struct part shared[3];
static desc shared_pw;
static void *make_operations(void *arg)
{
    (void)arg;
    for (int i = 0; i < TURNS; i++) {
        desc d, g;
        bool good =
            !cudnnBackendCreateDescriptor(KIND(OPERATION_POINTWISE), &d) &&
            !cudnnBackendSetAttribute(d, A(OPERATION_POINTWISE_PW_DESCRIPTOR), TYPE(BACKEND_DESCRIPTOR), 1,
                                      &shared_pw) &&
            !cudnnBackendSetAttribute(d, A(OPERATION_POINTWISE_XDESC), TYPE(BACKEND_DESCRIPTOR), 1, &shared[0].d) &&
            !cudnnBackendSetAttribute(d, A(OPERATION_POINTWISE_BDESC), TYPE(BACKEND_DESCRIPTOR), 1, &shared[1].d) &&
            !cudnnBackendSetAttribute(d, A(OPERATION_POINTWISE_YDESC), TYPE(BACKEND_DESCRIPTOR), 1, &shared[2].d) &&
            !finalize(d) && !cudnnBackendCreateDescriptor(KIND(OPERATIONGRAPH), &g) &&
            !cudnnBackendSetAttribute(g, A(OPERATIONGRAPH_OPS), TYPE(BACKEND_DESCRIPTOR), 1, &d) &&
            !cudnnBackendDestroyDescriptor(d) && !cudnnBackendDestroyDescriptor(g);
        if (!good)
            return "no";
    }
    return NULL;
}
static void several_threads(void)
{
    pthread_t thread[THREADS];
    void *r;
    for (int i = 0; i < 3; i++)
        draw_part(&shared[i], false);
    shared_pw = pointwise(CUDNN_POINTWISE_ADD, 0, 0);
    for (int i = 0; i < THREADS; i++)
        MUST(pthread_create(&thread[i], NULL, make_operations, NULL));
    for (int i = 0; i < THREADS; i++) {
        MUST(pthread_join(thread[i], &r));
        EXPECT(!r, "a thread's operations of what others use, too");
    }
    for (int i = 0; i < 3; i++) {
        read_part(&shared[i]);
        OK(cudnnBackendDestroyDescriptor(shared[i].d));
    }
    destroy_all();
}

/* Of nothing no descriptor is made but those that tell something, or keep it. */
static void empty(void)
{
    for (int kind = 0; kind <= KIND(OPERATION_ROPE_BWD); kind++) {
        const bool fine = kind == KIND(INTERMEDIATE_INFO) || kind == KIND(KNOB_INFO) || kind == KIND(LAYOUT_INFO) ||
                          kind == KIND(KERNEL_CACHE) || kind == KIND(DEVICEPROP);
        desc d;
        OK(cudnnBackendCreateDescriptor(kind, &d));
        int r = finalize(d);
        EXPECT(!r == fine, "a descriptor of kind %d that is empty: %d", kind, r);
        OK(cudnnBackendDestroyDescriptor(d));
    }
}

int main(void)
{
    void *region;
    MUST(cudnnCreate(&handle));
    MUST(cudaMallocManaged(&region, (TENSORS + 2) * 32 * sizeof(float), 1));
    for (int i = 0; i < 60; i++)
        one_thread(region);
    several_threads();
    empty();
    OK(cudaFree(region));
    OK(cudnnDestroy(handle));
    return check_end("descriptors in drawn states");
}
