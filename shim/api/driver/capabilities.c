/* Atomic capabilities and notifications of the driver API. */
#include "api/capabilities.h"

CUresult wrap_cuDeviceGetHostAtomicCapabilities(unsigned *capabilities, const void *operations, unsigned count,
                                                int device)
{
    return cumu_host_atomics(capabilities, operations, count, device);
}

CUresult wrap_cuDeviceGetP2PAtomicCapabilities(unsigned *capabilities, const void *operations, unsigned count,
                                               int device, int peer)
{
    return cumu_peer_atomics(capabilities, operations, count, device, peer);
}

CUresult wrap_cuDeviceRegisterAsyncNotification(int device, void *callback, void *user, void *handle)
{
    return cumu_register_notification(device, callback, user, handle);
}

CUresult wrap_cuDeviceUnregisterAsyncNotification(int device, void *handle)
{
    return cumu_unregister_notification(device, handle);
}
