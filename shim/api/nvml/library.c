/* Starting and ending NVML, its handles, and results as text. MTML is opened by the first start and stays open: a
 * thread that still calls when another shuts NVML down finds its handles alive. No call here touches the CUDA driver:
 * PyTorch counts devices by NVML so that it can still fork. */
#include "abi/text.h"
#include "api/nvml/nvml.h"
#include "cuda_texts.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint starts; /* that no shutdown has answered */
static pid_t opened_by;    /* a child opens MTML anew: its handles may be of the parent's files */
static struct nvml_device devices[NVML_DEVICES];
static atomic_uint device_count;

/* MTML's text is a UUID, with or without a prefix. */
static void name_uuid(struct nvml_device *d)
{
    char text[MTML_UUID] = "";
    int r = mu.mtmlDeviceGetUUID(d->mtml, text, sizeof text);
    text[sizeof text - 1] = 0;
    if (r != MTML_SUCCESS || !text[0])
        (void)snprintf(text, sizeof text, "00000000-0000-0000-0000-%012x", d->index + 1);
    (void)snprintf(d->uuid, sizeof d->uuid, "%s%s", strncmp(text, "GPU-", 4) ? "GPU-" : "", text);
}

static int open_device(const MtmlLibrary *library, unsigned i)
{
    struct nvml_device *d = &devices[i];
    *d = (struct nvml_device){.index = i};
    int r = mu.mtmlLibraryInitDeviceByIndex(library, i, &d->mtml);
    if (r != MTML_SUCCESS)
        return r;
    if (mu.mtmlDeviceInitGpu(d->mtml, &d->gpu) != MTML_SUCCESS)
        d->gpu = NULL;
    if (mu.mtmlDeviceInitMemory(d->mtml, &d->memory) != MTML_SUCCESS)
        d->memory = NULL;
    if (mu.mtmlDeviceInitVpu(d->mtml, &d->vpu) != MTML_SUCCESS)
        d->vpu = NULL;
    if (mu.mtmlDeviceGetPciInfo(d->mtml, &d->pci) != MTML_SUCCESS)
        d->pci = (MtmlPciInfo){.bus = i + 1};
    name_uuid(d);
    return MTML_SUCCESS;
}

static int open_below(void)
{
    MtmlLibrary *library = NULL;
    unsigned n = 0;
    int r = mu.mtmlLibraryInit(&library);
    if (r == MTML_SUCCESS)
        r = mu.mtmlLibraryCountDevice(library, &n);
    n = n < NVML_DEVICES ? n : NVML_DEVICES;
    for (unsigned i = 0; i < n && r == MTML_SUCCESS; i++)
        r = open_device(library, i);
    if (r == MTML_SUCCESS)
        atomic_store(&device_count, n);
    return cumu_nvmlReturn_from_musa(r);
}

int wrap_nvmlInitWithFlags(unsigned flags)
{
    enum { NO_GPUS_IS_GOOD = 1, NO_ATTACH = 2 };
    if (flags & ~(unsigned)(NO_GPUS_IS_GOOD | NO_ATTACH))
        return NVML_ERROR_INVALID_ARGUMENT;
    int r = NVML_SUCCESS;
    (void)pthread_mutex_lock(&lock);
    if (opened_by != getpid() && (r = open_below()) == NVML_SUCCESS)
        opened_by = getpid();
    if (r == NVML_SUCCESS)
        atomic_fetch_add(&starts, 1);
    (void)pthread_mutex_unlock(&lock);
    return r;
}

int wrap_nvmlInit_v2(void) { return wrap_nvmlInitWithFlags(0); }

int wrap_nvmlShutdown(void)
{
    unsigned n = atomic_load(&starts);
    while (n)
        if (atomic_compare_exchange_weak(&starts, &n, n - 1))
            return NVML_SUCCESS;
    return NVML_ERROR_UNINITIALIZED;
}

int cumu_nvml_ready(void)
{
    return atomic_load_explicit(&starts, memory_order_acquire) ? NVML_SUCCESS : NVML_ERROR_UNINITIALIZED;
}

unsigned cumu_nvml_count(void) { return atomic_load_explicit(&device_count, memory_order_acquire); }

struct nvml_device *cumu_nvml_at(unsigned index) { return index < cumu_nvml_count() ? &devices[index] : NULL; }

int cumu_nvml_device(void *handle, struct nvml_device **out)
{
    uintptr_t at = (uintptr_t)handle - (uintptr_t)devices;
    int r = cumu_nvml_ready();
    if (r)
        return r;
    if (at % sizeof *devices || at / sizeof *devices >= cumu_nvml_count())
        return NVML_ERROR_INVALID_ARGUMENT;
    *out = &devices[at / sizeof *devices];
    return NVML_SUCCESS;
}

int cumu_nvml_text(char *out, unsigned room, const char *text)
{
    if (!out)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (strlen(text) >= room)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    strcpy(out, text);
    return NVML_SUCCESS;
}

static const struct cumu_text results[] = {CUMU_TEXTS_nvmlReturn};

const char *wrap_nvmlErrorString(int result)
{
    const struct cumu_text *t = CUMU_TEXT_FIND(results, result);
    return t ? t->text : "Unknown Error";
}
