/* The functions of libcumu-torch-RELEASE.so that are called when a CUDA extension comes or registers something. */
#pragma once

namespace cumu {

/* guard.cpp: DeviceType::CUDA has a guard. */
void register_guard();
/* fallback.cpp: calls on CUDA tensors and devices reach PrivateUse1. */
void register_fallback();

} // namespace cumu
