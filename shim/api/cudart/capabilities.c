/* Atomic capabilities and notifications of the runtime API. */
#include "api/capabilities.h"

/* What every runtime call does first: the driver is there. */
static int start(void)
{
    int devices;
    return mu.musaGetDeviceCount(&devices);
}

cudaError_t wrap_cudaDeviceGetHostAtomicCapabilities(unsigned *capabilities, const void *operations, unsigned count,
                                                     int device)
{
    int err = start();
    return CUMU_RT(err ? err : cumu_host_atomics(capabilities, operations, count, device));
}

cudaError_t wrap_cudaDeviceGetP2PAtomicCapabilities(unsigned *capabilities, const void *operations, unsigned count,
                                                    int device, int peer)
{
    int err = start();
    return CUMU_RT(err ? err : cumu_peer_atomics(capabilities, operations, count, device, peer));
}

cudaError_t wrap_cudaDeviceRegisterAsyncNotification(int device, void *callback, void *user, void *handle)
{
    int err = start();
    return CUMU_RT(err ? err : cumu_register_notification(device, callback, user, handle));
}

cudaError_t wrap_cudaDeviceUnregisterAsyncNotification(int device, void *handle)
{
    return CUMU_RT(cumu_unregister_notification(device, handle));
}
