/* Inside of the CPU muSOLVER: what its files share. It stands on OpenBLAS's LAPACK, the CPU muBLAS for handles, and
 * the exported MUSA functions.
 *
 * A call is checked on the caller's thread, copied, and run in the order of the handle's stream. LAPACK is called by
 * its Fortran names; an operation asks it for workspace by the call that later computes, so that a _bufferSize and
 * its function cannot disagree. */
#ifndef CUMU_HOST_MUSOLVER_H
#define CUMU_HOST_MUSOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/musolver.h"
#include "musa_enums.h"

enum { S, D, C, Z }; /* float, double, and complex of them */

/* A matrix with its leading dimension; in a batch `stride` elements lie between two, or `at` is an array of them. */
struct musolver_operand {
    void *at;
    int ld;
    long long stride;
};

/* Workspace of one operation. In a query the sizes are -1 and LAPACK writes what it wants into the first elements;
 * an operation whose LAPACK function has no query for one of them sets that size itself. */
struct musolver_room {
    bool query;
    int lwork, lrwork, liwork; /* elements: of the type, of its real type, int */
    void *work, *rwork;
    int *iwork;
    char *extra;
    int info;
};

struct musolver_call {
    void (*op)(const struct musolver_call *, struct musolver_room *);
    int type;                                                  /* S, D, C or Z */
    char uplo[2], trans[2], side[2], diag[2], job[2], job2[2]; /* letters of LAPACK */
    int m, n, k, form;
    struct musolver_operand a, b, u, v;
    const void *from_tau;
    void *tau, *taup, *w, *e;
    const int *from_ints;
    int *ints, *info;
    double vl, vu, *residuals;
    int range, il, iu, *meig; /* of eigenvalues: all when range is 0 */
    long long stridew;        /* of w in a batch */
    int batch;
    bool pointers; /* a and b are arrays of addresses */
    size_t extra;  /* bytes beside LAPACK's workspace */
    void *work;    /* NULL: allocated by the run */
    musolverJacobi_t params;
};

bool musolver_live(musolverDnHandle_t h);

/* Sizes of an element and of its real part. */
static inline size_t musolver_size(int type) { return (size_t[]){4, 8, 8, 16}[type]; }
static inline size_t musolver_real(int type) { return type == S || type == C ? 4 : 8; }
static inline bool musolver_complex(int type) { return type >= C; }

/* An argument of the interface that is const in one of several functions, as an operand's place. */
static inline void *musolver_place(const void *p) { return (void *)(uintptr_t)p; }

typedef double _Complex musolver_number;
musolver_number musolver_get(const void *a, int type, size_t i);
void musolver_put(void *a, int type, size_t i, musolver_number v);
double musolver_get_real(const void *a, int type, size_t i);

/* Letters of LAPACK for the values of enums; an empty one for values that are none. */
struct musolver_letter {
    char c[2];
};
#define MUSOLVER_SET(field, letter) \
    do { \
        struct musolver_letter l_ = letter; \
        (field)[0] = l_.c[0]; \
    } while (0)
struct musolver_letter musolver_fill(mublasFillMode_t u), musolver_op(mublasOperation_t t, int type),
    musolver_side(mublasSideMode_t s), musolver_diag(mublasDiagType_t d), musolver_evect(mublasEvect_t e),
    musolver_svect(mublasSvect_t s);

/* Bytes and elements of workspace that the call needs. */
size_t musolver_bytes(const struct musolver_call *c);
musolverStatus_t musolver_lwork(musolverDnHandle_t h, const struct musolver_call *c, bool bad, int *lwork);

/* Puts the call on the stream with a workspace of `lwork` elements, or with one of its own (NULL, -1). `bad`: its
 * arguments are. An `empty` one is done: info is 0. `work`: a rough number of operations. */
musolverStatus_t musolver_submit(musolverDnHandle_t h, struct musolver_call *c, bool bad, bool empty, void *work,
                                 int lwork, double operations);

/* The sweeps and the residual of a Jacobi solver, at the end of its run. */
void musolver_told(musolverJacobi_t params, double residual, bool batched);
bool musolver_params(musolverJacobi_t params);

/* A Fortran function of each type, with the same parameters; names of real and of complex types may differ. */
#define MUSOLVER_FORTRAN2(name, real, complex, ...) \
    void s##real##_(__VA_ARGS__), d##real##_(__VA_ARGS__), c##complex##_(__VA_ARGS__), z##complex##_(__VA_ARGS__); \
    static void (*const name[])(__VA_ARGS__) = {s##real##_, d##real##_, c##complex##_, z##complex##_}
#define MUSOLVER_FORTRAN(name, ...) MUSOLVER_FORTRAN2(name, name, name, __VA_ARGS__)
/* The same where the complex form has other parameters: two tables. */
#define MUSOLVER_FORTRAN_REAL(name, lapack, ...) \
    void s##lapack##_(__VA_ARGS__), d##lapack##_(__VA_ARGS__); \
    static void (*const name[])(__VA_ARGS__) = {s##lapack##_, d##lapack##_}
#define MUSOLVER_FORTRAN_COMPLEX(name, lapack, ...) \
    void c##lapack##_(__VA_ARGS__), z##lapack##_(__VA_ARGS__); \
    static void (*const name[])(__VA_ARGS__) = {NULL, NULL, c##lapack##_, z##lapack##_}

static inline int musolver_least(int n) { return n > 1 ? n : 1; }
static inline int musolver_min(int a, int b) { return a < b ? a : b; }

#endif
