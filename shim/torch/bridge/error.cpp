/* What C10_CUDA_CHECK and its relatives call in an extension: the error is CUDA's, so its text is asked of the CUDA
 * runtime that the extension was built with. */
#include "torch/bridge/bridge.h"

#include <c10/util/Exception.h>

#include <cstdio>
#include <string>

namespace cumu
{

namespace
{

[[noreturn]] void fail(const void *caller, int error, const char *file, const char *function, int line)
{
    const auto clear = reinterpret_cast<int (*)()>(find_beside(caller, "cudaGetLastError"));
    const auto text_of = reinterpret_cast<const char *(*)(int)>(find_beside(caller, "cudaGetErrorString"));
    const int last = clear ? clear() : 0;
    if (!error)
        error = last;
    const std::string text = std::string("CUDA error: ") + (text_of ? text_of(error) : std::to_string(error).c_str());
    throw c10::Error({function, file, static_cast<uint32_t>(line)}, text);
}

} // namespace

EXPORT void cumu_bridge_check(int error, const char *file, const char *function, int line, bool)
{
    if (error)
        fail(__builtin_return_address(0), error, file, function, line);
}

/* In 1.13 it is called with errors only, and the number is the runtime's last one. Both forms of std::string begin with
 * the pointer to their text. */
EXPORT void cumu_bridge_check_strings(const char *const *file, const char *const *function, int line, bool)
{
    fail(__builtin_return_address(0), 0, *file, *function, line);
}

EXPORT const char *cumu_bridge_blas_error(int status)
{
    const auto name_of = reinterpret_cast<const char *(*)(int)>(
        find_beside(__builtin_return_address(0), "cublasGetStatusName"));
    return name_of ? name_of(status) : "an error of cuBLAS";
}

/* cuSOLVER has no function for it. */
EXPORT const char *cumu_bridge_solver_error(int status)
{
    thread_local char text[48];
    (void)std::snprintf(text, sizeof text, "cusolverStatus_t %d", status);
    return text;
}

} // namespace cumu
