/* The structs that programs hand to NVML (mapping/facts/musa.md M2). Handles are pointers. */
#ifndef CUMU_ABI_NVML_H
#define CUMU_ABI_NVML_H

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

#endif
