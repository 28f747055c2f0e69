/* What the generated callers of a facade use (calls.c). */
#ifndef CUMU_TEST_CALLS_H
#define CUMU_TEST_CALLS_H

#include <stddef.h>

void *symbol(const char *name);         /* of the facade under test */
void make_value(void *at, size_t size); /* next argument */
void app_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void call_all(void); /* generated */

#endif
