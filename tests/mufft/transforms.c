/* Random transforms of the CPU muFFT, of every type, rank, layout and way of use, against sums written out; and
 * that they are ordered with a stream's other work, captured, and outlive their plans. */
#include <complex.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "abi/mufft.h"
#include "musa_enums.h"

typedef double complex num;

static _Thread_local unsigned seed = 1;
static int upto(int n) /* 0..n-1 */
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (unsigned)n);
}

/* One transform and where its elements lie. Index 0: input, 1: output. */
struct job {
    mufftType type;
    int rank, batch, direction, n[3];
    bool many, in_place, offset;
    int embed[2][3], stride[2], dist[2];
};
static bool is_double(const struct job *j) { return j->type & 0x40; }
static bool complex_to_complex(const struct job *j) { return (j->type & ~0x40) == MUFFT_C2C; }
static bool real_side(const struct job *j, int side) { return (j->type & ~0x40) == (side ? MUFFT_C2R : MUFFT_R2C); }
/* Elements along dimension d of a side: of a half spectrum, those that are stored. */
static int extent(const struct job *j, int side, int d)
{
    bool half = !complex_to_complex(j) && !real_side(j, side) && d == j->rank - 1;
    return half ? j->n[d] / 2 + 1 : j->n[d];
}
static size_t element(const struct job *j, int side) { return (is_double(j) ? 8u : 4u) << !real_side(j, side); }

static struct job random_job(void)
{
    static const mufftType types[] = {MUFFT_C2C, MUFFT_R2C, MUFFT_C2R, MUFFT_Z2Z, MUFFT_D2Z, MUFFT_Z2D};
    struct job j = {.type = types[upto(6)], .rank = 1 + upto(3), .batch = 1 + upto(3)};
    for (int d = 0; d < j.rank; d++)
        j.n[d] = 1 + upto(j.rank == 1 ? 200 : 14);
    j.direction = upto(2) ? MUFFT_FORWARD : MUFFT_INVERSE;
    j.many = upto(2);
    j.in_place = upto(2);
    j.offset = upto(3) == 0;
    bool alike = j.in_place; /* in place both sides take the same room */
    int stride = 1 + upto(3), more = upto(3), apart = upto(4);
    for (int side = 0; side < 2; side++) {
        int total = 1, real = real_side(&j, side);
        for (int d = j.rank - 1; d >= 0; d--) {
            int e = extent(&j, side, d);
            if (!complex_to_complex(&j) && real && d == j.rank - 1 && (j.many ? alike : j.in_place))
                e = 2 * (e / 2 + 1);
            if (j.many)
                e += d == j.rank - 1 && real && alike ? 2 * more : more;
            total *= j.embed[side][d] = e;
        }
        bool unit = !complex_to_complex(&j) && alike;
        j.stride[side] = j.many && !unit ? stride : 1;
        j.dist[side] = total * j.stride[side] + (j.many ? apart * (unit && real ? 2 : 1) : 0);
        if (!alike)
            stride = 1 + upto(3), more = upto(3), apart = upto(4);
    }
    return j;
}

/* Place of an element, in elements of its side. */
static size_t place(const struct job *j, int side, int b, const int *at)
{
    size_t p = 0;
    for (int d = 0; d < j->rank; d++)
        p = p * (size_t)(d ? j->embed[side][d] : 1) + (size_t)at[d];
    return p * (size_t)j->stride[side] + (size_t)b * (size_t)j->dist[side];
}

static num load(const struct job *j, int side, const char *data, size_t p)
{
    const char *at = data + p * element(j, side);
    if (real_side(j, side))
        return is_double(j) ? *(const double *)at : *(const float *)at;
    return is_double(j) ? *(const double complex *)at : *(const float complex *)at;
}
static void store(const struct job *j, int side, char *data, size_t p, num v)
{
    char *at = data + p * element(j, side);
    if (real_side(j, side) && is_double(j))
        *(double *)at = creal(v);
    else if (real_side(j, side))
        *(float *)at = (float)creal(v);
    else if (is_double(j))
        *(double complex *)at = v;
    else
        *(float complex *)at = (float complex)v;
}

/* Next index below the bounds; false after the last. */
static bool next(int rank, const int *bound, int *at)
{
    for (int d = rank - 1; d >= 0; d--) {
        if (++at[d] < bound[d])
            return true;
        at[d] = 0;
    }
    return false;
}

/* The sum at one output index, over the whole input (of a half spectrum, its mirrored half too). */
static num sum(const struct job *j, const num *full, const int *k, int sign)
{
    int at[3] = {0};
    num s = 0;
    size_t i = 0;
    do {
        double turn = 0;
        for (int d = 0; d < j->rank; d++)
            turn += (double)((long)at[d] * k[d] % j->n[d]) / j->n[d];
        s += full[i++] * cexp(sign * 2 * M_PI * I * turn);
    } while (next(j->rank, j->n, at));
    return s;
}

