/* Linked into a test: of the allocations that our libraries make the one of number TEST_FAIL_AT fails. 0: none does.
 * How many there were is printed at the end. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIBRARIES = 64, OFTEN = 1024 };
static uintptr_t low[LIBRARIES], high[LIBRARIES];
static int libraries;
static _Atomic long counted, failing = -1;

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

__attribute__((no_sanitize("address", "undefined"))) static bool fails(uintptr_t caller)
{
    static _Atomic int calls;
    static _Thread_local bool inside;
    if (failing < 0 || inside)
        return false;
    if (calls++ % OFTEN == 0) { /* libraries are loaded when they are needed */
        inside = true;
        libraries = 0;
        dl_iterate_phdr(note, NULL);
        inside = false;
    }
    for (int i = 0; i < libraries; i++)
        if (caller >= low[i] && caller < high[i])
            return ++counted == failing ? errno = ENOMEM, true : false;
    return false;
}

/* Below: AddressSanitizer's, where the program has it; else the C library's. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
#define WEAK __attribute__((weak))
extern WEAK void *__interceptor_malloc(size_t), *__interceptor_calloc(size_t, size_t),
    *__interceptor_realloc(void *, size_t), *__interceptor_aligned_alloc(size_t, size_t);
#define BELOW(name, libc) (__interceptor_##name ? __interceptor_##name : __libc_##libc)
#define CALLER (uintptr_t) __builtin_return_address(0)
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))
UNCHECKED void *malloc(size_t size) { return fails(CALLER) ? NULL : BELOW(malloc, malloc)(size); }
UNCHECKED void *calloc(size_t n, size_t size) { return fails(CALLER) ? NULL : BELOW(calloc, calloc)(n, size); }
UNCHECKED void *realloc(void *p, size_t size) { return fails(CALLER) ? NULL : BELOW(realloc, realloc)(p, size); }
UNCHECKED void *aligned_alloc(size_t align, size_t size)
{
    return fails(CALLER) ? NULL : BELOW(aligned_alloc, memalign)(align, size);
}

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("TEST_FAIL_AT");
    failing = number ? atol(number) : -1;
}
__attribute__((destructor)) static void end(void)
{
    char text[64];
    int n = snprintf(text, sizeof text, "# allocations %ld\n", (long)counted);
    if (failing >= 0 && write(1, text, (size_t)n) != n)
        _exit(1);
}
