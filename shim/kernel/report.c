/* What is said of modules and kernels that cannot be used: to the log, and to who loads them. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/module.h"

/* To the log, and as one more line to the error log of a load. */
static void report(struct cumu_module *m, enum cumu_level level, const char *symbol, const char *text)
{
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* kernels of a load may be compiled side by side */
    if (cumu_log_on(level, "kernel"))
        cumu_log(NULL, level, "kernel", symbol, "%s", text);
    const struct cumu_jit_request *log = m ? cumu_module_request(m) : NULL;
    if (log && log->error && log->error_size && level <= CUMU_WARN) {
        pthread_mutex_lock(&one);
        size_t at = strnlen(log->error, log->error_size);
        snprintf(log->error + at, log->error_size - at, "cumu: %s%s%s\n", symbol ? symbol : "", symbol ? ": " : "",
                 text);
        pthread_mutex_unlock(&one);
    }
}

void cumu_kernel_report(struct cumu_module *m, enum cumu_level level, const char *symbol, const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report(m, level, symbol, text);
}

void cumu_func_report(struct cumu_func *f, enum cumu_level level, const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    report(f->module, level, f->name, text);
    char *why = strdup(text);
    pthread_mutex_lock(&cumu_kernel_lock);
    char *old = f->why;
    f->why = why;
    pthread_mutex_unlock(&cumu_kernel_lock);
    free(old);
}

void cumu_diag_report(struct cumu_module *m, const char *symbol, const struct ptx_diag *diag)
{
    char text[sizeof diag->msg + sizeof diag->what + 32];
    ptx_diag_text(diag, text, sizeof text);
    cumu_kernel_report(m, diag->gap ? CUMU_GAP : CUMU_ERROR, symbol, "%s", text);
}
