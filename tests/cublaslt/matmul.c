/* cublasLtMatmul against plain loops: types, orders, operations, batches, pointer modes, scales, epilogues. */
#include "lt.h"

static const struct kind {
    int a, b, c, d, compute, scale;
    bool epilogues;
    const char *name;
} kinds[] = {
    {F32, F32, F32, F32, 68, F32, true, "f32"},           {F32, F32, F32, F32, 77, F32, true, "f32 by tf32"},
    {F64, F64, F64, F64, 70, F64, true, "f64"},           {F16, F16, F16, F16, 64, F16, false, "f16"},
    {F16, F16, F16, F16, 68, F32, true, "f16, sums f32"}, {F16, F16, F32, F32, 69, F32, true, "f16 to f32"},
    {BF16, BF16, BF16, BF16, 68, F32, true, "bf16"},      {BF16, BF16, F32, F32, 68, F32, true, "bf16 to f32"},
    {I8, I8, I32, I32, 72, I32, false, "bytes"},          {I8, I8, I8, I8, 72, F32, false, "bytes to bytes"},
    {I8, I8, F32, F32, 68, F32, false, "bytes to f32"},   {C32, C32, C32, C32, 68, C32, false, "complex f32"},
    {C64, C64, C64, C64, 70, C64, false, "complex f64"},  {C8I, C8I, C32, C32, 68, C32, false, "complex bytes"},
    {E4M3, E4M3, BF16, E4M3, 68, F32, true, "e4m3"},      {E4M3, E5M2, F16, E5M2, 68, F32, true, "e4m3 and e5m2"},
    {E5M2, E4M3, F32, F32, 68, F32, true, "e5m2 to f32"}, {E4M3, E4M3, BF16, BF16, 68, F32, true, "e4m3 to bf16"},
};
enum { KINDS = sizeof kinds / sizeof *kinds };
enum { RELU = 2, BIAS = 4, DRELU = 8, BGRAD = 16, GELU = 32, DGELU = 64, AUX = 128, BGRADA = 256, BGRADB = 512 };
static const unsigned epilogues[] = {1, 2, 4, 6, 32, 36, 130, 134, 136, 152, 160, 164, 192, 208, 256, 512};

static double gelu(double x) { return x / 2 * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * pow(x, 3)))); }
static double gelu_slope(double x) /* by differences: not the formula that is tested */
{
    double h = 1e-5;
    return (gelu(x + h) - gelu(x - h)) / (2 * h);
}

static void *as_cublas;

struct call {
    const struct kind *kind;
    struct matrix a, b, c, d;
    int ta, tb, m, n, k, batch, mode;
    unsigned epilogue;
    num alpha[64], beta[64]; /* by row of d, or the first */
    double sa, sb, sc, sd;   /* scales; 1 where none */
    int bias_type, aux_type;
    int64_t bias_stride, aux_ld, aux_stride;
    char *bias, *aux;
    void *bias_at, *aux_at;
};

static num operand(const struct matrix *m, int op, int member, int row, int col)
{
    num v = op ? at(m, m->host, member, col, row) : at(m, m->host, member, row, col);
    return op == 2 ? conj(v) : v;
}
static int64_t aux_place(const struct call *t, int member, int i, int j)
{
    return t->aux_stride * member + (t->d.order == ROW ? j + t->aux_ld * i : i + t->aux_ld * j);
}
static bool bit(const char *from, int64_t i) { return from[i / 8] >> (i % 8) & 1; }

static void fail(const struct call *t, const char *what, int i, int j, num got, num want)
{
    check(false,
          "%s: epilogue %u, ops %d %d, orders %d %d %d %d, mode %d, %dx%dx%d: %s (%d, %d) "
          "is %g%+gi, not %g%+gi",
          t->kind->name, t->epilogue, t->ta, t->tb, t->a.order, t->b.order, t->c.order, t->d.order, t->mode, t->m, t->n,
          t->k, what, i, j, creal(got), cimag(got), creal(want), cimag(want));
}

