/* NVML over MTML: what its files share, and the structs that programs hand in. */
#ifndef CUMU_API_NVML_H
#define CUMU_API_NVML_H

#include "abi/mtml.h"
#include "api/api.h"
#include "conv.h"
#include "cuda_enums.h"

/* The first word of a versioned struct: its size and, above 24 bits, its version. */
#define NVML_VERSION(type, version) ((unsigned)sizeof(struct type) | (version) << 24)

struct nvml_pci_v2 {
    char bus_id[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id, reserved[4];
};
struct nvml_pci_v3 {
    char bus_id_legacy[16];
    unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
    char bus_id[32];
};
struct nvml_pci_ext {
    unsigned version, domain, bus, device, pci_device_id, pci_subsystem_id, base_class, sub_class;
    char bus_id[32];
};
struct nvml_memory_v1 {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvml_utilization {
    unsigned gpu, memory;
};
struct nvml_temperature {
    unsigned version;
    int sensor, temperature;
};
struct nvml_uuid {
    unsigned version, type; /* 1 text, 2 bytes */
    char value[41];
};
struct nvml_process_v1 {
    unsigned pid;
    unsigned long long bytes;
};
struct nvml_process_v3 {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
};
struct nvml_process_detail {
    unsigned pid;
    unsigned long long bytes;
    unsigned gpu_instance, compute_instance;
    unsigned long long protected_bytes;
};
struct nvml_process_details {
    unsigned version, mode, count;
    struct nvml_process_detail *at;
};
struct nvml_field {
    unsigned field, scope;
    long long timestamp, latency;
    int type, result;
    unsigned long long value;
};
struct nvml_fabric {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};
struct nvml_fabric_v {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned health;
    unsigned char summary; /* from version 3 on */
};
struct nvml_branch {
    unsigned version;
    char branch[80];
};

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
