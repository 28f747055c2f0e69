/* MUSA functions that some SDKs lack and the core emulates (mapping/facts/musa.md L7, L8): the same names,
 * arguments and results, over functions that every SDK has. */
#ifndef CUMU_API_EMULATE_H
#define CUMU_API_EMULATE_H

#include "abi/musa.h"

/* What cumu itself does for a MUSA function that the SDK lacks (emulate.c); NULL if it has it, or nobody does. */
void *cumu_stand_in(const char *symbol);
/* What stands for a driver function that the driver below lacks (emulate_driver.c); NULL if it has it, or
 * if nothing can. */
void *cumu_driver_stand_in(const char *symbol);
/* The same for functions of muBLAS (emulate_blas.c), muRAND (emulate_rand.c), muSOLVER (emulate_solver.c) and muSPARSE
 * (emulate_sparse.c, emulate_vector.c), and for what handles tell (emulate_handle.c). */
void *cumu_blas_stand_in(const char *symbol);
void *cumu_rand_stand_in(const char *symbol);
void *cumu_solver_stand_in(const char *symbol);
void *cumu_sparse_stand_in(const char *symbol);
void *cumu_vector_stand_in(const char *symbol);
void *cumu_handle_stand_in(const char *symbol);
/* A function of the runtime that the SDK's runtime lacks, over its driver (emulate_runtime.c); NULL if there is
 * none. */
void *cumu_runtime_over(const char *symbol);

/* Edges' data over an SDK without (emulate_graph.c). */
MUresult cumu_graph_get_edges(MUgraph graph, MUgraphNode *from, MUgraphNode *to, MUgraphEdgeData *data, size_t *n);
MUresult cumu_graph_get_dependencies(MUgraphNode node, MUgraphNode *nodes, MUgraphEdgeData *data, size_t *n);
MUresult cumu_graph_get_dependents(MUgraphNode node, MUgraphNode *nodes, MUgraphEdgeData *data, size_t *n);
MUresult cumu_graph_add_dependencies(MUgraph graph, const MUgraphNode *from, const MUgraphNode *to,
                                     const MUgraphEdgeData *data, size_t n);
MUresult cumu_graph_remove_dependencies(MUgraph graph, const MUgraphNode *from, const MUgraphNode *to,
                                        const MUgraphEdgeData *data, size_t n);

/* Stream-ordered allocation, in driver numbers (emulate_pool.c). A NULL pool is the device's current one. */
int cumu_pool_alloc(MUdeviceptr *p, size_t size, MUmemoryPool pool, MUstream stream);
int cumu_pool_free(MUdeviceptr p, MUstream stream);
int cumu_pool_of(MUmemoryPool *pool, int device, int current);
int cumu_pool_set(int device, MUmemoryPool pool);
int cumu_pool_create(MUmemoryPool *pool, const MUmemPoolProps *props);
int cumu_pool_destroy(MUmemoryPool pool);
int cumu_pool_trim(MUmemoryPool pool, size_t keep);
int cumu_pool_set_attribute(MUmemoryPool pool, int attribute, void *value);
int cumu_pool_get_attribute(MUmemoryPool pool, int attribute, void *value);
int cumu_pool_set_access(MUmemoryPool pool, const MUmemAccessDesc *desc, size_t count);
int cumu_pool_get_access(MUmemAccess_flags *flags, MUmemoryPool pool, MUmemLocation *where);

#endif
