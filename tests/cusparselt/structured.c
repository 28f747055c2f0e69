/* cuSPARSELt of random shapes, types, orders, operations and batches, against plain loops: pruning by all patterns,
 * the check, and products of what compression kept, with everything that follows them. */
#include "../cudnn/dnn.h"

/* cudaDataType_t, and the type by which dnn.h knows it */
enum { R32F = 0, R16F = 2, R8I = 3, R32I = 10, R16BF = 14, R8F_E4M3 = 28, R8F_E5M2 = 29 };
enum { COL = 1, ROW = 2, PLAIN = 0, TRANSPOSE = 1 };
enum { INVALID = 3, ARCH = 10, UNINITIALIZED = 1 };
typedef struct {
    char data[512];
} opaque;

static opaque lt;

static double from_eight(unsigned u, int digits) /* 3: e4m3; 2: e5m2 */
{
    int bias = digits == 3 ? 7 : 15, e = (int)(u >> digits) & (digits == 3 ? 15 : 31);
    double m = u & ((1u << digits) - 1), v = e ? ldexp(1 + ldexp(m, -digits), e - bias) : ldexp(m, 1 - bias - digits);
    return u & 0x80 ? -v : v;
}
static unsigned to_eight(double v, int digits)
{
    for (unsigned u = 0; u < 256; u++)
        if (from_eight(u, digits) == v && (u < 0x78 || (u & 0x7f) < 0x78))
            return u;
    return 0;
}
static int known(int type)
{
    return type == R32F ? F32 : type == R16F ? F16 : type == R16BF ? BF16 : type == R32I ? I32 : I8;
}
static double lget(const void *p, int type, size_t i)
{
    return type == R8F_E4M3 || type == R8F_E5M2 ? from_eight(((const uint8_t *)p)[i], type == R8F_E4M3 ? 3 : 2)
                                                : get(p, known(type), i);
}
static void lput(void *p, int type, size_t i, double v)
{
    if (type == R8F_E4M3 || type == R8F_E5M2)
        ((uint8_t *)p)[i] = (uint8_t)to_eight(v, type == R8F_E4M3 ? 3 : 2);
    else
        put(p, known(type), i, v);
}
static size_t width(int type) { return bytes(known(type)); }
static int multiple(int type, bool structured)
{
    int m = type == R32F || type == R32I ? 4 : type == R16F || type == R16BF ? 8 : 16;
    return structured ? 2 * m : m;
}

struct matrix {
    int type, rows, columns, ld, order, batches;
    long stride; /* 0: one for all */
    size_t size;
    char *host;
    void *at;
    opaque desc;
};
static size_t spot(const struct matrix *m, int batch, int r, int c)
{
    return (size_t)(batch * m->stride) + (size_t)(m->order == ROW ? r * m->ld + c : c * m->ld + r);
}
static double element(const struct matrix *m, int batch, int r, int c)
{
    return lget(m->host, m->type, spot(m, batch, r, c));
}

static struct matrix matrix(int type, int rows, int columns, int batches, bool structured, bool shared)
{
    struct matrix m = {type, rows, columns, 0, upto(2) ? ROW : COL, batches, 0, 0, NULL, NULL, {{0}}};
    m.ld = (m.order == ROW ? columns : rows) + multiple(type, false) * upto(2);
    m.size = (size_t)m.ld * (size_t)(m.order == ROW ? rows : columns);
    m.stride = shared || batches == 1 ? 0 : (long)m.size + 16 * upto(2);
    m.size += (size_t)(m.stride * (batches - 1));
    m.host = calloc(m.size + 8, width(type));
    for (size_t i = 0; i < m.size; i++)
        lput(m.host, type, i, type == R8I ? upto(15) - 7 : (upto(9) - 4) / 2.0);
    MUST(cudaMalloc(&m.at, m.size * width(type)));
    OK(cudaMemcpy(m.at, m.host, m.size * width(type), 1));
    if (structured)
        OK(cusparseLtStructuredDescriptorInit(&lt, &m.desc, rows, columns, m.ld, 16, type, m.order, 0));
    else
        OK(cusparseLtDenseDescriptorInit(&lt, &m.desc, rows, columns, m.ld, 16, type, m.order));
    int64_t stride = m.stride, back = -1;
    OK(cusparseLtMatDescSetAttribute(&lt, &m.desc, 0, &batches, sizeof batches));
    OK(cusparseLtMatDescSetAttribute(&lt, &m.desc, 1, &stride, sizeof stride));
    OK(cusparseLtMatDescGetAttribute(&lt, &m.desc, 1, &back, sizeof back));
    IS(back, stride);
    return m;
}
static void release(struct matrix *m)
{
    OK(cusparseLtMatDescriptorDestroy(&m->desc));
    IS(cusparseLtMatDescriptorDestroy(&m->desc), INVALID);
    cudaFree(m->at);
    free(m->host);
}

