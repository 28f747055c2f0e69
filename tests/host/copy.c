/* Copies and fills of every direction and shape, against a byte-by-byte reference; bad arguments.
 * */
#include "device.h"

static unsigned seed = 1;

static unsigned rnd(unsigned n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static void scribble(void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ((unsigned char *)p)[i] = (unsigned char)rnd(256);
}

static void linear(void)
{
    enum { N = 300000 };
    unsigned char *host = malloc(N), *back = malloc(N);
    void *pinned;
    MUdeviceptr d, e, m;
    MUstream s;
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muMemAlloc(&d, N));
    MUST(muMemAlloc(&e, N));
    MUST(muMemAllocManaged(&m, N, MU_MEM_ATTACH_GLOBAL));
    MUST(muMemAllocHost(&pinned, N));
    scribble(host, N);
    MUST(muMemcpyHtoD(d, host, N));
    MUST(muMemcpyDtoD(e, d, N));
    MUST(muMemcpyDtoH(back, e, N));
    check(!memcmp(host, back, N), "host, device, device, host");
    MUST(muMemcpy(m, e, N));
    check(!memcmp(at(m), host, N), "managed memory is filled when the call returns");
    MUST(muMemcpy(dev(pinned), m, N));
    check(!memcmp(pinned, host, N), "pinned");
    memset(back, 0, N);
    MUST(muMemcpy(dev(back), dev(host), N));
    check(!memcmp(back, host, N), "host to host");

    for (size_t n = 1; n <= N; n = n * 3 + 1) { /* around the staging size and below */
        scribble(host, n);
        unsigned char first = host[0], last = host[n - 1];
        MUST(muMemcpyHtoDAsync(d, host, n, s));
        memset(host, 0xEE, n); /* pageable memory is the application's again */
        memset(back, 0, n);
        MUST(muMemcpyDtoHAsync(back, d, n, s));
        if (back[0] != first || back[n - 1] != last)
            check(0, "asynchronous copies of pageable memory");
        scribble(pinned, n);
        MUST(muMemcpyAsync(d, dev(pinned), n, s));
        MUST(muMemcpyDtoDAsync(e, d, n, s));
        MUST(muMemcpyDtoHAsync(pinned, e, n, s));
        MUST(muStreamSynchronize(s));
        MUST(muMemcpyDtoH(back, e, n));
        if (memcmp(back, pinned, n))
            check(0, "asynchronous copies of pinned memory");
    }
    check(1, "asynchronous copies of all sizes");

    IS(muMemcpyHtoD(d, NULL, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyHtoD(0, host, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyHtoD(d + N - 3, host, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyHtoD(dev(host), host, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyDtoH(back, d, SIZE_MAX), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyDtoD(d, dev(host), 4), MUSA_ERROR_INVALID_VALUE);
    OK(muMemcpyHtoD(0, NULL, 0));
    MUST(muMemFree(e));
    IS(muMemcpyDtoD(d, e, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyDtoH(back, e, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyHtoD(d, at(e), 4), MUSA_ERROR_INVALID_VALUE);
    MUST(muMemFree(d));
    MUST(muMemFree(m));
    MUST(muMemFreeHost(pinned));
    MUST(muStreamDestroy(s));
    free(host);
    free(back);
}

/* Six bytes a texel become four and two, as Dr.Jit writes its textures: the second copy begins beyond the pitch. */
static void planes(void)
{
    enum { TEXELS = 50, ALL = 6 * TEXELS };
    unsigned char texels[ALL], want[ALL], got[ALL];
    MUdeviceptr from, to;
    scribble(texels, sizeof texels);
    for (unsigned t = 0; t < TEXELS; t++) {
        memcpy(want + 4 * t, texels + 6 * t, 4);
        memcpy(want + 4 * TEXELS + 2 * t, texels + 6 * t + 4, 2);
    }
    MUST(muMemAlloc(&from, ALL));
    MUST(muMemAlloc(&to, ALL));
    MUST(muMemcpyHtoD(from, texels, ALL));
    for (unsigned part = 0; part < 2; part++) {
        const MUSA_MEMCPY2D m = {.srcXInBytes = 4 * part,
                                 .srcMemoryType = MU_MEMORYTYPE_DEVICE,
                                 .srcDevice = from,
                                 .srcPitch = 6,
                                 .dstXInBytes = part * TEXELS * 4,
                                 .dstMemoryType = MU_MEMORYTYPE_DEVICE,
                                 .dstDevice = to,
                                 .dstPitch = part ? 2 : 4,
                                 .WidthInBytes = part ? 2 : 4,
                                 .Height = TEXELS};
        OK(muMemcpy2DAsync(&m, NULL));
    }
    MUST(muMemcpyDtoH(got, to, ALL));
    check(!memcmp(got, want, ALL), "planes whose x lies beyond the pitch");
    MUST(muMemFree(from));
    MUST(muMemFree(to));
}

/* ---- boxes: one volume of 24 x 20 x 12 rows, in each kind of memory -------------------------- */

enum { W = 24, HT = 20, DP = 12, PITCH = 64 };
enum kind { HOST_BOX, DEVICE_BOX, PINNED_BOX, ARRAY_BOX, KINDS };

static size_t place(size_t x, size_t y, size_t z) { return (z * HT + y) * PITCH + x; }

struct box {
    enum kind kind;
    void *host;
    MUdeviceptr device;
    MUarray array;
    unsigned char mirror[DP * HT * PITCH]; /* what it must hold */
};

static void whole(MUSA_MEMCPY3D *m, struct box *b, bool source)
{
    MUmemorytype type = b->kind == ARRAY_BOX    ? MU_MEMORYTYPE_ARRAY
                        : b->kind == DEVICE_BOX ? MU_MEMORYTYPE_DEVICE
                                                : MU_MEMORYTYPE_HOST;
    size_t pitch = b->kind == ARRAY_BOX ? 0 : PITCH, height = b->kind == ARRAY_BOX ? 0 : HT;
    if (source) {
        m->srcMemoryType = type;
        m->srcHost = b->host;
        m->srcDevice = b->device;
        m->srcArray = b->array;
        m->srcPitch = pitch;
        m->srcHeight = height;
    } else {
        m->dstMemoryType = type;
        m->dstHost = b->host;
        m->dstDevice = b->device;
        m->dstArray = b->array;
        m->dstPitch = pitch;
        m->dstHeight = height;
    }
}

static void load(struct box *b)
{
    MUSA_MEMCPY3D m = {.srcMemoryType = MU_MEMORYTYPE_HOST,
                       .srcHost = b->mirror,
                       .srcPitch = PITCH,
                       .srcHeight = HT,
                       .WidthInBytes = W,
                       .Height = HT,
                       .Depth = DP};
    scribble(b->mirror, sizeof b->mirror);
    whole(&m, b, false);
    MUST(muMemcpy3D(&m));
}

static bool same(struct box *b)
{
    static unsigned char now[DP * HT * PITCH];
    MUSA_MEMCPY3D m = {.dstMemoryType = MU_MEMORYTYPE_HOST,
                       .dstHost = now,
                       .dstPitch = PITCH,
                       .dstHeight = HT,
                       .WidthInBytes = W,
                       .Height = HT,
                       .Depth = DP};
    whole(&m, b, true);
    MUST(muMemcpy3D(&m));
    for (size_t z = 0; z < DP; z++)
        for (size_t y = 0; y < HT; y++)
            if (memcmp(now + place(0, y, z), b->mirror + place(0, y, z), W))
                return false;
    return true;
}

static void boxes(void)
{
    static struct box box[2 * KINDS];
    static const char *const names[] = {"host", "device", "pinned", "array"};
    MUstream s;
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    for (int i = 0; i < 2 * KINDS; i++) {
        struct box *b = &box[i];
        MUSA_ARRAY3D_DESCRIPTOR d = {W / 4, HT, DP, MU_AD_FORMAT_UNSIGNED_INT8, 4, 0};
        b->kind = (enum kind)(i % KINDS);
        if (b->kind == HOST_BOX)
            b->host = malloc(sizeof b->mirror);
        else if (b->kind == PINNED_BOX)
            MUST(muMemAllocHost(&b->host, sizeof b->mirror));
        else if (b->kind == DEVICE_BOX)
            MUST(muMemAlloc(&b->device, sizeof b->mirror));
        else
            MUST(muArray3DCreate(&b->array, &d));
        load(b);
    }
    for (int from = 0; from < KINDS; from++)
        for (int to = KINDS; to < 2 * KINDS; to++) {
            struct box *a = &box[from], *b = &box[to];
            bool good = true;
            for (int round = 0; round < 30; round++) {
                size_t w = 4 * (1 + rnd(W / 4)), h = 1 + rnd(HT), d = 1 + rnd(DP);
                MUSA_MEMCPY3D m = {.WidthInBytes = w, .Height = h, .Depth = d};
                m.srcXInBytes = 4 * rnd((unsigned)(W - w) / 4 + 1);
                m.dstXInBytes = 4 * rnd((unsigned)(W - w) / 4 + 1);
                m.srcY = rnd((unsigned)(HT - h) + 1);
                m.dstY = rnd((unsigned)(HT - h) + 1);
                m.srcZ = rnd((unsigned)(DP - d) + 1);
                m.dstZ = rnd((unsigned)(DP - d) + 1);
                whole(&m, a, true);
                whole(&m, b, false);
                if (round % 2) {
                    MUST(muMemcpy3D(&m));
                } else {
                    MUST(muMemcpy3DAsync(&m, s));
                    MUST(muStreamSynchronize(s));
                }
                for (size_t z = 0; z < d; z++)
                    for (size_t y = 0; y < h; y++)
                        memcpy(b->mirror + place(m.dstXInBytes, m.dstY + y, m.dstZ + z),
                               a->mirror + place(m.srcXInBytes, m.srcY + y, m.srcZ + z), w);
                good = good && same(b);
            }
            char what[64];
            snprintf(what, sizeof what, "boxes from %s to %s", names[a->kind], names[b->kind]);
            check(good, "%s", what);
        }

    MUSA_MEMCPY3D m = {.WidthInBytes = W, .Height = HT, .Depth = DP}, bad;
    whole(&m, &box[DEVICE_BOX], true);
    whole(&m, &box[KINDS + ARRAY_BOX], false);
    OK(muMemcpy3D(&m));
    bad = m, bad.dstZ = 1;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_VALUE);
    bad = m, bad.WidthInBytes = W + 4;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_VALUE);
    bad = m, bad.srcPitch = W - 1;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_VALUE);
    bad = m, bad.srcHeight = HT - 1;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_VALUE);
    bad = m, bad.srcY = SIZE_MAX - 2;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_VALUE);
    bad = m, bad.srcZ = SIZE_MAX / PITCH / HT + 2;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_VALUE);
    bad = m, bad.srcMemoryType = 9;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_VALUE);
    bad = m, bad.dstArray = (MUarray)0x77;
    IS(muMemcpy3D(&bad), MUSA_ERROR_INVALID_HANDLE);
    bad = m, bad.Height = 0;
    OK(muMemcpy3D(&bad));
    IS(muMemcpy3D(NULL), MUSA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 2 * KINDS; i++) {
        struct box *b = &box[i];
        if (b->kind == HOST_BOX)
            free(b->host);
        else if (b->kind == PINNED_BOX)
            MUST(muMemFreeHost(b->host));
        else if (b->kind == DEVICE_BOX)
            MUST(muMemFree(b->device));
        else
            MUST(muArrayDestroy(b->array));
    }
    MUST(muStreamDestroy(s));
}

