/* Random boxes between memory of every kind and arrays, by every entry point that can express them,
 * against a plain C model; boxes that do not fit must be refused and change nothing. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "abi/musa.h"
#include "unit/unit.h"

enum { MAX = 1 << 14, ROUNDS = 12000 };

enum kind { DEVICE, PINNED, MANAGED, PAGEABLE, ARRAY, KINDS };
struct place {
    enum kind kind;
    size_t element, w, h, d; /* in elements; arrays: h, d 0 as in the descriptor */
    size_t pitch, rows;      /* of a layer */
    unsigned char *p;
    musaArray_t array;
    unsigned char shadow[MAX]; /* packed: w * element bytes a row */
};

static uint32_t seed = 1;
static size_t below(size_t n) { return (size_t)((seed = seed * 1664525u + 1013904223u) >> 8) % n; }
static size_t rows_of(const struct place *m) { return m->h ? m->h : 1; }
static size_t layers_of(const struct place *m) { return m->d ? m->d : 1; }

static bool make(struct place *m, enum kind kind, size_t element)
{
    static const int bits[17][2] = {[1] = {8, 1}, [2] = {16, 1}, [4] = {32, 1}, [8] = {32, 2}, [16] = {32, 4}};
    memset(m, 0, sizeof *m);
    m->kind = kind;
    m->element = element;
    m->w = 1 + below(13);
    m->h = kind == ARRAY ? below(4) * below(3) : 1 + below(7);
    m->d = kind == ARRAY ? (m->h ? below(4) : 0) : 1 + below(4);
    m->pitch = m->w * element + below(9);
    m->rows = rows_of(m) + below(3);
    size_t size = m->pitch * m->rows * layers_of(m);
    int b = bits[element][0], n = bits[element][1];
    musaChannelFormatDesc desc = {b, n > 1 ? b : 0, n > 2 ? b : 0, n > 3 ? b : 0, musaChannelFormatKindUnsigned};
    switch (kind) {
    case DEVICE: return !musaMalloc((void **)&m->p, size);
    case PINNED: return !musaMallocHost((void **)&m->p, size);
    case MANAGED: return !musaMallocManaged((void **)&m->p, size, musaMemAttachGlobal);
    case ARRAY: return !musaMalloc3DArray(&m->array, &desc, (musaExtent){m->w, m->h, m->d}, 0);
    default: return (m->p = malloc(size)) != NULL;
    }
}

static void unmake(struct place *m)
{
    switch (m->kind) {
    case PINNED: musaFreeHost(m->p); break;
    case ARRAY: musaFreeArray(m->array); break;
    case PAGEABLE: free(m->p); break;
    default: musaFree(m->p);
    }
}

/* All of it to or from the packed buffer, by the simplest calls there are: one row each. */
static bool move(struct place *m, unsigned char *packed, bool in)
{
    size_t row = m->w * m->element;
    bool ok = true;
    for (size_t z = 0; z < layers_of(m) && ok; z++)
        for (size_t y = 0; y < rows_of(m) && ok; y++) {
            unsigned char *at = m->kind == ARRAY ? NULL : m->p + (z * m->rows + y) * m->pitch;
            unsigned char *to = packed + (z * rows_of(m) + y) * row;
            if (m->kind == ARRAY) {
                MUSA_MEMCPY3D c = {.WidthInBytes = row, .Height = 1, .Depth = 1};
                *(in ? &c.dstMemoryType : &c.srcMemoryType) = MU_MEMORYTYPE_ARRAY;
                *(in ? &c.srcMemoryType : &c.dstMemoryType) = MU_MEMORYTYPE_HOST;
                *(in ? &c.dstArray : &c.srcArray) = (MUarray)(uintptr_t)m->array;
                *(in ? &c.dstY : &c.srcY) = y;
                *(in ? &c.dstZ : &c.srcZ) = z;
                c.srcHost = c.dstHost = to;
                ok = !muMemcpy3D(&c);
            } else if (m->kind == PAGEABLE) {
                memcpy(in ? at : to, in ? to : at, row);
            } else {
                ok = !musaMemcpy(in ? at : to, in ? to : at, row, musaMemcpyDefault);
            }
        }
    return ok;
}

