/* Tier 1 images by hand: launches of fitting shape run the object, others tier 0; its faults are
 * contained and named; damaged images are refused. The objects are built here, by the system's cc. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host-launch/kernels.h"
#include "ptx/lir/image.h"
#include "ptx/tier1/tier1.h"
#include "unit/unit.h"

/* Each adds 1000 to what the PTX would compute, so that one sees who ran. */
static const char source[] = "#include \"ptx/tier1/tier1.h\"\n"
                             "struct t1_info cumu_t1_info = {T1_VERSION, T1_PLAIN, T1_SHAPE_FLAT, 1, 65536};\n"
                             "static void run(struct t1_block *b)\n"
                             "{\n"
                             "#if KERNEL == 0\n"
                             "    int *out = *(int **)b->params;\n"
                             "    unsigned n = *(unsigned *)(b->params + 8), v = *(unsigned *)(b->params + 12);\n"
                             "    for (unsigned t = 0; t < b->nthreads; t++) {\n"
                             "        unsigned i = b->ctaid[0] * b->ntid[0] + t;\n"
                             "        b->shared[0] = b->stacks[b->stack_size * b->nwarps - 1] = 1;\n"
                             "        if (i < n)\n"
                             "            out[i] = (int)(i + v + 1000);\n"
                             "    }\n"
                             "#elif KERNEL == 1\n"
                             "    **(int **)b->params = 7;\n"
                             "#elif KERNEL == 2\n"
                             "    b->services->fault(b, T0_FAULT_TRAP, 0, 3, \"by hand\");\n"
                             "#elif KERNEL == 3\n"
                             "    b->shared[0xfffffff0u] = 1;\n"
                             "#elif KERNEL == 4\n"
                             "    b->stacks[0] = 1;\n"
                             "#endif\n"
                             "}\n"
                             "t1_entry cumu_t1_run;\n"
                             "void cumu_t1_run(struct t1_block *b, uint64_t count)\n"
                             "{\n"
                             "    for (run(b); --count; run(b))\n"
                             "        if (++b->ctaid[0] == b->nctaid[0])\n"
                             "            b->ctaid[0] = 0, b->ctaid[1]++;\n"
                             "}\n";

static void *built(int kernel, size_t *size)
{
    char dir[] = "/tmp/cumu-test-XXXXXX", path[64], command[512];
    if (!mkdtemp(dir))
        return NULL;
    snprintf(path, sizeof path, "%s/k.c", dir);
    FILE *f = fopen(path, "w");
    fputs(source, f);
    fclose(f);
    snprintf(command, sizeof command, "cc -w -Ishim -DKERNEL=%d -O1 -shared -fPIC -o %s/k.so %s/k.c", kernel, dir, dir);
    void *data = NULL;
    if (!system(command)) {
        snprintf(path, sizeof path, "%s/k.so", dir);
        f = fopen(path, "r");
        data = malloc(1 << 20);
        *size = fread(data, 1, 1 << 20, f);
        fclose(f);
    }
    snprintf(command, sizeof command, "rm -rf %s", dir);
    (void)!system(command);
    return data;
}

static void *packed(const char *name, int kernel, size_t *size)
{
    size_t object_size = 0;
    void *image = NULL, *t0 = kernel_image(name), *object = built(kernel, &object_size);
    if (t0 && object)
        t1_image_pack(&(struct t1_parts){t0, object, ((struct lir_image *)t0)->size, object_size, T1_SHAPE_FLAT, NULL},
                      &image, size);
    free(t0);
    free(object);
    return image;
}

static MUfunction loaded(const char *name, int kernel)
{
    MUmodule m;
    MUfunction f = NULL;
    size_t size;
    void *image = packed(name, kernel, &size);
    if (!image || muModuleLoadData(&m, image) || muModuleGetFunction(&f, m, name))
        printf("    no module of object %d\n", kernel);
    free(image);
    return f;
}

static void fill(MUfunction f, int *out, unsigned blocks, unsigned x, unsigned y)
{
    uint64_t p = (uintptr_t)out;
    uint32_t n = 1000, v = 5;
    memset(out, 0, 1000 * sizeof *out);
    check(!muLaunchKernel(f, blocks, 1, 1, x, y, 1, 0, NULL, (void *[]){&p, &n, &v}, NULL) && !muCtxSynchronize(),
          "a launch");
}

static void test_tiers(void)
{
    MUdeviceptr p;
    MUfunction f = loaded("fill", 0);
    MUmodule m;
    if (muMemAllocManaged(&p, 4096, MU_MEM_ATTACH_GLOBAL) || !f)
        return;
    int *out = (int *)(uintptr_t)p, shared = -1;
    fill(f, out, 4, 256, 1);
    check(out[0] == 1005 && out[999] == 2004, "blocks of fitting shape run the object");
    fill(f, out, 50, 20, 2);
    check(out[0] == 5 && out[999] == 1004, "others run on tier 0");
    fill(f, out, 1, 1000, 1);
    check(out[0] == 1005 && out[999] == 2004, "a block that ends within a warp");
    check(!muFuncGetAttribute(&shared, MU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f) && shared == 0,
          "attributes are those of the kernel");
    check(!muFuncGetModule(&m, f) && !muModuleUnload(m), "unload");
    MUfunction again = loaded("fill", 0);
    fill(again, out, 4, 256, 1);
    check(out[999] == 2004, "a second object");
    muMemFree(p);
}

