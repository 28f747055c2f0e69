/* JIT options: log buffers and register limit of cuModuleLoadDataEx and its relatives. */
#include "api/jit.h"

#include <string.h>

/* CUDA knows three dozen; a number far above is none. */
enum { MOST_OPTIONS = 1024 };

int cumu_jit_options(struct cumu_jit_request *log, unsigned n, const int *options, void *const *values)
{
    memset(log, 0, sizeof *log);
    if ((n && (!options || !values)) || n > MOST_OPTIONS)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
            log->error = values[i];
        else if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
            log->error_size = (size_t)(uintptr_t)values[i] & UINT32_MAX; /* an unsigned in a pointer */
        else if (options[i] == CU_JIT_INFO_LOG_BUFFER)
            log->info = values[i];
        else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES)
            log->info_size = (size_t)(uintptr_t)values[i] & UINT32_MAX;
        else if (options[i] == CU_JIT_MAX_REGISTERS)
            log->registers = (unsigned)(uintptr_t)values[i];
    }
    return CUDA_SUCCESS;
}

void cumu_jit_done(const struct cumu_jit_request *log, unsigned n, const int *options, void **values)
{
    for (unsigned i = 0; i < n; i++) {
        if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES && log->error)
            values[i] = (void *)(uintptr_t)strnlen(log->error, log->error_size);
        else if (options[i] == CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES && log->info)
            values[i] = (void *)(uintptr_t)strnlen(log->info, log->info_size);
    }
}
