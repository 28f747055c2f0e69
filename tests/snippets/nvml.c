/* NVML: every call with what it must answer on the CPU's device, to good and to bad arguments. What other processes
 * see of this one is in tests/nvml. */
#include "snippet.h"

static void *device;

static void tells_of_system(void)
{
    char text[128];
    int cuda = 0, driver = 0;
    unsigned n = 9;
    OK(C(nvmlSystemGetCudaDriverVersion)(&cuda));
    OK(C(nvmlSystemGetCudaDriverVersion_v2)(&cuda));
    OK(C(cuDriverGetVersion)(&driver));
    EXPECT(cuda == driver);
    IS(C(nvmlSystemGetCudaDriverVersion)(NULL), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlSystemGetDriverVersion)(text, sizeof text));
    EXPECT(text[0] >= '4' && text[3] == '.');
    IS(C(nvmlSystemGetDriverVersion)(text, 3), NVML_ERROR_INSUFFICIENT_SIZE);
    IS(C(nvmlSystemGetDriverVersion)(NULL, 80), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlSystemGetNVMLVersion)(text, sizeof text));
    EXPECT(strncmp(text, "1", 1) == 0);
    struct {
        unsigned version;
        char branch[80];
    } branch = {sizeof branch | 1u << 24, ""};
    OK(C(nvmlSystemGetDriverBranch)(&branch, sizeof branch.branch));
    EXPECT(branch.branch[0] == 'r');
    branch.version = 1;
    IS(C(nvmlSystemGetDriverBranch)(&branch, 80), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    OK(C(nvmlSystemGetProcessName)(1, text, sizeof text));
    IS(C(nvmlSystemGetProcessName)(4194305, text, sizeof text), NVML_ERROR_NOT_FOUND);
    OK(C(nvmlUnitGetCount)(&n));
    EXPECT(n == 0);
    OK(C(nvmlSystemGetHicVersion)(&n, NULL));
    OK(C(nvmlGetExcludedDeviceCount)(&n));
    IS(C(nvmlGetExcludedDeviceCount)(NULL), NVML_ERROR_INVALID_ARGUMENT);
    EXPECT(strcmp(C(nvmlErrorString)(NVML_ERROR_NOT_SUPPORTED), "Not Supported") == 0);
    EXPECT(strstr(C(nvmlErrorString)(-5), "Unknown") && strstr(C(nvmlErrorString)(9999), "Unknown"));
}

