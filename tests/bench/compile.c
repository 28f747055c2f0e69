/* What it takes to compile kernels of real libraries: bytes of C that tier 1 emits, CPU time, memory of the compiler.
 *
 * compile FOLDER [N]: N kernels (200) of the folder's PTX files, evenly spread over them all, for blocks of whole warps
 * and this CPU's vectors. CUMU_BENCH_BEFORE names another build's program of this kind, which is asked for each kernel
 * in turn, so that other load falls on both. CUMU_BENCH_TABLE=FILE: a line a kernel. CUMU_BENCH_BASELINE=1: the
 * baseline generator alone, without a compiler.
 * compile --one FILE NUMBER: of one kernel: milliseconds of CPU, MB, bytes of C and of PTX, its name. */
#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "compile/compile.h"
#include "ptx/base/base.h"
#include "ptx/ir.h"
#include "ptx/tier0/warp.h"
#include "ptx/tier1/tier1.h"

enum { MOST = 20000, SAMPLE = 200 };

struct cost {
    double ms, mb; /* of CPU, emission included; of the compiler's largest process */
    size_t text, ptx;
    double baseline_ms, generator_ms; /* of CPU, by the baseline generator: with lowering, alone */
    size_t insns, code;               /* instructions of the LIR; bytes */
    char name[128];
};

static struct kernel {
    char file[400];
    unsigned number;
} kernels[MOST];
static unsigned nkernels;

static char *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    size_t room = 0;
    *size = 0;
    while (f && !feof(f)) {
        text = realloc(text, (room = 2 * room + 65536) + 1);
        if (!text)
            exit(1);
        *size += fread(text + *size, 1, room - *size, f);
    }
    if (f)
        (void)fclose(f);
    while (*size && !text[*size - 1])
        --*size;
    return text;
}

static double cpu_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static const struct ptx_func *entry(const struct ptx_module *m, unsigned number)
{
    for (uint32_t i = 0; i < m->nfunc; i++)
        if (m->func[i].is_entry && !m->func[i].is_decl && number-- == 0)
            return &m->func[i];
    return NULL;
}

/* Runs the compiler as cumu does; its CPU time, with that of its children. */
static bool run_compiler(const char *folder, const char *cc, size_t size, struct cost *c)
{
    char command[2048];
    struct rusage use;
    int status;
    (void)snprintf(command, sizeof command, "cd %s && exec %s %s -o k.so k.c 2>log", folder, cc,
                   cumu_object_flags_for(cumu_object_isa(), size));
    pid_t pid = fork();
    if (pid == 0) {
        (void)execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &use) != pid || status != 0)
        return false;
    c->ms += (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
             (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
    c->mb = (double)use.ru_maxrss / 1024;
    return true;
}

static void *zeroed(void *unused, size_t size, size_t align)
{
    (void)unused;
    void *p = aligned_alloc(align < 16 ? 16 : align, (size + 63) / 64 * 64);
    return p ? memset(p, 0, (size + 63) / 64 * 64) : NULL;
}

static void give_back(void *unused, void *p)
{
    (void)unused;
    free(p);
}

/* From PTX that was read to code of the baseline generator: lowering, checks of the image, code. */
static void measure_baseline(const struct ptx_module *m, const char *kernel, struct cost *c)
{
    static const struct t0_env env = {.global_alloc = zeroed, .global_free = give_back};
    struct ptx_diag diag = {0};
    const char *why;
    void *image = NULL;
    size_t size;
    const double begin = cpu_ms();
    if (lir_lower_kernel(m, kernel, &image, &size, &diag))
        return;
    struct t0_module *t = t0_module_load(image, size, &env, &why);
    const double lowered = cpu_ms();
    struct base_code *code = t ? base_compile(t->image, lir_table) : NULL;
    if (code) {
        c->baseline_ms = cpu_ms() - begin;
        c->generator_ms = cpu_ms() - lowered;
        c->insns = t->image->code.count;
        c->code = code->size;
    }
    base_free(code);
    t0_module_unload(t);
    free(image);
}

static bool measure(const char *file, unsigned number, struct cost *c)
{
    char folder[] = "/tmp/cumu-bench-XXXXXX", path[64], *text = NULL;
    const char *why, *cc = cumu_compiler(&why);
    size_t size;
    struct ptx_diag diag = {0};
    char *ptx = read_whole(file, &size);
    struct ptx_module *m = ptx ? ptx_module_open(ptx, size, &diag) : NULL;
    const struct ptx_func *f = m ? entry(m, number) : NULL;
    bool good = false;
    *c = (struct cost){.ms = 0};
    if (f)
        measure_baseline(m, f->name, c);
    if (f && getenv("CUMU_BENCH_BASELINE")) { /* that alone */
        (void)snprintf(c->name, sizeof c->name, "%s", f->name);
        ptx_module_close(m);
        free(ptx);
        return c->insns != 0;
    }
    c->ms = -cpu_ms();
    if (cc && f && !t1_emit(m, f->name, T1_SHAPE_LINEAR, cumu_object_isa(), &text, &c->text, &diag) &&
        mkdtemp(folder)) {
        c->ms += cpu_ms();
        c->ptx = f->body_len;
        (void)snprintf(c->name, sizeof c->name, "%s", f->name);
        (void)snprintf(path, sizeof path, "%s/k.c", folder);
        FILE *out = fopen(path, "wb");
        good = out && fwrite(text, 1, c->text, out) == c->text && fclose(out) == 0 &&
               run_compiler(folder, cc, c->text, c);
        for (unsigned i = 0; i < 3; i++) {
            (void)snprintf(path, sizeof path, "%s/%s", folder, (const char *[]){"k.c", "k.so", "log"}[i]);
            (void)unlink(path);
        }
        (void)rmdir(folder);
    }
    free(text);
    if (m)
        ptx_module_close(m);
    free(ptx);
    return good;
}

static bool ask_before(const char *program, const struct kernel *k, struct cost *c)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "%s --one '%s' %u", program, k->file, k->number);
    FILE *f = popen(command, "r");
    bool good = f && fscanf(f, "%lf %lf %zu %zu", &c->ms, &c->mb, &c->text, &c->ptx) == 4;
    return f && pclose(f) == 0 && good;
}

