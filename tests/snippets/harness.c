/* Replays the snippets in one of several situations: `main`, in a `thread`, in a library `constructor`, in
 * a `fork`ed child, at once in `twothreads` and 64 `manythreads`; and, built with VIA_LOOKUP, with every
 * symbol looked up by `dlsym` or, where it gives the same one, `procaddress`. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <stdbool.h>
#include "snippet.h"

// clang-format off
static const struct { const char *name; void (*run)(void); } topics[] = {
    {"device", snippet_device},     {"error", snippet_error},   {"registration", snippet_registration},
    {"function", snippet_function}, {"memory", snippet_memory}, {"batch", snippet_batch}, {"texture", snippet_texture},
    {"reference", snippet_reference}, {"newer", snippet_newer}, {"layout", snippet_layout},
    {"library", snippet_library},
    {"graph", snippet_graph},       {"graph_driver", snippet_graph_driver},
    {"attribute", snippet_attribute},
    {"module", snippet_module},     {"entry", snippet_entry},   {"context", snippet_context},
    {"compiler", snippet_compiler}, {"nccl", snippet_nccl}, {"nvml", snippet_nvml}, {"cublas", snippet_cublas},
    {"cusolver", snippet_cusolver},
    {"cusolver_sparse", snippet_cusolver_sparse},
    {"cusolver_mg", snippet_cusolver_mg},
    {"cublaslt", snippet_cublaslt}, {"cublas_more", snippet_cublas_more}, {"cublas_plain", snippet_cublas_plain},
    {"cufft", snippet_cufft}, {"cufftw", snippet_cufftw}, {"nvjpeg", snippet_nvjpeg}, {"npp", snippet_npp},
    {"cufile", snippet_cufile}, {"curand", snippet_curand},
    {"cusparse", snippet_cusparse}, {"cusparselt", snippet_cusparselt}, {"cudnn", snippet_cudnn},
    {"cudnn_legacy", snippet_cudnn_legacy}, {"nvtx", snippet_nvtx},
    {"cupti", snippet_cupti}
};
// clang-format on
enum { TOPICS = sizeof topics / sizeof *topics };

static const char *mode = "main";

static void *library(const char *soname)
{
    void *lib = dlopen(soname, RTLD_NOW);
    if (!lib) {
        printf("not ok dlopen %s: %s\n", soname, dlerror());
        exit(1);
    }
    return lib;
}

static void *named(const char *soname, const char *name)
{
    void *p = dlsym(library(soname), name);
    if (!p) {
        printf("not ok dlsym %s in %s\n", name, soname);
        exit(1);
    }
    return p;
}

/* cuGetProcAddress under the base name; NULL unless it gives the very export we want. */
static void *by_procaddress(const char *name)
{
    int (*get)(const char *, void **, int, unsigned long long, int *) =
        (int (*)(const char *, void **, int, unsigned long long, int *))named("libcuda.so.1", "cuGetProcAddress_v2");
    char base[128];
    void *p = NULL;
    unsigned long long flags = 0;
    int status;
    snprintf(base, sizeof base, "%s", name);
    char *suffix = strstr(base, "_pt");
    if (suffix) {
        *suffix = 0;
        flags = 2;
    }
    size_t n = strlen(base);
    if (n > 3 && base[n - 3] == '_' && base[n - 2] == 'v')
        base[n - 3] = 0;
    return get(base, &p, 13000, flags, &status) == 0 && p == named("libcuda.so.1", name) ? p : NULL;
}

