/* Text as a JSON string: quotes, escapes, and no byte that is not UTF-8 (RFC 8259 sections 7 and 8.1). */
#include "core/json.h"

#include <stdint.h>

/* Bytes of the UTF-8 sequence at s, 0 if there is none: overlong forms, surrogates and what lies above
 * U+10FFFF are none (RFC 3629 section 4). A terminator ends any sequence, so nothing past it is read. */
static int sequence(const unsigned char *s)
{
    if (*s < 0x80)
        return 1;
    int n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
    if (*s < 0xc2 || *s > 0xf4)
        return 0;
    for (int i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    static const struct {
        unsigned char lead, low, high; /* what the second byte may be */
    } narrow[] = {{0xe0, 0xa0, 0xbf}, {0xed, 0x80, 0x9f}, {0xf0, 0x90, 0xbf}, {0xf4, 0x80, 0x8f}};
    for (unsigned i = 0; i < sizeof narrow / sizeof *narrow; i++)
        if (*s == narrow[i].lead && (s[1] < narrow[i].low || s[1] > narrow[i].high))
            return 0;
    return n;
}

void cumu_put_json(FILE *f, const char *text)
{
    (void)fputc('"', f);
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        int n = sequence(s);
        if (!n)
            (void)fputs("\\ufffd", f);
        else if (*s == '"' || *s == '\\')
            (void)fprintf(f, "\\%c", *s);
        else if (*s < ' ')
            (void)fprintf(f, "\\u%04x", *s);
        else
            (void)fwrite(s, 1, (size_t)n, f);
        s += n ? n : 1;
    }
    (void)fputc('"', f);
}
