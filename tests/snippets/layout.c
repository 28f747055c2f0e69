/* Structs that programs of CUDA 11, 12 and 13 hold in different sizes: each facade fills its caller's, to the
 * last byte and not one more (sizes of mapping/facts/cuda.md S2). */
#include <stdbool.h>
#include <sys/mman.h>
#include "snippet.h"

enum { ROOM = 2048 };
typedef int getter(void *out, unsigned long long object);

/* Bytes that the call wrote are those below `size`: seen by filling the room with two patterns. */
static void fills(int version, const char *name, unsigned long long object, size_t size)
{
    getter *get = (getter *)(version == 13 ? snippet_symbol(name) : snippet_versioned(version, name));
    unsigned char a[ROOM], b[ROOM];
    memset(a, 0x55, ROOM);
    memset(b, 0xaa, ROOM);
    IS(get(a, object), 0);
    IS(get(b, object), 0);
    size_t last = 0;
    for (size_t i = 0; i < ROOM; i++)
        if (a[i] != 0x55 || b[i] != 0xaa)
            last = i + 1;
    if (!EXPECT(last <= size, "%s of CUDA %d: writes %zu bytes, the caller has %zu", name, version, last, size)) {
        check_failures++;
    }
    bool same = true; /* all of it is an answer; padding in front of the tail may stay */
    for (size_t i = 0; i < size && i < 4; i++)
        same &= a[i] == b[i];
    if (!EXPECT(same && last > 0, "%s of CUDA %d: the first word is no answer", name, version)) {
        check_failures++;
    }
}

/* A member of device properties where each version has it. */
static void member(int version, const char *name, size_t at, int attribute)
{
    getter *get = (getter *)(version == 13 ? snippet_symbol(name) : snippet_versioned(version, name));
    unsigned char p[ROOM] = {0};
    int got = -1, want = -2;
    IS(get(p, 0), 0);
    memcpy(&got, p + at, sizeof got);
    OK(C(cudaDeviceGetAttribute)(&want, attribute, 0));
    IS(got, want);
}

static void pointers(void)
{
    static const struct {
        int version;
        size_t size;
    } of[] = {{11, 24}, {12, 24}, {13, 88}};
    void *p = NULL;
    OK(M(cudaMalloc, musaMalloc)(&p, 64));
    for (int i = 0; i < 3; i++)
        fills(of[i].version, "cudaPointerGetAttributes", (unsigned long long)p, of[i].size);
    OK(M(cudaFree, musaFree)(p));
}

/* A copy of the struct that ends where a page nobody may read begins. */
static void *at_edge(const void *from, size_t size)
{
    static _Thread_local char *pages[4];
    static _Thread_local int next;
    char **p = &pages[next++ % 4];
    if (!*p) {
        *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT(*p != MAP_FAILED && mprotect(*p + 4096, 4096, PROT_NONE) == 0);
    }
    return memcpy(*p + 4096 - size, from, size);
}

/* Structs given to CUDA grew too: a program of CUDA 11 holds less than one of CUDA 13, and nothing behind
 * it may be read (section 5.2). */
static void inputs(const void *resource, const void *texture, const void *view)
{
    static const struct {
        int version;
        const char *name;
        size_t resource, texture, view;
    } of[] = {{11, "cudaCreateTextureObject", 64, 68, 48},
              {11, "cudaCreateTextureObject_v2", 64, 72, 48},
              {12, "cudaCreateTextureObject", 64, 72, 48},
              {13, "cudaCreateTextureObject", 144, 72, 112}};
    for (int i = 0; i < 4; i++) {
        int (*create)(unsigned long long *, const void *, const void *, const void *) =
            (int (*)(unsigned long long *, const void *, const void *, const void *))(
                of[i].version == 13 ? snippet_symbol(of[i].name) : snippet_versioned(of[i].version, of[i].name));
        unsigned long long *tex = at_edge(&(unsigned long long){0}, sizeof *tex);
        IS(create(tex, at_edge(resource, of[i].resource), at_edge(texture, of[i].texture), at_edge(view, of[i].view)),
           0);
        OK(M(cudaDestroyTextureObject, musaDestroyTextureObject)(*tex));
    }
    for (int version = 11; version <= 13; version++) {
        int (*create)(unsigned long long *, const void *) = (int (*)(unsigned long long *, const void *))(
            version == 13 ? snippet_symbol("cudaCreateSurfaceObject")
                          : snippet_versioned(version, "cudaCreateSurfaceObject"));
        unsigned long long surf = 0;
        IS(create(&surf, at_edge(resource, version == 13 ? 144 : 64)), 0);
        OK(M(cudaDestroySurfaceObject, musaDestroySurfaceObject)(surf));
    }
}

static void textures(void)
{
    static const struct {
        int version;
        size_t resource, view, texture;
    } of[] = {{11, 64, 48, 68}, {12, 64, 48, 72}, {13, 144, 112, 72}};
    musaChannelFormatDesc channel = {32, 0, 0, 0, musaChannelFormatKindFloat};
    musaArray_t array = NULL;
    unsigned long long tex = 0, surf = 0;
    unsigned char in[144] = {0}, desc[72] = {0};
    struct {
        int format;
        size_t size[3];
        unsigned level[2], layer[2], reserved[16];
    } view = {22, {8, 8, 0}, {0, 0}, {0, 0}, {0}}; /* one float */
    _Static_assert(sizeof view == 112, "of CUDA 13");
    OK(M(cudaMallocArray, musaMallocArray)(&array, &channel, 8, 8, 2));
    memcpy(in + 8, &array, sizeof array);
    OK(C(cudaCreateTextureObject)(&tex, in, desc, &view));
    OK(M(cudaCreateSurfaceObject, musaCreateSurfaceObject)(&surf, (void *)in));
    for (int i = 0; i < 3; i++) {
        fills(of[i].version, "cudaGetTextureObjectResourceDesc", tex, of[i].resource);
        fills(of[i].version, "cudaGetSurfaceObjectResourceDesc", surf, of[i].resource);
        fills(of[i].version, "cudaGetTextureObjectResourceViewDesc", tex, of[i].view);
        fills(of[i].version, "cudaGetTextureObjectTextureDesc", tex, of[i].texture);
    }
    fills(11, "cudaGetTextureObjectTextureDesc_v2", tex, 72);
    inputs(in, desc, &view);
    OK(M(cudaDestroyTextureObject, musaDestroyTextureObject)(tex));
    OK(M(cudaDestroySurfaceObject, musaDestroySurfaceObject)(surf));
    OK(M(cudaFreeArray, musaFreeArray)(array));
}

void snippet_layout(void)
{
    static const struct {
        int version;
        const char *name;
        size_t size, shared_optin, sm;
    } props[] = {
        {11, "cudaGetDeviceProperties", 728, 696, 388},
        {12, "cudaGetDeviceProperties", 728, 696, 388},
        {12, "cudaGetDeviceProperties_v2", 1032, 696, 388},
        {13, "cudaGetDeviceProperties", 1008, 672, 384},
    };
    snippet_registered();
    OK(M(cudaFree, musaFree)(NULL));
    for (int i = 0; i < 4; i++) {
        fills(props[i].version, props[i].name, 0, props[i].size);
        member(props[i].version, props[i].name, props[i].sm, cudaDevAttrMultiProcessorCount);
        member(props[i].version, props[i].name, props[i].shared_optin, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    }
    pointers();
    textures();
    for (int version = 11; version <= 13; version++)
        fills(version, "cudaFuncGetAttributes", (unsigned long long)&snippet_stub, version == 11 ? 56 : 144);
}
