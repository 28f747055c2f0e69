/* Archives (ar): members with their names, for device code in static libraries. The System V form, whose long names
 * stand in a member called "//". */
#include "fatbin/fatbin.h"

#include <ar.h>
#include <stdlib.h>
#include <string.h>

bool fatbin_is_archive(const void *data, size_t size) { return size >= SARMAG && memcmp(data, ARMAG, SARMAG) == 0; }

/* A number of a header's field, which ends with blanks. */
static size_t number(const char *field, size_t width)
{
    char text[24] = "";
    memcpy(text, field, width < sizeof text ? width : sizeof text - 1);
    return strtoull(text, NULL, 10);
}

bool fatbin_archive_next(const void *data, size_t size, size_t *at, struct fatbin_member *m)
{
    const char *bytes = data;
    *at = *at ? *at : SARMAG;
    for (;;) {
        struct ar_hdr h;
        if (*at > size || size - *at < sizeof h)
            return false;
        memcpy(&h, bytes + *at, sizeof h);
        size_t len = number(h.ar_size, sizeof h.ar_size), begin = *at + sizeof h;
        if (memcmp(h.ar_fmag, ARFMAG, 2) != 0 || len > size - begin)
            return false;
        *at = begin + len + (len & 1);
        if (memcmp(h.ar_name, "//", 2) == 0) {
            m->names = bytes + begin;
            m->names_len = len;
        }
        if (memcmp(h.ar_name, "//", 2) == 0 || memcmp(h.ar_name, "/ ", 2) == 0)
            continue;
        const char *name = bytes + begin - sizeof h; /* ar_name, in the archive */
        size_t room = sizeof h.ar_name, offset = name[0] == '/' ? number(name + 1, room - 1) : 0;
        if (name[0] == '/') {
            name = offset < m->names_len ? m->names + offset : "";
            room = offset < m->names_len ? m->names_len - offset : 0;
        }
        m->name = name;
        for (m->name_len = 0; m->name_len < room && !strchr("/\n", name[m->name_len]); m->name_len++)
            ;
        m->data = bytes + begin;
        m->size = len;
        return true;
    }
}
