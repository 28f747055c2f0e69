/* Inside of cuDNN's graph interface. A descriptor is a list of attributes, which its kind's rules describe (rules.c).
 * Finalising an operation graph makes a plan of it (lower.c): tensors, and nodes in the order in which they run. A node
 * becomes calls of the library below (run.c); what lies between nodes lies in the program's workspace. */
#ifndef CUMU_API_CUDNN_GRAPH_H
#define CUMU_API_CUDNN_GRAPH_H

#include <stdatomic.h>

#include "abi/mudnn_graph.h"
#include "api/cudnn/dnn.h"

/* ---- descriptors ------------------------------------------------------------------------------- */

struct graph_plan;
/* `data`: of descriptors their bodies, each of which it counts as a user. */
struct graph_attr {
    int name, type;
    int64_t count;
    void *data;
};
/* What a descriptor stands for. It is never changed after it is finalised, and lives as long as a descriptor or an
 * attribute of another body leads to it: programs destroy descriptors of what they still use. */
struct graph_body {
    atomic_uint users;
    int kind; /* cudnnBackendDescriptorType_t */
    bool ready;
    unsigned attrs;
    struct graph_attr *attr;
    struct graph_plan *plan; /* of an operation graph */
};
struct dnn_backend {
    struct dnn_object object;
    struct graph_body *body;
};

/* Nodes that no program describes: their kinds, and attributes for their operands. */
enum graph_own {
    GRAPH_RAGGED_LOAD = 1 << 20,
    GRAPH_RAGGED_STORE,
    GRAPH_OWN_X,
    GRAPH_OWN_Y,
    GRAPH_OWN_OFFSETS,
    GRAPH_OWN_SCALE /* of a product, or of what a pointwise node is followed by */
};
/* Attributes of a kind. */
enum graph_flags {
    GRAPH_NEEDED = 1,
    GRAPH_INPUT = 2, /* a tensor */
    GRAPH_OUTPUT = 4,
    GRAPH_SCALAR = 8,     /* float or double, whichever is named */
    GRAPH_READ = 16,      /* set by finalising alone */
    GRAPH_OPERATION = 32, /* a descriptor of any operation */
    GRAPH_INTEGER = 64    /* or an INT64 */
};
struct graph_rule {
    int name;
    short type, of, flags; /* of a descriptor: its kind, but for operations */
    int most;              /* elements */
};
struct graph_kind {
    int kind;
    bool operation, known; /* known: with a way to run it */
    unsigned rules;
    const struct graph_rule *rule;
};
/* A descriptor's, or NULL: any address may be asked about. */
struct graph_body *graph_body_of(const void *descriptor);
/* The operation graph of an execution plan's body that is ready. */
const struct graph_body *graph_of_plan(const struct graph_body *execution_plan);
const struct graph_kind *graph_kind_of(int kind);
const struct graph_rule *graph_rule_of(const struct graph_kind *k, int name);
bool graph_is_attribute(int name); /* of any kind */
size_t graph_type_size(int type);  /* 0: no such type */

struct graph_body *graph_body_new(int kind);
void graph_body_hold(struct graph_body *b);
void graph_body_drop(struct graph_body *b);
/* Adds or replaces an attribute with a copy of `data`, and holds bodies. False: no memory. */
bool graph_put(struct graph_body *b, int name, int type, int64_t count, const void *data);
/* Or NULL where it was not set. */
const struct graph_attr *graph_find(const struct graph_body *b, int name);
int64_t graph_integer(const struct graph_body *b, int name, int64_t none); /* of integers, enumerators, booleans */
double graph_number(const struct graph_body *b, int name, double none);
struct graph_body *graph_member(const struct graph_body *b, int name); /* a descriptor's, or NULL */
/* Up to MUDNN_DIMS integers; how many there are. */
int graph_integers(const struct graph_body *b, int name, int64_t *to);

/* The status; if it is one of what is not supported, with a line that says what. */
int graph_refuse(int status, const char *what);
/* Checks a body's attributes and makes what follows from them; a status. */
int graph_finalize(struct graph_body *b);

/* ---- plans ------------------------------------------------------------------------------------- */