/* The logical input of one member of the batch; a spectrum of real numbers is made one by its symmetry. */
static void logical(const struct job *j, const char *in, int b, num *full)
{
    int at[3] = {0};
    size_t i = 0;
    do {
        int from[3] = {at[0], at[1], at[2]};
        bool mirror = at[j->rank - 1] >= extent(j, 0, j->rank - 1);
        for (int d = 0; d < j->rank && mirror; d++)
            from[d] = (j->n[d] - at[d]) % j->n[d];
        num v = load(j, 0, in, place(j, 0, b, from));
        full[i++] = mirror ? conj(v) : v;
    } while (next(j->rank, j->n, at));
}

/* Half a spectrum of real numbers: the spectrum of random ones. */
static void fill_half(const struct job *j, char *in, int b)
{
    size_t points = 1, i = 0;
    for (int d = 0; d < j->rank; d++)
        points *= (size_t)j->n[d];
    num *x = malloc(points * sizeof *x);
    for (; i < points; i++)
        x[i] = (upto(2001) - 1000) / 1024.0;
    int at[3] = {0}, bound[3];
    for (int d = 0; d < j->rank; d++)
        bound[d] = extent(j, 0, d);
    do
        store(j, 0, in, place(j, 0, b, at), sum(j, x, at, -1) / sqrt((double)points));
    while (next(j->rank, bound, at));
    free(x);
}

static int plan_of(mufftHandle *plan, struct job *j)
{
    if (j->many)
        return mufftPlanMany(plan, j->rank, j->n, j->embed[0], j->stride[0], j->dist[0], j->embed[1], j->stride[1],
                             j->dist[1], j->type, j->batch);
    if (j->rank == 1)
        return mufftPlan1d(plan, j->n[0], j->type, j->batch);
    if (j->batch > 1)
        return mufftPlanMany(plan, j->rank, j->n, NULL, 7, 7, NULL, 7, 7, j->type, j->batch);
    return j->rank == 2 ? mufftPlan2d(plan, j->n[0], j->n[1], j->type)
                        : mufftPlan3d(plan, j->n[0], j->n[1], j->n[2], j->type);
}

static int execute(mufftHandle plan, const struct job *j, void *in, void *out)
{
    switch (upto(2) ? j->type : 0) {
    case MUFFT_C2C: return mufftExecC2C(plan, in, out, j->direction);
    case MUFFT_Z2Z: return mufftExecZ2Z(plan, in, out, j->direction);
    case MUFFT_R2C: return mufftExecR2C(plan, in, out);
    case MUFFT_D2Z: return mufftExecD2Z(plan, in, out);
    case MUFFT_C2R: return mufftExecC2R(plan, in, out);
    case MUFFT_Z2D: return mufftExecZ2D(plan, in, out);
    default: return mufftXtExec(plan, in, out, j->direction);
    }
}

