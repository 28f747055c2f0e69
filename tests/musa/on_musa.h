/* Turns a test of tier 0 into one of emitted MUSA C++. The test runs twice: first a child of this process writes down
 * the kernels it meets, then these are compiled, some dozens at a time, and the test runs on them. MUSA_BY says how:
 * by default with the host's C++ compiler, thread by thread on fibers; with `nvcc`, `clang` (an mp_31) or `clang22`
 * (an mp_22, of 128 lanes a warp) to PTX, which tier 0 runs. With MUSA_FLAT control flow
 * is flattened. A wrapper includes the test after this. */
#ifndef CUMU_TESTS_MUSA_ON_MUSA_H
#define CUMU_TESTS_MUSA_ON_MUSA_H

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
#define CHECK_KNOWN(name) mut_known(name)
static inline bool mut_known(const char *name)
{
    /* A device ends the kernel with the first thread whose assertion fails. */
    static const char *const of_asserts[] = {"assert: ", "each thread's assertion: ", "and the others go on",
                                             "all of a block: "};
    /* And the order of a device's warps is its own. */
    bool known = strstr(name, "(kind ") || strstr(name, "a constant that other warps write over") ||
                 strstr(name, "threads that arrive and then wait");
    for (unsigned i = 0; i < sizeof of_asserts / sizeof *of_asserts; i++)
        known |= !strncmp(name, of_asserts[i], strlen(of_asserts[i]));
    return known;
}

#include "tier0/harness.h"

/* More of the host compiler's, of a program; those of a run are in the environment. */
#ifndef MUT_FLAGS
#define MUT_FLAGS ""
#endif
/* Of kernels that differ in a modifier, the ways round through PTX take one in so many. */
#ifndef MUT_EVERY
#define MUT_EVERY 1
#endif

enum { MUT_UNIT = 16, MUT_KERNELS = 1 << 14, MUT_UNITS = MUT_KERNELS / MUT_UNIT + 1 };
static struct mut_unit {
    void *handle;
    struct machine **machine;
    struct ptx_module *ptx;
    bool tried;
} mut_units[MUT_UNITS];
static uint64_t mut_keys[MUT_KERNELS]; /* of texts; number / MUT_UNIT is the unit */
static unsigned mut_nkey, mut_ran, mut_refused, mut_seen;
static bool mut_collects;
static char mut_dir[] = "/tmp/cumu-musa-XXXXXX";
static FILE *mut_file;

/* ---- tools ---- */

#define MUT_CLANG(arch) \
    "${CLANGXX:-clang++} -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -Wno-unknown-cuda-version " \
    "-Xclang -target-feature -Xclang +ptx72 -D__MUSA_ARCH__=" arch " -isystem tests/musa/toolkit -Wall -Wno-unused " \
    "-std=c++14 -O1 -ffp-contract=off -S -o %s.out %s"
static const struct mut_tool {
    const char *name, *probe, *head, *unit;
    bool wide;
} mut_tools[] = {
    {"host", "command -v ${CXX:-g++}",
     "${CXX:-g++} -std=c++14 -O0 -w -fPIC -fvisibility=hidden -ffp-contract=off " MUT_FLAGS
     " $MUT_FLAGS -Itests -DCM_PLATFORM='\"musa/host.h\"' -x c++-header -o %s/prelude.h.gch %s/prelude.h",
     "${CXX:-g++} -std=c++14 -O0 -w -fPIC -shared -fvisibility=hidden -ffp-contract=off " MUT_FLAGS
     " $MUT_FLAGS -Itests -DCM_PLATFORM='\"musa/host.h\"' -o %s.out %s",
     false},
    {"nvcc", "command -v nvcc", NULL, "nvcc -ptx -w -arch=sm_80 --fmad=false -std=c++14 -x cu -o %s.out %s", false},
    {"clang", "${CLANGXX:-clang++} --print-targets | grep -q nvptx64", NULL, MUT_CLANG("310"), false},
    {"clang22", "${CLANGXX:-clang++} --print-targets | grep -q nvptx64", NULL, MUT_CLANG("220"), true},
};
static const struct mut_tool *mut_tool = &mut_tools[0];

static bool mut_on_host(void) { return mut_tool == &mut_tools[0]; }

static bool mut_no_compiler(void)
{
    const char *by = getenv("MUSA_BY");
    char command[200];
    for (size_t k = 0; by && k < sizeof mut_tools / sizeof mut_tools[0]; k++)
        if (!strcmp(by, mut_tools[k].name))
            mut_tool = &mut_tools[k];
    snprintf(command, sizeof command, "{ %s; } >/dev/null 2>&1", mut_tool->probe);
    if (!system(command))
        return false;
    printf("skip: no compiler for %s\n", mut_tool->name);
    return true;
}

static uint64_t mut_hash(const char *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t k = 0; k < n; k++)
        h = (h ^ (uint8_t)p[k]) * 0x100000001b3u;
    return h;
}

/* ---- writing down ---- */

