/* cumu doctor: kernels through the whole way to the device: written as MUSA C++, compiled, loaded, run, and their
 * results compared. Each in a child of its own, which may crash or hang. */
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor.h"
#include "compile/compile.h"
#include "ptx/musa/musa.h"
#include "ptx/tier0/tier0.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS = 180, THREADS = 128, SHARED = 512, CC_MAJOR = 75, CC_MINOR = 76, MAX_EXTERNS = 8 };

#define PTX ".version 7.0\n.target sm_75\n.address_size 64\n"
#define BODY                                                                                       \
    "{\n.reg .u32 %r<12>;\n.reg .u64 %d<8>;\n.reg .f32 %f<8>;\n.reg .f64 %e<4>;\n.reg .b16 %h<4>;\n"        \
    ".reg .pred %p<4>;\nmov.u32 %r0, %tid.x;\n"
#define ENTRY ".visible .entry probe(.param .u64 out)\n" BODY
#define END /* %r1 is the thread's result */                                                       \
    "ld.param.u64 %d0, [out];\nmul.wide.u32 %d1, %r0, 4;\nadd.u64 %d0, %d0, %d1;\nst.global.u32 [%d0], %r1;\nret;\n}\n"

static uint32_t triple(uint32_t t) { return 3 * t + 7; }
static uint32_t reversed(uint32_t t) { return THREADS - 1 - t; }
static uint32_t reversed_and_5(uint32_t t) { return THREADS - 1 - t + 5; }
static uint32_t neighbour(uint32_t t) { return t ^ 1; }
static uint32_t lane_5(uint32_t t) { return (t & ~31u) + 5; }
static uint32_t odd_lanes(uint32_t t) { return t & 1 ? 0xaaaaaaaau : 0x55555555u; }
static uint32_t lane(uint32_t t) { return t & 31; }
static uint32_t all(uint32_t t) { return (void)t, THREADS; }
static uint32_t forty_two(uint32_t t) { return (void)t, 42; }
static uint32_t parameters(uint32_t t) { return (void)t, 0x0a + 0x0b0c + 0x0d; }
static uint32_t square(uint32_t t) { return t * t + 1; }
static uint32_t third_down(uint32_t t) { return (void)t, 0x3eaaaaaau; } /* 1/3 towards zero */
static uint32_t root(uint32_t t) { return (uint32_t)(1000000 * sqrt((double)t)); }

