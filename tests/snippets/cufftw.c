/* cuFFTW's wrappers: every way to say a transform, in both precisions, on memory of the host and of the device, against
 * the sum that defines it. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_enums.h"
#include "snippet.h"

/* One precision's functions. */
// clang-format off
#define FUNCTIONS(F) \
    F(plan_dft_1d) F(plan_dft_2d) F(plan_dft_3d) F(plan_dft) F(plan_many_dft) F(plan_guru_dft) F(plan_guru64_dft) \
    F(plan_dft_r2c_1d) F(plan_dft_r2c_2d) F(plan_dft_r2c_3d) F(plan_dft_r2c) F(plan_many_dft_r2c) \
    F(plan_guru_dft_r2c) F(plan_guru64_dft_r2c) F(plan_dft_c2r_1d) F(plan_dft_c2r_2d) F(plan_dft_c2r_3d) \
    F(plan_dft_c2r) F(plan_many_dft_c2r) F(plan_guru_dft_c2r) F(plan_guru64_dft_c2r) F(execute) F(execute_dft) \
    F(execute_dft_r2c) F(execute_dft_c2r) F(destroy_plan) F(malloc) F(free) F(export_wisdom_to_file) \
    F(import_wisdom_from_file) F(set_timelimit) F(cost) F(flops) F(cleanup)
// clang-format on
struct fftw {
#define MEMBER(name) __typeof__(wrap_fftw_##name) *name;
    FUNCTIONS(MEMBER)
    int precise;
};

enum { FORWARD = -1, BACKWARD = 1, ESTIMATE = 1, MOST = 256 };
struct dim32 {
    int n, is, os;
};
struct dim64 {
    ptrdiff_t n, is, os;
};

static void put(const struct fftw *f, void *data, int i, double v)
{
    if (f->precise)
        ((double *)data)[i] = v;
    else
        ((float *)data)[i] = (float)v;
}
static double get(const struct fftw *f, const void *data, int i)
{
    return f->precise ? ((const double *)data)[i] : ((const float *)data)[i];
}

/* n0 x n1 x n2, at one output place. */
static double complex sum(const double complex *x, const int *n, int k0, int k1, int k2, int sign)
{
    double complex s = 0;
    for (int a = 0; a < n[0]; a++)
        for (int b = 0; b < n[1]; b++)
            for (int c = 0; c < n[2]; c++)
                s += x[(a * n[1] + b) * n[2] + c] *
                     cexp(sign * 2 * M_PI * I *
                          ((double)a * k0 / n[0] + (double)b * k1 / n[1] + (double)c * k2 / n[2]));
    return s;
}

/* Where a side's element lies: row after row of `row`, `stride` apart. */
struct side {
    int row, stride, dist;
};
static int place(const struct side *s, const int *n, int b, int k0, int k1, int k2)
{
    return b * s->dist + ((k0 * n[1] + k1) * s->row + k2) * s->stride;
}

static _Thread_local double complex x[2][MOST];

/* Fills the input and forgets the output; x is what the sums are of. */
static void fill(const struct fftw *f, int kind, const int *n, int batch, const struct side *in, void *from, void *to)
{
    double complex spectrum[MOST];
    for (int i = 0; i < 2 * MOST; i++)
        put(f, to, i, -7);
    for (int b = 0; b < batch; b++) {
        for (int i = 0; i < n[0] * n[1] * n[2]; i++)
            x[b][i] = i % 5 - 0.25 * b * i + (kind == 0 ? I * (i % 3) : 0);
        for (int a = 0; a < n[0]; a++)
            for (int c = 0; c < n[1]; c++)
                for (int d = 0; d < n[2]; d++)
                    spectrum[(a * n[1] + c) * n[2] + d] = sum(x[b], n, a, c, d, -1);
        if (kind == 2)
            memcpy(x[b], spectrum, sizeof spectrum);
        int row = kind == 2 ? n[2] / 2 + 1 : n[2];
        for (int a = 0; a < n[0]; a++)
            for (int c = 0; c < n[1]; c++)
                for (int d = 0; d < row; d++) {
                    int p = place(in, n, b, a, c, d);
                    double complex v = x[b][(a * n[1] + c) * n[2] + d];
                    put(f, from, kind == 1 ? p : 2 * p, creal(v));
                    if (kind != 1)
                        put(f, from, 2 * p + 1, cimag(v));
                }
    }
}