static void flat_arrays(void)
{
    MUarray a, b;
    MUSA_ARRAY_DESCRIPTOR d = {50, 3, MU_AD_FORMAT_FLOAT, 2}, got;
    unsigned char host[1200], back[1200];
    MUdeviceptr p;
    MUST(muArrayCreate(&a, &d));
    MUST(muArrayCreate(&b, &d));
    MUST(muMemAlloc(&p, 1200));
    OK(muArrayGetDescriptor(&got, a));
    check(got.Width == 50 && got.Height == 3 && got.NumChannels == 2, "the descriptor reads back");
    scribble(host, sizeof host);
    MUST(muMemcpyHtoA(a, 0, host, 1200)); /* through all three rows */
    MUST(muMemcpyAtoA(b, 0, a, 0, 1200));
    MUST(muMemcpyAtoD(p, b, 0, 1200));
    MUST(muMemcpyDtoA(a, 0, p, 1200));
    memset(back, 0, sizeof back);
    MUST(muMemcpyAtoH(back + 400, a, 400, 500));
    check(!memcmp(back + 400, host + 400, 500), "arrays by offset");
    IS(muMemcpyAtoH(back, a, 800, 401), MUSA_ERROR_INVALID_VALUE);
    IS(muMemcpyAtoH(back, NULL, 0, 4), MUSA_ERROR_INVALID_HANDLE);
    d.Format = 77;
    IS(muArrayCreate(&b, &d), MUSA_ERROR_INVALID_VALUE);
    d.Format = MU_AD_FORMAT_HALF, d.NumChannels = 3;
    IS(muArrayCreate(&b, &d), MUSA_ERROR_INVALID_VALUE);
    MUST(muArrayDestroy(a));
    IS(muArrayDestroy(a), MUSA_ERROR_INVALID_HANDLE);
    MUST(muMemFree(p));
}

