/* Settings of GPU core dumps, kept and told back: there are no such dumps to make; and the state of processes
 * that cuda-checkpoint asks for. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"

enum { ON_EXCEPTION = 1, TRIGGER_HOST, LIGHTWEIGHT, USER_TRIGGER, FILE_NAME, PIPE_NAME, FLAGS, SETTINGS };
enum { NAME = 1024 };

/* Both scopes are one: a context's setting is the process's. */
static struct {
    pthread_mutex_t lock;
    bool flag[FILE_NAME];
    int flags;
    char name[2][NAME]; /* empty: the default */
} set = {.lock = PTHREAD_MUTEX_INITIALIZER, .flag = {[TRIGGER_HOST] = true}};

static size_t size_of(int setting) { return setting < FILE_NAME ? sizeof(bool) : setting < FLAGS ? NAME : sizeof(int); }

static void name_of(int setting, char out[NAME])
{
    char host[256] = "localhost";
    if (set.name[setting - FILE_NAME][0]) {
        memcpy(out, set.name[setting - FILE_NAME], NAME);
        return;
    }
    gethostname(host, sizeof host - 1);
    snprintf(out, NAME, "%s.cuda.%s.%ld", setting == FILE_NAME ? "core" : "corepipe", host, (long)getpid());
}

static CUresult check(int setting, const void *value, size_t *size)
{
    if (setting < ON_EXCEPTION || setting >= SETTINGS || !size)
        return CUDA_ERROR_INVALID_VALUE;
    if (value && (setting == FILE_NAME || setting == PIPE_NAME ? !*size : *size < size_of(setting)))
        return CUDA_ERROR_INVALID_VALUE;
    return CUDA_SUCCESS;
}

static CUresult get(int setting, void *value, size_t *size)
{
    char name[NAME];
    CUresult err = check(setting, value, size);
    if (err)
        return err;
    if (!value) {
        *size = size_of(setting);
        return CUDA_SUCCESS;
    }
    pthread_mutex_lock(&set.lock);
    if (setting < FILE_NAME)
        memcpy(value, &set.flag[setting], sizeof(bool));
    else if (setting == FLAGS)
        memcpy(value, &set.flags, sizeof set.flags);
    else
        name_of(setting, name);
    pthread_mutex_unlock(&set.lock);
    if (setting == FILE_NAME || setting == PIPE_NAME)
        snprintf(value, *size, "%s", name);
    return CUDA_SUCCESS;
}

/* Stores a setting of core dumps, so that programs read back what they set; no dumps of kernels are made, and asking
 * for them says so. A context has no trigger and no pipe of its own. */
static CUresult put(int setting, const void *value, size_t *size, bool global)
{
    CUresult err = check(setting, value, size);
    if (err)
        return err;
    if (!value) {
        *size = size_of(setting);
        return CUDA_SUCCESS;
    }
    if (!global && (setting == USER_TRIGGER || setting == PIPE_NAME))
        return CUDA_ERROR_NOT_PERMITTED;
    pthread_mutex_lock(&set.lock);
    if (setting < FILE_NAME) {
        set.flag[setting] = *(const unsigned char *)value != 0;
    } else if (setting == FLAGS) {
        memcpy(&set.flags, value, sizeof set.flags);
    } else {
        char *to = set.name[setting - FILE_NAME];
        size_t n = strnlen(value, *size < NAME - 1 ? *size : NAME - 1);
        memcpy(to, value, n);
        to[n] = '\0';
    }
    pthread_mutex_unlock(&set.lock);
    if (setting == ON_EXCEPTION && set.flag[ON_EXCEPTION])
        cumu_gap("cuda", "cuCoredumpSetAttribute", "no core dumps of kernels are made");
    return CUDA_SUCCESS;
}

static CUresult need_context(void)
{
    MUcontext ctx = NULL;
    int err = mu.muCtxGetCurrent(&ctx);
    return err ? err : ctx ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult wrap_cuCoredumpGetAttribute(int setting, void *value, size_t *size)
{
    CUresult err = need_context();
    return err ? err : get(setting, value, size);
}

CUresult wrap_cuCoredumpGetAttributeGlobal(int setting, void *value, size_t *size) { return get(setting, value, size); }

CUresult wrap_cuCoredumpSetAttribute(int setting, void *value, size_t *size)
{
    CUresult err = need_context();
    return err ? err : put(setting, value, size, false);
}

CUresult wrap_cuCoredumpSetAttributeGlobal(int setting, void *value, size_t *size)
{
    return put(setting, value, size, true);
}

/* No process is ever checkpointed, so all run. */
CUresult wrap_cuCheckpointProcessGetState(int pid, void *state)
{
    if (!state || pid <= 0 || (pid != (int)getpid() && kill(pid, 0) != 0))
        return CUDA_ERROR_INVALID_VALUE;
    *(int *)state = 0; /* CU_PROCESS_STATE_RUNNING */
    return CUDA_SUCCESS;
}