static double off(const struct fftw *f, int kind, const int *n, int batch, const struct side *out, const void *to,
                  int sign)
{
    double worst = 0;
    int row = kind == 1 ? n[2] / 2 + 1 : n[2];
    for (int b = 0; b < batch; b++)
        for (int a = 0; a < n[0]; a++)
            for (int c = 0; c < n[1]; c++)
                for (int d = 0; d < row; d++) {
                    int p = place(out, n, b, a, c, d);
                    double complex want = sum(x[b], n, a, c, d, sign);
                    double re = get(f, to, kind == 2 ? p : 2 * p), im = kind == 2 ? 0 : get(f, to, 2 * p + 1);
                    worst = fmax(worst, fabs(re - creal(want)) + (kind == 2 ? 0 : fabs(im - cimag(want))));
                }
    return isnan(worst) ? INFINITY : worst;
}

static void run(const struct fftw *f, void *plan, int kind, const int *n, int batch, const struct side *in,
                const struct side *out, void *from, void *to, int sign)
{
    EXPECT(plan);
    fill(f, kind, n, batch, in, from, to);
    f->execute(plan);
    EXPECT(off(f, kind, n, batch, out, to, sign) < (f->precise ? 1e-9 : 2e-2));
    f->destroy_plan(plan);
}

static void ways(const struct fftw *f, void *from, void *to)
{
    static const int n[3][3] = {{1, 1, 8}, {1, 3, 6}, {2, 3, 5}};
    for (int r = 0; r < 3; r++) {
        const int *d = n[r], *own = d + 2 - r;
        int half = d[2] / 2 + 1;
        struct side whole = {d[2], 1, 0}, part = {half, 1, 0};
        for (int any = 0; any < 2; any++) { /* the form for this rank, the form for all */
            void *c = any     ? f->plan_dft(r + 1, own, from, to, BACKWARD, ESTIMATE)
                      : !r    ? f->plan_dft_1d(d[2], from, to, BACKWARD, ESTIMATE)
                      : r < 2 ? f->plan_dft_2d(d[1], d[2], from, to, BACKWARD, ESTIMATE)
                              : f->plan_dft_3d(d[0], d[1], d[2], from, to, BACKWARD, ESTIMATE);
            run(f, c, 0, d, 1, &whole, &whole, from, to, 1);
            void *there = any     ? f->plan_dft_r2c(r + 1, own, from, to, ESTIMATE)
                          : !r    ? f->plan_dft_r2c_1d(d[2], from, to, ESTIMATE)
                          : r < 2 ? f->plan_dft_r2c_2d(d[1], d[2], from, to, ESTIMATE)
                                  : f->plan_dft_r2c_3d(d[0], d[1], d[2], from, to, ESTIMATE);
            run(f, there, 1, d, 1, &whole, &part, from, to, -1);
            void *back = any     ? f->plan_dft_c2r(r + 1, own, from, to, ESTIMATE)
                         : !r    ? f->plan_dft_c2r_1d(d[2], from, to, ESTIMATE)
                         : r < 2 ? f->plan_dft_c2r_2d(d[1], d[2], from, to, ESTIMATE)
                                 : f->plan_dft_c2r_3d(d[0], d[1], d[2], from, to, ESTIMATE);
            run(f, back, 2, d, 1, &part, &whole, from, to, 1);
        }
    }
}

