/* What CUDA 13 asks about atomics, and notifications of CUDA 12.4, as both APIs share them. All return
 * CUresult numbers. */
#ifndef CUMU_API_CAPABILITIES_H
#define CUMU_API_CAPABILITIES_H

#include "api/api.h"

/* CU_ATOMIC_CAPABILITY_* of each operation (CU_ATOMIC_OPERATION_*) on memory of the host, or of the device
 * `peer`; nothing is written unless all are known. */
int cumu_host_atomics(unsigned *capabilities, const int *operations, unsigned count, int device);
int cumu_peer_atomics(unsigned *capabilities, const int *operations, unsigned count, int device, int peer);

/* A callback for the day on which the device's memory is over budget. MUSA has no budgets: it is registered
 * and never called. */
int cumu_register_notification(int device, void *callback, void *user, void **handle);
int cumu_unregister_notification(int device, void *handle);

#endif
