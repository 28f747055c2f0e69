/* What tests/trace/run.sh traces: calls from threads, before and after fork, and one attribute. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_functions.h"

enum { THREADS = 4, CALLS = 200, MAJOR = 75 };

static void *allocate(void *ctx)
{
    for (int i = 0; i < CALLS; i++) {
        void *p = NULL;
        if (cudaMalloc(&p, 256 + (size_t)i) || cudaFree(p))
            *(int *)ctx = 1;
    }
    return NULL;
}

static int threads(void)
{
    pthread_t t[THREADS];
    int bad[THREADS] = {0}, any = 0;
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, allocate, &bad[i]))
            return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        any |= bad[i];
    }
    return any;
}

/* The child's call: works if nothing was used before, else it fails as CUDA's does. */
static int forks(int used)
{
    int n = 0, status = 0;
    if (used && cudaGetDeviceCount(&n))
        return 1;
    pid_t pid = fork();
    if (pid == 0)
        _exit(cudaGetDeviceCount(&n));
    waitpid(pid, &status, 0);
    return WEXITSTATUS(status) != (used ? 3 : 0) || cudaGetDeviceCount(&n);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int value = 0, bad = 1;
    if (!strcmp(what, "threads"))
        bad = threads();
    if (!strcmp(what, "fork"))
        bad = forks(0);
    if (!strcmp(what, "fork-after"))
        bad = forks(1);
    if (!strcmp(what, "attribute")) {
        bad = cudaDeviceGetAttribute(&value, MAJOR, 0);
        printf("major %d result %d\n", value, bad);
    }
    puts(bad ? "FAIL" : "PASS");
    return bad;
}