/* Two transforms of 3 x 6, with gaps, in each of the general forms. */
static void layouts(const struct fftw *f, void *from, void *to)
{
    static const int n[3] = {1, 3, 6};
    const int *own = n + 1;
    for (int kind = 0; kind < 3; kind++)
        for (int form = 0; form < 4; form++) {
            int a = kind == 2 ? 4 : 6, b = kind == 1 ? 4 : 6, sign = kind == 2 ? 1 : -1;
            struct side in = {a + 1, 2, 50}, out = {b + 2, 1, 30};
            int inembed[2] = {3, a + 1}, onembed[2] = {3, b + 2};
            if (form == 3) { /* FFTW's steps hold without embedding sizes */
                in = (struct side){a, 2, 50};
                out = (struct side){b, 1, 30};
            }
            int *ie = form == 3 ? NULL : inembed, *oe = form == 3 ? NULL : onembed;
            struct dim32 d[2] = {{3, in.row * 2, out.row}, {6, 2, 1}}, many = {2, 50, 30};
            struct dim64 d64[2] = {{3, in.row * 2, out.row}, {6, 2, 1}}, many64[2] = {{1, 100, 60}, {2, 50, 30}};
            void *p = NULL;
            if (form == 0 || form == 3)
                p = kind == 0   ? f->plan_many_dft(2, own, 2, from, ie, 2, 50, to, oe, 1, 30, FORWARD, ESTIMATE)
                    : kind == 1 ? f->plan_many_dft_r2c(2, own, 2, from, ie, 2, 50, to, oe, 1, 30, ESTIMATE)
                                : f->plan_many_dft_c2r(2, own, 2, from, ie, 2, 50, to, oe, 1, 30, ESTIMATE);
            else if (form == 1)
                p = kind == 0   ? f->plan_guru_dft(2, d, 1, &many, from, to, FORWARD, ESTIMATE)
                    : kind == 1 ? f->plan_guru_dft_r2c(2, d, 1, &many, from, to, ESTIMATE)
                                : f->plan_guru_dft_c2r(2, d, 1, &many, from, to, ESTIMATE);
            else
                p = kind == 0   ? f->plan_guru64_dft(2, d64, 2, many64, from, to, FORWARD, ESTIMATE)
                    : kind == 1 ? f->plan_guru64_dft_r2c(2, d64, 2, many64, from, to, ESTIMATE)
                                : f->plan_guru64_dft_c2r(2, d64, 2, many64, from, to, ESTIMATE);
            run(f, p, kind, n, 2, &in, &out, from, to, sign);
            if (form != 3) /* behind a row */
                EXPECT(get(f, to, kind == 2 ? b : 2 * b) == -7);
            EXPECT(get(f, to, 2 * MOST - 1) == -7);
        }
}

/* A plan's other arrays, and its own in place. */
static void arrays(const struct fftw *f, void *from, void *to)
{
    static const int n[3] = {1, 2, 6}, own[2] = {2, 6};
    struct side whole = {6, 1, 0}, part = {4, 1, 0}, padded = {8, 1, 0};
    void *c = f->plan_dft(2, own, to, from, FORWARD, ESTIMATE), *r = f->plan_dft_r2c(2, own, to, from, ESTIMATE),
         *b = f->plan_dft_c2r(2, own, to, from, ESTIMATE);
    fill(f, 0, n, 1, &whole, from, to);
    f->execute_dft(c, from, to);
    EXPECT(off(f, 0, n, 1, &whole, to, -1) < 1e-2);
    fill(f, 1, n, 1, &whole, from, to);
    f->execute_dft_r2c(r, from, to);
    EXPECT(off(f, 1, n, 1, &part, to, -1) < 1e-2);
    fill(f, 2, n, 1, &part, from, to);
    f->execute_dft_c2r(b, from, to);
    EXPECT(off(f, 2, n, 1, &whole, to, 1) < 1e-2);
    f->destroy_plan(c);
    f->destroy_plan(r);
    f->destroy_plan(b);
    c = f->plan_dft(2, own, from, from, FORWARD, ESTIMATE);
    r = f->plan_dft_r2c(2, own, from, from, ESTIMATE);
    fill(f, 0, n, 1, &whole, from, to);
    f->execute(c);
    EXPECT(off(f, 0, n, 1, &whole, from, -1) < 1e-2);
    fill(f, 1, n, 1, &padded, from, to);
    f->execute(r);
    EXPECT(off(f, 1, n, 1, &part, from, -1) < 1e-2);
    f->destroy_plan(c);
    f->destroy_plan(r);
}

