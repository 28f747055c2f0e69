/* Log lines of the host driver: one write(2) a line to stderr, no allocation, no locale. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/driver/host.h"

static void say(const char *format, va_list list)
{
    static const char head[] = "cumu: host: ";
    char line[512];
    memcpy(line, head, sizeof head);
    int room = (int)(sizeof line - sizeof head);
    int n = vsnprintf(line + sizeof head - 1, (size_t)room, format, list);
    if (n < 0)
        return;
    size_t length = sizeof head - 1 + (size_t)(n < room ? n : room - 1);
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
    say(format, list);
    va_end(list);
}

void host_say(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say(format, list);
    va_end(list);
}
