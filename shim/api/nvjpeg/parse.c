/* What the markers of a JPEG file say (ITU-T T.81, annex B), and EXIF's orientation (CIPA DC-008). */
#include "api/nvjpeg/nvjpeg.h"

#include <string.h>

static unsigned big16(const unsigned char *p) { return (unsigned)p[0] << 8 | p[1]; }

static int sampling_of(const struct nvjpeg_info *i)
{
    static const struct {
        int h, v, css;
    } known[] = {{1, 1, NVJPEG_CSS_444}, {2, 1, NVJPEG_CSS_422}, {2, 2, NVJPEG_CSS_420}, {1, 2, NVJPEG_CSS_440},
                 {4, 1, NVJPEG_CSS_411}, {4, 2, NVJPEG_CSS_410}, {2, 4, NVJPEG_CSS_410V}};
    if (i->components == 1)
        return NVJPEG_CSS_GRAY;
    if (i->components != 3 || i->h[1] != i->h[2] || i->v[1] != i->v[2] || i->h[0] % i->h[1] || i->v[0] % i->v[1])
        return NVJPEG_CSS_UNKNOWN;
    for (unsigned k = 0; k < sizeof known / sizeof *known; k++)
        if (i->h[0] / i->h[1] == (unsigned)known[k].h && i->v[0] / i->v[1] == (unsigned)known[k].v)
            return known[k].css;
    return NVJPEG_CSS_UNKNOWN;
}

/* Tag 0x112 of the first directory of the TIFF that an APP1 segment holds. */
static int orientation_of(const unsigned char *p, size_t n)
{
    if (n < 14 || memcmp(p, "Exif\0\0", 6) != 0)
        return 0;
    p += 6;
    n -= 6;
    const bool little = p[0] == 'I';
#define GET16(at) (little ? (unsigned)p[(at) + 1] << 8 | p[at] : big16(p + (at)))
    const size_t at = little ? (size_t)GET16(6) << 16 | GET16(4) : (size_t)GET16(4) << 16 | GET16(6);
    if (at > n || n - at < 2)
        return 0;
    for (size_t k = 0, count = GET16(at); k < count && n - at - 2 >= 12 * (k + 1); k++) {
        const size_t entry = at + 2 + 12 * k;
        const unsigned value = GET16(entry + 8);
        if (GET16(entry) == 0x112)
            return value >= 1 && value <= 8 ? (int)value : 0;
    }
#undef GET16
    return 0;
}

static int frame(struct nvjpeg_info *info, int marker, const unsigned char *p, size_t n)
{
    if (n < 6 || n < 6 + 3u * p[5])
        return NVJPEG_STATUS_BAD_JPEG;
    info->encoding = marker;
    info->precision = p[0];
    info->height = big16(p + 1);
    info->width = big16(p + 3);
    info->components = p[5];
    if (!info->width || !info->components || info->components > NVJPEG_COMPONENTS)
        return NVJPEG_STATUS_BAD_JPEG;
    for (unsigned k = 0; k < info->components; k++) {
        info->h[k] = p[7 + 3 * k] >> 4;
        info->v[k] = p[7 + 3 * k] & 15;
        if (info->h[k] < 1 || info->h[k] > 4 || info->v[k] < 1 || info->v[k] > 4)
            return NVJPEG_STATUS_BAD_JPEG;
    }
    return NVJPEG_STATUS_SUCCESS;
}

/* Segments up to the first scan. */
int nvjpeg_parse(struct nvjpeg_info *info, const unsigned char *data, size_t size)
{
    *info = (struct nvjpeg_info){.subsampling = NVJPEG_CSS_UNKNOWN};
    if (size < 4 || data[0] != 0xff || data[1] != 0xd8)
        return NVJPEG_STATUS_BAD_JPEG;
    for (size_t at = 2; at + 4 <= size;) {
        const int marker = data[at + 1];
        if (data[at] != 0xff)
            return NVJPEG_STATUS_BAD_JPEG;
        if (marker == 0xff) { /* fill */
            at++;
            continue;
        }
        if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) { /* have no length */
            at += 2;
            continue;
        }
        if (marker == 0xd8 || marker == 0xd9)
            return NVJPEG_STATUS_BAD_JPEG;
        const size_t n = big16(data + at + 2);
        if (n < 2 || n > size - at - 2)
            return NVJPEG_STATUS_INCOMPLETE_BITSTREAM;
        const bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        int err = is_frame ? frame(info, marker, data + at + 4, n - 2) : NVJPEG_STATUS_SUCCESS;
        if (err)
            return err;
        if (marker == 0xe1 && !info->orientation)
            info->orientation = orientation_of(data + at + 4, n - 2);
        if (marker == 0xda)
            break;
        at += 2 + n;
    }
    if (!info->components)
        return NVJPEG_STATUS_BAD_JPEG;
    info->subsampling = sampling_of(info);
    return NVJPEG_STATUS_SUCCESS;
}

void nvjpeg_component(const struct nvjpeg_info *info, unsigned k, unsigned *width, unsigned *height)
{
    unsigned h = 1, v = 1;
    for (unsigned j = 0; j < info->components; j++) {
        h = info->h[j] > h ? info->h[j] : h;
        v = info->v[j] > v ? info->v[j] : v;
    }
    *width = (info->width * info->h[k] + h - 1) / h;
    *height = (info->height * info->v[k] + v - 1) / v;
}
