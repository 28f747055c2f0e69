/* nvJPEG's handles, buffers and parsed files; libjpeg-turbo. */
#include "api/nvjpeg/nvjpeg.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ---- libjpeg-turbo ---- */

static struct turbo turbo;
static bool found;

static void open_turbo(void)
{
    static const char *const names[] = {"libturbojpeg.so.0", "libturbojpeg.so"};
    const struct {
        const char *name;
        void *to;
    } functions[] = {{"tjInitDecompress", &turbo.init_decompress},
                     {"tjInitCompress", &turbo.init_compress},
                     {"tjDestroy", &turbo.destroy},
                     {"tjDecompress2", &turbo.decompress},
                     {"tjDecompressHeader3", &turbo.header},
                     {"tjCompress2", &turbo.compress},
                     {"tjDecompressToYUVPlanes", &turbo.decompress_planes},
                     {"tjPlaneWidth", &turbo.plane_width},
                     {"tjCompressFromYUVPlanes", &turbo.compress_planes},
                     {"tjPlaneHeight", &turbo.plane_height},
                     {"tjBufSize", &turbo.size},
                     {"tjFree", &turbo.release}};
    void *l = NULL;
    for (unsigned k = 0; !l && k < sizeof names / sizeof *names; k++)
        l = dlopen(names[k], RTLD_NOW | RTLD_LOCAL);
    found = l != NULL;
    for (unsigned k = 0; l && k < sizeof functions / sizeof *functions; k++) {
        void *f = dlsym(l, functions[k].name);
        memcpy(functions[k].to, &f, sizeof f);
        found &= f != NULL;
    }
    if (!found)
        cumu_gap("nvjpeg", NULL, "needs libjpeg-turbo's libturbojpeg.so.0 (Debian: libturbojpeg0)");
}

const struct turbo *nvjpeg_turbo(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, open_turbo);
    return found ? &turbo : NULL;
}

int nvjpeg_turbo_sampling(int css)
{
    static const signed char of[] = {0, 1, 2, 4, 5, -1, 3, -1};
    return css >= 0 && css < (int)sizeof of ? of[css] : -1;
}

/* ---- objects ---- */

int nvjpeg_new(void **out, void *handle, enum nvjpeg_kind kind, size_t size)
{
    if (!out || !nvjpeg_as(handle, NVJPEG_HANDLE))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    int *object = cumu_object_new(CUMU_NVJPEG, size);
    *out = object;
    if (object)
        *object = (int)kind;
    return object ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_ALLOCATOR_FAILURE;
}

int nvjpeg_drop(void *object, enum nvjpeg_kind kind)
{
    int *o = nvjpeg_as(object, kind);
    if (!o || !cumu_object_end(CUMU_NVJPEG, o))
        return NVJPEG_STATUS_INVALID_PARAMETER;
    free(o);
    return NVJPEG_STATUS_SUCCESS;
}

/* The engines of NVIDIA's cards (3, 5) are missing, as they are on most of those; programs go on with another one. */
static int create(int backend, void **out)
{
    if (!out || backend < 0 || backend > 6)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *out = NULL;
    if (backend == 3 || backend == 5)
        return NVJPEG_STATUS_ARCH_MISMATCH;
    struct nvjpeg_handle *h = cumu_object_new(CUMU_NVJPEG, sizeof *h);
    *out = h;
    if (h)
        h->kind = NVJPEG_HANDLE;
    return h ? NVJPEG_STATUS_SUCCESS : NVJPEG_STATUS_ALLOCATOR_FAILURE;
}
/* Allocators of the program's have no use: all buffers are the host's and short-lived. */
int wrap_nvjpegCreate(int backend, void *allocator, void **out) { return (void)allocator, create(backend, out); }
int wrap_nvjpegCreateSimple(void **out) { return create(0, out); }
int wrap_nvjpegCreateEx(int backend, void *device, void *pinned, unsigned flags, void **out)
{
    (void)device, (void)pinned, (void)flags;
    return create(backend, out);
}
int wrap_nvjpegCreateExV2(int backend, void *device, void *pinned, unsigned flags, void **out)
{
    (void)device, (void)pinned, (void)flags;
    return create(backend, out);
}
int wrap_nvjpegDestroy(void *handle) { return nvjpeg_drop(handle, NVJPEG_HANDLE); }

static int property(int type, int *value, const int version[3])
{
    if (!value || type < 0 || type > 2)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *value = version[type];
    return NVJPEG_STATUS_SUCCESS;
}
int wrap_nvjpegGetProperty(int type, int *value) { return property(type, value, (const int[]){12, 4, 0}); }
int wrap_nvjpegGetCudartProperty(int type, int *value) { return property(type, value, (const int[]){12, 9, 0}); }

