/* Our libmtml: the library and its devices. The driver is not started, so that a process may still fork. */
#include "host/mtml/mtml.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEVICES = 64 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cumu_machine machine;
static struct mtml_device devices[MAX_DEVICES];
static int failed = 1;

static void read_machine(void)
{
    failed = cumu_machine_read(&machine);
    for (int i = 0; i < MAX_DEVICES; i++)
        devices[i].number = i;
}

const struct cumu_machine *mtml_machine(void) { return failed ? NULL : &machine; }

const struct mtml_device *mtml_device(const void *handle)
{
    uintptr_t at = (uintptr_t)handle - (uintptr_t)devices;
    bool ours = !failed && at % sizeof *devices == 0 && at / sizeof *devices < (uintptr_t)machine.devices;
    return ours ? &devices[at / sizeof *devices] : NULL;
}

int mtmlLibraryInit(MtmlLibrary **lib)
{
    if (!lib)
        return MTML_ERROR_INVALID_ARGUMENT;
    pthread_once(&once, read_machine);
    if (failed)
        return MTML_ERROR_DRIVER_NOT_LOADED;
    *lib = &machine;
    return MTML_SUCCESS;
}

int mtmlLibraryCountDevice(const MtmlLibrary *lib, unsigned *count)
{
    if (lib != &machine || !count)
        return MTML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned)machine.devices;
    return MTML_SUCCESS;
}

int mtmlLibraryInitDeviceByIndex(const MtmlLibrary *lib, unsigned index, MtmlDevice **dev)
{
    if (lib != &machine || !dev)
        return MTML_ERROR_INVALID_ARGUMENT;
    if (index >= (unsigned)machine.devices)
        return MTML_ERROR_NOT_FOUND;
    *dev = &devices[index];
    return MTML_SUCCESS;
}

static int part(const MtmlDevice *dev, void **out)
{
    const struct mtml_device *d = mtml_device(dev);
    if (!d || !out)
        return MTML_ERROR_INVALID_ARGUMENT;
    *out = &devices[d->number];
    return MTML_SUCCESS;
}

int mtmlDeviceInitGpu(const MtmlDevice *dev, MtmlGpu **gpu) { return part(dev, gpu); }
int mtmlDeviceInitMemory(const MtmlDevice *dev, MtmlMemory **mem) { return part(dev, mem); }

int mtmlDeviceInitVpu(const MtmlDevice *dev, MtmlVpu **vpu)
{
    return mtml_device(dev) && vpu ? MTML_ERROR_NOT_SUPPORTED : MTML_ERROR_INVALID_ARGUMENT;
}

/* ---- what a device is called ------------------------------------------------------------------ */

static int text(const MtmlDevice *dev, const char *what, char *out, unsigned room)
{
    if (!mtml_device(dev) || !out)
        return MTML_ERROR_INVALID_ARGUMENT;
    if (strlen(what) >= room)
        return MTML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, what);
    return MTML_SUCCESS;
}

int mtmlDeviceGetName(const MtmlDevice *dev, char *name, unsigned length)
{
    return text(dev, cumu_machine_name(), name, length);
}

