/* A libmusolver in the shape of SDK 3.1 (-DSDK=3) or 4.3 (-DSDK=4), as far as public sources tell it: names, parameters
 * and numbers of muBLAS, workspaces in bytes. It computes with LAPACK in the buffers that it is given, so that a call
 * in another shape does not give the results that old.c expects. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { OP_N = 111, OP_T, OP_C, UPPER = 121, LOWER = 122, LEFT = 141, RIGHT = 142 };
enum { ALL = 191, SINGULAR, OVERWRITE, NONE, OUTOFPLACE = 201, ORIGINAL = 211, NO_VECTORS = 213 };
#if SDK == 3
enum { INVALID = 11 }; /* muBLAS's number; SDK 4.3 has cuSOLVER's */
#define NAME(X, name) musolver##X##name
#define SIZE_T int
#else
enum { INVALID = 3 };
#define NAME(X, name) musolverDn##X##name
#define SIZE_T size_t
#endif
extern int musaDeviceSynchronize(void);
static int done(int info) { return info < 0 ? INVALID : 0; }
static const char *op(int o) { return o == OP_N ? "N" : o == OP_T ? "T" : o == OP_C ? "C" : NULL; }
static const char *fill(int u) { return u == UPPER ? "U" : u == LOWER ? "L" : NULL; }
static const char *job(int j)
{
    return j == ALL ? "A" : j == SINGULAR ? "S" : j == OVERWRITE ? "O" : j == NONE ? "N" : NULL;
}
static size_t svd_bytes(int m, int n, size_t size) { return (size_t)(6 * (m + n) + 64) * 4 * size; }

#if SDK == 4
/* A handle of its own; the stream is kept for it alone. */
struct handle {
    void *stream;
};
int musolverDnCreate(struct handle **h) { return (*h = calloc(1, sizeof **h)) ? 0 : 2; }
int musolverDnDestroy(struct handle *h) { return free(h), 0; }
int musolverDnSetStream(struct handle *h, void *stream) { return h->stream = stream, 0; }
int musolverDnGetStream(struct handle *h, void **stream) { return h ? (*stream = h->stream, 0) : 1; }
#endif

#define LAPACK(x, OR, SY) \
    extern void x##getrf_(int *, int *, void *, int *, int *, int *); \
    extern void x##getrs_(const char *, int *, int *, const void *, int *, const int *, void *, int *, int *, size_t); \
    extern void x##potrs_(const char *, int *, int *, const void *, int *, void *, int *, int *, size_t); \
    extern void x##geqrf_(int *, int *, void *, int *, void *, void *, int *, int *); \
    extern void x##OR##gqr_(int *, int *, int *, void *, int *, const void *, void *, int *, int *); \
    extern void x##OR##mqr_(const char *, const char *, int *, int *, int *, const void *, int *, const void *, \
                            void *, int *, void *, int *, int *, size_t, size_t); \
    extern void x##gesvd_(); \
    extern void x##SY##evd_();
LAPACK(s, or, sy)
LAPACK(d, or, sy)
LAPACK(c, un, he)
LAPACK(z, un, he)