static void one(void)
{
    struct job j = random_job();
    size_t bytes[2], points = 1, start = j.offset ? element(&j, 0) : 0;
    for (int side = 0; side < 2; side++)
        bytes[side] = (size_t)j.dist[side] * (size_t)j.batch * element(&j, side) + 64;
    for (int d = 0; d < j.rank; d++)
        points *= (size_t)j.n[d];
    if (j.in_place && bytes[1] > bytes[0])
        bytes[0] = bytes[1];
    void *base[2];
    OK(musaMalloc(&base[0], bytes[0]));
    OK(musaMalloc(&base[1], bytes[1]));
    char *in = (char *)base[0] + start, *out = j.in_place ? in : (char *)base[1] + (upto(2) ? 0 : element(&j, 1));
    memset(base[0], 0x3c, bytes[0]);
    memset(base[1], 0x3c, bytes[1]);
    for (int b = 0; b < j.batch; b++) {
        int at[3] = {0};
        if (real_side(&j, 1))
            fill_half(&j, in, b);
        else
            do
                store(&j, 0, in, place(&j, 0, b, at), (upto(2001) - 1000) / 1024.0 + I * (upto(2001) - 1000) / 1024.0);
            while (next(j.rank, j.n, at));
    }
    num *full = malloc(points * sizeof *full);
    size_t size = bytes[j.in_place ? 0 : 1];
    char *want = malloc(size), *had = malloc(bytes[0]), *writes = calloc(1, size);
    char *out_base = base[j.in_place ? 0 : 1];
    memcpy(want, out_base, size);
    memcpy(had, base[0], bytes[0]);
    int bound[3], sign = complex_to_complex(&j) ? j.direction : real_side(&j, 1) ? 1 : -1;
    for (int d = 0; d < j.rank; d++)
        bound[d] = extent(&j, 1, d);
    for (int b = 0; b < j.batch; b++) {
        int at[3] = {0};
        logical(&j, had + start, b, full);
        do {
            size_t p = place(&j, 1, b, at);
            store(&j, 1, want + (out - out_base), p, sum(&j, full, at, sign));
            memset(writes + (out - out_base) + p * element(&j, 1), 1, element(&j, 1));
        } while (next(j.rank, bound, at));
    }
    mufftHandle plan;
    OK(plan_of(&plan, &j));
    OK(execute(plan, &j, in, out));
    OK(musaDeviceSynchronize());
    OK(mufftDestroy(plan));
    double eps = (is_double(&j) ? 1e-14 : 4e-6) * sqrt((double)points) * (8 + (double)points / 16), worst = 0;
    for (size_t i = 0; i < size; i++)
        if (writes[i]) {
            size_t width = is_double(&j) ? 8 : 4;
            double g = width == 8 ? *(double *)(out_base + i) : *(float *)(out_base + i);
            double w = width == 8 ? *(double *)(want + i) : *(float *)(want + i);
            worst = fmax(worst, isnan(g) ? INFINITY : fabs(g - w));
            i += width - 1;
        } else if (out_base[i] != want[i] && !j.in_place) { /* gaps stay as they are */
            worst = INFINITY;
        }
    bool input_kept = j.in_place || real_side(&j, 1) || !memcmp(base[0], had, bytes[0]);
    EXPECT(worst <= eps && input_kept, "type %#x rank %d n %d,%d,%d batch %d %s%s%s direction %d: off by %g%s",
           (unsigned)j.type, j.rank, j.n[0], j.n[1], j.n[2], j.batch, j.many ? "embedded " : "",
           j.in_place ? "in place " : "", j.offset ? "offset" : "", j.direction, worst,
           input_kept ? "" : ", input changed");
    musaFree(base[0]);
    musaFree(base[1]);
    free(full);
    free(want);
    free(had);
    free(writes);
}

/* Work before and after on one stream, in a graph launched twice, and plans that go while they are needed. */
static void ordered(void)
{
    enum { N = 1 << 16 };
    size_t bytes = N * 2 * sizeof(float);
    float *host, *device;
    musaStream_t s;
    mufftHandle plan;
    OK(musaMallocHost((void **)&host, bytes));
    OK(musaMalloc((void **)&device, bytes));
    OK(musaStreamCreateWithFlags(&s, musaStreamNonBlocking));
    for (int graph = 0; graph < 2; graph++) {
        musaGraph_t g;
        musaGraphExec_t x;
        memset(host, 0, bytes);
        for (int i = 0; i < N; i++)
            host[2 * i] = 1;
        OK(mufftPlan1d(&plan, N, MUFFT_C2C, 1));
        OK(mufftSetStream(plan, s));
        if (graph)
            OK(musaStreamBeginCapture(s, musaStreamCaptureModeThreadLocal));
        OK(musaMemcpyAsync(device, host, bytes, musaMemcpyHostToDevice, s));
        OK(mufftExecC2C(plan, (void *)device, (void *)device, MUFFT_FORWARD));
        OK(mufftExecC2C(plan, (void *)device, (void *)device, MUFFT_INVERSE));
        OK(mufftExecC2C(plan, (void *)device, (void *)device, MUFFT_FORWARD));
        OK(musaMemcpyAsync(host, device, bytes, musaMemcpyDeviceToHost, s));
        if (graph) {
            OK(musaStreamEndCapture(s, &g));
            OK(musaGraphInstantiate(&x, g, 0));
        }
        OK(mufftDestroy(plan));
        IS(mufftExecC2C(plan, (void *)device, (void *)device, MUFFT_FORWARD), MUFFT_INVALID_PLAN);
        if (graph) {
            OK(musaGraphLaunch(x, s));
            OK(musaStreamSynchronize(s));
            OK(host[0] != (float)N * N);
            memset(host, 0, bytes);
            host[0] = 1; /* now of one spike: flat */
            OK(musaGraphLaunch(x, s));
        }
        OK(musaStreamSynchronize(s));
        if (graph)
            OK(host[0] != N || host[2 * 77] != N || host[1] != 0);
        else
            OK(host[0] != (float)N * N || fabsf(host[2 * 77]) > 1);
        if (graph) {
            OK(musaGraphExecDestroy(x));
            OK(musaGraphDestroy(g));
        }
    }
    OK(musaStreamDestroy(s));
    musaFree(device);
    musaFreeHost(host);
}

