/* What runs out in a test (starved.c): of the allocations, descriptors, mappings or threads that our libraries ask for
 * the one of a number fails, or all from there on. Included by the one program that is to export these functions. */
#ifndef CUMU_TESTS_NCCL_SCARCE_H
#define CUMU_TESTS_NCCL_SCARCE_H

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum kind {
    MEMORY,
    FILES,
    MAPS,
    THREADS,
    ANY,
    LIMIT,
    CLOSES,
    DISAGREES,
    KILLED,
    STOPPED,
    EXITS,
    NOISE,
    NOTHING,
    KINDS
};
static const char *const kinds[KINDS] = {
    "lacks memory",      "lacks files",         "lacks mappings",       "lacks threads", "lacks all",
    "lacks descriptors", "closes a descriptor", "calls something else", "is killed",     "is stopped",
    "ends its process",  "hears noise",         "lacks nothing"};
enum { LIBRARIES = 64, OFTEN = 4096 };
static uintptr_t low[LIBRARIES], high[LIBRARIES];
static _Atomic int libraries;
static _Atomic long counted, failing; /* of this rank; 0: none */
static bool for_good;
static enum kind scarce = NOTHING;

static int note(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    if (!strstr(info->dlpi_name, "/cumu/") || strstr(info->dlpi_name, "audit"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && libraries < LIBRARIES; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            low[libraries] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            high[libraries] = low[libraries] + info->dlpi_phdr[i].p_memsz;
            libraries++;
        }
    return 0;
}

/* These run before a sanitizer is ready. */
#define UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))

UNCHECKED static bool is_ours(const void *caller)
{
    bool ours = false;
    for (int i = 0; i < libraries && !ours; i++)
        ours = (uintptr_t)caller >= low[i] && (uintptr_t)caller < high[i];
    return ours;
}
UNCHECKED static bool fails(enum kind kind, const void *caller, int error)
{
    if (!failing || (scarce != kind && scarce != ANY) || !is_ours(caller))
        return false;
    const long n = ++counted;
    if (n != failing && !(for_good && n > failing))
        return false;
    errno = error;
    if (getenv("STARVED_SHOW")) {
        Dl_info who = {0};
        dladdr(caller, &who);
        dprintf(2, "# %s: number %ld fails, at %s+%#lx\n", kinds[kind], n, who.dli_fname,
                (unsigned long)((uintptr_t)caller - (uintptr_t)who.dli_fbase));
    }
    return true;
}
#define CALLER __builtin_return_address(0)
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern __attribute__((weak)) void *__interceptor_malloc(size_t), *__interceptor_calloc(size_t, size_t),
    *__interceptor_realloc(void *, size_t);
#define ALLOCATOR(name) (__interceptor_##name ? __interceptor_##name : __libc_##name)
UNCHECKED void *malloc(size_t size) { return fails(MEMORY, CALLER, ENOMEM) ? NULL : ALLOCATOR(malloc)(size); }
UNCHECKED void *calloc(size_t n, size_t size)
{
    return fails(MEMORY, CALLER, ENOMEM) ? NULL : ALLOCATOR(calloc)(n, size);
}
UNCHECKED void *realloc(void *p, size_t size)
{
    return fails(MEMORY, CALLER, ENOMEM) ? NULL : ALLOCATOR(realloc)(p, size);
}
/* The function of that name below: a sanitizer's, where the program has one, else the C library's. */
#define BELOW(name, type) \
    extern __typeof__(name) __interceptor_##name __attribute__((weak)); \
    static __typeof__(type) below; \
    if (!below) \
    below = __interceptor_##name ? (__typeof__(type))__interceptor_##name : (__typeof__(type))dlsym(RTLD_NEXT, #name)
/* Closing what is not open is an error of ours: a moment later the number may be somebody's. */
static _Atomic int closed_twice;
UNCHECKED int close(int fd)
{
    BELOW(close, int (*)(int));
    const int r = below(fd);
    if (r && errno == EBADF && is_ours(CALLER)) {
        closed_twice++;
        errno = EBADF;
    }
    return r;
}
UNCHECKED int socket(int domain, int type, int protocol)
{
    BELOW(socket, int (*)(int, int, int));
    return fails(FILES, CALLER, EMFILE) ? -1 : below(domain, type, protocol);
}
UNCHECKED int accept4(int fd, struct sockaddr *a, socklen_t *n, int flags)
{
    BELOW(accept4, int (*)(int, struct sockaddr *, socklen_t *, int));
    return fails(FILES, CALLER, EMFILE) ? -1 : below(fd, a, n, flags);
}
UNCHECKED int eventfd(unsigned n, int flags)
{
    BELOW(eventfd, int (*)(unsigned, int));
    return fails(FILES, CALLER, EMFILE) ? -1 : below(n, flags);
}
UNCHECKED int dup3(int from, int to, int flags)
{
    BELOW(dup3, int (*)(int, int, int));
    return fails(FILES, CALLER, EMFILE) ? -1 : below(from, to, flags);
}
UNCHECKED int mkstemp(char *name)
{
    BELOW(mkstemp, int (*)(char *));
    return fails(FILES, CALLER, ENOSPC) ? -1 : below(name);
}
UNCHECKED int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = va_arg(args, mode_t);
    va_end(args);
    BELOW(open, int (*)(const char *, int, ...));
    return fails(FILES, CALLER, ENFILE) ? -1 : below(path, flags, mode);
}
UNCHECKED int openat(int at, const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    mode_t mode = va_arg(args, mode_t);
    va_end(args);
    BELOW(openat, int (*)(int, const char *, int, ...));
    return fails(FILES, CALLER, ENFILE) ? -1 : below(at, path, flags, mode);
}
UNCHECKED int memfd_create(const char *name, unsigned flags)
{
    BELOW(memfd_create, int (*)(const char *, unsigned));
    return fails(FILES, CALLER, EMFILE) ? -1 : below(name, flags);
}
UNCHECKED int fallocate(int fd, int mode, off_t at, off_t n)
{
    BELOW(fallocate, int (*)(int, int, off_t, off_t));
    return fails(MAPS, CALLER, ENOSPC) ? -1 : below(fd, mode, at, n);
}
UNCHECKED void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    BELOW(mmap, void *(*)(void *, size_t, int, int, int, off_t));
    return fails(MAPS, CALLER, ENOMEM) ? MAP_FAILED : below(at, n, protection, flags, fd, from);
}
UNCHECKED int pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*body)(void *), void *arg)
{
    BELOW(pthread_create, int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *));
    return fails(THREADS, CALLER, EAGAIN) ? EAGAIN : below(t, a, body, arg);
}

#endif
