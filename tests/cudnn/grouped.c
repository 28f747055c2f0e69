/* Products in groups, as mixtures of experts have them, against plain loops: drawn groups, some empty, of several
 * batches; matrices of either order; rows that are gathered or scattered. */
#include "graph.h"

enum { PLAIN, GATHERED, SCATTERED };

static int *order_of(int n) /* a permutation */
{
    int *p = malloc((size_t)n * sizeof *p);
    for (int i = 0; i < n; i++)
        p[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = upto(i + 1), o = p[i];
        p[i] = p[k], p[k] = o;
    }
    return p;
}

static struct tensor numbers(int rows, int first, const double *v)
{
    struct tensor t = make(I32, 3, first ? (int[]){rows, 1, 1} : (int[]){1, rows, 1}, NCHW, false, false);
    for (int i = 0; i < rows; i++)
        t.v[i] = v[i];
    upload(&t);
    return t;
}

static desc operation(int way, int top, desc *d)
{
    static const int names[] = {A(OPERATION_MOE_GROUPED_MATMUL_TOKEN_DESC),
                                A(OPERATION_MOE_GROUPED_MATMUL_WEIGHT_DESC),
                                A(OPERATION_MOE_GROUPED_MATMUL_FIRST_TOKEN_OFFSET_DESC),
                                A(OPERATION_MOE_GROUPED_MATMUL_OUTPUT_DESC),
                                A(OPERATION_MOE_GROUPED_MATMUL_TOKEN_INDEX_DESC),
                                A(OPERATION_MOE_GROUPED_MATMUL_TOKEN_KS_DESC)};
    desc o = create(KIND(OPERATION_MOE_GROUPED_MATMUL));
    set_enum(o, A(OPERATION_MOE_GROUPED_MATMUL_MODE), TYPE(MOE_GROUPED_MATMUL_MODE), way);
    set_enum(o, A(OPERATION_MOE_GROUPED_MATMUL_MATH_PREC), TYPE(DATA_TYPE), F32);
    for (int i = 0; i < 6; i++)
        set_desc(o, names[i], d[i]);
    if (way == SCATTERED)
        set(o, A(OPERATION_MOE_GROUPED_MATMUL_TOP_K), CUDNN_TYPE_INT32, 1, &top);
    OK(finalize(o));
    return o;
}

static void one(int type, int result, int way)
{
    const int experts = 1 + upto(4), groups = experts * (1 + upto(2)), top = 1 + upto(3), tokens = 1 + upto(12);
    const int rows = way == PLAIN ? tokens : tokens * top, inner = 1 + upto(20), wide = 1 + upto(20);
    const int64_t uid[] = {1, 2, 3, 4, 5, 6};
    double first[8], index[64], place[64];
    struct tensor t[6] = {make(type, 3, (int[]){1, way == GATHERED ? tokens : rows, inner}, NCHW, upto(2), false),
                          make(type, 3, (int[]){experts, inner, wide}, NCHW, upto(2), false)};
    int *to = order_of(rows); /* each row's place among the tokens' experts */
    for (int g = 0; g < groups; g++)
        first[g] = g              ? first[g - 1] + (upto(3) ? upto(rows - (int)first[g - 1] + 1) : 0)
                   : upto(8) == 0 ? upto(rows)
                                  : 0;
    for (int r = 0; r < rows; r++)
        index[r] = to[r] / top, place[r] = to[r] % top;
    t[2] = numbers(groups, 1, first);
    t[3] = make(result, 3, (int[]){1, rows, wide}, NCHW, upto(2), false);
    t[4] = numbers(rows, 0, index);
    t[5] = numbers(rows, 0, place);
    double *want = malloc((size_t)count(&t[3]) * sizeof *want);
    memcpy(want, t[3].v, (size_t)count(&t[3]) * sizeof *want);
    for (int r = 0, g = -1; r < rows; r++) {
        while (g + 1 < groups && first[g + 1] <= r)
            g++;
        for (int c = 0; g >= 0 && c < wide; c++) {
            double sum = 0;
            for (int k = 0; k < inner; k++)
                sum += t[0].v[(way == GATHERED ? (int)index[r] : r) * inner + k] *
                       t[1].v[(g % experts * inner + k) * wide + c];
            want[(way == SCATTERED ? to[r] : r) * wide + c] = held(result, sum);
        }
    }
    desc d[6];
    void *at[6];
    for (int i = 0; i < 6; i++) {
        d[i] = i < 4 + way ? of(&t[i], uid[i]) : NULL;
        at[i] = t[i].at;
    }
    desc op = operation(way, top, d);
    if (run_graph(1, &op, 4 + way, uid, at))
        same(&t[3], want, 1, way == PLAIN ? "groups" : way == GATHERED ? "gathered" : "scattered");
    destroy_all();
    for (int i = 0; i < 6; i++)
        drop(&t[i]);
    free(want);
    free(to);
}

