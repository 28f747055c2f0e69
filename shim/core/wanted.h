/* How the core asks the audit module where a program went for a library: it opens CUMU_WANTED "libx.so.1",
 * and the loader gets the path that the module had led to that facade. No such file exists. */
#ifndef CUMU_CORE_WANTED_H
#define CUMU_CORE_WANTED_H

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define CUMU_WANTED "/cumu-wanted/"

/* The same for the path alone. The loader gets it with a slash behind it, which is no file, and says so by dlerror.
 * For a runtime that is linked in, of a release that the module knows, "/libcudart.so.12.4.127". */
#define CUMU_WANTED_NAME "/cumu-wanted-name/"

/* CUMU_CUDNN: does a program that brings NVIDIA's cuDNN keep it, run by the PTX it carries? Most of its convolutions
 * are machine code only, those that are not are several times slower than the facade on oneDNN; on a MUSA device,
 * though, the facade has nothing. `wish`, `backend`: the variables, or NULL. */
static inline int cumu_cudnn_is_own(const char *wish, const char *backend)
{
    if (wish && strcmp(wish, "auto") != 0)
        return strcmp(wish, "own") == 0;
    if (backend && strcmp(backend, "auto") != 0)
        return strcmp(backend, "musa") == 0;
    int module = open("/sys/module/mtgpu", O_RDONLY | O_CLOEXEC); /* the device's driver is there */
    if (module >= 0)
        (void)close(module);
    return module >= 0;
}
static inline int cumu_is_cudnn(const char *soname_or_path)
{
    const char *slash = strrchr(soname_or_path, '/');
    return strncmp(slash ? slash + 1 : soname_or_path, "libcudnn", 8) == 0;
}

#endif