/* Memory that only the device is sure to reach: one allocation for both sides, which keeps what lies around them. */
static void on_the_device(const struct fftw *f, void *host)
{
    static const int n[3] = {1, 2, 6}, own[2] = {2, 6};
    const size_t one = f->precise ? sizeof(double) : sizeof(float);
    struct side whole = {6, 1, 0};
    char *device, *back = f->malloc(2 * MOST * sizeof(double));
    OK(M(cudaMalloc, musaMalloc)((void **)&device, 2 * MOST * one));
    fill(f, 0, n, 1, &whole, host, back);
    put(f, host, 24, 5);
    for (int apart = 0; apart < 2; apart++) {
        void *p = f->plan_dft(2, own, device, device + (size_t)apart * 50 * one, FORWARD, ESTIMATE);
        EXPECT(p);
        OK(M(cudaMemcpy, musaMemcpy)(device, host, 2 * MOST * one, 1));
        f->execute(p);
        OK(M(cudaMemcpy, musaMemcpy)(back, device, 2 * MOST * one, 2));
        EXPECT(off(f, 0, n, 1, &whole, back + (size_t)apart * 50 * one, -1) < 1e-2);
        EXPECT(get(f, back, 24) == 5);
        f->destroy_plan(p);
    }
    f->free(back);
    OK(M(cudaFree, musaFree)(device));
}

/* The same plan on memory of the host and of the device: alike from `first` to the last byte, with the gaps.
 * What lies before the output of a complex to real transform is FFTW's to spoil. */
static void alike(const struct fftw *f, void *host_plan, void *device_plan, char *host, char *device, size_t bytes,
                  size_t first)
{
    char *back = f->malloc(bytes);
    EXPECT(host_plan && device_plan);
    for (int i = 0; i < 2 * MOST; i++)
        put(f, host, i, i % 11 - 4);
    OK(M(cudaMemcpy, musaMemcpy)(device, host, bytes, 1));
    f->execute(host_plan);
    f->execute(device_plan);
    OK(M(cudaMemcpy, musaMemcpy)(back, device, bytes, 2));
    EXPECT(!memcmp(back + first, host + first, bytes - first));
    f->destroy_plan(host_plan);
    f->destroy_plan(device_plan);
    f->free(back);
}
static void alike_in_all_forms(const struct fftw *f)
{
    static const int own[2] = {3, 6}, embed[2] = {3, 8};
    const struct dim32 d[2] = {{3, 14, 8}, {6, 2, 1}}, many = {2, 50, 30};
    const struct dim64 d64[2] = {{3, 2, 8}, {6, 7, 1}}, many64 = {2, 50, 30};
    const size_t one = f->precise ? sizeof(double) : sizeof(float), bytes = 2 * MOST * one, to = 256 * one;
    char *at[2] = {f->malloc(bytes), NULL};
    OK(M(cudaMalloc, musaMalloc)((void **)&at[1], bytes));
#define BOTH(first, plan, ...) \
    { \
        void *p[2]; \
        for (int k = 0; k < 2; k++) { \
            char *in = at[k], *out = at[k] + to; \
            (void)out; \
            p[k] = f->plan(__VA_ARGS__); \
        } \
        alike(f, p[0], p[1], at[0], at[1], bytes, first); \
    }
    BOTH(0, plan_many_dft, 2, own, 2, in, embed, 1, 30, out, embed, 2, 50, FORWARD, ESTIMATE)
    BOTH(0, plan_many_dft_r2c, 2, own, 2, in, embed, 2, 50, out, NULL, 1, 30, ESTIMATE)
    BOTH(to, plan_many_dft_c2r, 2, own, 2, in, NULL, 1, 30, out, embed, 2, 50, ESTIMATE)
    BOTH(0, plan_guru_dft, 2, d, 1, &many, in, out, FORWARD, ESTIMATE)
    BOTH(0, plan_guru64_dft_r2c, 2, d64, 1, &many64, in, out, ESTIMATE)
    BOTH(0, plan_dft_r2c, 2, own, in, in, ESTIMATE)
    BOTH(0, plan_dft_c2r, 2, own, in, in, ESTIMATE)
    f->free(at[0]);
    OK(M(cudaFree, musaFree)(at[1]));
}

/* What cuFFT has no plan for: four dimensions, and dimensions that do not lie within each other. Both are transforms of
 * 2 x 2 at the rank's last places; numbers are in memory before the plan is made, and stay there. */
