/* Runs many kernels on one back end: tier 0, tier 1 by objects that hold some dozens of kernels
 * each, and the MUSA C++ as the host's compiler takes it. */
#include "musa/on_musa.h"

#include "flow/flow.h"
#include "ptx/base/base.h"
#include "ptx/tier1/exec/object.h"

const char *const way_name[NWAYS] = {"tier 0",          "tier 1, plain", "tier 1, AVX2",
                                     "tier 1, AVX-512", "MUSA C++",      "baseline"};

bool way_possible(enum way w)
{
    if (w == BASELINE)
        return base_possible();
    return w == TIER0 || (w == MUSA ? !mut_no_compiler() : (int)t1_isa_here() >= (int)w - TIER1_PLAIN);
}

static struct memory got;

static struct args arguments(void)
{
    memory_init(&got);
    return (struct args){(uintptr_t)got.out, (uintptr_t)input, (uintptr_t)got.own, (uintptr_t)got.acc, ARGUMENT};
}

static bool same(struct job *j, enum way w)
{
    char *why = j->why[w];
    const size_t size = sizeof j->why[w];
    for (uint32_t b = 0; b < j->grid; b++)
        for (uint32_t t = 0; t < threads_of(j->block); t++) {
            uint32_t k = b * MAX_THREADS + t;
            for (int v = 0; v < V_STORED; v++)
                if (j->want->out[v][k] != got.out[v][k]) {
                    const struct class_info *c = &classes[class_of(v)];
                    snprintf(why, size, "block %u thread %u: %%%s%d is %llx, should be %llx", b, t, c->name,
                             v - c->first, (unsigned long long)got.out[v][k], (unsigned long long)j->want->out[v][k]);
                    return false;
                }
            for (int s = 0; s < SLOTS; s++)
                if (j->want->own[k][s] != got.own[k][s]) {
                    snprintf(why, size, "block %u thread %u: its word %d is %x, should be %x", b, t, s, got.own[k][s],
                             j->want->own[k][s]);
                    return false;
                }
        }
    for (int k = 0; k < ACC_KINDS * ACC_WORDS; k++)
        if (j->want->acc[k / ACC_WORDS][k % ACC_WORDS] != got.acc[k / ACC_WORDS][k % ACC_WORDS]) {
            snprintf(why, size, "sum %d of kind %d is %x, should be %x", k % ACC_WORDS, k / ACC_WORDS,
                     got.acc[k / ACC_WORDS][k % ACC_WORDS], j->want->acc[k / ACC_WORDS][k % ACC_WORDS]);
            return false;
        }
    return true;
}

static bool open_job(struct job *j, struct t0t *t, enum way w)
{
    t0_baseline(w == BASELINE ? T0_BASELINE_AT_ONCE : T0_BASELINE_NEVER);
    if (t0t_open(t, j->text, "k"))
        return true;
    snprintf(j->why[w], sizeof j->why[w], "%.299s", t->why);
    return false;
}

/* One block after the other; run_block is tier 0's, or a compiled kernel's. */
static void run_blocks(struct job *j, struct t0t *t, enum way w, const struct t1_object *o)
{
    static uint64_t id;
    static const uint32_t none[3] = {0, 1, 1};
    const struct args a = arguments();
    struct t0_grid g = {
        .kernel = t->kernel, .grid = {j->grid, 1, 1}, .params = &a, .env = &t0t_env, .grid_id = ++id, .nsm = 1};
    struct t0_fault f = {0};
    enum t0_fault_kind kind = T0_OK;
    memcpy(g.block, j->block, sizeof g.block);
    t0t_run(t, none, g.block, 0, &a, &f); /* makes the worker */
    for (uint64_t b = 0; b < g.grid[0] && kind == T0_OK; b++)
        kind = w == TIER0 || w == BASELINE ? t0_block_run(t0t_worker, &g, b, &f)
               : w == MUSA                 ? mut_block(t, t0t_worker, &g, b, &f)
                                           : t1_block_run(t0t_worker, o, &g, b, &f);
    if (kind != T0_OK)
        snprintf(j->why[w], sizeof j->why[w], "fault %d at line %u: %.200s", kind, f.line, f.text);
    j->result[w] = kind == T0_OK && same(j, w);
}

