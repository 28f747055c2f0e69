/* Text as a JSON string: quotes, escapes, and no byte that is not UTF-8 (RFC 8259 sections 7 and 8.1). */
#include "core/json.h"

#include <string.h>

int cumu_utf8_length(const char *text, const char *end)
{
    const unsigned char *s = (const unsigned char *)text;
    if (*s < 0x80)
        return 1;
    int n = *s >= 0xf0 ? 4 : *s >= 0xe0 ? 3 : 2;
    if (*s < 0xc2 || *s > 0xf4 || end - text < n)
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

const char *cumu_json_piece(const char **s, const char *end, char piece[8])
{
    int n = cumu_utf8_length(*s, end);
    if (!n)
        (void)snprintf(piece, 8, "\\ufffd");
    else if (**s == '"' || **s == '\\')
        (void)snprintf(piece, 8, "\\%c", **s);
    else if ((unsigned char)**s < ' ')
        (void)snprintf(piece, 8, "\\u%04x", (unsigned)**s);
    else {
        memcpy(piece, *s, (size_t)n);
        piece[n] = '\0';
    }
    *s += n ? n : 1;
    return piece;
}

void cumu_put_json(FILE *f, const char *text)
{
    char piece[8];
    (void)fputc('"', f);
    for (const char *s = text, *end = s + strlen(s); s < end;)
        (void)fputs(cumu_json_piece(&s, end, piece), f);
    (void)fputc('"', f);
}