/* Element i of line l, where the sum runs over i. */
static double *line_of(struct matrix *m, int batch, bool rows, int l, int length, double *to)
{
    for (int i = 0; i < length; i++)
        to[i] = element(m, batch, rows ? l : i, rows ? i : l);
    return to;
}

/* What pruning leaves is the matrix's own numbers or 0, half of each group, and no other half is larger. */
static void check_pruned(struct matrix *was, struct matrix *now, int batch, bool rows, bool tile)
{
    int group = was->type == R32F ? 2 : 4, lines = rows ? was->rows : was->columns,
        length = rows ? was->columns : was->rows;
    double *a = malloc((size_t)length * 8), *b = malloc((size_t)length * 8), best, sum, kept;
    for (int l = 0; l < lines; l++) {
        line_of(was, batch, rows, l, length, a);
        line_of(now, batch, rows, l, length, b);
        for (int g = 0; g < length; g += group) {
            int count = 0;
            double v[4] = {0};
            kept = sum = 0;
            for (int i = 0; i < group; i++) {
                EXPECT(b[g + i] == 0 || b[g + i] == a[g + i], "a pruned number is %g, was %g", b[g + i], a[g + i]);
                count += b[g + i] != 0;
                kept += fabs(b[g + i]);
                v[i] = fabs(a[g + i]);
            }
            for (int i = 0; i < group; i++) { /* the largest half */
                int larger = 0;
                for (int k = 0; k < group; k++)
                    larger += v[k] > v[i] || (v[k] == v[i] && k < i);
                sum += larger < group / 2 ? v[i] : 0;
            }
            EXPECT(count <= group / 2 && (tile || kept == sum), "strip: %g kept of %g", kept, sum);
        }
    }
    for (int l = 0; tile && l < lines; l += group)
        for (int g = 0; g < length; g += group) {
            int column[4] = {0};
            kept = best = 0;
            for (int r = 0; r < group; r++)
                for (int c = 0; c < group; c++) {
                    double w = element(now, batch, rows ? l + r : g + c, rows ? g + c : l + r);
                    kept += fabs(w);
                    column[c] += w != 0;
                }
            for (int c = 0; c < group; c++)
                EXPECT(column[c] <= group / 2, "a column of a tile keeps %d", column[c]);
            for (int mask = 0; mask < 1 << group * group; mask++) { /* every half of the tile */
                int in_row[4] = {0}, in_column[4] = {0};
                bool good = true;
                sum = 0;
                for (int i = 0; i < group * group && good; i++)
                    if (mask >> i & 1)
                        good = ++in_row[i / group] <= group / 2 && ++in_column[i % group] <= group / 2;
                for (int i = 0; i < group; i++)
                    good = good && in_row[i] == group / 2 && in_column[i] == group / 2;
                if (!good)
                    continue;
                for (int i = 0; i < group * group; i++) {
                    int r = i / group, c = i % group;
                    if (mask >> i & 1)
                        sum += fabs(element(was, batch, rows ? l + r : g + c, rows ? g + c : l + r));
                }
                best = sum > best ? sum : best;
            }
            EXPECT(fabs(kept - best) < 1e-9, "tile: %g kept, %g is possible", kept, best);
            if (group == 4 && upto(3)) /* 65,536 ways a tile */
                g += 8;
        }
    free(a);
    free(b);
}

