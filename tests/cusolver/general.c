/* cuSOLVER's eigenvalues of general matrices and triangles of reflectors: A V = V diag(w), and I - V T V^H is the
 * product of the reflectors, by plain loops. */
#include "solver.h"

static void *info;

/* Vectors of a real matrix come in pairs of real and imaginary parts. */
static struct mat vectors(struct dev d, int type, const num *w)
{
    struct mat v = fetched(d), out = copied(v);
    for (int j = 0; type < 2 && j + 1 < v.n; j++)
        if (cimag(w[j]) != 0) {
            for (int i = 0; i < v.m; i++) {
                E(out, i, j) = E(v, i, j) + I * E(v, i, j + 1);
                E(out, i, j + 1) = E(v, i, j) - I * E(v, i, j + 1);
            }
            j++;
        }
    return out;
}
static void eigen(int type, int n, bool paired, bool left)
{
    struct mat a = random_mat(type, n, n);
    struct dev d = device(type, a), vr = device(type, mat(n, n)), vl = device(type, mat(n, n));
    int t = cuda_type(type), wt = paired && type < 2 ? cuda_type(type + 2) : t;
    void *values = memory((size_t)n * 16), *raw = calloc((size_t)n, 32);
    size_t device_bytes = 9, host_bytes = 9;
    IS(F("cusolverDnXgeev_bufferSize")(handle, NULL, left, 1, (long)n, t, d.at, (long)d.ld, wt, values, t, vl.at,
                                       (long)vl.ld, t, vr.at, (long)vr.ld, t, &device_bytes, &host_bytes),
       0);
    void *work = memory(device_bytes), *host = malloc(host_bytes + 1);
    IS(F("cusolverDnXgeev")(handle, NULL, left, 1, (long)n, t, d.at, (long)d.ld, wt, values, t, vl.at, (long)vl.ld, t,
                            vr.at, (long)vr.ld, t, work, device_bytes, host, host_bytes, info),
       0);
    IS(number(info), 0);
    num *w = calloc((size_t)n, sizeof *w), *parts = calloc((size_t)n * 2, sizeof *parts);
    cudaMemcpy(raw, values, (size_t)n * 2 * size_of(type < 2 ? type : type - 2), 2);
    if (type > 1 || paired) {
        unpack(type < 2 ? type + 2 : type, raw, w, (size_t)n);
    } else {
        unpack(type, raw, parts, (size_t)n * 2);
        for (int i = 0; i < n; i++)
            w[i] = parts[i] + I * parts[n + i];
    }
    struct mat right = vectors(vr, type, w), scaled = copied(right);
    for (int j = 0; j < n; j++) {
        double size = 0;
        for (int i = 0; i < n; i++) {
            E(scaled, i, j) *= w[j];
            size += cabs(E(right, i, j)) * cabs(E(right, i, j));
        }
        SMALL(fabs(sqrt(size) - 1), "geev: the length of a vector");
    }
    SAME(product(OP_N, a, OP_N, right), scaled, "geev");
    if (left) {
        struct mat l = vectors(vl, type, w), m = copied(l);
        for (int j = 0; j < n; j++)
            for (int i = 0; i < n; i++)
                E(m, i, j) *= conj(w[j]);
        SAME(product(OP_C, a, OP_N, l), m, "geev, left");
    }
    cudaFree(work), cudaFree(values), cudaFree(d.at);
    free(host), free(raw), free(w), free(parts);
}

