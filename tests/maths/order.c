/* Threads that share a stream: each call of a library is one work of it, also where it is done at once. So of threads
 * that fill the same memory at the same time, some from its end on, one comes last, and all of it is that one's. */
#include <pthread.h>

#include "maths.h"

enum { THREADS = 3, LONG = 120000, ROUNDS = 200, CALLS = 10 }; /* LONG: just done at once */

static float *target, *numbers[THREADS];
static P stream, seen[THREADS];
static pthread_barrier_t turn;
static int mixed;

static unsigned draw(uint64_t *seed, unsigned n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(*seed >> 33) % n;
}

static void look(void)
{
    static float got[LONG];
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaMemcpy(got, target, sizeof got, 2));
    int others = 0;
    for (int i = 1; i < LONG; i++)
        others += got[i] != got[0];
    mixed += others != 0;
}

static P thread(P number)
{
    const uintptr_t me = (uintptr_t)number;
    uint64_t seed = 40961 + me;
    P handle;
    int status = cublasCreate_v2(&handle);
    if (!status)
        status = cublasSetStream_v2(handle, stream);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&turn);
        for (int k = 0; !status && k < CALLS; k++) {
            const int step = draw(&seed, 2) ? 1 : -1;
            status = cublasScopy_v2(handle, LONG, numbers[me], step, target, step);
        }
        pthread_barrier_wait(&turn);
        if (!me)
            look();
    }
    seen[me] = status ? handle : NULL;
    cublasDestroy_v2(handle);
    return NULL;
}

static void fill(const char *which)
{
    pthread_t t[THREADS];
    mixed = 0;
    for (uintptr_t i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, thread, (P)i); /* NOLINT: a number */
    int failed = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        failed += seen[i] != NULL;
    }
    check(!failed && !mixed, "%d threads copy at the same time in %s: %d of %d results are of several", THREADS, which,
          mixed, ROUNDS);
}

int main(void)
{
    static float same[LONG];
    pthread_barrier_init(&turn, NULL, THREADS);
    MUST(cudaMalloc(&target, sizeof same));
    for (int k = 0; k < THREADS; k++) {
        for (int i = 0; i < LONG; i++)
            same[i] = (float)k + 1;
        MUST(cudaMalloc(&numbers[k], sizeof same));
        MUST(cudaMemcpy(numbers[k], same, sizeof same, 1));
    }
    fill("the default stream");
    MUST(cudaStreamCreate(&stream));
    fill("a stream");
    return check_end("maths order");
}
