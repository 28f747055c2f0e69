/* Handles of the CPU muFFT, and the calls that make plans of them. */
#include <limits.h>

#include "host/mufft/fftw.h"
#include "host/mufft/mufft.h"

enum { HANDLES = 65536 };

static struct mufft_handle handles[HANDLES];
static struct maths_places places = MATHS_PLACES(handles);

static struct mufft_handle *place(mufftHandle h) { return (struct mufft_handle *)(uintptr_t)h; }

struct mufft_handle *mufft_live(mufftHandle h) { return maths_live(&places, place(h)) ? place(h) : NULL; }

mufftResult mufftCreate(mufftHandle *plan)
{
    if (!plan)
        return MUFFT_INVALID_VALUE;
    if (!mufft_fftw(0) || !mufft_fftw(1) || !maths_context())
        return MUFFT_SETUP_FAILED;
    struct mufft_handle *h = maths_take(&places);
    if (!h)
        return MUFFT_ALLOC_FAILED;
    h->stream = NULL;
    h->plan = NULL;
    h->place.live = true;
    *plan = (mufftHandle)(void *)h;
    return MUFFT_SUCCESS;
}

mufftResult mufftDestroy(mufftHandle handle)
{
    struct mufft_handle *h = place(handle);
    if (!maths_end(&places, h))
        return MUFFT_INVALID_PLAN;
    struct mufft_plan *p = atomic_exchange(&h->plan, NULL);
    if (p)
        mufft_plan_release(p);
    maths_free(h);
    return MUFFT_SUCCESS;
}

mufftResult mufftGetVersion(int *version)
{
    if (!version)
        return MUFFT_INVALID_VALUE;
    *version = 10600; /* 1.6.0, of SDK 4.0.1 */
    return MUFFT_SUCCESS;
}

mufftResult mufftGetProperty(int which, int *value)
{
    static const int release[] = {1, 6, 0};
    if (!value || which < 0 || which > 2)
        return MUFFT_INVALID_VALUE;
    *value = release[which];
    return MUFFT_SUCCESS;
}

mufftResult mufftSetStream(mufftHandle handle, musaStream_t stream)
{
    struct mufft_handle *h = mufft_live(handle);
    if (!h)
        return MUFFT_INVALID_PLAN;
    h->stream = stream;
    return MUFFT_SUCCESS;
}

/* Plans need no work area: any that a program offers is enough. They ask for one all the same, as NVIDIA's mostly do:
 * BART's cache of memory is spoiled by an allocation of no bytes, and free() then ends the process. */
enum { WORK_AREA = 256 };

mufftResult mufftSetWorkArea(mufftHandle handle, void *area)
{
    (void)area;
    return mufft_live(handle) ? MUFFT_SUCCESS : MUFFT_INVALID_PLAN;
}

mufftResult mufftSetAutoAllocation(mufftHandle handle, int automatic)
{
    (void)automatic;
    return mufft_live(handle) ? MUFFT_SUCCESS : MUFFT_INVALID_PLAN;
}

mufftResult mufftGetSize(mufftHandle handle, size_t *size)
{
    struct mufft_handle *h = mufft_live(handle);
    if (!h || !h->plan)
        return MUFFT_INVALID_PLAN;
    if (!size)
        return MUFFT_INVALID_VALUE;
    *size = WORK_AREA;
    return MUFFT_SUCCESS;
}

static mufftResult estimate(const struct mufft_shape *s, size_t *size)
{
    if (!size)
        return MUFFT_INVALID_VALUE;
    mufftResult r = mufft_check(s);
    if (!r)
        *size = WORK_AREA;
    return r;
}

static mufftResult get_size(mufftHandle handle, const struct mufft_shape *s, size_t *size)
{
    return mufft_live(handle) ? estimate(s, size) : MUFFT_INVALID_PLAN;
}

static mufftResult make(mufftHandle handle, const struct mufft_shape *s, size_t *size)
{
    struct mufft_handle *h = mufft_live(handle);
    if (!h || h->plan)
        return MUFFT_INVALID_PLAN;
    mufftResult r = estimate(s, size);
    if (r)
        return r;
    struct mufft_plan *had = NULL, *p = mufft_plan_new(s);
    if (!p)
        return MUFFT_ALLOC_FAILED;
    if (atomic_compare_exchange_strong(&h->plan, &had, p))
        return MUFFT_SUCCESS;
    mufft_plan_release(p);
    return MUFFT_INVALID_PLAN;
}

/* A handle and its plan at once. */
static mufftResult create(mufftHandle *plan, const struct mufft_shape *s)
{
    mufftHandle h;
    size_t size;
    mufftResult r = mufftCreate(plan ? &h : NULL);
    if (r)
        return r;
    r = make(h, s, &size);
    if (r)
        mufftDestroy(h);
    else
        *plan = h;
    return r;
}

