/* cumu doctor: the toolkit's compiler: what it calls itself, which options it takes, what its output is, and which
 * names of ptx/musa/prelude/platform.h it really has, one tiny kernel each. */
#include "cli/doctor_compiler.h"
#include "cli/doctor.h"
#include "cli/doctor_driver.h"
#include "core/config.h"
#include "core/file.h"
#include "compile/child.h"
#include "compile/compile.h"
#include "compile/scratch.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 20, WORDS = 24, OUTPUT = 1 << 20 };

static const struct {
    const char *name, *text; /* text: what stands in the kernel, or a whole source if it has one of its own */
} probes[] = {
    {"a kernel", "p[threadIdx.x] = blockIdx.x;"},
    {"__shfl_sync of width 32", "p[0] = __shfl_sync(0xffffffffu, p[0], 3, 32);"},
    {"__ballot_sync", "p[0] = (int)__ballot_sync(0xffffffffu, p[0] > 0);"},
    {"__activemask", "p[0] = (int)__activemask();"},
    {"__syncwarp", "__syncwarp(); p[0] = 1;"},
    {"__syncthreads_count, _and, _or",
     "p[0] = __syncthreads_count(p[0]) + __syncthreads_and(p[1]) + __syncthreads_or(p[2]);"},
    {"fences of three scopes", "__threadfence_block(); __threadfence(); __threadfence_system(); p[0] = 1;"},
    {"__musa_isspacep_shared", "p[0] = __musa_isspacep_shared((const void *)p);"},
    {"clock64", "p[0] = (int)clock64();"},
    {"rsqrtf, exp2f, log2f, __sinf, __cosf, tanhf",
     "float x = p[0]; p[0] = (int)(rsqrtf(x) + exp2f(x) + log2f(x) + __sinf(x) + __cosf(x) + tanhf(x));"},
    {"64-bit atomicCAS, atomicAdd, atomicExch",
     "unsigned long long *q = (unsigned long long *)p; atomicCAS(q, 0ull, 1ull); atomicAdd(q, 1ull); atomicExch(q, 2ull);"},
    {"double precision", "double d = p[0]; p[0] = (int)(d / 3.0 + fma(d, d, 1.0));"},
    {"rounded arithmetic", "float x = p[0]; p[0] = (int)(__fadd_rz(x, x) + __fdiv_rn(x, 3) + __fmaf_ru(x, x, x));"},
    {"rintf, floorf, ceilf, truncf", "float x = p[0]; p[0] = (int)(rintf(x) + floorf(x) + ceilf(x) + truncf(x));"},
    {"tex2D, tex1Dfetch of a texture object",
     "musaTextureObject_t t = (musaTextureObject_t)p[0];\n"
     "p[0] = (int)(tex2D<float4>(t, 1.0f, 2.0f).x + tex1Dfetch<float4>(t, 3).y);"},
    {"surf2Dread, surf2Dwrite",
     "musaSurfaceObject_t s = (musaSurfaceObject_t)p[0];\n"
     "surf2Dwrite(surf2Dread<unsigned>(s, 4, 1, musaBoundaryModeTrap), s, 8, 1, musaBoundaryModeZero);"},
    {"malloc and free", "void *q = malloc(16); p[0] = q != 0; free(q);"},
    {"__trap", "if (p[0]) __trap();"},
    {"dynamic shared memory",
     "#include <musa_runtime.h>\nextern __shared__ __align__(128) unsigned char s[];\n"
     "extern \"C\" __global__ void probe(int *p) { s[threadIdx.x] = 1; __syncthreads(); p[0] = s[0]; }\n"},
    {"__launch_bounds__",
     "#include <musa_runtime.h>\nextern \"C\" __global__ void __launch_bounds__(256) probe(int *p) { p[0] = 1; }\n"},
    {"vprintf", "#include <musa_runtime.h>\nextern \"C\" __device__ int vprintf(const char *, const char *);\n"
                "extern \"C\" __global__ void probe(int *p) { p[0] = vprintf(\"x\", 0); }\n"},
    {"variables with initialisers", "#include <musa_runtime.h>\nextern \"C\" { __device__ int table[2] = {1, 2}; }\n"
                                    "extern \"C\" __global__ void probe(int *p) { p[0] = table[p[1] & 1]; }\n"},
};

/* ---- the compiler itself ------------------------------------------------------------------------- */

/* What the compiler left under that name; the file goes. */
static char *take_file(const char *folder, const char *name, size_t most, size_t *size)
{
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = cumu_file_read(path, most, size);
    (void)unlink(path);
    return text;
}

static unsigned now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned)t.tv_sec * 1000u + (unsigned)(t.tv_nsec / 1000000);
}