/* Factors of both SDKs: QR has one shape but for the name. */
#define QR(X, x, size, OR) \
    int NAME(X, geqrf_bufferSize)(int m, int n, SIZE_T *bytes) { return (void)m, *bytes = (n + 1) * 8 * size, 0; } \
    int NAME(X, geqrf)(void *h, int m, int n, void *a, int lda, void *tau, void *buffer) \
    { \
        int lwork = (n + 1) * 8, info = 0; \
        musaDeviceSynchronize(); \
        if (!h || !buffer) \
            return INVALID; \
        x##geqrf_(&m, &n, a, &lda, tau, buffer, &lwork, &info); \
        return done(info); \
    } \
    int NAME(X, OR##gqr_bufferSize)(int m, int n, int k, SIZE_T *bytes) \
    { \
        return (void)m, (void)k, *bytes = (n + 1) * 8 * size, 0; \
    } \
    int NAME(X, OR##gqr)(void *h, int m, int n, int k, void *a, int lda, const void *tau, void *buffer) \
    { \
        int lwork = (n + 1) * 8, info = 0; \
        musaDeviceSynchronize(); \
        if (!h || !buffer) \
            return INVALID; \
        x##OR##gqr_(&m, &n, &k, a, &lda, tau, buffer, &lwork, &info); \
        return done(info); \
    }
QR(S, s, 4, or)
QR(D, d, 8, or)
QR(C, c, 8, un)
QR(Z, z, 16, un)

/* The work of LAPACK lies in the buffer, what real numbers complex functions want behind it. */
#define SVD(X, x, size, is_complex) \
    int NAME(X, gesvd_bufferSize)(int left, int right, int m, int n, int batch, int mode, SIZE_T *bytes) \
    { \
        if (!job(left) || !job(right) || batch != 1 || mode != OUTOFPLACE) \
            return INVALID; \
        return *bytes = (SIZE_T)svd_bytes(m, n, size), 0; \
    } \
    int NAME(X, gesvd)(void *h, int left, int right, int m, int n, void *a, int lda, void *s, void *u, int ldu, \
                       void *v, int ldv, void *e, int mode, int *info, void *buffer) \
    { \
        int lwork = (int)(svd_bytes(m, n, size) / size / 2), told = 0; \
        void *reals = (char *)buffer + (size_t)lwork * size; \
        musaDeviceSynchronize(); \
        if (!h || !job(left) || !job(right) || !e || mode != OUTOFPLACE || !buffer) \
            return INVALID; \
        memset(e, 0, size *(size_t)n); \
        if (is_complex) \
            x##gesvd_(job(left), job(right), &m, &n, a, &lda, s, u, &ldu, v, &ldv, buffer, &lwork, reals, &told, \
                      (size_t)1, (size_t)1); \
        else \
            x##gesvd_(job(left), job(right), &m, &n, a, &lda, s, u, &ldu, v, &ldv, buffer, &lwork, &told, (size_t)1, \
                      (size_t)1); \
        *info = told; \
        return done(told); \
    }
SVD(S, s, 4, false)
SVD(D, d, 8, false)
SVD(C, c, 8, true)
SVD(Z, z, 16, true)

#define EIGEN(X, x, size, SY, is_complex) \
    int NAME(X, SY##evd_bufferSize)(int vectors, int uplo, int n, size_t *bytes) \
    { \
        if (!fill(uplo) || (vectors != ORIGINAL && vectors != NO_VECTORS)) \
            return INVALID; \
        return *bytes = (size_t)(8 * n * n + 32 * n + 64) * 4 * size, 0; \
    } \
    int NAME(X, SY##evd)(void *h, int vectors, int uplo, int n, void *a, int lda, void *w, void *e, int *info, \
                         void *buffer) \
    { \
        int lwork = 8 * n * n + 16 * n + 16, integers = 8 * n + 16, told = 0; \
        char *reals = (char *)buffer + (size_t)lwork * size, *whole = reals + (size_t)lwork * size; \
        musaDeviceSynchronize(); \
        if (!h || !fill(uplo) || (vectors != ORIGINAL && vectors != NO_VECTORS) || !e) \
            return INVALID; \
        memset(e, 0, (is_complex ? size / 2 : size) * (size_t)n); \
        if (is_complex) \
            x##SY##evd_(vectors == ORIGINAL ? "V" : "N", fill(uplo), &n, a, &lda, w, buffer, &lwork, reals, &lwork, \
                        whole, &integers, &told, (size_t)1, (size_t)1); \
        else \
            x##SY##evd_(vectors == ORIGINAL ? "V" : "N", fill(uplo), &n, a, &lda, w, buffer, &lwork, whole, &integers, \
                        &told, (size_t)1, (size_t)1); \
        *info = told; \
        return done(told); \
    }
EIGEN(S, s, 4, sy, false)
EIGEN(D, d, 8, sy, false)
#if SDK == 4
EIGEN(C, c, 8, he, true)
EIGEN(Z, z, 16, he, true)
#endif

