/* What a launch costs: an empty one with synchronisation beside a bare hand-off between two threads. Run
 * under `cumu run`; prints `bench <figure> <value> <unit>` lines, medians of interleaved rounds. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 31, LAUNCHES = 300 };

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, int n)
{
    qsort(v, (size_t)n, sizeof *v, by_value);
    return v[n / 2];
}

static void *need(void *lib, const char *name)
{
    void *p = lib ? dlsym(lib, name) : NULL;
    if (!p) {
        fprintf(stderr, "bench: no %s: %s\n", name, dlerror());
        exit(1);
    }
    return p;
}

static sem_t ping, pong;
static void *answer(void *arg)
{
    (void)arg;
    for (int i = 0; i < ROUNDS * LAUNCHES; i++) {
        sem_wait(&ping);
        sem_post(&pong);
    }
    return NULL;
}

static void launches(void)
{
    static const char ptx[] = ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n";
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW), *context, *module, *kernel;
    int (*init)(unsigned) = (int (*)(unsigned))need(cuda, "cuInit");
    int (*retain)(void **, int) = (int (*)(void **, int))need(cuda, "cuDevicePrimaryCtxRetain");
    int (*current)(void *) = (int (*)(void *))need(cuda, "cuCtxSetCurrent");
    int (*load)(void **, const void *) = (int (*)(void **, const void *))need(cuda, "cuModuleLoadData");
    int (*get)(void **, void *, const char *) = (int (*)(void **, void *, const char *))need(cuda,
                                                                                             "cuModuleGetFunction");
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **,
                  void **) = (int (*)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      void *, void **, void **))need(cuda, "cuLaunchKernel");
    int (*sync)(void *) = (int (*)(void *))need(cuda, "cuStreamSynchronize");
    if (init(0) || retain(&context, 0) || current(context) || load(&module, ptx) || get(&kernel, module, "k") ||
        launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) || sync(NULL)) {
        fprintf(stderr, "bench: the empty kernel does not run\n");
        exit(1);
    }
    double a[ROUNDS], b[ROUNDS], ratio[ROUNDS];
    pthread_t thread;
    sem_init(&ping, 0, 0);
    sem_init(&pong, 0, 0);
    pthread_create(&thread, NULL, answer, NULL);
    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ns();
        for (int i = 0; i < LAUNCHES; i++) {
            launch(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
            sync(NULL);
        }
        a[r] = (now_ns() - start) / LAUNCHES / 1000;
        start = now_ns();
        for (int i = 0; i < LAUNCHES; i++) {
            sem_post(&ping);
            sem_wait(&pong);
        }
        b[r] = (now_ns() - start) / LAUNCHES / 1000;
        ratio[r] = a[r] / b[r];
    }
    pthread_join(thread, NULL);
    printf("bench launch.empty_sync %.2f us\n", median(a, ROUNDS));
    printf("bench launch.thread_handoff %.2f us\n", median(b, ROUNDS));
    printf("bench launch.empty_vs_handoff %.2f ratio\n", median(ratio, ROUNDS));
}

int main(void)
{
    launches();
    return 0;
}
