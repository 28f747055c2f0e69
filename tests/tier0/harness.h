/* Runs PTX text through lowering, loading and execution in one process, for the tests of tier 0.
 * One file per test program includes it; results are `ok`/`not ok` lines and the exit status. */
#ifndef CUMU_TESTS_TIER0_HARNESS_H
#define CUMU_TESTS_TIER0_HARNESS_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "ptx/tier0/tier0.h"

static char t0t_printed[1 << 16]; /* what kernels printed since the last t0t_open */
static size_t t0t_nprinted;

static void *t0t_alloc(void *ctx, size_t size, size_t align)
{
    (void)ctx;
    if (size > 1u << 26) /* corrupt images ask for anything */
        return NULL;
    align = align < 16 ? 16 : align;
    void *p = aligned_alloc(align, (size + align - 1) / align * align);
    if (p)
        memset(p, 0, size);
    return p;
}
static void t0t_release(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}
static bool t0t_free(void *ctx, void *p)
{
    t0t_release(ctx, p);
    return true;
}
static void *t0t_malloc(void *ctx, size_t size)
{
    (void)ctx;
    return size > 1u << 24 ? NULL : malloc(size);
}
static void t0t_print(void *ctx, const char *text, size_t len)
{
    (void)ctx;
    if (len > sizeof t0t_printed - 1 - t0t_nprinted)
        len = sizeof t0t_printed - 1 - t0t_nprinted;
    memcpy(t0t_printed + t0t_nprinted, text, len);
    t0t_printed[t0t_nprinted += len] = '\0';
}

/* Assertions that failed: a fault each, unless a test lets them be collected. */
static __attribute__((unused)) _Atomic bool t0t_asserted, *t0t_collect;
static struct t0_fault t0t_claims[256];
static unsigned t0t_nclaims;
static void t0t_assertion(void *ctx, const struct t0_fault *f)
{
    (void)ctx;
    if (t0t_nclaims < sizeof t0t_claims / sizeof *t0t_claims) {
        t0t_claims[t0t_nclaims] = *f;
        t0t_claims[t0t_nclaims].kernel = strcmp(f->kernel, "k") ? "another" : "k"; /* its text goes with the module */
    }
    t0t_nclaims++;
}

#ifndef T0T_COPIES /* multicast addresses */
#define T0T_COPIES NULL
#endif
static const struct t0_env t0t_env = {.global_alloc = t0t_alloc,
                                      .global_free = t0t_release,
                                      .dev_malloc = t0t_malloc,
                                      .dev_free = t0t_free,
                                      .print = t0t_print,
                                      .assertion = t0t_assertion,
                                      .copies = T0T_COPIES};

static struct t0_worker *t0t_worker;

static void t0t_on_signal(int sig, siginfo_t *info, void *context)
{
    (void)context;
    t0_worker_memory_fault(t0t_worker, info->si_addr, sig == SIGBUS);
    signal(sig, SIG_DFL); /* not ours: die where it happened */
}

/* Tier 1's tests run the same kernels by its objects: they define what runs a block and what ends it. */
struct t0t;
#ifndef T0T_BLOCK_RUN
#define T0T_BLOCK_RUN(t, worker, g, block, fault) t0_block_run(worker, g, block, fault)
#define T0T_CLOSE(t) (void)(t)
#endif
#ifndef T0T_CLUSTER_RUN
#define T0T_CLUSTER_RUN(t, worker, g, first, count, fault) t0_blocks_run_resident(worker, g, first, count, fault)
#endif

struct t0t {
    struct ptx_module *ptx;
    struct t0_module *data, *code;
    struct t0_kernel *kernel;
    struct t0_kernel_info info;
    void *image;
    size_t size;
    char why[400];
    void *object; /* T0T_BLOCK_RUN's */
    int object_state;
};

static __attribute__((unused)) void t0t_close(struct t0t *t)
{
    T0T_CLOSE(t);
    t0_module_unload(t->code);
    t0_module_unload(t->data);
    ptx_module_close(t->ptx);
    free(t->image);
    memset(t, 0, sizeof *t);
}