/* Whether one was wrong: the first is enough. */
static bool member_wrong(const struct call *t, int member, const char *d, const char *aux, const char *bias)
{
    const struct kind *kd = t->kind;
    double sums[64] = {0}, amount = 1e-6;
    for (int j = 0; j < t->n; j++)
        for (int i = 0; i < t->m; i++) {
            int row = t->mode >= 2 ? i : 0, brow = t->mode == 2 ? i : 0;
            num x = 0, beta = t->mode == 3 ? 0 : t->beta[brow];
            for (int k = 0; k < t->k; k++)
                x += operand(&t->a, t->ta, member, i, k) * operand(&t->b, t->tb, member, k, j);
            x *= t->alpha[row] * t->sa * t->sb;
            if (beta != 0)
                x += beta * t->sc * at(&t->c, t->c.host, member, i, j);
            unsigned e = t->epilogue;
            if (e & BIAS)
                x += get(t->bias, t->bias_type, (size_t)(t->bias_stride * member + i));
            int64_t p = aux_place(t, member, i, j);
            double least = kd->d == I8     ? 0.51
                           : kd->d == E4M3 ? 0x1.1p-10
                                           : amount * (t->k + 8); /* half of the last place */
            if (e & AUX && e & RELU && bit(aux, p) != (creal(x) > 0))
                return fail(t, "mask", i, j, bit(aux, p), creal(x) > 0), true;
            if (e & AUX && e & GELU &&
                !close_to(get(aux, t->aux_type, (size_t)p), held(x, t->aux_type), t->aux_type, least))
                return fail(t, "aux", i, j, get(aux, t->aux_type, (size_t)p), x), true;
            if (e & RELU)
                x = creal(x) > 0 ? x : 0;
            if (e & GELU)
                x = gelu(creal(x));
            if (e & DRELU)
                x = bit(t->aux, p) ? x : 0;
            if (e & DGELU)
                x *= gelu_slope(creal(get(t->aux, t->aux_type, (size_t)p)));
            sums[i] += creal(x);
            num got = at(&t->d, d, member, i, j), want = held(x * t->sd, kd->d);
            if (!close_to(got, want, kd->d, least))
                return fail(t, "d", i, j, got, want), true;
        }
    int count = t->epilogue & BGRADB ? t->n : t->m;
    for (int i = 0; t->epilogue & (BGRAD | BGRADA | BGRADB) && i < count; i++) {
        num want = sums[i], got = get(bias, t->bias_type, (size_t)(t->bias_stride * member + i));
        for (int k = 0; !(t->epilogue & BGRAD) && k < t->k; k++)
            want = (k ? want : 0) +
                   (t->epilogue & BGRADA ? operand(&t->a, t->ta, member, i, k) : operand(&t->b, t->tb, member, k, i));
        if (!close_to(got, want, t->bias_type, 1e-3))
            return fail(t, "bias gradient", i, 0, got, want), true;
    }
    return false;
}

static void set(void *desc, int id, V value, size_t size) { OK(cublasLtMatmulDescSetAttribute(desc, id, value, size)); }
#define SET(id, T, value) set(desc, id, &(T){value}, sizeof(T))

static void scale(void *desc, int id, double *value)
{
    float f = (float)(upto(2) ? 0.5 : 2);
    void *d = to_device(&f, sizeof f); /* left: a few bytes */
    *value = f;
    SET(id, void *, d);
}

