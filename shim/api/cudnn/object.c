/* Where the handles and descriptors of cuDNN lie: in places of one size in one reserved region, so that any value that
 * a program gives for one, memory that is gone included, can be told from one that is live. */
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "api/cudnn/dnn.h"

enum { PLACE = 512, PLACES = 1 << 19 };

static char *_Atomic region;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t used;     /* places that were ever given out */
static void *free_list; /* those given back: each holds the next one's address behind its magic number */

static void **link_of(void *place) { return (void **)((char *)place + sizeof(void *)); }

bool dnn_is(enum dnn_kind kind, const void *object)
{
    char *base = region;
    size_t at = (uintptr_t)object - (uintptr_t)base;
    return base && at < (size_t)PLACE * PLACES && at % PLACE == 0 &&
           __atomic_load_n(&((const struct dnn_object *)object)->magic, __ATOMIC_ACQUIRE) == (unsigned)kind;
}

static void *take(void)
{
    void *place = NULL;
    pthread_mutex_lock(&lock);
    if (!region) {
        void *p = mmap(NULL, (size_t)PLACE * PLACES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        region = p == MAP_FAILED ? NULL : p;
    }
    if (free_list) {
        place = free_list;
        free_list = *link_of(place);
    } else if (region && used < PLACES) {
        place = region + used++ * PLACE;
    }
    pthread_mutex_unlock(&lock);
    return place;
}

int dnn_create(enum dnn_kind kind, size_t size, void **out)
{
    DNN_BAD_UNLESS(out);
    if (size > PLACE)
        return CUDNN_STATUS_INTERNAL_ERROR;
    struct dnn_object *o = take();
    if (!o)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memset(o, 0, PLACE);
    __atomic_store_n(&o->magic, (unsigned)kind, __ATOMIC_RELEASE);
    *out = o;
    return CUDNN_STATUS_SUCCESS;
}

int dnn_destroy(enum dnn_kind kind, void *object)
{
    unsigned live = (unsigned)kind;
    if (!object)
        return CUDNN_STATUS_SUCCESS;
    DNN_BAD_UNLESS(dnn_is(kind, object));
    /* of two threads that destroy it one does */
    DNN_BAD_UNLESS(__atomic_compare_exchange_n(&((struct dnn_object *)object)->magic, &live, DNN_NONE, false,
                                               __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    pthread_mutex_lock(&lock);
    *link_of(object) = free_list;
    free_list = object;
    pthread_mutex_unlock(&lock);
    return CUDNN_STATUS_SUCCESS;
}