static void find_kernels(const char *folder)
{
    struct dirent **all;
    int n = scandir(folder, &all, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char path[400];
        size_t size, len = strlen(all[i]->d_name);
        struct ptx_diag diag;
        if (len < 4 || strcmp(all[i]->d_name + len - 4, ".ptx") != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, all[i]->d_name);
        char *ptx = read_whole(path, &size);
        struct ptx_module *m = ptx ? ptx_module_open(ptx, size, &diag) : NULL;
        for (unsigned k = 0; m && entry(m, k) && nkernels < MOST; k++) {
            kernels[nkernels] = (struct kernel){.number = k};
            (void)snprintf(kernels[nkernels++].file, sizeof kernels->file, "%s", path);
        }
        if (m)
            ptx_module_close(m);
        free(ptx);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct cost c, before;
    if (argc == 4 && strcmp(argv[1], "--one") == 0) {
        if (!measure(argv[2], (unsigned)atoi(argv[3]), &c))
            return 1;
        printf("%.1f %.1f %zu %zu %s\n", c.ms, c.mb, c.text, c.ptx, c.name);
        return 0;
    }
    const char *old = getenv("CUMU_BENCH_BEFORE"), *table = getenv("CUMU_BENCH_TABLE");
    if (argc > 1)
        find_kernels(argv[1]);
    if (!nkernels) {
        puts("# compile: no corpus: CUMU_BENCH_CORPUS names a folder of PTX files (scripts/corpus makes one)");
        return 0;
    }
    unsigned want = argc > 2 ? (unsigned)atoi(argv[2]) : SAMPLE, n = 0, refused = 0;
    want = !want || want > nkernels ? nkernels : want;
    static double ms[MOST], baseline[MOST];
    double sum = 0, sum_before = 0, mb = 0, generated = 0, sum_baseline = 0;
    uint64_t insns = 0, code = 0;
    FILE *t = table ? fopen(table, "w") : NULL;
    for (unsigned i = 0; i < want; i++) {
        const struct kernel *k = &kernels[(uint64_t)i * nkernels / want];
        before = (struct cost){.ms = 0};
        if (!measure(k->file, k->number, &c) || (old && !ask_before(old, k, &before))) {
            refused++;
            continue;
        }
        baseline[n] = c.baseline_ms;
        generated += c.generator_ms;
        sum_baseline += c.baseline_ms;
        insns += c.insns;
        code += c.code;
        ms[n++] = c.ms;
        sum += c.ms;
        sum_before += before.ms;
        mb = c.mb > mb ? c.mb : mb;
        if (t) {
            fprintf(t, "%.1f\t%.1f\t%zu\t%zu\t%.1f\t%.1f\t%s\t%s\n", c.ms, c.mb, c.text, c.ptx, before.ms, before.mb,
                    strrchr(k->file, '/') + 1, c.name);
            (void)fflush(t);
        }
    }
    if (t)
        (void)fclose(t);
    if (!n)
        return 1;
    qsort(ms, n, sizeof *ms, ascending);
    qsort(baseline, n, sizeof *baseline, ascending);
    printf("# compile: baseline code of %u kernels, %u refused\n", n, refused);
    printf("bench compile.baseline_median_ms %.2f ms # CPU, lowering and code\n", baseline[n / 2]);
    printf("bench compile.baseline_p99_ms %.1f ms\n", baseline[(uint64_t)n * 99 / 100]);
    printf("bench compile.baseline_insn_us %.2f us # of the LIR, by the generator alone\n",
           generated * 1e3 / (double)insns);
    printf("bench compile.baseline_insn_bytes %.0f bytes # of code, in both forms\n", (double)code / (double)insns);
    if (getenv("CUMU_BENCH_BASELINE"))
        return 0;
    printf("bench compile.baseline_vs_compiler %.4f ratio # of the CPU time of all\n", sum_baseline / sum);
    printf("# compile: %u of %u kernels, %u refused, %.1f s of CPU in all, mean %.0f ms\n", n, nkernels, refused,
           sum / 1e3, sum / n);
    printf("bench compile.median_ms %.1f ms # CPU, of emitter and compiler\n", ms[n / 2]);
    printf("bench compile.p99_ms %.1f ms\n", ms[(uint64_t)n * 99 / 100]);
    printf("bench compile.rss_mb %.0f MB # the largest\n", mb);
    if (old)
        printf("bench compile.cpu_vs_before %.3f ratio\n", sum / sum_before);
    return 0;
}