#if SDK == 3
/* getrf says nothing of a zero pivot; getrs wants a buffer where others have info; potrs tells nothing. */
#define SOLVE(X, x, size) \
    int musolver##X##getrf_bufferSize(int m, int n, bool pivot, int *bytes) \
    { \
        return (void)m, (void)n, pivot ? (*bytes = 24, 0) : INVALID; \
    } \
    int musolver##X##getrf(void *h, int m, int n, void *a, int lda, int *ipiv, int *info, void *buffer) \
    { \
        int told = 0; \
        musaDeviceSynchronize(); \
        if (!h || !info || !buffer) \
            return INVALID; \
        memset(buffer, 0xff, 24); \
        x##getrf_(&m, &n, a, &lda, ipiv, &told); \
        return done(told); \
    } \
    int musolver##X##getrs_bufferSize(int trans, int n, int nrhs, int *bytes) \
    { \
        return (void)n, (void)nrhs, op(trans) ? (*bytes = 48, 0) : INVALID; \
    } \
    int musolver##X##getrs(void *h, int trans, int n, int nrhs, const void *a, int lda, const int *ipiv, void *b, \
                           int ldb, void *buffer) \
    { \
        int told = 0; \
        musaDeviceSynchronize(); \
        if (!h || !op(trans) || !buffer) \
            return INVALID; \
        memset(buffer, 0xff, 48); \
        x##getrs_(op(trans), &n, &nrhs, a, &lda, ipiv, b, &ldb, &told, 1); \
        return done(told); \
    } \
    int musolver##X##potrs(void *h, int uplo, int n, int nrhs, const void *a, int lda, void *b, int ldb) \
    { \
        int told = 0; \
        musaDeviceSynchronize(); \
        if (!h || !fill(uplo)) \
            return INVALID; \
        x##potrs_(fill(uplo), &n, &nrhs, a, &lda, b, &ldb, &told, 1); \
        return done(told); \
    }
#else
/* cuSOLVER's order, sizes in elements; ormqr and unmqr without workspace. */
#define SOLVE(X, x, size) \
    int musolverDn##X##getrf_bufferSize(void *h, int m, int n, void *a, int lda, int *lwork) \
    { \
        return (void)m, (void)n, (void)a, (void)lda, h ? (*lwork = 3, 0) : INVALID; \
    } \
    int musolverDn##X##getrf(void *h, int m, int n, void *a, int lda, void *work, int *ipiv, int *info) \
    { \
        musaDeviceSynchronize(); \
        if (!h || !work) \
            return INVALID; \
        memset(work, 0xff, 3 * size); \
        x##getrf_(&m, &n, a, &lda, ipiv, info); \
        return done(*info); \
    } \
    int musolverDn##X##getrs(void *h, int trans, int n, int nrhs, const void *a, int lda, const int *ipiv, void *b, \
                             int ldb, int *info) \
    { \
        musaDeviceSynchronize(); \
        if (!h || !op(trans)) \
            return INVALID; \
        x##getrs_(op(trans), &n, &nrhs, a, &lda, ipiv, b, &ldb, info, 1); \
        return done(*info); \
    } \
    int musolverDn##X##potrs(void *h, int uplo, int n, int nrhs, const void *a, int lda, void *b, int ldb, int *info) \
    { \
        musaDeviceSynchronize(); \
        if (!h || !fill(uplo)) \
            return INVALID; \
        x##potrs_(fill(uplo), &n, &nrhs, a, &lda, b, &ldb, info, 1); \
        return done(*info); \
    }
#define MULTIPLY(X, x, size, OR) \
    int musolverDn##X##OR##mqr(void *h, int side, int trans, int m, int n, int k, const void *a, int lda, \
                               const void *tau, void *c, int ldc) \
    { \
        int lwork = 8 * (m + n + 1), info = 0; \
        void *work = malloc((size_t)lwork * size); \
        musaDeviceSynchronize(); \
        if (!h || (side != LEFT && side != RIGHT) || !op(trans)) \
            return free(work), INVALID; \
        x##OR##mqr_(side == LEFT ? "L" : "R", op(trans), &m, &n, &k, a, &lda, tau, c, &ldc, work, &lwork, &info, 1, \
                    1); \
        return free(work), done(info); \
    }
MULTIPLY(S, s, 4, or)
MULTIPLY(D, d, 8, or)
MULTIPLY(C, c, 8, un)
MULTIPLY(Z, z, 16, un)
#endif
SOLVE(S, s, 4)
SOLVE(D, d, 8)
SOLVE(C, c, 8)
SOLVE(Z, z, 16)