static bool refill(struct place *m)
{
    for (size_t i = 0; i < m->w * m->element * rows_of(m) * layers_of(m); i++)
        m->shadow[i] = (unsigned char)below(256);
    return move(m, m->shadow, true);
}

static bool same(struct place *m)
{
    static unsigned char got[MAX];
    return move(m, got, false) && !memcmp(got, m->shadow, m->w * m->element * rows_of(m) * layers_of(m));
}

struct box {
    size_t sx, sy, sz, dx, dy, dz, w, h, d; /* x and w in elements */
};

static bool fits(const struct place *m, size_t x, size_t y, size_t z, const struct box *b)
{
    return x + b->w <= m->w && y + b->h <= rows_of(m) && z + b->d <= layers_of(m);
}

static void model(struct place *dst, const struct place *src, const struct box *b)
{
    for (size_t z = 0; z < b->d; z++)
        for (size_t y = 0; y < b->h; y++)
            memcpy(dst->shadow + (((b->dz + z) * rows_of(dst) + b->dy + y) * dst->w + b->dx) * dst->element,
                   src->shadow + (((b->sz + z) * rows_of(src) + b->sy + y) * src->w + b->sx) * src->element,
                   b->w * src->element);
}

static bool on_host(const struct place *m) { return m->kind == PINNED || m->kind == PAGEABLE; }

static musaMemcpyKind direction(const struct place *dst, const struct place *src)
{
    if (below(2) || dst->kind == MANAGED || src->kind == MANAGED)
        return musaMemcpyDefault;
    return on_host(src)   ? on_host(dst) ? musaMemcpyHostToHost : musaMemcpyHostToDevice
           : on_host(dst) ? musaMemcpyDeviceToHost
                          : musaMemcpyDeviceToDevice;
}

static musaError_t copy_3d(struct place *dst, struct place *src, const struct box *b, musaStream_t stream)
{
    musaMemcpy3DParms p = {.extent = {b->w, b->h, b->d}, .kind = direction(dst, src)};
    size_t sunit = src->array ? 1 : src->element, dunit = dst->array ? 1 : dst->element;
    p.srcArray = src->array;
    p.dstArray = dst->array;
    if (!src->array)
        p.srcPtr = (musaPitchedPtr){src->p, src->pitch, src->w, src->rows};
    if (!dst->array)
        p.dstPtr = (musaPitchedPtr){dst->p, dst->pitch, dst->w, dst->rows};
    p.srcPos = (musaPos){b->sx * sunit, b->sy, b->sz};
    p.dstPos = (musaPos){b->dx * dunit, b->dy, b->dz};
    if (!src->array && !dst->array)
        p.extent.width *= src->element;
    switch (below(4)) {
    case 0: return musaMemcpy3D(&p);
    case 1: return musaMemcpy3D_ptds(&p);
    case 2: return musaMemcpy3DAsync(&p, stream);
    default: return musaMemcpy3DAsync_ptsz(&p, NULL);
    }
}

/* One layer: the 2D calls, which take offsets only on the side of an array. */
static musaError_t copy_2d(struct place *dst, struct place *src, const struct box *b, musaStream_t stream)
{
    musaMemcpyKind k = direction(dst, src);
    size_t n = b->w * src->element;
    unsigned char *from = src->p + (b->sz * src->rows + b->sy) * src->pitch + b->sx * src->element;
    unsigned char *to = dst->p + (b->dz * dst->rows + b->dy) * dst->pitch + b->dx * dst->element;
    size_t dx = b->dx * dst->element, sx = b->sx * src->element;
    if (dst->array && src->array)
        return musaMemcpy2DArrayToArray(dst->array, dx, b->dy, src->array, sx, b->sy, n, b->h, k);
    if (dst->array)
        return below(2) ? musaMemcpy2DToArray(dst->array, dx, b->dy, from, src->pitch, n, b->h, k)
                        : musaMemcpy2DToArrayAsync(dst->array, dx, b->dy, from, src->pitch, n, b->h, k, stream);
    if (src->array)
        return below(2) ? musaMemcpy2DFromArray(to, dst->pitch, src->array, sx, b->sy, n, b->h, k)
                        : musaMemcpy2DFromArrayAsync_ptsz(to, dst->pitch, src->array, sx, b->sy, n, b->h, k, stream);
    return below(2) ? musaMemcpy2D(to, dst->pitch, from, src->pitch, n, b->h, k)
                    : musaMemcpy2DAsync(to, dst->pitch, from, src->pitch, n, b->h, k, stream);
}