static bool t0t_load(struct t0t *t, const char *kernel)
{
    struct ptx_diag diag = {0};
    void *image;
    size_t size;
    const char *why = "?", *name;
    if (lir_lower_data(t->ptx, &image, &size, &diag) || lir_lower_kernel(t->ptx, kernel, &t->image, &t->size, &diag)) {
        snprintf(t->why, sizeof t->why, "line %u: %s: %s", diag.line, diag.what, diag.msg);
        return false;
    }
    if (image) {
        t->data = t0_module_load(image, size, &t0t_env, &why);
        free(image);
        if (!t->data) {
            snprintf(t->why, sizeof t->why, "data image: %s", why);
            return false;
        }
    }
    for (unsigned k = 0; (name = lir_image_extern(t->image, k)); k++) {
        void *p = NULL;
        if (!t->data || t0_module_global(t->data, name, &p, NULL)) {
            snprintf(t->why, sizeof t->why, "extern %s is not defined", name);
            return false;
        }
        lir_image_bind(t->image, k, (uint64_t)(uintptr_t)p);
    }
    t->code = t0_module_load(t->image, t->size, &t0t_env, &why);
    t->kernel = t->code ? t0_module_kernel(t->code, kernel) : NULL;
    if (t->kernel)
        t0_kernel_info(t->kernel, &t->info);
    else
        snprintf(t->why, sizeof t->why, "code image: %s", why);
    return t->kernel != NULL;
}

/* Makes the kernel ready to run; false with t->why filled. t0t_close in either case. */
static __attribute__((unused)) bool t0t_open(struct t0t *t, const char *text, const char *kernel)
{
    struct ptx_diag diag = {0};
    memset(t, 0, sizeof *t);
#ifdef T0T_BASELINE /* the same by code of the baseline generator */
    t0_baseline(T0_BASELINE_AT_ONCE);
#endif
    t0t_nprinted = 0;
    t0t_printed[0] = '\0';
    t->ptx = ptx_module_open(text, strlen(text), &diag);
    if (!t->ptx) {
        snprintf(t->why, sizeof t->why, "line %u: %s: %s", diag.line, diag.what, diag.msg);
        return false;
    }
    return t0t_load(t, kernel);
}

static uint32_t t0t_cluster[3]; /* of the launches to come; 0 = without clusters */

/* Runs every block in order on one worker, or cluster after cluster; the arguments are `param_size` bytes at params. */
static __attribute__((unused)) enum t0_fault_kind t0t_run(struct t0t *t, const uint32_t grid[3],
                                                          const uint32_t block[3], uint32_t dynamic_shared,
                                                          const void *params, struct t0_fault *fault)
{
    static uint64_t id;
    struct t0_fault ignored;
    struct t0_grid g = {.kernel = t->kernel,
                        .dynamic_shared = dynamic_shared,
                        .params = params,
                        .asserted = t0t_collect,
                        .env = &t0t_env,
                        .grid_id = ++id,
                        .nsm = 1};
    memcpy(g.grid, grid, sizeof g.grid);
    memcpy(g.block, block, sizeof g.block);
    memcpy(g.cluster, t0t_cluster, sizeof g.cluster);
    if (!t0t_worker) {
        struct sigaction act = {.sa_flags = SA_SIGINFO};
        act.sa_sigaction = t0t_on_signal;
        sigaction(SIGSEGV, &act, NULL);
        sigaction(SIGBUS, &act, NULL);
        t0t_worker = t0_worker_new(0);
    }
    const uint32_t size = t0_cluster_size(&g);
    for (uint64_t b = 0, n = (uint64_t)grid[0] * grid[1] * grid[2]; b < n; b += size) {
        enum t0_fault_kind kind = size > 1 ? T0T_CLUSTER_RUN(t, t0t_worker, &g, b, size, fault ? fault : &ignored)
                                           : T0T_BLOCK_RUN(t, t0t_worker, &g, b, fault ? fault : &ignored);
        if (kind != T0_OK)
            return kind;
    }
    return T0_OK;
}

/* Open, run, close; reports a failure to open as a failed check. */
static __attribute__((unused)) bool t0t_once(const char *text, const char *kernel, uint32_t blocks, uint32_t threads,
                                             const void *params, struct t0_fault *fault)
{
    struct t0t t;
    struct t0_fault f = {0};
    uint32_t grid[3] = {blocks, 1, 1}, block[3] = {threads, 1, 1};
    bool good = t0t_open(&t, text, kernel);
    if (!good)
        check(false, "%s: %s", kernel, t.why);
    else if (t0t_run(&t, grid, block, 0, params, &f) != T0_OK) {
        good = false;
        if (!fault)
            check(false, "%s: fault %d at line %u: %s", kernel, f.kind, f.line, f.text);
    }
    if (fault)
        *fault = f;
    t0t_close(&t);
    return good;
}

static __attribute__((unused)) int t0t_done(void)
{
    t0_worker_free(t0t_worker);
    t0t_worker = NULL;
    return check_end(program_invocation_short_name);
}

#endif
