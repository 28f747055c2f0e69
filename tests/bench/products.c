/* Products of matrices as one operation of cuDNN's graphs on the CPU muDNN beside oneDNN's product called directly, on
 * the same memory in the same process, waited for one by one: floats and, where oneDNN has them, bfloat16. Halves are
 * beside oneDNN's floats of the same sizes where it has none of their own. Times as ratios. */
#include "graph.h"

#include <string.h>

#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

#if defined(DNNL_ARG_SHIFT) && DNNL_VERSION_MAJOR == 2

enum { ROUNDS = 7, F32 = 0, F16 = 2, BF16 = 9, MATRICES = 3 };
#define ONE(name) ((__typeof__(dnnl_##name) *)in("libdnnl.so.2", "dnnl_" #name))

static dnnl_engine_t engine;
static dnnl_stream_t stream;

/* oneDNN's product of `numbers`, and its operands at `at`; false: it has none here. */
static bool make_direct(dnnl_data_type_t numbers, const int64_t dim[MATRICES][4], void *const *at,
                        dnnl_primitive_t *product, dnnl_exec_arg_t *args)
{
    static const int names[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_memory_desc_t layout[MATRICES];
    dnnl_matmul_desc_t d;
    dnnl_primitive_desc_t pd;
    for (int i = 0; i < MATRICES; i++)
        must(ONE(memory_desc_init_by_tag)(&layout[i], 4, dim[i], numbers, dnnl_abcd), "layout");
    if (ONE(matmul_desc_init)(&d, &layout[0], &layout[1], NULL, &layout[2]) ||
        ONE(primitive_desc_create)(&pd, &d, NULL, engine, NULL))
        return false;
    must(ONE(primitive_create)(product, pd), "product");
    for (int i = 0; i < MATRICES; i++) {
        args[i].arg = names[i];
        must(ONE(memory_create)(&args[i].memory, &layout[i], engine, at[i]), "memory");
    }
    return true;
}

static struct call make_ours(int type, const int64_t dim[MATRICES][4], void *const *at)
{
    void *how = create(CUDNN_BACKEND_MATMUL_DESCRIPTOR), *op = create(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR);
    const int compute = F32;
    set(how, A(MATMUL_COMP_TYPE), CUDNN_TYPE_DATA_TYPE, 1, &compute);
    must(DNN(BackendFinalize)(how), "matmul");
    set_object(op, A(OPERATION_MATMUL_DESC), how);
    set_object(op, A(OPERATION_MATMUL_ADESC), tensor(1, type, dim[0], false));
    set_object(op, A(OPERATION_MATMUL_BDESC), tensor(2, type, dim[1], false));
    set_object(op, A(OPERATION_MATMUL_CDESC), tensor(3, type, dim[2], false));
    must(DNN(BackendFinalize)(op), "operation");
    return prepare(op, MATRICES, at);
}

/* Seconds of a call: oneDNN's and ours, of the rounds that others disturbed least. False: there is nothing to compare
 * with. *own: oneDNN's is of the same type. */
static bool compare(int type, int64_t batch, int64_t m, int64_t n, int64_t k, double best[2], bool *own)
{
    const int64_t dim[MATRICES][4] = {{1, batch, m, k}, {1, batch, k, n}, {1, batch, m, n}};
    void *at[MATRICES], *floats[MATRICES];
    dnnl_primitive_t product;
    dnnl_exec_arg_t args[MATRICES];
    __typeof__(dnnl_primitive_execute) *execute = ONE(primitive_execute);
    __typeof__(dnnl_stream_wait) *wait = ONE(stream_wait);
    int (*run)() = DNN(BackendExecute), (*synchronize)() = RT(StreamSynchronize);
    for (int i = 0; i < MATRICES; i++) {
        const size_t count = (size_t)(dim[i][1] * dim[i][2] * dim[i][3]);
        must(RT(Malloc)(&at[i], count * (type == F32 ? 4 : 2)), "cudaMalloc");
        must(RT(Malloc)(&floats[i], count * 4), "cudaMalloc");
        for (size_t e = 0; e < count; e++) { /* 1 and 2, in each type */
            ((float *)floats[i])[e] = 1 + (float)(e % 2);
            if (type == F32)
                ((float *)at[i])[e] = 1 + (float)(e % 2);
            else
                ((uint16_t *)at[i])[e] = type == F16 ? (e % 2 ? 0x4000 : 0x3c00) : e % 2 ? 0x4000 : 0x3f80;
        }
    }
    const dnnl_data_type_t numbers = type == F32 ? dnnl_f32 : type == BF16 ? dnnl_bf16 : dnnl_f16;
    *own = make_direct(numbers, dim, at, &product, args);
    const bool both = *own || make_direct(dnnl_f32, dim, floats, &product, args);
    const struct call c = make_ours(type, dim, at);
    int calls = (int)(2e9 / (2.0 * (double)(batch * m * n * k) + 1e6));
    calls = calls > 1 ? calls : 1;
    best[0] = best[1] = 1e9;
    for (int r = -1; both && r < ROUNDS; r++) {
        double t = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < calls; i++) {
            execute(product, stream, MATRICES, args);
            wait(stream);
        }
        double half = seconds(CLOCK_PROCESS_CPUTIME_ID);
        for (int i = 0; i < calls; i++)
            if (run(handle, c.plan, c.pack) || synchronize(NULL))
                exit(1);
        double took[2] = {(half - t) / calls, (seconds(CLOCK_PROCESS_CPUTIME_ID) - half) / calls};
        for (int i = 0; i < 2 && r >= 0; i++)
            best[i] = took[i] < best[i] ? took[i] : best[i];
    }
    for (int i = 0; i < MATRICES; i++)
        RT(Free)(at[i]), RT(Free)(floats[i]);
    RT(Free)(c.space);
    return both;
}

int main(void)
{
    static const struct {
        int type;
        const char *name;
    } types[] = {{F32, "f32"}, {BF16, "bf16"}, {F16, "f16"}};
    static const int64_t cases[][4] = {
        {1, 512, 512, 512}, {1, 1024, 1024, 1024}, {1, 128, 2048, 512}, {16, 512, 512, 64}};
    must(DNN(Create)(&handle), "cudnnCreate");
    must(ONE(engine_create)(&engine, dnnl_cpu, 0), "engine");
    must(ONE(stream_create)(&stream, engine, dnnl_stream_default_flags), "stream");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            const int64_t *c = cases[i];
            double best[2];
            bool own;
            if (!compare(types[t].type, c[0], c[1], c[2], c[3], best, &own))
                continue;
            const char *of = own ? "" : "_f32";
            printf("# product %s, %lld of %lld x %lld x %lld: oneDNN%s %.2f ms, cuDNN %.2f ms\n", types[t].name,
                   (long long)c[0], (long long)c[1], (long long)c[2], (long long)c[3], own ? "" : " of floats",
                   best[0] * 1e3, best[1] * 1e3);
            printf("bench mudnn.product_%lldx%lldx%lldx%lld_%s_vs_onednn%s %.3f ratio\n", (long long)c[0],
                   (long long)c[1], (long long)c[2], (long long)c[3], types[t].name, of, best[1] / best[0]);
        }
    return 0;
}

#else

int main(void)
{
    printf("# products: built without oneDNN 2's headers\n");
    return 0;
}

#endif
