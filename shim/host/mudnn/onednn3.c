/* Release 3 of oneDNN. All that it takes are objects of its own and numbers, which are declared here, so that a build
 * serves machines that have either release. Names and numbers: oneDNN, C API of release 3. */
#include <stddef.h>
#include <stdint.h>

#define DNNL_VERSION_MAJOR 3
#define OF_RELEASE(name) name##_3

typedef struct dnnl_engine *dnnl_engine_t;
typedef struct dnnl_stream *dnnl_stream_t;
typedef struct dnnl_memory *dnnl_memory_t;
typedef struct dnnl_memory_desc *dnnl_memory_desc_t;
typedef const struct dnnl_memory_desc *const_dnnl_memory_desc_t;
typedef struct dnnl_primitive *dnnl_primitive_t;
typedef struct dnnl_primitive_desc *dnnl_primitive_desc_t;
typedef struct dnnl_primitive_attr *dnnl_primitive_attr_t;
typedef struct dnnl_post_ops *dnnl_post_ops_t;
typedef int64_t dnnl_dims_t[12];
typedef struct {
    int arg;
    dnnl_memory_t memory;
} dnnl_exec_arg_t;

typedef enum { dnnl_bf16 = 2, dnnl_f32 = 3 } dnnl_data_type_t;
typedef enum { dnnl_format_tag_any = 1 } dnnl_format_tag_t;
typedef enum { dnnl_forward_training = 64, dnnl_forward_inference = 96, dnnl_backward = 128 } dnnl_prop_kind_t;
typedef enum { dnnl_convolution_direct = 1, dnnl_eltwise_linear = 0x26 } dnnl_alg_kind_t;
typedef enum { dnnl_cpu = 1 } dnnl_engine_kind_t;
typedef enum { dnnl_scratchpad_mode_user = 1 } dnnl_scratchpad_mode_t;
enum { dnnl_use_global_stats = 1, dnnl_use_scale = 2, dnnl_use_shift = 4, dnnl_stream_default_flags = 1 };
typedef enum {
    dnnl_query_impl_info_str = 8,
    dnnl_query_src_md = 129,
    dnnl_query_diff_src_md,
    dnnl_query_weights_md,
    dnnl_query_diff_weights_md,
    dnnl_query_dst_md,
    dnnl_query_diff_dst_md,
    dnnl_query_scratchpad_md = 136
} dnnl_query_t;
enum {
    DNNL_ARG_SRC = 1,
    DNNL_ARG_FROM = 1,
    DNNL_ARG_DST = 17,
    DNNL_ARG_TO = 17,
    DNNL_ARG_WEIGHTS = 33,
    DNNL_ARG_MEAN = 49,
    DNNL_ARG_VARIANCE = 50,
    DNNL_ARG_SCALE = 51,
    DNNL_ARG_SHIFT = 52,
    DNNL_ARG_SCRATCHPAD = 80,
    DNNL_ARG_DIFF_SRC = 129,
    DNNL_ARG_DIFF_DST = 145,
    DNNL_ARG_DIFF_WEIGHTS = 161,
    DNNL_ARG_DIFF_SCALE = 255,
    DNNL_ARG_DIFF_SHIFT = 256
};
#define DNNL_MEMORY_NONE NULL
#define DNNL_MEMORY_ALLOCATE ((void *)(size_t)-1)

typedef const_dnnl_memory_desc_t layout;
int dnnl_engine_create(dnnl_engine_t *engine, dnnl_engine_kind_t kind, size_t index);
int dnnl_sgemm(char turn_a, char turn_b, int64_t rows, int64_t columns, int64_t inner, float alpha, const float *a,
               int64_t lead_a, const float *b, int64_t lead_b, float beta, float *c, int64_t lead_c);
int dnnl_stream_create(dnnl_stream_t *stream, dnnl_engine_t engine, unsigned flags);
int dnnl_stream_wait(dnnl_stream_t stream);
int dnnl_memory_desc_create_with_strides(dnnl_memory_desc_t *md, int n, const dnnl_dims_t dims, dnnl_data_type_t type,
                                         const dnnl_dims_t strides);