bool doctor_compile(struct doctor_run *a, const char *compiler, const char *words, const char *text)
{
    static char output[] = "-o";
    char copy[1024], in[PATH_MAX + 16], out[PATH_MAX + 16], log[PATH_MAX + 16], *argv[WORDS + 4] = {NULL}, *rest;
    struct cumu_scratch scratch; /* goes with whatever the compiler leaves there, as one that crashes does */
    const char *folder = scratch.path;
    unsigned n = 0;
    memset(a, 0, sizeof *a);
    if (!cumu_scratch_new(&scratch))
        return false;
    (void)snprintf(copy, sizeof copy, "%s", words);
    (void)snprintf(in, sizeof in, "%s/kernel.mu", folder);
    (void)snprintf(out, sizeof out, "%s/out", folder);
    (void)snprintf(log, sizeof log, "%s/log", folder);
    argv[n++] = (char *)(uintptr_t)compiler;
    for (char *w = strtok_r(copy, " ", &rest); w && n < WORDS; w = strtok_r(NULL, " ", &rest))
        argv[n++] = w;
    FILE *f = text ? fopen(in, "we") : NULL;
    if (f) {
        (void)fputs(text, f);
        (void)fclose(f);
        argv[n++] = in;
        argv[n++] = output;
        argv[n++] = out;
    }
    char **env = cumu_env_child(folder);
    const unsigned left = doctor_left(), start = now_ms();
    const struct cumu_child child = {.file = compiler,
                                     .argv = argv,
                                     .envp = env,
                                     .folder = -1,
                                     .output = log,
                                     .seconds = left < SECONDS ? left : SECONDS,
                                     .megabytes = CUMU_COMPILER_MEGABYTES};
    a->status = env && left ? cumu_child_run(&child) : -1;
    a->ms = now_ms() - start;
    free(env);
    size_t length;
    char *said = take_file(folder, "log", sizeof a->log - 1, &length);
    memcpy(a->log, said ? said : "", said ? length + 1 : 1);
    free(said);
    a->out = (unsigned char *)take_file(folder, "out", OUTPUT, &a->size);
    cumu_scratch_drop(&scratch);
    return true;
}

void doctor_first_error(const char *log, char line[160])
{
    const char *at = log;
    while (*at && !memmem(at, strcspn(at, "\n"), "error", 5)) {
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    at = *at ? at : log;
    (void)snprintf(line, 160, "%.*s", (int)strcspn(at, "\n"), at);
}

static const char plain[] = DOCTOR_KERNEL("p[threadIdx.x] = 1;");

/* Tries options that vendor code passes to mcc, each on a small kernel, so that a report tells what a toolkit
 * takes. The wish for device code only has two spellings (mapping/facts/musa.md D6); the other one is tried where
 * one is refused. */
static void try_options(const char *compiler, unsigned arch)
{
    static const char *const options[] = {"--cuda-device-only",
                                          "--musa-device-only",
                                          "-O2",
                                          "-O1",
                                          "-O0",
                                          "-std=c++14",
                                          "-ffp-contract=off",
                                          "-mllvm -mtgpu-if-convert=1",
                                          "-mllvm -mtgpu-load-store-opt",
                                          "-mllvm -misched=mtgpu-max-ilp",
                                          "-fmusa-flush-denormals-to-zero",
                                          "-mathx-disable-fp64",
                                          "-fmusa-rdc",
                                          "--offload-arch=mp_21",
                                          "--offload-arch=mp_22",
                                          "--offload-arch=mp_31",
                                          "--offload-arch=mp_32"};
    struct doctor_run a;
    char words[256], line[160];
    for (size_t k = 0; k < sizeof options / sizeof *options && doctor_left(); k++) {
        bool only = strstr(options[k], "device-only") != NULL, names = strncmp(options[k], "--offload", 9) == 0;
        (void)snprintf(words, sizeof words, "-mtgpu %s -c ", only ? "" : "--cuda-device-only");
        if (!names)
            (void)snprintf(words + strlen(words), 32, "--offload-arch=mp_%u ", arch);
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "%s", options[k]);
        if (!doctor_compile(&a, compiler, words, plain))
            return;
        if (a.status && !only) { /* the other spelling of what is no question here */
            free(a.out);
            memcpy(strstr(words, "cuda-device"), "musa", 4);
            if (!doctor_compile(&a, compiler, words, plain))
                return;
        }
        doctor_first_error(a.log, line);
        if (a.status == 0)
            doctor_line(options[k], "taken");
        else
            doctor_line(options[k], "refused: status %d: %s", a.status, line);
        free(a.out);
    }
}

static uint64_t number(const unsigned char *p, size_t bytes)
{
    uint64_t v = 0;
    memcpy(&v, p, bytes);
    return v;
}

