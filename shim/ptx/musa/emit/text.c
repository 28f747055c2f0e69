/* The MUSA emitter: its text and its way out. */
#include "ptx/musa/emit/emit.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void mu_fail(struct mu_emit *e, const char *format, ...)
{
    struct ptx_diag *d = e->diag;
    va_list args;
    memset(d, 0, sizeof *d);
    d->gap = true;
    if (e->entry)
        snprintf(d->what, sizeof d->what, "%.63s", e->entry->name);
    if (e->at) {
        const struct lir_line *line = LIR_AT(e->image, lines, struct lir_line);
        line += e->at - LIR_AT(e->image, code, struct lir_insn);
        const char *text = LIR_AT(e->image, strings, char) + line->text;
        d->line = line->line;
        if (*text)
            snprintf(d->what, sizeof d->what, "%.63s", text);
    }
    va_start(args, format);
    vsnprintf(d->msg, sizeof d->msg, format, args);
    va_end(args);
    longjmp(e->out, 1);
}

void mu_write(struct mu_emit *e, const char *s, size_t n)
{
    if (!ptx_text_add(&e->text, s, n))
        mu_fail(e, "text becomes too large");
}

void mu_put(struct mu_emit *e, const char *format, ...)
{
    char small[1200];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(small, sizeof small, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof small)
        mu_fail(e, "line too long");
    mu_write(e, small, (size_t)n);
}

static bool label_of(const char *line, const char *end, size_t *number)
{
    *number = 0;
    if (*line++ != 'L' || line == end || *line < '0' || *line > '9')
        return false;
    for (; line < end && *line >= '0' && *line <= '9'; line++)
        *number = *number * 10 + (size_t)(*line - '0');
    return line < end && *line == ':';
}

void mu_write_indented(struct mu_emit *e, const char *s, size_t n)
{
    static const char spaces[] = "                                ";
    int depth = 1;
    for (const char *end = s + n, *after; s < end; s = after) {
        size_t number;
        int opened = 0, closed = 0;
        for (after = s; after < end && *after != '\n'; after++) {
            closed += *after == '}' && !opened;
            opened += (*after == '{') - (*after == '}' && opened);
        }
        after += after < end;
        if (label_of(s, after, &number)) {
            if (e->label[number])
                mu_write(e, s, (size_t)(after - s));
            continue;
        }
        depth = depth > closed ? depth - closed : 0;
        const size_t margin = (size_t)depth * 4 < sizeof spaces ? (size_t)depth * 4 : sizeof spaces - 1;
        mu_write(e, spaces, margin);
        mu_write(e, s, (size_t)(after - s));
        depth += opened;
    }
}
