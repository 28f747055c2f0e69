/* What a device is doing: memory, utilisation, clocks, temperature, power. Figures that MTML does not have are
 * NVML_ERROR_NOT_SUPPORTED, never 0. */
#include "api/nvml/nvml.h"
#include "wraps.h"

#include <time.h>

static int from(int r) { return cumu_nvmlReturn_from_musa(r); }

/* The device, if there is somewhere to write to. */
static int begin(void *handle, const void *out, struct nvml_device **d)
{
    int r = cumu_nvml_device(handle, d);
    return r ? r : out ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static int memory_of(void *device, const void *out, unsigned long long *total, unsigned long long *used)
{
    struct nvml_device *d;
    int r = begin(device, out, &d);
    if (!r && !d->memory)
        r = NVML_ERROR_NOT_SUPPORTED;
    r = r ? r : from(mu.mtmlMemoryGetTotal(d->memory, total));
    r = r ? r : from(mu.mtmlMemoryGetUsed(d->memory, used));
    if (!r && *used > *total)
        *used = *total;
    return r;
}

int wrap_nvmlDeviceGetMemoryInfo(void *device, void *out)
{
    unsigned long long total, used;
    int r = memory_of(device, out, &total, &used);
    if (!r)
        *(struct nvml_memory_v1 *)out = (struct nvml_memory_v1){total, total - used, used};
    return r;
}

int wrap_nvmlDeviceGetMemoryInfo_v2(void *device, void *out)
{
    struct nvml_memory_v2 *m = out;
    unsigned long long total, used;
    int r = memory_of(device, out, &total, &used);
    if (r)
        return r;
    if (m->version != NVML_VERSION(nvml_memory_v2, 2))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    *m = (struct nvml_memory_v2){m->version, total, 0, total - used, used};
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetUtilizationRates(void *device, void *out)
{
    struct nvml_device *d;
    struct nvml_utilization now;
    int r = begin(device, out, &d);
    if (!r && (!d->gpu || !d->memory))
        r = NVML_ERROR_NOT_SUPPORTED;
    r = r ? r : from(mu.mtmlGpuGetUtilization(d->gpu, &now.gpu));
    r = r ? r : from(mu.mtmlMemoryGetUtilization(d->memory, &now.memory));
    if (!r)
        *(struct nvml_utilization *)out = now;
    return r;
}

static int codec(void *device, unsigned *percent, unsigned *period, bool encoder)
{
    struct nvml_device *d;
    MtmlCodecUtil now = {0};
    int r = begin(device, percent && period ? percent : NULL, &d);
    if (!r && !d->vpu)
        r = NVML_ERROR_NOT_SUPPORTED;
    r = r ? r : from(mu.mtmlVpuGetUtilization(d->vpu, &now));
    if (r)
        return r;
    *percent = encoder ? now.encUtil : now.decUtil;
    *period = now.period;
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetEncoderUtilization(void *device, unsigned *percent, unsigned *period)
{
    return codec(device, percent, period, true);
}

int wrap_nvmlDeviceGetDecoderUtilization(void *device, unsigned *percent, unsigned *period)
{
    return codec(device, percent, period, false);
}

static int temperature(void *device, int sensor, const void *out, int *celsius)
{
    struct nvml_device *d;
    int r = begin(device, out, &d);
    if (!r && sensor != NVML_TEMPERATURE_GPU)
        r = NVML_ERROR_INVALID_ARGUMENT;
    if (!r && !d->gpu)
        r = NVML_ERROR_NOT_SUPPORTED;
    return r ? r : from(mu.mtmlGpuGetTemperature(d->gpu, celsius));
}

int wrap_nvmlDeviceGetTemperature(void *device, int sensor, unsigned *out)
{
    int celsius;
    int r = temperature(device, sensor, out, &celsius);
    if (!r)
        *out = celsius > 0 ? (unsigned)celsius : 0;
    return r;
}

int wrap_nvmlDeviceGetTemperatureV(void *device, void *out)
{
    struct nvml_temperature *t = out;
    struct nvml_device *d;
    int r = begin(device, out, &d);
    if (!r && t->version != NVML_VERSION(nvml_temperature, 1))
        r = NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    return r ? r : temperature(device, t->sensor, out, &t->temperature);
}

int wrap_nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    struct nvml_device *d;
    int r = begin(device, milliwatts, &d);
    return r ? r : from(mu.mtmlDeviceGetPowerUsage(d->mtml, milliwatts));
}

int wrap_nvmlDeviceGetNumFans(void *device, unsigned *count)
{
    struct nvml_device *d;
    int r = begin(device, count, &d);
    return r ? r : from(mu.mtmlDeviceCountFan(d->mtml, count));
}

int wrap_nvmlDeviceGetFanSpeed_v2(void *device, unsigned fan, unsigned *percent)
{
    struct nvml_device *d;
    int r = begin(device, percent, &d);
    return r ? r : from(mu.mtmlDeviceGetFanSpeed(d->mtml, fan, percent));
}

int wrap_nvmlDeviceGetFanSpeed(void *device, unsigned *percent)
{
    return wrap_nvmlDeviceGetFanSpeed_v2(device, 0, percent);
}

/* MTML has one clock of the processors, which stands for NVML's graphics and SM clocks. */
static int clock_of(void *device, int type, unsigned *mhz, bool highest)
{
    struct nvml_device *d;
    int r = begin(device, mhz, &d);
    if (r)
        return r;
    if (type < NVML_CLOCK_GRAPHICS || type > NVML_CLOCK_VIDEO)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (type == NVML_CLOCK_MEM && d->memory)
        return from(highest ? mu.mtmlMemoryGetMaxClock(d->memory, mhz) : mu.mtmlMemoryGetClock(d->memory, mhz));
    if (type < NVML_CLOCK_MEM && d->gpu)
        return from(highest ? mu.mtmlGpuGetMaxClock(d->gpu, mhz) : mu.mtmlGpuGetClock(d->gpu, mhz));
    return NVML_ERROR_NOT_SUPPORTED;
}

int wrap_nvmlDeviceGetClockInfo(void *device, int type, unsigned *mhz) { return clock_of(device, type, mhz, false); }

int wrap_nvmlDeviceGetMaxClockInfo(void *device, int type, unsigned *mhz) { return clock_of(device, type, mhz, true); }

int wrap_nvmlDeviceGetClock(void *device, int type, int which, unsigned *mhz)
{
    int r = clock_of(device, type, mhz, false);
    return !r && which != NVML_CLOCK_ID_CURRENT ? NVML_ERROR_NOT_SUPPORTED : r;
}

int wrap_nvmlDeviceGetNumGpuCores(void *device, unsigned *count)
{
    struct nvml_device *d;
    int r = begin(device, count, &d);
    return r ? r : from(mu.mtmlDeviceCountGpuCores(d->mtml, count));
}

int wrap_nvmlDeviceGetMemoryBusWidth(void *device, unsigned *bits)
{
    struct nvml_device *d;
    int r = begin(device, bits, &d);
    return r ? r : d->memory ? from(mu.mtmlMemoryGetBusWidth(d->memory, bits)) : NVML_ERROR_NOT_SUPPORTED;
}

int wrap_nvmlDeviceGetEccMode(void *device, int *current, int *pending)
{
    struct nvml_device *d;
    int r = begin(device, current && pending ? current : NULL, &d);
    return r ? r : d->memory ? from(mu.mtmlMemoryGetEccMode(d->memory, current, pending)) : NVML_ERROR_NOT_SUPPORTED;
}

/* Numbered figures of all kinds, of which MTML has none: each of the list is answered by itself, as documented. */
int wrap_nvmlDeviceGetFieldValues(void *device, int count, void *values)
{
    struct nvml_device *d;
    struct nvml_field *f = values;
    struct timespec now;
    int r = begin(device, values, &d);
    if (r || count < 1)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    for (int i = 0; i < count; i++) {
        f[i].timestamp = (long long)now.tv_sec * 1000000 + now.tv_nsec / 1000;
        f[i].latency = 0;
        f[i].result = NVML_ERROR_NOT_SUPPORTED;
    }
    return NVML_SUCCESS;
}
