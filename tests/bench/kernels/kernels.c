/* Kernels beside plain C: time of each relative to gcc -O3 -march=native on one core, what a second
 * core gives, first launches, launch overhead. Started without arguments it runs itself once per question,
 * because threads and caches belong to a process. Prints `bench <figure> <value> <unit>` lines; the
 * single-core figures are CPU time of the process, so that a busy machine disturbs them less. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "cuda.h"
#include "opencl.h"

enum { MIN_ROUNDS = 3, MAX_ROUNDS = 11 };
static const double round_budget_ms = 2000; /* a kernel's rounds end when this is spent */

static char folder[4096]; /* where the PTX files are: beside this program */

double now_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, by_value);
    return n ? v[n / 2] : NAN;
}

static const char *ptx_path(const char *name)
{
    static char path[5000];
    snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
    return path;
}

char *read_ptx(const char *name)
{
    const char *path = ptx_path(name);
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        exit(1);
    }
    char *text = calloc(1, 1 << 20);
    if (!text || !fread(text, 1, (1 << 20) - 1, f))
        exit(1);
    fclose(f);
    return text;
}

/* ---- one kernel ------------------------------------------------------------------------------ */

void upload(struct work *w)
{
    for (unsigned i = 0; i < w->bufs; i++) {
        struct buffer *b = &w->buf[i];
        if (!b->device) {
            cuda_check(cu.cuMemAlloc_v2(&b->device, b->size), "cuMemAlloc");
            cuda_check(cu.cuMemcpyHtoD_v2(b->device, b->data, b->size), "cuMemcpyHtoD");
        }
        if (b->role == INOUT) {
            memcpy(b->native, b->data, b->size);
            cuda_check(cu.cuMemcpyHtoD_v2(b->device, b->data, b->size), "cuMemcpyHtoD");
        }
    }
}