int dnnl_memory_desc_create_with_tag(dnnl_memory_desc_t *md, int n, const dnnl_dims_t dims, dnnl_data_type_t type,
                                     dnnl_format_tag_t tag);
int dnnl_memory_desc_destroy(dnnl_memory_desc_t md);
int dnnl_memory_desc_equal(layout a, layout b);
size_t dnnl_memory_desc_get_size(layout md);
int dnnl_memory_create(dnnl_memory_t *memory, layout md, dnnl_engine_t engine, void *at);
int dnnl_memory_set_data_handle(dnnl_memory_t memory, void *at);
int dnnl_memory_destroy(dnnl_memory_t memory);
int dnnl_primitive_attr_create(dnnl_primitive_attr_t *attr);
int dnnl_primitive_attr_destroy(dnnl_primitive_attr_t attr);
int dnnl_primitive_attr_set_scratchpad_mode(dnnl_primitive_attr_t attr, dnnl_scratchpad_mode_t mode);
int dnnl_primitive_attr_set_post_ops(dnnl_primitive_attr_t attr, const struct dnnl_post_ops *then);
int dnnl_post_ops_create(dnnl_post_ops_t *then);
int dnnl_post_ops_destroy(dnnl_post_ops_t then);
int dnnl_post_ops_append_eltwise(dnnl_post_ops_t then, dnnl_alg_kind_t kind, float alpha, float beta);
int dnnl_primitive_desc_destroy(dnnl_primitive_desc_t pd);
int dnnl_primitive_desc_query(const struct dnnl_primitive_desc *pd, dnnl_query_t what, int index, void *to);
layout dnnl_primitive_desc_query_md(const struct dnnl_primitive_desc *pd, dnnl_query_t what, int index);
int dnnl_primitive_create(dnnl_primitive_t *primitive, const struct dnnl_primitive_desc *pd);
int dnnl_primitive_destroy(dnnl_primitive_t primitive);
int dnnl_primitive_execute(const struct dnnl_primitive *primitive, dnnl_stream_t stream, int n,
                           const dnnl_exec_arg_t *args);
int dnnl_reorder_primitive_desc_create(dnnl_primitive_desc_t *pd, layout from, dnnl_engine_t from_engine, layout to,
                                       dnnl_engine_t to_engine, const struct dnnl_primitive_attr *attr);
int dnnl_convolution_forward_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                   dnnl_prop_kind_t kind, dnnl_alg_kind_t way, layout x, layout w,
                                                   layout bias, layout y, const dnnl_dims_t strides,
                                                   const dnnl_dims_t dilations, const dnnl_dims_t before,
                                                   const dnnl_dims_t after, const struct dnnl_primitive_attr *attr);
int dnnl_convolution_backward_data_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                         dnnl_alg_kind_t way, layout dx, layout w, layout dy,
                                                         const dnnl_dims_t strides, const dnnl_dims_t dilations,
                                                         const dnnl_dims_t before, const dnnl_dims_t after,
                                                         const struct dnnl_primitive_desc *forward,
                                                         const struct dnnl_primitive_attr *attr);
int dnnl_convolution_backward_weights_primitive_desc_create(
    dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_alg_kind_t way, layout x, layout dw, layout dbias, layout dy,
    const dnnl_dims_t strides, const dnnl_dims_t dilations, const dnnl_dims_t before, const dnnl_dims_t after,
    const struct dnnl_primitive_desc *forward, const struct dnnl_primitive_attr *attr);
int dnnl_batch_normalization_forward_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                           dnnl_prop_kind_t kind, layout x, layout y, float epsilon,
                                                           unsigned flags, const struct dnnl_primitive_attr *attr);
int dnnl_batch_normalization_backward_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                            dnnl_prop_kind_t kind, layout dx, layout dy, layout x,
                                                            float epsilon, unsigned flags,
                                                            const struct dnnl_primitive_desc *forward,
                                                            const struct dnnl_primitive_attr *attr);
int dnnl_matmul_primitive_desc_create(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, layout a, layout b, layout bias,
                                      layout c, const struct dnnl_primitive_attr *attr);

#include "host/mudnn/onednn_release.h"
