/* The fields of `cumu smi --query-gpu` and `--query-compute-apps`. Their names and units are those that nvidia-smi's
 * documentation gives. */
#include "cli/smi.h"

#include <string.h>
#include <time.h>

static bool number(char *out, unsigned long long value)
{
    (void)snprintf(out, SMI_TEXT, "%llu", value);
    return true;
}

static bool words(char *out, const char *text)
{
    (void)snprintf(out, SMI_TEXT, "%s", text);
    return true;
}

/* ---- the system ---- */

static bool write_timestamp(const struct smi_row *r, char *out)
{
    struct timespec now;
    struct tm tm;
    (void)r;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    if (!localtime_r(&now.tv_sec, &tm))
        return false;
    size_t n = strftime(out, SMI_TEXT, "%Y/%m/%d %H:%M:%S", &tm);
    (void)snprintf(out + n, SMI_TEXT - n, ".%03ld", now.tv_nsec / 1000000);
    return true;
}

static bool write_driver(const struct smi_row *r, char *out)
{
    (void)r;
    return !smi.SystemGetDriverVersion(out, SMI_TEXT);
}

static bool write_count(const struct smi_row *r, char *out)
{
    unsigned n = 0;
    (void)r;
    return !smi.DeviceGetCount_v2(&n) && number(out, n);
}

/* ---- texts and numbers of a device ---- */

#define TEXT_FIELD(name, function) \
    static bool name(const struct smi_row *r, char *out) { return !smi.function(r->device->handle, out, SMI_TEXT); }
TEXT_FIELD(write_name, DeviceGetName)
TEXT_FIELD(write_uuid, DeviceGetUUID)
TEXT_FIELD(write_serial, DeviceGetSerial)
TEXT_FIELD(write_vbios, DeviceGetVbiosVersion)

#define NUMBER_FIELD(name, function, ...) \
    static bool name(const struct smi_row *r, char *out) \
    { \
        unsigned value = 0; \
        return !smi.function(r->device->handle, __VA_ARGS__) && number(out, value); \
    }
NUMBER_FIELD(write_temperature, DeviceGetTemperature, 0, &value)
NUMBER_FIELD(write_fan, DeviceGetFanSpeed, &value)
NUMBER_FIELD(write_clock, DeviceGetClockInfo, NVML_CLOCK_GRAPHICS, &value)
NUMBER_FIELD(write_sm_clock, DeviceGetClockInfo, NVML_CLOCK_SM, &value)
NUMBER_FIELD(write_memory_clock, DeviceGetClockInfo, NVML_CLOCK_MEM, &value)
NUMBER_FIELD(write_max_clock, DeviceGetMaxClockInfo, NVML_CLOCK_GRAPHICS, &value)
NUMBER_FIELD(write_max_sm_clock, DeviceGetMaxClockInfo, NVML_CLOCK_SM, &value)
NUMBER_FIELD(write_max_memory_clock, DeviceGetMaxClockInfo, NVML_CLOCK_MEM, &value)
NUMBER_FIELD(write_link_max, DeviceGetMaxPcieLinkGeneration, &value)
NUMBER_FIELD(write_link_now, DeviceGetCurrPcieLinkGeneration, &value)
NUMBER_FIELD(write_width_max, DeviceGetMaxPcieLinkWidth, &value)
NUMBER_FIELD(write_width_now, DeviceGetCurrPcieLinkWidth, &value)
NUMBER_FIELD(write_encoder, DeviceGetEncoderUtilization, &value, &(unsigned){0})
NUMBER_FIELD(write_decoder, DeviceGetDecoderUtilization, &value, &(unsigned){0})

static bool watts(int result, unsigned milliwatts, char *out)
{
    (void)snprintf(out, SMI_TEXT, "%u.%02u", milliwatts / 1000, milliwatts % 1000 / 10);
    return !result;
}

static bool write_power(const struct smi_row *r, char *out)
{
    unsigned mw = 0;
    int result = smi.DeviceGetPowerUsage(r->device->handle, &mw);
    return watts(result, mw, out);
}

static bool write_power_limit(const struct smi_row *r, char *out)
{
    unsigned mw = 0;
    int result = smi.DeviceGetPowerManagementLimit(r->device->handle, &mw);
    return watts(result, mw, out);
}

static bool write_index(const struct smi_row *r, char *out) { return number(out, r->device->index); }

static bool write_pstate(const struct smi_row *r, char *out)
{
    int state = 0;
    if (smi.DeviceGetPerformanceState(r->device->handle, &state))
        return false;
    (void)snprintf(out, SMI_TEXT, "P%d", state);
    return true;
}

