/* cuFile's transfers on streams: functions of the host between copies. What is read of size and offset of the file is
 * read when the stream comes there; the size that is there at the call is the largest, and the offset in memory is
 * taken at the call. */
#include "api/cufile/cufile.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

struct job {
    struct job *next;
    struct cufile *file;
    bool write;
    char *memory; /* what the host reads or writes: the buffer, or a stage for it */
    void *stage;  /* pinned; NULL: the host reaches the buffer */
    size_t most;
    const size_t *size;
    const long long *offset;
    long long *result;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct job *finished; /* their stages cannot be freed inside of a stream */

static void free_finished(void)
{
    pthread_mutex_lock(&lock);
    struct job *j = finished;
    finished = NULL;
    pthread_mutex_unlock(&lock);
    while (j) {
        struct job *next = j->next;
        if (j->stage)
            (void)mu.musaFreeHost(j->stage);
        free(j);
        j = next;
    }
}

static void finish(void *arg)
{
    struct job *j = arg;
    cufile_give(j->file);
    pthread_mutex_lock(&lock);
    j->next = finished;
    finished = j;
    pthread_mutex_unlock(&lock);
}

static void transfer(void *arg)
{
    struct job *j = arg;
    if (*j->size > j->most || *j->offset < 0) {
        *j->result = -CU_FILE_INVALID_VALUE;
        return;
    }
    *j->result = *j->size ? cufile_transfer(j->file, j->write, j->memory, *j->size, *j->offset) : 0;
    if (*j->result < 0)
        *j->result = -errno;
}

/* The stage holds what the buffer has before the file is read into it: less may be read than the buffer takes. */
static int enqueue(struct job *j, void *buffer, musaStream_t s)
{
    int err = 0;
    if (j->stage)
        err = mu.musaMemcpyAsync(j->stage, buffer, j->most, musaMemcpyDeviceToHost, s);
    if (!err)
        err = mu.musaLaunchHostFunc(s, transfer, j);
    if (!err && j->stage && !j->write)
        err = mu.musaMemcpyAsync(buffer, j->stage, j->most, musaMemcpyHostToDevice, s);
    if (!err && !mu.musaLaunchHostFunc(s, finish, j))
        return 0;
    /* What is queued of it reads the job, and the program's numbers, which it may reuse once it is told of an error. */
    int waited = mu.musaStreamSynchronize(s);
    finish(j);
    return err ? err : waited;
}

static unsigned long start(void *handle, bool write, void *base, const size_t *size, const long long *file_offset,
                           const long long *offset, long long *result, musaStream_t s)
{
    int capturing = 0;
    free_finished();
    if (!base || !size || !file_offset || !offset || !result || *offset < 0)
        return cufile_error(CU_FILE_INVALID_VALUE);
    if (mu.musaStreamIsCapturing(s, (void *)&capturing) || capturing) {
        mu.musaGetLastError();
        return cufile_error(CU_FILE_ASYNC_NOT_SUPPORTED); /* a graph would run it again */
    }
    struct cufile *f = cufile_take(handle);
    struct job *j = f ? malloc(sizeof *j) : NULL;
    if (!j) {
        if (f)
            cufile_give(f);
        return cufile_error(f ? CU_FILE_INTERNAL_ERROR : CU_FILE_HANDLE_NOT_REGISTERED);
    }
    char *buffer = (char *)base + *offset;
    *j = (struct job){.file = f,
                      .write = write,
                      .memory = buffer,
                      .most = *size,
                      .size = size,
                      .offset = file_offset,
                      .result = result};
    *result = 0;
    int err = 0;
    if (j->most && cufile_on_device(buffer)) {
        err = mu.musaMallocHost(&j->stage, j->most);
        j->memory = j->stage;
    }
    if (err) {
        j->stage = NULL;
        finish(j);
    } else {
        err = enqueue(j, buffer, s);
    }
    if (err)
        mu.musaGetLastError();
    return err ? cufile_driver_error(err) : CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileReadAsync(void *handle, void *base, size_t *size, long long *file_offset, long long *offset,
                                   long long *result, struct CUstream_st *s)
{
    return start(handle, false, base, size, file_offset, offset, result, (musaStream_t)s);
}
unsigned long wrap_cuFileWriteAsync(void *handle, void *base, size_t *size, long long *file_offset, long long *offset,
                                    long long *result, struct CUstream_st *s)
{
    return start(handle, true, base, size, file_offset, offset, result, (musaStream_t)s);
}

/* What a stream's transfers have in common would make them faster: nothing here. */
unsigned long wrap_cuFileStreamRegister(struct CUstream_st *s, unsigned flags)
{
    (void)s;
    return flags > 15 ? cufile_error(CU_FILE_INVALID_VALUE) : CU_FILE_SUCCESS;
}
unsigned long wrap_cuFileStreamDeregister(struct CUstream_st *s)
{
    (void)s;
    free_finished();
    return CU_FILE_SUCCESS;
}
