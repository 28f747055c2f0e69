/* The one line that a function of a logging stub library writes (included by generated code only).
 */
#ifndef CUMU_GEN_STUBLOG_H
#define CUMU_GEN_STUBLOG_H

#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One write per line on a descriptor opened for append, so that lines of threads and processes do
 * not mix. Opened each time: the application may close what it does not know. */
__attribute__((format(printf, 1, 2), unused)) static void stub_line(const char *format, ...)
{
    const char *path = secure_getenv("CUMU_STUB_LOG");
    int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (fd < 0)
        return;
    char line[2048];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof line ? (size_t)n : sizeof line - 1;
    if (write(fd, line, length) < 0) {
        /* a full disk is not the application's business */
    }
    close(fd);
}

/* At most 128 bytes as hexadecimal digits. */
__attribute__((unused)) static const char *stub_bytes(const void *data, size_t size, char *text)
{
    for (size_t i = 0; i < size && i < 128; i++)
        sprintf(text + 2 * i, "%02x", ((const unsigned char *)data)[i]);
    return text;
}

#endif