#define PADDING(which, member) \
    int wrap_nvjpegSet##which##MemoryPadding(size_t padding, void *handle) \
    { \
        struct nvjpeg_handle *h = nvjpeg_as(handle, NVJPEG_HANDLE); \
        if (!h) \
            return NVJPEG_STATUS_INVALID_PARAMETER; \
        h->member = padding; \
        return NVJPEG_STATUS_SUCCESS; \
    } \
    int wrap_nvjpegGet##which##MemoryPadding(size_t *padding, void *handle) \
    { \
        struct nvjpeg_handle *h = nvjpeg_as(handle, NVJPEG_HANDLE); \
        if (!h || !padding) \
            return NVJPEG_STATUS_INVALID_PARAMETER; \
        *padding = h->member; \
        return NVJPEG_STATUS_SUCCESS; \
    }
PADDING(Device, device_padding)
PADDING(Pinned, pinned_padding)

static int no_engines(void *handle, unsigned *engines, unsigned *cores)
{
    if (!nvjpeg_as(handle, NVJPEG_HANDLE) || !engines || !cores)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *engines = *cores = 0;
    return NVJPEG_STATUS_SUCCESS;
}
int wrap_nvjpegGetHardwareDecoderInfo(void *h, unsigned *engines, unsigned *cores)
{
    return no_engines(h, engines, cores);
}
int wrap_nvjpegGetHardwareEncoderInfo(void *h, unsigned *engines, unsigned *cores)
{
    return no_engines(h, engines, cores);
}

/* ---- buffers: memory that programs may ask for; decoding does not need it ---- */

struct buffer {
    int kind;
    void *p;
    size_t size;
};
static void release(struct buffer *b)
{
    if (b->p)
        (void)(b->kind == NVJPEG_PINNED ? mu.musaFreeHost(b->p) : mu.musaFree(b->p));
    b->p = NULL;
    b->size = 0;
}
static int resize(void *buffer, enum nvjpeg_kind kind, size_t size)
{
    struct buffer *b = nvjpeg_as(buffer, kind);
    if (!b)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    if (size <= b->size)
        return NVJPEG_STATUS_SUCCESS;
    release(b);
    if (kind == NVJPEG_PINNED ? mu.musaMallocHost(&b->p, size) : mu.musaMalloc(&b->p, size)) {
        b->p = NULL;
        mu.musaGetLastError();
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    }
    b->size = size;
    return NVJPEG_STATUS_SUCCESS;
}
static int retrieve(void *buffer, enum nvjpeg_kind kind, size_t *size, void **p)
{
    const struct buffer *b = nvjpeg_as(buffer, kind);
    if (!b || !size || !p)
        return NVJPEG_STATUS_INVALID_PARAMETER;
    *size = b->size;
    *p = b->p;
    return NVJPEG_STATUS_SUCCESS;
}
static int destroy_buffer(void *buffer, enum nvjpeg_kind kind)
{
    struct buffer *b = nvjpeg_as(buffer, kind);
    if (b)
        release(b);
    return nvjpeg_drop(buffer, kind);
}
#define BUFFER(Which, KIND) \
    int wrap_nvjpegBuffer##Which##Create(void *handle, void *allocator, void **out) \
    { \
        (void)allocator; \
        return nvjpeg_new(out, handle, KIND, sizeof(struct buffer)); \
    } \
    int wrap_nvjpegBuffer##Which##CreateV2(void *handle, void *allocator, void **out) \
    { \
        (void)allocator; \
        return nvjpeg_new(out, handle, KIND, sizeof(struct buffer)); \
    } \
    int wrap_nvjpegBuffer##Which##Destroy(void *b) { return destroy_buffer(b, KIND); } \
    int wrap_nvjpegBuffer##Which##Resize(void *b, size_t size, struct CUstream_st *s) \
    { \
        (void)s; \
        return resize(b, KIND, size); \
    } \
    int wrap_nvjpegBuffer##Which##Retrieve(void *b, size_t *size, void **p) { return retrieve(b, KIND, size, p); } \
    int wrap_nvjpegStateAttach##Which##Buffer(void *state, void *b) \
    { \
        return nvjpeg_as(state, NVJPEG_STATE) && nvjpeg_as(b, KIND) ? NVJPEG_STATUS_SUCCESS \
                                                                    : NVJPEG_STATUS_INVALID_PARAMETER; \
    }
BUFFER(Pinned, NVJPEG_PINNED)
BUFFER(Device, NVJPEG_DEVICE)

int nvjpeg_copy_rows(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t rows,
                     musaStream_t s)
{
    enum { ANY = 4 };
    int err = mu.musaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, rows, ANY, s);
    int done = mu.musaStreamSynchronize(s);
    if (err || done)
        mu.musaGetLastError();
    if (err == musaErrorMemoryAllocation || done == musaErrorMemoryAllocation)
        return NVJPEG_STATUS_ALLOCATOR_FAILURE;
    return err || done ? NVJPEG_STATUS_EXECUTION_FAILED : NVJPEG_STATUS_SUCCESS;
}
