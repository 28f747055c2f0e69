/* CUPTI: its activity and its callback API over the tracer (core/trace.h). Calls come by the tracer's thunks (call.c),
 * work on the device by its events (record.c); records lie in buffers of the program's (buffer.c). Layouts: CUPTI's
 * documentation and public bindings (coreylowman/cudarc v0.18.1, 11.4 to 13.0), by which a newer form of a record
 * only adds members at its end. So the newest is written for every release: programs step by
 * cuptiActivityGetNextRecord, and read the members that their own release has. */
#ifndef CUMU_API_CUPTI_H
#define CUMU_API_CUPTI_H

#include "core/trace.h"
#include "cuda_enums.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DOMAIN_DRIVER = 1, DOMAIN_RUNTIME, DOMAIN_RESOURCE, DOMAIN_SYNCHRONIZE, DOMAIN_NVTX, DOMAIN_STATE, DOMAINS };
enum { RESOURCE_CONTEXT_CREATED = 1, RESOURCE_CONTEXT_DESTROY = 2, RESOURCE_STREAM_CREATED, RESOURCE_STREAM_DESTROY };
enum { SYNCHRONIZE_STREAM = 1, SYNCHRONIZE_CONTEXT };
enum { SITE_ENTER, SITE_EXIT };
enum cupti_kind {
    KIND_MEMCPY = 1,
    KIND_MEMSET,
    KIND_KERNEL,
    KIND_DRIVER,
    KIND_RUNTIME,
    KIND_CONCURRENT_KERNEL = 10,
    KIND_MARKER = 12,
    KIND_MARKER_DATA,
    KIND_OVERHEAD = 17,
    KIND_MEMCPY2 = 22,
    KIND_SYNCHRONIZATION = 38,
    KIND_EXTERNAL_CORRELATION,
    KIND_GRAPH_TRACE = 51,
    KIND_COUNT = 56
};
enum { MEMORY_UNKNOWN, MEMORY_PAGEABLE, MEMORY_PINNED, MEMORY_DEVICE, MEMORY_ARRAY, MEMORY_MANAGED };
enum { OVERHEAD_COMPILER = 1, OVERHEAD_FLUSH = 1 << 16 };
enum { OBJECT_PROCESS = 1, OBJECT_THREAD };
enum { FLAG_MARK = 1, FLAG_START = 2, FLAG_END = 4 };

/* ---- records --------------------------------------------------------------------------------- */

struct cupti_kernel { /* CUpti_ActivityKernel10 */
    uint32_t kind;
    uint8_t cache_config, shared_config;
    uint16_t registers;
    uint32_t global_cache_requested, global_cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *window;
    uint32_t channel, channel_type, cluster[3], cluster_policy;
    uint64_t local_total_v2;
    uint32_t max_cluster, max_active_clusters;
    uint8_t from_device, padding3[7];
};

struct cupti_memcpy { /* CUpti_ActivityMemcpy6 */
    uint32_t kind;
    uint8_t copy, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t from_device, pad2[3];
    uint64_t count;
};

struct cupti_memset { /* CUpti_ActivityMemset4 */
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t from_device, pad2[3];
};

struct cupti_api {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
};

struct cupti_overhead { /* CUpti_ActivityOverhead3 */
    uint32_t kind, overhead, object, id[3];
    uint64_t start, end;
    uint32_t correlation, reserved;
    void *data;
};

struct cupti_synchronization { /* CUpti_ActivitySynchronization2 */
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t event_sync;
    uint32_t result, pad;
};

struct cupti_external {
    uint32_t kind, external_kind;
    uint64_t external;
    uint32_t correlation, reserved;
};

struct cupti_marker { /* CUpti_ActivityMarker2 */
    uint32_t kind, flags;
    uint64_t timestamp;
    uint32_t id, object, object_id[3], pad;
    const char *name, *domain;
};

struct cupti_marker_data { /* CUpti_ActivityMarkerData2 */
    uint32_t kind, flags, id, payload_kind;
    uint64_t payload;
    uint32_t color, category, domain, padding;
};

struct cupti_graph { /* CUpti_ActivityGraphTrace2 */
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
    void *reserved;
    uint32_t end_device, end_context;
};

/* Bytes of a record of that kind; 0 of one that is not written. */
size_t cumu_cupti_size(uint32_t kind);

/* ---- what is wanted (control.c) --------------------------------------------------------------- */

bool cumu_cupti_kind_on(unsigned kind);
/* The callback of the subscriber for that function or event; NULL if he does not want it. */
typedef void (*cupti_callback)(void *userdata, int domain, uint32_t cbid, const void *data);
cupti_callback cumu_cupti_callback(unsigned domain, uint32_t cbid, void **userdata);
/* Whether the API records of that function are wanted. */
bool cumu_cupti_api_on(unsigned domain, uint32_t cbid);
/* The thread is inside of a callback: CUDA calls made there are nobody's. */
extern _Thread_local unsigned cumu_cupti_inside;

/* ---- numbers of functions (table.c) ----------------------------------------------------------- */

/* The number of a library's function as its toolkit (11, 12, 13) means it; 0: none is known. */
uint32_t cumu_cupti_cbid(unsigned domain, const char *symbol, unsigned toolkit);
/* CUPTI's name of it, or NULL; the largest number. */
const char *cumu_cupti_name(unsigned domain, uint32_t cbid);
uint32_t cumu_cupti_last(unsigned domain);

/* ---- buffers (buffer.c) ----------------------------------------------------------------------- */

void cumu_cupti_write(const void *record, size_t size);
void cumu_cupti_lose(void); /* counts one that could not be made: no memory, no time */
void cumu_cupti_flush(void);
bool cumu_cupti_registered(void); /* the program has given its functions */

/* ---- times and numbers (ids.c) ---------------------------------------------------------------- */

/* Of the tracer's clock, as the program's records have them: nanoseconds since the epoch, or its own clock's. */
uint64_t cumu_cupti_time(uint64_t trace_time);
uint64_t cumu_cupti_now(void);
uint32_t cumu_cupti_thread(void);
uint32_t cumu_cupti_stream(const void *stream); /* 0: no memory */
struct cupti_context {
    uint32_t id, device;
    void *handle;
    bool fresh; /* seen for the first time by this call */
};
/* The calling thread's; zeros when it has none. */
struct cupti_context cumu_cupti_context(void);
/* Of that handle; of the calling thread when it is NULL. Without memory it has no number. */
struct cupti_context cumu_cupti_context_of(const void *handle);
/* The call that the thread is in (call.c), or a number of its own. */
uint32_t cumu_cupti_correlation(void);

/* Writes a record of this context and stream; one whose numbers there was no memory for would belong to another context
 * or stream, and is lost (record.c). */
void cumu_cupti_write_work(const void *record, size_t size, const struct cupti_context *c, uint32_t stream);
/* The records of a copy or a memset that was over when its call returned (record.c). */
void cumu_cupti_copied(const struct cumu_prototype *c, const struct cumu_frame *f, uint64_t end);

#endif
