/* nvJPEG's pictures turned as EXIF says, and regions of them, in every format and sampling, in phases and in batches:
 * against the picture as it is stored, turned here by which of its sides is the top and which the left one. And
 * pictures of four inks, put together of four grey ones, as colours. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "../xorshift.h"
#include "cuda_enums.h"
#include "cuda_functions.h"

enum { PLANES = 4, ROOM = 1 << 15 };
struct image {
    unsigned char *channel[PLANES];
    size_t pitch[PLANES];
};
static void *handle, *state, *decoder, *phased, *params, *stream;
static uint64_t seed = 1;
static int upto(unsigned n) { return (int)(xorshift(&seed) % n); }

static unsigned char file[ROOM];
static size_t encode(int css, int w, int h)
{
    static unsigned char pixels[3 * 64 * 64];
    void *encoder = NULL, *with = NULL;
    struct image from = {{NULL}, {(size_t)(3 * w)}};
    size_t size = ROOM;
    for (int i = 0; i < 3 * w * h; i++)
        pixels[i] = (unsigned char)upto(256);
    MUST(cudaMalloc((void **)&from.channel[0], sizeof pixels));
    OK(cudaMemcpy(from.channel[0], pixels, sizeof pixels, 1));
    OK(nvjpegEncoderStateCreate(handle, &encoder, NULL));
    OK(nvjpegEncoderParamsCreate(handle, &with, NULL));
    OK(nvjpegEncoderParamsSetSamplingFactors(with, css, NULL));
    OK(nvjpegEncodeImage(handle, encoder, with, &from, NVJPEG_OUTPUT_RGBI, w, h, NULL));
    OK(nvjpegEncodeRetrieveBitstream(handle, encoder, file, &size, NULL));
    OK(nvjpegEncoderParamsDestroy(with));
    OK(nvjpegEncoderStateDestroy(encoder));
    OK(cudaFree(from.channel[0]));
    return size;
}

/* Into planes of ROOM bytes whose pitch is 256; what is not written stays 0x5a. A status. */
static unsigned char *planes;
static int decode(size_t size, int format, int orientation, const int *region, int batched, unsigned char *to)
{
    struct image image;
    for (int k = 0; k < PLANES; k++)
        image.channel[k] = planes + k * ROOM, image.pitch[k] = 256;
    OK(cudaMemset(planes, 0x5a, PLANES * ROOM));
    OK(nvjpegDecodeParamsSetOutputFormat(params, format));
    OK(nvjpegDecodeParamsSetExifOrientation(params, orientation));
    IS(nvjpegDecodeParamsSetExifOrientation(params, 9), NVJPEG_STATUS_INVALID_PARAMETER);
    IS(nvjpegDecodeParamsSetExifOrientation(stream, 1), NVJPEG_STATUS_INVALID_PARAMETER);
    OK(nvjpegDecodeParamsSetROI(params, region[0], region[1], region[2], region[3]));
    int r;
    if (batched) {
        void *const all[] = {params};
        const unsigned char *const data[] = {file};
        OK(nvjpegDecodeBatchedInitialize(handle, state, 1, 1, format));
        r = nvjpegDecodeBatchedEx(handle, state, (void *)data, &size, &image, (void *)all, NULL);
    } else {
        OK(nvjpegJpegStreamParse(handle, file, size, 0, 0, stream));
        r = nvjpegDecodeJpeg(handle, decoder, phased, stream, &image, params, NULL);
    }
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(to, planes, PLANES * ROOM, 2));
    return r;
}

/* Where the pixel (x, y) of a turned picture lies in one of w by h. */
static void find(int orientation, int w, int h, int x, int y, int *u, int *v)
{
    switch (orientation) {
    case 2: *u = w - 1 - x, *v = y; break;         /* the left side is the right one */
    case 3: *u = w - 1 - x, *v = h - 1 - y; break; /* upside down */
    case 4: *u = x, *v = h - 1 - y; break;
    case 5: *u = y, *v = x; break; /* the first row is the left side */
    case 6: *u = y, *v = h - 1 - x; break;
    case 7: *u = w - 1 - y, *v = h - 1 - x; break;
    case 8: *u = w - 1 - y, *v = x; break;
    default: *u = x, *v = y;
    }
}

static void one(int css, int format)
{
    static unsigned char stored[PLANES * ROOM], turned[PLANES * ROOM];
    const int w = 1 + upto(40), h = 1 + upto(40), o = upto(9), batched = upto(2);
    const int whole[] = {0, 0, -1, -1}, sideways = o >= 5, tw = sideways ? h : w, th = sideways ? w : h;
    int region[4] = {0, 0, -1, -1}, components, sampling, width[PLANES], height[PLANES];
    const int as_stored = format == NVJPEG_OUTPUT_YUV || format == NVJPEG_OUTPUT_UNCHANGED;
    const size_t size = encode(css, w, h);
    if (!as_stored && upto(2)) {
        region[0] = upto((unsigned)tw), region[1] = upto((unsigned)th);
        region[2] = 1 + upto((unsigned)(tw - region[0])), region[3] = 1 + upto((unsigned)(th - region[1]));
    }
    OK(nvjpegGetImageInfo(handle, file, size, &components, &sampling, width, height));
    OK(decode(size, format, 0, whole, 0, stored));
    OK(decode(size, format, o, region, batched, turned));
    const int bytes = format == NVJPEG_OUTPUT_RGBI || format == NVJPEG_OUTPUT_BGRI ? 3 : 1;
    for (int k = 0; k < PLANES; k++) {
        const int pw = as_stored && k < components ? width[k] : w, ph = as_stored && k < components ? height[k] : h;
        const int rw = region[2] >= 0 ? region[2]
                       : sideways     ? ph
                                      : pw,
                  rh = region[3] >= 0 ? region[3]
                       : sideways     ? pw
                                      : ph;
        const unsigned char *from = stored + k * ROOM, *to = turned + k * ROOM;
        const int there = as_stored ? k < components : k == 0 || (k < 3 && bytes == 1 && format != NVJPEG_OUTPUT_Y);
        int wrong = 0;
        for (int y = 0; y < ROOM / 256; y++)
            for (int x = 0; x < 256; x++) {
                int u = 0, v = 0, want = 0x5a;
                if (there && x < rw * bytes && y < rh) {
                    find(o, pw, ph, region[0] + x / bytes, region[1] + y, &u, &v);
                    want = from[v * 256 + u * bytes + x % bytes];
                }
                wrong += to[y * 256 + x] != want;
            }
        EXPECT(!wrong,
               "sampling %d format %d orientation %d, %d x %d, region %d %d %d %d, plane %d: %d bytes are wrong", css,
               format, o, w, h, region[0], region[1], region[2], region[3], k, wrong);
    }
    region[0] = tw, region[1] = 0, region[2] = region[3] = 1;
    EXPECT(decode(size, format, o, region, batched, turned), "a region beyond the turned picture");
}

