/* NPP's remap of all types and modes, its colours of Bayer mosaics and by matrices: drawn pictures, regions and gaps
 * against models that are written from the documentation in another way. */
#include "npp.h"

static void *stream;
static NppStreamContext context(void) { return (NppStreamContext){.stream = upto(2) ? stream : NULL, .processors = 1}; }

/* ---- remap -------------------------------------------------------------------------------------------- */

enum { NN = 1, LINEAR = 2, CUBIC = 4, BSPLINE = 5, CATMULLROM = 6, B05C03 = 7, LANCZOS = 16 };
static const int modes[] = {NN, LINEAR, CUBIC, BSPLINE, CATMULLROM, B05C03, LANCZOS};
static remap_function *const remaps[TYPES][2] = {{nppiRemap_8u_C1R_Ctx, nppiRemap_8u_C3R_Ctx},
                                                 {nppiRemap_16u_C1R_Ctx, nppiRemap_16u_C3R_Ctx},
                                                 {nppiRemap_16s_C1R_Ctx, nppiRemap_16s_C3R_Ctx},
                                                 {nppiRemap_32f_C1R_Ctx, nppiRemap_32f_C3R_Ctx},
                                                 {nppiRemap_64f_C1R_Ctx, nppiRemap_64f_C3R_Ctx}};

/* The weight of a pixel `d` away. The cubics as sums of truncated powers or known piecewise forms, not by (b, c). */
static double bspline(double d)
{
    double a = fmax(2 - d, 0), b = fmax(1 - d, 0);
    return (a * a * a - 4 * b * b * b) / 6;
}
static double keys(double d)
{
    return d < 1 ? 1.5 * d * d * d - 2.5 * d * d + 1 : d < 2 ? -0.5 * d * d * d + 2.5 * d * d - 4 * d + 2 : 0;
}
/* The family is linear in b and c: (0, 1/2) is Keys', (1, 0) the spline, and (0, 0) and these two span it. */
static double hermite(double d) { return d < 1 ? 2 * d * d * d - 3 * d * d + 1 : 0; }
static double weight(int mode, double d)
{
    const double pi = 3.14159265358979323846;
    d = fabs(d);
    switch (mode) {
    case LINEAR: return fmax(1 - d, 0);
    case CUBIC:
    case CATMULLROM: return keys(d);
    case BSPLINE: return bspline(d);
    case B05C03: return hermite(d) + 0.5 * (bspline(d) - hermite(d)) + 0.6 * (keys(d) - hermite(d));
    default: return d == 0 ? 1 : d < 3 ? 3 * sin(pi * d) * sin(pi * d / 3) / (pi * pi * d * d) : 0;
    }
}
static int within(int v, int low, int high) { return v < low ? low : v >= high ? high - 1 : v; }

static double sampled(const struct picture *from, NppiRect clip, double x, double y, int c, int mode)
{
    const int right = clip.x + clip.width, bottom = clip.y + clip.height;
    double sum = 0, all = 0;
    if (mode == NN)
        return get(from, within((int)floor(x + 0.5), clip.x, right), within((int)floor(y + 0.5), clip.y, bottom), c);
    for (int j = (int)floor(y) - 3; j <= (int)floor(y) + 4; j++)
        for (int i = (int)floor(x) - 3; i <= (int)floor(x) + 4; i++) {
            double w = weight(mode, x - i) * weight(mode, y - j);
            all += w;
            sum += w * get(from, within(i, clip.x, right), within(j, clip.y, bottom), c);
        }
    return sum / all;
}
static double fitted(enum type t, double v)
{
    static const double low[] = {0, 0, -32768}, high[] = {255, 65535, 32767};
    return t == F32 || t == F64 ? v : fmin(fmax(rint(v), low[t]), high[t]);
}

