/* NVML beside CUDA in real processes: who holds how much memory, threads, forks, wrong handles. Both libraries are
 * opened by name, as programs do. One argument says what to do. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INSUFFICIENT_SIZE = 7, UNINITIALIZED = 1, INVALID = 2 };

struct process {
    unsigned pid;
    unsigned long long bytes;
    unsigned at[2];
};
struct memory {
    unsigned long long total, free, used;
};

static void *nvml, *runtime;
static int bad;

static void told(const char *what, int good)
{
    printf("%s %s\n", good ? "ok" : "not ok", what);
    fflush(stdout);
    bad |= !good;
}

#define NVML(name, ...) ((int (*)())dlsym(nvml, #name))(__VA_ARGS__)
#define CUDA(name, ...) ((int (*)())dlsym(runtime, #name))(__VA_ARGS__)

static void *device(unsigned i)
{
    void *d = NULL;
    return NVML(nvmlDeviceGetHandleByIndex_v2, i, &d) ? NULL : d;
}

static unsigned long long held_by(void *d, pid_t pid)
{
    struct process p[256];
    unsigned n = 256;
    if (NVML(nvmlDeviceGetComputeRunningProcesses_v3, d, &n, p))
        return ~0ull;
    for (unsigned i = 0; i < n; i++)
        if (p[i].pid == (unsigned)pid)
            return p[i].bytes;
    return 0;
}

static int is_sum(void *d)
{
    for (int i = 0; i < 200; i++) {
        struct process p[256];
        struct memory m;
        unsigned long long sum = 0;
        unsigned n = 256;
        int r = NVML(nvmlDeviceGetComputeRunningProcesses_v3, d, &n, p);
        for (unsigned k = 0; !r && k < n; k++)
            sum += p[k].bytes;
        if (!r && !NVML(nvmlDeviceGetMemoryInfo, d, &m) && m.used == (sum < m.total ? sum : m.total))
            return 1;
        usleep(20000);
    }
    return 0;
}

/* This process, and one that it starts, which holds 32 MiB until its input ends. */
static void memory(char *self)
{
    struct memory m = {0, 0, 0};
    size_t left = 0, total = 0;
    void *p = NULL, *d = device(0);
    told("nobody holds what nobody took", held_by(d, getpid()) == 0);
    CUDA(cudaMalloc, &p, (size_t)64 << 20);
    CUDA(cudaMemGetInfo, &left, &total);
    NVML(nvmlDeviceGetMemoryInfo, d, &m);
    told("the total is CUDA's", m.total == total);
    told("this process holds what CUDA says it took", held_by(d, getpid()) == total - left);
    int in[2], out[2];
    char line[16] = "";
    if (pipe(in) || pipe(out))
        return;
    pid_t child = fork();
    if (!child) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        execl(self, self, "hold", (char *)NULL);
        _exit(1);
    }
    told("another process started", read(out[0], line, 8) > 0);
    for (int i = 0; i < 100 && !held_by(d, child); i++) /* new processes are looked for now and then */
        usleep(50000);
    told("another process's memory is seen", held_by(d, child) >= (size_t)32 << 20);
    told("the device's is the sum", is_sum(d)); /* with others' that run at the same time */
    close(in[1]);
    waitpid(child, NULL, 0);
    told("an ended process holds nothing", held_by(d, child) == 0);
    CUDA(cudaFree, p);
    unsigned n = 0;
    told("a list that is too short says how long it would be",
         NVML(nvmlDeviceGetComputeRunningProcesses_v3, d, &n, NULL) == INSUFFICIENT_SIZE && n >= 1);
}

static int hold(void)
{
    void *p = NULL;
    char c;
    if (CUDA(cudaMalloc, &p, (size_t)32 << 20))
        return 1;
    puts("held");
    fflush(stdout);
    return read(0, &c, 1) < 0;
}

