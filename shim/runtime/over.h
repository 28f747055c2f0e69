/* libcumu-runtime.so: functions of MUSA's runtime over its driver, for SDKs whose own runtime lacks them. It has the
 * code of the CPU's runtime, which calls nothing but the driver, and no state of its own: devices, contexts and the
 * last error stay those of the runtime below. */
#ifndef CUMU_RUNTIME_OVER_H
#define CUMU_RUNTIME_OVER_H

struct cumu_over {
    void *(*driver)(const char *name); /* address of a driver function; NULL: there is none */
    int (*enter)(void);                /* makes the thread's device current, as every call of the runtime does */
    void (*fail)(int code);            /* a call has failed */
};

/* Exported under this name; once, before any function is called. */
#define CUMU_OVER_START "cumu_over_start"
void cumu_over_start(const struct cumu_over *over);

#endif
