/* Kernel calls that outlive the call that made them: nodes of graphs. CUDA copies a node's arguments, MUSA
 * keeps pointing at the caller's (mapping/facts/musa.md B1), so the shim copies them and keeps the
 * copies as long as a graph, or an executable one that came from it, may use them. */
#ifndef CUMU_KERNEL_GRAPH_H
#define CUMU_KERNEL_GRAPH_H

#include <stdatomic.h>

#include "kernel/kernel.h"

/* ---- calls (graph_call.c) -------------------------------------------------------------------- */

/* A kernel with its configuration and a copy of its arguments. Counted; never changed once made. */
struct cumu_call {
    atomic_uint refs;
    struct cumu_func *func;
    bool cooperative;
    MUSA_KERNEL_NODE_PARAMS launch; /* kernelParams: this call's own, `extra` is NULL */
    unsigned nparam;
    char *data; /* where the arguments lie */
    size_t bytes;
};

/* Translates the kernel for the current context and copies its arguments, given as to cuLaunchKernel.
 * One reference is the caller's. CUresult numbers. */
int cumu_call_new(struct cumu_func *f, const struct cumu_launch *l, void **args, void **extra, struct cumu_call **out);
struct ptx_func;
/* Where the kernel's arguments lie in the packed buffer that `extra` names. */
int cumu_args_unpack(const struct ptx_func *ptx, void **extra, void **args);
/* A function below, launched as *l says but for `shared`. */
int cumu_launch_below(MUfunction mf, unsigned shared, const struct cumu_launch *l, void **args, void **extra);
void cumu_call_drop(struct cumu_call *c); /* NULL is fine */
/* Whether compiled code for c may still come: then *now is what to launch at this moment (c's own function
 * while there is nothing better), and it counts as one launch. */
bool cumu_call_compiling(const struct cumu_call *c, MUfunction *now);
/* The shim's kernel behind a function below, and the context it is loaded in; NULL: none of ours. Walks all
 * kernels. */
struct cumu_func *cumu_func_behind(MUfunction mf, MUcontext *ctx);

/* graph_given.c: a node's arguments in memory that the program may keep and write to. Makes them if *at is NULL, in
 * other memory only if there is no room; NULL: out of memory. */
struct cumu_given;
void **cumu_given_fill(struct cumu_given **at, const struct cumu_call *c);
void cumu_given_free(struct cumu_given *g);

/* ---- who holds which (graph_hold.c) ---------------------------------------------------------- */

/* Of a graph, `node` runs c from now on. Takes the caller's reference; out of memory keeps the call for
 * ever instead of failing, the node is there already. */
void cumu_graph_hold(MUgraph g, MUgraphNode node, struct cumu_call *c);
void cumu_exec_hold(MUgraphExec x, MUgraphNode node, struct cumu_call *c);
/* The same for a node that is known, but not its graph. */
void cumu_node_hold(MUgraphNode node, struct cumu_call *c);
/* What `node` of a graph was given last: a new reference, or NULL. *args: its arguments, at one place until the node
 * is destroyed, which follow what it is given later. */
struct cumu_call *cumu_node_call(MUgraphNode node, void ***args);
/* Node of g that has a graph inside, and that graph, once it is known: it lives and dies with g. */
void cumu_graph_parent(MUgraph g, MUgraphNode node);
void cumu_graph_inside(MUgraphNode node, MUgraph inner);
/* From now on `to` may run whatever `from` may: a graph that was put inside it or cloned to it, an
 * executable graph that was launched into its capture. */
void cumu_graph_share(MUgraph to, MUgraph from);
void cumu_graph_cloned(MUgraph to, MUgraph from);
void cumu_graph_share_exec(MUgraph to, MUgraphExec from);
void cumu_exec_made(MUgraphExec x, MUgraph from);
void cumu_exec_share(MUgraphExec x, MUgraph from);
void cumu_exec_updated(MUgraphExec x, MUgraph from); /* and no longer what it ran before */
/* Before a launch: kernels of x whose compiled code has come since run that. */
void cumu_exec_refresh(MUgraphExec x);
/* These are gone below. */
void cumu_graph_gone(MUgraph g);
void cumu_exec_gone(MUgraphExec x);
void cumu_node_gone(MUgraphNode node);

/* ---- capture (capture.c) --------------------------------------------------------------------- */

/* Captures in progress in the process, and one more while it is traced; 0 nearly always, and then nothing
 * below is asked. */
extern atomic_uint cumu_captures;

/* A capture was begun on the stream; `into` is the program's graph that it adds to, or NULL. */
void cumu_capture_begun(CUstream stream, MUgraph into);
/* Ending it was tried, with this result. True if the capture has made its graph itself. */
bool cumu_capture_ended(CUstream stream, int result, MUgraph made);
/* Was a capture begun on this stream itself, and its number? */
bool cumu_capture_of(CUstream stream, uint64_t *id);
/* Graph that the stream's capture adds to, and the one node that its next work will depend on (NULL when
 * there are several); NULL when the stream does not capture. */
MUgraph cumu_capture_graph(CUstream stream, MUgraphNode *last);
/* Launches into a capture. */
int cumu_capture_launch(MUgraph g, struct cumu_func *f, const struct cumu_launch *l, void **args, void **extra);

/* Work of ours that CUDA programs never see (translation, loading) is legal during captures: between
 * these, the thread's calls below are. Nothing is asked while there is no capture. */
int cumu_capture_relax(void);
void cumu_capture_restore(int mode);

/* For the end of a library's handle: what the current context works on is done, as after NVIDIA's cublasDestroy,
 * cublasLtDestroy and cudnnDestroy, which their manuals say; programs (MAGMA) read results right after. While anything
 * is captured it does not wait: that would invalidate the capture. */
void cumu_finish_work(void);

#endif
