/* Which sanitizer this is compiled with: gcc says it by macros, clang by features. */
#ifndef CUMU_SANITIZE_H
#define CUMU_SANITIZE_H

#ifdef __has_feature
#define CUMU_HAS_FEATURE(x) __has_feature(x)
#else
#define CUMU_HAS_FEATURE(x) 0
#endif
#if defined __SANITIZE_ADDRESS__ || CUMU_HAS_FEATURE(address_sanitizer)
#define CUMU_ASAN 1
#else
#define CUMU_ASAN 0
#endif
#if defined __SANITIZE_THREAD__ || CUMU_HAS_FEATURE(thread_sanitizer)
#define CUMU_TSAN 1
#else
#define CUMU_TSAN 0
#endif

/* Frames on a stack that was left by a jump or by the end of a process keep ASan's marks: before it is used anew or
 * unmapped, which lets others' memory lie there. */
#if CUMU_ASAN
#include <stddef.h>
void __asan_unpoison_memory_region(const volatile void *p, size_t size);
#define cumu_stack_left(stack, size) __asan_unpoison_memory_region(stack, size)
#else
#define cumu_stack_left(stack, size) ((void)(stack), (void)(size))
#endif

#endif
