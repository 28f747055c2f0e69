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

enum { MIN_ROUNDS = 3, MAX_ROUNDS = 11, CASES = 32 };
static const double round_budget_ms = 2000; /* a kernel's rounds end when this is spent */

static char folder[4096]; /* where the PTX files are: beside this program */

static double now_ms(clockid_t clock)
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

static double median(double *v, unsigned n)
{
    qsort(v, n, sizeof *v, by_value);
    return n ? v[n / 2] : NAN;
}

static char *read_ptx(const char *name)
{
    char path[5000];
    snprintf(path, sizeof path, "%s/%s.ptx", folder, name);
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

static void upload(struct work *w)
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

static void launch(struct work *w, void *kernel, unsigned repeats)
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
        cuda_check(cu.cuLaunchKernel(kernel, w->grid[0], w->grid[1], 1, w->block[0], w->block[1], 1,
                                     0, NULL, args, NULL), "cuLaunchKernel");
    cuda_check(cu.cuStreamSynchronize(NULL), "cuStreamSynchronize");
}

static double value(const struct buffer *b, const void *data, size_t k)
{
    return b->type == 'd' ? ((const double *)data)[k] : (double)((const float *)data)[k];
}

/* Greatest difference over greatest value, or for integers the share that differs. */
static double difference(struct work *w)
{
    double worst = 0;
    for (unsigned i = 0; i < w->bufs; i++) {
        struct buffer *b = &w->buf[i];
        if (b->role == IN)
            continue;
        void *got = malloc(b->size);
        if (!got)
            exit(1);
        cuda_check(cu.cuMemcpyDtoH_v2(got, b->device, b->size), "cuMemcpyDtoH");
        double error = 0, top = 0;
        size_t count = b->size / (b->type == 'd' ? 8 : 4);
        if (b->type == 's') { /* partial sums against one sum */
            for (size_t k = 0; k < count; k++)
                error += (double)((float *)got)[k];
            top = (double)*(float *)b->native;
            error = fabs(error - top);
        }
        for (size_t k = 0; k < count && b->type != 's'; k++) {
            if (b->type == 'i') {
                error += ((int *)got)[k] != ((int *)b->native)[k];
                top = (double)count;
            } else {
                double x = value(b, got, k), y = value(b, b->native, k);
                error = fabs(x - y) <= error ? error : fabs(x - y); /* a NaN stays */
                top = fmax(top, fabs(y));
            }
        }
        error = error > 0 ? error / top : error;
        worst = error <= worst ? worst : error;
        free(got);
    }
    return worst;
}

static void drop(struct work *w)
{
    for (unsigned i = 0; i < w->bufs; i++) {
        cu.cuMemFree_v2(w->buf[i].device);
        if (w->buf[i].native != w->buf[i].data)
            free(w->buf[i].native);
        free(w->buf[i].data);
    }
}

static bool chosen(const struct bench_case *c, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (!strcmp(*names, c->name))
            return true;
    return false;
}

/* ---- the questions --------------------------------------------------------------------------- */

static const clockid_t cpu = CLOCK_PROCESS_CPUTIME_ID, wall = CLOCK_MONOTONIC;

static void set_one_cpu(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

static int ask_ratios(char **names)
{
    double logs = 0, worst = 0;
    unsigned count = 0, wrong = 0;
    set_one_cpu();
    cuda_open();
    for (const struct bench_case *c = bench_cases; c->name; c++) {
        if (!chosen(c, names))
            continue;
        struct work w = {.n = c->full};
        double kernel_ms[MAX_ROUNDS], native_ms[MAX_ROUNDS], ratio[MAX_ROUNDS], spent = 0, error;
        unsigned rounds = 0;
        c->make(&w);
        char *ptx = read_ptx(c->file);
        void *kernel = cuda_kernel(ptx, "kernel");
        upload(&w);
        launch(&w, kernel, 1); /* translation and first touch */
        while (rounds < MIN_ROUNDS || (rounds < MAX_ROUNDS && spent < round_budget_ms)) {
            upload(&w);
            double start = now_ms(cpu);
            for (unsigned i = 0; i < c->repeats; i++)
                c->native(&w);
            double mid = now_ms(cpu);
            launch(&w, kernel, c->repeats);
            double end = now_ms(cpu);
            native_ms[rounds] = mid - start;
            kernel_ms[rounds] = end - mid;
            ratio[rounds] = kernel_ms[rounds] / native_ms[rounds];
            spent += end - start;
            rounds++;
        }
        error = difference(&w);
        bool right = error <= c->tolerance;
        double r = median(ratio, rounds);
        printf("bench kernels.%s %.3f ratio ", c->name, r);
        printf("(%.2f ms, native %.2f ms, %u rounds, difference %.1e%s)\n", median(kernel_ms, rounds),
               median(native_ms, rounds), rounds, error, right ? "" : ", WRONG");
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
            double start = now_ms(wall);
            launch(&w, kernel, 1);
            ms[r] = now_ms(wall) - start;
        }
        printf("%s %.4f\n", c->name, median(ms, 3));
        drop(&w);
    }
    return 0;
}