/* Facades of CUDA 11, 12 and 13, by how the names of their functions begin; the first that fits. */
static const struct home {
    const char *prefix, *soname[3];
} homes[] = {
    {"cublasLt", {"libcublasLt.so.11", "libcublasLt.so.12", "libcublasLt.so.13"}},
    {"cudnn", {"libcudnn.so.8", "libcudnn.so.9", "libcudnn.so.9"}},
    {"cublas", {"libcublas.so.11", "libcublas.so.12", "libcublas.so.13"}},
    {"cufft", {"libcufft.so.10", "libcufft.so.11", "libcufft.so.12"}},
    {"nvjpeg", {"libnvjpeg.so.11", "libnvjpeg.so.12", "libnvjpeg.so.13"}},
    {"npp", {"libnppc.so.11", "libnppc.so.12", "libnppc.so.13"}},
    {"cuFile", {"libcufile.so.0", "libcufile.so.0", "libcufile.so.0"}},
    {"fftw", {"libcufftw.so.10", "libcufftw.so.11", "libcufftw.so.12"}},
    {"curand", {"libcurand.so.10", "libcurand.so.10", "libcurand.so.10"}},
    {"cusolverMg", {"libcusolverMg.so.11", "libcusolverMg.so.11", "libcusolverMg.so.12"}},
    {"cusolver", {"libcusolver.so.11", "libcusolver.so.11", "libcusolver.so.12"}},
    {"cusparseLt", {"libcusparseLt.so.0", "libcusparseLt.so.0", "libcusparseLt.so.0"}},
    {"cusparse", {"libcusparse.so.11", "libcusparse.so.12", "libcusparse.so.12"}},
    {"nccl", {"libnccl.so.2", "libnccl.so.2", "libnccl.so.2"}},
    {"nvtx", {"libnvToolsExt.so.1", "libnvToolsExt.so.1", "libnvtx3interop.so.1"}},
    {"cupti", {"libcupti.so.11.8", "libcupti.so.12", "libcupti.so.13"}},
    {"InitializeInjection", {"libcupti.so.11.8", "libcupti.so.12", "libcupti.so.13"}},
    {"nvml", {"libnvidia-ml.so.1", "libnvidia-ml.so.1", "libnvidia-ml.so.1"}},
    {"nvJitLink", {"libnvJitLink.so.12", "libnvJitLink.so.12", "libnvJitLink.so.13"}},
    {"nvrtc", {"libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13"}},
    {"cuda", {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"}},
    {"cu", {"libcuda.so.1", "libcuda.so.1", "libcuda.so.1"}},
    {"", {"libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13"}},
};

static const struct home *home_of(const char *name)
{
    const struct home *h = homes;
    while (strncmp(name, h->prefix, strlen(h->prefix)) != 0)
        h++;
    return h;
}

void *snippet_symbol(const char *name)
{
    const char *soname = home_of(name)->soname[2];
    bool driver = strcmp(soname, "libcuda.so.1") == 0;
    if (driver && strcmp(mode, "procaddress") == 0) {
        void *p = by_procaddress(name);
        if (p)
            return p;
    }
    return named(soname, name);
}

void *snippet_versioned(int version, const char *name) { return named(home_of(name)->soname[version - 11], name); }

/* The core makes its names visible to all. */
bool snippet_below(const char *name) { return dlsym(RTLD_DEFAULT, name) != NULL; }
bool snippet_alone(void) { return strcmp(mode, "twothreads") != 0 && strcmp(mode, "manythreads") != 0; }

static void *run(void *arg)
{
    (void)arg;
    for (int i = 0; i < TOPICS; i++) {
        int before = check_failures;
        topics[i].run();
        if (check_failures == before)
            printf("ok %s: %s\n", mode, topics[i].name);
    }
    fflush(stdout);
    return NULL;
}

static void run_thread(void)
{
    pthread_t t;
    pthread_create(&t, NULL, run, NULL);
    pthread_join(t, NULL);
}

/* Several threads at once, without the topics that change what the other looks at: the program's variables,
 * the device's state. Captures have a phase of their own: synchronising the device would break them. */
static void *run_shared(void *arg)
{
    bool before = false;
    for (int i = 0; i < TOPICS; i++) {
        bool captures = topics[i].run == snippet_graph || topics[i].run == snippet_graph_driver;
        if (captures != before)
            pthread_barrier_wait(arg);
        before = captures;
        if (topics[i].run != snippet_memory && topics[i].run != snippet_batch && topics[i].run != snippet_context &&
            topics[i].run != snippet_cublas_plain)
            topics[i].run();
    }
    return NULL;
}
static void run_threads(int n)
{
    pthread_t t[64];
    pthread_barrier_t phase;
    pthread_barrier_init(&phase, NULL, (unsigned)n);
    for (int i = 0; i < n; i++)
        pthread_create(&t[i], NULL, run_shared, &phase);
    for (int i = 0; i < n; i++)
        pthread_join(t[i], NULL);
    if (!check_failures)
        printf("ok %s\n", mode);
}

/* The parent has not touched CUDA: the child may. Afterwards the parent does, and its next child may not. */
static void run_fork(void)
{
    fflush(stdout);
    pid_t pid = fork();
    int status = -1;
    if (pid == 0) {
        run(NULL);
        fflush(stdout);
        _exit(check_failures ? 1 : 0);
    }
    waitpid(pid, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    OK(M(cudaFree, musaFree)(NULL));
    pid = fork();
    if (pid == 0) {
        void *p;
        _exit(M(cudaMalloc, musaMalloc)(&p, 16) == cudaErrorInitializationError ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    if (!check_failures)
        printf("ok fork: a child of a process that used CUDA is told so\n");
}

static void __attribute__((constructor)) in_constructor(void)
{
    if (getenv("SNIPPET_CONSTRUCTOR")) {
        mode = "constructor";
        run(NULL);
        _exit(check_failures ? 1 : 0);
    }
}

/* For Python's ctypes, which loads this file as a library. */
__attribute__((visibility("default"))) int snippets_run(void)
{
    mode = "ctypes";
    run(NULL);
    return check_failures;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        mode = argv[1];
    if (strcmp(mode, "thread") == 0)
        run_thread();
    else if (strcmp(mode, "twothreads") == 0)
        run_threads(2);
    else if (strcmp(mode, "manythreads") == 0)
        run_threads(64);
    else if (strcmp(mode, "fork") == 0)
        run_fork();
    else
        run(NULL);
    return check_failures ? 1 : 0;
}
