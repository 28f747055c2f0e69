/* Where a device is on the bus, and how fast its link is. */
#include "api/nvml/nvml.h"
#include "wraps.h"

#include <stdio.h>
#include <string.h>

/* NVML writes the domain with eight digits; the older form has four. */
static void bus_id(const MtmlPciInfo *p, char *out, size_t room, int digits)
{
    (void)snprintf(out, room, "%0*X:%02X:%02X.0", digits, p->segment, p->bus & 0xff, p->device & 0x1f);
}

static int pci_of(void *handle, const void *out, const MtmlPciInfo **pci)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(handle, &d);
    if (!r)
        *pci = &d->pci;
    return r ? r : out ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

int wrap_nvmlDeviceGetPciInfo_v3(void *device, void *out)
{
    const MtmlPciInfo *p;
    int r = pci_of(device, out, &p);
    if (r)
        return r;
    struct nvml_pci_v3 info = {.domain = p->segment,
                               .bus = p->bus,
                               .device = p->device,
                               .pci_device_id = p->pciDeviceId,
                               .pci_subsystem_id = p->pciSubsystemId};
    bus_id(p, info.bus_id_legacy, sizeof info.bus_id_legacy, 4);
    bus_id(p, info.bus_id, sizeof info.bus_id, 8);
    memcpy(out, &info, sizeof info);
    return NVML_SUCCESS;
}

/* The first form ends before the subsystem's id: what is behind is the caller's. */
static int old_info(void *device, void *out, size_t size)
{
    const MtmlPciInfo *p;
    int r = pci_of(device, out, &p);
    if (r)
        return r;
    struct nvml_pci_v2 info = {.domain = p->segment,
                               .bus = p->bus,
                               .device = p->device,
                               .pci_device_id = p->pciDeviceId,
                               .pci_subsystem_id = p->pciSubsystemId};
    bus_id(p, info.bus_id, sizeof info.bus_id, 4);
    memcpy(out, &info, size);
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetPciInfo(void *device, void *out)
{
    return old_info(device, out, offsetof(struct nvml_pci_v2, pci_subsystem_id));
}

int wrap_nvmlDeviceGetPciInfo_v2(void *device, void *out)
{
    return old_info(device, out, offsetof(struct nvml_pci_v2, reserved));
}

int wrap_nvmlDeviceGetPciInfoExt(void *device, void *out)
{
    struct nvml_pci_ext *info = out;
    const MtmlPciInfo *p;
    int r = pci_of(device, out, &p);
    if (r)
        return r;
    if (info->version != NVML_VERSION(nvml_pci_ext, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *info = (struct nvml_pci_ext){.version = info->version,
                                  .domain = p->segment,
                                  .bus = p->bus,
                                  .device = p->device,
                                  .pci_device_id = p->pciDeviceId,
                                  .pci_subsystem_id = p->pciSubsystemId,
                                  .base_class = 3,
                                  .sub_class = 2}; /* a display controller for three dimensions */
    bus_id(p, info->bus_id, sizeof info->bus_id, 8);
    return NVML_SUCCESS;
}

/* MTML's 0 says that there is no link, or that nothing is known of it. */
static int link_figure(void *device, unsigned *out, size_t at, bool fresh)
{
    struct nvml_device *d;
    MtmlPciInfo now;
    unsigned value;
    int r = cumu_nvml_device(device, &d);
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (!fresh || mu.mtmlDeviceGetPciInfo(d->mtml, &now) != MTML_SUCCESS)
        now = d->pci;
    memcpy(&value, (const char *)&now + at, sizeof value);
    if (!value)
        return NVML_ERROR_NOT_SUPPORTED;
    *out = value;
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetMaxPcieLinkGeneration(void *device, unsigned *generation)
{
    return link_figure(device, generation, offsetof(MtmlPciInfo, pciMaxGen), false);
}

int wrap_nvmlDeviceGetGpuMaxPcieLinkGeneration(void *device, unsigned *generation)
{
    return link_figure(device, generation, offsetof(MtmlPciInfo, pciMaxGen), false);
}

int wrap_nvmlDeviceGetCurrPcieLinkGeneration(void *device, unsigned *generation)
{
    return link_figure(device, generation, offsetof(MtmlPciInfo, pciCurGen), true);
}

int wrap_nvmlDeviceGetMaxPcieLinkWidth(void *device, unsigned *width)
{
    return link_figure(device, width, offsetof(MtmlPciInfo, pciMaxWidth), false);
}

int wrap_nvmlDeviceGetCurrPcieLinkWidth(void *device, unsigned *width)
{
    return link_figure(device, width, offsetof(MtmlPciInfo, pciCurWidth), true);
}
