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

static int missing(void) { return MUSA_ERROR_NOT_SUPPORTED; }

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

#ifndef FORWARD_ONLY
/* ---- graph updates: SDK_UPDATE=801 is what the device answers to them ------------------------- */

static void *below(const char *name) { return dlsym(dlopen(FORWARD_TO, RTLD_NOW | RTLD_LOCAL), name); }

static int refused(void)
{
    const char *answer = getenv("SDK_UPDATE");
    return answer ? atoi(answer) : 0;
}

#if defined UPDATE_OF_4 && defined FORWARD_DRIVER
/* Four arguments (mapping/facts/musa.md B3). */
int graph_exec_update(MUgraphExec exec, MUgraph graph, MUgraphNode *node, int *result) __asm__("muGraphExecUpdate")
    __attribute__((visibility("default")));
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
#ifdef FORWARD_DRIVER
#define UPDATE "muGraphExecUpdate"
#else
#define UPDATE "musaGraphExecUpdate"
#endif
int graph_exec_update(MUgraphExec exec, MUgraph graph, MUgraphExecUpdateResultInfo *info) __asm__(UPDATE)
    __attribute__((visibility("default")));
int graph_exec_update(MUgraphExec exec, MUgraph graph, MUgraphExecUpdateResultInfo *info)
{
    __typeof__(muGraphExecUpdate) *update = (__typeof__(update))(uintptr_t)below(UPDATE);
    int r = refused();
    return r ? r : (int)update(exec, graph, info);
}
#endif

/* ---- device attributes 121 to 124, of which SDK_ATTRIBUTES has one digit each ------------------ */

#ifdef FORWARD_DRIVER
int device_get_attribute(int *value, int attribute, int device) __asm__("muDeviceGetAttribute")
    __attribute__((visibility("default")));
int device_get_attribute(int *value, int attribute, int device)
{
    enum { FIRST = 121, LAST = 124 };
    const char *digits = getenv("SDK_ATTRIBUTES");
    int (*get)(int *, int, int) = (int (*)(int *, int, int))(uintptr_t)below("muDeviceGetAttribute");
    if (!digits || attribute < FIRST || attribute > LAST)
        return get(value, attribute, device);
    *value = digits[attribute - FIRST] - '0';
    return 0;
}
#endif

/* ---- attributes of streams: unions of 32 bytes at 3.1.0, 64 later, read and written as a whole --- */

#ifdef FORWARD_DRIVER
#ifndef UNION
#define UNION 64
#endif
static size_t own_size(int id) { return id == 1 ? 32 : sizeof(int); } /* 1: the access policy's window */

int stream_get_attribute(MUstream s, int id, char *value) __asm__("muStreamGetAttribute")
    __attribute__((visibility("default")));
int stream_get_attribute(MUstream s, int id, char *value)
{
    __typeof__(muStreamGetAttribute) *get = (__typeof__(get))(uintptr_t)below("muStreamGetAttribute");
    MUstreamAttrValue full;
    int r = value ? (int)get(s, id, &full) : 1;
    for (size_t i = 0; !r && i < UNION; i++)
        value[i] = i < own_size(id) ? full.pad[i] : 0x77;
    return r;
}

int stream_set_attribute(MUstream s, int id, const char *value) __asm__("muStreamSetAttribute")
    __attribute__((visibility("default")));
int stream_set_attribute(MUstream s, int id, const char *value)
{
    __typeof__(muStreamSetAttribute) *set = (__typeof__(set))(uintptr_t)below("muStreamSetAttribute");
    MUstreamAttrValue full = {{0}};
    for (size_t i = 0; value && i < UNION; i++)
        if (i < own_size(id))
            full.pad[i] = value[i];
        else if (value[i])
            return 1; /* what is not its value must be zero */
    return value ? (int)set(s, id, &full) : 1;
}
#endif

/* ---- instantiation: five arguments up to SDK 4, of which the last three are outputs ------------- */

#ifdef FORWARD_DRIVER
#define INSTANTIATE "muGraphInstantiate"
#else
#define INSTANTIATE "musaGraphInstantiate"
#endif
static int instantiate(MUgraphExec *exec, MUgraph graph, unsigned long long flags)
{
    int (*with_flags)(MUgraphExec *, MUgraph, unsigned long long) =
        (int (*)(MUgraphExec *, MUgraph, unsigned long long))(uintptr_t)below(INSTANTIATE "WithFlags");
    return with_flags(exec, graph, flags);
}

#ifdef INSTANTIATE_OF_5
int graph_instantiate(MUgraphExec *exec, MUgraph graph, MUgraphNode *node, char *log, size_t size) __asm__(INSTANTIATE)
    __attribute__((visibility("default")));
int graph_instantiate(MUgraphExec *exec, MUgraph graph, MUgraphNode *node, char *log, size_t size)
{
    if (node)
        *node = NULL;
    if (log && size)
        *log = 0;
    return instantiate(exec, graph, 0);
}
#else
int graph_instantiate(MUgraphExec *exec, MUgraph graph, unsigned long long flags) __asm__(INSTANTIATE)
    __attribute__((visibility("default")));
int graph_instantiate(MUgraphExec *exec, MUgraph graph, unsigned long long flags)
{
    return instantiate(exec, graph, flags);
}
#endif
#ifdef FORWARD_DRIVER
__asm__(".globl muGraphInstantiate_v2\n.set muGraphInstantiate_v2, muGraphInstantiate");
#endif
#endif