static void beyond(const struct fftw *f, void *from, void *to)
{
    static const int four[4] = {1, 1, 2, 2};
    struct dim32 odd[2] = {{2, 3, 3}, {2, 2, 2}}, apart[2] = {{2, 40, 40}, {2, 8, 8}}, one = {2, 1, 1};
    for (int i = 0; i < 2 * MOST; i++)
        put(f, from, i, i % 7 - 3), put(f, to, i, -7);
    void *p = f->plan_dft(4, four, from, to, FORWARD, 0 /* FFTW_MEASURE, which overwrites memory */);
    EXPECT(p);
    f->execute(p);
    f->destroy_plan(p);
    for (int k = 0; k < 4; k++) { /* real parts of 0 2 4 6: -3 -1 1 3 */
        double want = 0;
        for (int i = 0; i < 4; i++)
            want += ((k & i & 1) ^ ((k & i) >> 1) ? -1 : 1) * (2 * i % 7 - 3);
        EXPECT(fabs(get(f, to, 2 * k) - want) < 1e-5);
    }
    p = f->plan_guru_dft(2, odd, 0, NULL, from, to, FORWARD, ESTIMATE);
    EXPECT(p);
    f->execute(p);
    f->destroy_plan(p);
    EXPECT(fabs(get(f, to, 0) - (get(f, from, 0) + get(f, from, 4) + get(f, from, 6) + get(f, from, 10))) < 1e-5);
    p = f->plan_guru_dft(1, &one, 2, apart, from, to, FORWARD, ESTIMATE);
    EXPECT(p);
    f->execute(p);
    f->destroy_plan(p);
    EXPECT(fabs(get(f, to, 96) - (get(f, from, 96) + get(f, from, 98))) < 1e-5);
}

static void bad(const struct fftw *f, void *from, void *to)
{
    int n[1] = {2}, none[1] = {0};
    struct dim32 one = {4, 1, 1}, back[2] = {{3, 14, -8}, {6, 2, 1}};
    EXPECT(!f->plan_dft_1d(0, from, to, FORWARD, ESTIMATE));
    EXPECT(!f->plan_dft_1d(-3, from, to, FORWARD, ESTIMATE));
    EXPECT(!f->plan_dft_1d(8, from, to, 0, ESTIMATE));
    EXPECT(!f->plan_dft(0, n, from, to, FORWARD, ESTIMATE));
    EXPECT(!f->plan_dft_r2c(1, none, from, to, ESTIMATE));
    EXPECT(!f->plan_dft_c2r(1, NULL, from, to, ESTIMATE));
    EXPECT(!f->plan_many_dft(1, n, 0, from, NULL, 1, 2, to, NULL, 1, 2, FORWARD, ESTIMATE));
    EXPECT(!f->plan_many_dft(1, n, 1, from, NULL, -1, 2, to, NULL, 1, 2, FORWARD, ESTIMATE));
    EXPECT(!f->plan_guru_dft(2, back, 0, NULL, from, to, FORWARD, ESTIMATE));
    EXPECT(!f->plan_guru_dft(1, &one, -1, NULL, from, to, FORWARD, ESTIMATE));
    EXPECT(!f->plan_guru_dft(1, &one, 1, NULL, from, to, FORWARD, ESTIMATE));
    EXPECT(!f->plan_guru_dft(1, NULL, 0, NULL, from, to, FORWARD, ESTIMATE));
    EXPECT(!f->plan_guru64_dft(1, &(struct dim64){1LL << 40, 1LL << 40, 1}, 0, NULL, from, to, FORWARD, ESTIMATE));
    f->execute(NULL);
    f->execute_dft(NULL, from, to);
    f->destroy_plan(NULL);
    f->free(NULL);
}

static void support(const struct fftw *f)
{
    double ops[3] = {0};
    f->set_timelimit(1);
    f->export_wisdom_to_file(NULL);
    IS(f->import_wisdom_from_file(NULL), 1);
    f->flops(NULL, &ops[0], &ops[1], &ops[2]);
    EXPECT(f->cost(NULL) == 1 && ops[0] == 1 && ops[1] == 1 && ops[2] == 1);
    f->cleanup();
}