static void remap(enum type type, int channels, int mode, int width, int height)
{
    struct picture from = picture(type, channels, 2 + upto(width), 2 + upto(height));
    struct picture x = picture(type == F64 ? F64 : F32, 1, 1 + upto(width), 1 + upto(height));
    struct picture y = picture(x.type, 1, x.width, x.height), to = picture(type, channels, x.width, x.height);
    NppiRect part = {upto(3) - 1, upto(3) - 1, from.width + upto(3) - 1, from.height + upto(3) - 1}, clip;
    int right = part.x + part.width, bottom = part.y + part.height;
    clip.x = part.x > 0 ? part.x : 0;
    clip.y = part.y > 0 ? part.y : 0;
    clip.width = (right < from.width ? right : from.width) - clip.x;
    clip.height = (bottom < from.height ? bottom : from.height) - clip.y;
    for (int j = 0; j < x.height; j++)
        for (int i = 0; i < x.width; i++) {
            static const double odd[] = {NAN, INFINITY, -INFINITY, -1e30, 1e30};
            put(&x, i, j, 0, upto(20) ? (upto(from.width * 64 + 128) - 64) / 64.0 : odd[upto(5)]);
            put(&y, i, j, 0, upto(20) ? (upto(from.height * 64 + 128) - 64) / 64.0 : odd[upto(5)]);
        }
    upload(&x);
    upload(&y);
    int r = remaps[type][channels == 3](from.at, (NppiSize){from.width, from.height}, from.step, part, x.at, x.step,
                                        y.at, y.step, to.at, to.step, (NppiSize){to.width, to.height}, mode, context());
    int want = clip.width <= 0 || clip.height <= 0 ? NO_ROI : clip.width == 1 || clip.height == 1 ? RECTANGLE : 0;
    IS(r, want);
    for (int j = 0; j < to.height && !want; j++)
        for (int i = 0; i < to.width; i++) {
            double u = get(&x, i, j, 0), v = get(&y, i, j, 0);
            if (u >= clip.x && u < clip.x + clip.width && v >= clip.y && v < clip.y + clip.height)
                for (int c = 0; c < channels; c++)
                    put(&to, i, j, c, fitted(type, sampled(&from, clip, u, v, c, mode)));
        }
    char what[80];
    snprintf(what, sizeof what, "remap of type %d, %d channels, mode %d", type, channels, mode);
    same(&to, mode == NN ? 0 : type == F64 ? 1e-9 : type == F32 ? 1e-3 : 1, what); /* a tie may round either way */
    drop(&from), drop(&x), drop(&y), drop(&to);
}

/* ---- Bayer mosaics ------------------------------------------------------------------------------------ */

/* The picture with two mirrored pixels of margin, one plane a colour with zeros where it is not known: a missing number
 * is then a sum of neighbours. As DALI's tests describe NPP: with whole numbers, rounded down. */
struct mosaic {
    int width, height;
    int *plane[3];
};
static int *spot(const struct mosaic *m, int c, int x, int y) { return &m->plane[c][(y + 2) * (m->width + 4) + x + 2]; }
static struct mosaic mosaic(const struct picture *p, NppiRect part, int grid)
{
    static const char *const colours[] = {"BGGR", "RGGB", "GBRG", "GRBG"};
    struct mosaic m = {part.width, part.height, {NULL}};
    for (int c = 0; c < 3; c++)
        m.plane[c] = calloc((size_t)(m.width + 4) * (size_t)(m.height + 4), sizeof(int));
    for (int y = -2; y < m.height + 2; y++)
        for (int x = -2; x < m.width + 2; x++) {
            int u = abs(x + part.x), v = abs(y + part.y);
            while (u >= p->width)
                u = abs(2 * (p->width - 1) - u);
            while (v >= p->height)
                v = abs(2 * (p->height - 1) - v);
            char colour = colours[grid][2 * (y & 1) + (x & 1)];
            *spot(&m, colour == 'R' ? 0 : colour == 'G' ? 1 : 2, x, y) = (int)get(p, u, v, 0);
        }
    return m;
}
static int around(const struct mosaic *m, int c, int x, int y, const int weights[3][3])
{
    int sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += weights[j + 1][i + 1] * *spot(m, c, x + i, y + j);
    return sum / 4;
}
static int green(const struct mosaic *m, int x, int y)
{
    static const int cross[3][3] = {{0, 1, 0}, {1, 4, 1}, {0, 1, 0}};
    int across[2], down[2], changes[2] = {0, 0};
    for (int k = 0; k < 2; k++) { /* red and blue; the one that is not here is 0 all along */
        across[k] = (*spot(m, 2 * k, x - 2, y) + *spot(m, 2 * k, x + 2, y)) / 2;
        down[k] = (*spot(m, 2 * k, x, y - 2) + *spot(m, 2 * k, x, y + 2)) / 2;
        changes[0] += abs(*spot(m, 2 * k, x, y) - across[k]);
        changes[1] += abs(*spot(m, 2 * k, x, y) - down[k]);
    }
    if (changes[0] == changes[1])
        return around(m, 1, x, y, cross);
    return changes[0] < changes[1] ? (*spot(m, 1, x - 1, y) + *spot(m, 1, x + 1, y)) / 2
                                   : (*spot(m, 1, x, y - 1) + *spot(m, 1, x, y + 1)) / 2;
}

