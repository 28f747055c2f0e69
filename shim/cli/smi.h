/* What the files of `cumu smi` share: NVML as the tool calls it, and one device's answers. */
#ifndef CUMU_CLI_SMI_H
#define CUMU_CLI_SMI_H

#include "abi/nvml.h"

#include <stdbool.h>
#include <stdio.h>

/* Functions of the facade, opened as a program opens them: NAME(arguments). */
#define SMI_FUNCTIONS(F) \
    F(Init_v2, (void)) \
    F(SystemGetDriverVersion, (char *, unsigned)) \
    F(SystemGetNVMLVersion, (char *, unsigned)) \
    F(SystemGetCudaDriverVersion, (int *)) \
    F(SystemGetProcessName, (unsigned, char *, unsigned)) \
    F(DeviceGetCount_v2, (unsigned *)) \
    F(DeviceGetHandleByIndex_v2, (unsigned, void **)) \
    F(DeviceGetName, (void *, char *, unsigned)) \
    F(DeviceGetUUID, (void *, char *, unsigned)) \
    F(DeviceGetSerial, (void *, char *, unsigned)) \
    F(DeviceGetVbiosVersion, (void *, char *, unsigned)) \
    F(DeviceGetPciInfo_v3, (void *, struct nvml_pci_v3 *)) \
    F(DeviceGetMemoryInfo_v2, (void *, struct nvml_memory_v2 *)) \
    F(DeviceGetUtilizationRates, (void *, struct nvml_utilization *)) \
    F(DeviceGetEncoderUtilization, (void *, unsigned *, unsigned *)) \
    F(DeviceGetDecoderUtilization, (void *, unsigned *, unsigned *)) \
    F(DeviceGetTemperature, (void *, int, unsigned *)) \
    F(DeviceGetPowerUsage, (void *, unsigned *)) \
    F(DeviceGetPowerManagementLimit, (void *, unsigned *)) \
    F(DeviceGetFanSpeed, (void *, unsigned *)) \
    F(DeviceGetClockInfo, (void *, int, unsigned *)) \
    F(DeviceGetMaxClockInfo, (void *, int, unsigned *)) \
    F(DeviceGetPerformanceState, (void *, int *)) \
    F(DeviceGetCudaComputeCapability, (void *, int *, int *)) \
    F(DeviceGetMaxPcieLinkGeneration, (void *, unsigned *)) \
    F(DeviceGetCurrPcieLinkGeneration, (void *, unsigned *)) \
    F(DeviceGetMaxPcieLinkWidth, (void *, unsigned *)) \
    F(DeviceGetCurrPcieLinkWidth, (void *, unsigned *)) \
    F(DeviceGetEccMode, (void *, int *, int *)) \
    F(DeviceGetTopologyCommonAncestor, (void *, void *, int *)) \
    F(DeviceGetNvLinkState, (void *, unsigned, int *)) \
    F(DeviceGetComputeRunningProcesses_v3, (void *, unsigned *, struct nvml_process_v3 *))

struct smi_nvml {
#define SMI_MEMBER(name, arguments) int(*name) arguments;
    SMI_FUNCTIONS(SMI_MEMBER)
#undef SMI_MEMBER
};
extern struct smi_nvml smi;

enum { SMI_DEVICES = 256, SMI_TEXT = 128, SMI_PROCESSES = 512 };
struct smi_device {
    unsigned index;
    void *handle;
};
/* The devices that -i chose, or all. */
extern struct smi_device smi_devices[SMI_DEVICES];
extern unsigned smi_count;

/* What is asked for by --query-gpu or --query-compute-apps, one field a name. */
struct smi_row {
    const struct smi_device *device;
    const struct nvml_process_v3 *process; /* of --query-compute-apps */
};
struct smi_field {
    const char *name, *other;                            /* a second name of it, or NULL */
    const char *unit;                                    /* "" for none */
    bool (*write)(const struct smi_row *row, char *out); /* SMI_TEXT bytes, without the unit; false: not available */
    const char *help;
};
extern const struct smi_field smi_gpu_fields[], smi_process_fields[]; /* end with a NULL name */

/* Processes of a device, up to SMI_PROCESSES; the number, or -1 where nothing is known of them. */
int smi_processes(const struct smi_device *d, struct nvml_process_v3 *out);
/* A field's text, "N/A" where it is not available. */
const char *smi_text(const struct smi_device *d, const char *field, char *out);

void smi_print_table(FILE *f);
void smi_print_list(FILE *f);
void smi_print_details(FILE *f);
void smi_print_monitor(FILE *f);
void smi_print_topology(FILE *f);

#endif
