/* What threads, fork, exec and exit do to a process that uses CUDA. Each mode prints `done` (or what is wrong)
 * and relies on the caller's time limit for hangs. Linked with the facades of libcudart.so.13 and libcuda.so.1. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_functions.h"

extern char **environ;

enum { INVALID_VALUE = 1, INITIALIZATION = 3, TO_DEVICE = 1, TO_HOST = 2 };
enum { THREADS = 64, N = 1024 };

/* add(p, v, n): p[i] += v, n times. */
static const char ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n"
    ".visible .entry add(.param .u64 p, .param .u32 v, .param .u32 n) {\n"
    " .reg .b64 %rd<4>; .reg .b32 %r<8>; .reg .pred %q;\n"
    " ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v]; ld.param.u32 %r2, [n];\n"
    " mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x; mad.lo.s32 %r3, %r3, %r4, %r5;\n"
    " mul.wide.s32 %rd2, %r3, 4; add.s64 %rd1, %rd1, %rd2; ld.global.u32 %r6, [%rd1]; mov.u32 %r7, 0;\n"
    "again: add.s32 %r6, %r6, %r1; add.s32 %r7, %r7, 1; setp.lt.u32 %q, %r7, %r2; @%q bra again;\n"
    " st.global.u32 [%rd1], %r6; ret; }\n";

static atomic_int wrong;
#define OK(call) \
    do { \
        int e_ = (call); \
        if (e_ && atomic_fetch_add(&wrong, 1) < 5) \
            printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorName(e_)); \
    } while (0)

static void *module, *kernel;
static void start(void)
{
    OK(cudaFree(NULL)); /* the primary context becomes current */
    OK(cuModuleLoadData(&module, ptx));
    OK(cuModuleGetFunction(&kernel, module, "add"));
}

static int launch(void *p, unsigned value, unsigned times, void *stream)
{
    void *args[] = {&p, &value, &times};
    return cuLaunchKernel(kernel, N / 128, 1, 1, 128, 1, 1, 0, stream, args, NULL);
}

/* One thread's share: everything that a stream does, and errors that are nobody else's. */
static void *work(void *arg)
{
    int me = (int)(long)arg, host[N], count;
    void *stream, *event, *p, *pinned, *none;
    OK(cudaSetDevice(0));
    for (int round = 0; round < 4; round++) {
        OK(cudaStreamCreate(&stream));
        OK(cudaEventCreate(&event));
        OK(cudaMalloc(&p, sizeof host));
        OK(cudaMallocHost(&pinned, 4096));
        OK(cudaMemset(p, 0, sizeof host));
        OK(launch(p, (unsigned)me, 3, stream));
        OK(cudaEventRecord(event, stream));
        OK(cudaMemcpyAsync(host, p, sizeof host, TO_HOST, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaEventSynchronize(event));
        for (int i = 0; i < N; i++)
            if (host[i] != 3 * me && atomic_fetch_add(&wrong, 1) < 5)
                printf("thread %d: element %d is %d\n", me, i, host[i]);
        if (me % 2 && cudaMalloc(NULL, 1) != INVALID_VALUE)
            wrong++;
        if (cudaGetLastError() != (me % 2 ? INVALID_VALUE : 0) && atomic_fetch_add(&wrong, 1) < 5)
            printf("thread %d: another's error\n", me);
        OK(cudaGetDeviceCount(&count));
        if (cudaMalloc(&none, (size_t)1 << 60) != 2 || cudaGetLastError() != 2)
            wrong++;
        OK(cudaFree(p));
        OK(cudaFreeHost(pinned));
        OK(cudaEventDestroy(event));
        OK(cudaStreamDestroy(stream));
    }
    return NULL;
}

static void spread(void *(*run)(void *), int n)
{
    pthread_t t[THREADS];
    for (long i = 0; i < n; i++)
        pthread_create(&t[i], NULL, run, (void *)i);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
}

static void threads(void)
{
    start();
    spread(work, THREADS);
}

/* All threads make the process's very first call at once. */
static void *first_call(void *arg)
{
    void *p;
    OK(cudaMalloc(&p, 64));
    OK(cudaFree(p));
    return arg;
}
static void first(void) { spread(first_call, THREADS); }

/* A child's end: how it left, within the time limit of the whole test. */
static void child(pid_t pid, const char *what)
{
    int status = -1;
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status)) {
        printf("%s: status %x\n", what, status);
        wrong++;
    }
}

static int told_so(void)
{
    void *p = NULL;
    int n = 0;
    bool good = cudaMalloc(&p, 16) == INITIALIZATION && cudaGetLastError() == INITIALIZATION && !p &&
                cudaGetDeviceCount(&n) == INITIALIZATION && cudaDeviceSynchronize() == INITIALIZATION &&
                launch(p, 1, 1, NULL) == INITIALIZATION &&
                strcmp(cudaGetErrorName(INITIALIZATION), "cudaErrorInitializationError") == 0;
    return good ? 0 : 1;
}

