/* Colours: those of a Bayer mosaic, as NPP's documentation describes its interpolation, and of a matrix. */
#include "host/mupp/mupp.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- Bayer mosaics ------------------------------------------------------------------------------------ */

/* A place behind an edge is that many pixels before it, which keeps the mosaic's colours; n is even. */
static int mirror(int at, int n)
{
    int period = 2 * (n - 1);
    at = abs(at) % period;
    return at < n ? at : period - at;
}
static int pixel(const struct mupp_bayer *b, int x, int y)
{
    const void *line = pp_line(&b->from, mirror(y, b->height));
    x = mirror(x, b->width);
    return b->type == MUPP_8U ? ((const uint8_t *)line)[x] : ((const uint16_t *)line)[x];
}

/* Green of a red or blue pixel: the mean of its two neighbours in the direction in which the pixel's own colour changes
 * less, of all four where it changes alike. Means are rounded down, as DALI's tests expect of NPP. */
static int green_at(const struct mupp_bayer *b, int x, int y)
{
    int own = pixel(b, x, y);
    int across = abs(own - (pixel(b, x - 2, y) + pixel(b, x + 2, y)) / 2);
    int down = abs(own - (pixel(b, x, y - 2) + pixel(b, x, y + 2)) / 2);
    int row = pixel(b, x - 1, y) + pixel(b, x + 1, y), column = pixel(b, x, y - 1) + pixel(b, x, y + 1);
    return across < down ? row / 2 : across > down ? column / 2 : (row + column) / 4;
}

static void debayer_pixel(const struct mupp_bayer *b, int i, int j, int rgb[3])
{
    int x = b->left + i, y = b->top + j;
    bool in_red_row = (j & 1) == b->red_y, in_red_column = (i & 1) == b->red_x;
    int row = (pixel(b, x - 1, y) + pixel(b, x + 1, y)) / 2, column = (pixel(b, x, y - 1) + pixel(b, x, y + 1)) / 2;
    if (in_red_row != in_red_column) {
        rgb[0] = in_red_row ? row : column;
        rgb[1] = pixel(b, x, y);
        rgb[2] = in_red_row ? column : row;
        return;
    }
    int corners = pixel(b, x - 1, y - 1) + pixel(b, x + 1, y - 1) + pixel(b, x - 1, y + 1) + pixel(b, x + 1, y + 1);
    rgb[in_red_row ? 0 : 2] = pixel(b, x, y);
    rgb[1] = green_at(b, x, y);
    rgb[in_red_row ? 2 : 0] = corners / 4;
}
static void debayer_line(const void *call, int y)
{
    const struct mupp_bayer *b = call;
    uint8_t *bytes = pp_target(&b->to, y);
    uint16_t *words = pp_target(&b->to, y);
    for (int x = 0; x < b->to.width; x++) {
        int rgb[3];
        debayer_pixel(b, x, y, rgb);
        for (int k = 0; k < 3; k++)
            if (b->type == MUPP_8U)
                bytes[3 * x + k] = (uint8_t)rgb[k];
            else
                words[3 * x + k] = (uint16_t)rgb[k];
    }
}
enum { DEBAYER = 60, TWIST = 20 }; /* operations a pixel */
muppStatus_t muppHostBayer(musaStream_t stream, const struct mupp_bayer *b)
{
    return pp_submit(stream, &b->to, DEBAYER, debayer_line, b, sizeof *b);
}

/* ---- a matrix ----------------------------------------------------------------------------------------- */

static uint8_t to_byte(float v) { return v > 0 ? (uint8_t)rintf(v < 255 ? v : 255) : 0; } /* a NaN: 0 */

static void twist_line(const void *call, int y)
{
    const struct mupp_twist *t = call;
    const uint8_t *from = pp_line(&t->from, y);
    uint8_t *to = pp_target(&t->to, y);
    if (t->channels == 1) {
        for (int x = 0; x < t->to.width; x++)
            to[x] = to_byte(t->m[0][0] * (float)from[x] + t->m[0][3]);
        return;
    }
    for (int x = 0; x < t->to.width; x++) {
        const float a = from[3 * x], b = from[3 * x + 1], c = from[3 * x + 2]; /* `to` may be `from` */
        for (int k = 0; k < 3; k++)
            to[3 * x + k] = to_byte(t->m[k][0] * a + t->m[k][1] * b + t->m[k][2] * c + t->m[k][3]);
    }
}
muppStatus_t muppHostTwist(musaStream_t stream, const struct mupp_twist *t)
{
    return pp_submit(stream, &t->to, TWIST, twist_line, t, sizeof *t);
}