static const struct {
    const char *name, *text;
    uint32_t (*want)(uint32_t thread);
    unsigned tolerance; /* in units of the result */
} probes[] = {
    {"a kernel", PTX ENTRY "mad.lo.u32 %r1, %r0, 3, 7;\n" END, triple, 0},
    {"parameters of 1, 2, 4 and 8 bytes",
     PTX ".visible .entry probe(.param .u64 out, .param .u8 a, .param .u16 b, .param .u32 c)\n" BODY
         "ld.param.u8 %h0, [a];\nld.param.u16 %h1, [b];\nld.param.u32 %r1, [c];\ncvt.u32.u16 %r2, %h0;\n"
         "cvt.u32.u16 %r3, %h1;\nadd.u32 %r1, %r1, %r2;\nadd.u32 %r1, %r1, %r3;\n" END, parameters, 0},
    {"shared memory and a barrier",
     PTX ENTRY ".shared .align 4 .b8 s[512];\nmov.u32 %r2, s;\nmad.lo.u32 %r3, %r0, 4, %r2;\n"
               "st.shared.u32 [%r3], %r0;\n"
               "bar.sync 0;\nsub.u32 %r4, 127, %r0;\nmad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r1, [%r3];\n" END,
     reversed, 0},
    {"dynamic shared memory behind static",
     PTX ".extern .shared .align 4 .b8 more[];\n" ENTRY ".shared .align 4 .u32 five;\nst.shared.u32 [five], 5;\n"
         "mov.u32 %r2, more;\nmad.lo.u32 %r3, %r0, 4, %r2;\nst.shared.u32 [%r3], %r0;\nbar.sync 0;\n"
         "sub.u32 %r4, 127, %r0;\nmad.lo.u32 %r3, %r4, 4, %r2;\nld.shared.u32 %r1, [%r3];\nld.shared.u32 %r5, [five];\n"
         "add.u32 %r1, %r1, %r5;\n" END, reversed_and_5, 0},
    {"generic addresses of shared memory",
     PTX ENTRY ".shared .align 4 .b8 s[512];\nmov.u64 %d2, s;\ncvta.shared.u64 %d3, %d2;\nmul.wide.u32 %d4, %r0, 4;\n"
               "add.u64 %d4, %d3, %d4;\nst.u32 [%d4], %r0;\nbar.sync 0;\nsub.u32 %r4, 127, %r0;\nmul.wide.u32 %d4, %r4, 4;\n"
               "add.u64 %d4, %d3, %d4;\nld.u32 %r1, [%d4];\n" END, reversed, 0},
    {"shuffles stay within 32 lanes", PTX ENTRY "shfl.sync.bfly.b32 %r1|%p0, %r0, 1, 31, -1;\n" END, neighbour, 0},
    {"a shuffle from one lane", PTX ENTRY "shfl.sync.idx.b32 %r1|%p0, %r0, 5, 31, -1;\n" END, lane_5, 0},
    {"ballots of 32 lanes",
     PTX ENTRY "and.b32 %r2, %r0, 1;\nsetp.ne.u32 %p0, %r2, 0;\nvote.sync.ballot.b32 %r1, %p0, -1;\n"
               "@!%p0 not.b32 %r1, %r1;\n" END, odd_lanes, 0},
    {"lane numbers of 32", PTX ENTRY "mov.u32 %r1, %laneid;\n" END, lane, 0},
    {"atomics in shared memory",
     PTX ENTRY ".shared .align 4 .u32 n;\nsetp.ne.u32 %p0, %r0, 0;\n@!%p0 st.shared.u32 [n], 0;\nbar.sync 0;\n"
               "atom.shared.add.u32 %r2, [n], 1;\nbar.sync 0;\nld.shared.u32 %r1, [n];\n" END, all, 0},
    {"variables of the module, and addresses in them",
     PTX ".visible .global .align 4 .u32 v = 42;\n.visible .const .align 8 .u64 at = v;\n" ENTRY
         "ld.const.u64 %d2, [at];\nld.u32 %r1, [%d2];\n" END, forty_two, 0},
    {"atomics of 64 bits in a variable",
     PTX ".visible .global .align 8 .u64 v = 42;\n" ENTRY
         "mov.u64 %d2, v;\natom.global.cas.b64 %d3, [%d2], 1, 2;\ncvt.u32.u64 %r1, %d3;\n" END, forty_two, 0},
    {"a function that is called",
     PTX ".func (.param .b32 r) f(.param .b32 a)\n{\n.reg .u32 %x;\nld.param.u32 %x, [a];\nmad.lo.u32 %x, %x, %x, 1;\n"
         "st.param.b32 [r], %x;\nret;\n}\n" ENTRY
         "{\n.param .b32 a;\n.param .b32 r;\nst.param.b32 [a], %r0;\ncall (r), f, (a);\nld.param.b32 %r1, [r];\n}\n" END,
     square, 0},
    {"rounding as it is asked for",
     PTX ENTRY "mov.f32 %f0, 0f3F800000;\nmov.f32 %f1, 0f40400000;\ndiv.rz.f32 %f2, %f0, %f1;\nmov.b32 %r1, %f2;\n" END,
     third_down, 0},
    {"double precision",
     PTX ENTRY "cvt.rn.f64.u32 %e0, %r0;\nsqrt.rn.f64 %e1, %e0;\nmul.rn.f64 %e1, %e1, 0d412E848000000000;\n"
               "cvt.rzi.u32.f64 %r1, %e1;\n" END, root, 1},
    {"half precision",
     PTX ENTRY "cvt.rn.f16.u32 %h0, %r0;\nmov.b16 %h1, 0x4200;\nmov.b16 %h2, 0x4700;\nfma.rn.f16 %h3, %h0, %h1, %h2;\n"
               "cvt.rzi.u32.f16 %r1, %h3;\n" END, triple, 0},
    {"approximate functions",
     PTX ENTRY "cvt.rn.f32.u32 %f0, %r0;\nadd.f32 %f0, %f0, 0f34000000;\nlg2.approx.f32 %f1, %f0;\n"
               "mul.f32 %f1, %f1, 0f3F000000;\nex2.approx.f32 %f2, %f1;\nmul.f32 %f2, %f2, 0f49742400;\n"
               "cvt.rzi.u32.f32 %r1, %f2;\n" END, root, 400},
};
enum { PROBES = sizeof probes / sizeof *probes };

