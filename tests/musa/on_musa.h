/* Turns a test of tier 0 into one of emitted MUSA C++: its kernels are written, compiled by the host's C++
 * compiler and run thread by thread on fibers. A wrapper includes the test after this. */
#ifndef CUMU_TESTS_MUSA_ON_MUSA_H
#define CUMU_TESTS_MUSA_ON_MUSA_H

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "musa/machine.h"
#include "ptx/musa/musa.h"
#include "ptx/tier0/tier0.h"

struct t0t;
static enum t0_fault_kind mut_block(struct t0t *t, struct t0_worker *w, const struct t0_grid *g, uint64_t block,
                                    struct t0_fault *fault);
static void mut_close(struct t0t *t);
#define T0T_BLOCK_RUN(t, worker, g, block, fault) mut_block(t, worker, g, block, fault)
#define T0T_CLOSE(t) mut_close(t)
/* Faults are the device's to notice, in its own way: the checks that tell where one was. */
#define T0T_KNOWN(name) mut_known(name)
static inline bool mut_known(const char *name)
{
    return strstr(name, "(kind ") || !strncmp(name, "assert: ", 8);
}

#include "tier0/harness.h"

/* Tests of hundreds of kernels compile one in so many. */
#ifndef MUT_EVERY
#define MUT_EVERY 1
#endif
#ifndef MUT_FLAGS
#define MUT_FLAGS ""
#endif
static unsigned mut_compiled, mut_refused, mut_seen;

struct mut_object {
    void *handle;
    struct machine **machine;
    void (*entry)(const void *);
    struct mu_info info;
    struct t0t round; /* MUSA_BY=nvcc: the text as CUDA C++, made PTX again, on tier 0 */
};

/* Addresses of the module's variables, where the kernel looks for them. */
static void mut_bind(struct t0t *t, uint64_t *externs)
{
    const char *name;
    for (unsigned k = 0; externs && (name = t0_image_extern(t->image, k)); k++) {
        void *p = NULL;
        t0_module_global(t->data, name, &p, NULL);
        externs[k] = (uint64_t)(uintptr_t)p;
    }
}