void launch(struct work *w, void *kernel, unsigned repeats)
{
    uint64_t pointer[6];
    void *args[9];
    for (unsigned i = 0; i < w->bufs; i++) {
        pointer[i] = w->buf[i].device + w->buf[i].shift;
        args[i] = &pointer[i];
    }
    for (unsigned i = 0; i < w->nscalars; i++)
        args[w->bufs + i] = &w->scalars[i];
    for (unsigned i = 0; i < repeats; i++)
        cuda_check(
            cu.cuLaunchKernel(kernel, w->grid[0], w->grid[1], 1, w->block[0], w->block[1], 1, 0, NULL, args, NULL),
            "cuLaunchKernel");
    cuda_check(cu.cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

static double value(const struct buffer *b, const void *data, size_t k)
{
    return b->type == 'd' ? ((const double *)data)[k] : (double)((const float *)data)[k];
}

/* Greatest difference over greatest value, or for integers the share that differs; of one buffer. */
static double buffer_difference(const struct buffer *b, const void *got)
{
    double error = 0, top = 0;
    size_t count = b->size / (b->type == 'd' ? 8 : 4);
    if (b->type == 's') { /* partial sums against one sum */
        for (size_t k = 0; k < count; k++)
            error += (double)((const float *)got)[k];
        top = (double)*(float *)b->native;
        error = fabs(error - top);
    }
    for (size_t k = 0; k < count && b->type != 's'; k++) {
        if (b->type == 'i') {
            error += ((const int *)got)[k] != ((int *)b->native)[k];
            top = (double)count;
        } else {
            double x = value(b, got, k), y = value(b, b->native, k);
            error = fabs(x - y) <= error ? error : fabs(x - y); /* a NaN stays */
            top = fmax(top, fabs(y));
        }
    }
    return error > 0 ? error / top : error;
}

/* The worst buffer of the CUDA kernel, or of its OpenCL twin if there is one. */
static double difference(struct work *w, const struct opencl_kernel *twin)
{
    double worst = 0;
    for (unsigned i = 0; i < w->bufs; i++) {
        struct buffer *b = &w->buf[i];
        if (b->role == IN || b->type == '-')
            continue;
        void *copy = twin ? NULL : malloc(b->size);
        if (!twin && !copy)
            exit(1);
        if (!twin)
            cuda_check(cu.cuMemcpyDtoH_v2(copy, b->device, b->size), "cuMemcpyDtoH");
        double error = buffer_difference(b, twin ? opencl_data(twin, i) : copy);
        worst = error <= worst ? worst : error;
        free(copy);
    }
    return worst;
}

void drop(struct work *w)
{
    for (unsigned i = 0; i < w->bufs; i++) {
        cu.cuMemFree_v2(w->buf[i].device);
        if (w->buf[i].native != w->buf[i].data)
            free(w->buf[i].native);
        free(w->buf[i].data);
    }
}

bool chosen(const struct bench_case *c, char **names)
{
    if (!*names)
        return !access(ptx_path(c->file), R_OK); /* CUB's kernel is there with nvcc only */
    for (; *names; names++)
        if (!strcmp(*names, c->name))
            return true;
    return false;
}

/* ---- the questions --------------------------------------------------------------------------- */

void set_one_cpu(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

struct timing { /* of one kernel, a round after the other */
    double kernel_ms[MAX_ROUNDS], native_ms[MAX_ROUNDS], opencl_ms[MAX_ROUNDS];
    double vs_native[MAX_ROUNDS], vs_opencl[MAX_ROUNDS];
    unsigned rounds;
};

/* The three take turns. */
static void time_rounds(struct timing *t, const struct bench_case *c, struct work *w, void *kernel,
                        struct opencl_kernel *twin)
{
    double spent = 0;
    for (unsigned r = 0; r < MIN_ROUNDS || (r < MAX_ROUNDS && spent < round_budget_ms); r++) {
        upload(w);
        double start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        for (unsigned i = 0; i < c->repeats; i++)
            c->native(w);
        double mid = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        launch(w, kernel, c->repeats);
        double end = now_ms(CLOCK_PROCESS_CPUTIME_ID);
        t->native_ms[r] = mid - start;
        t->kernel_ms[r] = end - mid;
        t->vs_native[r] = t->kernel_ms[r] / t->native_ms[r];
        spent += end - start;
        if (twin) {
            opencl_reset(twin, w);
            start = now_ms(CLOCK_PROCESS_CPUTIME_ID);
            opencl_launch(twin, w, c->repeats);
            t->opencl_ms[r] = now_ms(CLOCK_PROCESS_CPUTIME_ID) - start;
            t->vs_opencl[r] = t->kernel_ms[r] / t->opencl_ms[r];
            spent += t->opencl_ms[r];
        }
        t->rounds = r + 1;
    }
}

static int ask_ratios(char **names)
{
    double logs = 0, worst = 0, opencl_logs = 0;
    unsigned count = 0, wrong = 0;
    set_one_cpu();
    const char *no_opencl = opencl_open();
    cuda_open();
    for (const struct bench_case *c = bench_cases; c->name; c++) {
        if (!chosen(c, names))
            continue;
        struct work w = {.n = c->full};
        struct timing t = {.rounds = 0};
        c->make(&w);
        char *ptx = read_ptx(c->file);
        void *kernel = cuda_kernel(ptx, "kernel");
        struct opencl_kernel *twin = no_opencl ? NULL : opencl_kernel(folder, c->file, &w);
        upload(&w);
        launch(&w, kernel, 1); /* translation and first touch */
        if (twin)
            opencl_launch(twin, &w, 1);
        time_rounds(&t, c, &w, kernel, twin);
        double error = difference(&w, NULL), twin_error = twin ? difference(&w, twin) : 0;
        bool right = error <= c->tolerance && twin_error <= c->tolerance;
        double r = median(t.vs_native, t.rounds);
        printf("bench kernels.%s %.3f ratio (%.2f ms, native %.2f ms, %u rounds, difference %.1e%s)\n", c->name, r,
               median(t.kernel_ms, t.rounds), median(t.native_ms, t.rounds), t.rounds, error, right ? "" : ", WRONG");
        if (twin) {
            double p = median(t.vs_opencl, t.rounds);
            printf("bench kernels.%s_vs_pocl %.3f ratio (POCL %.2f ms, difference %.1e)\n", c->name, p,
                   median(t.opencl_ms, t.rounds), twin_error);
            opencl_logs += log(p);
            opencl_drop(twin);
        }
        fflush(stdout);
        wrong += !right;
        logs += log(r);
        worst = fmax(worst, r);
        count++;
        drop(&w);
        free(ptx);
    }
    printf("bench kernels.geomean_vs_native %.3f ratio\n", exp(logs / count));
    printf("bench kernels.worst_vs_native %.3f ratio\n", worst);
    if (no_opencl)
        printf("kernels: not compared with POCL: %s\n", no_opencl);
    else
        printf("bench kernels.geomean_vs_pocl %.3f ratio\n", exp(opencl_logs / count));
    return wrong != 0;
}

/* Wall time of compute-bound kernels, for the parent to compare over threads. */
static int ask_compute(char **names)
{
    cuda_open();
    for (const struct bench_case *c = bench_cases; c->name; c++) {
        if (!c->compute || !chosen(c, names))
            continue;
        struct work w = {.n = c->full};
        double ms[3];
        c->make(&w);
        void *kernel = cuda_kernel(read_ptx(c->file), "kernel");
        upload(&w);
        launch(&w, kernel, 1);
        for (unsigned r = 0; r < 3; r++) {
            upload(&w);
            double start = now_ms(CLOCK_MONOTONIC);
            launch(&w, kernel, 1);
            ms[r] = now_ms(CLOCK_MONOTONIC) - start;
        }
        printf("%s %.4f\n", c->name, median(ms, 3));
        drop(&w);
    }
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const struct question {
    const char *name;
    int (*ask)(char **names);
} questions[] = {{"ratios", ask_ratios},           {"compute", ask_compute}, {"first", ask_first},
                 {"instruction", ask_instruction}, {"launch", ask_launch},   {0}};

static FILE *start(const char *question, const char *threads)
{
    char command[8192];
    if (threads)
        setenv("CUMU_HOST_THREADS", threads, 1);
    else
        unsetenv("CUMU_HOST_THREADS");
    snprintf(command, sizeof command, "exec '%s/kernels' %s", folder, question);
    FILE *f = popen(command, "r");
    if (!f) {
        perror("bench: popen");
        exit(1);
    }
    return f;
}

/* Passes a child's lines on; true when it succeeded. */
static bool pass_on(FILE *f)
{
    char line[512];
    while (fgets(line, sizeof line, f)) {
        fputs(line, stdout);
        fflush(stdout);
    }
    return pclose(f) == 0;
}

static void *spin(void *arg)
{
    volatile unsigned x = 1;
    for (unsigned i = 0; i < 30000000; i++)
        x = x * 3 + 1;
    return arg;
}

/* What two plain threads get done on this machine now, in units of one: 2 where two CPUs are idle. */
static double plain_threads(void)
{
    pthread_t thread;
    double begin = now_ms(CLOCK_MONOTONIC);
    spin(NULL);
    double mid = now_ms(CLOCK_MONOTONIC);
    if (pthread_create(&thread, NULL, spin, NULL))
        return NAN;
    spin(NULL);
    pthread_join(thread, NULL);
    return 2 * (mid - begin) / (now_ms(CLOCK_MONOTONIC) - mid);
}

static void two_cores(void)
{
    enum { PASSES = 3 };
    double ms[2][CASES][PASSES], plain[PASSES], logs = 0;
    char name[CASES][64];
    unsigned count = 0;
    for (unsigned pass = 0; pass < PASSES; pass++) {
        for (unsigned t = 0; t < 2; t++) {
            FILE *f = start("compute", t ? "2" : "1");
            count = 0;
            while (count < CASES && fscanf(f, "%63s %lf", name[count], &ms[t][count][pass]) == 2)
                count++;
            pclose(f);
        }
        plain[pass] = plain_threads();
    }
    if (!count)
        return;
    for (unsigned i = 0; i < count; i++) {
        double speedup = median(ms[0][i], PASSES) / median(ms[1][i], PASSES);
        printf("bench kernels.two_cores.%s %.2f ratio\n", name[i], speedup);
        logs += log(speedup);
    }
    printf("bench kernels.two_cores_speedup %.2f ratio\n", exp(logs / count));
    printf("bench kernels.two_plain_threads %.2f ratio\n", median(plain, PASSES));
}

/* A child's only number as a figure, asked in the mode `jit`. */
static void one_number(const char *figure, const char *unit, const char *question, const char *jit, const char *threads)
{
    double v;
    setenv("CUMU_JIT", jit, 1);
    FILE *f = start(question, threads);
    if (fscanf(f, "%lf", &v) == 1)
        printf("bench %s %.2f %s\n", figure, v, unit);
    pclose(f);
}

static int usage(void)
{
    fputs("usage: cumu run --backend host -- kernels [question [kernel...]]\n"
          "questions: ratios compute first instruction launch; without one, all of them as `make bench` asks\n"
          "CUMU_JIT=0 asks tier 0, CUMU_JIT=wait (the default here) tier 1\n",
          stderr);
    return 2;
}

int main(int argc, char **argv)
{
    ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (n < 0)
        return 1;
    *strrchr(folder, '/') = 0;
    if (argc > 1) {
        for (const struct question *q = questions; q->name; q++)
            if (!strcmp(q->name, argv[1]))
                return q->ask(argv + 2);
        return usage();
    }
    const char *set = getenv("CUMU_JIT");
    char jit[16];
    snprintf(jit, sizeof jit, "%s", set ? set : "wait");
    setenv("CUMU_JIT", jit, 1);
    printf("kernels: CUMU_JIT=%s: %s\n", jit,
           !strcmp(jit, "0")      ? "tier 0, the interpreter"
           : !strcmp(jit, "wait") ? "tier 1, compiled before the launch"
                                  : "tier 0 until tier 1 is ready");
    bool good = pass_on(start("ratios", "1"));
    two_cores();
    one_number("kernels.warp_instruction_tier0", "ns", "instruction", "0", "1");
    one_number("kernels.warp_instruction", "ns", "instruction", jit, "1");
    good &= pass_on(start("launch", NULL));
    /* The first launch of a new kernel is tier 0's; this process has compiled all of them by now. */
    one_number("kernels.first_launch_ms", "ms", "first", "0", NULL);
    one_number("kernels.warm_launch_ms", "ms", "first", jit, NULL);
    return good ? 0 : 1;
}
