/* Driver functions that SDK 3.1.0 lacks and that can be had another way (mapping/facts/musa.md L7): by the
 * runtime's function with the same arguments, or over driver functions that it has. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/ids.h"
#include "core/init.h"
#include "core/resolve.h"
#include "kernel/graph.h"

#include <string.h>

static MUresult launch_cooperative(MUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                   unsigned bz, unsigned shared, MUstream stream, void **args)
{
    MUlaunchAttribute cooperative = {.id = MU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
    MUlaunchConfig c = {gx, gy, gz, bx, by, bz, shared, stream, &cooperative, 1};
    return mu.muLaunchKernelEx(&c, f, args, NULL);
}

/* Where the runtime has no prefetch either: it is a hint, without which memory moves when it is touched. */
static MUresult prefetch(MUdeviceptr p, size_t size, MUdevice device, MUstream stream)
{
    unsigned managed = 0;
    (void)device, (void)stream;
    MUresult r = mu.muPointerGetAttribute(&managed, MU_POINTER_ATTRIBUTE_IS_MANAGED, p);
    return r ? r : managed && size ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

/* It may take pitches that these refuse: those answer an error. */
static MUresult copy_2d(const MUSA_MEMCPY2D *copy) { return mu.muMemcpy2D_v2(copy); }

/* A handle that comes back as another stream has the same number again: there is nothing to see that by. */
static MUresult stream_id(MUstream stream, unsigned long long *id)
{
    if (!id)
        return MUSA_ERROR_INVALID_VALUE;
    *id = cumu_id_of(stream ? (const void *)stream : (const void *)MU_STREAM_LEGACY);
    return *id ? MUSA_SUCCESS : MUSA_ERROR_OUT_OF_MEMORY;
}

/* What cumu itself knows of captures: the streams that they were begun on. */
static MUresult is_capturing(MUstream stream, musaStreamCaptureStatus *status)
{
    if (!status)
        return MUSA_ERROR_INVALID_VALUE;
    *status = cumu_capture_of((CUstream)stream, NULL) ? musaStreamCaptureStatusActive : musaStreamCaptureStatusNone;
    return MUSA_SUCCESS;
}

static MUresult capture_info(MUstream stream, musaStreamCaptureStatus *status, uint64_t *id)
{
    uint64_t number = 0;
    MUresult r = is_capturing(stream, status);
    if (!r && id && cumu_capture_of((CUstream)stream, &number))
        *id = number;
    return r;
}

/* Of the graph being captured nothing is known before the capture ends. */
static MUresult capture_info_v2(MUstream stream, musaStreamCaptureStatus *status, uint64_t *id, MUgraph *graph,
                                const MUgraphNode **deps, size_t *n)
{
    MUresult r = capture_info(stream, status, id);
    if (r || *status == musaStreamCaptureStatusNone)
        return r;
    return graph || deps || n ? MUSA_ERROR_NOT_SUPPORTED : MUSA_SUCCESS;
}

static MUresult capture_info_v3(MUstream stream, musaStreamCaptureStatus *status, uint64_t *id, MUgraph *graph,
                                const MUgraphNode **deps, const void **edges, size_t *n)
{
    return edges ? MUSA_ERROR_NOT_SUPPORTED : capture_info_v2(stream, status, id, graph, deps, n);
}

static _Thread_local int capture_mode;
static MUresult exchange_mode(int *mode)
{
    if (!mode || *mode < musaStreamCaptureModeGlobal || *mode > musaStreamCaptureModeRelaxed)
        return MUSA_ERROR_INVALID_VALUE;
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return MUSA_SUCCESS;
}

#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *name;
    bool runtimes;          /* the runtime's of that name takes the same arguments */
    void (*function)(void); /* where that one is missing, too; or NULL */
} rows[] = {
    {"muGraphAddDependencies_v2", false, STAND_IN(cumu_graph_add_dependencies)},
    {"muGraphDebugDotPrint", true, NULL},
    {"muGraphGetEdges_v2", false, STAND_IN(cumu_graph_get_edges)},
    {"muGraphNodeGetDependencies_v2", false, STAND_IN(cumu_graph_get_dependencies)},
    {"muGraphNodeGetDependentNodes_v2", false, STAND_IN(cumu_graph_get_dependents)},
    {"muGraphReleaseUserObject", true, NULL},
    {"muGraphRemoveDependencies_v2", false, STAND_IN(cumu_graph_remove_dependencies)},
    {"muGraphRetainUserObject", true, NULL},
    {"muGraphUpload", true, NULL},
    {"muLaunchCooperativeKernel", false, STAND_IN(launch_cooperative)},
    {"muMemPrefetchAsync", true, STAND_IN(prefetch)},
    {"muMemcpy2DUnaligned", false, STAND_IN(copy_2d)},
    {"muMemcpy2DUnaligned_v2", false, STAND_IN(copy_2d)},
    {"muProfilerStart", true, NULL},
    {"muProfilerStop", true, NULL},
    {"muStreamBeginCaptureToGraph", true, NULL},
    {"muStreamGetCaptureInfo", true, STAND_IN(capture_info)},
    {"muStreamGetCaptureInfo_v2", true, STAND_IN(capture_info_v2)},
    {"muStreamGetCaptureInfo_v3", true, STAND_IN(capture_info_v3)},
    {"muStreamGetId", true, STAND_IN(stream_id)},
    {"muStreamIsCapturing", true, STAND_IN(is_capturing)},
    {"muStreamUpdateCaptureDependencies", true, NULL},
    {"muStreamUpdateCaptureDependencies_v2", true, NULL},
    {"muThreadExchangeStreamCaptureMode", true, STAND_IN(exchange_mode)},
    {"muUserObjectCreate", true, NULL},
    {"muUserObjectRelease", true, NULL},
    {"muUserObjectRetain", true, NULL},
};

void *cumu_driver_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, symbol) == 0 && !cumu_below_has("musa", symbol)) {
            void *p = rows[i].runtimes ? cumu_resolve_runtime(symbol + strlen("mu")) : NULL;
            bool driver = cumu_below_has("musa", "muCtxGetCurrent"); /* else nothing stands on anything */
            return p || !rows[i].function || !driver ? p : cumu_code_address(rows[i].function);
        }
    return NULL;
}