static bool write_capability(const struct smi_row *r, char *out)
{
    int major = 0, minor = 0;
    if (smi.DeviceGetCudaComputeCapability(r->device->handle, &major, &minor))
        return false;
    (void)snprintf(out, SMI_TEXT, "%d.%d", major, minor);
    return true;
}

static bool write_ecc(const struct smi_row *r, char *out)
{
    int now = 0, next = 0;
    return !smi.DeviceGetEccMode(r->device->handle, &now, &next) && words(out, now ? "Enabled" : "Disabled");
}

static bool write_default(const struct smi_row *r, char *out)
{
    (void)r;
    return words(out, "Default");
}

static bool write_disabled(const struct smi_row *r, char *out)
{
    (void)r;
    return words(out, "Disabled");
}

static bool write_nothing(const struct smi_row *r, char *out)
{
    (void)r, (void)out;
    return false;
}

/* ---- the bus ---- */

enum pci_part { BUS_ID, DOMAIN, BUS, DEVICE, DEVICE_ID, SUB_DEVICE_ID };

static bool pci(const struct smi_row *r, char *out, enum pci_part part)
{
    struct nvml_pci_v3 p;
    if (smi.DeviceGetPciInfo_v3(r->device->handle, &p))
        return false;
    const unsigned values[] = {0, p.domain, p.bus, p.device, p.pci_device_id, p.pci_subsystem_id};
    static const int digits[] = {0, 4, 2, 2, 8, 8};
    if (part == BUS_ID)
        return words(out, p.bus_id);
    (void)snprintf(out, SMI_TEXT, "0x%0*X", digits[part], values[part]);
    return true;
}

static bool write_bus_id(const struct smi_row *r, char *out) { return pci(r, out, BUS_ID); }
static bool write_domain(const struct smi_row *r, char *out) { return pci(r, out, DOMAIN); }
static bool write_bus(const struct smi_row *r, char *out) { return pci(r, out, BUS); }
static bool write_pci_device(const struct smi_row *r, char *out) { return pci(r, out, DEVICE); }
static bool write_device_id(const struct smi_row *r, char *out) { return pci(r, out, DEVICE_ID); }
static bool write_sub_device_id(const struct smi_row *r, char *out) { return pci(r, out, SUB_DEVICE_ID); }

/* ---- memory and use ---- */

static bool memory(const struct smi_row *r, struct nvml_memory_v2 *m)
{
    m->version = NVML_VERSION(nvml_memory_v2, 2);
    return !smi.DeviceGetMemoryInfo_v2(r->device->handle, m);
}

static bool write_total(const struct smi_row *r, char *out)
{
    struct nvml_memory_v2 m;
    return memory(r, &m) && number(out, m.total >> 20);
}

static bool write_used(const struct smi_row *r, char *out)
{
    struct nvml_memory_v2 m;
    return memory(r, &m) && number(out, m.used >> 20);
}

static bool write_free(const struct smi_row *r, char *out)
{
    struct nvml_memory_v2 m;
    return memory(r, &m) && number(out, m.free >> 20);
}

static bool write_reserved(const struct smi_row *r, char *out)
{
    struct nvml_memory_v2 m;
    return memory(r, &m) && number(out, m.reserved >> 20);
}

static bool write_gpu_use(const struct smi_row *r, char *out)
{
    struct nvml_utilization u;
    return !smi.DeviceGetUtilizationRates(r->device->handle, &u) && number(out, u.gpu);
}

static bool write_memory_use(const struct smi_row *r, char *out)
{
    struct nvml_utilization u;
    return !smi.DeviceGetUtilizationRates(r->device->handle, &u) && number(out, u.memory);
}

