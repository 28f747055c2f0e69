/* What a user of CUPTI wants: the subscriber and his callbacks, the kinds of records, settings. */
#include "api/cupti/cupti.h"
#include "api/nvtx/nvtx.h"
#include "core/core.h"
#include "core/init.h"
#include "core/upper.h"
#include "mu.h"
#include "wraps.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum { MOST = 1024, ATTRIBUTES = 11 };

_Thread_local unsigned cumu_cupti_inside;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of who changes what follows; it is read without */
static _Atomic(cupti_callback) subscriber;
static void *_Atomic userdata;
static const char handle; /* the subscriber's, by its address */
static atomic_bool callbacks[DOMAINS][MOST];
static atomic_uint callback_count; /* of domains 1 to 4 */
static atomic_bool kinds[KIND_COUNT];
static atomic_bool api_off[2][MOST]; /* cuptiActivityEnableRuntimeApi and ...DriverApi: functions left out */
static atomic_bool api_some[2];      /* of a domain whose kind is off: functions that are wanted */
static atomic_bool api_on[2][MOST];
static atomic_uint wants; /* WANTS_... */
enum { WANTS_CALLS = 1, WANTS_WORK = 2 };

bool cumu_cupti_kind_on(unsigned kind) { return atomic_load_explicit(&kinds[kind], memory_order_relaxed); }

cupti_callback cumu_cupti_callback(unsigned domain, uint32_t cbid, void **data)
{
    if (cbid >= MOST || !atomic_load_explicit(&callbacks[domain][cbid], memory_order_relaxed))
        return NULL;
    *data = atomic_load(&userdata);
    return atomic_load(&subscriber);
}

bool cumu_cupti_api_on(unsigned domain, uint32_t cbid)
{
    unsigned d = domain - 1;
    if (!cbid || cbid >= MOST)
        return false;
    return cumu_cupti_kind_on(domain == DOMAIN_DRIVER ? KIND_DRIVER : KIND_RUNTIME) ? !atomic_load(&api_off[d][cbid])
                                                                                    : atomic_load(&api_on[d][cbid]);
}

/* ---- what the tracer asks ------------------------------------------------------------------------ */

static bool profile_wants(const char *library, const char *symbol)
{
    (void)symbol;
    return (atomic_load_explicit(&wants, memory_order_relaxed) & WANTS_CALLS) &&
           (strcmp(library, "cudart") == 0 || strcmp(library, "cuda") == 0);
}

static bool profile_work(void) { return (atomic_load_explicit(&wants, memory_order_relaxed) & WANTS_WORK) != 0; }

static const struct cumu_upper profiler = {.profile_wants = profile_wants, .profile_work = profile_work};
CUMU_UPPER(profiler);

/* Something has been switched on or off: what the tracer is to do follows. The caller holds the lock. */
static void change(void)
{
    static bool markers;
    bool work = false, marks = atomic_load(&kinds[KIND_MARKER]) || atomic_load(&kinds[KIND_MARKER_DATA]);
    static const unsigned char on_device[] = {KIND_MEMCPY,   KIND_MEMSET,     KIND_KERNEL, KIND_CONCURRENT_KERNEL,
                                              KIND_OVERHEAD, KIND_GRAPH_TRACE};
    for (unsigned i = 0; i < sizeof on_device; i++)
        work |= atomic_load(&kinds[on_device[i]]);
    bool calls = work || atomic_load(&callback_count) || atomic_load(&kinds[KIND_DRIVER]) ||
                 atomic_load(&kinds[KIND_RUNTIME]) || atomic_load(&api_some[0]) || atomic_load(&api_some[1]) ||
                 atomic_load(&kinds[KIND_SYNCHRONIZATION]);
    unsigned before = atomic_exchange(&wants, (calls ? WANTS_CALLS : 0) | (work ? WANTS_WORK : 0));
    if (work)
        cumu_trace_begin();
    if (!(before & WANTS_CALLS) != !calls)
        cumu_trace_rearm();
    if (marks != markers)
        cumu_nvtx_want(marks);
    markers = marks;
}