/* Calls the kernel with its parameters out of the launch buffer. */
static void mut_thunk(FILE *f, const struct ptx_func *k, const char *symbol, unsigned n)
{
    fprintf(f,
            "extern \"C\" __attribute__((visibility(\"default\"))) void cm_entry_%u(const unsigned char *p)\n{\n"
            "(void)p;\ncm_%u::%s_%u(",
            n, n, symbol, n);
    for (uint32_t a = 0; a < k->nparam; a++) {
        const struct ptx_var *v = &k->param[a];
        bool scalar = v->size <= 8 && !(v->size & (v->size - 1)) && v->align <= v->size;
        fprintf(f, "%s", a ? ", " : "");
        if (scalar)
            fprintf(f, "cm_get<cm::u%u>(p + %u)", 8 * (unsigned)v->size, (unsigned)v->offset);
        else
            fprintf(f, "cm_get<cm::blob<%u, %u> >(p + %u)", (unsigned)v->size, v->align ? v->align : 1,
                    (unsigned)v->offset);
    }
    fprintf(f, ");\n}\n");
}

/* Many kernels stand in one file: names that each of them has get its number. */
static void mut_append(const struct t0t *t, const struct mu_info *info, const char *text, unsigned n)
{
    const char *const names[] = {"cm", info->symbol, "cumu_externs", "named_barriers",
                                 mut_on_host() ? NULL : "shared_memory"};
    char path[80];
    if (n % MUT_UNIT == 0) {
        if (mut_file)
            fclose(mut_file);
        snprintf(path, sizeof path, "%s/%u.cc", mut_dir, n / MUT_UNIT);
        mut_file = fopen(path, "w");
        fprintf(mut_file,
                "#include \"%s/prelude.h\"\ntemplate <class T> CM_FN T cm_get(const unsigned char *p)\n"
                "{\nT v;\n__builtin_memcpy(&v, p, sizeof v);\nreturn v;\n}\n",
                mut_dir);
    }
    fprintf(mut_file, "namespace cm_%u { using namespace cm; }\n", n);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (names[k])
            fprintf(mut_file, "#define %s %s_%u\n", names[k], names[k], n);
    fputs(text, mut_file);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (names[k])
            fprintf(mut_file, "#undef %s\n", names[k]);
    fprintf(mut_file, "#undef CM_IN_FRONT\n");
    if (mut_on_host())
        mut_thunk(mut_file, ptx_module_func(t->ptx, t->info.name), info->symbol, n);
}

static unsigned mut_find(uint64_t key)
{
    unsigned k = 0;
    while (k < mut_nkey && mut_keys[k] != key)
        k++;
    return k;
}

/* ---- compiling ---- */

static bool mut_make_prelude(void)
{
    char path[80], command[900];
    size_t size;
    char *text = mu_prelude(&size);
    snprintf(path, sizeof path, "%s/prelude.h", mut_dir);
    FILE *f = text ? fopen(path, "w") : NULL;
    bool good = f && fwrite(text, 1, size, f) == size;
    good = f && !fclose(f) && good;
    free(text);
    snprintf(command, sizeof command, mut_tool->head ? mut_tool->head : "true", mut_dir, mut_dir);
    return good && !system(command);
}

static void mut_compile(void)
{
    char command[1400], one[1000];
    snprintf(one, sizeof one, mut_tool->unit, "$1", "$1");
    snprintf(command, sizeof command,
             "cat >%s/compile <<'END'\n%s || echo $? >$1.failed\nEND\n"
             "printf '%%s\\n' %s/*.cc | xargs -P 2 -n 1 sh %s/compile",
             mut_dir, one, mut_dir, mut_dir);
    if (!check(!system(command), "compilers run"))
        return;
    snprintf(command, sizeof command, "ls %s/*.failed 2>/dev/null", mut_dir);
    check(system(command) != 0, "every kernel compiles by %s", mut_tool->name);
}

/* ---- running ---- */

struct mut_object {
    struct mut_unit *unit;
    void (*entry)(const void *);
    struct mu_info info;
    struct t0t round; /* the way round: the PTX that came back, on tier 0 */
};

/* Addresses of the module's variables, where the kernel looks for them. */
static void mut_bind(struct t0t *t, uint64_t *externs)
{
    const char *name;
    for (unsigned k = 0; externs && (name = lir_image_extern(t->image, k)); k++) {
        void *p = NULL;
        t0_module_global(t->data, name, &p, NULL);
        externs[k] = (uint64_t)(uintptr_t)p;
    }
}

static struct mut_unit *mut_open(unsigned n)
{
    static char text[64 << 20];
    struct mut_unit *u = &mut_units[n];
    struct ptx_diag diag = {0};
    char path[80];
    if (u->tried)
        return u;
    u->tried = true;
    snprintf(path, sizeof path, "%s/%u.cc.out", mut_dir, n);
    if (mut_on_host()) {
        u->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (u->handle)
            *(void **)&u->machine = dlsym(u->handle, "cm_machine");
        return u;
    }
    FILE *f = fopen(path, "r");
    size_t size = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[size] = '\0';
    u->ptx = size ? ptx_module_open(text, size, &diag) : NULL;
    check(u->ptx != NULL, "PTX that came back: line %u: %s: %s", diag.line, diag.what, diag.msg);
    return u;
}