static void try(int kind)
{
    struct call t = {.kind = &kinds[kind], .sa = 1, .sb = 1, .sc = 1, .sd = 1};
    const struct kind *kd = t.kind;
    bool eight = kd->a == E4M3 || kd->a == E5M2, created = upto(2);
    uint64_t own[32];
    void *desc = own;
    t.m = upto(40) + 1, t.n = upto(40) + 1, t.k = upto(20) + 1, t.batch = upto(3) ? 1 : upto(3) + 1;
    int ops = is_complex(kd->a) ? 3 : 2;
    t.ta = upto(ops), t.tb = upto(ops);
    bool pointers = !upto(6), fancy = !upto(4);
    t.epilogue = kd->epilogues && !fancy ? epilogues[upto(16)] : 1;
    int orders = fancy ? 5 : 2;
    t.a = matrix(kd->a, upto(orders), t.ta ? t.k : t.m, t.ta ? t.m : t.k, t.batch, pointers);
    t.b = matrix(kd->b, upto(orders), t.tb ? t.n : t.k, t.tb ? t.k : t.n, t.batch, pointers);
    t.c = matrix(kd->c, upto(orders), t.m, t.n, t.batch, pointers);
    if (t.c.order <= ROW && !upto(6)) /* one line for all, as nvmath-python adds columns */
        t.c.ld = 0;
    t.d = matrix(kd->d, upto(is_complex(kd->d) ? 2 : orders), t.m, t.n, t.batch, pointers);
    t.mode = is_complex(kd->d) || fancy ? upto(2) : upto(5);
    char alpha[64 * 16], beta[64 * 16];
    for (int i = 0; i < 64; i++) {
        t.alpha[i] = kd->d == I8 ? 1.0 / 64 : (double[]){1, -1, 2}[upto(3)];
        t.beta[i] = (double[]){0, 1, -2}[upto(3)];
        if (is_complex(kd->d))
            t.alpha[i] += I * (upto(3) - 1), t.beta[i] += I * (upto(2));
        put(alpha, kd->scale, (size_t)i, t.alpha[i]);
        put(beta, kd->scale, (size_t)i, t.beta[i]);
    }
    /* what is multiplied by 0 is not read */
    if ((t.mode < 2 || t.mode == 4) && t.beta[0] == 0 && kd->c != I32 && kd->c != I8)
        for (size_t i = 0; i < t.c.n; i++)
            put(t.c.host, kd->c, i, NAN);
    struct matrix *all[] = {&t.a, &t.b, &t.c, &t.d};
    for (int i = 0; i < 4; i++)
        upload(all[i]);
    if (created)
        OK(cublasLtMatmulDescCreate(&desc, kd->compute, kd->scale));
    else
        OK(cublasLtMatmulDescInit_internal(own, upto(2) ? 256 : 184, kd->compute, kd->scale));
    SET(2, int, t.mode);
    SET(3, int, t.ta);
    SET(4, int, t.tb);
    SET(7, unsigned, t.epilogue);
    t.bias_type = kd->d == E4M3 || kd->d == E5M2 ? kd->c : kd->d;
    t.aux_type = kd->d;
    int longest = t.m > t.n ? t.m : t.n;
    t.bias_stride = longest + upto(3);
    if (t.epilogue & (BIAS | BGRAD | BGRADA | BGRADB)) {
        if (!upto(3) && kd->scale == F32) {
            t.bias_type = F32;
            SET(26, int, t.bias_type);
        }
        t.bias = malloc((size_t)(t.bias_stride * t.batch) * 8);
        for (int64_t i = 0; i < t.bias_stride * t.batch; i++)
            put(t.bias, t.bias_type, (size_t)i, element(F32));
        t.bias_at = to_device(t.bias, (size_t)(t.bias_stride * t.batch) * 8);
        SET(8, void *, t.bias_at);
        SET(10, int64_t, t.bias_stride);
    }
    size_t aux_size = 0;
    if (t.epilogue & AUX) {
        int line = t.d.order == ROW ? t.n : t.m, lines = t.d.order == ROW ? t.m : t.n;
        int round = t.epilogue & (RELU | DRELU) ? 128 : 8;
        if (!upto(2) && round == 8 && kd->scale == F32) {
            t.aux_type = BF16;
            SET(22, int, t.aux_type);
        }
        t.aux_ld = (line + round - 1) / round * round + round * upto(2);
        t.aux_stride = t.aux_ld * lines;
        aux_size = (size_t)(t.aux_stride * t.batch) * 8;
        t.aux = malloc(aux_size);
        for (size_t i = 0; i < aux_size / 8; i++)
            if (round == 128)
                t.aux[i] = (char)upto(256);
            else
                put(t.aux, t.aux_type, i, element(F32));
        t.aux_at = to_device(t.aux, aux_size);
        SET(11, void *, t.aux_at);
        SET(12, int64_t, t.aux_ld);
        SET(13, int64_t, t.aux_stride);
    }
    float *amax = NULL, most = -1;
    if (eight) {
        scale(desc, 17, &t.sa);
        scale(desc, 18, &t.sb);
        if (bytes(kd->d) == 1) {
            scale(desc, 20, &t.sd);
            amax = to_device(&most, sizeof most);
            SET(21, void *, amax);
        }
        SET(25, signed char, 1);
    }
    bool device = t.mode == 1 || t.mode == 2;
    V alpha_at = t.mode ? to_device(alpha, sizeof alpha) : alpha,
      beta_at = device ? to_device(beta, sizeof beta) : beta;
    void *pref;
    char results[96 * 2];
    int found = 0;
    OK(cublasLtMatmulPreferenceCreate(&pref));
    OK(cublasLtMatmulAlgoGetHeuristic(handle, desc, t.a.layout, t.b.layout, t.c.layout, t.d.layout, pref, 2, results,
                                      &found));
    OK(cublasLtMatmulPreferenceDestroy(pref));
    OK(cublasLtMatmul(upto(2) ? handle : as_cublas, desc, alpha_at, data(&t.a), t.a.layout, data(&t.b), t.b.layout,
                      beta_at, data(&t.c), t.c.layout, data(&t.d), t.d.layout, found && upto(2) ? results : NULL, NULL,
                      0, NULL));
    OK(cudaStreamSynchronize(NULL));
    char *d = malloc(t.d.n * bytes(kd->d)), *aux = malloc(aux_size + 1),
         *bias = malloc((size_t)(t.bias_stride * t.batch) * 8);
    cudaMemcpy(d, t.d.at, t.d.n * bytes(kd->d), 2);
    if (t.aux_at)
        cudaMemcpy(aux, t.aux_at, aux_size, 2);
    if (t.bias_at)
        cudaMemcpy(bias, t.bias_at, (size_t)(t.bias_stride * t.batch) * 8, 2);
    for (int i = 0; i < t.batch; i++)
        if (member_wrong(&t, i, d, aux, bias))
            break;
    if (amax) { /* of the numbers before the last scale: bounds from what was stored */
        double stored = 0;
        cudaMemcpy(&most, amax, sizeof most, 2);
        for (int i = 0; i < t.batch; i++)
            for (int k = 0; k < t.m * t.n; k++)
                stored = fmax(stored, fabs(creal(at(&t.d, d, i, k % t.m, k / t.m))) / t.sd);
        if (!(most * (1 + tolerance(kd->d)) >= stored) || (stored * t.sd < 448 && !close_to(most, stored, kd->d, 0.01)))
            fail(&t, "amax", 0, 0, most, stored);
    }
    if (created)
        OK(cublasLtMatmulDescDestroy(desc));
    for (int i = 0; i < 4; i++)
        drop(all[i]);
    if (t.mode)
        cudaFree((void *)(uintptr_t)alpha_at);
    if (device)
        cudaFree((void *)(uintptr_t)beta_at);
    cudaFree(t.aux_at), cudaFree(t.bias_at), cudaFree(amax);
    free(d), free(aux), free(bias), free(t.aux), free(t.bias);
}

int main(void)
{
    if (!opened())
        return 77;
    OK(cublasCreate_v2(&as_cublas));
    for (int i = 0; i < 60 && check_failures < 20; i++)
        for (int kind = 0; kind < KINDS; kind++)
            try(kind);
    OK(cublasDestroy_v2(as_cublas));
    OK(cublasLtDestroy(handle));
    IS(cublasLtDestroy(handle), 1);
    return check_end("cublasLtMatmul");
}
