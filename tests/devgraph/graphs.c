/* Graphs that kernels of graphs launch, by CUDA's driver API: graphs KERNELS WHICH; the last line is "right WHICH". */
#include "../check.h"

#include <stdint.h>
#include <string.h>

#include "../devrt/driver.h"

#define BEHIND UINT64_C(0x0100000000000000)
#define BESIDE UINT64_C(0x0200000000000000)
#define SIBLING UINT64_C(0x0300000000000000)
enum { INVALID_VALUE = 1, INVALID_HANDLE = 400, ILLEGAL_ADDRESS = 700, NOT_SUPPORTED = 801 };
enum { AUTO_FREE = 1, UPLOAD = 2, DEVICE = 4, LOG = 600 };

struct node { /* CUDA_KERNEL_NODE_PARAMS_v2 */
    void *function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
    void *kernel, *context;
};
struct host_node {
    void (*f)(void *);
    void *user;
};
struct instantiate {
    uint64_t flags;
    void *stream, *bad;
    int result;
};

static void *module;
static uint64_t notes, status; /* device memory */

static void *kernel(const char *name)
{
    void *function;
    MUST(CALL(cuModuleGetFunction, &function, module, name));
    return function;
}

static void *add(void *graph, void *after, const char *name, void **arguments)
{
    void *n;
    const struct node p = {kernel(name), {1, 1, 1}, {1, 1, 1}, 0, arguments, NULL, NULL, NULL};
    MUST(CALL(cuGraphAddKernelNode_v2, &n, graph, after ? &after : (void **)0, (size_t)(after != NULL), &p));
    return n;
}

static void *new_graph(void)
{
    void *g;
    MUST(CALL(cuGraphCreate, &g, 0u));
    return g;
}

static void *instance(void *graph, unsigned long long flags)
{
    void *e = NULL;
    OK(CALL(cuGraphInstantiateWithFlags, &e, graph, flags));
    return e;
}

/* A device graph of one kernel that notes what it is. */
static void *noting(int what)
{
    void *g = new_graph();
    add(g, NULL, "note", (void *[]){&notes, &what});
    void *e = instance(g, DEVICE);
    OK(CALL(cuGraphUpload, e, (void *)0));
    return e;
}

/* A kernel that launches a and b into their streams, and one behind it that notes what follows. */
static void *launching(int what, int then, void *a, uint64_t sa, void *b, uint64_t sb)
{
    void *g = new_graph();
    void *first = add(g, NULL, "launch", (void *[]){&notes, &what, &a, &sa, &b, &sb, &status});
    if (then)
        add(g, first, "note", (void *[]){&notes, &then});
    void *e = instance(g, DEVICE);
    OK(CALL(cuGraphUpload, e, (void *)0));
    return e;
}

static void clear(void)
{
    OK(CALL(cuMemsetD8_v2, notes, 0, (size_t)(4 * LOG)));
    OK(CALL(cuMemsetD8_v2, status, 0, (size_t)8));
}

static int run(void *exec)
{
    clear();
    int r = CALL(cuGraphLaunch, exec, (void *)0);
    return r ? r : CALL(cuCtxSynchronize);
}

static const int *read_notes(void)
{
    static int all[LOG];
    OK(CALL(cuMemcpyDtoH_v2, all, notes, sizeof all));
    return all;
}

/* What has been noted, in this order. */
static void noted(const char *name, int n, const int *want)
{
    const int *have = read_notes();
    bool same = have[0] == n;
    for (int k = 0; k < n; k++)
        same &= have[1 + k] == want[k];
    check(same, "%s: %d notes, %d %d %d %d %d %d", name, have[0], have[1], have[2], have[3], have[4], have[5], have[6]);
}

static void answered(const char *name, int first, int second)
{
    int have[2];
    OK(CALL(cuMemcpyDtoH_v2, have, status, sizeof have));
    check(have[0] == first && have[1] == second, "%s: %d and %d, not %d and %d", name, have[0], have[1], first, second);
}

