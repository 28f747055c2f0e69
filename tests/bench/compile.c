/* What it takes to compile kernels of real libraries: bytes of C that tier 1 emits, CPU time, memory of the compiler.
 *
 * compile FOLDER [N]: N kernels (200) of the folder's PTX files, evenly spread over them all, for blocks of whole warps
 * and this CPU's vectors. CUMU_BENCH_BEFORE names another build's program of this kind, which is asked for each kernel
 * in turn, so that other load falls on both. CUMU_BENCH_TABLE=FILE: a line a kernel. CUMU_BENCH_BASELINE=1: the
 * baseline generator and the emitter alone, without a compiler. CUMU_BENCH_SECONDS: CPU time that a compiler may take;
 * one that needs more counts with that. What is refused is named with the reason.
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

enum { MOST = 100000, SAMPLE = 200 };

struct cost {
    double ms, mb, emit_ms; /* of CPU, emission included; of the compiler's largest process; emission alone */
    size_t text, ptx;
    bool late;                        /* the compiler did not end in its time */
    double baseline_ms, generator_ms; /* of CPU, by the baseline generator: with lowering, alone */
    size_t insns, code;               /* instructions of the LIR; bytes */
    char name[128], why[256];
};

static struct kernel {
    const char *file; /* owned here, for good */
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

/* The compiler's processes are children of one that is forked at the begin, as a child's peak of memory begins with its
 * parent's. It takes a request and gives the answer. */
static int ask = -1, answer = -1;
struct request {
    char folder[64], command[1024];
    unsigned seconds; /* of CPU; 0: as many as it needs */
};
struct used {
    double ms, mb;
    int status;
};

static void run_compilers(int from, int to)
{
    struct request r;
    while (read(from, &r, sizeof r) == sizeof r) {
        struct used u = {.status = -1};
        struct rusage use;
        const pid_t pid = fork();
        if (pid == 0) {
            const struct rlimit most = {r.seconds, r.seconds};
            if (chdir(r.folder) || (r.seconds && setrlimit(RLIMIT_CPU, &most)))
                _exit(127);
            (void)execl("/bin/sh", "sh", "-c", r.command, (char *)NULL);
            _exit(127);
        }
        if (pid > 0 && wait4(pid, &u.status, 0, &use) == pid) {
            u.ms = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e3 +
                   (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e3;
            u.mb = (double)use.ru_maxrss / 1024;
        }
        if (write(to, &u, sizeof u) != sizeof u)
            break;
    }
    _exit(0);
}

static void begin_compilers(void)
{
    int there[2], back[2];
    if (pipe2(there, O_CLOEXEC) || pipe2(back, O_CLOEXEC))
        exit(1);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)close(there[1]);
        (void)close(back[0]);
        run_compilers(there[0], back[1]);
    }
    (void)close(there[0]);
    (void)close(back[1]);
    ask = there[1];
    answer = back[0];
}