static void tells_names(void)
{
    char text[128], cuda[16];
    unsigned n = 9, zero = 9, always[1];
    int value = 9, major = 0, minor = 0;
    void *same = NULL;
    struct {
        unsigned version, type;
        char value[41];
    } uuid = {sizeof uuid | 1u << 24, 1, ""};
    OK(C(nvmlDeviceGetName)(device, text, sizeof text));
    EXPECT(strlen(text) > 0);
    IS(C(nvmlDeviceGetName)(device, text, 1), NVML_ERROR_INSUFFICIENT_SIZE);
    IS(C(nvmlDeviceGetName)(text, text, sizeof text), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetName)((char *)device + 1, text, sizeof text), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetUUID)(device, text, sizeof text));
    EXPECT(strncmp(text, "GPU-", 4) == 0 && strlen(text) == 40);
    OK(C(nvmlDeviceGetHandleByUUID)(text, &same));
    EXPECT(same == device);
    memcpy(uuid.value, text, 41);
    OK(C(nvmlDeviceGetHandleByUUIDV)(&uuid, &same));
    uuid.type = 3;
    IS(C(nvmlDeviceGetHandleByUUIDV)(&uuid, &same), NVML_ERROR_INVALID_ARGUMENT);
    uuid.version = 0;
    IS(C(nvmlDeviceGetHandleByUUIDV)(&uuid, &same), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    IS(C(nvmlDeviceGetHandleByUUID)("GPU-0", &same), NVML_ERROR_NOT_FOUND);
    IS(C(nvmlDeviceGetHandleByUUID)(NULL, &same), NVML_ERROR_INVALID_ARGUMENT);
    OK(M(cudaDeviceGetPCIBusId, musaDeviceGetPCIBusId)(cuda, sizeof cuda, 0));
    OK(C(nvmlDeviceGetHandleByPciBusId_v2)(cuda, &same));
    EXPECT(same == device);
    IS(C(nvmlDeviceGetHandleByPciBusId_v2)("ffff:ff:1f.0", &same), NVML_ERROR_NOT_FOUND);
    EXPECT(C(nvmlDeviceGetHandleBySerial)("none", &same) != 0);
    EXPECT(C(nvmlDeviceGetSerial)(device, text, sizeof text) != NVML_ERROR_UNINITIALIZED);
    EXPECT(C(nvmlDeviceGetVbiosVersion)(device, text, sizeof text) != NVML_ERROR_UNINITIALIZED);
    OK(C(nvmlDeviceGetIndex)(device, &n));
    OK(C(nvmlDeviceGetMinorNumber)(device, &n));
    EXPECT(n == 0);
    IS(C(nvmlDeviceGetIndex)(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetBrand)(device, &value));
    OK(C(nvmlDeviceGetMultiGpuBoard)(device, &zero));
    OK(C(nvmlDeviceGetMaxMigDeviceCount)(device, &zero));
    OK(C(nvmlDeviceIsMigDeviceHandle)(device, &zero));
    EXPECT(zero == 0);
    OK(C(nvmlDeviceGetVirtualizationMode)(device, &value));
    OK(C(nvmlDeviceGetDisplayMode)(device, &value));
    OK(C(nvmlDeviceGetDisplayActive)(device, &value));
    OK(C(nvmlDeviceGetComputeMode)(device, &value));
    EXPECT(value == 0);
    OK(C(nvmlDeviceGetSupportedEventTypes)(device, &(unsigned long long){0}));
    IS(C(nvmlDeviceGetSupportedEventTypes)(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceOnSameBoard)(device, device, &value));
    EXPECT(value == 1);
    OK(C(nvmlDeviceGetCudaComputeCapability)(device, &major, &minor));
    EXPECT(major >= 3);
    OK(C(nvmlDeviceGetArchitecture)(device, always));
}

