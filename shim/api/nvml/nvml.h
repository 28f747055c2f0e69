/* NVML over MTML: what its files share. */
#ifndef CUMU_API_NVML_H
#define CUMU_API_NVML_H

#include "abi/mtml.h"
#include "abi/nvml.h"
#include "api/api.h"
#include "conv.h"

/* A device of the machine. They are made by the first nvmlInit and stay: a handle is good after a shutdown and a new
 * start, as NVML's are. */
enum { NVML_DEVICES = 256 };
struct nvml_device {
    MtmlDevice *mtml;
    MtmlGpu *gpu; /* these three: NULL where MTML has none */
    MtmlMemory *memory;
    MtmlVpu *vpu;
    MtmlPciInfo pci;
    char uuid[MTML_UUID + 8]; /* in NVML's form, GPU-... */
    unsigned index;
};

/* 0, or what a call answers now: NVML_ERROR_UNINITIALIZED, or _INVALID_ARGUMENT for what is no handle of ours. */
int cumu_nvml_ready(void);
int cumu_nvml_device(void *handle, struct nvml_device **out);
/* The devices, when NVML is ready. */
unsigned cumu_nvml_count(void);
struct nvml_device *cumu_nvml_at(unsigned index);

/* Text with its NUL into a buffer of `room` bytes: _INVALID_ARGUMENT or _INSUFFICIENT_SIZE where that cannot be. */
int cumu_nvml_text(char *out, unsigned room, const char *text);

#endif
