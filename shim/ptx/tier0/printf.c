/* Tier 0 execution: device printf. The arguments lie in memory as C variadic promotion left them,
 * each aligned to its size; every conversion is done by the C library on its own value. */
#include "ptx/tier0/warp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const uint8_t *base;
    size_t at;
};

/* The text of one call, printed as a whole: pieces would mix with those of blocks on other CPUs. */
struct line {
    char small[1024];
    char *text;
    size_t used, room;
};

static void put(struct line *l, const char *text, size_t len)
{
    if (l->used + len > l->room) {
        size_t room = (l->used + len) * 2;
        char *more = realloc(l->text == l->small ? NULL : l->text, room);
        if (!more)
            return; /* without memory the piece is lost */
        if (l->text == l->small)
            memcpy(more, l->small, l->used);
        l->text = more;
        l->room = room;
    }
    memcpy(l->text + l->used, text, len);
    l->used += len;
}

static uint64_t take(struct cursor *c, size_t size)
{
    uint64_t v = 0;
    c->at = (c->at + size - 1) & ~(size - 1);
    memcpy(&v, c->base + c->at, size);
    c->at += size;
    return v;
}

/* One conversion of a kernel's printf by the C library's, into memory of its own if it is longer than the buffer. */
static void convert(struct line *l, const char *spec, char conv, bool wide, uint64_t v)
{
    char small[512], *big = NULL, *out = small;
    double f;
    int n = 0;
    memcpy(&f, &v, 8);
    for (size_t room = sizeof small;;) {
        if (strchr("aAeEfFgG", conv))
            n = snprintf(out, room, spec, f);
        else if (conv == 's')
            n = snprintf(out, room, spec, v ? (const char *)(uintptr_t)v : "(null)");
        else if (conv == 'p')
            n = snprintf(out, room, spec, (void *)(uintptr_t)v);
        else if (conv == 'c')
            n = snprintf(out, room, spec, (int)v);
        else
            n = wide ? snprintf(out, room, spec, (long long)v) : snprintf(out, room, spec, (int)v);
        if (n < 0 || (size_t)n < room || big)
            break;
        room = (size_t)n + 1;
        big = malloc(room);
        if (!big) {
            n = (int)sizeof small - 1;
            break;
        }
        out = big;
    }
    if (n > 0)
        put(l, out, (size_t)n);
    free(big);
}

/* Writes one printf of a kernel. The arguments lie as the device's ABI packs them, 4 or 8 bytes each by the
 * conversion, not as C's variable arguments; so each conversion is handed to snprintf alone, with a format that is
 * rewritten for the type at hand. */
static int print_line(struct line *l, const char *format, const uint8_t *args)
{
    struct cursor c = {args, 0};
    int count = 0;
    while (*format) {
        const char *p = strchrnul(format, '%'), *start = p;
        char spec[64];
        size_t n = 0;
        bool wide = false;
        if (p > format)
            put(l, format, (size_t)(p - format));
        if (!*p)
            break;
        spec[n++] = *p++;
        for (; *p && strchr("-+ #0123456789.*hlLqjzt", *p); p++) {
            if (*p == '*') {
                n += (size_t)snprintf(spec + n, 12, "%d", (int)take(&c, 4));
            } else if (strchr("lLqjzt", *p)) {
                wide = true;
            } else {
                spec[n++] = *p; /* h and hh as well: the value was promoted, C narrows it again */
            }
            if (n > sizeof spec - 20)
                break;
        }
        char conv = *p;
        if (conv == '%') {
            put(l, "%", 1);
            format = p + 1;
            continue;
        }
        if (!conv || !strchr("diouxXcspaAeEfFgG", conv)) { /* unknown: as written */
            p += conv != 0;
            put(l, start, (size_t)(p - start));
            format = p;
            continue;
        }
        bool is_int = strchr("diouxX", conv) != NULL;
        bool is_long = (is_int && wide) || strchr("spaAeEfFgG", conv);
        if (is_int && wide) {
            spec[n++] = 'l';
            spec[n++] = 'l';
        }
        spec[n++] = conv;
        spec[n] = '\0';
        convert(l, spec, conv, wide, take(&c, is_long ? 8 : 4));
        count++;
        format = p + 1;
    }
    return count;
}

int t0_printf(const struct t0_env *env, const char *format, const uint8_t *args)
{
    struct line l;
    if (!format)
        return -1;
    l.text = l.small;
    l.room = sizeof l.small;
    l.used = 0;
    int count = print_line(&l, format, args);
    if (l.used)
        env->print(env->ctx, l.text, l.used);
    if (l.text != l.small)
        free(l.text);
    return count;
}
