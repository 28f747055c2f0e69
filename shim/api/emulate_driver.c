/* Driver functions that SDK 3.1.0 lacks and that can be had another way (mapping/facts/musa.md L7): by the
 * runtime's function with the same arguments, or over driver functions that it has. */
#include "api/api.h"
#include "api/emulate.h"
#include "core/init.h"
#include "core/resolve.h"

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

#define STAND_IN(function) (void (*)(void))(function)
static const struct {
    const char *name;
    bool runtimes;          /* the runtime's of that name takes the same arguments */
    void (*function)(void); /* where that one is missing, too; or NULL */
} rows[] = {
    {"muGraphDebugDotPrint", true, NULL},
    {"muGraphReleaseUserObject", true, NULL},
    {"muGraphRetainUserObject", true, NULL},
    {"muGraphUpload", true, NULL},
    {"muLaunchCooperativeKernel", false, STAND_IN(launch_cooperative)},
    {"muMemPrefetchAsync", true, STAND_IN(prefetch)},
    {"muProfilerStart", true, NULL},
    {"muProfilerStop", true, NULL},
    {"muStreamBeginCaptureToGraph", true, NULL},
    {"muStreamGetCaptureInfo", true, NULL},
    {"muStreamGetCaptureInfo_v2", true, NULL},
    {"muStreamGetCaptureInfo_v3", true, NULL},
    {"muStreamGetId", true, NULL},
    {"muStreamIsCapturing", true, NULL},
    {"muStreamUpdateCaptureDependencies", true, NULL},
    {"muStreamUpdateCaptureDependencies_v2", true, NULL},
    {"muThreadExchangeStreamCaptureMode", true, NULL},
    {"muUserObjectCreate", true, NULL},
    {"muUserObjectRelease", true, NULL},
    {"muUserObjectRetain", true, NULL},
};

void *cumu_driver_stand_in(const char *symbol)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, symbol) == 0 && !cumu_below_has("musa", symbol)) {
            void *p = rows[i].runtimes ? cumu_resolve_runtime(symbol + strlen("mu")) : NULL;
            return p || !rows[i].function ? p : cumu_code_address(rows[i].function);
        }
    return NULL;
}
