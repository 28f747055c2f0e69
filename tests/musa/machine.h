/* A machine of one block for emitted kernels on the host: what their platform part (host.h) sees of it. */
#ifndef CUMU_TESTS_MUSA_MACHINE_H
#define CUMU_TESTS_MUSA_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct machine {
    unsigned char *shared;
    size_t shared_room;
    unsigned tid[3], ntid[3], ctaid[3], nctaid[3]; /* tid: of the thread that runs now */
    unsigned dynamic_shared, total_shared;
    unsigned long long grid_id, envreg12;
    unsigned long shuffles; /* that threads have asked for */
    /* kind: 0 sync, 1 arrive, 2 count, 3 and, 4 or; n: threads, 0 = all of the block */
    unsigned (*barrier)(unsigned id, unsigned n, int kind, int pred);
    /* kind: 0 v of lane, 1 bits of those whose v is set, 2 who runs now */
    unsigned (*warp)(int kind, unsigned mask, unsigned v, unsigned lane);
    void (*wait)(void);                                                                      /* lets others run */
    void (*end)(const char *message, const char *file, unsigned line, const char *function); /* of the block */
    unsigned (*round)(unsigned mode); /* of the FPU, as in MXCSR; the one before */
    unsigned (*approx)(int which, unsigned bits);
    unsigned long long (*clock)(int wall);
    int (*print)(const char *format, const unsigned char *args);
    void *(*alloc)(size_t n);
    void (*release)(void *p);
    /* form: as imm of tier 0's TEX; at: x y z, layer, level, dx, dy as TEX_ARGS have them */
    void (*texture)(unsigned long long handle, unsigned form, const unsigned *at, unsigned *out);
    /* Where bytes x.. of that row and slice are; NULL: nowhere. edge: enum LIR_SURF_TRAP... */
    void *(*surface)(unsigned long long handle, unsigned geometry, int x, int y, int z, unsigned bytes, int edge);
};

#ifdef __cplusplus
extern "C" {
#endif
struct t0_grid;
struct t0_fault;
/* Runs one block; entry starts a thread. *machine is where the kernel looks for its machine. Returns an enum
 * t0_fault_kind. */
int machine_run(struct machine **machine, void (*entry)(const void *params), const struct t0_grid *g, uint64_t block,
                uint32_t shared, struct t0_fault *fault);
unsigned long machine_shuffles(void); /* of the last block */
#ifdef __cplusplus
}
#endif
#endif
