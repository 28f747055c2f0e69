/* Modules and kernels of the shim over a mock MUSA library: handles, registration, loading, lazy
 * translation from several threads, contexts, linking, and what each kind of bad image answers. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "fatbin/fatbin.h"
#include "mock.h"

#define HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"
static const char two[] = HEAD ".global .align 4 .u32 g = 5;\n"
                               ".visible .entry first(.param .u64 p, .param .u32 n)\n{\n  ret;\n}\n"
                               ".visible .entry second()\n{\n"
                               "  .reg .b32 %r<2>;\n  ld.global.u32 %r1, [g];\n"
                               "  st.global.u32 [g], %r1;\n  ret;\n}\n";

static void handles(void)
{
    void *m = cumu_handle_new(CUMU_H_MODULE), *f = cumu_handle_new(CUMU_H_FUNC);
    int x;
    check(cumu_as_module(m) == m && !cumu_as_func(m), "a module handle is a module only");
    check(cumu_as_func(f) == f && !cumu_as_module(f), "a kernel handle is a kernel only");
    check(!cumu_as_func(NULL) && !cumu_as_func(&x) && !cumu_as_func((char *)f + 8), "foreign pointers");
    cumu_handle_free(f);
    check(!cumu_as_func(f), "a freed handle is none");
    cumu_handle_free(m);
}

static void registration(void)
{
    static unsigned char container[4096];
    static char stubs[3000][16];
    struct mock_wrapper w = {FATBIN_MAGIC_WRAPPER, 1, container, NULL};
    mock_container(container, FATBIN_PTX, 70, two, sizeof two);
    struct cumu_module *m = cumu_module_register(&w);
    char name[16];
    bool found = true;
    for (unsigned i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "k%u", i);
        cumu_register_func(m, stubs[i], name);
    }
    cumu_register_func(m, handles, "second");
    for (unsigned i = 0; i < 3000; i++) {
        struct cumu_func *f = cumu_host_func(stubs[i]);
        snprintf(name, sizeof name, "k%u", i);
        found = found && f && !strcmp(cumu_func_name(f), name);
    }
    check(found, "3000 stubs are found");
    check(!cumu_host_func(&w) && !cumu_host_func(NULL), "an unregistered address is not");
    struct cumu_func *f = cumu_host_func(handles);
    MUfunction mf;
    int before = atomic_load(&mock_loads);
    check(cumu_func_musa(f, &mf) == CUDA_SUCCESS && mf, "registered kernel loads");
    check(atomic_load(&mock_loads) == before + 2, "one image for code, one for variables");
    check(cumu_func_musa(f, &mf) == CUDA_SUCCESS && atomic_load(&mock_loads) == before + 2, "once");
    check(cumu_func_musa(cumu_host_func(stubs[7]), &mf) == (int)cudaErrorInvalidDeviceFunction,
          "a kernel that no PTX defines");
    cumu_module_unload(m);
    check(!cumu_host_func(handles) && !cumu_host_func(stubs[5]), "unregistered with the module");
    check(atomic_load(&mock_unloads) == 2, "images unloaded");
}

static void loading(void)
{
    struct cumu_module *m = NULL;
    struct cumu_func *f = NULL;
    unsigned n = 0;
    check(cumu_module_load(two, FATBIN_UNBOUNDED, NULL, &m) == CUDA_SUCCESS, "PTX text loads");
    check(cumu_module_func_count(m, &n) == CUDA_SUCCESS && n == 2, "two kernels");
    check(cumu_module_func(m, "first", &f) == CUDA_SUCCESS, "by name");
    check(cumu_module_func(m, "none", &f) == CUDA_ERROR_NOT_FOUND, "a name it lacks");
    check(cumu_module_func_at(m, 1, &f) == CUDA_SUCCESS && !strcmp(cumu_func_name(f), "second"), "by index");
    check(cumu_module_func_at(m, 2, &f) == CUDA_ERROR_NOT_FOUND, "index past the end");
    size_t off = 9, size = 0;
    cumu_module_func(m, "first", &f);
    check(cumu_func_param(f, 1, &off, &size) == CUDA_SUCCESS && off == 8 && size == 4, "parameters");
    check(cumu_func_param(f, 2, &off, &size) == CUDA_ERROR_INVALID_VALUE, "parameter past the end");
    uint64_t at = 0;
    bool managed = true;
    check(cumu_module_global(m, "g", &at, &size, &managed) == CUDA_SUCCESS && size == 4 && !managed, "variable");
    check(cumu_module_global(m, "h", &at, &size, &managed) == CUDA_ERROR_NOT_FOUND, "no such variable");
    int value = 0;
    check(cumu_func_attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION, &value) == CUDA_SUCCESS && value == 70, "PTX version");
    cumu_module_unload(m);
}

static int load_fatbin(unsigned kind, const void *payload, size_t n, size_t cut, struct cumu_jit_request *log)
{
    static unsigned char container[8192];
    struct cumu_module *m = NULL;
    size_t size = mock_container(container, kind, 90, payload, n);
    int err = cumu_module_load(container, size - cut, log, &m);
    if (!err)
        cumu_module_unload(m);
    return err;
}

static void bad_images(void)
{
    static const char syntax[] = HEAD ".visible .entry k()\n{\n  ret;\n}\n.visible .entri x() { }\n";
    static const char body[] = HEAD ".visible .entry k()\n{\n  .reg .b32 %r<2>;\n  frob.u32 %r1, 3;\n  ret;\n}\n";
    char text[256] = "";
    struct cumu_jit_request log = {.error = text, .error_size = sizeof text};
    struct cumu_module *m = NULL;
    struct cumu_func *f;
    MUfunction mf;
    check(cumu_module_load(syntax, FATBIN_UNBOUNDED, &log, &m) == CUDA_ERROR_INVALID_PTX, "syntax error");
    check(strstr(text, "line 8"), "its line is in the error log: %s", strtok(text, "\n"));
    check(cumu_module_load("hello", FATBIN_UNBOUNDED, NULL, &m) == CUDA_ERROR_INVALID_PTX, "not PTX at all");
    check(cumu_module_load(body, FATBIN_UNBOUNDED, &log, &m) == CUDA_ERROR_INVALID_PTX && strstr(text, "frob") &&
              strstr(text, "k: "),
          "unknown instruction in a loaded text: %s", strtok(text, "\n"));
    static unsigned char container[4096];
    struct mock_wrapper w = {FATBIN_MAGIC_WRAPPER, 1, container, NULL};
    mock_container(container, FATBIN_PTX, 70, body, sizeof body);
    m = cumu_module_register(&w);
    check(cumu_module_func(m, "k", &f) == CUDA_SUCCESS, "bodies of registered kernels are read on demand");
    check(cumu_func_musa(f, &mf) == CUDA_ERROR_INVALID_PTX, "unknown instruction of a registered kernel");
    check(cumu_func_musa(f, &mf) == CUDA_ERROR_INVALID_PTX, "and again");
    cumu_module_unload(m);
    check(load_fatbin(FATBIN_PTX, two, sizeof two, 0, NULL) == CUDA_SUCCESS, "fat binary loads");
    check(load_fatbin(FATBIN_PTX, two, sizeof two, 40, NULL) == CUDA_ERROR_INVALID_IMAGE, "truncated");
    check(load_fatbin(77, two, sizeof two, 0, NULL) == CUDA_ERROR_NO_BINARY_FOR_GPU, "unknown kind only");
    check(load_fatbin(FATBIN_CUBIN, "\177ELF", 5, 0, NULL) == CUDA_ERROR_NO_BINARY_FOR_GPU, "SASS only");
    check(cumu_module_load_file("/nonexistent/x.ptx", NULL, &m) == CUDA_ERROR_FILE_NOT_FOUND, "no file");
    mock_load_error = CUDA_ERROR_OUT_OF_MEMORY;
    cumu_module_load(two, FATBIN_UNBOUNDED, NULL, &m);
    cumu_module_func(m, "first", &f);
    check(cumu_func_musa(f, &mf) == CUDA_ERROR_OUT_OF_MEMORY, "error of the library below");
    mock_load_error = 0;
    check(cumu_func_musa(f, &mf) == CUDA_SUCCESS, "which is not remembered");
    cumu_module_unload(m);
}

/* One kernel that is right and beyond us leaves the others alone; what ptxas refuses fails the load. */
static void one_of_two(void)
{
    static const char good[] = ".visible .entry good()\n{\n  ret;\n}\n";
    static const struct {
        const char *what, *head, *body;
        int load, use;
    } kernels[] = {
        {"beyond us", HEAD, "tcgen05.shift.cta_group::1.down [0];", CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED},
        {"a modifier that other instructions take", HEAD, "bar.sync.ftz 0;", CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED},
        {"of a PTX newer than we are", ".version 99.0\n.target sm_70\n", "frob.u32 1;", CUDA_SUCCESS,
         CUDA_ERROR_NOT_SUPPORTED},
        {"no instruction", HEAD, "frob.u32 1;", CUDA_ERROR_INVALID_PTX, 0},
        {"no register", HEAD, "mov.u32 %r1, 1;", CUDA_ERROR_INVALID_PTX, 0},
        {"a function that nobody defines", HEAD ".extern .func f();\n", "call f;", CUDA_ERROR_INVALID_PTX, 0},
        {"more shared memory than there is", HEAD, ".shared .b8 s[60000];\n.reg .b32 %r1; mov.u32 %r1, s;",
         CUDA_ERROR_INVALID_PTX, 0},
    };
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
        char text[512], error[256] = "";
        struct cumu_jit_request log = {.error = error, .error_size = sizeof error};
        struct cumu_module *m = NULL;
        struct cumu_func *f;
        MUfunction mf;
        unsigned n = 0;
        int value;
        snprintf(text, sizeof text, "%s.visible .entry bad()\n{\n  %s\n  ret;\n}\n%s", kernels[k].head, kernels[k].body,
                 good);
        int err = cumu_module_load(text, FATBIN_UNBOUNDED, &log, &m);
        check(err == kernels[k].load && strstr(error, "bad: "), "%s: load %d, %s", kernels[k].what, err,
              strtok(error, "\n"));
        if (err)
            continue;
        check(cumu_module_func_count(m, &n) == CUDA_SUCCESS && n == 2 &&
                  cumu_module_func(m, "good", &f) == CUDA_SUCCESS && cumu_func_musa(f, &mf) == CUDA_SUCCESS,
              "the other kernel can be used");
        check(cumu_module_func(m, "bad", &f) == CUDA_SUCCESS && cumu_func_musa(f, &mf) == kernels[k].use &&
                  cumu_func_attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, &value) == kernels[k].use,
              "it cannot");
        cumu_module_unload(m);
    }
}