/* ---- tier 1 ---- */

enum { UNIT = 24, MOST_JOBS = 1024 };
static struct { /* kernels whose text begins alike share a file */
    char *head, *text;
    size_t size, head_size;
    FILE *f;
    int n;
    struct t1_object *object;
} units[MOST_JOBS];
static int nunit, unit_of[MOST_JOBS], number_of[MOST_JOBS];
static char folder[64];

static const char *const own_names[] = {"t1_kernel",    "t1_args",     "t1_args_of",   "t1_first",
                                        "t1_run_block", "cumu_t1_run", "cumu_t1_info", "k_kernel",
                                        "f_0",          "f_1",         "f_2"};

/* Adds the kernel's own text to a file that has the same prelude, which it ends with. */
static void add_to_unit(int job, const char *text, size_t size)
{
    size_t prelude_size;
    const char *prelude = t1_prelude(&prelude_size), *at = memmem(text, size, prelude, prelude_size);
    size_t head = (size_t)(at - text) + prelude_size;
    int u = 0;
    while (u < nunit && (units[u].n == UNIT || units[u].head_size != head || memcmp(units[u].head, text, head)))
        u++;
    if (u == nunit) {
        nunit++;
        units[u].head = memcpy(malloc(head), text, head);
        units[u].head_size = head;
        units[u].f = open_memstream(&units[u].text, &units[u].size);
        fwrite(text, 1, head, units[u].f);
    }
    unit_of[job] = u;
    number_of[job] = units[u].n++;
    const int n = number_of[job];
    for (size_t k = 0; k < sizeof own_names / sizeof own_names[0] && n; k++)
        fprintf(units[u].f, "#define %s %s_%d\n", own_names[k], own_names[k], n);
    fwrite(text + head, 1, size - head, units[u].f);
    for (size_t k = 0; k < sizeof own_names / sizeof own_names[0] && n; k++)
        fprintf(units[u].f, "#undef %s\n", own_names[k]);
}

/* A third of the compiler's time, but nothing of what an optimiser makes of a kernel. What is not called is not
 * compiled: inline. */
#define LIGHT_FLAGS "-O0 '-DT1_INLINE=static inline __attribute__((unused))'"
bool light(void)
{
    const char *s = getenv("FLOW_LIGHT");
    return s && *s == '1';
}

static void put_file(const char *path, const char *text, size_t size)
{
    FILE *f = fopen(path, "w");
    if (f) {
        fwrite(text, 1, size, f);
        fclose(f);
    }
}

static void compile_units(enum t1_isa isa)
{
    char command[1400], path[100];
    const char *cc = getenv("CC"), *jobs = getenv("FLOW_JOBS");
    snprintf(folder, sizeof folder, "/tmp/cumu-flow-XXXXXX");
    if (!mkdtemp(folder))
        return;
    for (int u = 0; u < nunit; u++) {
        snprintf(path, sizeof path, "%s/%d.c", folder, u);
        fclose(units[u].f);
        put_file(path, units[u].text, units[u].size);
        /* What the emitter writes wrongly is wrong in either half; a quarter is compiled as the shim has large
         * kernels compiled, a quarter as small ones. */
        const char *flags = light() || u % 4 > 1 ? LIGHT_FLAGS : u % 4 ? t1_size_flags(SIZE_MAX) : "";
        strcat(path, ".flags");
        put_file(path, flags, strlen(flags));
        free(units[u].text);
        free(units[u].head);
    }
    snprintf(command, sizeof command, "ls %s/*.c | xargs -P %s -I{} %s %s @{}.flags -o {}.so {} 2>%s/err", folder,
             jobs && *jobs ? jobs : "2", cc && *cc ? cc : "cc", t1_isa_flags(isa), folder);
    if (system(command))
        printf("# a compiler failed: %s\n", command);
}

static void load_units(void)
{
    static char bytes[16 << 20];
    char path[100];
    const char *why;
    for (int u = 0; u < nunit; u++) {
        snprintf(path, sizeof path, "%s/%d.c.so", folder, u);
        FILE *f = fopen(path, "r");
        size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
        if (f)
            fclose(f);
        units[u].object = size ? t1_object_load(bytes, size, NULL, &why) : NULL;
    }
    snprintf(path, sizeof path, "rm -r %s", folder);
    if (!getenv("FLOW_KEEP_C") && system(path))
        printf("# %s is left\n", folder);
}