static atomic_bool stop;
static void *busy(void *arg)
{
    void *p;
    while (!stop) {
        OK(cudaMalloc(&p, sizeof(int) * N));
        OK(cudaMemset(p, 0, sizeof(int) * N));
        OK(launch(p, 1, 10, NULL));
        OK(cudaFree(p));
    }
    return arg;
}

/* Before first use the child may; after it, it may not, whatever other threads were doing; and both leave by
 * exit(), through every destructor. */
static void forks(void)
{
    pthread_t t[4];
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        start();
        spread(work, 2);
        exit(wrong ? 1 : 0);
    }
    child(pid, "fork before first use");
    start();
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, busy, NULL);
    for (int i = 0; i < 40; i++) {
        fflush(stdout);
        pid = fork();
        if (pid == 0)
            exit(told_so());
        child(pid, "fork after first use");
    }
    stop = true;
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    spread(work, 2);
}

static char self[4096];
static void children(void)
{
    char run[] = "first", *args[] = {self, run, NULL};
    pid_t pid;
    start(); /* children of a process that uses CUDA start afresh after exec */
    fflush(stdout);
    if ((pid = fork()) == 0) {
        execv(self, args);
        _exit(1);
    }
    child(pid, "fork and exec");
    if ((pid = vfork()) == 0) {
        execv(self, args);
        _exit(1);
    }
    child(pid, "vfork and exec");
    if (posix_spawn(&pid, self, NULL, NULL, args, environ))
        wrong++;
    else
        child(pid, "posix_spawn");
    char command[4200];
    snprintf(command, sizeof command, "'%s' first", self);
    if (system(command))
        wrong++;
    spread(work, 2);
}

/* Calls that come late: from atexit handlers registered before and after first use, from the destructor of
 * the program, from a thread that outlives main. They may fail; they may not crash or hang. */
static void late_calls(const char *where)
{
    void *p = NULL;
    int n, e = cudaMalloc(&p, 64);
    if (e == 0)
        e = cudaFree(p);
    (void)cudaGetDeviceCount(&n);
    (void)cudaDeviceSynchronize();
    if (e && e != 4 && e != INITIALIZATION && e != 46)
        printf("%s: error %d\n", where, e);
}
static bool late;
static void before(void) { late_calls("atexit before first use"); }
static void after(void) { late_calls("atexit after first use"); }
__attribute__((destructor)) static void gone(void)
{
    if (late)
        late_calls("destructor");
}
static void exits(void)
{
    late = true;
    atexit(before);
    start();
    atexit(after);
    spread(work, 2);
}

/* exit() while kernels run and are queued that would take minutes. */
static void *leave(void *arg)
{
    usleep(100000);
    printf("done\n");
    exit(0);
    return arg;
}
static void running(void)
{
    void *p;
    start();
    OK(cudaMalloc(&p, sizeof(int) * N));
    for (int i = 0; i < 50; i++)
        OK(launch(p, 1, 4000000000u, NULL));
}
static void running_thread(void)
{
    pthread_t t;
    running();
    pthread_create(&t, NULL, leave, NULL);
    (void)cudaDeviceSynchronize();
    printf("the kernels ended\n");
}
static void thread_exit(void)
{
    pthread_t t;
    start();
    pthread_create(&t, NULL, work, (void *)1);
    pthread_create(&t, NULL, leave, NULL);
    pthread_exit(NULL);
}

/* A library with kernels comes and goes; what is loaded again works, what stays is not touched. */
static void unload(void)
{
    const char *path = getenv("REACH_LIBRARY");
    start();
    for (int i = 0; i < 20; i++) {
        void *lib = dlopen(path, RTLD_NOW);
        int (*run)(void) = lib ? (int (*)(void))dlsym(lib, "plugin_run") : NULL;
        if (!run || run()) {
            printf("round %d: %s\n", i, run ? "it failed" : dlerror());
            wrong++;
            return;
        }
        dlclose(lib);
        if (i % 5 == 0)
            spread(work, 2);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {{"threads", threads},
                 {"first", first},
                 {"forks", forks},
                 {"children", children},
                 {"exits", exits},
                 {"running", running},
                 {"running_thread", running_thread},
                 {"thread_exit", thread_exit},
                 {"unload", unload}};
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return 2;
    for (unsigned i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(modes[i].name, argv[1]) == 0) {
            modes[i].run();
            printf(wrong ? "%d wrong\n" : "done\n", (int)wrong);
            return wrong ? 1 : 0;
        }
    return 2;
}
