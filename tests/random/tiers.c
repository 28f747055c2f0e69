/* Runs a program's text on tier 0 with the handlers of a chosen CPU level, and on tier 1 through
 * the system's compiler. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "ptx/tier0/warp.h"
#include "ptx/tier1/tier1.h"
#include "random/random.h"
#include "tier0/harness.h"

static t0_handler *usual[LIR_NOPS];

static void choose_handlers(int level)
{
    if (!usual[LIR_NOPS - 1])
        memcpy(usual, lir_table, sizeof usual); /* after the first image was loaded */
    memcpy(lir_table, usual, sizeof usual);
    if (level)
        t0_alu_handlers_level(lir_table, level < 0 ? 1 : level);
    if (level < 0) {
        t0_memory_handlers(lir_table);
        t0_warp_handlers(lir_table);
    }
}

bool tier0_run(const char *text, const uint32_t block[3], const struct args *a, int level, char *why, size_t size)
{
    static const uint32_t grid[3] = {GRID, 1, 1};
    struct t0_fault f = {0};
    struct t0t t;
    t0_baseline(level == BASE_LEVEL ? T0_BASELINE_AT_ONCE : T0_BASELINE_NEVER);
    bool good = t0t_open(&t, text, "k");
    if (!good) {
        snprintf(why, size, "tier 0: %s", t.why);
    } else {
        choose_handlers(level == BASE_LEVEL ? 0 : level);
        good = t0t_run(&t, grid, block, 0, a, &f) == T0_OK;
        if (!good)
            snprintf(why, size, "tier 0: fault %d at line %u: %s", f.kind, f.line, f.text);
        choose_handlers(0);
    }
    t0t_close(&t);
    return good;
}

/* ---- tier 1 ---- */

static struct { /* the object made last: shapes of one class share it */
    char *ptx;
    enum t1_shape shape;
    int isa;
    void *object;
    size_t size;
} made;

static void *read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *p = NULL;
    long n;
    if (!f)
        return NULL;
    if (!fseek(f, 0, SEEK_END) && (n = ftell(f)) > 0 && (p = malloc((size_t)n))) {
        rewind(f);
        *size = fread(p, 1, (size_t)n, f);
    }
    fclose(f);
    return p;
}

static bool compile(const char *text, size_t size, int isa, char *why, size_t room)
{
    char folder[] = "/tmp/cumu-random-XXXXXX", path[3][64], command[1024];
    const char *cc = getenv("CC");
    if (!mkdtemp(folder)) {
        snprintf(why, room, "tier 1: no temporary folder");
        return false;
    }
    for (unsigned k = 0; k < 3; k++)
        snprintf(path[k], sizeof path[k], "%s/%s", folder, (const char *[]){"k.c", "k.so", "err"}[k]);
    FILE *f = fopen(path[0], "w");
    bool good = f && fwrite(text, 1, size, f) == size;
    if (f)
        fclose(f);
    snprintf(command, sizeof command, "%s %s%s -o %s %s 2>%s", cc && *cc ? cc : "cc", t1_isa_flags((enum t1_isa)isa),
             t1_size_flags(size), path[1], path[0], path[2]);
    struct rusage before, after;
    getrusage(RUSAGE_CHILDREN, &before);
    good = good && system(command) == 0;
    getrusage(RUSAGE_CHILDREN, &after);
    long took = after.ru_utime.tv_sec - before.ru_utime.tv_sec;
    if (took >= 5)
        printf("# the compiler took %ld s for %zu KiB, isa %d\n", took, size / 1024, isa);
    made.object = good ? read_file(path[1], &made.size) : NULL;
    if (!made.object) {
        size_t n = 0;
        char *message = read_file(path[2], &n);
        snprintf(why, room, "tier 1: does not compile: %.*s", (int)(n > 600 ? 600 : n), message ? message : "");
        free(message);
    }
    for (unsigned k = 0; k < 3; k++)
        unlink(path[k]);
    rmdir(folder);
    return made.object != NULL;
}

static int make(const struct t0t *t, const char *ptx, enum t1_shape shape, int isa, char *why, size_t room)
{
    struct ptx_diag diag = {0};
    char *text = NULL;
    size_t size;
    if (made.ptx && made.shape == shape && made.isa == isa && !strcmp(made.ptx, ptx))
        return made.object ? 1 : 0;
    free(made.ptx);
    free(made.object);
    made.ptx = NULL;
    made.object = NULL;
    if (t1_emit(t->ptx, "k", shape, (enum t1_isa)isa, &text, &size, &diag)) {
        snprintf(why, room, "%s: %s", diag.what, diag.msg);
        return -1;
    }
    bool good = compile(text, size, isa, why, room);
    free(text);
    if (!good)
        return 0;
    made.ptx = strdup(ptx);
    made.shape = shape;
    made.isa = isa;
    return 1;
}

static bool run_object(struct t0t *t, const uint32_t block[3], const struct args *a, char *why, size_t size)
{
    static uint64_t id;
    struct t0_grid g = {
        .kernel = t->kernel, .grid = {GRID, 1, 1}, .params = a, .env = &t0t_env, .grid_id = ++id, .nsm = 1};
    struct t0_fault f = {0};
    const char *reason = "no memory";
    struct t1_object *o = t1_object_load(made.object, made.size, NULL, &reason);
    bool good = o && t1_object_bind(o, t->kernel);
    memcpy(g.block, block, sizeof g.block);
    if (!good)
        snprintf(why, size, "tier 1: object: %s", reason);
    for (uint64_t b = 0; b < GRID && good; b++) {
        good = t1_block_run(t0t_worker, o, &g, b, &f) == T0_OK;
        if (!good)
            snprintf(why, size, "tier 1: fault %d at line %u: %s", f.kind, f.line, f.text);
    }
    t1_object_unload(o);
    return good;
}

int tier1_run(const char *text, const uint32_t block[3], const struct args *a, int isa, char *why, size_t size)
{
    struct t0t t;
    int r = 0;
    if (!t0t_open(&t, text, "k")) {
        snprintf(why, size, "tier 0: %s", t.why);
    } else {
        static const uint32_t none[3] = {0, 1, 1}; /* makes the worker */
        t0t_run(&t, none, block, 0, a, NULL);
        r = make(&t, text, t1_shape(block), isa, why, size);
        if (r > 0)
            r = run_object(&t, block, a, why, size);
    }
    t0t_close(&t);
    return r;
}
