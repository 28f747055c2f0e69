/* Modules: what is no image is refused with its error, and what is one can be broken in any byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "host-launch/kernels.h"
#include "ptx/tier0/tier0.h"
#include "unit/unit.h"

static void test_refused(void)
{
    MUmodule m = NULL;
    MUfunction f;
    MUdeviceptr p;
    size_t size;
    check(muModuleLoadData(&m, "") == MUSA_ERROR_INVALID_IMAGE, "an empty image");
    check(muModuleLoadData(&m, "\177ELF and no more") == MUSA_ERROR_INVALID_IMAGE, "an ELF file");
    check(muModuleLoadData(&m, ".version 7.0\n.target sm_70\n") == MUSA_ERROR_INVALID_IMAGE, "PTX text");
    check(muModuleLoadData(NULL, "") == MUSA_ERROR_INVALID_VALUE, "no place for the module");
    check(muModuleLoadData(&m, NULL) == MUSA_ERROR_INVALID_VALUE, "no image");
    check(muModuleLoadFatBinary(&m, "x") == MUSA_ERROR_NO_BINARY_FOR_GPU, "a fat binary");
    check(muModuleLoad(&m, "/nonexistent/x.mubin") == MUSA_ERROR_FILE_NOT_FOUND, "no such file");
    check(muModuleLoad(&m, "/") == MUSA_ERROR_INVALID_IMAGE, "a folder");
    check(muModuleGetFunction(&f, NULL, "x") == MUSA_ERROR_INVALID_HANDLE, "a function of no module");
    check(muModuleGetGlobal(&p, &size, (MUmodule)(void *)&m, "x") == MUSA_ERROR_INVALID_HANDLE,
          "a variable of what is no module");
    check(muModuleUnload(NULL) == MUSA_ERROR_INVALID_HANDLE, "unloading nothing");
}

static void test_loaded(void)
{
    void *image = kernel_image("fill");
    MUmodule m = NULL, of = NULL;
    MUfunction f = NULL, again = NULL;
    const char *name = NULL;
    if (!image)
        return;
    check(!muModuleLoadDataEx(&m, image, 0, NULL, NULL), "an image loads");
    check(!muModuleGetFunction(&f, m, "fill") && !muModuleGetFunction(&again, m, "fill") && f == again,
          "a name is one function");
    check(muModuleGetFunction(&again, m, "filler") == MUSA_ERROR_NOT_FOUND, "a name that is not there");
    check(!muFuncGetName(&name, f) && name && !strcmp(name, "fill"), "the function's name");
    check(!muFuncGetModule(&of, f) && of == m, "the function's module");
    check(!muModuleUnload(m), "unloading");
    check(muModuleUnload(m) == MUSA_ERROR_INVALID_HANDLE, "unloading twice");
    check(muFuncGetName(&name, f) == MUSA_ERROR_INVALID_HANDLE, "a function of an unloaded module");
    free(image);
}

/* Whatever is broken, loading says yes or no and the process lives. The size stays: it is all a
 * driver knows about how much memory there is. */
static void test_broken(void)
{
    unsigned char *image = kernel_image("fill");
    size_t size;
    if (!image)
        return;
    memcpy(&size, image + 16, sizeof size);
    check(size > 64 && size < 1 << 20, "the size stands where the driver looks for it");
    unsigned refused = 0, taken = 0;
    for (size_t i = 0; i < size; i++) {
        if (i >= 16 && i < 24)
            continue;
        unsigned char keep = image[i];
        for (int bit = 0; bit < 8; bit += 7) {
            MUmodule m;
            image[i] = keep ^ (unsigned char)(1 << bit);
            MUresult r = muModuleLoadData(&m, image);
            if (r == MUSA_ERROR_INVALID_IMAGE)
                refused++;
            else if (!r)
                taken++;
            else
                printf("    byte %zu: %d\n", i, r);
            if (!r)
                muModuleUnload(m);
        }
        image[i] = keep;
    }
    printf("    %u broken images refused, %u taken\n", refused, taken);
    check(refused > 0 && refused + taken == 2 * (size - 8), "broken images are refused or harmless");
    free(image);
}

int main(void)
{
    if (!kernels_start())
        return 1;
    test_refused();
    test_loaded();
    test_broken();
    return check_end("host-launch module");
}