static struct cumu_func *shared_func;
static void *use_func(void *out)
{
    mock_ctx = (MUcontext)0x1000;
    cumu_func_musa(shared_func, out);
    return NULL;
}

static void threads_and_contexts(void)
{
    struct cumu_module *m;
    pthread_t t[8];
    MUfunction f[8] = {0}, other, again;
    int before = atomic_load(&mock_loads);
    cumu_module_load(two, FATBIN_UNBOUNDED, NULL, &m);
    cumu_module_func(m, "second", &shared_func);
    for (unsigned i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, use_func, &f[i]);
    for (unsigned i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    bool same = f[0] != NULL;
    for (unsigned i = 1; i < 8; i++)
        same = same && f[i] == f[0];
    check(same && atomic_load(&mock_loads) == before + 2, "eight threads translate once");
    mock_ctx = (MUcontext)0x2000;
    check(cumu_func_musa(shared_func, &other) == CUDA_SUCCESS && other != f[0], "a context of its own");
    cumu_context_gone((MUcontext)0x2000, -1);
    check(cumu_func_musa(shared_func, &again) == CUDA_SUCCESS && again != other, "context gone: loaded anew");
    mock_ctx = (MUcontext)0x1000;
    check(cumu_func_musa(shared_func, &again) == CUDA_SUCCESS && again == f[0], "the other one stays");
    cumu_context_gone(NULL, 0);
    check(cumu_func_musa(shared_func, &again) == CUDA_SUCCESS && again != f[0], "device gone: loaded anew");
    cumu_module_unload(m);
}

static void linking(void)
{
    static const char a[] = HEAD ".extern .func (.param .b32 r) helper(.param .b32 x);\n"
                                 ".extern .global .align 4 .u32 total;\n"
                                 ".global .align 1 .b8 str[4] = {97, 0};\n"
                                 ".visible .entry main_k()\n{\n .reg .b64 %rd<2>;\n mov.u64 %rd1, str;\n"
                                 " ret;\n}\n";
    static const char b[] = HEAD ".visible .global .align 4 .u32 total = 3;\n"
                                 ".global .align 1 .b8 str[4] = {98, 0};\n"
                                 ".visible .func (.param .b32 r) helper(.param .b32 x)\n{\n"
                                 " .reg .b64 %rd<2>;\n mov.u64 %rd1, str;\n ret;\n}\n"
                                 ".visible .entry other_k()\n{\n ret;\n}\n";
    static unsigned char ca[4096], cb[4096];
    const void *units[] = {ca, cb, NULL};
    struct mock_wrapper w = {FATBIN_MAGIC_WRAPPER, 2, NULL, units};
    mock_container(ca, FATBIN_PTX, 70, a, sizeof a);
    mock_container(cb, FATBIN_PTX, 70, b, sizeof b);
    struct cumu_module *m = cumu_module_register(&w);
    struct cumu_func *f;
    unsigned n = 0;
    uint64_t at;
    size_t size;
    bool managed;
    check(cumu_module_func_count(m, &n) == CUDA_SUCCESS && n == 2, "linked module has both kernels");
    check(cumu_module_func(m, "main_k", &f) == CUDA_SUCCESS, "kernel of the first unit");
    check(cumu_module_global(m, "total", &at, &size, &managed) == CUDA_SUCCESS && size == 4,
          "variable of the second unit");
    check(cumu_module_global(m, "str$u1", &at, &size, &managed) == CUDA_SUCCESS &&
              cumu_module_global(m, "str$u0", &at, &size, &managed) == CUDA_SUCCESS,
          "colliding private names are kept apart");
    cumu_module_unload(m);

    struct cumu_jit_request none = {0};
    struct cumu_link *l;
    char *text;
    check(cumu_link_new(&none, &l) == CUDA_SUCCESS && cumu_as_link(l) == l, "link session");
    check(cumu_link_add(l, a, sizeof a) == CUDA_SUCCESS && cumu_link_add(l, b, sizeof b) == CUDA_SUCCESS &&
              cumu_link_complete(l, &text, &size) == CUDA_SUCCESS && strlen(text) + 1 == size,
          "two texts linked");
    check(cumu_module_load(text, FATBIN_UNBOUNDED, NULL, &m) == CUDA_SUCCESS, "the result loads");
    cumu_link_free(l);
    cumu_module_unload(m);
    check(!cumu_as_link(l), "session is gone");
}

static void variables(void)
{
    static const char text[] = HEAD ".global .align 4 .u32 plain;\n"
                                    ".visible .global .attribute(.managed) .align 4 .u32 shared_v = 7;\n"
                                    ".visible .entry k()\n{\n ret;\n}\n";
    static unsigned char container[4096];
    static int *pointer;
    static char shadow;
    struct mock_wrapper w = {FATBIN_MAGIC_WRAPPER, 1, container, NULL};
    mock_container(container, FATBIN_PTX, 70, text, sizeof text);
    struct cumu_module *m = cumu_module_register(&w);
    cumu_register_var(m, &shadow, NULL, "plain", 4);
    cumu_register_var(m, &pointer, (void **)&pointer, "shared_v", 4);
    uint64_t at = 0;
    size_t size = 0;
    check(cumu_managed_init(m) == CUDA_SUCCESS && pointer && *pointer == 7, "managed variable is initialised");
    check(cumu_host_var(&pointer, &at, &size) == CUDA_SUCCESS && at == (uintptr_t)pointer, "its address");
    check(cumu_host_var(&shadow, &at, &size) == CUDA_SUCCESS && size == 4, "device variable");
    check(cumu_host_var(&w, &at, &size) == CUDA_ERROR_NOT_FOUND, "not a variable");
    cumu_module_unload(m);
    check(cumu_host_var_size(&shadow, &size) == CUDA_ERROR_NOT_FOUND, "gone with its module");
}

int main(void)
{
    mock_install();
    handles();
    registration();
    loading();
    bad_images();
    one_of_two();
    threads_and_contexts();
    linking();
    variables();
    return check_end("kernel module");
}