enum graph_place {
    GRAPH_REAL,    /* the variant pack has its address */
    GRAPH_VIRTUAL, /* in the workspace */
    GRAPH_VALUE,   /* one number on the host, whose address the variant pack has: copied into the workspace */
    GRAPH_CONSTANT /* one number, known already: likewise */
};
struct graph_tensor {
    int64_t uid;
    int place;
    bool odd;      /* vectors of channels or a special order: what nobody here computes with */
    bool swizzled; /* in tiles of 128 rows and 4 columns, as scales of blocks lie */
    /* Of a tensor whose batches begin where another says: that one's number, else -1; the dimension that is as long as
     * the way to the next batch, and its step where the offsets count elements (of a copy with all heads, less). */
    int ragged, ragged_dim;
    int64_t ragged_step, ragged_unit; /* unit: elements that an offset counts, or 0: as many as the step */
    bool cut[2];                      /* there is memory for one batch, one head: see slice.c */
    struct mudnn_tensor t;
    size_t at; /* in the workspace */
    double constant;
};
/* Operands are numbers of tensors, in the order of the rules that are tensors; -1: none. */
enum { GRAPH_OPERANDS = 20, GRAPH_NUMBERS = 4 };
/* Matrices of a product that are read as their transposes. */
enum graph_turned { GRAPH_TURNED_A = 1, GRAPH_TURNED_B = 2 };
struct graph_node {
    int kind;
    int operand[GRAPH_OPERANDS];
    int mode, way, compute, axis, nan, spatial;
    bool masked;     /* see mudnn_pointwise */
    int then;        /* likewise: mudnn_then */
    unsigned turned; /* graph_turned */
    int64_t pre[MUDNN_DIMS], post[MUDNN_DIMS], stride[MUDNN_DIMS], window[MUDNN_DIMS];
    double alpha, beta, number[GRAPH_NUMBERS], low, high, slope;
    size_t at;                   /* workspace of its own */
    int64_t slices[2], heads[2]; /* runs that often for batches and heads; 0: it runs once */
};
struct graph_plan {
    unsigned tensors, nodes;
    struct graph_tensor *tensor;
    struct graph_node *node;
    bool open; /* a virtual tensor comes from nowhere: part of another graph */
    size_t workspace;
    const struct graph_body *overrides; /* while it is made: the variant pack that gives shapes, or NULL */
};
void graph_plan_free(struct graph_plan *p);
/* Of an operation graph, with the shapes that a variant pack gives where there is one; a status. */
int graph_lower(const struct graph_body *graph, const struct graph_body *overrides, struct graph_plan **out);
/* Tensors of the plan's own have numbers that no program gives. */
static inline bool graph_is_own(const struct graph_tensor *t) { return t->uid < INT64_MIN / 2; }

/* What a variant pack says of one tensor: dimensions, or strides. */
struct graph_list {
    int64_t n, v[MUDNN_DIMS];
};
/* An attribute that is the address of a C++ vector of vectors; a status. */
int graph_put_lists(struct graph_body *b, int name, const void *elements, int most);
int graph_check_overrides(const struct graph_body *pack);
/* Gives a tensor the pack's shape; false where it has none. */
bool graph_override(const struct graph_body *pack, struct graph_tensor *t);
/* Shapes of virtual tensors of a plan with overrides; a status. */
int graph_infer(struct graph_plan *p);
/* Of numbers that add up, cumulative[0] the first: their differences, one for each of `batches`. A tensor, or -1. */
int graph_lengths(struct graph_plan *p, int cumulative, int64_t batches, int *status);
/* Adds the operations of a graph's body; part of graph_lower. */
int graph_lower_operations(struct graph_plan *p, const struct graph_body *graph);
int graph_add_tensor(struct graph_plan *p, const struct graph_tensor *t); /* its number, or -1 */
/* Of a tensor's descriptor: the one that there is by its number, or a new one. -1, and *status says why. */
int graph_tensor_of(struct graph_plan *p, const struct graph_body *tensor, int *status);
/* A virtual tensor of the plan's own. */
int graph_add_virtual(struct graph_plan *p, int type, int n, const int64_t *dims);
int graph_add_constant(struct graph_plan *p, int n, double value);
struct graph_node *graph_add_node(struct graph_plan *p, int kind); /* or NULL: no memory */
/* The operand by its attribute. */
int graph_slot(int kind, int name);
static inline int graph_operand(const struct graph_node *n, int name)
{
    int slot = graph_slot(n->kind, name);
    return slot < 0 ? -1 : n->operand[slot];
}
/* Whether a node writes an operand: batch normalisation's inference reads what its training writes. */
bool graph_writes(const struct graph_node *n, const struct graph_rule *r);
/* How many operands a mode has; 0 of one that is none. */
int graph_pointwise_operands(int mode);
bool graph_set(struct graph_node *n, int name, int tensor); /* false where it is -1 */
/* What fused engines do otherwise than the operations that a graph is spelled with, and ragged tensors, which become
 * dense ones. A status. */
