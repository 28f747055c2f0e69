/* cuFile's files and buffers, and synchronous transfers. */
#include "api/cufile/cufile.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TYPE_FD = 1, CHUNK = 4 << 20 };

struct descriptor { /* CUfileDescr_t */
    int type;
    union {
        int fd;
        void *handle;
    } handle;
    const void *operations;
};
struct buffer { /* registered; nothing depends on it but who registers twice */
    struct buffer *next;
    const void *base;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of both lists */
static struct cufile *files;
static struct buffer *buffers;

/* ---- files ---- */

struct cufile *cufile_take(void *handle)
{
    pthread_mutex_lock(&lock);
    struct cufile *f = files;
    while (f && f != handle)
        f = f->next;
    if (f)
        f->users++;
    pthread_mutex_unlock(&lock);
    return f;
}

void cufile_give(struct cufile *f)
{
    pthread_mutex_lock(&lock);
    const bool last = --f->users == 0 && f->gone;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    if (f->own >= 0)
        (void)close(f->own);
    free(f);
}

static int reopen(int fd, int flags)
{
    char path[40];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, (flags & O_ACCMODE) | O_CLOEXEC);
}

unsigned long wrap_cuFileHandleRegister(void **handle, void *descriptor)
{
    const struct descriptor *d = descriptor;
    struct stat st;
    if (!handle || !d)
        return cufile_error(CU_FILE_INVALID_VALUE);
    *handle = NULL;
    if (d->type != TYPE_FD) /* Windows' files, and file systems in the program */
        return cufile_error(CU_FILE_IO_NOT_SUPPORTED);
    const int flags = fcntl(d->handle.fd, F_GETFL);
    if (flags < 0 || fstat(d->handle.fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISBLK(st.st_mode)))
        return cufile_error(CU_FILE_INVALID_FILE_TYPE);
    struct cufile *f = malloc(sizeof *f);
    if (!f)
        return cufile_error(CU_FILE_INTERNAL_ERROR);
    *f = (struct cufile){.fd = d->handle.fd, .own = flags & O_DIRECT ? reopen(d->handle.fd, flags) : -1, .users = 1};
    pthread_mutex_lock(&lock);
    bool known = false;
    for (const struct cufile *g = files; g; g = g->next)
        known |= g->fd == f->fd;
    if (!known) {
        f->next = files;
        files = f;
    }
    pthread_mutex_unlock(&lock);
    if (known) {
        f->gone = true;
        cufile_give(f);
        return cufile_error(CU_FILE_HANDLE_ALREADY_REGISTERED);
    }
    cufile_ensure_open();
    *handle = f;
    return CU_FILE_SUCCESS;
}

void wrap_cuFileHandleDeregister(void *handle)
{
    pthread_mutex_lock(&lock);
    struct cufile **at = &files;
    while (*at && *at != handle)
        at = &(*at)->next;
    struct cufile *f = *at;
    if (f) {
        *at = f->next;
        f->gone = true;
    }
    pthread_mutex_unlock(&lock);
    if (f)
        cufile_give(f);
}

/* ---- buffers ---- */

unsigned long wrap_cuFileBufRegister(const void *base, size_t length, int flags)
{
    (void)flags; /* of RDMA */
    struct buffer *b = base && length ? malloc(sizeof *b) : NULL;
    if (!b)
        return cufile_error(base && length ? CU_FILE_INTERNAL_ERROR : CU_FILE_INVALID_VALUE);
    b->base = base;
    pthread_mutex_lock(&lock);
    bool known = false;
    for (const struct buffer *o = buffers; o; o = o->next)
        known |= o->base == base;
    if (!known) {
        b->next = buffers;
        buffers = b;
    }
    pthread_mutex_unlock(&lock);
    if (known)
        free(b);
    else
        cufile_ensure_open();
    return known ? cufile_error(CU_FILE_MEMORY_ALREADY_REGISTERED) : CU_FILE_SUCCESS;
}

