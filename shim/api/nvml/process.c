/* Which processes hold memory of a device. MTML knows of none; our libmtml tells it of the CPU's devices. */
#include "api/nvml/nvml.h"
#include "core/resolve.h"
#include "wraps.h"

#include <stdlib.h>
#include <string.h>

enum { INSTANCE_NONE = -1 }; /* of a device that is not divided */

typedef unsigned ask_holders(const MtmlDevice *dev, struct cumu_holder *out, unsigned room);

static ask_holders *holders_below(void)
{
    ask_holders *ask = NULL;
    void *p = cumu_below("mtml", "cumu_mtml_holders");
    memcpy(&ask, &p, sizeof ask);
    return ask;
}

/* Writes one entry of some form of the list. */
typedef void write_entry(void *out, unsigned i, const struct cumu_holder *h);

static void write_v1(void *out, unsigned i, const struct cumu_holder *h)
{
    ((struct nvml_process_v1 *)out)[i] = (struct nvml_process_v1){h->pid, h->bytes};
}

static void write_v3(void *out, unsigned i, const struct cumu_holder *h)
{
    ((struct nvml_process_v3 *)out)[i] = (struct nvml_process_v3){h->pid, h->bytes, (unsigned)INSTANCE_NONE,
                                                                  (unsigned)INSTANCE_NONE};
}

static void write_detail(void *out, unsigned i, const struct cumu_holder *h)
{
    ((struct nvml_process_detail *)out)[i] = (struct nvml_process_detail){h->pid, h->bytes, (unsigned)INSTANCE_NONE,
                                                                          (unsigned)INSTANCE_NONE, 0};
}

/* The count is always set; a list that is too short gets nothing, and the caller asks again with as much as it was
 * told. That the list grows between the two calls is the caller's to expect, as NVML's documentation says. */
static int list(void *device, unsigned *count, void *out, write_entry *write)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !count || (*count && !out))
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    ask_holders *ask = holders_below();
    if (!ask)
        return NVML_ERROR_NOT_SUPPORTED;
    unsigned room = *count < 65536 ? *count : 65536;
    struct cumu_holder *found = room ? malloc(room * sizeof *found) : NULL;
    if (room && !found)
        return NVML_ERROR_MEMORY;
    *count = ask(d->mtml, found, room);
    if (*count > room)
        r = NVML_ERROR_INSUFFICIENT_SIZE;
    for (unsigned i = 0; !r && i < *count; i++)
        write(out, i, &found[i]);
    free(found);
    return r;
}

/* Programs that draw or share a device by MPS: there are none. */
static int nobody(void *device, unsigned *count)
{
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !count)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (!holders_below())
        return NVML_ERROR_NOT_SUPPORTED;
    *count = 0;
    return NVML_SUCCESS;
}

int wrap_nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *out)
{
    return list(device, count, out, write_v1);
}

int wrap_nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *out)
{
    return list(device, count, out, write_v3);
}

int wrap_nvmlDeviceGetGraphicsRunningProcesses(void *device, unsigned *count, void *out)
{
    (void)out;
    return nobody(device, count);
}

int wrap_nvmlDeviceGetGraphicsRunningProcesses_v3(void *device, unsigned *count, void *out)
{
    (void)out;
    return nobody(device, count);
}

int wrap_nvmlDeviceGetMPSComputeRunningProcesses(void *device, unsigned *count, void *out)
{
    (void)out;
    return nobody(device, count);
}

int wrap_nvmlDeviceGetMPSComputeRunningProcesses_v3(void *device, unsigned *count, void *out)
{
    (void)out;
    return nobody(device, count);
}

int wrap_nvmlDeviceGetRunningProcessDetailList(void *device, void *details)
{
    struct nvml_process_details *l = details;
    struct nvml_device *d;
    int r = cumu_nvml_device(device, &d);
    if (r || !l)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (l->version != NVML_VERSION(nvml_process_details, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (l->mode > 2) /* computing, drawing, by MPS */
        return NVML_ERROR_INVALID_ARGUMENT;
    return l->mode ? nobody(device, &l->count) : list(device, &l->count, l->at, write_detail);
}