static void behind(void)
{
    void *c = noting(5), *a = launching(3, 0, c, BEHIND, NULL, 0), *b = noting(4);
    void *r = launching(1, 2, a, BEHIND, b, BEHIND);
    for (int k = 0; k < 20; k++) {
        OK(run(r));
        noted("behind, what they launch before the others", 5, (int[]){1, 2, 3, 5, 4});
        answered("behind", 0, 0);
    }
}

static void beside(void)
{
    void *a = noting(3), *b = noting(4), *r = launching(1, 2, a, BESIDE, b, BEHIND);
    for (int k = 0; k < 20; k++) {
        OK(run(r));
        const int *n = read_notes();
        check(n[0] == 4 && n[4] == 4, "what is behind comes after what is beside: %d %d %d %d", n[1], n[2], n[3], n[4]);
    }
    /* It begins at once: a kernel of the launching graph waits for it. */
    void *g = new_graph();
    int one = 1, two = 2, seven = 7;
    uint64_t none = 0, into = BESIDE;
    void *first = add(g, NULL, "launch", (void *[]){&notes, &one, &a, &into, &none, &none, &status});
    add(g, first, "until", (void *[]){&notes, &two, &seven});
    void *e = instance(g, DEVICE | UPLOAD);
    for (int k = 0; k < 20; k++) {
        OK(run(e));
        const int *n = read_notes();
        check(n[0] == 3 && n[3] == 7, "beside is at once");
    }
}

/* A sibling does not hold back what is behind: it waits for that itself. */
static void sibling(void)
{
    void *g = new_graph();
    int want = 2, five = 5;
    add(g, NULL, "until", (void *[]){&notes, &want, &five});
    void *s = instance(g, DEVICE | UPLOAD), *t = noting(4);
    OK(CALL(cuGraphUpload, s, (void *)0));
    void *r = launching(1, 0, s, SIBLING, t, BEHIND);
    for (int k = 0; k < 20; k++) {
        OK(run(r));
        noted("a sibling", 3, (int[]){1, 4, 5});
    }
}

static void again(void)
{
    void *g = new_graph();
    int n = 500;
    add(g, NULL, "again", (void *[]){&notes, &n});
    void *e = instance(g, DEVICE);
    OK(run(e));
    const int *have = read_notes();
    int good = 0;
    for (int k = 0; k < n; k++)
        good += have[1 + k] == 1;
    check(have[0] == n && good == n, "500 times behind itself: %d, %d", have[0], good);
    uint64_t out, value = 1;
    MUST(CALL(cuMemAlloc_v2, &out, (size_t)8));
    OK(CALL(cuLaunchKernel, kernel("self"), 1, 1, 1, 1, 1, 1, 0, (void *)0, (void *[]){&out}, (void *)0));
    OK(CALL(cuMemcpyDtoH_v2, &value, out, (size_t)8));
    check(value == 0, "no graph");
    g = new_graph();
    add(g, NULL, "self", (void *[]){&out});
    e = instance(g, 0);
    OK(run(e));
    OK(CALL(cuMemcpyDtoH_v2, &value, out, (size_t)8));
    check(value == (uint64_t)(uintptr_t)e, "the graph that runs");
}

static void nothing(void *user) { (void)user; }