/* What a file of device code calls itself by its first bytes. */
static void describe(const unsigned char *p, size_t size, char text[96])
{
    if (size >= 20 && memcmp(p, "\177ELF", 4) == 0)
        (void)snprintf(text, 96, "ELF%u of type %u for machine %u", p[4] == 2 ? 64u : 32u, (unsigned)number(p + 16, 2),
                       (unsigned)number(p + 18, 2));
    else if (size >= 4 && memcmp(p, "\xb1\x43\x62\x46", 4) == 0)
        (void)snprintf(text, 96, "fat binary");
    else if (size >= 4)
        (void)snprintf(text, 96, "begins with %02x%02x%02x%02x", p[0], p[1], p[2], p[3]);
    else
        (void)snprintf(text, 96, "nothing");
}

/* What it makes: an object for a device, or clang's bundle of them (the magic, their number, then offset, size and
 * target of each). */
static void describe_output(const char *compiler, unsigned arch)
{
    static const char magic[] = "__CLANG_OFFLOAD_BUNDLE__";
    struct doctor_run a;
    char words[128], text[96];
    (void)snprintf(words, sizeof words, "-mtgpu --cuda-device-only --offload-arch=mp_%u -O2 -c", arch);
    bool ran = doctor_compile(&a, compiler, words, plain);
    if (ran && a.status) {
        free(a.out);
        memcpy(strstr(words, "cuda"), "musa", 4);
        ran = doctor_compile(&a, compiler, words, plain);
    }
    if (!ran || a.status || !a.out) {
        doctor_line("output", "none: status %d", ran ? a.status : -1);
        return;
    }
    const size_t head = sizeof magic - 1 + 8;
    const bool bundle = a.size >= head && memcmp(a.out, magic, sizeof magic - 1) == 0;
    uint64_t n = bundle ? number(a.out + head - 8, 8) : 0;
    describe(a.out, a.size, text);
    if (bundle)
        doctor_line("output", "bundle of %llu", (unsigned long long)n);
    else
        doctor_line("output", "%s", text);
    for (size_t at = head, k = 0; k < n && k < 16 && a.size - at >= 24; k++) {
        uint64_t from = number(a.out + at, 8), size = number(a.out + at + 8, 8), len = number(a.out + at + 16, 8);
        at += 24;
        if (len > a.size - at || from > a.size || size > a.size - from) {
            doctor_line("bundle's member", "damaged, or larger than what was read");
            break;
        }
        describe(a.out + from, size, text);
        doctor_line("bundle's member", "%.*s at %llu, %llu bytes: %s", (int)(len < 100 ? len : 100), a.out + at,
                    (unsigned long long)from, (unsigned long long)size, text);
        at += len;
    }
    free(a.out);
}

static void tell_version(const char *compiler)
{
    struct doctor_run a;
    char *rest;
    if (!doctor_compile(&a, compiler, "--version", NULL))
        return;
    char *line = strtok_r(a.log, "\n", &rest);
    for (int k = 0; line && k < 3; k++, line = strtok_r(NULL, "\n", &rest))
        doctor_line("version", "%.200s", line);
    free(a.out);
}

/* ---- names --------------------------------------------------------------------------------------- */

static int try_name(void *probe)
{
    const unsigned *which = probe;
    char *text = NULL;
    struct cumu_compiled o = {0};
    const char *body = probes[which[0]].text;
    int n = *body == '#' ? asprintf(&text, "%s", body) : asprintf(&text, DOCTOR_KERNEL("%s"), body);
    if (n < 0)
        return 1;
    const struct cumu_musa_source s = {.kernel = "probe", .text = text, .size = (size_t)n};
    enum cumu_made made = cumu_mubin_make(&o, &s, which[1], CUMU_WANT_COMPILED);
    if (made == CUMU_MADE_FAILED)
        doctor_line(probes[which[0]].name, "no: %s", o.why);
    else
        doctor_line(probes[which[0]].name, "yes%s%s", *o.why ? ", " : "", o.why);
    free(o.data);
    free(text);
    return 0;
}

void cumu_doctor_compiler(unsigned arch)
{
    const char *why, *file = cumu_musa_compiler(&why), *base = file ? strrchr(file, '/') : NULL;
    doctor_section("compiler");
    if (!file) {
        doctor_line("file", "none: %s", why);
        return;
    }
    doctor_line("file", "%s", file);
    doctor_line("tried for", "mp_%u", arch);
    doctor_line("CUMU_MCC_FLAGS", *cumu_opt_text(CUMU_OPT_MCC_FLAGS) ? "set" : "not set");
    if (!base || strncmp(base, "/libmtrtc", 9) != 0) {
        tell_version(file);
        describe_output(file, arch);
        doctor_section("compiler's ladder");
        doctor_ladder(file, arch);
        doctor_section("compiler's options");
        try_options(file, arch);
    }
    doctor_section("compiler's names");
    for (unsigned k = 0; k < sizeof probes / sizeof *probes; k++)
        (void)doctor_child(probes[k].name, try_name, (unsigned[]){k, arch}, 2 * SECONDS);
}
