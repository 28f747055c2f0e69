/* Snippets: short uses of every wrapped symbol, replayed by several harnesses (harness.c). A snippet names a
 * CUDA function only through C() or M(), which give it the map's own prototype and the harness's way of
 * reaching it: a link-time reference, dlsym, or cuGetProcAddress. */
#ifndef CUMU_SNIPPET_H
#define CUMU_SNIPPET_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "../check.h"
#include "musa_enums.h"
#include "mu.h"
#include "wraps.h"

#ifdef VIA_LOOKUP
#define REACH(type, name) ((type *)snippet_symbol(#name))
#else
#define REACH(type, name) \
    ({ \
        extern type name; \
        &name; \
    })
#endif
#define C(name) REACH(__typeof__(wrap_##name), name)                        /* a wrapped symbol */
#define M(name, musa) REACH(__typeof__(*((struct cumu_mu *)0)->musa), name) /* a jump: typed as its target */
/* The same symbol in another runtime's facade, whose wrapper is wrap_<name>_v<N>. */
#define V(version, name) ((__typeof__(wrap_##name##_v##version) *)snippet_versioned(version, #name))

/* A symbol that only another runtime's facade has. */
#define ONLY(version, name) ((__typeof__(wrap_##name) *)snippet_versioned(version, #name))

void *snippet_symbol(const char *name);
void *snippet_versioned(int version, const char *name);

/* The kernel of most snippets: out[i] = i * factor[0] + add, with a constant and a managed variable. */
extern const char snippet_ptx[];
enum { SNIPPET_THREADS = 64 };

/* Does the MUSA runtime below export this function? SDKs before CUDA 12's generation lack some. */
bool snippet_below(const char *name);
/* Nothing else runs at the same time: what belongs to the process may be changed, a stream captured. */
bool snippet_alone(void);

/* The topics, in the order in which they run. */
void snippet_device(void);
void snippet_error(void);
void snippet_registration(void);
void snippet_function(void);
void snippet_memory(void);
void snippet_batch(void);
void snippet_texture(void);
void snippet_reference(void);
void snippet_newer(void);
void snippet_layout(void);
void snippet_library(void);
void snippet_module(void);
void snippet_graph(void);
void snippet_graph_driver(void);
void snippet_attribute(void);
void snippet_entry(void);
void snippet_context(void);
void snippet_compiler(void);
void snippet_nccl(void);
void snippet_nvml(void);
void snippet_cublas(void);
void snippet_cusolver(void);
void snippet_cublaslt(void);
void snippet_cusolver_sparse(void);
void snippet_cusolver_mg(void);
void snippet_cusolver_wide(void *handle); /* what cusolver.c leaves out; called by it */
void snippet_cufft(void);
void snippet_cufftw(void);
void snippet_cufile(void);
void snippet_nvjpeg(void);
void snippet_npp(void);
void snippet_cublas_more(void);
void snippet_cublas_plain(void);
void snippet_curand(void);
void snippet_cusparse(void);
void snippet_cusparselt(void);
void snippet_cudnn(void);
void snippet_cudnn_legacy(void);
void snippet_nvtx(void);
void snippet_cupti(void);

/* registration.c keeps its program registered for the topics that launch. */
extern char snippet_stub, snippet_factor, snippet_table; /* host addresses of kernel k and variables */
void snippet_registered(void);                           /* registers once */
void *snippet_container(const char *text, size_t size);  /* a fat binary around PTX */

#endif