static int read_valid(const void *at)
{
    int v = 7;
    OK(cudaMemcpy(&v, at, sizeof v, 2));
    return v;
}

static void product(int type, int c_type, int d_type)
{
    bool sparse_a = upto(3) > 0, tile = upto(2), relu = upto(2), gelu = !relu && upto(2), biased = upto(2);
    bool alphas = upto(3) == 0, betas = upto(3) == 0, by_plan = upto(2);
    int op[] = {upto(2), upto(2)}, batches = 1 + upto(2), wide = multiple(type, true), unit = multiple(type, false);
    int least = unit > multiple(d_type, false) ? unit : multiple(d_type, false);
    int m = wide * (1 + upto(2)), k = wide * (1 + upto(2)), n = least * (1 + upto(2));
    if (!sparse_a) {
        int swap = m;
        m = n, n = swap;
    }
    struct matrix a = matrix(type, op[0] ? k : m, op[0] ? m : k, batches, sparse_a, upto(2));
    struct matrix b = matrix(type, op[1] ? n : k, op[1] ? k : n, batches, !sparse_a, upto(2));
    struct matrix c = matrix(c_type, m, n, batches, false, false), d = matrix(d_type, m, n, batches, false, false);
    struct matrix *sparse = sparse_a ? &a : &b, pruned = *sparse;
    bool rows = sparse_a ? !op[0] : op[1] != 0; /* the sum runs along rows of the stored matrix */
    opaque matmul, choice, plan;
    void *out, *valid, *packed, *bias_at, *alpha_at, *beta_at;
    size_t size = 0, room = 9;
    float alpha = upto(2) ? 1 : 0.5f, beta = upto(2) ? 0 : 2, upper = 5, threshold = 0.25f, av[128], bv[128];
    int on = 1, bias_type = type == R8I ? R32F : d_type == R8F_E4M3 || d_type == R8F_E5M2 ? c_type : d_type;
    int64_t bias_stride = batches > 1 && upto(2) ? m : 0;
    float bias[256] = {0}, scale = 2;
    char bias_host[1024];
    OK(cusparseLtMatmulDescriptorInit(&lt, &matmul, op[0], op[1], &a.desc, &b.desc, &c.desc, &d.desc,
                                      type == R8I ? 0 : 2));
    if (relu) {
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 0, &on, sizeof on));
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 1, &upper, sizeof upper));
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 2, &threshold, sizeof threshold));
    }
    if (gelu) {
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 3, &on, sizeof on));
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 4, &scale, sizeof scale));
    }
    for (int i = 0; i < 256; i++) {
        bias[i] = (float)(upto(17) - 8) / 4;
        lput(bias_host, bias_type, (size_t)i, bias[i]);
    }
    for (int i = 0; i < 128; i++)
        av[i] = (float)(upto(5) - 2), bv[i] = (float)(upto(3) - 1);
    MUST(cudaMalloc(&bias_at, 1024));
    MUST(cudaMalloc(&alpha_at, sizeof av));
    MUST(cudaMalloc(&beta_at, sizeof bv));
    OK(cudaMemcpy(bias_at, bias_host, 1024, 1));
    OK(cudaMemcpy(alpha_at, av, sizeof av, 1));
    OK(cudaMemcpy(beta_at, bv, sizeof bv, 1));
    if (biased) {
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 8, &bias_at, sizeof bias_at));
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 7, &bias_stride, sizeof bias_stride));
    }
    if (alphas)
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 5, &on, sizeof on));
    if (betas)
        OK(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 6, &on, sizeof on));
    OK(cusparseLtMatmulAlgSelectionInit(&lt, &choice, &matmul, 0));
    OK(cusparseLtMatmulPlanInit(&lt, &plan, &matmul, &choice));

    /* pruning, also in place */
    MUST(cudaMalloc(&out, sparse->size * width(type)));
    MUST(cudaMalloc(&valid, sizeof(int)));
    OK(cudaMemcpy(out, sparse->at, sparse->size * width(type), 3));
    OK(by_plan
           ? cusparseLtSpMMAPrune(&lt, &matmul, upto(2) ? out : sparse->at, out, tile ? 0 : 1, NULL)
           : cusparseLtSpMMAPrune2(&lt, &sparse->desc, sparse_a, op[!sparse_a], sparse->at, out, tile ? 0 : 1, NULL));
    pruned.host = calloc(sparse->size + 8, width(type));
    OK(cudaMemcpy(pruned.host, out, sparse->size * width(type), 2));
    for (int i = 0; i < (sparse->stride ? batches : 1); i++)
        check_pruned(sparse, &pruned, i, rows, tile);
    OK(by_plan ? cusparseLtSpMMAPruneCheck(&lt, &matmul, out, valid, NULL)
               : cusparseLtSpMMAPruneCheck2(&lt, &sparse->desc, sparse_a, op[!sparse_a], out, valid, NULL));
    IS(read_valid(valid), 0);
    struct matrix wrong = pruned; /* one group is full */
    wrong.host = malloc(sparse->size * width(type) + 8);
    memcpy(wrong.host, pruned.host, sparse->size * width(type));
    for (int i = 0; i < 4; i++)
        lput(wrong.host, type, rows ? spot(&wrong, 0, 1, i) : spot(&wrong, 0, i, 1), 1);
    OK(cudaMemcpy(sparse->at, wrong.host, sparse->size * width(type), 1));
    OK(cusparseLtSpMMAPruneCheck(&lt, &matmul, sparse->at, valid, NULL));
    IS(read_valid(valid), 1);
    free(wrong.host);

    /* compression and the product */
    OK(by_plan ? cusparseLtSpMMACompressedSize(&lt, &plan, &size, &room)
               : cusparseLtSpMMACompressedSize2(&lt, &sparse->desc, &size, &room));
    size_t numbers = (size_t)(sparse->rows * sparse->columns) * (size_t)(sparse->stride ? batches : 1);
    EXPECT(size <= numbers * width(type) * (width(type) == 1 ? 10 : 9) / 16, "%zu bytes of %zu numbers", size, numbers);
    MUST(cudaMalloc(&packed, size));
    OK(by_plan ? cusparseLtSpMMACompress(&lt, &plan, out, packed, NULL, NULL)
               : cusparseLtSpMMACompress2(&lt, &sparse->desc, sparse_a, op[!sparse_a], out, packed, NULL, NULL));
    OK(cusparseLtMatmulGetWorkspace(&lt, &plan, &room));
    IS(room, 0);
    void *stream = NULL;
    const void *at[] = {sparse_a ? packed : a.at, sparse_a ? b.at : packed};
    const void *alpha_p = alphas ? alpha_at : (void *)&alpha, *beta_p = betas ? beta_at : (void *)&beta;
    OK(upto(2) ? cusparseLtMatmul(&lt, &plan, alpha_p, at[0], at[1], beta_p, c.at, d.at, NULL, &stream, 1)
               : cusparseLtMatmulSearch(&lt, &plan, alpha_p, at[0], at[1], beta_p, c.at, d.at, NULL, NULL, 0));
    char *got = malloc(d.size * width(d_type) + 8);
    OK(cudaMemcpy(got, d.at, d.size * width(d_type), 2));
    struct matrix *left = sparse_a ? &pruned : &a, *right = sparse_a ? &b : &pruned;
    bool good = true;
    for (int batch = 0; batch < batches && good; batch++)
        for (int i = 0; i < m && good; i++)
            for (int j = 0; j < n && good; j++) {
                double sum = 0;
                for (int l = 0; l < k; l++)
                    sum += element(left, batch, op[0] ? l : i, op[0] ? i : l) *
                           element(right, batch, op[1] ? j : l, op[1] ? l : j);
                double v = (double)(alphas ? av[i] : alpha) * sum;
                v += (double)(betas ? bv[i] : beta) * element(&c, batch, i, j);
                v += biased ? (double)bias[batch * bias_stride + i] : 0;
                if (relu)
                    v = v <= (double)threshold ? 0 : fmin(v, (double)upper);
                if (gelu)
                    v *= 1 + tanh(sqrt(2 / acos(-1)) * (v + 0.044715 * v * v * v));
                double far = d_type == R32F ? 1e-5 : d_type == R16F ? 1e-3 : 8e-3;
                if (d_type == R8I || d_type == R32I) {
                    v = fmin(d_type == R8I ? 127 : 1e9, fmax(d_type == R8I ? -128 : -1e9, v));
                    far = 0.501 / (1 + fabs(v));
                }
                if (d_type == R8F_E4M3 || d_type == R8F_E5M2) {
                    double most = d_type == R8F_E4M3 ? 448 : 57344;
                    v = fmin(most, fmax(-most, v));
                    far = d_type == R8F_E4M3 ? 0.07 : 0.13;
                }
                double is = lget(got, d_type, spot(&d, batch, i, j));
                good = fabs(is - v) <= far * (1 + fabs(v));
                EXPECT(good, "types %d %d %d: (%d, %d) of %d is %g, not %g", type, c_type, d_type, i, j, batch, is, v);
            }

    /* what is none */
    IS(cusparseLtMatmul(&lt, &plan, alpha_p, NULL, at[1], beta_p, c.at, d.at, NULL, &stream, 1), INVALID);
    IS(cusparseLtMatmul(&lt, &matmul, alpha_p, at[0], at[1], beta_p, c.at, d.at, NULL, &stream, 1), INVALID);
    IS(cusparseLtMatmul(&lt, &plan, alpha_p, at[0], at[1], beta_p, c.at, d.at, NULL, NULL, 1), INVALID);
    IS(cusparseLtMatmul(&matmul, &plan, alpha_p, at[0], at[1], beta_p, c.at, d.at, NULL, &stream, 1), UNINITIALIZED);
    IS(cusparseLtSpMMAPrune2(&lt, &d.desc, 1, 0, d.at, d.at, 0, NULL), INVALID);
    IS(cusparseLtMatmulDescriptorInit(&lt, &matmul, 0, 0, &c.desc, &d.desc, &c.desc, &d.desc, 2), INVALID);
    OK(cusparseLtMatmulPlanDestroy(&plan));
    IS(cusparseLtMatmul(&lt, &plan, alpha_p, at[0], at[1], beta_p, c.at, d.at, NULL, &stream, 1), INVALID);
    OK(cusparseLtMatmulAlgSelectionDestroy(&choice));
    cudaFree(out), cudaFree(valid), cudaFree(packed), cudaFree(bias_at), cudaFree(alpha_at), cudaFree(beta_at);
    free(got);
    free(pruned.host);
    release(&a), release(&b), release(&c), release(&d);
}