static void triangles(int type, int n, int k)
{
    struct mat a = random_mat(type, n, k), q = identity(n, n);
    struct dev d = device(type, a), t = device(type, mat(k, k));
    void *tau = memory((size_t)k * 16), *raw = calloc((size_t)k, 16);
    int lwork, e = cuda_type(type);
    size_t device_bytes = 9, host_bytes = 9;
    IS(F("cusolverDn%cgeqrf_bufferSize", LETTER)(handle, n, k, d.at, d.ld, &lwork), 0);
    void *work = memory((size_t)lwork * size_of(type));
    IS(F("cusolverDn%cgeqrf", LETTER)(handle, n, k, d.at, d.ld, tau, work, lwork, info), 0);
    IS(F("cusolverDnXlarft_bufferSize")(handle, NULL, 0, 0, (long)n, (long)k, e, d.at, (long)d.ld, e, tau, e, t.at,
                                        (long)t.ld, e, &device_bytes, &host_bytes),
       0);
    void *more = memory(device_bytes), *host = malloc(host_bytes + 1);
    IS(F("cusolverDnXlarft")(handle, NULL, 0, 0, (long)n, (long)k, e, d.at, (long)d.ld, e, tau, e, t.at, (long)t.ld, e,
                             more, device_bytes, host, host_bytes),
       0);
    struct mat v = triangle(fetched(d), false, true, n, k);
    for (int i = 0; i < k; i++)
        E(v, i, i) = 1;
    num *scalars = calloc((size_t)k, sizeof *scalars);
    cudaMemcpy(raw, tau, (size_t)k * size_of(type), 2);
    unpack(type, raw, scalars, (size_t)k);
    for (int j = 0; j < k; j++) { /* Q = H1 H2 ... */
        struct mat one = mat(n, 1);
        for (int i = j; i < n; i++)
            E(one, i, 0) = E(v, i, j);
        struct mat qv = product(OP_N, q, OP_N, one);
        for (int r = 0; r < n; r++)
            for (int c = 0; c < n; c++)
                E(q, r, c) -= scalars[j] * E(qv, r, 0) * conj(E(one, c, 0));
    }
    struct mat upper = triangle(fetch(t), true, false, k, k);
    struct mat h = product(OP_N, product(OP_N, v, OP_N, upper), OP_C, v), block = identity(n, n);
    for (int i = 0; i < n * n; i++)
        block.at[i] -= h.at[i];
    SAME(block, q, "larft");
    cudaFree(work), cudaFree(more), cudaFree(tau);
    free(host), free(raw), free(scalars);
}

static void bad_input(void)
{
    size_t a = 0, b = 0;
    long n = 4;
    void *x = memory(1024);
#define GEEV(h, jobl, n, type, lda, wtype, vtype) \
    F("cusolverDnXgeev_bufferSize")(h, NULL, jobl, 1, n, type, x, lda, wtype, x, vtype, x, n, vtype, x, n, type, &a, &b)
    IS(GEEV(handle, 0, n, 1, n, 1, 1), 0);
    IS(GEEV(NULL, 0, n, 1, n, 1, 1), NOT_INITIALIZED);
    IS(GEEV(handle, 7, n, 1, n, 1, 1), INVALID);
    IS(GEEV(handle, 0, -n, 1, n, 1, 1), INVALID);
    IS(GEEV(handle, 0, n, 1, n - 1, 1, 1), INVALID);
    IS(GEEV(handle, 0, n, 1, n, 0, 1), INVALID);
    IS(GEEV(handle, 0, n, 1, n, 5, 1), 0);
    IS(GEEV(handle, 0, n, 1, n, 1, 5), INVALID);
    IS(GEEV(handle, 0, n, 2, n, 2, 2), INVALID);
    IS(F("cusolverDnXgeev")(handle, NULL, 0, 1, n, 1, x, n, 1, x, 1, x, n, 1, NULL, n, 1, x, a, NULL, b, info),
       INVALID);
    IS(F("cusolverDnXgeev")(handle, NULL, 0, 0, 0L, 1, x, n, 1, x, 1, x, n, 1, NULL, n, 1, x, a, NULL, b, info), 0);
    IS(F("cusolverDnXlarft_bufferSize")(handle, NULL, 2, 0, n, n, 1, x, n, 1, x, 1, x, n, 1, &a, &b), INVALID);
    IS(F("cusolverDnXlarft_bufferSize")(handle, NULL, 0, 0, n, n + 1, 1, x, n, 1, x, 1, x, n, 1, &a, &b), INVALID);
    IS(F("cusolverDnXlarft_bufferSize")(handle, NULL, 0, 0, n, n, 1, x, n - 1, 1, x, 1, x, n, 1, &a, &b), INVALID);
    cudaFree(x);
}

int main(void)
{
    info = memory(4);
    IS(start(), 0);
    for (int type = 0; type < 4; type++)
        for (int i = 0; i < SIZES; i++) {
            eigen(type, sizes[i], false, true);
            eigen(type, sizes[i], true, false);
            triangles(type, sizes[i] + upto(5), sizes[i]);
        }
    bad_input();
    return check_end("cuSOLVER's general matrices");
}