/* The experts' gradients: of a group without rows nothing but zeros. */
static void gradient(int type, int result)
{
    const int groups = 1 + upto(5), rows = 1 + upto(12), inner = 1 + upto(20), wide = 1 + upto(20);
    double first[8];
    struct tensor x = make(type, 3, (int[]){1, rows, inner}, NCHW, upto(2), false);
    struct tensor dy = make(type, 3, (int[]){1, rows, wide}, NCHW, upto(2), false);
    struct tensor dw = make(result, 3, (int[]){groups, inner, wide}, NCHW, upto(2), false);
    for (int g = 0; g < groups; g++)
        first[g] = g ? first[g - 1] + (upto(3) ? upto(rows - (int)first[g - 1] + 1) : 0) : upto(3) ? 0 : upto(rows);
    struct tensor f = numbers(groups, 1, first);
    double *want = calloc((size_t)count(&dw), sizeof *want);
    for (int g = 0; g < groups; g++)
        for (int k = 0; k < inner; k++)
            for (int c = 0; c < wide; c++) {
                double sum = 0;
                for (int r = (int)first[g]; r < (g + 1 < groups ? (int)first[g + 1] : rows); r++)
                    sum += x.v[r * inner + k] * dy.v[r * wide + c];
                want[(g * inner + k) * wide + c] = held(result, sum);
            }
    desc op = create(KIND(OPERATION_MOE_GROUPED_MATMUL_BWD));
    set_enum(op, A(OPERATION_MOE_GROUPED_MATMUL_BWD_MATH_PREC), TYPE(DATA_TYPE), F32);
    set_desc(op, A(OPERATION_MOE_GROUPED_MATMUL_BWD_TOKEN_DESC), of(&x, 1));
    set_desc(op, A(OPERATION_MOE_GROUPED_MATMUL_BWD_DOUTPUT_DESC), of(&dy, 2));
    set_desc(op, A(OPERATION_MOE_GROUPED_MATMUL_BWD_FIRST_TOKEN_OFFSET_DESC), of(&f, 3));
    set_desc(op, A(OPERATION_MOE_GROUPED_MATMUL_BWD_DWEIGHT_DESC), of(&dw, 4));
    OK(finalize(op));
    if (run_graph(1, &op, 4, (int64_t[]){1, 2, 3, 4}, (void *[]){x.at, dy.at, f.at, dw.at}))
        same(&dw, want, 1, "gradients of experts");
    destroy_all();
    drop(&x), drop(&dy), drop(&dw), drop(&f);
    free(want);
}

int main(void)
{
    static const int types[][2] = {{F32, F32}, {F16, F16}, {BF16, F32}, {F64, F64}, {I8, I32}};
    MUST(cudnnCreate(&handle));
    for (int i = 0; i < 300; i++)
        one(types[i % 5][0], types[i % 5][1], i / 5 % 3);
    for (int i = 0; i < 100; i++)
        gradient(types[i % 5][0], types[i % 5][1]);
    OK(cudnnDestroy(handle));
    return check_end("products in groups");
}
