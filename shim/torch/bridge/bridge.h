/* The functions of cumu-SONAME-RELEASE.so that are called when a CUDA extension comes or registers something, and what
 * its files share. */
#pragma once

#include <torch/version.h>

/* Is this release major.minor or newer? */
#define SINCE(major, minor) \
    (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))
#define EXPORT extern "C" __attribute__((visibility("default")))

namespace cumu
{

/* Address of a C++ name in torch_musa or PyTorch as loaded in this process; NULL if it is not there. */
void *find(const char *name);
/* Address of a C function in the library at `caller` (a return address) or in what that one needs: the CUDA library of
 * the toolkit that the extension was built with. NULL if it needs none. */
void *find_beside(const void *caller, const char *name);

/* allocator.cpp: DeviceType::CUDA has an allocator. */
void register_allocator();
/* guard.cpp: DeviceType::CUDA has a guard. */
void register_guard();
/* fallback.cpp: calls on CUDA tensors and devices reach PrivateUse1. */
void register_fallback();

} // namespace cumu