/* ---- callbacks ------------------------------------------------------------------------------------ */

static const uint32_t ends[DOMAINS] = {
    [DOMAIN_RESOURCE] = 24, [DOMAIN_SYNCHRONIZE] = 3, [DOMAIN_NVTX] = 50, [DOMAIN_STATE] = 4};

/* One past the last number of the domain; 0: there is no such domain. */
static uint32_t end_of(int domain)
{
    if (domain <= 0 || domain >= DOMAINS)
        return 0;
    return ends[domain] ? ends[domain] : cumu_cupti_last((unsigned)domain) + 1;
}

static void set_callback(unsigned domain, uint32_t cbid, bool on)
{
    if (atomic_exchange(&callbacks[domain][cbid], on) == on || domain > DOMAIN_SYNCHRONIZE)
        return;
    if (on)
        atomic_fetch_add(&callback_count, 1);
    else
        atomic_fetch_sub(&callback_count, 1);
}

static void set_domain(int domain, bool on)
{
    for (uint32_t i = 1; i < end_of(domain); i++)
        set_callback((unsigned)domain, i, on);
}

static bool is_subscriber(const void *s) { return s == &handle && atomic_load(&subscriber); }

static void nothing(void *u, int d, uint32_t i, const void *p) { (void)u, (void)d, (void)i, (void)p; }

int wrap_cuptiSubscribe(void **out, void *callback, void *data)
{
    cupti_callback c;
    int status = CUPTI_SUCCESS;
    if (!out)
        return CUPTI_ERROR_INVALID_PARAMETER;
    c = nothing; /* a subscriber without a function is one: nobody else can be */
    if (callback)
        memcpy(&c, &callback, sizeof c);
    pthread_mutex_lock(&lock);
    if (atomic_load(&subscriber)) {
        status = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    } else {
        atomic_store(&userdata, data);
        atomic_store(&subscriber, c);
        *out = (void *)(uintptr_t)&handle;
    }
    pthread_mutex_unlock(&lock);
    return status;
}

