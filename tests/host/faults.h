/* Whether an address is accessible. */
#ifndef CUMU_TESTS_HOST_FAULTS_H
#define CUMU_TESTS_HOST_FAULTS_H

#include "device.h"

#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;

static void on_fault(int sig)
{
    (void)sig;
    siglongjmp(back, 1);
}

/* Reads the byte, and writes it as it was. */
static bool faults(MUdeviceptr p)
{
    struct sigaction act = {.sa_handler = on_fault}, segv, bus;
    sigaction(SIGSEGV, &act, &segv);
    sigaction(SIGBUS, &act, &bus);
    bool hit = sigsetjmp(back, 1) != 0;
    if (!hit) {
        volatile char *byte = at(p);
        *byte = *byte;
    }
    sigaction(SIGSEGV, &segv, NULL);
    sigaction(SIGBUS, &bus, NULL);
    return hit;
}

#endif