const struct smi_field smi_gpu_fields[] = {
    {"timestamp", NULL, "", write_timestamp, "when the query was made"},
    {"driver_version", NULL, "", write_driver, "the NVIDIA driver that CUDA programs are told of"},
    {"count", NULL, "", write_count, "number of devices"},
    {"name", "gpu_name", "", write_name, "name of the device"},
    {"serial", "gpu_serial", "", write_serial, "serial number"},
    {"uuid", "gpu_uuid", "", write_uuid, "unique id"},
    {"index", NULL, "", write_index, "number of the device"},
    {"vbios_version", NULL, "", write_vbios, "version of its firmware"},
    {"compute_cap", NULL, "", write_capability, "compute capability"},
    {"compute_mode", NULL, "", write_default, "who may compute on it"},
    {"persistence_mode", NULL, "", write_nothing, "whether its driver stays loaded"},
    {"accounting.mode", NULL, "", write_nothing, "accounting"},
    {"display_mode", "display_attached", "", write_disabled, "whether a display is attached"},
    {"display_active", NULL, "", write_disabled, "whether a display is used"},
    {"driver_model.current", NULL, "", write_nothing, "of Windows"},
    {"mig.mode.current", NULL, "", write_nothing, "MIG"},
    {"mig.mode.pending", NULL, "", write_nothing, "MIG"},
    {"pci.bus_id", "gpu_bus_id", "", write_bus_id, "place on the bus"},
    {"pci.domain", NULL, "", write_domain, "its domain"},
    {"pci.bus", NULL, "", write_bus, "its bus"},
    {"pci.device", NULL, "", write_pci_device, "its number there"},
    {"pci.device_id", NULL, "", write_device_id, "vendor and kind"},
    {"pci.sub_device_id", NULL, "", write_sub_device_id, "vendor and kind of the board"},
    {"pcie.link.gen.current", "pcie.link.gen.gpucurrent", "", write_link_now, "generation of the link"},
    {"pcie.link.gen.max", NULL, "", write_link_max, "most of it"},
    {"pcie.link.width.current", NULL, "", write_width_now, "width of the link"},
    {"pcie.link.width.max", NULL, "", write_width_max, "most of it"},
    {"fan.speed", NULL, "%", write_fan, "speed of the first fan"},
    {"pstate", NULL, "", write_pstate, "performance state"},
    {"memory.total", NULL, "MiB", write_total, "memory"},
    {"memory.reserved", NULL, "MiB", write_reserved, "memory of the driver's own"},
    {"memory.used", NULL, "MiB", write_used, "memory that processes hold"},
    {"memory.free", NULL, "MiB", write_free, "memory that is left"},
    {"utilization.gpu", NULL, "%", write_gpu_use, "how busy the processors are"},
    {"utilization.memory", NULL, "%", write_memory_use, "how busy the memory is; on the CPU, how full"},
    {"utilization.encoder", NULL, "%", write_encoder, "how busy the encoder is"},
    {"utilization.decoder", NULL, "%", write_decoder, "how busy the decoder is"},
    {"temperature.gpu", NULL, "", write_temperature, "degrees Celsius"},
    {"temperature.memory", NULL, "", write_nothing, "degrees Celsius"},
    {"power.draw", "power.draw.instant", "W", write_power, "power"},
    {"power.limit", "enforced.power.limit", "W", write_power_limit, "most of it"},
    {"clocks.current.graphics", "clocks.gr", "MHz", write_clock, "clock"},
    {"clocks.current.sm", "clocks.sm", "MHz", write_sm_clock, "clock of the processors"},
    {"clocks.current.memory", "clocks.mem", "MHz", write_memory_clock, "clock of the memory"},
    {"clocks.max.graphics", "clocks.max.gr", "MHz", write_max_clock, "most of it"},
    {"clocks.max.sm", NULL, "MHz", write_max_sm_clock, "most of it"},
    {"clocks.max.memory", "clocks.max.mem", "MHz", write_max_memory_clock, "most of it"},
    {"ecc.mode.current", NULL, "", write_ecc, "error correction"},
    {"ecc.mode.pending", NULL, "", write_nothing, "after the next start"},
    {NULL, NULL, NULL, NULL, NULL},
};

/* ---- processes ---- */

static bool write_pid(const struct smi_row *r, char *out) { return number(out, r->process->pid); }

static bool write_process_name(const struct smi_row *r, char *out)
{
    return !smi.SystemGetProcessName(r->process->pid, out, SMI_TEXT) && *out;
}

static bool write_process_memory(const struct smi_row *r, char *out) { return number(out, r->process->bytes >> 20); }

const struct smi_field smi_process_fields[] = {
    {"timestamp", NULL, "", write_timestamp, "when the query was made"},
    {"gpu_name", NULL, "", write_name, "name of the device"},
    {"gpu_bus_id", NULL, "", write_bus_id, "place on the bus"},
    {"gpu_serial", NULL, "", write_serial, "serial number"},
    {"gpu_uuid", NULL, "", write_uuid, "unique id"},
    {"pid", NULL, "", write_pid, "process"},
    {"process_name", "name", "", write_process_name, "its program"},
    {"used_gpu_memory", "used_memory", "MiB", write_process_memory, "memory that it holds"},
    {NULL, NULL, NULL, NULL, NULL},
};

int smi_processes(const struct smi_device *d, struct nvml_process_v3 *out)
{
    unsigned n = SMI_PROCESSES;
    return smi.DeviceGetComputeRunningProcesses_v3(d->handle, &n, out) ? -1 : (int)n;
}

const char *smi_text(const struct smi_device *d, const char *field, char *out)
{
    const struct smi_row row = {d, NULL};
    for (const struct smi_field *f = smi_gpu_fields; f->name; f++)
        if (strcmp(f->name, field) == 0 && f->write(&row, out))
            return out;
    return strcpy(out, "N/A");
}