static void run_on_object(struct job *j, struct t0t *t, enum way w, int u, int n)
{
    char name[32];
    if (!units[u].object) {
        snprintf(j->why[w], sizeof j->why[w], "does not compile");
        return;
    }
    struct t1_object o = *units[u].object; /* another kernel of the same file */
    static uint64_t serial = 1u << 30;
    o.serial = ++serial;
    o.externs = NULL;
    if (n) {
        snprintf(name, sizeof name, "cumu_t1_run_%d", n);
        *(void **)&o.run = dlsym(o.handle, name);
        snprintf(name, sizeof name, "cumu_t1_info_%d", n);
        o.info = dlsym(o.handle, name);
    }
    if (t1_object_bind(&o, t->kernel))
        run_blocks(j, t, w, &o);
    free(o.externs);
}

static void run_tier1(struct job *job, int n, enum way w, volatile int *now)
{
    const enum t1_isa isa = (enum t1_isa)(w - TIER1_PLAIN);
    static struct t0t t[MOST_JOBS];
    nunit = 0;
    for (int k = 0; k < n; k++) {
        struct ptx_diag diag = {0};
        char *text = NULL;
        size_t size;
        *now = k;
        unit_of[k] = -1;
        memset(&units[k], 0, sizeof units[k]);
        if (!open_job(&job[k], &t[k], w))
            continue;
        /* by seed as programs run it, checked, and with loops that share a header as one */
        const uint64_t seed = job[k].seed;
        if (t1_emit_as(t[k].ptx, "k", t1_shape(job[k].block), isa, ((seed ^ seed / 8) & 3) | T1_EMIT_WHOLE, &text,
                       &size, &diag)) {
            snprintf(job[k].why[w], sizeof job[k].why[w], "%s: %s", diag.what, diag.msg);
            job[k].result[w] = -1;
            continue;
        }
        add_to_unit(k, text, size);
        free(text);
    }
    *now = NONE;
    compile_units(isa);
    load_units();
    for (int k = 0; k < n; k++) {
        *now = k;
        if (unit_of[k] >= 0)
            run_on_object(&job[k], &t[k], w, unit_of[k], number_of[k]);
        t0t_close(&t[k]);
    }
    for (int u = 0; u < nunit; u++)
        t1_object_unload(units[u].object);
}

/* ---- MUSA ---- */

/* What is written down first is found again by its text. */
static void run_musa(struct job *job, int n, volatile int *now)
{
    char command[80];
    struct t0t t;
    if (!mkdtemp(mut_dir))
        return;
    mut_collects = true;
    for (int k = 0; k < n; k++) {
        *now = k;
        if (open_job(&job[k], &t, MUSA))
            mut_make(&t);
        t0t_close(&t);
    }
    *now = NONE;
    if (mut_file)
        fclose(mut_file);
    mut_collects = false;
    if (mut_make_prelude())
        mut_compile();
    for (int k = 0; k < n; k++) {
        *now = k;
        if (open_job(&job[k], &t, MUSA)) {
            t.object_state = 1;
            t.object = mut_make(&t);
            if (t.object)
                run_blocks(&job[k], &t, MUSA, NULL);
            else
                job[k].result[MUSA] = -1;
        }
        t0t_close(&t);
    }
    snprintf(command, sizeof command, "rm -r %s", mut_dir);
    if (!getenv("MUSA_KEEP_CC") && system(command))
        printf("# %s is left\n", mut_dir);
}

void run_jobs(struct job *job, int n, enum way w, volatile int *now)
{
    for (int k = 0; k < n; k++)
        job[k].result[w] = 0;
    if (w == MUSA) {
        run_musa(job, n, now);
    } else if (w != TIER0 && w != BASELINE) {
        run_tier1(job, n, w, now);
    } else {
        for (int k = 0; k < n; k++) {
            struct t0t t;
            *now = k;
            if (open_job(&job[k], &t, w))
                run_blocks(&job[k], &t, w, NULL);
            t0t_close(&t);
        }
    }
}