static void errors(void)
{
    int what = 3;
    void *g = new_graph(), *a = noting(3), *bad = (void *)1;
    add(g, NULL, "note", (void *[]){&notes, &what});
    void *plain = instance(g, 0), *cold = instance(g, DEVICE), *warm = instance(g, DEVICE | UPLOAD);
    OK(run(launching(1, 0, plain, BEHIND, cold, BEHIND)));
    answered("no device graph, not uploaded", INVALID_VALUE, INVALID_VALUE);
    OK(run(launching(1, 0, warm, BEHIND, warm, BEHIND)));
    answered("twice behind", 0, INVALID_VALUE);
    OK(run(launching(1, 0, bad, BEHIND, a, 77)));
    answered("no graph, no stream for it", INVALID_VALUE, INVALID_HANDLE);
    OK(run(cold)); /* which uploads */
    OK(run(launching(1, 0, cold, BEHIND, NULL, 0)));
    answered("run before", 0, 0);
    uint64_t into = BEHIND, none = 0;
    clear();
    OK(CALL(cuLaunchKernel, kernel("launch"), 1, 1, 1, 1, 1, 1, 0, (void *)0,
            (void *[]){&notes, &what, &a, &into, &none, &none, &status}, (void *)0));
    OK(CALL(cuCtxSynchronize));
    answered("by a kernel of no graph", NOT_SUPPORTED, 0);
    /* graphs that no kernel may launch */
    void *h = new_graph(), *n, *e = NULL;
    const struct host_node p = {nothing, NULL};
    struct instantiate i = {.flags = DEVICE};
    IS(CALL(cuGraphInstantiateWithFlags, &e, g, (unsigned long long)(DEVICE | AUTO_FREE)), INVALID_VALUE);
    OK(CALL(cuGraphAddHostNode, &n, h, (void *)0, (size_t)0, &p));
    IS(CALL(cuGraphInstantiateWithFlags, &e, h, (unsigned long long)DEVICE), NOT_SUPPORTED);
    IS(CALL(cuGraphInstantiateWithParams, &e, h, &i), NOT_SUPPORTED);
    check(i.result == 3 && i.bad == n, "which node and why: %d", i.result);
}

static void many(void)
{
    enum { N = 130 };
    void *execs[N], *g = new_graph();
    uint64_t list, accepted;
    int n = N, count = 0, what = 9;
    add(g, NULL, "note", (void *[]){&notes, &what});
    for (int k = 0; k < N; k++)
        execs[k] = instance(g, DEVICE | UPLOAD);
    MUST(CALL(cuMemAlloc_v2, &list, sizeof execs));
    MUST(CALL(cuMemAlloc_v2, &accepted, (size_t)4));
    OK(CALL(cuMemcpyHtoD_v2, list, execs, sizeof execs));
    OK(CALL(cuMemsetD8_v2, accepted, 0, (size_t)4));
    g = new_graph();
    add(g, NULL, "many", (void *[]){&list, &n, &accepted});
    OK(run(instance(g, DEVICE)));
    OK(CALL(cuMemcpyDtoH_v2, &count, accepted, (size_t)4));
    check(count == 120 && read_notes()[0] == 120, "120 of 130 beside: %d, %d", count, read_notes()[0]);
}

static void fault(void)
{
    void *g = new_graph(), *null = NULL;
    add(g, NULL, "bad", (void *[]){&null});
    void *a = instance(g, DEVICE | UPLOAD);
    IS(run(launching(1, 0, a, BESIDE, NULL, 0)), ILLEGAL_ADDRESS);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*test)(void);
    } tests[] = {{"behind", behind}, {"beside", beside}, {"sibling", sibling}, {"again", again},
                 {"errors", errors}, {"many", many},     {"fault", fault}};
    static char text[1 << 16];
    FILE *file = argc > 2 ? fopen(argv[1], "r") : NULL;
    MUST(!file || start());
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    MUST(CALL(cuModuleLoadData, &module, text));
    MUST(CALL(cuMemAlloc_v2, &notes, (size_t)(4 * LOG)));
    MUST(CALL(cuMemAlloc_v2, &status, (size_t)8));
    for (unsigned k = 0; k < sizeof tests / sizeof *tests; k++)
        if (!strcmp(argv[2], tests[k].name))
            tests[k].test();
    if (!check_failures)
        printf("right %s\n", argv[2]);
    return check_failures != 0;
}
