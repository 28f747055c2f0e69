/* Tier 1 emitter: line tables. In the form for debuggers every line of the C text says which line it comes of: of the
 * program's source, where the PTX has .loc directives, else of the PTX text. */
#include "ptx/tier1/emit/emit.h"

#include <stdlib.h>
#include <string.h>

#define PTX_FILE "module.ptx" /* as `cumu ptx` gives it; the numbers are those of messages */

/* The last directive before the instruction, NULL if there is none: they stand in the order of the text. */
static const struct ptx_loc *find_loc(const struct ptx_func *f, uint32_t line)
{
    uint32_t low = 0, high = f->nloc;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (f->loc[middle].at < line)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &f->loc[low - 1] : NULL;
}

/* Of a file, without what a C string would take for more than a character; NULL: it was not declared. */
static const char *name_of(struct t1_emit *e, uint32_t number)
{
    for (uint32_t k = 0; k < e->module->nsource; k++) {
        const char *s = e->module->source[k].name;
        if (e->module->source[k].number != number)
            continue;
        char *name = t1_alloc(e, strlen(s) + 1, 1), *to = name;
        for (; *s; s++)
            if ((unsigned char)*s >= ' ' && *s != '\\' && *s != '"' && *s != 127)
                *to++ = *s;
        return name;
    }
    return NULL;
}

void t1_mark_line(struct t1_emit *e, const struct ptx_instr *in)
{
    if (!e->lines || !in || !in->line)
        return;
    const struct ptx_loc *l = find_loc(e->f, in->line);
    const char *file = l && l->line ? name_of(e, l->file) : NULL;
    t1_put(e, "\n#line %u \"%s\"\n", file ? l->line : in->line, file ? file : PTX_FILE);
}

/* A marker counts on with the lines of C behind it, which are still the same one's: it is written before each. */
void t1_spread_lines(struct t1_emit *e)
{
    struct ptx_text from = e->text;
    const char *s = from.p, *end = s + from.n, *number = NULL;
    size_t digits = 0;
    e->text = (struct ptx_text){0};
    if (!e->lines) {
        e->text = from;
        return;
    }
    for (const char *next; s < end; s = next) {
        const char *newline = memchr(s, '\n', (size_t)(end - s));
        next = newline ? newline + 1 : end;
        if (next - s > 6 && memcmp(s, "#line ", 6) == 0) {
            number = s + 6;
            digits = strspn(number, "0123456789");
        } else if (number && next - s > 1) {
            t1_write(e, &e->text, "#line ", 6);
            t1_write(e, &e->text, number, digits);
            t1_write(e, &e->text, "\n", 1);
        }
        if (next - s > 1)
            t1_write(e, &e->text, s, (size_t)(next - s));
    }
    free(from.p);
}

/* Of the function that runs the kernel, as debuggers show it: a name of C's that means nothing to a compiler. */
const char *t1_c_name(struct t1_emit *e, const char *kernel)
{
    char *name = t1_alloc(e, strlen(kernel) + sizeof "_kernel", 1);
    strcpy(name, kernel);
    for (char *s = name; *s; s++)
        if (!(*s >= '0' && *s <= '9') && !((*s | 32) >= 'a' && (*s | 32) <= 'z') && *s != '_' && *s != '$')
            *s = '_';
    return strncmp(name, "_Z", 2) == 0 ? name : strcat(name, "_kernel");
}