static void bad(void)
{
    mufftHandle plan, none = NULL;
    size_t size = 99;
    int n[4] = {4, 4, 4, 4}, zero[1] = {0}, one_n[1] = {8};
    long long n64[1] = {8};
    float data[32] = {0};
    mufftComplex *c = (void *)data;
    IS(mufftPlan1d(NULL, 8, MUFFT_C2C, 1), MUFFT_INVALID_VALUE);
    IS(mufftPlan1d(&plan, 0, MUFFT_C2C, 1), MUFFT_INVALID_SIZE);
    IS(mufftPlan1d(&plan, 8, MUFFT_C2C, 0), MUFFT_INVALID_SIZE);
    IS(mufftPlan1d(&plan, 8, 43, 1), MUFFT_INVALID_TYPE);
    IS(mufftPlan2d(&plan, 8, -1, MUFFT_R2C), MUFFT_INVALID_SIZE);
    IS(mufftPlan3d(&plan, 8, 8, 0, MUFFT_R2C), MUFFT_INVALID_SIZE);
    IS(mufftPlanMany(&plan, 4, n, NULL, 1, 1, NULL, 1, 1, MUFFT_C2C, 1), MUFFT_INVALID_VALUE);
    IS(mufftPlanMany(&plan, 1, NULL, NULL, 1, 1, NULL, 1, 1, MUFFT_C2C, 1), MUFFT_INVALID_VALUE);
    IS(mufftPlanMany(&plan, 1, zero, NULL, 1, 1, NULL, 1, 1, MUFFT_C2C, 1), MUFFT_INVALID_SIZE);
    IS(mufftPlanMany(&plan, 1, one_n, one_n, 0, 8, one_n, 1, 8, MUFFT_C2C, 1), MUFFT_INVALID_VALUE);
    IS(mufftPlanMany(&plan, 2, n, n, 1, 8, n, 1, 8, MUFFT_C2C, -1), MUFFT_INVALID_SIZE);
    OK(mufftCreate(&plan));
    IS(mufftCreate(NULL), MUFFT_INVALID_VALUE);
    IS(mufftExecC2C(plan, c, c, MUFFT_FORWARD), MUFFT_INVALID_PLAN); /* not made */
    IS(mufftGetSize(plan, &size), MUFFT_INVALID_PLAN);
    IS(mufftMakePlan1d(plan, 8, MUFFT_C2C, 1, NULL), MUFFT_INVALID_VALUE);
    IS(mufftXtMakePlanMany(plan, 1, n64, NULL, 1, 1, MUSA_R_32F, NULL, 1, 1, MUSA_R_32F, 1, &size, MUSA_C_32F),
       MUFFT_INVALID_VALUE);
    OK(mufftXtMakePlanMany(plan, 1, n64, NULL, 1, 1, MUSA_R_32F, NULL, 1, 1, MUSA_C_32F, 1, &size, MUSA_C_32F));
    IS(mufftMakePlan1d(plan, 8, MUFFT_C2C, 1, &size), MUFFT_INVALID_PLAN); /* made already */
    IS(mufftExecC2C(plan, c, c, MUFFT_FORWARD), MUFFT_INVALID_PLAN);       /* another type */
    IS(mufftExecR2C(plan, NULL, c), MUFFT_INVALID_VALUE);
    OK(mufftGetSize(plan, &size));
    EXPECT(size > 0); /* BART allocates it and frees it by its address */
    OK(mufftSetAutoAllocation(plan, 0));
    OK(mufftSetWorkArea(plan, data));
    OK(mufftDestroy(plan));
    IS(mufftDestroy(plan), MUFFT_INVALID_PLAN);
    IS(mufftDestroy(none), MUFFT_INVALID_PLAN);
    IS(mufftSetStream((mufftHandle)(void *)data, NULL), MUFFT_INVALID_PLAN);
    OK(mufftPlan1d(&plan, 8, MUFFT_C2C, 1));
    IS(mufftExecC2C(plan, c, c, 0), MUFFT_INVALID_VALUE);
    size = 0;
    OK(mufftGetSize1d(plan, 8, MUFFT_C2C, 1, &size));
    EXPECT(size > 0);
    IS(mufftGetSize2d(plan, 8, 0, MUFFT_C2C, &size), MUFFT_INVALID_SIZE);
    IS(mufftEstimateMany(1, one_n, NULL, 1, 1, NULL, 1, 1, MUFFT_C2C, 1, NULL), MUFFT_INVALID_VALUE);
    OK(mufftEstimate1d(8, MUFFT_C2C, 1, &size));
    OK(mufftDestroy(plan));
}

static void *thread(void *number)
{
    seed = 77u * (unsigned)(size_t)number;
    for (int i = 0; i < 40; i++)
        one();
    return NULL;
}

int main(void)
{
    for (int i = 0; i < 200; i++)
        one();
    ordered();
    bad();
    pthread_t threads[4];
    for (size_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, thread, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return check_end("random transforms");
}