int mtmlDeviceGetUUID(const MtmlDevice *dev, char *uuid, unsigned length)
{
    const struct mtml_device *d = mtml_device(dev);
    unsigned char b[16] = {0};
    char digits[MTML_UUID];
    unsigned n = 0;
    if (d)
        cumu_machine_uuid(d->number, b);
    for (unsigned i = 0; i < sizeof b; i++)
        n += (unsigned)snprintf(digits + n, sizeof digits - n, "%s%02x",
                                i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    return text(dev, digits, uuid, length);
}

/* The bus that muDeviceGetPCIBusId gives, no vendor: nothing is plugged in. A link of 16 lanes of the fourth generation
 * is claimed, as every card has one: Realm (Legate, Legion) ends the process where NVML knows of none. */
int mtmlDeviceGetPciInfo(const MtmlDevice *dev, MtmlPciInfo *pci)
{
    const struct mtml_device *d = mtml_device(dev);
    if (!d || !pci)
        return MTML_ERROR_INVALID_ARGUMENT;
    *pci = (MtmlPciInfo){
        .bus = (unsigned)d->number + 1, .pciMaxGen = 4, .pciCurGen = 4, .pciMaxWidth = 16, .pciCurWidth = 16};
    snprintf(pci->sbdf, sizeof pci->sbdf, "00000000:%02X:00.0", pci->bus & 0xff);
    return MTML_SUCCESS;
}

/* ---- how devices lie to each other: all are the same CPUs and the same memory ------------------- */

int mtmlDeviceGetTopologyLevel(const MtmlDevice *a, const MtmlDevice *b, int *level)
{
    if (!mtml_device(a) || !mtml_device(b) || !level)
        return MTML_ERROR_INVALID_ARGUMENT;
    *level = MTML_TOPOLOGY_INTERNAL;
    return MTML_SUCCESS;
}

int mtmlDeviceGetP2PStatus(const MtmlDevice *a, const MtmlDevice *b, int capability, int *status)
{
    if (!mtml_device(a) || !mtml_device(b) || !status || capability < 0 || capability > 1)
        return MTML_ERROR_INVALID_ARGUMENT;
    *status = MTML_P2P_STATUS_OK;
    return MTML_SUCCESS;
}

/* ---- what a CPU does not have ------------------------------------------------------------------ */

static int lacks(const void *handle, const void *out)
{
    return mtml_device(handle) && out ? MTML_ERROR_NOT_SUPPORTED : MTML_ERROR_INVALID_ARGUMENT;
}

int mtmlDeviceGetPowerUsage(const MtmlDevice *dev, unsigned *milliwatts) { return lacks(dev, milliwatts); }
int mtmlDeviceGetVbiosVersion(const MtmlDevice *dev, char *version, unsigned length)
{
    (void)length;
    return lacks(dev, version);
}
int mtmlDeviceCountFan(const MtmlDevice *dev, unsigned *count) { return lacks(dev, count); }
int mtmlDeviceGetFanSpeed(const MtmlDevice *dev, unsigned index, unsigned *speed)
{
    (void)index;
    return lacks(dev, speed);
}
int mtmlDeviceGetSerialNumber(const MtmlDevice *dev, unsigned length, char *serial)
{
    (void)length;
    return lacks(dev, serial);
}
int mtmlDeviceGetMtLinkSpec(const MtmlDevice *dev, MtmlMtLinkSpec *spec) { return lacks(dev, spec); }
int mtmlDeviceGetMtLinkState(const MtmlDevice *dev, unsigned link, int *state)
{
    (void)link;
    return lacks(dev, state);
}
int mtmlDeviceGetMtLinkRemoteDevice(const MtmlDevice *dev, unsigned link, MtmlDevice **remote)
{
    (void)link;
    return lacks(dev, remote);
}
int mtmlGpuGetTemperature(const MtmlGpu *gpu, int *celsius) { return lacks(gpu, celsius); }
int mtmlGpuGetClock(const MtmlGpu *gpu, unsigned *mhz) { return lacks(gpu, mhz); }
int mtmlGpuGetMaxClock(const MtmlGpu *gpu, unsigned *mhz) { return lacks(gpu, mhz); }
int mtmlMemoryGetClock(const MtmlMemory *mem, unsigned *mhz) { return lacks(mem, mhz); }
int mtmlMemoryGetMaxClock(const MtmlMemory *mem, unsigned *mhz) { return lacks(mem, mhz); }
int mtmlMemoryGetBusWidth(const MtmlMemory *mem, unsigned *bits) { return lacks(mem, bits); }
int mtmlMemoryGetEccMode(const MtmlMemory *mem, int *current, int *pending)
{
    return lacks(mem, current && pending ? current : NULL);
}
int mtmlVpuGetUtilization(const MtmlVpu *vpu, MtmlCodecUtil *util) { return lacks(vpu, util); }