static void tells_of_bus(void)
{
    struct {
        char old[16];
        unsigned at[5];
        char id[32];
    } v3;
    struct {
        unsigned version, at[7];
        char id[32];
    } ext = {sizeof ext | 1u << 24, {0}, ""};
    char v2[52], was[52], cuda[16];
    unsigned n;
    OK(C(nvmlDeviceGetPciInfo_v3)(device, &v3));
    OK(M(cudaDeviceGetPCIBusId, musaDeviceGetPCIBusId)(cuda, sizeof cuda, 0));
    EXPECT(strcmp(v3.old, cuda) == 0 && strcmp(v3.id + 4, cuda) == 0);
    memset(v2, 0x55, sizeof v2);
    memset(was, 0x55, sizeof was);
    OK(C(nvmlDeviceGetPciInfo)(device, v2));
    EXPECT(strcmp(v2, cuda) == 0 && memcmp(v2 + 32, was, 20) == 0);
    OK(C(nvmlDeviceGetPciInfo_v2)(device, v2));
    EXPECT(memcmp(v2 + 36, was, 16) == 0);
    OK(C(nvmlDeviceGetPciInfoExt)(device, &ext));
    EXPECT(strcmp(ext.id, v3.id) == 0);
    ext.version = 0;
    IS(C(nvmlDeviceGetPciInfoExt)(device, &ext), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    IS(C(nvmlDeviceGetPciInfo_v3)(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetMaxPcieLinkGeneration)(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetMaxPcieLinkGeneration)(device, &n), NVML_SUCCESS);
    EXPECT(n == 4);
    IS(C(nvmlDeviceGetGpuMaxPcieLinkGeneration)(device, &n), NVML_SUCCESS);
    EXPECT(n == 4);
    IS(C(nvmlDeviceGetCurrPcieLinkGeneration)(device, &n), NVML_SUCCESS);
    EXPECT(n == 4);
    IS(C(nvmlDeviceGetMaxPcieLinkWidth)(device, &n), NVML_SUCCESS);
    EXPECT(n == 16);
    IS(C(nvmlDeviceGetCurrPcieLinkWidth)(device, &n), NVML_SUCCESS);
    EXPECT(n == 16);
}

static void tells_state(void)
{
    struct {
        unsigned long long total, free, used;
    } v1;
    struct {
        unsigned version;
        unsigned long long total, reserved, free, used;
    } v2 = {sizeof v2 | 2u << 24, 0, 0, 0, 0};
    struct {
        unsigned gpu, memory;
    } rates = {999, 999};
    struct {
        unsigned version;
        int sensor, value;
    } warm = {sizeof warm | 1u << 24, 0, 0};
    struct {
        unsigned field, scope;
        long long time, latency;
        int type, result;
        long long value;
    } field = {1, 0, 0, 0, 0, 0, 0};
    unsigned n, period;
    int now, next;
    OK(C(nvmlDeviceGetMemoryInfo)(device, &v1));
    OK(C(nvmlDeviceGetMemoryInfo_v2)(device, &v2));
    EXPECT(v1.total && v1.total == v2.total && v1.free + v1.used == v1.total && v2.free + v2.used == v2.total);
    v2.version = sizeof v2 | 3u << 24;
    IS(C(nvmlDeviceGetMemoryInfo_v2)(device, &v2), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    IS(C(nvmlDeviceGetMemoryInfo)(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetUtilizationRates)(device, &rates));
    EXPECT(rates.gpu <= 100 && rates.memory <= 100);
    IS(C(nvmlDeviceGetUtilizationRates)(device, NULL), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetEncoderUtilization)(device, &n, &period), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetDecoderUtilization)(device, &n, NULL), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetTemperature)(device, 0, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetTemperature)(device, 1, &n), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetTemperatureV)(device, &warm), NVML_ERROR_NOT_SUPPORTED);
    warm.version = 0;
    IS(C(nvmlDeviceGetTemperatureV)(device, &warm), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    IS(C(nvmlDeviceGetPowerUsage)(device, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetNumFans)(device, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetFanSpeed)(device, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetFanSpeed_v2)(device, 1, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetClockInfo)(device, NVML_CLOCK_SM, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetClockInfo)(device, 17, &n), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetMaxClockInfo)(device, NVML_CLOCK_MEM, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetClock)(device, NVML_CLOCK_VIDEO, 0, &n), NVML_ERROR_NOT_SUPPORTED);
    OK(C(nvmlDeviceGetNumGpuCores)(device, &n));
    EXPECT(n > 0);
    IS(C(nvmlDeviceGetMemoryBusWidth)(device, &n), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetEccMode)(device, &now, &next), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetEccMode)(device, &now, NULL), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetFieldValues)(device, 1, &field));
    EXPECT(field.result == NVML_ERROR_NOT_SUPPORTED && field.time > 0);
    IS(C(nvmlDeviceGetFieldValues)(device, 0, &field), NVML_ERROR_INVALID_ARGUMENT);
}