static void debayer(enum type type, int grid, int width, int height)
{
    static const int bilinear[3][3] = {{1, 2, 1}, {2, 4, 2}, {1, 2, 1}};
    struct picture from = picture(type, 1, 2 + 2 * upto(width), 2 + 2 * upto(height));
    NppiRect part = {upto(from.width), upto(from.height), 0, 0};
    if (upto(2))
        part.x = part.y = 0;
    part.width = (from.width - part.x) / 2 * 2;
    part.height = (from.height - part.y) / 2 * 2;
    struct picture to = picture(type, 3, part.width + 2 * !part.width, part.height + 2 * !part.height);
    bayer_function *run = type == U8 ? nppiCFAToRGB_8u_C1C3R_Ctx : nppiCFAToRGB_16u_C1C3R_Ctx;
    if (!upto(3)) /* all the same in places: green is the mean of four */
        for (int y = 0; y < from.height; y++)
            for (int x = 0; x < from.width; x++)
                put(&from, x, y, 0, upto(3));
    upload(&from);
    OK(run(from.at, from.step, (NppiSize){from.width, from.height}, part, to.at, to.step, grid, 0, context()));
    struct mosaic m = mosaic(&from, part, grid);
    for (int y = 0; y < part.height; y++)
        for (int x = 0; x < part.width; x++) {
            /* a green pixel keeps its green: its red and blue neighbours have nothing to say of it */
            static const char *const greens[] = {"0110", "0110", "1001", "1001"};
            bool is_green = greens[grid][2 * (y & 1) + (x & 1)] == '1';
            put(&to, x, y, 0, around(&m, 0, x, y, bilinear));
            put(&to, x, y, 1, is_green ? *spot(&m, 1, x, y) : green(&m, x, y));
            put(&to, x, y, 2, around(&m, 2, x, y, bilinear));
        }
    char what[60];
    snprintf(what, sizeof what, "mosaic %d of type %d", grid, type);
    same(&to, 0, what);
    for (int c = 0; c < 3; c++)
        free(m.plane[c]);
    drop(&from), drop(&to);
}

/* ---- matrices ----------------------------------------------------------------------------------------- */

static void twist(int channels, int width, int height)
{
    struct picture from = picture(U8, channels, 1 + upto(width), 1 + upto(height)), to = from;
    const bool in_place = upto(2);
    float m[3][4];
    if (!in_place)
        to = picture(U8, channels, from.width, from.height);
    for (int i = 0; i < 12; i++)
        m[i / 4][i % 4] = i % 4 == 3 ? (float)(upto(400) - 200) : (float)(upto(65) - 32) / 32;
    OK(nppSetStream(upto(2) ? stream : NULL));
    OK((channels == 3 ? nppiColorTwist32f_8u_C3R : nppiColorTwist32f_8u_C1R)(from.at, from.step, to.at, to.step,
                                                                             (NppiSize){from.width, from.height}, m));
    for (int y = 0; y < from.height; y++)
        for (int x = 0; x < from.width; x++) {
            double in[3] = {0};
            for (int c = 0; c < channels; c++)
                in[c] = get(&from, x, y, c);
            for (int c = 0; c < channels; c++) /* exact in float, too */
                put(&to, x, y, c, fitted(U8, m[c][0] * in[0] + m[c][1] * in[1] + m[c][2] * in[2] + m[c][3]));
        }
    memset(m, 0x7f, sizeof m); /* it was read before the call returned */
    same(&to, 0, channels == 3 ? "a matrix of three colours" : "a matrix of one");
    drop(&from);
    if (!in_place)
        drop(&to);
}

int main(void)
{
    OK(cudaStreamCreateWithFlags(&stream, 1));
    for (int type = 0; type < TYPES; type++)
        for (int channels = 1; channels <= 3; channels += 2)
            for (unsigned k = 0; k < sizeof modes / sizeof *modes; k++)
                for (int i = 0; i < 4; i++)
                    remap(type, channels, modes[k], 24, 20);
    remap(U8, 3, LINEAR, 700, 500); /* by several threads, where they are */
    remap(F64, 1, LANCZOS, 300, 300);
    for (int grid = 0; grid < 4; grid++)
        for (int i = 0; i < 12; i++)
            debayer(i % 2 ? U8 : U16, grid, 12, 10);
    debayer(U8, 1, 300, 300);
    for (int i = 0; i < 40; i++)
        twist(i % 2 ? 1 : 3, i ? 30 : 700, i ? 20 : 600);
    OK(nppSetStream(NULL));
    OK(cudaStreamDestroy(stream));
    return check_end("remap, mosaics and matrices");
}