/* ---- the driver, which is a stranger here ------------------------------------------------------ */

static void *driver;

/* Calls NAME_v2, or NAME; 1000 if there is neither. */
#define CALL(name, types, ...)                                                                     \
    (entry(name) ? ((int (*) types)(uintptr_t)entry(name))(__VA_ARGS__) : (missing = name, 1000))
static const char *missing;

static void *entry(const char *name)
{
    char v2[64];
    (void)snprintf(v2, sizeof v2, "%s_v2", name);
    void *at = dlsym(driver, v2);
    return at ? at : dlsym(driver, name);
}

static int open_driver(unsigned *arch)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    char path[PATH_MAX];
    int device = 0, major = 0, minor = 0;
    void *ctx = NULL;
    while (l && l->name && strcmp(l->name, "musa") != 0)
        l++;
    if (!l || !l->name || !cumu_sdk_library(l, path) || !(driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL)))
        return 1000;
    int err = CALL("muInit", (unsigned), 0);
    if (!err)
        err = CALL("muDeviceGet", (int *, int), &device, 0);
    if (!err)
        err = CALL("muDeviceGetAttribute", (int *, int, int), &major, CC_MAJOR, device);
    if (!err)
        err = CALL("muDeviceGetAttribute", (int *, int, int), &minor, CC_MINOR, device);
    *arch = (unsigned)(10 * major + minor);
    return err ? err : CALL("muCtxCreate", (void **, unsigned, int), &ctx, 0, device);
}

/* ---- one kernel -------------------------------------------------------------------------------- */

struct compiled {
    struct cumu_compiled mubin;
    struct mu_info info;
    struct ptx_module *ptx;
    void *image;
};

static bool compile(struct compiled *c, const char *text, unsigned arch)
{
    struct ptx_diag diag = {0};
    char *source = NULL;
    size_t size;
    c->ptx = ptx_module_open(text, strlen(text), &diag);
    if (!c->ptx || lir_lower_kernel(c->ptx, "probe", &c->image, &size, &diag) ||
        mu_emit(c->ptx, "probe", c->image, MU_MUSA, &source, &size, &c->info, &diag)) {
        printf("no: line %u: %s: %s\n", diag.line, diag.what, diag.msg);
        return false;
    }
    bool made = cumu_mubin_make(&c->mubin, "probe", source, size, arch, CUMU_WANT_COMPILED) != CUMU_MADE_FAILED;
    if (!made)
        printf("no: %s\n", c->mubin.why);
    free(source);
    return made;
}

/* Addresses of the module's variables, each in memory of its own, as kernel/device.c does it. */
static int bind(const struct compiled *c, void *module)
{
    unsigned long long address[MAX_EXTERNS] = {0}, table = 0;
    const char *name;
    size_t size = 0;
    unsigned n = 0;
    int err = 0;
    for (uint32_t v = 0; v < c->ptx->nvar && !err; v++) { /* the one without addresses comes first */
        const struct ptx_var *var = &c->ptx->var[v];
        unsigned long long at = 0, value[1] = {0};
        if (var->space == PTX_SP_SHARED)
            continue;
        err = CALL("muMemAlloc", (unsigned long long *, size_t), &at, 64);
        memcpy(value, var->init, var->init_size < 8 ? var->init_size : 8);
        if (var->nreloc)
            value[0] = address[MAX_EXTERNS - 1];
        address[MAX_EXTERNS - 1] = at;
        if (!err)
            err = CALL("muMemcpyHtoD", (unsigned long long, const void *, size_t), at, value, sizeof value);
        for (n = 0; (name = lir_image_extern(c->image, n)); n++)
            if (!strcmp(name, var->name))
                address[n] = at;
    }
    if (err || !c->info.nextern)
        return err;
    err = CALL("muModuleGetGlobal", (unsigned long long *, size_t *, void *, const char *), &table, &size, module,
               MU_EXTERNS);
    return err ? err : CALL("muMemcpyHtoD", (unsigned long long, const void *, size_t), table, address,
                            8 * (size_t)c->info.nextern);
}

