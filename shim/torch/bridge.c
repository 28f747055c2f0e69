/* Loads, with the first CUDA extension, the part of cumu that is built against PyTorch's headers. */
#include "torch/torch.h"

#include "core/core.h"

void cumu_torch_loaded(const struct cumu_torch_facade *f)
{
    (void)f;
    if (cumu_active())
        (void)cumu_torch_release();
}