static void forks(void)
{
    unsigned n = 0;
    pid_t child = fork();
    int status;
    if (!child) {
        int count = 0;
        void *p = NULL;
        int fine = !NVML(nvmlInit_v2) && !NVML(nvmlDeviceGetCount_v2, &n) && n >= 1 && device(0) &&
                   !CUDA(cudaGetDeviceCount, &count) && !CUDA(cudaMalloc, &p, (size_t)1024);
        _exit(!fine);
    }
    waitpid(child, &status, 0);
    told("a child may use CUDA after its parent used NVML", status == 0);
    void *p = NULL;
    CUDA(cudaMalloc, &p, (size_t)1024);
    if (!(child = fork()))
        _exit(!(!NVML(nvmlDeviceGetCount_v2, &n) && n >= 1 && held_by(device(0), getpid()) == 0));
    waitpid(child, &status, 0);
    told("NVML works in a child of a CUDA process, which holds nothing itself", status == 0);
    CUDA(cudaFree, p);
}

static void *hammer(void *arg)
{
    long wrong = 0;
    for (int i = 0; i < 200; i++) {
        struct memory m;
        char text[96];
        unsigned n = 0;
        wrong += NVML(nvmlInit_v2) != 0;
        void *d = device(0);
        wrong += !d || NVML(nvmlDeviceGetName, d, text, 96u) || NVML(nvmlDeviceGetUUID, d, text, 96u);
        if (i % 50 == 0)
            wrong += NVML(nvmlDeviceGetMemoryInfo, d, &m) != 0;
        wrong += NVML(nvmlDeviceGetCount_v2, &n) || !n;
        wrong += NVML(nvmlShutdown) != 0;
    }
    *(long *)arg = wrong;
    return NULL;
}

static void threads(void)
{
    enum { THREADS = 8 };
    pthread_t t[THREADS];
    long wrong[THREADS], all = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, hammer, &wrong[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        all += wrong[i];
    }
    told("eight threads start, ask and end it", all == 0);
}

/* Every function of the list on standard input, with nothing, and with a handle that is none. */
static void hostile(void)
{
    char name[128];
    unsigned asked = 0, missing = 0, silent = 0;
    static char junk[4096];
    while (fgets(name, sizeof name, stdin)) {
        name[strcspn(name, "\n")] = 0;
        int (*f)() = (int (*)())dlsym(nvml, name);
        asked++;
        missing += !f;
        if (!f || strstr(name, "Init") || strstr(name, "Shutdown") || strstr(name, "ErrorString"))
            continue;
        int r = f(NULL, NULL, NULL, NULL, NULL, NULL);
        silent += r == 0;
        r = strncmp(name, "nvmlDevice", 10) || strstr(name, "GetCount") ? 1 : f(junk, NULL, NULL, NULL, NULL, NULL);
        silent += r == 0;
    }
    told("every function is there", asked > 400 && !missing);
    told("and none succeeds with nothing to write to", silent == 0);
}

static void ends(void)
{
    unsigned n;
    NVML(nvmlShutdown);
    told("after the end nothing is answered",
         NVML(nvmlDeviceGetCount_v2, &n) == UNINITIALIZED && NVML(nvmlShutdown) == UNINITIALIZED);
    void *was = NULL;
    NVML(nvmlInit_v2);
    was = device(0);
    NVML(nvmlShutdown);
    NVML(nvmlInit_v2);
    told("a handle outlives an end and a new start", was && was == device(0));
    told("a handle that is none is refused", NVML(nvmlDeviceGetIndex, &n, &n) == INVALID);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
    if (!nvml) {
        printf("no NVML: %s\n", dlerror());
        return 1;
    }
    if (strcmp(what, "init") == 0) {
        printf("init %d\n", NVML(nvmlInit_v2));
        return 0;
    }
    runtime = dlopen("libcudart.so.13", RTLD_NOW);
    if (!runtime)
        return 1;
    if (strcmp(what, "hold") == 0)
        return hold();
    unsigned n = 0;
    if (NVML(nvmlInit_v2) || NVML(nvmlDeviceGetCount_v2, &n))
        return 1;
    if (strcmp(what, "count") == 0) {
        int seen = -1;
        CUDA(cudaGetDeviceCount, &seen);
        printf("NVML %u CUDA %d\n", n, seen);
        return 0;
    }
    if (strcmp(what, "hostile") == 0) {
        hostile();
        return bad;
    }
    forks();
    memory(argv[0]);
    threads();
    ends();
    return bad;
}
