/* No call of CUDA is a cancellation point: the libc functions that are, as libraries of ours call them.
 *
 * A thread that pthread_cancel ends inside of a library leaves with the library's locks held, files open and streams
 * marked as running. POSIX lets nothing but its own functions be cancellation points, so the libraries are linked with
 * --wrap for each function below (shim.mk reads the names here): their calls of it arrive at __wrap_NAME, which puts
 * cancellation off until the function has returned. The request stays pending for the program's next cancellation
 * point. What costs nanoseconds calls none of these, so it pays nothing.
 *
 * The list has what our libraries call, with _FORTIFY_SOURCE and without; tests/process fails when one is missing.
 * Code of others that runs on the program's threads (OpenBLAS with its threads) is guarded where it is called, in
 * host/driver/task.c; constructors of libraries are by dlopen here. */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int put_off(void)
{
    int before;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static void restore(int before) { (void)pthread_setcancelstate(before, NULL); }

#define POINT(type, name, parameters, arguments) \
    type __real_##name parameters; \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        int before = put_off(); \
        type result = __real_##name arguments; \
        restore(before); \
        return result; \
    }

POINT(int, accept4, (int fd, struct sockaddr *a, socklen_t *n, int flags), (fd, a, n, flags))
POINT(int, close, (int fd), (fd))
POINT(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n))
POINT(int, dlclose, (void *library), (library))
POINT(void *, dlopen, (const char *file, int mode), (file, mode))
POINT(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
POINT(int, fclose, (FILE * f), (f))
POINT(FILE *, fopen, (const char *path, const char *mode), (path, mode))
POINT(int, fputc, (int c, FILE *f), (c, f))
POINT(int, fputs, (const char *s, FILE *f), (s, f))
POINT(size_t, fread, (void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
POINT(size_t, __fread_chk, (void *p, size_t have, size_t size, size_t n, FILE *f), (p, have, size, n, f))
POINT(size_t, fwrite, (const void *p, size_t size, size_t n, FILE *f), (p, size, n, f))
POINT(ssize_t, getrandom, (void *p, size_t n, unsigned flags), (p, n, flags))
POINT(int, mkstemp, (char *name), (name))
POINT(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left))
POINT(int, poll, (struct pollfd * p, nfds_t n, int ms), (p, n, ms))
POINT(int, __poll_chk, (struct pollfd * p, nfds_t n, int ms, size_t have), (p, n, ms, have))
POINT(int, msync, (void *p, size_t n, int flags), (p, n, flags))
POINT(ssize_t, pread, (int fd, void *p, size_t n, off_t at), (fd, p, n, at))
POINT(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
POINT(int, waitid, (idtype_t type, id_t id, siginfo_t *info, int options), (type, id, info, options))
POINT(ssize_t, __pread_chk, (int fd, void *p, size_t n, off_t at, size_t have), (fd, p, n, at, have))
POINT(int, pthread_cond_timedwait, (pthread_cond_t * c, pthread_mutex_t *m, const struct timespec *t), (c, m, t))
POINT(int, pthread_cond_wait, (pthread_cond_t * c, pthread_mutex_t *m), (c, m))
POINT(int, pthread_join, (pthread_t thread, void **value), (thread, value))
POINT(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
POINT(ssize_t, __read_chk, (int fd, void *p, size_t n, size_t have), (fd, p, n, have))
POINT(ssize_t, recv, (int fd, void *p, size_t n, int flags), (fd, p, n, flags))
POINT(ssize_t, __recv_chk, (int fd, void *p, size_t n, size_t have, int flags), (fd, p, n, have, flags))
POINT(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
POINT(ssize_t, send, (int fd, const void *p, size_t n, int flags), (fd, p, n, flags))
POINT(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
POINT(int, sigtimedwait, (const sigset_t *set, siginfo_t *info, const struct timespec *t), (set, info, t))
POINT(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options))
POINT(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))

POINT(int, __open_2, (const char *path, int flags), (path, flags))
POINT(int, __openat_2, (int folder, const char *path, int flags), (folder, path, flags))

/* Those whose arguments vary: an argument that may be missing is read when it is there, and printf's kind hands its
 * list on. */
#define VARYING(type, name, parameters, last, result) \
    type __wrap_##name parameters; \
    type __wrap_##name parameters \
    { \
        va_list rest; \
        va_start(rest, last); \
        int before = put_off(); \
        type r = result; \
        restore(before); \
        va_end(rest); \
        return r; \
    }

int __real_open(const char *path, int flags, ...);
int __real_openat(int folder, const char *path, int flags, ...);
int __real_fcntl(int fd, int command, ...);
int __vfprintf_chk(FILE *f, int flag, const char *format, va_list list);
int __vdprintf_chk(int fd, int flag, const char *format, va_list list);

#define MODE (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(rest, mode_t) : 0)
VARYING(int, open, (const char *path, int flags, ...), flags, __real_open(path, flags, MODE))
VARYING(int, openat, (int folder, const char *path, int flags, ...), flags, __real_openat(folder, path, flags, MODE))
VARYING(int, fcntl, (int fd, int command, ...), command, __real_fcntl(fd, command, va_arg(rest, void *)))
VARYING(int, dprintf, (int fd, const char *format, ...), format, vdprintf(fd, format, rest))
VARYING(int, __dprintf_chk, (int fd, int flag, const char *format, ...), format, __vdprintf_chk(fd, flag, format, rest))
VARYING(int, fprintf, (FILE * f, const char *format, ...), format, vfprintf(f, format, rest))
VARYING(int, __fprintf_chk, (FILE * f, int flag, const char *format, ...), format,
        __vfprintf_chk(f, flag, format, rest))
