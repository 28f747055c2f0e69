/* How many registers the driver says kernels have, by who bounded them: the text itself, JIT options, ptxas, nvcc. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVE = 60, NUM_REGS = 4, MAX_REGISTERS = 0, PTX = 1 };
static void *cuda, *linker;
static void *(*f(const char *name))() { return (void *(*)())dlsym(name[0] == 'n' ? linker : cuda, name); }
#define CALL(name, ...) ((int (*)())f(#name))(__VA_ARGS__)

/* A kernel that needs LIVE registers at least. */
static void write_kernel(FILE *out, const char *name, const char *directives)
{
    fprintf(out, ".visible .entry %s(.param .u64 p) %s\n{\n.reg .b64 %%d;\n.reg .b32 %%r<%d>;\n", name, directives,
            LIVE);
    fputs("ld.param.u64 %d, [p];\n", out);
    for (int i = 0; i < LIVE; i++)
        fprintf(out, "ld.volatile.global.u32 %%r%d, [%%d+%d];\n", i, 4 * i);
    for (int i = 0; i < LIVE; i++)
        fprintf(out, "st.volatile.global.u32 [%%d+%d], %%r%d;\n", 4 * (LIVE - i), i);
    fputs("ret;\n}\n", out);
}

static char *write_text(void)
{
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    fputs(".version 7.0\n.target sm_70\n.address_size 64\n// .visible .entry no() {\n.entry later(.param .u64 p);\n",
          out);
    write_kernel(out, "free", "");
    write_kernel(out, "block", ".maxntid 64");
    write_kernel(out, "own", ".maxnreg 40");
    write_kernel(out, "later", "");
    fclose(out);
    return text;
}

static int tell(const char *how, void *module)
{
    static const char *const names[] = {"free", "block", "own", "later"};
    void *function;
    int registers, bad = !module;
    printf("%s:", how);
    for (int i = 0; i < 4 && !bad; i++) {
        bad |= CALL(cuModuleGetFunction, &function, module, names[i]) ||
               CALL(cuFuncGetAttribute, &registers, NUM_REGS, function);
        printf(bad ? " error" : registers < LIVE ? " %d" : " many", registers);
    }
    putchar('\n');
    return bad;
}

/* registers.c: `ptx` writes the text; otherwise its arguments are files of images. */
int main(int argc, char **argv)
{
    char *text = write_text();
    void *context, *module = NULL, *library, *link, *image;
    int option = MAX_REGISTERS, bad;
    void *limit = (void *)32;
    size_t size;
    if (argc > 1 && !strcmp(argv[1], "ptx"))
        return fputs(text, stdout) < 0;
    cuda = dlopen("libcuda.so.1", RTLD_NOW);
    if (!cuda || CALL(cuInit, 0) || CALL(cuDevicePrimaryCtxRetain, &context, 0) || CALL(cuCtxSetCurrent, context))
        return 2;
    bad = CALL(cuModuleLoadData, &module, text) || tell("text", module);
    bad |= CALL(cuModuleLoadDataEx, &module, text, 1, &option, &limit) || tell("module", module);
    bad |= CALL(cuModuleLoadData, &module, text) || tell("text again", module);
    bad |= CALL(cuLibraryLoadData, &library, text, &option, &limit, 1, 0, 0, 0) ||
           CALL(cuLibraryGetModule, &module, library) || tell("library", module);
    bad |= CALL(cuLinkCreate_v2, 1, &option, &limit, &link) ||
           CALL(cuLinkAddData_v2, link, PTX, text, strlen(text) + 1, "x", 0, 0, 0) ||
           CALL(cuLinkComplete, link, &image, &size) || CALL(cuModuleLoadData, &module, image) || tell("link", module);
    const char *options[] = {"-arch=sm_75", "-maxrregcount=32"};
    linker = dlopen("libnvJitLink.so.12", RTLD_NOW);
    bad |= !linker || CALL(nvJitLinkCreate, &link, 2, options) ||
           CALL(nvJitLinkAddData, link, 2, text, strlen(text) + 1, "x") || CALL(nvJitLinkComplete, link) ||
           CALL(nvJitLinkGetLinkedCubinSize, link, &size) ||
           CALL(nvJitLinkGetLinkedCubin, link, image = malloc(size)) || CALL(cuModuleLoadData, &module, image) ||
           tell("nvJitLink", module);
    for (int i = 1; i < argc; i++)
        bad |= CALL(cuModuleLoad, &module, argv[i]) || tell(argv[i], module);
    free(text);
    return bad;
}
