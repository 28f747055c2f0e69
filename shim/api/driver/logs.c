/* cuLogs*: CUDA's error log, fed by the shim's own messages. */
#include "core/file.h"
#include "core/history.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"

CUresult wrap_cuLogsRegisterCallback(void *callback, void *data, void *out)
{
    if (!callback)
        return CUDA_ERROR_INVALID_VALUE;
    void *handle = cumu_history_listen((cumu_history_callback)callback, data);
    if (!handle)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (out)
        *(void **)out = handle;
    return CUDA_SUCCESS;
}

CUresult wrap_cuLogsUnregisterCallback(void *handle)
{
    return handle && cumu_history_deafen(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult wrap_cuLogsCurrent(unsigned *iterator, unsigned flags)
{
    if (!iterator || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *iterator = cumu_history_end();
    return CUDA_SUCCESS;
}

struct text {
    char *p;
    size_t n, room;
};

static void append(void *to, const char *line, size_t n)
{
    struct text *t = to;
    if (t->n + n + 1 > t->room) {
        size_t room = (t->n + n + 1) * 2;
        char *p = realloc(t->p, room);
        if (!p)
            return;
        t->p = p;
        t->room = room;
    }
    memcpy(t->p + t->n, line, n);
    t->p[t->n + n] = '\n';
    t->n += n + 1;
}

CUresult wrap_cuLogsDumpToFile(unsigned *iterator, const char *path, unsigned flags)
{
    if (!path || flags)
        return CUDA_ERROR_INVALID_VALUE;
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    if (fd < 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct text t = {0};
    cumu_history_read(iterator, append, &t);
    bool whole = cumu_write_all(fd, t.p, t.n);
    free(t.p);
    return close(fd) == 0 && whole ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* The newest whole lines that fit; where not all do, a line in front says so. */
CUresult wrap_cuLogsDumpToMemory(unsigned *iterator, char *buffer, size_t *size, unsigned flags)
{
    static const char cut[] = "cumu: the buffer does not hold all messages\n";
    if (!buffer || !size || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct text t = {0};
    size_t room = *size, head = 0, from = 0;
    cumu_history_read(iterator, append, &t);
    *size = 0;
    if (t.n >= room && t.n) {
        head = sizeof cut - 1;
        from = t.n;
        for (size_t i = t.n - 1; i-- > 0 && head + (t.n - i - 1) < room;)
            if (t.p[i] == '\n')
                from = i + 1;
        if (from == t.n) {
            free(t.p);
            return CUDA_ERROR_INVALID_VALUE;
        }
        memcpy(buffer, cut, head);
    }
    if (t.n)
        memcpy(buffer + head, t.p + from, t.n - from);
    if (room)
        buffer[head + t.n - from] = '\0';
    *size = head + t.n - from;
    free(t.p);
    return CUDA_SUCCESS;
}
