/* Libraries and kernels without a context, in the runtime's and the driver's spelling. */
#include <stdlib.h>
#include <unistd.h>
#include "snippet.h"

/* A temporary file that holds the PTX; the caller frees and unlinks. */
static char *ptx_file(void)
{
    char *path = strdup("/tmp/cumu-snippet-XXXXXX");
    int fd = mkstemp(path);
    size_t len = strlen(snippet_ptx);
    EXPECT(fd >= 0 && write(fd, snippet_ptx, len) == (ssize_t)len);
    close(fd);
    return path;
}

static void runtime(void)
{
    CUlibrary lib = NULL, from_file = NULL;
    CUkernel kernel = NULL, all[2] = {NULL};
    unsigned count = 0;
    void *p = NULL;
    size_t size = 0;
    OK(C(cudaLibraryLoadData)(&lib, snippet_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(C(cudaLibraryGetKernelCount)(&count, lib));
    IS(count, 1);
    OK(C(cudaLibraryGetKernel)(&kernel, lib, "k"));
    OK(C(cudaLibraryEnumerateKernels)(all, 2, lib));
    EXPECT(kernel && all[0] == kernel);
    OK(C(cudaLibraryGetGlobal)(&p, &size, lib, "table"));
    EXPECT(p && size == 16);
    OK(C(cudaLibraryGetManaged)(&p, &size, lib, "shared_value"));
    EXPECT(p && size == 4 && *(unsigned *)p == 7);
    EXPECT(C(cudaLibraryGetUnifiedFunction)(&p, lib, "absent") != 0);
    EXPECT(C(cudaLibraryGetKernel)(&kernel, lib, "absent") != 0);
    (void)C(cudaGetLastError)();
    char *path = ptx_file();
    OK(C(cudaLibraryLoadFromFile)(&from_file, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(C(cudaLibraryUnload)(from_file));
    unlink(path);
    free(path);
    OK(C(cudaLibraryUnload)(lib));
}

static void driver(void)
{
    CUlibrary lib = NULL, of = NULL, from_file = NULL;
    CUkernel kernel = NULL, all[2] = {NULL};
    CUfunction function = NULL;
    CUmodule module = NULL;
    unsigned count = 0;
    unsigned long long address = 0;
    void *p = NULL;
    size_t size = 0, offset = 0;
    int value = 0;
    const char *name = NULL;
    OK(C(cuLibraryLoadData)(&lib, snippet_ptx, NULL, NULL, 0, NULL, NULL, 0));
    OK(C(cuLibraryGetKernelCount)(&count, lib));
    IS(count, 1);
    OK(C(cuLibraryGetKernel)(&kernel, lib, "k"));
    IS(C(cuLibraryGetKernel)(&all[0], lib, "absent"), CUDA_ERROR_NOT_FOUND);
    OK(C(cuLibraryEnumerateKernels)(all, 2, lib));
    EXPECT(all[0] == kernel);
    OK(C(cuLibraryGetModule)(&module, lib));
    EXPECT(module != NULL);
    OK(C(cuLibraryGetGlobal)(&address, &size, lib, "table"));
    EXPECT(address && size == 16);
    OK(C(cuLibraryGetManaged)(&address, &size, lib, "shared_value"));
    EXPECT(address && size == 4);
    EXPECT(C(cuLibraryGetUnifiedFunction)(&p, lib, "absent") != 0);
    OK(C(cuKernelGetFunction)(&function, kernel));
    OK(C(cuKernelGetLibrary)(&of, kernel));
    EXPECT(of == lib);
    OK(C(cuKernelGetName)(&name, kernel));
    EXPECT(name && strcmp(name, "k") == 0);
    OK(C(cuKernelGetParamInfo)(kernel, 0, &offset, &size));
    EXPECT(offset == 0 && size == 8);
    OK(C(cuKernelGetAttribute)(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
    IS(value, 1024);
    OK(C(cuKernelSetAttribute)(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 512, kernel, 0));
    OK(C(cuKernelSetCacheConfig)(kernel, 0, 0));
    char *path = ptx_file();
    OK(C(cuLibraryLoadFromFile)(&from_file, path, NULL, NULL, 0, NULL, NULL, 0));
    OK(C(cuLibraryUnload)(from_file));
    unlink(path);
    free(path);
    OK(C(cuLibraryUnload)(lib));
}

void snippet_library(void)
{
    OK(M(cudaSetDevice, musaSetDevice)(0));
    runtime();
    driver();
}