static bool mut_load(struct mut_object *o, struct t0t *t, unsigned n)
{
    char name[200];
    struct mut_unit *u = o->unit = mut_open(n / MUT_UNIT);
    if (u->machine) {
        snprintf(name, sizeof name, "cm_entry_%u", n);
        *(void **)&o->entry = dlsym(u->handle, name);
        snprintf(name, sizeof name, "cumu_externs_%u", n);
        mut_bind(t, dlsym(u->handle, name));
        return o->entry != NULL;
    }
    snprintf(name, sizeof name, "%s_%u", o->info.symbol, n);
    o->round.ptx = u->ptx;
    if (!u->ptx || !t0t_load(&o->round, name)) {
        printf("# %s\n", o->round.why);
        return false;
    }
    void *externs = NULL;
    snprintf(name, sizeof name, "cumu_externs_%u", n);
    if (o->round.data)
        t0_module_global(o->round.data, name, &externs, NULL);
    mut_bind(t, externs);
    return true;
}

static void mut_free(struct mut_object *o)
{
    t0_module_unload(o->round.code);
    t0_module_unload(o->round.data);
    free(o->round.image);
    free(o);
}

static struct mut_object *mut_make(struct t0t *t)
{
    struct ptx_diag diag = {0};
    struct mut_object *o = calloc(1, sizeof *o);
    char *text = NULL;
    size_t size;
    const bool flat = getenv("MUSA_FLAT") != NULL;
    const enum mu_target target = mut_on_host() ? flat ? MU_ANY_FLAT : MU_ANY : flat ? MU_MUSA_FLAT : MU_MUSA;
    if (!o || mu_emit(t->ptx, t->info.name, t->image, target, &text, &size, &o->info, &diag)) {
        if (!mut_collects)
            printf("# refused: %s: line %u: %s: %s\n", t->info.name, diag.line, diag.what, diag.msg);
        mut_refused++;
        free(o);
        return NULL;
    }
    const char *own = text + o->info.prelude;
    if (mut_tool->wide && strstr(own, "CM_BARRIERS")) { /* the prelude says no when it is compiled */
        free(text);
        free(o);
        return NULL;
    }
    const uint64_t key = mut_hash(own, size - o->info.prelude);
    const unsigned n = mut_find(key);
    if (mut_collects && n == mut_nkey && n < MUT_KERNELS) {
        mut_append(t, &o->info, own, n);
        mut_keys[mut_nkey++] = key;
    }
    free(text);
    if (!mut_collects && check(n < mut_nkey && mut_load(o, t, n), "%s is loaded", t->info.name)) {
        mut_ran++;
        return o;
    }
    mut_free(o);
    return NULL;
}

static enum t0_fault_kind mut_block(struct t0t *t, struct t0_worker *w, const struct t0_grid *g, uint64_t block,
                                    struct t0_fault *fault)
{
    if (!t->object_state) {
        const unsigned every = mut_on_host() ? 1 : MUT_EVERY;
        t->object_state = 1;
        t->object = mut_seen % every ? NULL : mut_make(t);
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
    return (enum t0_fault_kind)machine_run(o->unit->machine, o->entry, g, block, o->info.shared, fault);
}

static void mut_close(struct t0t *t)
{
    struct mut_object *o = t->object;
    if (o)
        mut_free(o);
    t->object = NULL;
    t->object_state = 0;
}

/* A child runs the test on tier 0 and leaves the kernels' texts and their keys. */
static void mut_collect(int (*test)(void))
{
    char path[80];
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    snprintf(path, sizeof path, "%s/keys", mut_dir);
    if (child == 0) {
        mut_collects = true;
        if (!freopen("/dev/null", "w", stdout))
            _exit(1);
        test();
        FILE *f = fopen(path, "w");
        bool good = f && fwrite(mut_keys, sizeof mut_keys[0], mut_nkey, f) == mut_nkey;
        good = f && !fclose(f) && good;
        _exit(good && (!mut_file || !fclose(mut_file)) ? 0 : 1);
    }
    check(child > 0 && waitpid(child, &status, 0) == child && status == 0, "its kernels are written down");
    FILE *f = fopen(path, "r");
    if (f) {
        mut_nkey = (unsigned)fread(mut_keys, sizeof mut_keys[0], MUT_KERNELS, f);
        fclose(f);
    }
}

static __attribute__((unused)) int mut_main(int (*test)(void))
{
    char command[60];
    if (mut_no_compiler())
        return 77;
    if (!mkdtemp(mut_dir))
        return 1;
    mut_collect(test);
    if (check(mut_make_prelude(), "the prelude compiles"))
        mut_compile();
    int failed = test();
    printf("# %u kernels, %u texts of them by %s, %u refused\n", mut_ran, mut_nkey, mut_tool->name, mut_refused);
    check(mut_ran > 0, "some kernels ran");
    snprintf(command, sizeof command, "rm -r %s", mut_dir);
    return (getenv("MUSA_KEEP_CC") ? 0 : system(command)) | failed | (check_failures != 0);
}

#endif
