/* cuSOLVER: options that muSOLVER does not have. They are kept and told, and change no result. */
#include <pthread.h>
#include <stdlib.h>

#include "api/cusolver/cusolver.h"

/* ---- modes of a handle ------------------------------------------------------------------------- */

/* Few handles have modes that are not the defaults: a short list, looked up when modes are set or asked for. */
enum { DETERMINISTIC, MATH, EMULATION, MODES };
static const int defaults[MODES] = {CUSOLVER_DETERMINISTIC_RESULTS, CUSOLVER_DEFAULT_MATH, 0};
struct modes {
    struct modes *next;
    void *handle;
    int mode[MODES];
};
static struct modes *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct modes *find(void *h)
{
    struct modes *m = all;
    while (m && m->handle != h)
        m = m->next;
    return m;
}

static int set_mode(void *h, int which, int value, int first, int last)
{
    musaStream_t stream;
    int r = cumu_solver_stream(h, &stream);
    if (r)
        return r;
    if (value < first || value > last)
        return CUSOLVER_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct modes *m = find(h);
    if (!m) {
        m = malloc(sizeof *m);
        if (m) {
            *m = (struct modes){.next = all, .handle = h};
            for (int i = 0; i < MODES; i++)
                m->mode[i] = defaults[i];
            all = m;
        }
    }
    if (m)
        m->mode[which] = value;
    pthread_mutex_unlock(&lock);
    return m ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}

static int get_mode(void *h, int which, int *out)
{
    musaStream_t stream;
    int r = cumu_solver_stream(h, &stream);
    if (r)
        return r;
    if (!out)
        return CUSOLVER_STATUS_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    const struct modes *m = find(h);
    *out = m ? m->mode[which] : defaults[which];
    pthread_mutex_unlock(&lock);
    return CUSOLVER_STATUS_SUCCESS;
}

void cumu_solver_forget(void *h)
{
    pthread_mutex_lock(&lock);
    struct modes **at = &all;
    while (*at && (*at)->handle != h)
        at = &(*at)->next;
    struct modes *gone = *at;
    if (gone)
        *at = gone->next;
    pthread_mutex_unlock(&lock);
    free(gone);
}

int wrap_cusolverDnSetDeterministicMode(void *h, int mode) { return set_mode(h, DETERMINISTIC, mode, 1, 2); }
int wrap_cusolverDnGetDeterministicMode(void *h, void *mode) { return get_mode(h, DETERMINISTIC, mode); }
int wrap_cusolverDnSetMathMode(void *h, int mode) { return set_mode(h, MATH, mode, 1, 2); }
int wrap_cusolverDnGetMathMode(void *h, void *mode) { return get_mode(h, MATH, mode); }
int wrap_cusolverDnSetEmulationStrategy(void *h, int mode) { return set_mode(h, EMULATION, mode, 0, 2); }
int wrap_cusolverDnGetEmulationStrategy(void *h, void *mode) { return get_mode(h, EMULATION, mode); }

/* ---- parameters of the 64-bit functions -------------------------------------------------------- */

enum { FUNCTIONS = 3 }; /* getrf, potrf, syevBatched */
struct params {
    int algorithm[FUNCTIONS];
};

int wrap_cusolverDnCreateParams(void *params)
{
    if (!params)
        return CUSOLVER_STATUS_INVALID_VALUE;
    *(struct params **)params = calloc(1, sizeof(struct params));
    return *(struct params **)params ? CUSOLVER_STATUS_SUCCESS : CUSOLVER_STATUS_ALLOC_FAILED;
}
int wrap_cusolverDnDestroyParams(void *params)
{
    if (!params)
        return CUSOLVER_STATUS_INVALID_VALUE;
    free(params);
    return CUSOLVER_STATUS_SUCCESS;
}
int wrap_cusolverDnSetAdvOptions(void *params, int function, int algorithm)
{
    if (!params || function < 0 || function >= FUNCTIONS || algorithm < 0 || algorithm > 2)
        return CUSOLVER_STATUS_INVALID_VALUE;
    ((struct params *)params)->algorithm[function] = algorithm;
    return CUSOLVER_STATUS_SUCCESS;
}