int wrap_cuptiUnsubscribe(void *s)
{
    if (!is_subscriber(s))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    for (int d = 1; d < DOMAINS; d++)
        set_domain(d, false);
    atomic_store(&subscriber, NULL);
    change();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int wrap_cuptiEnableDomain(unsigned enable, void *s, int domain)
{
    if (!is_subscriber(s) || !end_of(domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    set_domain(domain, enable != 0);
    change();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int wrap_cuptiEnableAllDomains(unsigned enable, void *s)
{
    if (!is_subscriber(s))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    for (int d = 1; d < DOMAINS; d++)
        set_domain(d, enable != 0);
    change();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int wrap_cuptiEnableCallback(unsigned enable, void *s, int domain, unsigned cbid)
{
    if (!is_subscriber(s) || !cbid || cbid >= end_of(domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    set_callback((unsigned)domain, cbid, enable != 0);
    change();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int wrap_cuptiGetCallbackState(unsigned *enable, void *s, int domain, unsigned cbid)
{
    if (!enable || !is_subscriber(s) || !cbid || cbid >= end_of(domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    *enable = atomic_load(&callbacks[domain][cbid]);
    return CUPTI_SUCCESS;
}

int wrap_cuptiGetCallbackName(int domain, unsigned cbid, void *name)
{
    const char *text = name && domain > 0 && domain <= DOMAIN_RUNTIME ? cumu_cupti_name((unsigned)domain, cbid) : NULL;
    if (!text)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *(const char **)name = text;
    return CUPTI_SUCCESS;
}

int wrap_cuptiSupportedDomains(size_t *count, void *table)
{
    static const int all[] = {DOMAIN_DRIVER, DOMAIN_RUNTIME, DOMAIN_RESOURCE, DOMAIN_SYNCHRONIZE};
    if (!count || !table)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *count = sizeof all / sizeof *all;
    *(const int **)table = all;
    return CUPTI_SUCCESS;
}

/* ---- kinds ---------------------------------------------------------------------------------------- */

static int set_kind(int kind, bool on)
{
    if (kind <= 0 || kind >= KIND_COUNT || (!cumu_cupti_size((uint32_t)kind) && kind != KIND_MEMCPY2))
        return CUPTI_ERROR_INVALID_KIND;
    pthread_mutex_lock(&lock);
    atomic_store(&kinds[kind], on);
    change();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int wrap_cuptiActivityEnable(int kind) { return set_kind(kind, true); }

int wrap_cuptiActivityDisable(int kind) { return set_kind(kind, false); }

/* Records are of all contexts or of none. */
int wrap_cuptiActivityEnableContext(void *context, int kind)
{
    return context ? set_kind(kind, true) : CUPTI_ERROR_INVALID_CONTEXT;
}

int wrap_cuptiActivityDisableContext(void *context, int kind)
{
    return context ? set_kind(kind, false) : CUPTI_ERROR_INVALID_CONTEXT;
}

int wrap_cuptiActivityEnableAndDump(int kind) { return set_kind(kind, true); }

static int set_api(unsigned domain, unsigned cbid, bool on)
{
    unsigned d = domain - 1;
    if (!cbid || cbid > cumu_cupti_last(domain))
        return CUPTI_ERROR_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    atomic_store(&api_off[d][cbid], !on);
    atomic_store(&api_on[d][cbid], on);
    bool any = false;
    for (unsigned i = 0; i < MOST; i++)
        any |= atomic_load(&api_on[d][i]);
    atomic_store(&api_some[d], any);
    change();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

int wrap_cuptiActivityEnableRuntimeApi(unsigned cbid, unsigned char on) { return set_api(DOMAIN_RUNTIME, cbid, on); }

int wrap_cuptiActivityEnableDriverApi(unsigned cbid, unsigned char on) { return set_api(DOMAIN_DRIVER, cbid, on); }

/* What CUPTI takes or leaves: each of these only adds to records what stays zero here. */
int wrap_cuptiActivityEnableAllSyncRecords(unsigned char on) { return (void)on, CUPTI_SUCCESS; }

int wrap_cuptiActivityEnableLatencyTimestamps(unsigned char on) { return (void)on, CUPTI_SUCCESS; }

int wrap_cuptiActivityEnableLaunchAttributes(unsigned char on) { return (void)on, CUPTI_SUCCESS; }

/* ---- settings ------------------------------------------------------------------------------------- */

/* Sizes of CUPTI's own buffers, which there are none of: kept and told, as programs ask for what they set. */
static struct {
    size_t value; /* first what CUPTI's documentation names as the default */
    size_t size;
} attributes[ATTRIBUTES] = {{3200000, sizeof(size_t)}, {8388608, sizeof(size_t)}, {250, sizeof(size_t)},
                            {25000, sizeof(size_t)},   {250, sizeof(size_t)},     {1, sizeof(uint8_t)},
                            {3, sizeof(size_t)},       {3, sizeof(size_t)},       {0, sizeof(uint8_t)},
                            {1, sizeof(uint8_t)},      {0, sizeof(size_t)}};

static int move_attribute(int attribute, void *size, void *value, bool set)
{
    size_t *n = size;
    if (!size || !value || attribute < 0 || attribute >= ATTRIBUTES)
        return CUPTI_ERROR_INVALID_PARAMETER;
    size_t own = attributes[attribute].size, given = *n;
    if (given < own)
        return CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT;
    pthread_mutex_lock(&lock);
    if (set)
        memcpy(&attributes[attribute].value, value, own); /* little endian */
    else
        memcpy(value, &attributes[attribute].value, own);
    pthread_mutex_unlock(&lock);
    *n = own;
    return CUPTI_SUCCESS;
}

int wrap_cuptiActivityGetAttribute(int attribute, void *size, void *value)
{
    return move_attribute(attribute, size, value, false);
}

int wrap_cuptiActivitySetAttribute(int attribute, void *size, void *value)
{
    return move_attribute(attribute, size, value, true);
}

int wrap_cuptiFinalize(void)
{
    if (cumu_cupti_registered())
        (void)wrap_cuptiActivityFlushAll(1);
    pthread_mutex_lock(&lock);
    for (unsigned k = 0; k < KIND_COUNT; k++)
        atomic_store(&kinds[k], false);
    for (int d = 1; d < DOMAINS; d++)
        set_domain(d, false);
    for (unsigned d = 0; d < 2; d++) {
        for (unsigned i = 0; i < MOST; i++) {
            atomic_store(&api_on[d][i], false);
            atomic_store(&api_off[d][i], false);
        }
        atomic_store(&api_some[d], false);
    }
    atomic_store(&subscriber, NULL);
    change();
    pthread_mutex_unlock(&lock);
    return CUPTI_SUCCESS;
}

/* ---- versions, texts, devices --------------------------------------------------------------------- */

static unsigned toolkit;

static void find_toolkit(const struct cumu_facade *f)
{
    const char *version = strstr(f->table->soname, "libcupti.so.");
    if (version)
        toolkit = (unsigned)(10 * (version[12] - '0') + version[13] - '0');
}

/* CUPTI_API_VERSION of the newest release that the facade's name stands for and that is public: 11.8, 12.9, 13.0. */
int wrap_cuptiGetVersion(unsigned *version)
{
    if (!version)
        return CUPTI_ERROR_INVALID_PARAMETER;
    cumu_init_each(find_toolkit);
    *version = toolkit == 11 ? 18 : toolkit == 12 ? 28 : 130001;
    return CUPTI_SUCCESS;
}

static const struct {
    int value;
    const char *name, *text;
} results[] = {
#define R(name, text) \
    { \
        CUPTI_##name, "CUPTI_" #name, text \
    }
    R(SUCCESS, "no error"),
    R(ERROR_INVALID_PARAMETER, "invalid parameter"),
    R(ERROR_INVALID_DEVICE, "invalid device"),
    R(ERROR_INVALID_CONTEXT, "invalid context"),
    R(ERROR_INVALID_OPERATION, "invalid operation"),
    R(ERROR_OUT_OF_MEMORY, "out of memory"),
    R(ERROR_PARAMETER_SIZE_NOT_SUFFICIENT, "parameter size is not sufficient"),
    R(ERROR_MAX_LIMIT_REACHED, "maximum limit reached"),
    R(ERROR_NOT_COMPATIBLE, "not compatible"),
    R(ERROR_NOT_INITIALIZED, "not initialized"),
    R(ERROR_QUEUE_EMPTY, "queue is empty"),
    R(ERROR_INVALID_KIND, "invalid kind"),
    R(ERROR_NOT_SUPPORTED, "not supported"),
    R(ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "multiple subscribers are not supported"),
    R(ERROR_UNKNOWN, "unknown error"),
#undef R
};

static int result_text(int result, void *out, bool name)
{
    for (unsigned i = 0; out && i < sizeof results / sizeof *results; i++)
        if (results[i].value == result) {
            *(const char **)out = name ? results[i].name : results[i].text;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

int wrap_cuptiGetResultString(int result, void *text) { return result_text(result, text, true); }

int wrap_cuptiGetErrorMessage(int result, void *text) { return result_text(result, text, false); }

int wrap_cuptiGetLastError(void) { return CUPTI_SUCCESS; /* each function says its own */ }

int wrap_cuptiComputeCapabilitySupported(int major, int minor, int *support)
{
    if (!support)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *support = major > 0 && minor >= 0;
    return CUPTI_SUCCESS;
}

int wrap_cuptiDeviceSupported(int device, int *support)
{
    int count = 0;
    if (!support)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (mu.muDeviceGetCount(&count) != 0 || device < 0 || device >= count)
        return CUPTI_ERROR_INVALID_DEVICE;
    *support = 1;
    return CUPTI_SUCCESS;
}