static void tells_topology(void)
{
    int level = 99;
    unsigned n = 0, links;
    unsigned long set[16];
    void *near[1];
    char pci[68];
    struct {
        unsigned char cluster[16];
        int status;
        unsigned clique;
        unsigned char state;
    } fabric;
    struct {
        unsigned version;
        unsigned char rest[36];
    } v3 = {40 | 3u << 24, {1}};
    OK(C(nvmlDeviceGetTopologyCommonAncestor)(device, device, &level));
    EXPECT(level == 0);
    IS(C(nvmlDeviceGetTopologyCommonAncestor)(device, NULL, &level), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetTopologyNearestGpus)(device, NVML_TOPOLOGY_SYSTEM, &n, NULL));
    IS(C(nvmlDeviceGetTopologyNearestGpus)(device, 7, &n, NULL), NVML_ERROR_INVALID_ARGUMENT);
    n = 1;
    OK(C(nvmlSystemGetTopologyGpuSet)(0, &n, near));
    IS(C(nvmlSystemGetTopologyGpuSet)(1u << 31, &n, near), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetP2PStatus)(device, device, 0, &level));
    EXPECT(level == NVML_P2P_STATUS_OK);
    OK(C(nvmlDeviceGetP2PStatus)(device, device, 2, &level));
    EXPECT(level == NVML_P2P_STATUS_GPU_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetP2PStatus)(device, device, 9, &level), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetNvLinkState)(device, 0, &level), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetNvLinkState)(device, 99, &level), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetNvLinkVersion)(device, 0, &links), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetNvLinkCapability)(device, 0, 0, &links), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetNvLinkRemotePciInfo)(device, 0, pci), NVML_ERROR_NOT_SUPPORTED);
    IS(C(nvmlDeviceGetNvLinkRemotePciInfo_v2)(device, 0, pci), NVML_ERROR_NOT_SUPPORTED);
    OK(C(nvmlDeviceGetGpuFabricInfo)(device, &fabric));
    EXPECT(fabric.state == 0);
    OK(C(nvmlDeviceGetGpuFabricInfoV)(device, &v3));
    EXPECT(v3.rest[0] == 0);
    v3.version = 40 | 9u << 24;
    IS(C(nvmlDeviceGetGpuFabricInfoV)(device, &v3), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
    memset(set, 0, sizeof set);
    OK(C(nvmlDeviceGetCpuAffinity)(device, 16, set));
    unsigned long any = 0;
    for (unsigned i = 0; i < 16; i++)
        any |= set[i];
    EXPECT(any);
    OK(C(nvmlDeviceGetCpuAffinityWithinScope)(device, 16, set, 1));
    IS(C(nvmlDeviceGetCpuAffinityWithinScope)(device, 16, set, 2), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetCpuAffinity)(device, 0, set), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetMemoryAffinity)(device, 1, set, 0));
    EXPECT(set[0] & 1);
}

static void tells_processes(void)
{
    struct {
        unsigned pid;
        unsigned long long bytes;
        unsigned at[2];
    } found[64];
    struct {
        unsigned version, mode, count;
        void *at;
    } list = {sizeof list | 1u << 24, 0, 0, NULL};
    unsigned n = 64;
    OK(C(nvmlDeviceGetComputeRunningProcesses_v3)(device, &n, found));
    n = 0;
    int r = C(nvmlDeviceGetComputeRunningProcesses)(device, &n, NULL);
    EXPECT(n ? r == NVML_ERROR_INSUFFICIENT_SIZE : r == 0);
    n = 1;
    IS(C(nvmlDeviceGetComputeRunningProcesses)(device, &n, NULL), NVML_ERROR_INVALID_ARGUMENT);
    IS(C(nvmlDeviceGetComputeRunningProcesses)(device, NULL, found), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetGraphicsRunningProcesses)(device, &n, found));
    OK(C(nvmlDeviceGetGraphicsRunningProcesses_v3)(device, &n, found));
    OK(C(nvmlDeviceGetMPSComputeRunningProcesses)(device, &n, found));
    OK(C(nvmlDeviceGetMPSComputeRunningProcesses_v3)(device, &n, found));
    EXPECT(n == 0);
    r = C(nvmlDeviceGetRunningProcessDetailList)(device, &list);
    EXPECT(r == 0 || r == NVML_ERROR_INSUFFICIENT_SIZE);
    list.mode = 7;
    IS(C(nvmlDeviceGetRunningProcessDetailList)(device, &list), NVML_ERROR_INVALID_ARGUMENT);
    list.version = 0;
    IS(C(nvmlDeviceGetRunningProcessDetailList)(device, &list), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

void snippet_nvml(void)
{
    unsigned n = 0;
    int r = C(nvmlInit_v2)();
    if (r == NVML_ERROR_DRIVER_NOT_LOADED) /* an SDK without its management library */
        return;
    OK(r);
    OK(C(nvmlInitWithFlags)(0));
    IS(C(nvmlInitWithFlags)(8), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlShutdown)());
    OK(C(nvmlDeviceGetCount_v2)(&n));
    EXPECT(n >= 1);
    IS(C(nvmlDeviceGetCount_v2)(NULL), NVML_ERROR_INVALID_ARGUMENT);
    OK(C(nvmlDeviceGetHandleByIndex_v2)(0, &device));
    IS(C(nvmlDeviceGetHandleByIndex_v2)(n, &device), NVML_ERROR_INVALID_ARGUMENT);
    tells_of_system();
    tells_names();
    tells_of_bus();
    tells_state();
    tells_topology();
    tells_processes();
    OK(C(nvmlShutdown)());
}
