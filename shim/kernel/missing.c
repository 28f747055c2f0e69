/* Kernels that are asked for and cannot be used: an error for the program, or on its user's wish its end, since some
 * programs look at no such error and go on with wrong values. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/config.h"
#include "kernel/module.h"

enum { EXIT_STATUS = 86 }; /* in the tool's GUIDE */

/* What is wrong with a kernel that cannot be used; other errors are not the kernel's. */
static const struct {
    int err;
    const char *text; /* where no report says more */
} reasons[] = {
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "its module holds machine code only, no PTX to translate"},
    {CUDA_ERROR_NOT_SUPPORTED, "it cannot be translated"},
    {CUDA_ERROR_INVALID_PTX, "its PTX cannot be read"},
    {CUDA_ERROR_INVALID_IMAGE, "its module cannot be read"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the device has no counterpart of an instruction"},
    {CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "there is no compiler for the device"},
    {CUDA_ERROR_JIT_COMPILATION_DISABLED, "it may not be compiled"},
    {CUDA_ERROR_NOT_FOUND, "no PTX of its module defines it"},
    {cudaErrorInvalidDeviceFunction, "no PTX of its module defines it"},
};

static const char *reason_of(int err)
{
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
        if (reasons[k].err == err)
            return reasons[k].text;
    return NULL;
}

/* Straight to stderr: this is said whatever the log's level, file and limits are. Handlers of the program's that exit()
 * would run expect other threads to have come to an end. A kernel that a pack lacks ends the process without being
 * asked: CUDA has no such error, so libraries (CUB) take it for success and leave their results unwritten. What the
 * program registered is a kernel of its own; a name that it asks for may be a question. */
static int end(struct cumu_module *m, const char *name, bool registered, const char *why, int err)
{
    const char *wish = cumu_opt_text(CUMU_OPT_MISSING_KERNEL);
    const struct cumu_pack *pack = NULL;
    CUMU_EACH_UNIT(m, u)
    if (why && !pack && strcmp(wish, "auto") == 0)
        pack = cumu_unit_lacking(u, registered ? NULL : name);
    if (pack) {
        (void)dprintf(STDERR_FILENO,
                      "cumu: error: kernel: %s: cannot be used (%d): the pack %s lacks it; the process ends, as wrong "
                      "results may follow (CUMU_MISSING_KERNEL=error goes on)\n",
                      name, err, cumu_pack_path(pack));
        _exit(EXIT_STATUS);
    }
    if (why && strcmp(wish, "exit") == 0) {
        (void)dprintf(STDERR_FILENO,
                      "cumu: error: kernel: %s: cannot be used (%d): %s; CUMU_MISSING_KERNEL=exit ends the process\n",
                      name, err, why);
        _exit(EXIT_STATUS);
    }
    return err;
}

int cumu_kernel_missing(struct cumu_module *m, const char *name, int err)
{
    return end(m, name, false, reason_of(err), err);
}

int cumu_func_missing(struct cumu_func *f, int err)
{
    const char *why = reason_of(err);
    char text[640];
    pthread_mutex_lock(&cumu_kernel_lock);
    (void)snprintf(text, sizeof text, "%s", why && f->why ? f->why : why ? why : "");
    pthread_mutex_unlock(&cumu_kernel_lock);
    return end(f->module, f->name, f->host && !f->ptx, why ? text : NULL, err);
}
