/* Turns a test of tier 0 into one of tier 1: its kernels run by compiled objects, and those that
 * tier 1 refuses where they would anyway. A wrapper defines main as below and includes the test
 * after this. */
#ifndef CUMU_TESTS_TIER1_ON_TIER1_H
#define CUMU_TESTS_TIER1_ON_TIER1_H

#include "ptx/tier1/tier1.h"

struct t0t;
static enum t0_fault_kind t1t_block(struct t0t *t, struct t0_worker *w, const struct t0_grid *g, uint64_t block,
                                    struct t0_fault *fault);
static enum t0_fault_kind t1t_clusters(struct t0t *t, struct t0_worker *w, const struct t0_grid *g, uint64_t first,
                                       uint64_t count, struct t0_fault *fault);
static void t1t_close(struct t0t *t);
#define T0T_BLOCK_RUN(t, worker, g, block, fault) t1t_block(t, worker, g, block, fault)
#define T0T_CLUSTER_RUN(t, worker, g, first, count, fault) t1t_clusters(t, worker, g, first, count, fault)
#define T0T_CLOSE(t) t1t_close(t)

/* Objects do what the host's instructions do: they take any alignment and notice no access that
 * stays within the pages of shared memory; all barriers of a block are one. */
#define CHECK_KNOWN(name) t1t_known(name)
static bool t1t_known(const char *name)
{
    return !__builtin_strncmp(name, "misaligned ", 11) || !__builtin_strncmp(name, "outside shared memory", 21) ||
           !__builtin_strncmp(name, "cp.async outside shared memory", 30) ||
           !__builtin_strncmp(name, "barriers that never complete", 28);
}

#include "tier0/harness.h"

#include <unistd.h>

/* Tests of hundreds of kernels compile one in so many. */
#ifndef T1T_EVERY
#define T1T_EVERY 1
#endif
static unsigned t1t_compiled, t1t_refused, t1t_seen, t1t_emitted;
static enum t1_isa t1t_isa;  /* TIER1_ISA=0, 1, 2 chooses one */
static unsigned t1t_options; /* T1_EMIT_* */

/* The object for this shape; NULL: tier 0 has to run it. A refusal is reported, a failure fails. */
static struct t1_object *t1t_make(struct t0t *t, enum t1_shape shape)
{
    char source[64], object[64], command[2048], *text = NULL;
    static char bytes[1 << 22];
    struct ptx_diag diag = {0};
    const char *why = "?", *cc = getenv("CC");
    size_t size;
    if (t1_emit_as(t->ptx, t->info.name, shape, t1t_isa, t1t_options, &text, &size, &diag)) {
        printf("# refused: %s: line %u: %s: %s\n", t->info.name, diag.line, diag.what, diag.msg);
        t1t_refused++;
        return NULL;
    }
    /* TIER1_EVERY=n: of what is emitted one in n is compiled; for sanitizers, which see the emitter and no object. A
     * test that must have its objects defines T1T_ALL. */
#ifdef T1T_ALL
    const char *every = NULL;
#else
    const char *every = getenv("TIER1_EVERY");
#endif
    if (t1t_emitted++ % (every && atoi(every) > 1 ? (unsigned)atoi(every) : 1)) {
        free(text);
        return NULL;
    }
    snprintf(source, sizeof source, "/tmp/cumu-tier1-%d.c", (int)getpid());
    snprintf(object, sizeof object, "/tmp/cumu-tier1-%d.so", (int)getpid());
    snprintf(command, sizeof command, "%s %s%s -o %s %s", cc && *cc ? cc : "cc", t1_isa_flags(t1t_isa),
             t1_size_flags(size), object, source);
    FILE *f = fopen(source, "w");
    bool good = f && fwrite(text, 1, size, f) == size;
    free(text);
    good = f && !fclose(f) && good && !system(command);
    f = good ? fopen(object, "r") : NULL;
    size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    if (f)
        fclose(f);
    if (!getenv("TIER1_KEEP_C"))
        unlink(source);
    unlink(object);
    struct t1_object *o = size ? t1_object_load(bytes, size, NULL, &why) : NULL;
    if (o && !t1_object_bind(o, t->kernel)) {
        t1_object_unload(o);
        o = NULL;
        why = "not bound";
    }
    if (!check(o != NULL, "%s becomes an object (%s)", t->info.name, o ? "loaded" : why))
        return NULL;
    t1t_compiled++;
    return o;
}

static void t1t_open(struct t0t *t, const struct t0_grid *g)
{
    const int shape = (int)t1_shape(g->block) + 1;
    if (t->object_state != shape) {
        t1t_close(t);
        if (t1t_seen++ % T1T_EVERY == 0)
            t->object = t1t_make(t, (enum t1_shape)(shape - 1));
        t->object_state = shape;
    }
}

static enum t0_fault_kind t1t_clusters(struct t0t *t, struct t0_worker *w, const struct t0_grid *g, uint64_t first,
                                       uint64_t count, struct t0_fault *fault)
{
    t1t_open(t, g);
    return t->object ? t1_blocks_run_resident(w, t->object, g, first, count, fault)
                     : t0_blocks_run_resident(w, g, first, count, fault);
}

static enum t0_fault_kind t1t_block(struct t0t *t, struct t0_worker *w, const struct t0_grid *g, uint64_t block,
                                    struct t0_fault *fault)
{
    t1t_open(t, g);
    if (!t->object)
        return t0_block_run(w, g, block, fault);
    enum { BATCH = 7 }; /* the first of a batch runs them all */
    const uint64_t left = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2] - block;
    return block % BATCH ? T0_OK : t1_blocks_run(w, t->object, g, block, left < BATCH ? left : BATCH, fault);
}

static void t1t_close(struct t0t *t)
{
    if (t->object)
        t1_object_unload(t->object);
    t->object = NULL;
    t->object_state = 0;
}

/* A wrapper's main: the test by objects of this machine's instruction set, or of all it has. */
static __attribute__((unused)) int t1t_run_all(int (*test)(void), bool every_isa)
{
    int failed = 0;
    const char *chosen = getenv("TIER1_ISA");
    const int best = (int)t1_isa_here(), from = chosen ? atoi(chosen) : every_isa ? 0 : best;
    for (int isa = from; isa <= (chosen ? from : best); isa++) {
        t1t_isa = (enum t1_isa)(isa < best ? isa : best);
        t1t_compiled = t1t_refused = t1t_emitted = 0; /* the first is compiled, whatever TIER1_EVERY is */
        failed |= test();
        printf("# isa %d: %u kernels on tier 1, %u refused\n", isa, t1t_compiled, t1t_refused);
        failed |= !check(t1t_compiled > 0, "some kernels ran on tier 1");
    }
    return failed;
}

#endif
