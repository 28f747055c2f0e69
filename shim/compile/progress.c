/* The progress line. */
#include "compile/progress.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/config.h"
#include "core/log.h"

enum { MANY = 8 }; /* a second or two of compiling: below it, nobody wonders what goes on */

/* A background job must not write to the terminal, and nobody wants it in a file. */
static bool visible(void)
{
    return isatty(STDERR_FILENO) && tcgetpgrp(STDERR_FILENO) == getpgrp() && !*cumu_opt_text(CUMU_OPT_LOG_FILE) &&
           cumu_log_on(CUMU_ERROR, "jit");
}

void cumu_progress_line(const char *format, ...)
{
    static const char erase[] = "\r\033[K";
    char line[160];
    va_list args;
    if (!isatty(STDERR_FILENO))
        return;
    memcpy(line, erase, sizeof erase - 1);
    va_start(args, format);
    (void)vsnprintf(line + sizeof erase - 1, sizeof line - sizeof erase + 1, format, args);
    va_end(args);
    (void)!write(STDERR_FILENO, line, strnlen(line, sizeof line));
}

void cumu_progress(unsigned done, unsigned waiting)
{
    static bool shown;
    if (!shown && (waiting < MANY || !visible()))
        return;
    shown = waiting > 0;
    if (shown)
        cumu_progress_line("cumu: compiling kernels: %u done, %u to go", done, waiting);
    else
        cumu_progress_line("%s", "");
}
