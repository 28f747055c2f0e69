/* The progress line of compilations. */
#include "compile/progress.h"

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

void cumu_progress(unsigned done, unsigned waiting)
{
    static bool shown;
    char line[96] = "\r\033[K";
    if (!shown && (waiting < MANY || !visible()))
        return;
    shown = waiting > 0;
    if (shown)
        (void)snprintf(line + strlen(line), sizeof line - strlen(line), "cumu: compiling kernels: %u done, %u to go",
                       done, waiting);
    (void)!write(STDERR_FILENO, line, strlen(line));
}