static void refuses(void)
{
    opaque m, none = {{0}}, other, matmul, choice;
    int value = 0;
    float f = 1;
    IS(cusparseLtInit(NULL), INVALID);
    IS(cusparseLtDenseDescriptorInit(&none, &m, 32, 32, 32, 16, R16F, ROW), UNINITIALIZED);
    IS(cusparseLtDenseDescriptorInit(&lt, NULL, 32, 32, 32, 16, R16F, ROW), INVALID);
    IS(cusparseLtDenseDescriptorInit(&lt, &m, 32, 32, 16, 16, R16F, ROW), INVALID);
    IS(cusparseLtDenseDescriptorInit(&lt, &m, 32, 32, 32, 8, R16F, ROW), INVALID);
    IS(cusparseLtDenseDescriptorInit(&lt, &m, 32, 32, 32, 16, R16F, 3), INVALID);
    IS(cusparseLtDenseDescriptorInit(&lt, &m, 0, 32, 32, 16, R16F, ROW), INVALID);
    IS(cusparseLtDenseDescriptorInit(&lt, &m, 32, 32, 32, 16, 1, ROW), ARCH); /* doubles */
    IS(cusparseLtDenseDescriptorInit(&lt, &m, 32, 36, 36, 16, R16F, ROW), ARCH);
    IS(cusparseLtStructuredDescriptorInit(&lt, &m, 32, 24, 24, 16, R16F, ROW, 0), ARCH);
    IS(cusparseLtStructuredDescriptorInit(&lt, &m, 32, 32, 32, 16, R16F, ROW, 1), INVALID);
    OK(cusparseLtStructuredDescriptorInit(&lt, &m, 32, 32, 32, 16, R16F, ROW, 0));
    OK(cusparseLtDenseDescriptorInit(&lt, &other, 32, 32, 32, 16, R16F, ROW));
    IS(cusparseLtMatDescSetAttribute(&lt, &m, 0, &value, sizeof value), INVALID); /* no batches */
    IS(cusparseLtMatDescSetAttribute(&lt, &m, 0, &value, 1), INVALID);
    IS(cusparseLtMatDescSetAttribute(&lt, &m, 7, &value, sizeof value), ARCH);
    IS(cusparseLtMatmulDescriptorInit(&lt, &matmul, 0, 0, &m, &m, &other, &other, 2), INVALID);
    IS(cusparseLtMatmulDescriptorInit(&lt, &matmul, 2, 0, &m, &other, &other, &other, 2), INVALID);
    IS(cusparseLtMatmulDescriptorInit(&lt, &matmul, 0, 0, &m, &other, &other, &other, 9), INVALID);
    OK(cusparseLtMatmulDescriptorInit(&lt, &matmul, 0, 0, &m, &other, &other, &other, 2));
    IS(cusparseLtMatmulDescSetAttribute(&lt, &matmul, 10, &value, sizeof value), ARCH); /* scales */
    IS(cusparseLtMatmulAlgSelectionInit(&lt, &choice, &matmul, 1), INVALID);
    OK(cusparseLtMatmulAlgSelectionInit(&lt, &choice, &matmul, 0));
    OK(cusparseLtMatmulAlgGetAttribute(&lt, &choice, 1, &value, sizeof value));
    EXPECT(value > 0);
    IS(cusparseLtMatmulAlgSetAttribute(&lt, &choice, 0, &value, sizeof value), INVALID); /* behind the last */
    IS(cusparseLtMatmulAlgSetAttribute(&lt, &choice, 1, &value, sizeof value), INVALID); /* read only */
    value--;
    OK(cusparseLtMatmulAlgSetAttribute(&lt, &choice, 0, &value, sizeof value));
    OK(cusparseLtMatmulAlgGetAttribute(&lt, &choice, 0, &value, sizeof value));
    IS(cusparseLtMatmulPlanInit(&lt, &none, &matmul, &m), INVALID);
    IS(cusparseLtMatmul(&lt, &none, &f, &f, &f, &f, &f, &f, NULL, NULL, 0), INVALID);
    OK(cusparseLtGetVersion(&lt, &value));
    EXPECT(value >= 502);
    EXPECT(!strcmp(cusparseLtGetErrorName(3), "CUSPARSE_STATUS_INVALID_VALUE"));
}

int main(int argc, char **argv)
{
    static const int types[][3] = {{R32F, R32F, R32F},     {R16F, R16F, R16F},         {R16BF, R16BF, R16BF},
                                   {R8I, R8I, R8I},        {R8I, R32I, R32I},          {R8I, R16F, R16F},
                                   {R8I, R16BF, R16BF},    {R8F_E4M3, R16F, R16F},     {R8F_E4M3, R16F, R8F_E4M3},
                                   {R8F_E5M2, R32F, R32F}, {R8F_E5M2, R16BF, R8F_E5M2}};
    handle = &lt;
    MUST(cusparseLtInit(handle));
    refuses();
    (void)argv;
    for (int i = 0; i < (argc > 1 ? 11 : 66); i++) /* few: while memory runs out */
        product(types[i % 11][0], types[i % 11][1], types[i % 11][2]);
    OK(cusparseLtDestroy(&lt));
    IS(cusparseLtDestroy(&lt), UNINITIALIZED);
    return check_end("structured sparsity");
}