static void fills(void)
{
    enum { N = 40000 };
    static unsigned char want[N], got[N];
    MUdeviceptr p;
    MUstream s;
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    MUST(muMemAlloc(&p, N));
    MUST(muMemsetD8(p, 0x11, N));
    memset(want, 0x11, N);
    MUST(muMemsetD16(p + 2, 0x2345, 100));
    for (int i = 0; i < 100; i++)
        memcpy(want + 2 + 2 * i, &(uint16_t){0x2345}, 2);
    MUST(muMemsetD32(p + 400, 0xdeadbeef, 5000));
    for (int i = 0; i < 5000; i++)
        memcpy(want + 400 + 4 * i, &(uint32_t){0xdeadbeef}, 4);
    MUST(muMemsetD2D8(p + 30001, 100, 7, 33, 10));
    for (int y = 0; y < 10; y++)
        memset(want + 30001 + 100 * y, 7, 33);
    MUST(muMemsetD2D16(p + 32000, 128, 0xabcd, 20, 5));
    MUST(muStreamSynchronize(NULL)); /* s does not wait for the legacy stream */
    MUST(muMemsetD2D32Async(p + 34000, 400, 0x01020304, 10, 8, s));
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 20; x++)
            memcpy(want + 32000 + 128 * y + 2 * x, &(uint16_t){0xabcd}, 2);
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 10; x++)
            memcpy(want + 34000 + 400 * y + 4 * x, &(uint32_t){0x01020304}, 4);
    MUST(muStreamSynchronize(s));
    MUST(muMemcpyDtoH(got, p, N));
    check(!memcmp(want, got, N), "fills of every width and shape");
    IS(muMemsetD8(p, 0, N + 1), MUSA_ERROR_INVALID_VALUE);
    IS(muMemsetD16(p + 1, 0, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemsetD32(p + 2, 0, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muMemsetD2D8(p, 10, 0, 11, 2), MUSA_ERROR_INVALID_VALUE);
    IS(muMemsetD2D32(p, 400, 0, 10, SIZE_MAX / 400), MUSA_ERROR_INVALID_VALUE);
    IS(muMemsetD32(p, 0, SIZE_MAX / 2), MUSA_ERROR_INVALID_VALUE);
    IS(muMemsetD8(dev(got), 0, 4), MUSA_ERROR_INVALID_VALUE);
    MUST(muMemFree(p));
    MUST(muStreamDestroy(s));
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "64M", 1);
    start_device();
    linear();
    planes();
    boxes();
    flat_arrays();
    fills();
    return check_end("host copy");
}
