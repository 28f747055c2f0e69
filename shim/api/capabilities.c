/* Atomic capabilities and notifications: answers that MUSA has no calls for. */
#include "api/capabilities.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    INTEGER = CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_UNSIGNED,
    UNSIGNED = CU_ATOMIC_CAPABILITY_UNSIGNED,
    RED = CU_ATOMIC_CAPABILITY_REDUCTION,
    B32 = CU_ATOMIC_CAPABILITY_SCALAR_32,
    B64 = CU_ATOMIC_CAPABILITY_SCALAR_64
};

/* What PTX has as atom and red of system scope up to the claimed architecture. */
static const unsigned native[] = {
    [CU_ATOMIC_OPERATION_INTEGER_ADD] = INTEGER | RED | B32 | B64,
    [CU_ATOMIC_OPERATION_INTEGER_MIN] = INTEGER | RED | B32 | B64,
    [CU_ATOMIC_OPERATION_INTEGER_MAX] = INTEGER | RED | B32 | B64,
    [CU_ATOMIC_OPERATION_INTEGER_INCREMENT] = UNSIGNED | RED | B32,
    [CU_ATOMIC_OPERATION_INTEGER_DECREMENT] = UNSIGNED | RED | B32,
    [CU_ATOMIC_OPERATION_AND] = UNSIGNED | RED | B32 | B64,
    [CU_ATOMIC_OPERATION_OR] = UNSIGNED | RED | B32 | B64,
    [CU_ATOMIC_OPERATION_XOR] = UNSIGNED | RED | B32 | B64,
    [CU_ATOMIC_OPERATION_EXCHANGE] = UNSIGNED | B32 | B64,
    [CU_ATOMIC_OPERATION_CAS] = UNSIGNED | B32 | B64,
    [CU_ATOMIC_OPERATION_FLOAT_ADD] = RED | B32 | B64,
    [CU_ATOMIC_OPERATION_FLOAT_MIN] = 0,
    [CU_ATOMIC_OPERATION_FLOAT_MAX] = 0,
};

static int answer(unsigned *capabilities, const int *operations, unsigned count, int supported)
{
    if (!capabilities || !operations || !count)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX)
            return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++)
        capabilities[i] = supported ? native[operations[i]] : 0;
    return CUDA_SUCCESS;
}

int cumu_host_atomics(unsigned *capabilities, const int *operations, unsigned count, int device)
{
    int supported = 0;
    int err = mu.muDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, device);
    return err ? err : answer(capabilities, operations, count, supported);
}

int cumu_peer_atomics(unsigned *capabilities, const int *operations, unsigned count, int device, int peer)
{
    int supported = 0;
    int err = mu.muDeviceGetP2PAttribute(&supported, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, device, peer);
    return err ? err : answer(capabilities, operations, count, supported);
}

/* ---- notifications --------------------------------------------------------------------------- */

struct notification {
    int device;
    struct notification *next;
};
static struct notification *registered;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int cumu_register_notification(int device, void *callback, void *user, void **handle)
{
    int known = 0;
    (void)user;
    if (!callback || !handle)
        return CUDA_ERROR_INVALID_VALUE;
    int err = mu.muDeviceGetAttribute(&known, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
    if (err)
        return err;
    struct notification *n = malloc(sizeof *n);
    if (!n)
        return CUDA_ERROR_OUT_OF_MEMORY;
    n->device = device;
    pthread_mutex_lock(&lock);
    n->next = registered;
    registered = n;
    pthread_mutex_unlock(&lock);
    *handle = n;
    return CUDA_SUCCESS;
}

int cumu_unregister_notification(int device, void *handle)
{
    struct notification *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct notification **link = &registered; *link; link = &(*link)->next)
        if (*link == handle && (*link)->device == device) {
            found = *link;
            *link = found->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    free(found);
    return found ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
