/* Calls every jump of one facade and logs the line that the stub library below must write.
 * usage: SONAME.calls FACADE LOG */
#include "calls.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *facade;
static FILE *log_file;
static unsigned seed = 1;

void *symbol(const char *name)
{
    void *p = dlsym(facade, name);
    if (!p) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return p;
}

void make_value(void *at, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1664525u + 1013904223u;
        ((unsigned char *)at)[i] = (unsigned char)((seed >> 24) & (i % 4 == 3 ? 0x3f : 0xff));
    }
}

void app_line(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(log_file, format, args);
    va_end(args);
}

int main(int argc, char **argv)
{
    facade = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    log_file = argc == 3 ? fopen(argv[2], "w") : NULL;
    if (!facade || !log_file) {
        fprintf(stderr, "%s\n", facade ? "no log" : dlerror());
        return 1;
    }
    call_all(); /* each slot once through the resolver */
    call_all(); /* and once straight */
    return fclose(log_file) != 0;
}
