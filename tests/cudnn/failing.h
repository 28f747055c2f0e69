/* Allocations of our libraries, of which the test may let one fail. */
#ifndef CUMU_TESTS_FAILING_H
#define CUMU_TESTS_FAILING_H

#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../shim/sanitize.h"

static uintptr_t low[16], high[16];
static int libraries;
static long counted, failing;
static int note_library(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    for (int i = 0; strstr(info->dlpi_name, "/cumu/") && i < info->dlpi_phnum && libraries < 16; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            low[libraries] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            high[libraries++] = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        }
    return 0;
}
static bool fails(const void *caller)
{
    for (int i = 0; failing && i < libraries; i++)
        if ((uintptr_t)caller >= low[i] && (uintptr_t)caller < high[i])
            return ++counted == failing ? errno = ENOMEM, true : false;
    return false;
}
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
#if !CUMU_ASAN
void *malloc(size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, size); }
#endif

#endif