static void test_boxes(void)
{
    static struct place a, b;
    musaStream_t s;
    bool made = true, right = true, refused = true, untouched = true;
    int copies = 0, refusals = 0;
    musaStreamCreate(&s);
    for (int round = 0; round < ROUNDS; round++) {
        static const size_t elements[] = {1, 2, 4, 8, 16};
        size_t element = elements[below(5)];
        made = made && make(&a, (enum kind)below(KINDS), element) && make(&b, (enum kind)below(KINDS), element) &&
               refill(&a) && refill(&b);
        if (!made)
            break;
        struct box x = {below(a.w),     below(rows_of(&a)),     below(layers_of(&a)),
                        below(b.w),     below(rows_of(&b)),     below(layers_of(&b)),
                        1 + below(a.w), 1 + below(rows_of(&a)), 1 + below(layers_of(&a))};
        bool flat = x.d == 1 && (!a.array || !x.sz) && (!b.array || !x.dz) && below(2);
        bool good = fits(&a, x.sx, x.sy, x.sz, &x) && fits(&b, x.dx, x.dy, x.dz, &x);
        /* Memory has no ends that the runtime knows of; only an array's are checked. */
        if (!good && ((a.array && !fits(&a, x.sx, x.sy, x.sz, &x)) || (b.array && !fits(&b, x.dx, x.dy, x.dz, &x)))) {
            musaError_t e = (flat ? copy_2d : copy_3d)(&b, &a, &x, s);
            refused = refused && (e == musaErrorInvalidValue || e == musaErrorInvalidPitchValue);
            musaGetLastError();
            refusals++;
        } else if (good) {
            right = right && !(flat ? copy_2d : copy_3d)(&b, &a, &x, s) && !musaDeviceSynchronize();
            model(&b, &a, &x);
            copies++;
        }
        untouched = untouched && same(&a) && same(&b);
        unmake(&a);
        unmake(&b);
    }
    printf("    %d copies, %d refusals\n", copies, refusals);
    check(made && copies > 1000 && refusals > 1000, "random boxes of every kind");
    check(right, "are copied");
    check(refused, "or refused, where an array ends");
    check(untouched, "and nothing else changes");
    musaStreamDestroy(s);
}

