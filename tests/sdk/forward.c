/* A library of an SDK's release as far as its names are known: each leads to the CPU library's function of that name,
 * and nothing else is exported. What the CPU library lacks answers 801. Functions whose arguments that release had
 * otherwise are here with its arguments. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "abi/musa.h"

extern const char *const forward_names[]; /* of the assembly beside this: slot i is of name i; ends with NULL */
extern void *forward_slots[];

static int missing(void)
{
    return MUSA_ERROR_NOT_SUPPORTED;
}

__attribute__((constructor)) static void fill(void)
{
    void *library = dlopen(FORWARD_TO, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        (void)fprintf(stderr, "not ok %s\n", dlerror());
        abort();
    }
    for (unsigned i = 0; forward_names[i]; i++) {
        void *p = dlsym(library, forward_names[i]);
        forward_slots[i] = p ? p : (void *)(uintptr_t)missing;
    }
}

/* ---- graph updates: SDK_UPDATE=801 is what the device answers to them ------------------------- */

static void *below(const char *name)
{
    return dlsym(dlopen(FORWARD_TO, RTLD_NOW | RTLD_LOCAL), name);
}

static int refused(void)
{
    const char *answer = getenv("SDK_UPDATE");
    return answer ? atoi(answer) : 0;
}

#ifdef FORWARD_DRIVER
/* Four arguments (mapping/facts/musa.md B3). */
int graph_exec_update(MUgraphExec exec, MUgraph graph, MUgraphNode *node, int *result)
    __asm__("muGraphExecUpdate") __attribute__((visibility("default")));
int graph_exec_update(MUgraphExec exec, MUgraph graph, MUgraphNode *node, int *result)
{
    __typeof__(muGraphExecUpdate) *update = (__typeof__(update))(uintptr_t)below("muGraphExecUpdate");
    MUgraphExecUpdateResultInfo info = {0};
    int r = refused();
    if (r)
        return r;
    r = (int)update(exec, graph, &info);
    *node = info.errorNode;
    *result = (int)info.result;
    return r;
}
#else
int graph_exec_update(musaGraphExec_t exec, musaGraph_t graph, musaGraphExecUpdateResultInfo *info)
    __asm__("musaGraphExecUpdate") __attribute__((visibility("default")));
int graph_exec_update(musaGraphExec_t exec, musaGraph_t graph, musaGraphExecUpdateResultInfo *info)
{
    __typeof__(musaGraphExecUpdate) *update = (__typeof__(update))(uintptr_t)below("musaGraphExecUpdate");
    int r = refused();
    return r ? r : (int)update(exec, graph, info);
}
#endif