static struct mufft_shape shape(int rank, int nx, int ny, int nz, mufftType type, int batch)
{
    return (struct mufft_shape){.type = type, .rank = rank, .n = {nx, ny, nz}, .batch = batch, .basic = true};
}

/* Without the embedding sizes of either side both are contiguous and the rest says nothing. A rank or array that
 * cannot be read gives a rank that mufft_check refuses. */
#define MANY(name, T) \
    static struct mufft_shape name(int rank, const T *n, const T *inembed, T istride, T idist, const T *onembed, \
                                   T ostride, T odist, mufftType type, T batch) \
    { \
        struct mufft_shape s = {.type = type, .rank = n ? rank : 0, .batch = batch}; \
        s.basic = !inembed || !onembed; \
        for (int i = 0; i < RANK && i < s.rank; i++) { \
            s.n[i] = n[i]; \
            s.in.embed[i] = s.basic ? 0 : inembed[i]; \
            s.out.embed[i] = s.basic ? 0 : onembed[i]; \
        } \
        s.in.stride = istride; \
        s.in.dist = idist; \
        s.out.stride = ostride; \
        s.out.dist = odist; \
        return s; \
    }
MANY(many, int)
MANY(many64, long long)
#define THE_MANY rank, n, inembed, istride, idist, onembed, ostride, odist

/* A function of each way to say a shape: what comes before it, the shape's parameters, the shape. */
#define FORMS(name, verb, HEAD, head, TAIL, tail) \
    mufftResult name##1d(HEAD int nx, mufftType type, int batch TAIL) \
    { \
        struct mufft_shape s = shape(1, nx, 1, 1, type, batch); \
        return verb(head & s tail); \
    } \
    mufftResult name##2d(HEAD int nx, int ny, mufftType type TAIL) \
    { \
        struct mufft_shape s = shape(2, nx, ny, 1, type, 1); \
        return verb(head & s tail); \
    } \
    mufftResult name##3d(HEAD int nx, int ny, int nz, mufftType type TAIL) \
    { \
        struct mufft_shape s = shape(3, nx, ny, nz, type, 1); \
        return verb(head & s tail); \
    } \
    mufftResult name##Many(HEAD MUFFT_MANY TAIL) \
    { \
        struct mufft_shape s = many(THE_MANY, type, batch); \
        return verb(head & s tail); \
    }
#define NOTHING
#define COMMA(...) , __VA_ARGS__
#define LEAD(...) __VA_ARGS__,
FORMS(mufftPlan, create, LEAD(mufftHandle *plan), LEAD(plan), NOTHING, NOTHING)
FORMS(mufftMakePlan, make, LEAD(mufftHandle plan), LEAD(plan), COMMA(size_t *size), COMMA(size))
FORMS(mufftGetSize, get_size, LEAD(mufftHandle plan), LEAD(plan), COMMA(size_t *size), COMMA(size))
FORMS(mufftEstimate, estimate, NOTHING, NOTHING, COMMA(size_t *size), COMMA(size))

/* What is transformed between two element types; type 0 for pairs that have none. */
static struct mufft_shape elements(int in, int out, int execution)
{
    static const struct {
        int real, complex;
        mufftType more;
        enum mufft_narrow narrow;
    } widths[] = {
        {MUSA_R_32F, MUSA_C_32F, 0, MUFFT_WIDE},
        {MUSA_R_64F, MUSA_C_64F, 0x40, MUFFT_WIDE},
        {MUSA_R_16F, MUSA_C_16F, 0, MUFFT_F16},
        {MUSA_R_16BF, MUSA_C_16BF, 0, MUFFT_BF16},
    };
    struct mufft_shape s = {.type = 0};
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
        int real = widths[i].real, complex = widths[i].complex;
        if (execution != complex)
            continue;
        s.narrow = widths[i].narrow;
        s.type = in == complex && out == complex ? MUFFT_C2C
                 : in == real && out == complex  ? MUFFT_R2C
                 : in == complex && out == real  ? MUFFT_C2R
                                                 : 0;
        s.type |= s.type ? widths[i].more : 0;
    }
    return s;
}

#define XT(name, verb) \
    mufftResult name(mufftHandle plan, MUFFT_XT_MANY) \
    { \
        struct mufft_shape e = elements(itype, otype, etype), s = many64(THE_MANY, e.type, batch); \
        if (!e.type && mufft_live(plan)) \
            return MUFFT_INVALID_VALUE; \
        s.narrow = e.narrow; \
        return verb(plan, &s, size); \
    }
XT(mufftXtMakePlanMany, make)
XT(mufftXtGetSizeMany, get_size)