int graph_rewrite(struct graph_plan *p);
/* Strides without gaps in the order of those that there are, the first dimension's the longest. */
void graph_make_dense(struct mudnn_tensor *t);
/* The node's other attributes, of its operation. */
int graph_gather(struct graph_node *n, const struct graph_body *operation);
int graph_lower_attention(struct graph_plan *p, const struct graph_body *operation);
int graph_lower_attention_backward(struct graph_plan *p, const struct graph_body *operation);

/* Orders the nodes, checks them, and places what lies in the workspace: the end of making a plan. */
int graph_arrange(struct graph_plan *p);

struct graph_work;
/* Can a node run for each batch and head by itself? How many there are. */
bool graph_has_heads(const struct graph_plan *p, const struct graph_node *n, int64_t *heads);
/* Decides, for nodes that are in order and checked, which do. */
void graph_slice_plan(struct graph_plan *p);
/* Behind the last node that runs in turn with this one for each slice. */
unsigned graph_slice_end(const struct graph_plan *p, unsigned node);
/* The slice's part of an operand. */
void graph_take_slice(const struct graph_work *w, const struct graph_tensor *t, struct mudnn_operand *o);

/* ---- nodes ------------------------------------------------------------------------------------- */

/* A node that is checked (`at` NULL), or queued. */
struct graph_work {
    const struct graph_plan *p;
    const struct graph_node *n;
    void *const *at; /* addresses of the tensors */
    char *workspace; /* the node's own */
    size_t scratch;  /* how much of it there must be: set while it is checked */
    musaStream_t stream;
    int64_t index[2]; /* of the slice */
};
/* Its shapes and types, and its workspace; then its calls. A status. */
int graph_work(struct graph_work *w);
/* One operation each. */
typedef int graph_worker(struct graph_work *w);
graph_worker graph_convolution, graph_matmul, graph_reduction, graph_pointwise, graph_reshape, graph_transpose,
    graph_slice, graph_concat, graph_softmax, graph_band, graph_paged_load, graph_random, graph_norm_forward,
    graph_norm_backward, graph_gen_stats, graph_bn_finalize, graph_bn_weights, graph_resample, graph_ragged,
    graph_block_scale, graph_grouped, graph_grouped_backward;
/* Is a tensor one that only nodes use which know more types and orders than the others? Those of block scales, and
 * products of complex numbers. */
bool graph_is_special(const struct graph_plan *p, int tensor);
static inline bool graph_is_complex(int type)
{
    return type == CUDNN_DATA_COMPLEX_FP32 || type == CUDNN_DATA_COMPLEX_FP64;
}
/* The operand of an attribute; t.n is 0 where there is none. */
struct mudnn_operand graph_operand_of(const struct graph_work *w, int name);
/* Brings a tensor to `n` dimensions by those of 1 in front; false where others would be lost. */
bool graph_fit(struct mudnn_tensor *t, int n);
/* Fits it, and each dimension is 1 or that of `large`; true as well where there is none. */
bool graph_serves(struct mudnn_operand *small, const struct mudnn_tensor *large);
/* Fits it, and the shape is the same. */
bool graph_alike(struct mudnn_operand *a, const struct mudnn_tensor *b);
/* to = from, element by element. */
int graph_copy(struct graph_work *w, const struct mudnn_operand *from, const struct mudnn_operand *to);
#define GRAPH_DONE(call) dnn_done(call, "cudnnBackendExecute")

/* A plan as text; the caller frees it. NULL: no memory. And back; a status. */
char *graph_write(const struct graph_plan *p, size_t *length);
int graph_read(const char *text, size_t length, struct graph_plan **out);

#endif
