/* Log lines of the host driver: one write(2) a line to stderr, no allocation, no locale. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/driver/callback.h"
#include "host/driver/host.h"

static void say(const char *head, const char *format, va_list list)
{
    char line[2048]; /* names of kernels fill a thousand bytes */
    size_t start = strlen(head);
    memcpy(line, head, start);
    int room = (int)(sizeof line - 1 - start);
    int n = vsnprintf(line + start, (size_t)room, format, list);
    if (n < 0)
        return;
    size_t length = start + (size_t)(n < room ? n : room - 1);
    line[length++] = '\n';
    ssize_t written = write(2, line, length);
    (void)written; /* nobody to tell */
}

void host_log(int level, const char *format, ...)
{
    if (host_config()->log < level)
        return;
    va_list list;
    va_start(list, format);
    say("cumu: host: ", format, list);
    va_end(list);
}

void host_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say("cumu: error: host: ", format, list);
    va_end(list);
}

void cumu_host_say(const char *text) { host_say("%s", text); }
