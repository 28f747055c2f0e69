/* The MTML ABI (mapping/facts/musa.md M1): what is called of Moore Threads' management library. Handles are opaque and
 * belong to the library that gave them out. */
#ifndef CUMU_ABI_MTML_H
#define CUMU_ABI_MTML_H

#include "musa_enums.h"

typedef void MtmlLibrary, MtmlDevice, MtmlGpu, MtmlMemory, MtmlVpu;

/* Text buffers, with the NUL. */
enum { MTML_NAME = 32, MTML_UUID = 48, MTML_SBDF = 32, MTML_VBIOS = 64, MTML_SERIAL = 64 };

typedef struct {
    char sbdf[MTML_SBDF]; /* segment:bus:device.function */
    unsigned segment, bus, device;
    unsigned pciDeviceId, pciSubsystemId; /* the vendor's id in the low half */
    unsigned busWidth;
    float pciMaxSpeed, pciCurSpeed; /* GT/s of a lane */
    unsigned pciMaxWidth, pciCurWidth, pciMaxGen, pciCurGen;
    int rsvd[6];
} MtmlPciInfo;

typedef struct {
    unsigned util, period, encUtil, decUtil; /* per cent, microseconds */
    int rsvd[2];
} MtmlCodecUtil;

typedef struct {
    unsigned version, bandWidth, linkNum;
    unsigned rsvd[4];
} MtmlMtLinkSpec;

enum {
    MTML_TOPOLOGY_INTERNAL,
    MTML_TOPOLOGY_SINGLE,
    MTML_TOPOLOGY_MULTIPLE,
    MTML_TOPOLOGY_HOSTBRIDGE,
    MTML_TOPOLOGY_NODE,
    MTML_TOPOLOGY_SYSTEM
};
enum {
    MTML_P2P_STATUS_OK,
    MTML_P2P_STATUS_CHIPSET_NOT_SUPPORTED,
    MTML_P2P_STATUS_GPU_NOT_SUPPORTED,
    MTML_P2P_STATUS_UNKNOWN
};
enum { MTML_MTLINK_STATE_DOWN, MTML_MTLINK_STATE_UP, MTML_MTLINK_STATE_DOWNGRADE };

/* Results are MTML_... of musa_enums.h. */
#pragma GCC visibility push(default)
int mtmlLibraryInit(MtmlLibrary **lib);
int mtmlLibraryCountDevice(const MtmlLibrary *lib, unsigned *count);
int mtmlLibraryInitDeviceByIndex(const MtmlLibrary *lib, unsigned index, MtmlDevice **dev);
int mtmlDeviceInitGpu(const MtmlDevice *dev, MtmlGpu **gpu);
int mtmlDeviceInitMemory(const MtmlDevice *dev, MtmlMemory **mem);
int mtmlDeviceInitVpu(const MtmlDevice *dev, MtmlVpu **vpu);
int mtmlDeviceGetUUID(const MtmlDevice *dev, char *uuid, unsigned length);
int mtmlDeviceGetName(const MtmlDevice *dev, char *name, unsigned length);
int mtmlDeviceGetPciInfo(const MtmlDevice *dev, MtmlPciInfo *pci);
int mtmlDeviceGetPowerUsage(const MtmlDevice *dev, unsigned *milliwatts);
int mtmlDeviceGetVbiosVersion(const MtmlDevice *dev, char *version, unsigned length);
int mtmlDeviceCountFan(const MtmlDevice *dev, unsigned *count);
int mtmlDeviceGetFanSpeed(const MtmlDevice *dev, unsigned index, unsigned *speed);
int mtmlDeviceGetSerialNumber(const MtmlDevice *dev, unsigned length, char *serial);
int mtmlDeviceCountGpuCores(const MtmlDevice *dev, unsigned *count);
int mtmlDeviceGetTopologyLevel(const MtmlDevice *a, const MtmlDevice *b, int *level);
int mtmlDeviceGetP2PStatus(const MtmlDevice *a, const MtmlDevice *b, int capability, int *status);
int mtmlDeviceGetMtLinkSpec(const MtmlDevice *dev, MtmlMtLinkSpec *spec);
int mtmlDeviceGetMtLinkState(const MtmlDevice *dev, unsigned link, int *state);
int mtmlDeviceGetMtLinkRemoteDevice(const MtmlDevice *dev, unsigned link, MtmlDevice **remote);
int mtmlDeviceGetMemoryAffinityWithinNode(const MtmlDevice *dev, unsigned words, unsigned long *set);
int mtmlDeviceGetCpuAffinityWithinNode(const MtmlDevice *dev, unsigned words, unsigned long *set);
int mtmlGpuGetUtilization(const MtmlGpu *gpu, unsigned *percent);
int mtmlGpuGetTemperature(const MtmlGpu *gpu, int *celsius);
int mtmlGpuGetClock(const MtmlGpu *gpu, unsigned *mhz);
int mtmlGpuGetMaxClock(const MtmlGpu *gpu, unsigned *mhz);
int mtmlMemoryGetTotal(const MtmlMemory *mem, unsigned long long *bytes);
int mtmlMemoryGetUsed(const MtmlMemory *mem, unsigned long long *bytes);
int mtmlMemoryGetUtilization(const MtmlMemory *mem, unsigned *percent);
int mtmlMemoryGetClock(const MtmlMemory *mem, unsigned *mhz);
int mtmlMemoryGetMaxClock(const MtmlMemory *mem, unsigned *mhz);
int mtmlMemoryGetBusWidth(const MtmlMemory *mem, unsigned *bits);
int mtmlMemoryGetEccMode(const MtmlMemory *mem, int *current, int *pending);
int mtmlVpuGetUtilization(const MtmlVpu *vpu, MtmlCodecUtil *util);

/* No function of MTML's, which knows of no processes: our libmtml's alone. Which processes hold memory of a device, up
 * to `room` of them; the result is how many there are. */
struct cumu_holder {
    unsigned pid;
    unsigned long long bytes;
};
unsigned cumu_mtml_holders(const MtmlDevice *dev, struct cumu_holder *out, unsigned room);
#pragma GCC visibility pop

#endif
