/* Runs the workloads as ranks that are threads or processes, those on the hosts of TEAM_HOSTS in turn. Usage: workloads
 * threads|processes N [SEED]. */
#include "ranks.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../netns.h"

unsigned draw(struct rank *r)
{
    r->seed = r->seed * 1664525u + 1013904223u;
    return r->seed >> 8;
}

int between(struct rank *r, int low, int high) { return low + (int)(draw(r) % (unsigned)(high - low + 1)); }

double element(unsigned salt, size_t i)
{
    unsigned x = (salt + (unsigned)i * 2654435761u) ^ (salt >> 7);
    x = (x ^ x >> 15) * 2246822519u;
    return (double)((x >> 16) % 3) - 1;
}

void must(struct rank *r, bool good, const char *what, int line)
{
    if (!good && r->wrong++ < 5)
        printf("# rank %d of %d: line %d: %s\n", r->me, r->n, line, what);
}

static void *hold(struct rank *r, void *p)
{
    const bool held = p && r->nheld < (int)(sizeof r->held / sizeof *r->held);
    MUST(r, held);
    if (!held)
        exit(1);
    return r->held[r->nheld++] = p;
}

double *room(struct rank *r, size_t n)
{
    void *p = NULL;
    MUST(r, cudaMalloc(&p, (n + 1) * sizeof(double)) == 0);
    MUST(r, cudaMemset(p, 0, (n + 1) * sizeof(double)) == 0);
    MUST(r, cudaStreamSynchronize(NULL) == 0); /* the ranks' streams do not wait for it */
    return hold(r, p);
}

double *put(struct rank *r, const double *from, size_t n)
{
    double *p = room(r, n);
    MUST(r, cudaMemcpy(p, from, n * sizeof *p, 1) == 0);
    MUST(r, cudaStreamSynchronize(NULL) == 0);
    return p;
}

double *host(struct rank *r, size_t n)
{
    void *p = NULL;
    MUST(r, cudaMallocHost(&p, (n + 1) * sizeof(double)) == 0);
    return hold(r, p);
}

double *matrix(struct rank *r, unsigned salt, size_t n)
{
    double *p = host(r, n);
    for (size_t i = 0; i < n; i++)
        p[i] = element(salt, i);
    return p;
}

void get(struct rank *r, double *to, const double *from, size_t n)
{
    MUST(r, cudaStreamSynchronize(r->stream) == 0);
    MUST(r, cudaMemcpy(to, from, n * sizeof *to, 2) == 0);
}

double *got(struct rank *r, const double *from, size_t n)
{
    double *p = host(r, n);
    get(r, p, from, n);
    return p;
}

void multiply(struct rank *r, bool ta, bool tb, int rows, int columns, int inner, const double *a, const double *b,
              double *c, bool add)
{
    const double one = 1, beta = add;
    MUST(r, cublasDgemm_v2(r->blas, ta, tb, rows, columns, inner, &one, a, ta ? inner : rows, b, tb ? columns : inner,
                           &beta, c, rows) == 0);
}

void add(struct rank *r, size_t n, double factor, const double *x, double *y)
{
    MUST(r, cublasDaxpy_v2(r->blas, (int)n, &factor, x, 1, y, 1) == 0);
}

double *cut(struct rank *r, const double *from, int height, int row, int rows, int column, int columns)
{
    double *p = host(r, (size_t)rows * (size_t)columns);
    for (int k = 0; k < columns; k++)
        memcpy(p + k * rows, from + (column + k) * height + row, (size_t)rows * sizeof *p);
    return p;
}

void same(struct rank *r, const char *what, const double *device, const double *want, size_t n)
{
    const double *p = got(r, device, n);
    for (size_t i = 0; i < n; i++)
        if (p[i] != want[i]) {
            if (r->wrong++ < 5)
                printf("# rank %d of %d: %s: element %zu of %zu is %g, not %g\n", r->me, r->n, what, i, n, p[i],
                       want[i]);
            return;
        }
}

static const struct {
    const char *name;
    workload *run;
} all[] = {{"data parallel, sharded and hybrid", data_parallel},
           {"tensor parallel", tensor_parallel},
           {"pipeline 1F1B", pipeline},
           {"pipeline, interleaved", interleaved},
           {"activations swapped to the host", swapped_activations},
           {"hierarchical all-reduce", hierarchical},
           {"ring both ways", ring_both_ways},
           {"mixture of experts", mixture_of_experts},
           {"matrix products", products}};
enum { WORKLOADS = sizeof all / sizeof *all };

static struct shared {
    ncclUniqueId id;
    volatile int ready;
    volatile int wrong[WORKLOADS];
} * shared;

static void *run(void *arg)
{
    struct rank *r = arg;
    if (r->me == 0) {
        MUST(r, ncclGetUniqueId(&shared->id) == 0);
        shared->ready = 1;
    }
    while (!shared->ready)
        usleep(1000);
    MUST(r, cudaSetDevice(r->me) == 0);
    MUST(r, cudaStreamCreateWithFlags(&r->stream, 1) == 0 && cudaStreamCreateWithFlags(&r->side, 1) == 0);
    MUST(r, cublasCreate_v2(&r->blas) == 0 && cublasSetStream_v2(r->blas, r->stream) == 0);
    int ncclCommInitRank(ncclComm_t *, int, ncclUniqueId, int);
    MUST(r, ncclCommInitRank(&r->comm, r->n, shared->id, r->me) == 0);
    for (int i = 0; i < WORKLOADS && !r->wrong; i++) {
        const unsigned seed = r->seed;
        all[i].run(r);
        r->seed = seed + 7;
        MUST(r, cudaDeviceSynchronize() == 0);
        shared->wrong[i] += r->wrong;
        while (r->nheld)
            if (cudaFree(r->held[--r->nheld]))
                (void)cudaFreeHost(r->held[r->nheld]);
        (void)cudaGetLastError();
    }
    MUST(r, ncclCommDestroy(r->comm) == 0);
    return NULL;
}

int main(int argc, char **argv)
{
    const bool processes = argc > 1 && strcmp(argv[1], "processes") == 0;
    const int n = argc > 2 ? atoi(argv[2]) : 2;
    struct rank *r = calloc((size_t)n, sizeof *r);
    pthread_t *thread = calloc((size_t)n, sizeof *thread);
    setvbuf(stdout, NULL, _IOLBF, 0);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int bad = 0;
    for (int i = 0; i < n; i++) {
        r[i] = (struct rank){.me = i, .n = n, .seed = argc > 3 ? (unsigned)atoi(argv[3]) : 1};
        if (!processes)
            pthread_create(&thread[i], NULL, run, &r[i]);
        else if (fork() == 0) {
            enter_host(i);
            run(&r[i]);
            exit(r[i].wrong != 0);
        }
    }
    for (int i = 0, status = 0; i < n; i++) {
        if (processes)
            wait(&status);
        else
            pthread_join(thread[i], NULL);
        bad |= status || r[i].wrong;
    }
    for (int i = 0; i < WORKLOADS; i++)
        printf("%s %s, %d %s\n", bad && shared->wrong[i] ? "not ok" : "ok", all[i].name, n, argv[1]);
    printf("%s distributed %d %s\n", bad ? "FAIL" : "PASS", n, argv[1]);
    return bad;
}
