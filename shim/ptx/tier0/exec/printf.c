/* Tier 0 execution: device printf. The arguments lie in memory as C variadic promotion left them, each
 * aligned to its size; every conversion is done by the C library on its own value. */
#include "ptx/tier0/exec/warp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cursor {
    const uint8_t *base;
    size_t at;
};

static uint64_t take(struct cursor *c, size_t size)
{
    uint64_t v = 0;
    c->at = (c->at + size - 1) & ~(size - 1);
    memcpy(&v, c->base + c->at, size);
    c->at += size;
    return v;
}

/* One conversion into out; grows nothing: long strings are printed straight from device memory. */
static void convert(const struct t0_env *env, const char *spec, char conv, bool wide, uint64_t v)
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
        env->print(env->ctx, out, (size_t)n);
    free(big);
}

int t0_printf(const struct t0_env *env, const char *format, const uint8_t *args)
{
    struct cursor c = {args, 0};
    int count = 0;
    if (!format)
        return -1;
    while (*format) {
        const char *p = strchrnul(format, '%'), *start = p;
        char spec[64];
        size_t n = 0;
        bool wide = false;
        if (p > format)
            env->print(env->ctx, format, (size_t)(p - format));
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
            env->print(env->ctx, "%", 1);
            format = p + 1;
            continue;
        }
        if (!conv || !strchr("diouxXcspaAeEfFgG", conv)) { /* unknown: as written */
            p += conv != 0;
            env->print(env->ctx, start, (size_t)(p - start));
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
        convert(env, spec, conv, wide, take(&c, is_long ? 8 : 4));
        count++;
        format = p + 1;
    }
    return count;
}