/* Runs the compiler as cumu does; its CPU time, with that of its children. */
static bool run_compiler(const char *folder, const char *cc, size_t size, struct cost *c)
{
    const char *most = getenv("CUMU_BENCH_SECONDS");
    struct request r = {.seconds = most ? (unsigned)atoi(most) : 0};
    struct used u;
    (void)snprintf(r.folder, sizeof r.folder, "%s", folder);
    (void)snprintf(r.command, sizeof r.command, "exec %s %s -o k.so k.c 2>log", cc,
                   cumu_object_flags_for(cumu_object_isa(), size));
    if (write(ask, &r, sizeof r) != sizeof r || read(answer, &u, sizeof u) != sizeof u)
        return false;
    c->ms += u.ms;
    c->mb = u.mb;
    c->late = r.seconds && u.status != 0 && u.ms >= r.seconds * 990.0;
    return u.status == 0 || c->late;
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
static bool measure_baseline(const struct ptx_module *m, const char *kernel, struct cost *c)
{
    static const struct t0_env env = {.global_alloc = zeroed, .global_free = give_back};
    struct ptx_diag diag = {0};
    const char *why = "";
    void *image = NULL;
    size_t size;
    const double begin = cpu_ms();
    if (lir_lower_kernel(m, kernel, &image, &size, &diag)) {
        (void)snprintf(c->why, sizeof c->why, "not lowered: %s", diag.msg);
        return false;
    }
    struct t0_module *t = t0_module_load(image, size, &env, &why);
    const double lowered = cpu_ms();
    struct base_code *code = t ? base_compile(t->image, lir_table) : NULL;
    if (code) {
        c->baseline_ms = cpu_ms() - begin;
        c->generator_ms = cpu_ms() - lowered;
        c->insns = t->image->code.count;
        c->code = code->size;
    } else {
        (void)snprintf(c->why, sizeof c->why, "no baseline code: %s", t ? "of the generator" : why);
    }
    base_free(code);
    t0_module_unload(t);
    free(image);
    return code != NULL;
}

/* Puts the text into a folder and has it compiled; the log's first error is the reason if that fails. */
static bool compile_text(const char *cc, const char *text, struct cost *c)
{
    static const char *const names[] = {"k.c", "k.so", "log"};
    char folder[] = "/tmp/cumu-bench-XXXXXX", path[64], line[256];
    if (!mkdtemp(folder))
        return false;
    (void)snprintf(path, sizeof path, "%s/k.c", folder);
    FILE *f = fopen(path, "wb");
    bool good = f && fwrite(text, 1, c->text, f) == c->text;
    good = f && fclose(f) == 0 && good && run_compiler(folder, cc, c->text, c);
    (void)snprintf(path, sizeof path, "%s/log", folder);
    f = good ? NULL : fopen(path, "r");
    while (f && fgets(line, sizeof line, f))
        if (!c->why[0] && strstr(line, "rror"))
            (void)snprintf(c->why, sizeof c->why, "the compiler: %.*s", (int)strcspn(line, "\n"), line);
    if (f)
        (void)fclose(f);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
    return good;
}

/* The module of a file; the last one is kept open, as its kernels come one after the other. NULL: no PTX. */
static struct ptx_module *module_of(const char *file, struct ptx_diag *diag)
{
    static char last[400], *ptx;
    static struct ptx_module *m;
    size_t size;
    if (strcmp(last, file) != 0) {
        if (m)
            ptx_module_close(m);
        free(ptx);
        ptx = read_whole(file, &size);
        m = ptx ? ptx_module_open(ptx, size, diag) : NULL;
        (void)snprintf(last, sizeof last, "%s", file);
    }
    return m;
}

static bool measure(const char *file, unsigned number, struct cost *c)
{
    char *text = NULL;
    const char *why, *cc = cumu_compiler(&why);
    struct ptx_diag diag = {0};
    const struct ptx_module *m = module_of(file, &diag);
    const struct ptx_func *f = m ? entry(m, number) : NULL;
    *c = (struct cost){.ms = 0};
    if (!f) {
        (void)snprintf(c->why, sizeof c->why, "not parsed: %s", diag.msg);
        return false;
    }
    c->ptx = f->body_len;
    (void)snprintf(c->name, sizeof c->name, "%s", f->name);
    bool good = measure_baseline(m, f->name, c);
    c->emit_ms = -cpu_ms();
    if (good && t1_emit(m, f->name, T1_SHAPE_LINEAR, cumu_object_isa(), &text, &c->text, &diag)) {
        (void)snprintf(c->why, sizeof c->why, "not emitted: %s", diag.msg);
        good = false;
    }
    c->ms = c->emit_ms += cpu_ms();
    if (good && !getenv("CUMU_BENCH_BASELINE"))
        good = cc && compile_text(cc, text, c);
    free(text);
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
        size_t len = strlen(all[i]->d_name);
        struct ptx_diag diag = {0};
        if (len < 4 || strcmp(all[i]->d_name + len - 4, ".ptx") != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, all[i]->d_name);
        struct ptx_module *m = module_of(path, &diag);
        if (!m)
            printf("# compile: %s not parsed: %s\n", path, diag.msg);
        const char *file = m ? strdup(path) : NULL;
        for (unsigned k = 0; file && entry(m, k) && nkernels < MOST; k++)
            kernels[nkernels++] = (struct kernel){.file = file, .number = k};
    }
}

/* How much of a path names the library: all up to the file's first dot. */
static size_t library(const char *file)
{
    const char *name = strrchr(file, '/') + 1;
    return (size_t)(name - file) + strcspn(name, ".");
}

static bool same_library(const struct kernel *a, const struct kernel *b)
{
    const size_t n = library(a->file);
    return library(b->file) == n && memcmp(a->file, b->file, n) == 0;
}

