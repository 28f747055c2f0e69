/* The mock's functions, installed as members of `mu`. */
#include "mock.h"

#include <stdlib.h>
#include <string.h>

#include "fatbin/fatbin.h"
#include "kernel/device.h"
#include "mu.h"

_Atomic(int) mock_loads, mock_unloads, mock_launches;
__thread MUcontext mock_ctx = (MUcontext)0x1000;
int mock_load_error, mock_launch_error;
struct mock_launch mock_last;

static _Atomic(uintptr_t) next_handle = 0x100000;

static MUresult get_current(MUcontext *ctx)
{
    *ctx = mock_ctx;
    return 0;
}
static MUresult set_current(MUcontext ctx)
{
    mock_ctx = ctx;
    return 0;
}
static MUresult get_device(MUdevice *dev)
{
    *dev = mock_ctx == (MUcontext)0x2000;
    return 0;
}
static MUresult load_data(MUmodule *m, const void *image)
{
    (void)image;
    if (mock_load_error)
        return mock_load_error;
    atomic_fetch_add(&mock_loads, 1);
    *m = (MUmodule)atomic_fetch_add(&next_handle, 16);
    return 0;
}
static MUresult unload(MUmodule m)
{
    (void)m;
    atomic_fetch_add(&mock_unloads, 1);
    return 0;
}
static MUresult get_function(MUfunction *f, MUmodule m, const char *name)
{
    (void)name;
    *f = (MUfunction)((uintptr_t)m + 8);
    return 0;
}
static MUresult get_global(MUdeviceptr *p, size_t *size, MUmodule m, const char *name)
{
    *p = (MUdeviceptr)(uintptr_t)m * 0x1000 + (unsigned char)name[0];
    *size = 4;
    return 0;
}
static MUresult alloc_managed(MUdeviceptr *p, size_t size, unsigned flags)
{
    (void)flags;
    *p = (MUdeviceptr)(uintptr_t)malloc(size);
    return 0;
}
static MUresult mem_free(MUdeviceptr p)
{
    free((void *)(uintptr_t)p);
    return 0;
}
static MUresult launch(MUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                       unsigned shared, MUstream stream, void **args, void **extra)
{
    (void)args, (void)extra;
    mock_last = (struct mock_launch){f, {gx, gy, gz}, {bx, by, bz}, shared, stream, 0};
    atomic_fetch_add(&mock_launches, 1);
    return mock_launch_error;
}
static MUresult launch_coop(MUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, MUstream stream, void **args)
{
    MUresult err = launch(f, gx, gy, gz, bx, by, bz, shared, stream, args, NULL);
    mock_last.cooperative = 1;
    return err;
}
static MUresult attribute(int *value, MUdevice_attribute attr, MUdevice dev)
{
    *value = attr;
    return dev == 0 ? 0 : MUSA_ERROR_INVALID_DEVICE;
}
static musaError_t rt_attribute(int *value, musaDeviceAttr attr, int dev)
{
    (void)dev;
    *value = attr <= 4 ? 1024 : 65535;
    return 0;
}
static musaError_t zero_device(int *out)
{
    *out = 0;
    return 0;
}
static musaError_t one_device(int *out)
{
    *out = 1;
    return 0;
}
static MUresult device_get(MUdevice *dev, int ordinal)
{
    *dev = ordinal;
    return 0;
}
static MUresult device_name(char *name, int len, MUdevice dev)
{
    (void)dev;
    snprintf(name, (size_t)len, "mock device");
    return 0;
}
static MUresult total_mem(size_t *bytes, MUdevice dev)
{
    (void)dev;
    *bytes = (size_t)5 << 30;
    return 0;
}
static MUresult uuid(MUuuid *out, MUdevice dev)
{
    (void)dev;
    memset(out, 7, sizeof *out);
    return 0;
}
static musaError_t no_error(void) { return 0; }

void mock_install(void)
{
    atomic_store(&cumu_device_known, 0); /* it takes images, as the CPU driver does */
    setvbuf(stdout, NULL, _IOLBF, 0);    /* nothing is lost when a test dies */
    mu.muCtxGetCurrent = get_current;
    mu.muCtxSetCurrent = set_current;
    mu.muCtxGetDevice = get_device;
    mu.muModuleLoadData = load_data;
    mu.muModuleUnload = unload;
    mu.muModuleGetFunction = get_function;
    mu.muModuleGetGlobal = get_global;
    mu.muMemAllocManaged = alloc_managed;
    mu.muMemFree_v2 = mem_free;
    mu.muLaunchKernel = launch;
    mu.muLaunchCooperativeKernel = launch_coop;
    mu.muDeviceGetAttribute = attribute;
    mu.musaDeviceGetAttribute = rt_attribute;
    mu.musaGetDevice = zero_device;
    mu.musaGetDeviceCount = one_device;
    mu.muDeviceGet = device_get;
    mu.muDeviceGetName = device_name;
    mu.muDeviceTotalMem_v2 = total_mem;
    mu.muDeviceGetUuid = uuid;
    mu.musaGetLastError = no_error;
    mu.musaPeekAtLastError = no_error;
}

size_t mock_container(unsigned char *out, unsigned kind, unsigned arch, const void *payload, size_t n)
{
    uint64_t padded = (n + 7) & ~(size_t)7, body = 64 + padded, flags = 0x11;
    uint32_t magic = FATBIN_MAGIC, header = 64;
    uint16_t version = 1, size = 16, k = (uint16_t)kind, tag = 0x0101;
    memset(out, 0, 16 + (size_t)body);
    memcpy(out, &magic, 4);
    memcpy(out + 4, &version, 2);
    memcpy(out + 6, &size, 2);
    memcpy(out + 8, &body, 8);
    unsigned char *e = out + 16;
    memcpy(e, &k, 2);
    memcpy(e + 2, &tag, 2);
    memcpy(e + 4, &header, 4);
    memcpy(e + 8, &padded, 8);
    memcpy(e + 0x1C, &arch, 4);
    memcpy(e + 0x28, &flags, 8);
    memcpy(e + 64, payload, n);
    return 16 + (size_t)body;
}
