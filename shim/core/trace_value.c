/* Shows the arguments and the result of a traced call, as its signature says. */
#include "core/json.h"
#include "core/trace.h"

#include <locale.h>
#include <pthread.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { TEXT = 96, PAGE = 4096, CALLER = 2048, PARTS = 32 };

/* Numbers have points, whatever locale the program chose: formats of machines know nothing else. */
static pthread_once_t locale_once = PTHREAD_ONCE_INIT;
static locale_t points;
static void make_locale(void) { points = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

void cumu_write(struct cumu_writer *w, const char *format, ...)
{
    size_t room = (size_t)(w->end - w->at);
    va_list args;
    (void)pthread_once(&locale_once, make_locale);
    const locale_t own = points ? uselocale(points) : (locale_t)0;
    va_start(args, format);
    int n = vsnprintf(w->at, room, format, args);
    va_end(args);
    if (own)
        (void)uselocale(own);
    if (n < 0 || (size_t)n >= room)
        w->at = w->end; /* full: nothing more is written, and whoever made the writer sees it */
    else
        w->at += n;
}

void cumu_write_quoted(struct cumu_writer *w, const char *s, size_t n)
{
    const char *end = s + n;
    char piece[8];
    cumu_write(w, "\"");
    while (s < end) {
        unsigned char c = (unsigned char)*s;
        bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\';
        if (plain && w->at < w->end)
            *w->at++ = (char)c;
        if (!plain && w->json) {
            cumu_write(w, "%s", cumu_json_piece(&s, end, piece));
            continue;
        }
        if (c == '"' || c == '\\')
            cumu_write(w, "\\%c", c);
        else if (c == '\n')
            cumu_write(w, "\\n");
        else if (!plain) /* bytes that may be no UTF-8 */
            cumu_write(w, "\\x%02x", c);
        s++;
    }
    cumu_write(w, "\"");
}

/* Copies what is there at `from`, up to a page that is not; how much. A pointer of the program's need not be
 * one. Kernels that forbid the question get it read directly: what the call was given it will have read. */
static size_t peek(void *to, const void *from, size_t n)
{
    size_t first = PAGE - (uintptr_t)from % PAGE;
    if ((uintptr_t)from < PAGE)
        return 0;
    struct iovec local = {to, n}, remote[2] = {{(void *)(uintptr_t)from, n < first ? n : first},
                                               {(char *)(uintptr_t)from + first, n < first ? 0 : n - first}};
    ssize_t got = process_vm_readv(getpid(), &local, 1, remote, 2, 0);
    if (got < 0 && errno == EFAULT)
        return 0;
    if (got < 0) {
        memcpy(to, from, remote[0].iov_len);
        got = (ssize_t)remote[0].iov_len;
    }
    return (size_t)got;
}

static void write_string(struct cumu_writer *w, const char *s)
{
    char text[TEXT + 1];
    size_t n = peek(text, s, sizeof text);
    size_t length = n ? strnlen(text, n) : 0;
    if (!s)
        cumu_write(w, w->json ? "null" : "NULL");
    else if (!n)
        cumu_write(w, w->json ? "\"%p\"" : "%p", (const void *)s);
    else if (length > TEXT) /* goes on */
        memcpy(text + TEXT - 3, "...", 3);
    if (s && n)
        cumu_write_quoted(w, text, length > TEXT ? TEXT : length);
}

static void write_enum(struct cumu_writer *w, const struct cumu_argument *a, int value)
{
    const struct cumu_enum *e = a->values ? &cumu_enums[a->values - 1] : NULL;
    for (uint32_t i = 0; e && i < e->count; i++)
        if (e->rows[i].value == value) {
            cumu_write(w, w->json ? "\"%s\"" : "%s", e->names + e->rows[i].name);
            return;
        }
    cumu_write(w, "%d", value);
}

static void write_real(struct cumu_writer *w, double d)
{
    cumu_write(w, w->json && !isfinite(d) ? "\"%g\"" : "%.9g", d);
}

void cumu_write_pointer(struct cumu_writer *w, uint64_t p)
{
    if (!p)
        cumu_write(w, w->json ? "null" : "NULL");
    else
        cumu_write(w, w->json ? "\"0x%llx\"" : "0x%llx", (unsigned long long)p);
}

static int64_t extended(uint64_t v, unsigned size)
{
    return size == 1 ? (int8_t)v : size == 2 ? (int16_t)v : size == 4 ? (int32_t)v : (int64_t)v;
}

static uint64_t cut(uint64_t v, unsigned size) { return size < 8 ? v & ((1ull << (8 * size)) - 1) : v; }

/* Floats and doubles: one, or a struct of them. */
static void write_reals(struct cumu_writer *w, const struct cumu_argument *a, const void *raw)
{
    unsigned each = a->kind == CUMU_ARG_FLOAT ? sizeof(float) : sizeof(double), n = a->size / each;
    for (unsigned i = 0; i < n; i++) {
        float f;
        double d;
        memcpy(&f, (const char *)raw + i * each, sizeof f);
        if (each == sizeof d)
            memcpy(&d, (const char *)raw + i * each, sizeof d);
        else
            d = (double)f;
        if (n > 1)
            cumu_write(w, i ? ", " : w->json ? "[" : "{");
        write_real(w, d);
    }
    if (n > 1)
        cumu_write(w, w->json ? "]" : "}");
}

static void write_bytes(struct cumu_writer *w, const unsigned char *b, unsigned n)
{
    unsigned shown = n < 16 ? n : 16;
    cumu_write(w, w->json ? "\"" : "{");
    for (unsigned i = 0; i < shown; i++)
        cumu_write(w, "%02x", b[i]);
    cumu_write(w, "%s%s", shown < n ? "..." : "", w->json ? "\"" : "}");
}

/* A value of a's kind. */
static void write_value(struct cumu_writer *w, const struct cumu_argument *a, const uint64_t *raw)
{
    const uint32_t *words = (const void *)raw;
    double d;
    switch ((enum cumu_kind)a->kind) {
    case CUMU_ARG_VOID: break;
    case CUMU_ARG_POINTER:
    case CUMU_ARG_HANDLE:
    case CUMU_ARG_STREAM:
    case CUMU_ARG_ADDRESS:
    case CUMU_ARG_ARRAY:
    case CUMU_ARG_SYMBOL: cumu_write_pointer(w, raw[0]); break;
    case CUMU_ARG_STRING: write_string(w, (const char *)(uintptr_t)raw[0]); break;
    case CUMU_ARG_CHAR: /* BLAS of CUDA 3 says 'N' and 'T' */ cumu_write_quoted(w, (const char *)raw, 1); break;
    case CUMU_ARG_SIGNED: cumu_write(w, "%lld", (long long)extended(raw[0], a->size)); break;
    case CUMU_ARG_UNSIGNED:
    case CUMU_ARG_LENGTH:
    case CUMU_ARG_LENGTH2:
    case CUMU_ARG_LENGTH4: cumu_write(w, "%llu", (unsigned long long)cut(raw[0], a->size)); break;
    case CUMU_ARG_FLOAT:
    case CUMU_ARG_DOUBLE: write_reals(w, a, raw); break;
    case CUMU_ARG_MIXED:
        memcpy(&d, &raw[1], sizeof d);
        cumu_write(w, w->json ? "[%lld, " : "{%lld, ", (long long)raw[0]);
        write_real(w, d);
        cumu_write(w, w->json ? "]" : "}");
        break;
    case CUMU_ARG_ENUM: write_enum(w, a, (int)raw[0]); break;
    case CUMU_ARG_DIM3: cumu_write(w, w->json ? "[%u, %u, %u]" : "{%u %u %u}", words[0], words[1], words[2]); break;
    case CUMU_ARG_COPY3D: /* behind pointers only */
    case CUMU_ARG_PEER3D:
    case CUMU_ARG_CU_COPY2D:
    case CUMU_ARG_CU_COPY3D:
    case CUMU_ARG_BYTES: write_bytes(w, (const void *)raw, a->size); break;
    }
}

/* ---- where values are ------------------------------------------------------------------------ */

static uint64_t part(const struct cumu_frame *f, unsigned at)
{
    return at < CUMU_AT_FLOAT   ? f->general[at]
           : at < CUMU_AT_STACK ? f->floating[at - CUMU_AT_FLOAT][0]
                                : f->stack[at - CUMU_AT_STACK];
}

static void fetch(const struct cumu_frame *f, const struct cumu_argument *a, uint64_t raw[PARTS])
{
    unsigned n = a->stars ? 1 : (a->size + 7u) / 8;
    for (unsigned i = 0; i < n; i++)
        raw[i] = n > 2 ? part(f, a->at[0] + i) : part(f, a->at[i]);
}

/* &VALUE for what the call wrote, when it has succeeded. */
static void write_output(struct cumu_writer *w, const struct cumu_argument *a, const struct cumu_frame *f, uint64_t at)
{
    uint64_t raw[PARTS] = {0};
    /* Most are variables of the caller: above every frame there are pages of the stack or of its thread. */
    bool local = at - (uint64_t)(uintptr_t)f->stack < CALLER;
    if (local)
        memcpy(raw, (const void *)(uintptr_t)at, a->size);
    if (!local && peek(raw, (const void *)(uintptr_t)at, a->size) != a->size) {
        cumu_write_pointer(w, at);
        return;
    }
    if (w->json) {
        cumu_write(w, "{\"at\": ");
        cumu_write_pointer(w, at);
        cumu_write(w, ", \"value\": ");
    } else {
        cumu_write(w, "&");
    }
    write_value(w, a, raw);
    cumu_write(w, w->json ? "}" : "");
}

static bool succeeded(const struct cumu_prototype *c, const struct cumu_frame *f)
{
    return !c->status || (int)f->result[0] == 0;
}

void cumu_write_arguments(struct cumu_writer *w, const struct cumu_prototype *c, const struct cumu_frame *f)
{
    for (unsigned i = 0; i < c->count; i++) {
        const struct cumu_argument *a = &cumu_arguments[c->first + i];
        uint64_t raw[PARTS] = {0};
        fetch(f, a, raw);
        cumu_write(w, i ? ", " : "");
        if (!a->stars)
            write_value(w, a, raw);
        else if (a->output && raw[0] && succeeded(c, f))
            write_output(w, a, f, raw[0]);
        else
            cumu_write_pointer(w, raw[0]);
    }
}

void cumu_write_result(struct cumu_writer *w, const struct cumu_prototype *c, const struct cumu_frame *f)
{
    const struct cumu_argument *r = &c->result;
    uint64_t raw[PARTS] = {0};
    if (r->at[0] == CUMU_AT_MEMORY)
        (void)peek(raw, (const void *)(uintptr_t)f->result[0], r->size);
    else
        for (unsigned i = 0; i < 2; i++)
            raw[i] = r->at[i] < CUMU_AT_FLOAT ? f->result[r->at[i]] : f->result_float[r->at[i] - CUMU_AT_FLOAT][0];
    if (r->stars)
        cumu_write_pointer(w, raw[0]);
    else
        write_value(w, r, raw);
}

uint64_t cumu_call_argument(const struct cumu_prototype *c, const struct cumu_frame *f, unsigned i)
{
    return cumu_call_part(c, f, i, 0);
}

uint64_t cumu_call_part(const struct cumu_prototype *c, const struct cumu_frame *f, unsigned i, unsigned k)
{
    uint64_t raw[PARTS] = {0};
    if (i >= c->count || k >= PARTS)
        return 0;
    fetch(f, &cumu_arguments[c->first + i], raw);
    return raw[k];
}

unsigned cumu_length_unit(const struct cumu_argument *a)
{
    return a->stars                      ? 0
           : a->kind == CUMU_ARG_LENGTH  ? 1
           : a->kind == CUMU_ARG_LENGTH2 ? 2
           : a->kind == CUMU_ARG_LENGTH4 ? 4
                                         : 0;
}

uint64_t cumu_call_bytes(const struct cumu_prototype *c, const struct cumu_frame *f)
{
    uint64_t product = 0;
    for (unsigned i = 0; i < c->count; i++) {
        const struct cumu_argument *a = &cumu_arguments[c->first + i];
        if (cumu_length_unit(a))
            product = (product ? product : 1) * part(f, a->at[0]) * cumu_length_unit(a);
    }
    return product;
}

bool cumu_queues_copy(const struct cumu_prototype *c)
{
    bool length = false, stream = false;
    for (unsigned i = 0; i < c->count; i++) {
        const struct cumu_argument *a = &cumu_arguments[c->first + i];
        length |= cumu_length_unit(a) != 0;
        stream |= a->kind == CUMU_ARG_STREAM && !a->stars;
    }
    return length && stream;
}

bool cumu_call_stream(const struct cumu_prototype *c, const struct cumu_frame *f, const void **stream)
{
    for (unsigned i = 0; i < c->count; i++) {
        const struct cumu_argument *a = &cumu_arguments[c->first + i];
        if (a->kind == CUMU_ARG_STREAM && !a->stars) {
            *stream = (const void *)(uintptr_t)part(f, a->at[0]);
            return true;
        }
    }
    return false;
}
