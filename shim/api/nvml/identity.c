/* Which devices there are, and what each is called: handles by number, UUID, bus and serial number; names. */
#include "api/nvml/nvml.h"
#include "wraps.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

int wrap_nvmlDeviceGetCount_v2(unsigned *count)
{
    int r = cumu_nvml_ready();
    if (r || !count)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *count = cumu_nvml_count();
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    int r = cumu_nvml_ready();
    if (r)
        return r;
    struct nvml_device *d = cumu_nvml_at(index);
    if (!device || !d)
        return NVML_ERROR_INVALID_ARGUMENT;
    *device = d;
    return NVML_SUCCESS;
}

/* The device that `is`; NVML_ERROR_NOT_FOUND when none is. */
static int find(bool (*is)(struct nvml_device *d, const char *key), const char *key, void **device)
{
    int r = cumu_nvml_ready();
    if (r || !key || !device)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    for (unsigned i = 0; i < cumu_nvml_count(); i++)
        if (is(cumu_nvml_at(i), key)) {
            *device = cumu_nvml_at(i);
            return NVML_SUCCESS;
        }
    return NVML_ERROR_NOT_FOUND;
}

static bool has_uuid(struct nvml_device *d, const char *key) { return strcasecmp(d->uuid, key) == 0; }

int wrap_nvmlDeviceGetHandleByUUID(const char *uuid, void **device) { return find(has_uuid, uuid, device); }

int wrap_nvmlDeviceGetHandleByUUIDV(const void *uuid, void **device)
{
    const struct nvml_uuid *u = uuid;
    int r = cumu_nvml_ready();
    if (r || !u || !device)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (u->version != NVML_VERSION(nvml_uuid, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    char text[sizeof u->value + 1] = "GPU-";
    if (u->type == 1)
        (void)snprintf(text, sizeof text, "%.*s", (int)sizeof u->value, u->value);
    else if (u->type == 2)
        for (unsigned i = 0, n = 4; i < 16; i++)
            n += (unsigned)snprintf(text + n, sizeof text - n, "%s%02x",
                                    i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", (unsigned char)u->value[i]);
    else
        return NVML_ERROR_INVALID_ARGUMENT;
    return find(has_uuid, text, device);
}

/* domain:bus:device.function in hexadecimal; domain and function may be missing. */
static bool at_bus(struct nvml_device *d, const char *key)
{
    unsigned domain = 0, bus, device, function = 0;
    int n = 0;
    bool known = (sscanf(key, "%x:%x:%x.%x%n", &domain, &bus, &device, &function, &n) == 4 && !key[n]) ||
                 (function = 0, sscanf(key, "%x:%x:%x%n", &domain, &bus, &device, &n) == 3 && !key[n]) ||
                 (domain = 0, sscanf(key, "%x:%x.%x%n", &bus, &device, &function, &n) == 3 && !key[n]);
    return known && !function && domain == d->pci.segment && bus == d->pci.bus && device == d->pci.device;
}

int wrap_nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device) { return find(at_bus, id, device); }

static bool has_serial(struct nvml_device *d, const char *key)
{
    char serial[MTML_SERIAL] = "";
    return mu.mtmlDeviceGetSerialNumber(d->mtml, sizeof serial, serial) == MTML_SUCCESS && *serial &&
           strcmp(serial, key) == 0;
}

int wrap_nvmlDeviceGetHandleBySerial(const char *serial, void **device) { return find(has_serial, serial, device); }

/* Text that MTML writes, in a buffer of NVML's size. */
static int text_of(void *handle, int (*ask)(const MtmlDevice *, char *, unsigned), void *out, unsigned room)
{
    struct nvml_device *d;
    char text[MTML_VBIOS] = "";
    int r = cumu_nvml_device(handle, &d);
    if (!r)
        r = cumu_nvmlReturn_from_musa(ask(d->mtml, text, sizeof text));
    text[sizeof text - 1] = 0;
    return r ? r : cumu_nvml_text(out, room, text);
}

int wrap_nvmlDeviceGetName(void *device, void *name, unsigned length)
{
    return text_of(device, mu.mtmlDeviceGetName, name, length);
}

int wrap_nvmlDeviceGetVbiosVersion(void *device, void *version, unsigned length)
{
    return text_of(device, mu.mtmlDeviceGetVbiosVersion, version, length);
}

static int serial(const MtmlDevice *d, char *out, unsigned room) { return mu.mtmlDeviceGetSerialNumber(d, room, out); }

int wrap_nvmlDeviceGetSerial(void *device, void *out, unsigned length) { return text_of(device, serial, out, length); }

int wrap_nvmlDeviceGetUUID(void *device, void *uuid, unsigned length)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    return r ? r : cumu_nvml_text(uuid, length, d->uuid);
}

/* A number that is known without asking. */
static int known(void *device, void *out, unsigned value, bool number)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *(unsigned *)out = number ? d->index : value;
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetIndex(void *device, unsigned *index) { return known(device, index, 0, true); }

int wrap_nvmlDeviceGetMinorNumber(void *device, unsigned *minor)
{
    return known(device, minor, 0, true); /* of /dev/nvidiaN, which programs find under cumu run */
}

int wrap_nvmlDeviceGetBrand(void *device, int *brand) { return known(device, brand, 0, false); /* none of NVIDIA's */ }

/* One board has one device, none is divided, virtual, or shows a picture; any process may compute on it. */
int wrap_nvmlDeviceGetMultiGpuBoard(void *device, unsigned *multi) { return known(device, multi, 0, false); }

int wrap_nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *count) { return known(device, count, 0, false); }

int wrap_nvmlDeviceIsMigDeviceHandle(void *device, unsigned *is) { return known(device, is, 0, false); }

int wrap_nvmlDeviceGetVirtualizationMode(void *device, int *mode) { return known(device, mode, 0, false); }

int wrap_nvmlDeviceGetDisplayMode(void *device, int *mode) { return known(device, mode, 0, false); }

int wrap_nvmlDeviceGetDisplayActive(void *device, int *active) { return known(device, active, 0, false); }

int wrap_nvmlDeviceGetComputeMode(void *device, int *mode) { return known(device, mode, 0, false); }

int wrap_nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *types)
{
    unsigned none = 0;
    int r = known(device, types ? &none : NULL, 0, false);
    if (!r)
        *types = none;
    return r;
}

int wrap_nvmlDeviceOnSameBoard(void *a, void *b, int *same)
{
    struct nvml_device *x, *y;
    int r = cumu_nvml_device(a, &x);
    r = r ? r : cumu_nvml_device(b, &y);
    if (r || !same)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *same = x == y;
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !major || !minor)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *major = (int)(cumu_claimed_cc() / 10);
    *minor = (int)(cumu_claimed_cc() % 10);
    return NVML_SUCCESS;
}

/* NVML's number of an architecture, by the capability that is claimed. */
int wrap_nvmlDeviceGetArchitecture(void *device, unsigned *architecture)
{
    static const struct {
        unsigned capability, architecture;
    } since[] = {{30, 2}, {50, 3}, {60, 4}, {70, 5}, {75, 6}, {80, 7}, {89, 8}, {90, 9}, {100, 10}};
    unsigned value = ~0u;
    for (unsigned i = 0; i < sizeof since / sizeof *since && since[i].capability <= (unsigned)cumu_claimed_cc(); i++)
        value = since[i].architecture;
    return known(device, architecture, value, false);
}