static const char empty_ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() { ret; }\n";

/* From PTX text to the end of its first launch, a small one; median over the kernels. */
static int ask_first(char **names)
{
    double ms[CASES];
    unsigned count = 0;
    cuda_open();
    void *empty = cuda_kernel(empty_ptx, "k");
    struct work none = {.grid = {1, 1}, .block = {32, 1}};
    launch(&none, empty, 1); /* threads started */
    for (const struct bench_case *c = bench_cases; c->name; c++) {
        if (!chosen(c, names) || !strcmp(c->name, "saxpy_cache")) /* its text is saxpy_dram's */
            continue;
        struct work w = {.n = c->tiny};
        c->make(&w);
        char *ptx = read_ptx(c->file);
        upload(&w);
        double start = now_ms(wall);
        launch(&w, cuda_kernel(ptx, "kernel"), 1);
        ms[count++] = now_ms(wall) - start;
        if (names[0])
            printf("%s %.3f ms\n", c->name, ms[count - 1]);
        drop(&w);
    }
    printf("%.3f\n", median(ms, count));
    return 0;
}

static const char loop_ptx[] =
    ".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k(.param .u32 n) {\n"
    ".reg .u32 %n, %a, %b, %i; .reg .pred %p;\n"
    "ld.param.u32 %n, [n]; mov.u32 %a, %tid.x; mov.u32 %b, %laneid; mov.u32 %i, 0;\n"
    "LOOP:\n"
#define STEP "xor.b32 %a, %a, %b; mad.lo.u32 %b, %b, %a, 7; sub.u32 %a, %a, %b; or.b32 %b, %b, 1;\n"
    STEP STEP STEP STEP STEP STEP STEP
    "add.u32 %i, %i, 1; setp.lt.u32 %p, %i, %n; @%p bra LOOP;\n"
    "setp.ne.u32 %p, %a, 0x12345; @%p bra DONE; st.global.u32 [0], %a;\nDONE: ret; }\n";

/* What one warp instruction costs in a loop of integer arithmetic. */
static int ask_instruction(char **names)
{
    enum { LOOPS = 20000, ROUNDS = 15, STEPS = 7 * 4 + 3 };
    double ns[ROUNDS];
    struct work one = {.grid = {1, 1}, .block = {32, 1}, .nscalars = 1, .scalars = {LOOPS}};
    (void)names;
    set_one_cpu();
    cuda_open();
    void *loop = cuda_kernel(loop_ptx, "k");
    launch(&one, loop, 1);
    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ms(cpu);
        launch(&one, loop, 1);
        ns[r] = (now_ms(cpu) - start) * 1e6 / LOOPS / STEPS;
    }
    printf("%.3f\n", median(ns, ROUNDS));
    return 0;
}

/* Launch and synchronisation of a kernel that does nothing on a small grid, on all CPUs. */
static int ask_launch(char **names)
{
    enum { LAUNCHES = 200, ROUNDS = 31 };
    double us[ROUNDS];
    struct work small = {.grid = {8, 1}, .block = {128, 1}};
    (void)names;
    cuda_open();
    void *empty = cuda_kernel(empty_ptx, "k");
    launch(&small, empty, 1);
    for (int r = 0; r < ROUNDS; r++) {
        double start = now_ms(wall);
        for (int i = 0; i < LAUNCHES; i++)
            launch(&small, empty, 1);
        us[r] = (now_ms(wall) - start) * 1e3 / LAUNCHES;
    }
    printf("%.3f\n", median(us, ROUNDS));
    return 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const struct question {
    const char *name;
    int (*ask)(char **names);
} questions[] = {
    {"ratios", ask_ratios}, {"compute", ask_compute}, {"first", ask_first},
    {"instruction", ask_instruction}, {"launch", ask_launch}, {0},
};

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
    double begin = now_ms(wall);
    spin(NULL);
    double mid = now_ms(wall);
    if (pthread_create(&thread, NULL, spin, NULL))
        return NAN;
    spin(NULL);
    pthread_join(thread, NULL);
    return 2 * (mid - begin) / (now_ms(wall) - mid);
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
static void one_number(const char *figure, const char *unit, const char *question, const char *jit,
                       const char *threads)
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
          "CUMU_JIT=0 asks tier 0, CUMU_JIT=wait (the default here) tier 1\n", stderr);
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
           !strcmp(jit, "0") ? "tier 0, the interpreter" :
           !strcmp(jit, "wait") ? "tier 1, compiled before the launch" : "tier 0 until tier 1 is ready");
    bool good = pass_on(start("ratios", "1"));
    two_cores();
    one_number("kernels.warp_instruction_tier0", "ns", "instruction", "0", "1");
    one_number("kernels.warp_instruction", "ns", "instruction", jit, "1");
    one_number("launch.small_grid_sync", "us", "launch", jit, NULL);
    /* The first launch of a new kernel is tier 0's; this process has compiled all of them by now. */
    one_number("kernels.first_launch_ms", "ms", "first", "0", NULL);
    one_number("kernels.warm_launch_ms", "ms", "first", jit, NULL);
    return good ? 0 : 1;
}
