/* The few functions of the C library that the audit module uses, so that the loader need not load a second
 * C library into every process. Only linked into libcumu-audit.so. */
#include "audit/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* gcc would turn memcpy's loop into a call of memcpy. */
#ifndef __clang__
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

static long call(long number, long a, long b, long c, long d, long e, long f)
{
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c,
                     x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
#error "no system calls for this machine"
#endif
}

static long failed(long result) { return result < 0 && result > -4096; }

int open(const char *path, int flags, ...)
{
    long fd = call(SYS_openat, AT_FDCWD, (long)path, flags, 0, 0, 0);
    return failed(fd) ? -1 : (int)fd;
}

int close(int fd) { return (int)call(SYS_close, fd, 0, 0, 0, 0, 0); }

off_t lseek(int fd, off_t offset, int whence)
{
    long at = call(SYS_lseek, fd, offset, whence, 0, 0, 0);
    return failed(at) ? -1 : at;
}

ssize_t write(int fd, const void *data, size_t size)
{
    long n = call(SYS_write, fd, (long)data, (long)size, 0, 0, 0);
    return failed(n) ? -1 : n;
}

ssize_t readlink(const char *path, char *out, size_t size)
{
    long n = call(SYS_readlinkat, AT_FDCWD, (long)path, (long)out, (long)size, 0, 0);
    return failed(n) ? -1 : n;
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    (void)call(SYS_execve, (long)path, (long)argv, (long)envp, 0, 0, 0);
    return -1;
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    long p = call(SYS_mmap, (long)at, (long)size, protection, flags, fd, offset);
    return failed(p) ? MAP_FAILED : (void *)p;
}

int munmap(void *p, size_t size) { return failed(call(SYS_munmap, (long)p, (long)size, 0, 0, 0, 0)) ? -1 : 0; }

int mprotect(void *p, size_t size, int protection)
{
    return failed(call(SYS_mprotect, (long)p, (long)size, protection, 0, 0, 0)) ? -1 : 0;
}

/* The kernel is asked to write the thread's signal mask there. */
bool audit_writable(void *word) { return !failed(call(SYS_rt_sigprocmask, 0, 0, (long)word, sizeof(long), 0, 0)); }

void *memcpy(void *restrict to, const void *restrict from, size_t n)
{
    char *t = to;
    const char *f = from;
    while (n--)
        *t++ = *f++;
    return to;
}

void *memset(void *to, int value, size_t n)
{
    char *t = to;
    while (n--)
        *t++ = (char)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *x = a, *y = b;
    for (; n && *x == *y; n--, x++, y++)
        ;
    return n ? *x - *y : 0;
}

size_t strlen(const char *s)
{
    size_t n = 0;
    while (s[n])
        n++;
    return n;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n && *a && *a == *b; n--, a++, b++)
        ;
    return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, (size_t)-1); }

char *strrchr(const char *s, int c)
{
    const char *last = NULL;
    for (; *s; s++)
        if (*s == (char)c)
            last = s;
    return (char *)(size_t)last;
}