static int run(const struct compiled *c, uint32_t out[THREADS])
{
    unsigned long long memory = 0;
    void *module = NULL, *function = NULL;
    uint8_t a = 0x0a;
    uint16_t b = 0x0b0c;
    uint32_t d = 0x0d;
    void *args[] = {&memory, &a, &b, &d};
    int err = CALL("muMemAlloc", (unsigned long long *, size_t), &memory, THREADS * sizeof *out);
    if (!err)
        err = CALL("muModuleLoadData", (void **, const void *), &module, c->mubin.data);
    if (!err)
        err = CALL("muModuleGetFunction", (void **, void *, const char *), &function, module, c->info.symbol);
    if (!err)
        err = bind(c, module);
    if (!err)
        err = CALL("muLaunchKernel", (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                      void *, void **, void **), function, 1, 1, 1, THREADS, 1, 1,
                   SHARED + (c->info.dynamic ? c->info.shared : 0), NULL, args, NULL);
    return err ? err : CALL("muMemcpyDtoH", (void *, unsigned long long, size_t), out, memory, THREADS * sizeof *out);
}

static bool right(unsigned k, const uint32_t out[THREADS])
{
    for (uint32_t t = 0; t < THREADS; t++) {
        uint32_t want = probes[k].want(t);
        if ((out[t] > want ? out[t] - want : want - out[t]) <= probes[k].tolerance)
            continue;
        printf("wrong: thread %u has 0x%x, not 0x%x\n", t, out[t], want);
        return false;
    }
    puts("right");
    return true;
}

/* In a child: what became of the kernel. */
static int try_one(unsigned k, unsigned fallback)
{
    uint32_t out[THREADS] = {0};
    struct compiled c = {.ptx = NULL};
    unsigned arch = 0;
    int err = open_driver(&arch);
    if (!err && compile(&c, probes[k].text, cumu_arch_known(arch) ? arch : fallback)) {
        err = run(&c, out);
        if (!err)
            return right(k, out);
    } else if (!err) {
        return 0;
    }
    if (err == 1000)
        printf("no: the driver lacks %s\n", missing ? missing : "itself");
    else
        printf("no: the driver answers %d\n", err);
    return 0;
}

void cumu_doctor_kernels(unsigned arch)
{
    unsigned good = 0, here = 0;
    int status;
    (void)fflush(stdout);
    pid_t pid = fork(); /* is there a device at all? */
    if (pid == 0) {
        (void)alarm(SECONDS);
        _exit(open_driver(&here) == 0 ? (int)(here & 127) : 127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        puts("no driver with a device: no kernel is tried");
        return;
    }
    printf("on a device of mp_%d\n", WEXITSTATUS(status));
    for (unsigned k = 0; k < PROBES; k++) {
        printf("%-46s ", probes[k].name);
        (void)fflush(stdout);
        pid = fork();
        if (pid == 0) {
            (void)alarm(SECONDS);
            int was = try_one(k, arch);
            (void)fflush(stdout);
            _exit(!was);
        }
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            status = 1;
        if (WIFSIGNALED(status))
            printf(WTERMSIG(status) == SIGALRM ? "no: not done in %d seconds\n" : "no: died of signal %d\n",
                   WTERMSIG(status) == SIGALRM ? SECONDS : WTERMSIG(status));
        good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    printf("%u of %u\n", good, (unsigned)PROBES);
}
