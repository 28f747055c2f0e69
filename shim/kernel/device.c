/* Kernels on a MUSA device: MUSA C++ of a kernel to a mubin, and the table of its module's variables' addresses that
 * the kernel looks them up in. */
#include "kernel/device.h"
#include "kernel/nest.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/config.h"
#include "core/resolve.h"
#include "compile/compile.h"
#include "compile/native.h"
#include "kernel/jit.h"
#include "compile/progress.h"
#include "ptx/musa/musa.h"
#include "ptx/lir/image.h"

enum { MAX_THREADS = 8, TOGETHER = CUMU_MUBIN_JOINED }; /* compilers side by side; kernels that each is asked for */

struct device_code { /* of one kernel for one architecture */
    struct device_code *next;
    unsigned arch;
    bool making; /* some thread is at it */
    int error;
    void *mubin;
    size_t size;
    struct mu_info info;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the lists of code, and `making` */
static pthread_cond_t made = PTHREAD_COND_INITIALIZER;

atomic_int cumu_device_known = -1;

bool cumu_device_code(void)
{
    int k = atomic_load_explicit(&cumu_device_known, memory_order_relaxed);
    if (k < 0) {
        k = !cumu_below_has("musa", LIR_TAKES_IMAGES);
        atomic_store(&cumu_device_known, k);
    }
    return k;
}

/* ---- mubins ---------------------------------------------------------------------------------- */

/* mp_31 is what reports compute capability 3.1. */
static int arch_here(unsigned *arch)
{
    MUdevice device;
    int major = 0, minor = 0, err = mu.muCtxGetDevice(&device);
    if (!err)
        err = mu.muDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    if (!err)
        err = mu.muDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    const long own = cumu_opt_int(CUMU_OPT_MUSA_ARCH);
    *arch = own > 0 ? (unsigned)own : (unsigned)(10 * major + minor);
    return err;
}

struct source { /* of one kernel */
    struct cumu_func *f;
    struct device_code *c;
};

/* Flattened control flow; what launches must know of the kernel does not depend on it. */
static bool emit_flat(void *ctx, char **text, size_t *size)
{
    const struct source *s = ctx;
    struct mu_info info;
    struct ptx_diag diag;
    cumu_unit_enter(s->f->unit);
    bool good = cumu_unit_lower(s->f->unit, s->f) == CUDA_SUCCESS &&
                mu_emit(cumu_unit_ptx(s->f->unit), s->f->name, s->f->image, MU_MUSA_FLAT, text, size, &info, &diag) ==
                    0;
    cumu_unit_leave(s->f->unit);
    return good;
}

/* The kernel as MUSA C++. */
static int emit(struct cumu_func *f, struct device_code *c, char **text, size_t *size)
{
    struct ptx_diag diag = {0};
    cumu_unit_enter(f->unit);
    int err = cumu_unit_lower(f->unit, f);
    if (!err && mu_emit(cumu_unit_ptx(f->unit), f->name, f->image, MU_MUSA, text, size, &c->info, &diag)) {
        cumu_func_report(f, CUMU_GAP, "has no code for mp_%u: PTX line %u: %s%s%s", c->arch, diag.line, diag.what,
                         diag.what[0] ? ": " : "", diag.msg);
        err = cumu_nest_launches(f) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    }
    unsigned front = !err && c->info.dynamic ? c->info.shared : 0;
    if (!err && f->front != front) /* else launches on another device read it meanwhile */
        f->front = front;
    cumu_unit_leave(f->unit);
    return err;
}

/* A kernel that some thread compiles, which has claimed it. */
struct job {
    struct cumu_func *f;
    struct device_code *c;
    char *text;
    size_t size;
    struct source of;
    int error;
};

static bool may_compile(void) { return strcmp(cumu_opt_text(CUMU_OPT_JIT), "0") != 0; }

static int write_text(struct job *j)
{
    if (!cumu_arch_known(j->c->arch)) {
        cumu_func_report(j->f, CUMU_ERROR, "mp_%u is no architecture that kernels can be compiled for", j->c->arch);
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    int err = emit(j->f, j->c, &j->text, &j->size);
    if (!err && j->c->info.products && may_compile() && cumu_native_unknown(j->c->arch))
        cumu_native_probe(j->c->arch);
    j->of = (struct source){j->f, j->c};
    return err;
}

/* Each way to fail has the CUDA error that its counterpart would give. */
static int take_mubin(struct cumu_func *f, struct device_code *c, enum cumu_made from, const struct cumu_compiled *o)
{
    char how[48] = "from the cache";
    const char *why;
    switch (from) {
    case CUMU_MADE_ABSENT:
        cumu_func_report(f, CUMU_ERROR, "is not in the cache, and CUMU_JIT=0 forbids compiling it");
        return CUDA_ERROR_JIT_COMPILATION_DISABLED;
    case CUMU_MADE_FAILED:
        cumu_func_report(f, CUMU_ERROR, "cannot be compiled for mp_%u: %s", c->arch, o->why);
        return cumu_musa_compiler(&why) ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_JIT_COMPILER_NOT_FOUND;
    case CUMU_MADE_COMPILED:
        (void)snprintf(how, sizeof how, "compiled in %u ms", o->ms);
        if (*o->why)
            cumu_warn("jit", f->name, "mp_%u: %s", c->arch, o->why);
        break;
    case CUMU_MADE_CACHED: break;
    }
    cumu_info("jit", f->name, "mp_%u: %s", c->arch, how);
    cumu_jit_note(f->name, how, o->ms);
    c->mubin = o->data;
    c->size = o->size;
    return CUDA_SUCCESS;
}

/* Makes kernels' mubins: from the cache or by the SDK's compiler, as CUMU_JIT allows. */
static void compile(struct job *j, unsigned n)
{
    struct cumu_musa_source s[TOGETHER];
    struct cumu_compiled o[TOGETHER];
    enum cumu_made from[TOGETHER];
    struct job *of[TOGETHER];
    unsigned m = 0;
    for (unsigned k = 0; k < n; k++)
        if ((j[k].error = write_text(&j[k])) == 0) {
            s[m] = (struct cumu_musa_source){j[k].f->name, j[k].text,     j[k].size, emit_flat,
                                             &j[k].of,     &j[k].c->info, NULL};
            of[m++] = &j[k];
        }
    if (m)
        cumu_mubin_make_many(o, from, s, m, j->c->arch, may_compile() ? CUMU_WANT_COMPILED : CUMU_WANT_CACHED);
    for (unsigned k = 0; k < m; k++)
        of[k]->error = take_mubin(of[k]->f, of[k]->c, from[k], &o[k]);
    for (unsigned k = 0; k < n; k++)
        free(j[k].text);
}

static struct device_code *find(const struct cumu_func *f, unsigned arch)
{
    struct device_code *c = f->code;
    while (c && c->arch != arch)
        c = c->next;
    return c;
}

/* The caller is the first that wants it and compiles it; NULL: it is there, another thread is at it, or there is no
 * memory. */
static struct device_code *claim(struct cumu_func *f, unsigned arch)
{
    struct device_code *c = NULL;
    pthread_mutex_lock(&lock);
    if (!find(f, arch))
        c = calloc(1, sizeof *c);
    if (c) {
        c->arch = arch;
        c->making = true;
        c->next = f->code;
        f->code = c;
    }
    pthread_mutex_unlock(&lock);
    return c;
}

/* Who comes second waits for who came first. */
static int wait_for(struct cumu_func *f, unsigned arch)
{
    pthread_mutex_lock(&lock);
    struct device_code *c = find(f, arch);
    while (c && c->making)
        pthread_cond_wait(&made, &lock);
    pthread_mutex_unlock(&lock);
    return c ? c->error : CUDA_ERROR_OUT_OF_MEMORY;
}

/* Those of the n kernels that nobody has begun; does not wait for others. */
static void compile_new(struct cumu_func *const *f, unsigned n, unsigned arch)
{
    struct job j[TOGETHER];
    unsigned m = 0;
    for (unsigned k = 0; k < n; k++) {
        struct device_code *c = claim(f[k], arch);
        if (c)
            j[m++] = (struct job){.f = f[k], .c = c};
    }
    if (m)
        compile(j, m);
    pthread_mutex_lock(&lock);
    for (unsigned k = 0; k < m; k++) {
        j[k].c->error = j[k].error;
        j[k].c->making = false;
    }
    pthread_cond_broadcast(&made);
    pthread_mutex_unlock(&lock);
}

static int compile_for(struct cumu_func *f, unsigned arch)
{
    compile_new(&f, 1, arch);
    return wait_for(f, arch);
}

int cumu_device_compile(struct cumu_func *f)
{
    unsigned arch;
    int err = arch_here(&arch);
    return err ? err : compile_for(f, arch);
}

struct many { /* kernels that are compiled side by side */
    struct cumu_func **f;
    unsigned n, arch, done, together;
    atomic_uint next;
    atomic_int error; /* that is not one kernel's own */
};

/* An error of this kernel: others may well be compiled. */
static bool is_its_own(int err)
{
    return err == CUDA_ERROR_NOT_SUPPORTED || err == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
           err == CUDA_ERROR_INVALID_PTX;
}

static void *compile_some(void *arg)
{
    struct many *m = arg;
    for (unsigned k; (k = atomic_fetch_add(&m->next, m->together)) < m->n;) {
        const unsigned n = m->n - k < m->together ? m->n - k : m->together;
        compile_new(m->f + k, n, m->arch);
        for (unsigned i = k; i < k + n; i++) {
            int err = wait_for(m->f[i], m->arch), none = 0;
            if (err && !is_its_own(err))
                (void)atomic_compare_exchange_strong(&m->error, &none, err);
        }
        pthread_mutex_lock(&lock);
        m->done += n;
        cumu_progress(m->done, m->n - m->done);
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

/* The caller works too, so that it goes on where no thread can be had. */
static void compile_side_by_side(struct many *m)
{
    pthread_t thread[MAX_THREADS];
    unsigned started = 0;
    sigset_t all, old;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const unsigned at_once = cpus < 1 ? 1 : cpus < MAX_THREADS ? (unsigned)cpus : MAX_THREADS;
    const unsigned each = (m->n + at_once - 1) / at_once; /* as many as leave work for all */
    m->together = each < 1 ? 1 : each < TOGETHER ? each : TOGETHER;
    sigfillset(&all); /* the program's handlers run on the program's threads */
    (void)pthread_sigmask(SIG_SETMASK, &all, &old);
    while (started < MAX_THREADS && (long)started + 1 < cpus && (started + 1) * m->together < m->n &&
           pthread_create(&thread[started], NULL, compile_some, m) == 0)
        started++;
    (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
    compile_some(m);
    while (started > 0)
        (void)pthread_join(thread[--started], NULL);
}

int cumu_device_compile_all(struct cumu_unit *u)
{
    struct many m = {.n = 0};
    MUcontext ctx;
    int err = cumu_context_current(&ctx);
    if (!err)
        err = arch_here(&m.arch);
    const struct ptx_module *ptx = cumu_unit_ptx(u);
    if (err || !ptx)
        return err;
    m.f = calloc(ptx->nfunc + 1, sizeof *m.f);
    if (!m.f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned i = 0; !err && i < ptx->nfunc; i++)
        if (ptx->func[i].is_entry && !ptx->func[i].is_decl)
            err = cumu_module_func(cumu_unit_module(u), ptx->func[i].name, &m.f[m.n++]);
    if (!err)
        compile_side_by_side(&m);
    free(m.f);
    return err ? err : atomic_load(&m.error);
}

void cumu_device_code_free(struct cumu_func *f)
{
    while (f->code) {
        struct device_code *c = f->code;
        f->code = c->next;
        free(c->mubin);
        free(c);
    }
}

/* ---- loading --------------------------------------------------------------------------------- */

int cumu_device_work(int (*work)(MUstream s, const void *arg), const void *arg)
{
    MUstream s = NULL;
    int err = mu.muStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    if (err)
        return err;
    err = work(s, arg);
    int done = mu.muStreamSynchronize(s);
    (void)mu.muStreamDestroy_v2(s);
    return err ? err : done;
}

struct table { /* of addresses, for MU_EXTERNS */
    MUdeviceptr to;
    const uint64_t *address;
    size_t size;
};

static int fill(MUstream s, const void *arg)
{
    const struct table *t = arg;
    return mu.muMemcpyHtoDAsync_v2(t->to, t->address, t->size, s);
}

/* The addresses of the module's variables, where the kernel looks for them. */
static int bind(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, MUmodule module, const struct mu_info *info)
{
    char name[MU_EXTERNS_NAME];
    void *image;
    size_t size;
    struct table t = {0};
    int err = cumu_unit_image(u, f, ctx, &image, &size);
    if (err)
        return err;
    const struct lir_image *bound = image;
    const struct lir_extern *x = LIR_AT(bound, externs, struct lir_extern);
    uint64_t *address = calloc(bound->externs.count + 1, sizeof *address);
    for (uint32_t k = 0; address && k < bound->externs.count; k++)
        address[k] = x[k].address;
    t.address = address;
    t.size = bound->externs.count * sizeof *address;
    if (!address)
        err = CUDA_ERROR_OUT_OF_MEMORY;
    if (!err && t.size) {
        mu_externs_name(info, name); /* of one that was compiled together with others */
        err = mu.muModuleGetGlobal_v2(&t.to, &size, module, name);
        if (err)
            err = mu.muModuleGetGlobal_v2(&t.to, &size, module, MU_EXTERNS);
    }
    if (!err && t.size)
        err = size < t.size ? CUDA_ERROR_INVALID_IMAGE : cumu_device_work(fill, &t);
    free(address);
    free(image);
    return err;
}

/* SDK 3.1.0's driver is seen to take mcc's whole bundle: one that refuses the mubin alone is offered it in one. */
static int load(MUmodule *module, const struct device_code *c)
{
    int err = mu.muModuleLoadData(module, c->mubin);
    if (err != CUDA_ERROR_INVALID_IMAGE && err != CUDA_ERROR_INVALID_VALUE && err != CUDA_ERROR_NO_BINARY_FOR_GPU)
        return err;
    void *bundle = cumu_mubin_bundle(c->mubin, c->size, c->arch);
    bool taken = bundle && !mu.muModuleLoadData(module, bundle);
    free(bundle);
    return taken ? CUDA_SUCCESS : err;
}

int cumu_device_load(struct cumu_unit *u, struct cumu_func *f, MUcontext ctx, struct func_inst *inst)
{
    unsigned arch;
    int err = arch_here(&arch);
    if (err)
        return err;
    pthread_mutex_lock(&lock);
    struct device_code *c = find(f, arch);
    pthread_mutex_unlock(&lock);
    if (!c || !c->mubin)
        return c ? c->error : CUDA_ERROR_INVALID_CONTEXT; /* another device than it was compiled for */
    err = load(&inst->module, c);
    if (err) {
        cumu_func_report(f, CUMU_ERROR, "the MUSA driver refused its mubin for mp_%u (%d)", arch, err);
        return err;
    }
    err = mu.muModuleGetFunction(&inst->function, inst->module, c->info.symbol);
    if (err)
        cumu_func_report(f, CUMU_ERROR, "its mubin for mp_%u lacks %s (%d)", arch, c->info.symbol, err);
    int most = 0;
    if (!err && !mu.muFuncGetAttribute(&most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, inst->function) && most > 0)
        inst->most_threads = (unsigned)most;
    if (!err && (err = bind(u, f, ctx, inst->module, &c->info)) != 0)
        cumu_func_report(f, CUMU_ERROR, "its mubin cannot be told where variables are (%d)", err);
    if (err)
        (void)mu.muModuleUnload(inst->module);
    return err;
}

bool cumu_device_estimate(const struct cumu_func *f, int attribute, int *value)
{
    const struct lir_image *image = f->image;
    const struct lir_kernel_rec *r = image ? LIR_AT(image, kernels, struct lir_kernel_rec) : NULL;
    if (cumu_func_attr_set(f, attribute, value))
        return true;
    switch (r ? attribute : -1) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)r->max_threads; return true;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)r->shared_size; return true;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)r->local_size; return true;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)r->num_regs; return true;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = (int)LIR_SHARED_STATIC - (int)r->shared_size;
        return true;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = -1; return true;
    default: return false;
    }
}