unsigned long wrap_cuFileBufDeregister(const void *base)
{
    pthread_mutex_lock(&lock);
    struct buffer **at = &buffers;
    while (*at && (*at)->base != base)
        at = &(*at)->next;
    struct buffer *b = *at;
    if (b)
        *at = b->next;
    pthread_mutex_unlock(&lock);
    free(b);
    return b ? CU_FILE_SUCCESS : cufile_error(base ? CU_FILE_MEMORY_NOT_REGISTERED : CU_FILE_INVALID_VALUE);
}

/* ---- transfers ---- */

bool cufile_on_device(const void *p)
{
    musaPointerAttributes about;
    if (mu.musaPointerGetAttributes(&about, p)) {
        mu.musaGetLastError(); /* a MUSA that calls the host's own memory an error */
        return false;
    }
    return about.type == musaMemoryTypeDevice;
}

ssize_t cufile_transfer(const struct cufile *f, bool write, void *memory, size_t size, off_t at)
{
    const int fd = f->own >= 0 ? f->own : f->fd;
    size_t done = 0;
    while (done < size) {
        char *p = (char *)memory + done;
        ssize_t n = write ? pwrite(fd, p, size - done, at + (off_t)done) : pread(fd, p, size - done, at + (off_t)done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && !done)
            return -1;
        if (n <= 0)
            break;
        done += (size_t)n;
    }
    return (ssize_t)done;
}

/* On a stream of ours: not ordered behind what the program has queued, as NVIDIA's are not. */
static int copy(musaStream_t s, void *to, const void *from, size_t size, int kind)
{
    int err = mu.musaMemcpyAsync(to, from, size, kind, s);
    return err ? err : mu.musaStreamSynchronize(s);
}

/* The device's memory in pieces by way of the host. */
static long long move_staged(const struct cufile *f, bool write, char *memory, size_t size, off_t at)
{
    const size_t room = size < CHUNK ? size : CHUNK;
    musaStream_t s = NULL;
    long long done = 0;
    char *stage = malloc(room + 1);
    int err = stage ? mu.musaStreamCreateWithFlags(&s, 1 /* non-blocking */) : CUDA_ERROR_OUT_OF_MEMORY;
    while (!err && (size_t)done < size) {
        const size_t want = size - (size_t)done < room ? size - (size_t)done : room;
        if (write && (err = copy(s, stage, memory + done, want, musaMemcpyDeviceToHost)) != 0)
            break;
        const ssize_t n = cufile_transfer(f, write, stage, want, at + done);
        if (n < 0 && !done)
            done = -1;
        if (n <= 0)
            break;
        if (!write && (err = copy(s, memory + done, stage, (size_t)n, musaMemcpyHostToDevice)) != 0)
            break;
        done += n;
        if ((size_t)n < want)
            break;
    }
    const int kept = errno;
    if (s)
        (void)mu.musaStreamDestroy(s);
    free(stage);
    errno = kept;
    if (err)
        mu.musaGetLastError();
    return err ? -CU_FILE_CUDA_DRIVER_ERROR : done;
}

long long cufile_move(void *handle, bool write, void *memory, size_t size, long long file_offset,
                      long long memory_offset)
{
    struct cufile *f = cufile_take(handle);
    long long result;
    if (!f)
        return -CU_FILE_HANDLE_NOT_REGISTERED;
    char *p = (char *)memory + memory_offset;
    if (!memory || file_offset < 0 || memory_offset < 0)
        result = -CU_FILE_INVALID_VALUE;
    else if (size == 0)
        result = 0;
    else if (cufile_on_device(p))
        result = move_staged(f, write, p, size, file_offset);
    else
        result = cufile_transfer(f, write, p, size, file_offset);
    const int kept = errno;
    cufile_give(f);
    errno = kept;
    return result;
}

long long wrap_cuFileRead(void *handle, void *base, size_t size, long long file_offset, long long offset)
{
    return cufile_move(handle, false, base, size, file_offset, offset);
}
long long wrap_cuFileWrite(void *handle, const void *base, size_t size, long long file_offset, long long offset)
{
    return cufile_move(handle, true, (void *)(uintptr_t)base, size, file_offset, offset);
}