void snippet_cufftw(void)
{
    const struct fftw both[] = {
        {C(fftw_plan_dft_1d),
         C(fftw_plan_dft_2d),
         C(fftw_plan_dft_3d),
         C(fftw_plan_dft),
         C(fftw_plan_many_dft),
         C(fftw_plan_guru_dft),
         C(fftw_plan_guru64_dft),
         C(fftw_plan_dft_r2c_1d),
         C(fftw_plan_dft_r2c_2d),
         C(fftw_plan_dft_r2c_3d),
         C(fftw_plan_dft_r2c),
         C(fftw_plan_many_dft_r2c),
         C(fftw_plan_guru_dft_r2c),
         C(fftw_plan_guru64_dft_r2c),
         C(fftw_plan_dft_c2r_1d),
         C(fftw_plan_dft_c2r_2d),
         C(fftw_plan_dft_c2r_3d),
         C(fftw_plan_dft_c2r),
         C(fftw_plan_many_dft_c2r),
         C(fftw_plan_guru_dft_c2r),
         C(fftw_plan_guru64_dft_c2r),
         C(fftw_execute),
         C(fftw_execute_dft),
         C(fftw_execute_dft_r2c),
         C(fftw_execute_dft_c2r),
         C(fftw_destroy_plan),
         C(fftw_malloc),
         C(fftw_free),
         C(fftw_export_wisdom_to_file),
         C(fftw_import_wisdom_from_file),
         C(fftw_set_timelimit),
         C(fftw_cost),
         C(fftw_flops),
         C(fftw_cleanup),
         1},
        {C(fftwf_plan_dft_1d),
         C(fftwf_plan_dft_2d),
         C(fftwf_plan_dft_3d),
         C(fftwf_plan_dft),
         C(fftwf_plan_many_dft),
         C(fftwf_plan_guru_dft),
         C(fftwf_plan_guru64_dft),
         C(fftwf_plan_dft_r2c_1d),
         C(fftwf_plan_dft_r2c_2d),
         C(fftwf_plan_dft_r2c_3d),
         C(fftwf_plan_dft_r2c),
         C(fftwf_plan_many_dft_r2c),
         C(fftwf_plan_guru_dft_r2c),
         C(fftwf_plan_guru64_dft_r2c),
         C(fftwf_plan_dft_c2r_1d),
         C(fftwf_plan_dft_c2r_2d),
         C(fftwf_plan_dft_c2r_3d),
         C(fftwf_plan_dft_c2r),
         C(fftwf_plan_many_dft_c2r),
         C(fftwf_plan_guru_dft_c2r),
         C(fftwf_plan_guru64_dft_c2r),
         C(fftwf_execute),
         C(fftwf_execute_dft),
         C(fftwf_execute_dft_r2c),
         C(fftwf_execute_dft_c2r),
         C(fftwf_destroy_plan),
         C(fftwf_malloc),
         C(fftwf_free),
         C(fftwf_export_wisdom_to_file),
         C(fftwf_import_wisdom_from_file),
         C(fftwf_set_timelimit),
         C(fftwf_cost),
         C(fftwf_flops),
         C(fftwf_cleanup),
         0},
    };
    for (int k = 0; k < 2; k++) {
        const struct fftw *f = &both[k];
        void *host[2], *device[2];
        for (int i = 0; i < 2; i++) {
            EXPECT((host[i] = f->malloc(2 * MOST * sizeof(double))));
            OK(M(cudaMallocManaged, musaMallocManaged)(&device[i], 2 * MOST * sizeof(double), 1));
        }
        for (int to = 0; to < 2; to++)
            for (int from = 0; from < 2; from++) {
                void *in = from ? device[0] : host[0], *out = to ? device[1] : host[1];
                ways(f, in, out);
                layouts(f, in, out);
                arrays(f, in, out);
                beyond(f, in, out);
            }
        on_the_device(f, host[0]);
        alike_in_all_forms(f);
        bad(f, host[0], host[1]);
        support(f);
        for (int i = 0; i < 2; i++) {
            f->free(host[i]);
            OK(M(cudaFree, musaFree)(device[i]));
        }
    }
}