/* Leaves a sample: of each library the same number, or all that it has, evenly spread. */
static void choose(unsigned want)
{
    unsigned libraries = 1, n = 0;
    for (unsigned i = 1; i < nkernels; i++)
        libraries += !same_library(&kernels[i - 1], &kernels[i]);
    const unsigned most = (want + libraries - 1) / libraries;
    for (unsigned from = 0, to; from < nkernels; from = to) {
        for (to = from + 1; to < nkernels && same_library(&kernels[from], &kernels[to]);)
            to++;
        const unsigned all = to - from, some = all < most ? all : most;
        for (unsigned i = 0; i < some; i++) /* n never passes what is read */
            kernels[n++] = kernels[from + (uint64_t)i * all / some];
    }
    printf("# compile: %u kernels of %u, of %u libraries\n", n, nkernels, libraries);
    nkernels = n;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct cost c, before;
    begin_compilers();
    if (argc == 4 && strcmp(argv[1], "--one") == 0) {
        if (!measure(argv[2], (unsigned)atoi(argv[3]), &c))
            return 1;
        printf("%.1f %.1f %zu %zu %s\n", c.ms, c.mb, c.text, c.ptx, c.name);
        return 0;
    }
    const char *old = getenv("CUMU_BENCH_BEFORE"), *table = getenv("CUMU_BENCH_TABLE");
    const bool compiled = !getenv("CUMU_BENCH_BASELINE");
    if (argc > 1)
        find_kernels(argv[1]);
    if (!nkernels) {
        puts("# compile: no corpus: CUMU_BENCH_CORPUS names a folder of PTX files (scripts/corpus makes one)");
        return 0;
    }
    const unsigned want = argc > 2 ? (unsigned)atoi(argv[2]) : SAMPLE;
    choose(want && want < nkernels ? want : nkernels);
    static double ms[MOST], mb[MOST], baseline[MOST], emit[MOST];
    unsigned n = 0, refused = 0, late = 0;
    double sum = 0, sum_before = 0, generated = 0, sum_baseline = 0, sum_emit = 0;
    uint64_t insns = 0, code = 0;
    FILE *t = table ? fopen(table, "w") : NULL;
    for (unsigned i = 0; i < nkernels; i++) {
        const struct kernel *k = &kernels[i];
        before = (struct cost){.ms = 0};
        if (!measure(k->file, k->number, &c) || (old && !ask_before(old, k, &before))) {
            refused++;
            printf("# compile: %s, kernel %u, %s refused: %s\n", k->file, k->number, c.name, c.why);
            (void)fflush(stdout);
            continue;
        }
        late += c.late;
        emit[n] = c.emit_ms;
        sum_emit += c.emit_ms;
        baseline[n] = c.baseline_ms;
        generated += c.generator_ms;
        sum_baseline += c.baseline_ms;
        insns += c.insns;
        code += c.code;
        mb[n] = c.mb;
        ms[n++] = c.ms;
        sum += c.ms;
        sum_before += before.ms;
        if (t) {
            fprintf(t, "%.1f\t%.1f\t%.1f\t%.1f\t%zu\t%zu\t%.1f\t%.1f\t%s\t%u\t%s\n", c.ms, c.mb, c.emit_ms,
                    c.baseline_ms, c.text, c.ptx, before.ms, before.mb, strrchr(k->file, '/') + 1, k->number, c.name);
            (void)fflush(t);
        }
    }
    if (t)
        (void)fclose(t);
    if (!n)
        return 1;
    qsort(ms, n, sizeof *ms, ascending);
    qsort(mb, n, sizeof *mb, ascending);
    qsort(baseline, n, sizeof *baseline, ascending);
    qsort(emit, n, sizeof *emit, ascending);
    const unsigned p99 = (unsigned)((uint64_t)n * 99 / 100);
    printf("# compile: baseline code of %u kernels, %u refused\n", n, refused);
    printf("bench compile.baseline_median_ms %.2f ms # CPU, lowering and code\n", baseline[n / 2]);
    printf("bench compile.baseline_p99_ms %.1f ms\n", baseline[p99]);
    printf("bench compile.baseline_insn_us %.2f us # of the LIR, by the generator alone\n",
           generated * 1e3 / (double)insns);
    printf("bench compile.baseline_insn_bytes %.0f bytes # of code, in both forms\n", (double)code / (double)insns);
    printf("bench compile.emit_median_ms %.2f ms # CPU, of the emitter alone\n", emit[n / 2]);
    printf("bench compile.emit_p99_ms %.1f ms\n", emit[p99]);
    if (!compiled)
        return 0;
    printf("bench compile.baseline_vs_compiler %.4f ratio # of the CPU time of all\n", sum_baseline / sum);
    printf("bench compile.emit_vs_compiler %.4f ratio # the same\n", sum_emit / sum);
    printf("# compile: %u kernels, %u refused, %u cut off, %.1f s of CPU in all, mean %.0f ms\n", n, refused, late,
           sum / 1e3, sum / n);
    printf("bench compile.median_ms %.1f ms # CPU, of emitter and compiler\n", ms[n / 2]);
    printf("bench compile.p99_ms %.1f ms\n", ms[p99]);
    printf("bench compile.rss_p99_mb %.0f MB\n", mb[p99]);
    printf("bench compile.rss_mb %.0f MB # the largest\n", mb[n - 1]);
    if (old)
        printf("bench compile.cpu_vs_before %.3f ratio\n", sum / sum_before);
    return 0;
}