/* A module's function hands its blocks of a shape to a compiled one, until either goes. */
static void test_take_over(void)
{
    extern t1_take_over cumu_host_take_over;
    extern t1_under_way cumu_host_under_way;
    MUdeviceptr p;
    MUfunction slow = kernel_function("fill"), fast = loaded("fill", 0), other = kernel_function("empty");
    MUmodule m;
    if (muMemAllocManaged(&p, 4096, MU_MEM_ATTACH_GLOBAL) || !slow || !fast || !other)
        return;
    int *out = (int *)(uintptr_t)p;
    check(cumu_host_under_way(slow), "a function not launched yet may be under way");
    fill(slow, out, 4, 256, 1);
    check(out[999] == 1004 && !cumu_host_under_way(slow), "on tier 0, and over");
    check(cumu_host_take_over(other, fast) == MUSA_ERROR_INVALID_VALUE &&
              cumu_host_take_over(fast, slow) == MUSA_ERROR_INVALID_VALUE &&
              cumu_host_take_over(NULL, fast) == MUSA_ERROR_INVALID_HANDLE,
          "another kernel, no object, no function");
    check(cumu_host_take_over(slow, fast) == MUSA_SUCCESS, "an object takes over");
    check(cumu_host_take_over(slow, fast) == MUSA_ERROR_INVALID_VALUE, "once");
    fill(slow, out, 1, 1000, 1);
    check(out[0] == 1005 && out[999] == 2004, "blocks of its shape run it");
    fill(slow, out, 50, 20, 2);
    check(out[999] == 1004, "others stay on tier 0");
    check(!muFuncGetModule(&m, fast) && !muModuleUnload(m), "the object goes");
    fill(slow, out, 1, 1000, 1);
    check(out[999] == 1004, "tier 0 is back");
    fast = loaded("fill", 0);
    check(cumu_host_take_over(slow, fast) == MUSA_SUCCESS, "the next object");
    check(!muFuncGetModule(&m, slow) && !muModuleUnload(m), "the first module goes");
    fill(fast, out, 1, 1000, 1);
    check(out[999] == 2004 && !muFuncGetModule(&m, fast) && !muModuleUnload(m), "the object lives on");
    muMemFree(p);
}

static MUresult fault(const char *name, int kernel)
{
    uint64_t p = 0x1234567890;
    MUfunction f = kernels_start() ? loaded(name, kernel) : NULL;
    if (!f)
        return MUSA_ERROR_UNKNOWN;
    MUresult r = muLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, (void *[]){&p}, NULL);
    return r ? r : muCtxSynchronize();
}

static void wild_child(void) { _exit(fault("wild", 1) != MUSA_ERROR_ILLEGAL_ADDRESS); }
static void trap_child(void) { _exit(fault("empty", 2) != MUSA_ERROR_LAUNCH_FAILED); }
static void shared_child(void) { _exit(fault("empty", 3) != MUSA_ERROR_ILLEGAL_ADDRESS); }
static void stack_child(void) { _exit(fault("empty", 4) != MUSA_ERROR_HARDWARE_STACK_ERROR); }

static void test_faults(void)
{
    const char *said = stderr_of(wild_child);
    check(strstr(said, "kernel wild") && strstr(said, "0x1234567890") && strstr(said, "thread [0,0,0]") &&
              strstr(said, "st.global"),
          "tier 0 names a fault's thread and instruction");
    if (check_failures)
        printf("    said: %s\n", said);
    said = stderr_of(trap_child);
    check(strstr(said, "trap") && strstr(said, "thread [3,0,0]") && strstr(said, "by hand"),
          "what tier 0 does not find again is told as the object told it");
    said = stderr_of(shared_child);
    check(strstr(said, "shared address out of range 0xfffffff0"), "shared addresses do not leave");
    said = stderr_of(stack_child);
    check(strstr(said, "stack overflow"), "a stack has an end");
}

static void test_damage(void)
{
    size_t size = 0;
    MUmodule m;
    char *image = packed("fill", 0, &size);
    if (!image)
        return;
    uint64_t *word = (uint64_t *)(void *)image;
    const uint64_t lir_size = word[3];
    word[3] = UINT64_MAX - 32;
    check(muModuleLoadData(&m, image) == MUSA_ERROR_INVALID_IMAGE, "a part larger than the image");
    word[3] = lir_size;
    image[8]++;
    check(muModuleLoadData(&m, image) == MUSA_ERROR_INVALID_IMAGE, "an image of another version");
    image[8]--;
    memset(image + 64 + ((lir_size + 63) & ~63ul), 0, 64);
    check(muModuleLoadData(&m, image) == MUSA_ERROR_INVALID_IMAGE, "an object that is none");
    free(image);
}

int main(void)
{
    if (system("cc --version >/dev/null 2>&1")) {
        printf("skip objects: no cc\n");
        return 77;
    }
    test_faults(); /* in children: before this process has a context */
    if (!kernels_start())
        return 1;
    test_tiers();
    test_take_over();
    test_damage();
    return check_end("host-launch object");
}