/* Four grey files as the scans of one of four components; its size. */
static size_t put_together(int w, int h)
{
    static unsigned char all[ROOM];
    size_t n = 0;
    for (int k = 0; k < 4; k++) {
        const size_t size = encode(NVJPEG_CSS_GRAY, w, h);
        size_t frame = 2, scan = 2;
        while (!(file[frame] == 0xff && file[frame + 1] == 0xc0))
            frame++;
        while (!(file[scan] == 0xff && file[scan + 1] == 0xda))
            scan++;
        if (k == 0) { /* without JFIF, which is of grey and YCbCr; the frame has three more components */
            const size_t jfif = 4 + file[5];
            memcpy(all, file, 2), n = 2;
            memcpy(all + n, file + jfif, frame - jfif), n += frame - jfif;
            memcpy(all + n, file + frame, 13);
            all[n + 3] = 20, all[n + 9] = 4;
            for (int c = 0; c < 4; c++)
                memcpy(all + n + 10 + 3 * c, (const unsigned char[]){(unsigned char)(c + 1), 0x11, file[frame + 12]},
                       3);
            n += 22;
            memcpy(all + n, file + frame + 13, scan - frame - 13), n += scan - frame - 13;
        }
        memcpy(all + n, file + scan, size - 2 - scan);
        all[n + 5] = (unsigned char)(k + 1);
        n += size - 2 - scan;
    }
    memcpy(all + n, (const unsigned char[]){0xff, 0xd9}, 2);
    memcpy(file, all, n + 2);
    return n + 2;
}
static void inks(int format)
{
    static unsigned char four[PLANES * ROOM], colours[PLANES * ROOM];
    const int w = 1 + upto(30), h = 1 + upto(30), whole[] = {0, 0, -1, -1}, allow = upto(4) != 0, batched = upto(2);
    const size_t size = put_together(w, h);
    OK(nvjpegDecodeParamsSetAllowCMYK(params, allow));
    OK(decode(size, NVJPEG_OUTPUT_UNCHANGED, 0, whole, 0, four));
    const int r = decode(size, format, 0, whole, batched, colours), can = allow && format >= NVJPEG_OUTPUT_RGB;
    IS(r, can ? 0 : NVJPEG_STATUS_JPEG_NOT_SUPPORTED);
    int wrong = 0, answer = 9;
    OK(nvjpegJpegStreamParse(handle, file, size, 0, 0, stream));
    OK(nvjpegDecoderJpegSupported(decoder, stream, params, &answer));
    IS(answer, !can);
    for (int i = 0; can && i < 3 * w * h; i++) {
        const int k = i % 3, at = i / 3 / w * 256 + i / 3 % w, ink = four[k * ROOM + at], black = four[3 * ROOM + at];
        const int to = format == NVJPEG_OUTPUT_BGR || format == NVJPEG_OUTPUT_BGRI ? 2 - k : k;
        const int got = format >= NVJPEG_OUTPUT_RGBI ? colours[i / 3 / w * 256 + i / 3 % w * 3 + to]
                                                     : colours[to * ROOM + at];
        wrong += got != black - (255 - ink) * black / 256;
    }
    EXPECT(!wrong, "format %d of inks, %d x %d: %d bytes are wrong", format, w, h, wrong);
    OK(nvjpegDecodeParamsSetAllowCMYK(params, 0));
}

int main(void)
{
    MUST(nvjpegCreateSimple(&handle));
    OK(nvjpegJpegStateCreate(handle, &state));
    OK(nvjpegDecoderCreate(handle, 0, &decoder));
    OK(nvjpegDecoderStateCreate(handle, decoder, &phased));
    OK(nvjpegDecodeParamsCreate(handle, &params));
    OK(nvjpegJpegStreamCreate(handle, &stream));
    MUST(cudaMalloc((void **)&planes, PLANES * ROOM));
    for (int i = 0; i < 600; i++)
        one(i % 6 == 5 ? 6 : i % 6, i / 6 % 7);
    for (int i = 0; i < 60; i++)
        inks(1 + i % 6);
    OK(cudaFree(planes));
    OK(nvjpegJpegStreamDestroy(stream));
    OK(nvjpegDecodeParamsDestroy(params));
    OK(nvjpegJpegStateDestroy(phased));
    OK(nvjpegDecoderDestroy(decoder));
    OK(nvjpegJpegStateDestroy(state));
    OK(nvjpegDestroy(handle));
    return check_end("turned pictures");
}
