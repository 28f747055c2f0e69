/* Threads that lower the kernels of one module at the same time: each gets what one thread alone
 * gets, though the kernels share their functions. And calls as deep as the module has functions,
 * lowered in time that grows with them. */
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/musa/musa.h"
#include "ptx/tier0/tier0.h"
#include "ptx/tier1/tier1.h"
#include "../check.h"
#include "sanitize.h"

enum { KERNELS = 24, FUNCTIONS = 40, THREADS = 8, DEEP = CUMU_ASAN || CUMU_TSAN ? 1000 : 3000, SECONDS = 4 };

struct text {
    char *p;
    size_t n, room;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->n += (size_t)vsnprintf(t->p + t->n, t->room - t->n, format, args);
    va_end(args);
}

static struct text start(size_t room)
{
    struct text t = {.p = malloc(room), .room = room};
    add(&t, ".version 7.0\n.target sm_70\n.address_size 64\n");
    return t;
}

/* One that adds n to what p is at, in a loop; it calls the one before it, if there is one. f has its parameters in
 * registers, which tier 1 has no calls for, g has not. */
static void add_functions(struct text *t, unsigned n, bool calls)
{
    static const char *const body = "mov.b32 %%r1, 0;\nL:\nld.global.u32 %%r2, [%%p];\nadd.s32 %%r2, %%r2, %u;\n"
                                    "st.global.u32 [%%p], %%r2;\nadd.s32 %%r1, %%r1, 1;\nsetp.lt.u32 %%c, %%r1, 3;\n"
                                    "@%%c bra L;\n";
    add(t, ".func (.reg .b32 %%out) f%u(.reg .b64 %%p)\n{\n.reg .pred %%c;\n.reg .b32 %%r<3>;\n", n);
    add(t, body, n);
    if (calls)
        add(t, "call (%%r2), f%u, (%%p);\n", n - 1);
    add(t, "mov.b32 %%out, %%r2;\nret;\n}\n");
    add(t,
        ".func g%u(.param .b64 q)\n{\n.reg .pred %%c;\n.reg .b32 %%r<3>;\n.reg .b64 %%p;\n"
        "ld.param.b64 %%p, [q];\n",
        n);
    add(t, body, n);
    if (calls)
        add(t, ".param .b64 a;\nst.param.b64 [a], %%p;\ncall g%u, (a);\n", n - 1);
    add(t, "ret;\n}\n");
}

static void add_kernel(struct text *t, unsigned n, unsigned callee)
{
    add(t, ".entry k%u(.param .u64 p)\n{\n.reg .b64 %%p;\n.reg .b32 %%r;\nld.param.u64 %%p, [p];\n", n);
    if (n % 2)
        add(t, "call (%%r), f%u, (%%p);\nst.global.u32 [%%p], %%r;\nret;\n}\n", callee);
    else
        add(t, ".param .b64 a;\nst.param.b64 [a], %%p;\ncall g%u, (a);\nret;\n}\n", callee);
}

struct made { /* all that becomes of one kernel */
    void *image;
    char *object, *musa;
    size_t image_size, object_size, musa_size;
    int status;
};

static struct ptx_module *m;
static struct made alone[KERNELS];
static atomic_uint next, wrong;

static void make(struct made *k, unsigned n)
{
    struct ptx_diag diag;
    struct mu_info info;
    char name[16];
    snprintf(name, sizeof name, "k%u", n);
    *k = (struct made){.status = 0};
    k->status |= lir_lower_kernel(m, name, &k->image, &k->image_size, &diag);
    bool refused = t1_emit(m, name, T1_SHAPE_FLAT, T1_AVX2, &k->object, &k->object_size, &diag) != 0;
    k->status |= refused != (n % 2 != 0);
    k->status |= mu_emit(m, name, k->image, MU_ANY, &k->musa, &k->musa_size, &info, &diag);
}

static bool same(const struct made *a, const struct made *b)
{
    return a->status == b->status && a->image_size == b->image_size && a->object_size == b->object_size &&
           a->musa_size == b->musa_size && !memcmp(a->image, b->image, a->image_size) &&
           (!a->object || !memcmp(a->object, b->object, a->object_size)) && !memcmp(a->musa, b->musa, a->musa_size);
}

static void drop(struct made *k)
{
    free(k->image);
    free(k->object);
    free(k->musa);
}

static void *make_some(void *unused)
{
    (void)unused;
    for (unsigned k; (k = atomic_fetch_add(&next, 1)) < 4 * KERNELS;) {
        struct made mine;
        make(&mine, k % KERNELS);
        if (!same(&mine, &alone[k % KERNELS]))
            atomic_fetch_add(&wrong, 1);
        drop(&mine);
    }
    return NULL;
}

static void side_by_side(void)
{
    struct text t = start(1 << 18);
    struct ptx_diag diag;
    pthread_t thread[THREADS];
    int bad = 0;
    for (unsigned n = 0; n < FUNCTIONS; n++)
        add_functions(&t, n, n % 8 != 0);
    for (unsigned n = 0; n < KERNELS; n++)
        add_kernel(&t, n, FUNCTIONS - 1 - n % 10);
    m = ptx_module_open(t.p, t.n, &diag);
    for (unsigned n = 0; m && n < KERNELS; n++) {
        make(&alone[n], n);
        bad |= alone[n].status;
    }
    check(m && !bad, "kernels that share functions are lowered: %s", diag.msg);
    for (unsigned n = 0; m && n < THREADS; n++)
        pthread_create(&thread[n], NULL, make_some, NULL);
    for (unsigned n = 0; m && n < THREADS; n++)
        pthread_join(thread[n], NULL);
    check(!wrong, "by %d threads at once, %u of %d otherwise than by one", THREADS, wrong, 4 * KERNELS);
    for (unsigned n = 0; n < KERNELS; n++)
        drop(&alone[n]);
    ptx_module_close(m);
    free(t.p);
}

static double now(void) /* of the CPU: others may use the machine */
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Time that grew with the cube of the depth was 10 s for these, and 30 s in tier 1. */
static void deep_calls(void)
{
    struct text t = start(2 << 20);
    struct ptx_diag diag = {0};
    void *image = NULL;
    size_t size;
    for (unsigned n = 0; n < DEEP; n++)
        add(&t,
            n ? ".func f%u(.param .b64 p)\n{\n.reg .b64 %%p;\nld.param.b64 %%p, [p];\n{\n.param .b64 q;\n"
                "st.param.b64 [q], %%p;\ncall f%u, (q);\n}\nret;\n}\n"
              : ".func f%u(.param .b64 p)\n{\nret;\n}\n",
            n, n - 1);
    add(&t, ".entry k(.param .u64 p)\n{\n.param .b64 q;\ncall f%u, (q);\nret;\n}\n", DEEP - 1);
    m = ptx_module_open(t.p, t.n, &diag);
    double from = now();
    int bad = m ? lir_lower_kernel(m, "k", &image, &size, &diag) : -1;
    double took = now() - from;
    check(!bad && took < SECONDS, "%d functions that call each other take %.2f s to lower %s", DEEP, took, diag.msg);
    free(image);
    char *text = NULL;
    from = now();
    bad = m ? t1_emit(m, "k", T1_SHAPE_FLAT, T1_AVX2, &text, &size, &diag) : -1;
    took = now() - from;
    check(!bad && took < 2 * SECONDS, "%.2f s to emit %s", took, diag.msg);
    free(text);
    ptx_module_close(m);
    free(t.p);
}

int main(void)
{
    side_by_side();
    deep_calls();
    return check_end("tier 1 side by side");
}