/* What nvcc makes of the source becomes the kernel that runs. */
static bool mut_round(struct mut_object *o, struct t0t *t, const char *source, const char *ptx)
{
    char command[256];
    static char text[4 << 20];
    struct ptx_diag diag;
    void *externs = NULL;
    snprintf(command, sizeof command, "nvcc -ptx -w -arch=sm_80 -std=c++14 -x cu -o %s %s", ptx, source);
    FILE *f = system(command) ? NULL : fopen(ptx, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    o->round.ptx = n ? ptx_module_open(text, n, &diag) : NULL;
    if (!o->round.ptx || !t0t_load(&o->round, o->info.symbol)) {
        printf("# %s\n", o->round.ptx ? o->round.why : "nvcc or its PTX");
        return false;
    }
    if (o->round.data)
        t0_module_global(o->round.data, MU_EXTERNS, &externs, NULL);
    mut_bind(t, externs);
    return true;
}

/* Calls the kernel with its parameters out of the launch buffer. */
static void mut_thunk(FILE *f, const struct ptx_func *k, const char *symbol)
{
    fprintf(
        f,
        "template <class T> static T get(const unsigned char *p)\n{\nT v;\n__builtin_memcpy(&v, p, sizeof "
        "v);\nreturn v;\n}\n"
        "extern \"C\" __attribute__((visibility(\"default\"))) void cm_entry(const unsigned char *p)\n{\n(void)p;\n"
        "cm::%s(",
        symbol);
    for (uint32_t n = 0; n < k->nparam; n++) {
        const struct ptx_var *v = &k->param[n];
        bool scalar = v->size <= 8 && !(v->size & (v->size - 1)) && v->align <= v->size;
        fprintf(f, "%s", n ? ", " : "");
        if (scalar)
            fprintf(f, "get<cm::u%u>(p + %u)", 8 * (unsigned)v->size, (unsigned)v->offset);
        else
            fprintf(f, "get<cm::blob<%u, %u> >(p + %u)", (unsigned)v->size, v->align ? v->align : 1,
                    (unsigned)v->offset);
    }
    fprintf(f, ");\n}\n");
}

static void mut_free(struct mut_object *o)
{
    if (o->handle)
        dlclose(o->handle);
    t0_module_unload(o->round.code);
    t0_module_unload(o->round.data);
    ptx_module_close(o->round.ptx);
    free(o->round.image);
    free(o);
}

static struct mut_object *mut_make(struct t0t *t)
{
    char source[64], object[64], command[1024], *text = NULL;
    struct ptx_diag diag = {0};
    struct mut_object *o = calloc(1, sizeof *o);
    const char *cxx = getenv("CXX");
    size_t size;
    if (!o || mu_emit(t->ptx, t->info.name, t->image, MU_ANY, &text, &size, &o->info, &diag)) {
        printf("# refused: %s: line %u: %s: %s\n", t->info.name, diag.line, diag.what, diag.msg);
        mut_refused++;
        free(o);
        return NULL;
    }
    snprintf(source, sizeof source, "/tmp/cumu-musa-%d.cc", (int)getpid());
    snprintf(object, sizeof object, "/tmp/cumu-musa-%d-%u.so", (int)getpid(), mut_compiled);
    FILE *f = fopen(source, "w");
    bool good = f && fwrite(text, 1, size, f) == size;
    free(text);
    const char *by = getenv("MUSA_BY");
    const bool round = by && !strcmp(by, "nvcc");
    if (f && !round)
        mut_thunk(f, ptx_module_func(t->ptx, t->info.name), o->info.symbol);
    snprintf(command, sizeof command,
             "%s -std=c++14 -O1 -w -fPIC -shared -fvisibility=hidden -ffp-contract=off " MUT_FLAGS " -Itests -DCM_PLATFORM='\"musa/host.h\"'"
             " -o %s %s", cxx && *cxx ? cxx : "g++", object, source);
    good = f && !fclose(f) && good;
    if (round)
        good = good && mut_round(o, t, source, object);
    else
        good = good && !system(command);
    o->handle = good && !round ? dlopen(object, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (o->handle) {
        *(void **)&o->machine = dlsym(o->handle, "cm_machine");
        *(void **)&o->entry = dlsym(o->handle, "cm_entry");
        mut_bind(t, dlsym(o->handle, MU_EXTERNS));
    }
    if (!getenv("MUSA_KEEP_CC"))
        unlink(source);
    unlink(object);
    mut_compiled++;
    const bool ready = round ? good : o->handle && o->machine && o->entry;
    if (check(ready, "%s compiles (%s)", t->info.name, ready ? "loaded" : good ? dlerror() : "failed"))
        return o;
    mut_free(o);
    return NULL;
}

static enum t0_fault_kind mut_block(struct t0t *t, struct t0_worker *w, const struct t0_grid *g, uint64_t block,
                                    struct t0_fault *fault)
{
    if (!t->object_state) {
        t->object_state = 1;
        t->object = mut_seen % (MUT_EVERY) ? NULL : mut_make(t);
        mut_seen++;
    }
    struct mut_object *o = t->object;
    if (!o)
        return t0_block_run(w, g, block, fault);
    if (o->round.kernel) {
        struct t0_grid again = *g;
        again.kernel = o->round.kernel;
        again.dynamic_shared += o->info.dynamic ? o->info.shared : 0;
        return t0_block_run(w, &again, block, fault);
    }
    fault->kernel = t->info.name;
    fault->line = 1; /* nobody knows the line */
    for (int k = 0; k < 3; k++)
        fault->block[k] = fault->thread[k] = 0;
    return (enum t0_fault_kind)machine_run(o->machine, o->entry, g, block, o->info.shared, fault);
}

static void mut_close(struct t0t *t)
{
    struct mut_object *o = t->object;
    if (o)
        mut_free(o);
    t->object = NULL;
    t->object_state = 0;
}

static bool mut_no_compiler(void)
{
    if (!system("command -v ${CXX:-g++} >/dev/null"))
        return false;
    printf("skip: no C++ compiler\n");
    return true;
}

static __attribute__((unused)) int mut_main(int (*test)(void))
{
    if (mut_no_compiler())
        return 77;
    int failed = test();
    printf("# %u kernels compiled, %u refused\n", mut_compiled, mut_refused);
    return failed | !check(mut_compiled > 0, "some kernels were compiled");
}

#endif
