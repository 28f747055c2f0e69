/* A strict JSON reader. */
#include "api/nccl/json.h"

#include "core/json.h"

#include <locale.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16 };

struct reader {
    const char *at, *end;
    int line;
    char *why;
    size_t room;
};

static struct json *value(struct reader *r, int depth);

static void *wrong(struct reader *r, const char *what)
{
    if (!r->why[0])
        (void)snprintf(r->why, r->room, "line %d: %s", r->line, what);
    return NULL;
}

static char peek(struct reader *r)
{
    for (; r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at; r->at++)
        r->line += *r->at == '\n';
    return r->at < r->end ? *r->at : 0;
}

static bool take(struct reader *r, char c)
{
    bool there = peek(r) == c;
    r->at += there;
    return there;
}

static int hex4(struct reader *r)
{
    int n = 0;
    for (int i = 0; i < 4; i++, r->at++) {
        static const char digits[] = "0123456789abcdefABCDEF";
        const char *d = r->at < r->end && *r->at ? strchr(digits, *r->at) : NULL;
        if (!d)
            return -1;
        int k = (int)(d - digits);
        n = n * 16 + (k < 16 ? k : k - 6);
    }
    return n;
}

static size_t utf8(int c, char *out)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 63));
        return 2;
    }
    out[0] = (char)(0xe0 | c >> 12);
    out[1] = (char)(0x80 | (c >> 6 & 63));
    out[2] = (char)(0x80 | (c & 63));
    return 3;
}

/* Reads a JSON string (RFC 8259, section 7). Zeros and halves of surrogate pairs are refused, because the text is
 * used as C strings and written back. */
static char *string(struct reader *r)
{
    if (!take(r, '"'))
        return wrong(r, "expected a string");
    char *out = malloc((size_t)(r->end - r->at) + 4);
    size_t n = 0;
    while (out && r->at < r->end && *r->at != '"') {
        static const char escapes[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
        const char *e;
        int length = cumu_utf8_length(r->at, r->end);
        if (!length) { /* RFC 8259 section 8.1; the writer could not give it back */
            free(out);
            return wrong(r, "a string that is not UTF-8");
        }
        if ((unsigned char)*r->at < 0x20)
            break;
        if (*r->at != '\\') {
            memcpy(out + n, r->at, (size_t)length);
            n += (size_t)length;
            r->at += length;
            continue;
        }
        r->at++;
        if (r->at < r->end && *r->at && (e = strchr(escapes, *r->at))) {
            out[n++] = means[e - escapes];
            r->at++;
        } else {
            int code = r->at < r->end && *r->at == 'u' ? (r->at++, hex4(r)) : -1;
            if (code <= 0 || (code >= 0xd800 && code < 0xe000)) { /* no zeros, no halves of pairs */
                free(out);
                return wrong(r, "a bad escape in a string");
            }
            n += utf8(code, out + n);
        }
    }
    if (!out || r->at >= r->end || *r->at != '"') {
        free(out);
        return wrong(r, "a string that does not end, or holds a control character");
    }
    r->at++;
    out[n] = 0;
    return out;
}

/* Reads a JSON number: an integer if it fits into 64 bits without fraction, else a real. Leading zeros and a bare
 * sign are refused, as by the RFC. */
static bool number(struct reader *r, struct json *j)
{
    char text[32], *end;
    size_t n = 0;
    while (r->at + n < r->end && n < sizeof text - 1 && r->at[n] && strchr("+-.eE0123456789", r->at[n])) {
        text[n] = r->at[n];
        n++;
    }
    text[n] = 0;
    const char *digits = text + (text[0] == '-');
    if (digits[0] < '0' || digits[0] > '9' || (digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9')) {
        (void)wrong(r, "expected a value");
        return false;
    }
    errno = 0;
    j->type = JSON_INTEGER;
    j->integer = strtoll(text, &end, 10);
    if (*end) {
        j->type = JSON_REAL;
        locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* the program's may have a decimal comma */
        (void)(c ? strtod_l(text, &end, c) : strtod(text, &end));
        if (c)
            freelocale(c);
    }
    if (*end || errno || n == sizeof text - 1) {
        (void)wrong(r, "a bad number");
        return false;
    }
    r->at += n;
    return true;
}

static bool word(struct reader *r, struct json *j)
{
    static const struct {
        const char *text;
        enum json_type type;
        bool truth;
    } words[] = {{"true", JSON_BOOL, true}, {"false", JSON_BOOL, false}, {"null", JSON_NULL, false}};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].text);
        if ((size_t)(r->end - r->at) >= n && memcmp(r->at, words[i].text, n) == 0) {
            j->type = words[i].type;
            j->truth = words[i].truth;
            r->at += n;
            return true;
        }
    }
    return number(r, j);
}

/* Reads the members of an object or the items of a list; a name that comes twice is refused, since readers disagree
 * about which one counts. */
static bool members(struct reader *r, struct json *j, char close, int depth)
{
    struct json **end = &j->first;
    r->at++;
    if (take(r, close))
        return true;
    do {
        char *name = NULL;
        if (close == '}') {
            name = string(r);
            if (name && cumu_json_member(j, name)) {
                (void)wrong(r, "a name that the object has already");
                free(name);
                name = NULL;
            }
            if (!name)
                return false;
            if (!take(r, ':')) {
                free(name);
                (void)wrong(r, "expected `:'");
                return false;
            }
        }
        struct json *m = value(r, depth + 1);
        if (!m) {
            free(name);
            return false;
        }
        m->name = name;
        *end = m;
        end = &m->next;
    } while (take(r, ','));
    if (!take(r, close))
        (void)wrong(r, close == '}' ? "expected `,' or `}'" : "expected `,' or `]'");
    return !r->why[0];
}

static struct json *value(struct reader *r, int depth)
{
    char c = peek(r);
    struct json *j = depth < DEPTH ? calloc(1, sizeof *j) : NULL;
    if (!j)
        return wrong(r, depth < DEPTH ? "out of memory" : "too deep");
    j->line = r->line;
    bool good;
    if (c == '{' || c == '[') {
        j->type = c == '{' ? JSON_OBJECT : JSON_LIST;
        good = members(r, j, c == '{' ? '}' : ']', depth);
    } else if (c == '"') {
        j->type = JSON_STRING;
        good = (j->text = string(r)) != NULL;
    } else
        good = word(r, j);
    if (good)
        return j;
    cumu_json_free(j);
    return NULL;
}

struct json *cumu_json_parse(const char *text, size_t length, char *why, size_t room)
{
    struct reader r = {text, text + length, 1, why, room};
    why[0] = 0;
    struct json *j = value(&r, 0);
    (void)peek(&r);
    if (j && r.at < r.end) {
        (void)wrong(&r, "something after the end");
        cumu_json_free(j);
        j = NULL;
    }
    return j;
}

void cumu_json_free(struct json *j)
{
    for (struct json *next; j; j = next) {
        next = j->next;
        cumu_json_free(j->first);
        free(j->name);
        free(j->text);
        free(j);
    }
}

const struct json *cumu_json_member(const struct json *j, const char *name)
{
    for (const struct json *m = j->first; m; m = m->next)
        if (m->name && strcmp(m->name, name) == 0)
            return m;
    return NULL;
}