/* Sizes whose product or sum overflows must not wrap around to something small. */
static void test_absurd(void)
{
    unsigned char *p = NULL, host[64] = {0};
    musaArray_t array = NULL;
    musaChannelFormatDesc four = {32, 32, 32, 32, musaChannelFormatKindUnsigned};
    musaMalloc((void **)&p, 4096);
    musaMemset(p, 0, 4096);
    musaMallocArray(&array, &four, 8, 8, 0);
    const size_t huge[] = {SIZE_MAX, SIZE_MAX / 2 + 1, SIZE_MAX / 16 + 1, (size_t)1 << 48};
    bool refused = true;
    for (int i = 0; i < 4; i++)
        for (int field = 0; field < 9; field++) {
            musaMemcpy3DParms c = {.srcPtr = {p, 8, 8, 2},
                                   .dstPtr = {p + 2048, 8, 8, 2},
                                   .extent = {4, 2, 2},
                                   .kind = musaMemcpyDeviceToDevice};
            size_t *fields[] = {&c.srcPos.x, &c.srcPos.y,     &c.srcPos.z,      &c.dstPos.x,    &c.dstPos.y,
                                &c.dstPos.z, &c.extent.width, &c.extent.height, &c.extent.depth};
            *fields[field] = huge[i];
            refused = refused && musaMemcpy3D(&c) == musaErrorInvalidValue;
            c.dstPtr.ptr = NULL;
            c.dstArray = array;
            refused = refused && musaMemcpy3DAsync(&c, NULL) == musaErrorInvalidValue;
        }
    check(refused, "absurd boxes are refused");
    refused = true;
    for (int i = 0; i < 4; i++) {
        size_t n = huge[i];
        refused = refused && musaMemcpy(p, host, n, musaMemcpyHostToDevice) &&
                  musaMemcpy(host, p, n, musaMemcpyDefault) && musaMemset(p, 1, n) && musaMemset2D(p, 16, 1, 16, n) &&
                  musaMemset2D(p, n, 1, 16, 2) &&
                  musaMemset3D((musaPitchedPtr){p, 16, 16, 4}, 1, (musaExtent){16, 4, n}) &&
                  musaMemset3D((musaPitchedPtr){p, 16, 16, n}, 1, (musaExtent){16, 4, 2}) &&
                  musaMemset3D((musaPitchedPtr){p, 16, 16, 4}, 1, (musaExtent){16, 3, 4096}) &&
                  musaMemcpy2D(p, n, host, n, 16, 2, musaMemcpyHostToDevice) &&
                  musaMemcpy2D(p, 16, host, 16, 16, n, musaMemcpyHostToDevice) &&
                  musaMemcpy2DToArray(array, n, 0, host, 16, 16, 2, musaMemcpyHostToDevice) &&
                  musaMemcpyToArray(array, 0, n, host, 16, musaMemcpyHostToDevice) &&
                  musaMemcpyArrayToArray(array, 0, 0, array, 0, 0, n, musaMemcpyDefault);
    }
    check(refused, "absurd sizes and pitches too");
    unsigned char got[4096], zero[4096] = {0};
    check(!musaMemcpy(got, p, sizeof got, musaMemcpyDefault) && !memcmp(got, zero, sizeof got),
          "and nothing is written");
    for (int k = -1; k < 8; k++) {
        bool valid = k >= 0 && k <= 4;
        musaError_t e = musaMemcpy(host, host, 1, (musaMemcpyKind)k);
        if (!valid)
            refused = refused && e == musaErrorInvalidMemcpyDirection &&
                      musaMemcpyAsync(host, host, 1, (musaMemcpyKind)k, NULL) == e &&
                      musaMemcpy2D(host, 1, host, 1, 1, 1, (musaMemcpyKind)k) == e &&
                      musaMemcpyToArray(array, 0, 0, host, 1, (musaMemcpyKind)k) == e;
    }
    check(refused, "directions that are none");
    check(musaMemcpy2D(p, 4, host, 8, 8, 2, musaMemcpyHostToDevice) == musaErrorInvalidPitchValue,
          "a pitch below the width");
    musaGetLastError();
    musaFree(p);
    musaFreeArray(array);
}

/* Runs of bytes between arrays of different widths break at different places. */
static void test_runs(void)
{
    musaArray_t a = NULL, b = NULL;
    musaChannelFormatDesc byte = {8, 0, 0, 0, musaChannelFormatKindUnsigned};
    unsigned char in[7 * 9], got[5 * 13], want[5 * 13];
    for (size_t i = 0; i < sizeof in; i++)
        in[i] = (unsigned char)(i + 1);
    memset(want, 0, sizeof want);
    memcpy(want + 5 + 2, in + 7 + 3, 40);
    check(!musaMallocArray(&a, &byte, 7, 9, 0) && !musaMallocArray(&b, &byte, 5, 13, 0) &&
              !musaMemcpyToArray(a, 0, 0, in, sizeof in, musaMemcpyHostToDevice) && !musaMemset(got, 0, 0) &&
              !musaMemcpyToArray(b, 0, 0, memset(got, 0, sizeof got), sizeof got, musaMemcpyHostToDevice) &&
              !musaMemcpyArrayToArray(b, 2, 1, a, 3, 1, 40, musaMemcpyDeviceToDevice) &&
              !musaMemcpyFromArray(got, b, 0, 0, sizeof got, musaMemcpyDeviceToHost) && !memcmp(got, want, sizeof got),
          "a run of bytes from array to array");
    check(musaMemcpyArrayToArray(b, 2, 1, a, 3, 1, 60, musaMemcpyDefault) == musaErrorInvalidValue,
          "which must end in them");
    musaGetLastError();
    musaFreeArray(a);
    musaFreeArray(b);
}

int main(void)
{
    test_boxes();
    test_absurd();
    test_runs();
    return check_end("runtime copy");
}
