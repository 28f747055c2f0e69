/* What an nccl* call costs more than the mccl* call below: a collective of no elements, which both check and
 * then have nothing to do for. Run under `cumu run`; medians of interleaved rounds. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 101, CALLS = 20000, INT32 = 2, SUM = 0 };

typedef struct {
    char internal[128];
} unique_id;
struct api {
    const char *prefix;
    void *lib, *comm;
    int (*id)(unique_id *);
    int (*init)(void **, int, unique_id, int);
    int (*reduce)(const void *, void *, size_t, int, int, void *, void *);
    double ns[ROUNDS];
};

static void *need(const struct api *a, const char *name)
{
    char symbol[64];
    snprintf(symbol, sizeof symbol, "%s%s", a->prefix, name);
    void *p = a->lib ? dlsym(a->lib, symbol) : NULL;
    if (!p) {
        fprintf(stderr, "bench: no %s: %s\n", symbol, dlerror());
        exit(1);
    }
    return p;
}

static void open_api(struct api *a, const char *prefix, const char *soname, int flags)
{
    unique_id id;
    a->prefix = prefix;
    a->lib = dlopen(soname, RTLD_NOW | flags);
    a->id = (int (*)(unique_id *))need(a, "GetUniqueId");
    a->init = (int (*)(void **, int, unique_id, int))need(a, "CommInitRank");
    a->reduce = (int (*)(const void *, void *, size_t, int, int, void *, void *))need(a, "AllReduce");
    if (a->id(&id) || a->init(&a->comm, 1, id, 0)) {
        fprintf(stderr, "bench: %s makes no communicator\n", prefix);
        exit(1);
    }
}

static double measure(const struct api *a)
{
    struct timespec t, u;
    int bad = 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    for (int i = 0; i < CALLS; i++)
        bad |= a->reduce(NULL, NULL, 0, INT32, SUM, a->comm, NULL);
    clock_gettime(CLOCK_MONOTONIC, &u);
    if (bad) {
        fprintf(stderr, "bench: %sAllReduce: %d\n", a->prefix, bad);
        exit(1);
    }
    return ((double)(u.tv_sec - t.tv_sec) * 1e9 + (double)(u.tv_nsec - t.tv_nsec)) / CALLS;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(void)
{
    static struct api nccl, mccl;
    double more[ROUNDS];
    open_api(&nccl, "nccl", "libnccl.so.2", 0);
    open_api(&mccl, "mccl", "libmccl.so.2", RTLD_NOLOAD); /* the one that the shim has opened */
    for (int r = 0; r < ROUNDS; r++) {
        mccl.ns[r] = measure(&mccl);
        nccl.ns[r] = measure(&nccl);
        more[r] = nccl.ns[r] - mccl.ns[r];
    }
    qsort(mccl.ns, ROUNDS, sizeof *mccl.ns, by_value);
    qsort(nccl.ns, ROUNDS, sizeof *nccl.ns, by_value);
    qsort(more, ROUNDS, sizeof *more, by_value);
    printf("# an empty all-reduce: mccl %.2f ns, nccl %.2f ns\n", mccl.ns[ROUNDS / 2], nccl.ns[ROUNDS / 2]);
    printf("bench nccl.call_overhead %.2f ns\n", more[ROUNDS / 2]);
    return 0;
}
