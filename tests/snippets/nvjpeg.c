/* nvJPEG's wrappers: a smooth picture is encoded and decoded in every layout and compared with itself, in colours and
 * as luma and chroma by BT.601's sums; files that are damaged, cut off or none; objects that are others. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "cuda_enums.h"
#include "snippet.h"

enum { W = 67, H = 45, PITCH = 256, ROOM = PITCH * 64, NEAR = 14 };
struct image {
    unsigned char *channel[4];
    size_t pitch[4];
};

static int colour(int x, int y, int k)
{
    return (int)(128 + 90 * sin(0.05 * x * (k + 1) / 2 + k) * cos(0.04 * y + 0.5 * k));
}
static double yuv(int x, int y, int k)
{
    static const double m[3][3] = {{0.299, 0.587, 0.114}, {-0.168736, -0.331264, 0.5}, {0.5, -0.418688, -0.081312}};
    return m[k][0] * colour(x, y, 0) + m[k][1] * colour(x, y, 1) + m[k][2] * colour(x, y, 2) + (k ? 128 : 0);
}

static _Thread_local unsigned char *on_device;
static _Thread_local unsigned char back[4 * ROOM];
static struct image planes(size_t pitch)
{
    struct image i;
    for (int k = 0; k < 4; k++) {
        i.channel[k] = on_device + k * ROOM;
        i.pitch[k] = pitch;
    }
    return i;
}
static void clear(void) { M(cudaMemset, musaMemset)(on_device, 0xee, sizeof back); }
static void fetch(void) { M(cudaMemcpy, musaMemcpy)(back, on_device, sizeof back, 2); }

/* What came of a format, cut at x0, y0: the largest difference, or 999 where it wrote beside the picture. */
static int difference(int format, int x0, int y0, int w, int h)
{
    const bool planar = format <= 4 && format != 2, blue = format == 4 || format == 6;
    double worst = 0;
    fetch();
    for (int y = 0; y < 64; y++)
        for (int x = 0; x < PITCH; x++)
            for (int k = 0; k < 3; k++) {
                const int per = planar || format == 2 ? 1 : 3;
                const unsigned char got = back[(planar ? k : 0) * ROOM + y * PITCH + (per == 3 ? 3 * x + k : x)];
                if (format == 2 && k)
                    continue;
                if (x < w && y < h) {
                    const double want = format == 2 ? yuv(x + x0, y + y0, 0) : colour(x + x0, y + y0, blue ? 2 - k : k);
                    worst = fmax(worst, fabs(got - want));
                } else if (per == 1 && got != 0xee) {
                    return 999;
                }
            }
    return (int)worst;
}
/* Luma and chroma of a sampling: each sample is near the mean of the pixels it stands for. */
static int difference_yuv(int h, int v)
{
    double worst = 0;
    fetch();
    for (int k = 0; k < 3; k++) {
        const int dx = k ? h : 1, dy = k ? v : 1;
        for (int y = 0; y < (H + dy - 1) / dy; y++)
            for (int x = 0; x < (W + dx - 1) / dx; x++) {
                double sum = 0;
                for (int j = 0; j < dy; j++)
                    for (int i = 0; i < dx; i++)
                        sum += yuv(x * dx + i < W ? x * dx + i : W - 1, y * dy + j < H ? y * dy + j : H - 1, k);
                worst = fmax(worst, fabs(back[k * ROOM + y * PITCH + x] - sum / (dx * dy)));
            }
    }
    return (int)worst;
}

static unsigned char *encode(void *handle, int css, int format, int progressive, size_t *size)
{
    static _Thread_local unsigned char pixels[4 * ROOM];
    void *state = NULL, *params = NULL;
    const bool planar = format == 3 || format == 4, blue = format == 4 || format == 6;
    const struct image i = planes(PITCH);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int k = 0; k < 3; k++)
                pixels[(planar ? k : 0) * ROOM + y * PITCH + (planar ? x : 3 * x + k)] = (unsigned char)colour(
                    x, y, blue ? 2 - k : k);
    M(cudaMemcpy, musaMemcpy)(on_device, pixels, sizeof pixels, 1);
    check(!C(nvjpegEncoderStateCreate)(handle, &state, NULL) && !C(nvjpegEncoderParamsCreate)(handle, &params, NULL) &&
              !C(nvjpegEncoderParamsSetQuality)(params, 95, NULL) &&
              !C(nvjpegEncoderParamsSetSamplingFactors)(params, css, NULL) &&
              !C(nvjpegEncoderParamsSetEncoding)(params, progressive ? 0xc2 : 0xc0, NULL) &&
              !C(nvjpegEncoderParamsSetOptimizedHuffman)(params, 1, NULL) &&
              !C(nvjpegEncoderParamsSetRestartInterval)(params, 0, NULL),
          "an encoder takes parameters");
    check(C(nvjpegEncodeRetrieveBitstream)(handle, state, NULL, size, NULL) == NVJPEG_STATUS_INVALID_PARAMETER,
          "and has nothing yet");
    check(C(nvjpegEncodeImage)(handle, state, params, &i, format, W, H, NULL) == 0, "a picture is encoded, format %d",
          format);
    size_t most = 0, small = 10;
    unsigned char *file = NULL, *again = NULL;
    if (check(!C(nvjpegEncodeRetrieveBitstream)(handle, state, NULL, size, NULL) && *size > 100 &&
                  !C(nvjpegEncodeGetBufferSize)(handle, params, W, H, &most) && most >= *size,
              "its size is told")) {
        file = malloc(*size);
        again = malloc(*size);
        check(C(nvjpegEncodeRetrieveBitstream)(handle, state, file, &small, NULL) == NVJPEG_STATUS_INVALID_PARAMETER &&
                  !C(nvjpegEncodeRetrieveBitstream)(handle, state, file, size, NULL) &&
                  !C(nvjpegEncodeRetrieveBitstreamDevice)(handle, state, on_device, size, NULL) &&
                  !M(cudaMemcpy, musaMemcpy)(again, on_device, *size, 2) && !memcmp(file, again, *size),
              "and the file given, on the host and the device");
    }
    free(again);
    check(!C(nvjpegEncoderStateDestroy)(state) && !C(nvjpegEncoderParamsDestroy)(params), "an encoder ends");
    return file;
}

static void layouts(void *handle, void *state, const unsigned char *file, size_t size, const char *which)
{
    const struct image to = planes(PITCH);
    for (int format = 2; format <= 6; format++) {
        clear();
        const int r = C(nvjpegDecode)(handle, state, file, size, format, (void *)&to, NULL);
        const int d = r ? -r : difference(format, 0, 0, W, H);
        check(d >= 0 && d <= NEAR, "%s: format %d is the picture (%d)", which, format, d);
    }
}

/* The phased interface, with a region. */
static void phases(void *handle, const unsigned char *file, size_t size)
{
    void *stream = NULL, *decoder = NULL, *state = NULL, *params = NULL, *pinned = NULL, *device = NULL, *p = NULL;
    struct image to = planes(PITCH);
    unsigned w = 0, h = 0, n = 0, precision = 0;
    int css = 9, encoding = 0, orientation = -1, answer = -1;
    size_t bytes = 9;
    check(!C(nvjpegJpegStreamCreate)(handle, &stream) && !C(nvjpegDecoderCreate)(handle, 1, &decoder) &&
              !C(nvjpegDecoderStateCreate)(handle, decoder, &state) && !C(nvjpegDecodeParamsCreate)(handle, &params) &&
              C(nvjpegDecoderCreate)(handle, 3, &p) == NVJPEG_STATUS_ARCH_MISMATCH,
          "a decoder in phases");
    check(!C(nvjpegBufferPinnedCreate)(handle, NULL, &pinned) && !C(nvjpegBufferDeviceCreate)(handle, NULL, &device) &&
              !C(nvjpegBufferPinnedResize)(pinned, 100, NULL) && !C(nvjpegBufferDeviceResize)(device, 200, NULL) &&
              !C(nvjpegBufferPinnedRetrieve)(pinned, &bytes, &p) && bytes == 100 && p &&
              !C(nvjpegBufferDeviceRetrieve)(device, &bytes, &p) && bytes == 200 && p &&
              !C(nvjpegStateAttachPinnedBuffer)(state, pinned) && !C(nvjpegStateAttachDeviceBuffer)(state, device) &&
              C(nvjpegStateAttachDeviceBuffer)(state, pinned) == NVJPEG_STATUS_INVALID_PARAMETER,
          "has buffers");
    check(C(nvjpegJpegStreamGetFrameDimensions)(stream, &w, &h) == NVJPEG_STATUS_INVALID_PARAMETER &&
              !C(nvjpegJpegStreamParseHeader)(handle, file, size, stream) &&
              C(nvjpegDecodeJpegHost)(handle, decoder, state, params, stream) == NVJPEG_STATUS_INVALID_PARAMETER &&
              !C(nvjpegJpegStreamParse)(handle, file, size, 0, 1, stream),
          "parses");
    check(!C(nvjpegJpegStreamGetFrameDimensions)(stream, &w, &h) && w == W && h == H &&
              !C(nvjpegJpegStreamGetComponentsNum)(stream, &n) && n == 3 &&
              !C(nvjpegJpegStreamGetComponentDimensions)(stream, 1, &w, &h) && w == (W + 1) / 2 && h == (H + 1) / 2 &&
              !C(nvjpegJpegStreamGetChromaSubsampling)(stream, &css) && css == NVJPEG_CSS_420 &&
              !C(nvjpegJpegStreamGetJpegEncoding)(stream, &encoding) && encoding == 0xc0 &&
              !C(nvjpegJpegStreamGetSamplePrecision)(stream, &precision) && precision == 8 &&
              !C(nvjpegJpegStreamGetExifOrientation)(stream, &orientation) && orientation == 0,
          "and tells");
    check(!C(nvjpegDecoderJpegSupported)(decoder, stream, params, &answer) && answer == 0 &&
              !C(nvjpegDecodeBatchedSupported)(handle, stream, &answer) && answer == 0 &&
              !C(nvjpegDecodeBatchedSupportedEx)(handle, stream, params, &answer) && answer == 0,
          "what it can decode");
    check(!C(nvjpegDecodeParamsSetOutputFormat)(params, NVJPEG_OUTPUT_RGBI) &&
              !C(nvjpegDecodeParamsSetROI)(params, 5, 7, 20, 30) && !C(nvjpegDecodeParamsSetAllowCMYK)(params, 1) &&
              !C(nvjpegDecodeParamsSetScaleFactor)(params, 0) && !C(nvjpegDecodeParamsSetExifOrientation)(params, 1) &&
              C(nvjpegDecodeParamsSetScaleFactor)(params, 2) == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED &&
              C(nvjpegDecodeParamsSetROI)(params, -1, 0, 2, 2) == NVJPEG_STATUS_INVALID_PARAMETER,
          "takes parameters");
    clear();
    check(C(nvjpegDecodeJpegDevice)(handle, decoder, state, &to, NULL) == NVJPEG_STATUS_INVALID_PARAMETER &&
              !C(nvjpegDecodeJpegHost)(handle, decoder, state, params, stream) &&
              !C(nvjpegDecodeJpegTransferToDevice)(handle, decoder, state, stream, NULL) &&
              !C(nvjpegDecodeJpegDevice)(handle, decoder, state, &to, NULL) && difference(5, 5, 7, 20, 30) <= NEAR,
          "and decodes a region");
    check(!C(nvjpegDecodeParamsSetROI)(params, 0, 0, -1, -1) && !C(nvjpegDecodeParamsSetOutputFormat)(params, 3),
          "or all");
    clear();
    check(!C(nvjpegDecodeJpeg)(handle, decoder, state, stream, &to, params, NULL) && difference(3, 0, 0, W, H) <= NEAR,
          "at once");
    const void *data[2] = {file, file};
    const size_t sizes[2] = {size, size};
    struct image two[2] = {to, to};
    void *each[2] = {params, params};
    for (int k = 0; k < 4; k++)
        two[1].channel[k] = NULL;
    check(C(nvjpegDecodeBatched)(handle, state, data, sizes, two, NULL) == NVJPEG_STATUS_NOT_INITIALIZED &&
              !C(nvjpegDecodeBatchedInitialize)(handle, state, 1, 1, NVJPEG_OUTPUT_BGRI) &&
              !C(nvjpegDecodeBatchedPreAllocate)(handle, state, 1, W, H, NVJPEG_CSS_420, NVJPEG_OUTPUT_BGRI),
          "a batch begins");
    clear();
    check(!C(nvjpegDecodeBatched)(handle, state, data, sizes, two, NULL) && difference(6, 0, 0, W, H) <= NEAR,
          "decodes");
    clear();
    check(!C(nvjpegDecodeBatchedEx)(handle, state, data, sizes, two, each, NULL) && difference(3, 0, 0, W, H) <= NEAR,
          "by parameters of each");
    check(!C(nvjpegDecodeBatchedInitialize)(handle, state, 2, 1, NVJPEG_OUTPUT_BGRI) &&
              C(nvjpegDecodeBatched)(handle, state, data, sizes, two, NULL) == NVJPEG_STATUS_INVALID_PARAMETER,
          "and says when one of it has no memory");
    check(!C(nvjpegBufferPinnedDestroy)(pinned) && !C(nvjpegBufferDeviceDestroy)(device) &&
              !C(nvjpegDecodeParamsDestroy)(params) && !C(nvjpegJpegStateDestroy)(state) &&
              !C(nvjpegDecoderDestroy)(decoder) && !C(nvjpegJpegStreamDestroy)(stream),
          "all end");
    check(!C(nvjpegBufferPinnedCreateV2)(handle, NULL, &pinned) &&
              !C(nvjpegBufferDeviceCreateV2)(handle, NULL, &device) && !C(nvjpegBufferPinnedDestroy)(pinned) &&
              !C(nvjpegBufferDeviceDestroy)(device),
          "buffers by another allocator");
}

static void wrong(void *handle, void *state, const unsigned char *file, size_t size)
{
    int n, css, w[4] = {0}, h[4] = {0};
    struct image to = planes(PITCH);
    unsigned char *damaged = malloc(size);
    unsigned engines = 9, cores = 9;
    size_t padding = 0;
    for (size_t cut = 0; cut < size; cut += 1 + cut / 8) { /* none may succeed: the picture would not be whole */
        const int r = C(nvjpegDecode)(handle, state, file, cut, NVJPEG_OUTPUT_RGBI, &to, NULL);
        if (!r)
            check(false, "a file that ends at %zu of %zu is decoded", cut, size);
    }
    for (unsigned seed = 1; seed < 400; seed++) {
        memcpy(damaged, file, size);
        for (unsigned k = 0; k < 3; k++)
            damaged[(seed * 2654435761u + k * 40503u) % size] ^= (unsigned char)(seed * (k + 1));
        (void)C(nvjpegGetImageInfo)(handle, damaged, size, &n, &css, w, h);
        unsigned long pixels = (unsigned long)(unsigned)w[0] * (unsigned)h[0];
        if (pixels <= (unsigned long)W * H) /* or there is no room for it */
            (void)C(nvjpegDecode)(handle, state, damaged, size, NVJPEG_OUTPUT_RGB, &to, NULL);
    }
    check(true, "damaged files are survived");
    free(damaged);
    check(C(nvjpegGetImageInfo)(handle, "no picture", 10, &n, &css, w, h) == NVJPEG_STATUS_BAD_JPEG &&
              C(nvjpegGetImageInfo)(handle, NULL, 10, &n, &css, w, h) == NVJPEG_STATUS_INVALID_PARAMETER &&
              C(nvjpegGetImageInfo)(state, file, size, &n, &css, w, h) == NVJPEG_STATUS_INVALID_PARAMETER,
          "what is no picture is none");
    check(C(nvjpegDecode)(handle, handle, file, size, 3, &to, NULL) == NVJPEG_STATUS_INVALID_PARAMETER &&
              C(nvjpegDecode)(handle, state, file, size, 77, &to, NULL) == NVJPEG_STATUS_INVALID_PARAMETER &&
              C(nvjpegDecode)(handle, state, file, size, 8, &to, NULL) == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED &&
              C(nvjpegDecode)(handle, state, file, size, 3, NULL, NULL) == NVJPEG_STATUS_INVALID_PARAMETER,
          "nor is what is no state, format or memory");
    to.pitch[1] = W - 1;
    check(C(nvjpegDecode)(handle, state, file, size, 3, &to, NULL) == NVJPEG_STATUS_INVALID_PARAMETER, "or too narrow");
    check(!C(nvjpegSetDeviceMemoryPadding)(512, handle) && !C(nvjpegGetDeviceMemoryPadding)(&padding, handle) &&
              padding == 512 && !C(nvjpegSetPinnedMemoryPadding)(256, handle) &&
              !C(nvjpegGetPinnedMemoryPadding)(&padding, handle) && padding == 256,
          "paddings are kept");
    check(!C(nvjpegGetHardwareDecoderInfo)(handle, &engines, &cores) && !engines && !cores &&
              !C(nvjpegGetHardwareEncoderInfo)(handle, &engines, &cores) && !engines,
          "there are no engines");
}

void snippet_nvjpeg(void)
{
    static const struct {
        int css, h, v;
    } sampling[] = {{NVJPEG_CSS_444, 1, 1}, {NVJPEG_CSS_422, 2, 1}, {NVJPEG_CSS_420, 2, 2}, {NVJPEG_CSS_440, 1, 2}};
    void *handle = NULL, *state = NULL, *other = NULL;
    size_t size = 0;
    int value = 0, n, css, w[4], h[4];
    check(!C(nvjpegGetProperty)(0, &value) && value >= 11 && !C(nvjpegGetCudartProperty)(0, &value) && value >= 11,
          "nvJPEG has a version");
    const int r = C(nvjpegCreateSimple)(&handle);
    void *turbo = dlopen("libturbojpeg.so.0", RTLD_NOW);
    if (!turbo) {
        check(!r && C(nvjpegJpegStateCreate)(handle, &state) == 0 &&
                  C(nvjpegDecode)(handle, state, "any", 3, 3, w, NULL) == NVJPEG_STATUS_NOT_INITIALIZED,
              "without libjpeg-turbo nothing is decoded");
        return;
    }
    dlclose(turbo);
    check(!r && !C(nvjpegJpegStateCreate)(handle, &state), "it is created");
    check(C(nvjpegCreateEx)(3, NULL, NULL, 0, &other) == NVJPEG_STATUS_ARCH_MISMATCH && !other &&
              !C(nvjpegCreateEx)(0, NULL, NULL, 0, &other) && !C(nvjpegDestroy)(other) &&
              !C(nvjpegCreateExV2)(1, NULL, NULL, 0, &other) && !C(nvjpegDestroy)(other) &&
              !C(nvjpegCreate)(0, NULL, &other) && !C(nvjpegDestroy)(other),
          "in every way, on no engine");
    check(!C(nvjpegEncoderStateCreateWithBackend)(handle, &other, 0, NULL) && !C(nvjpegEncoderStateDestroy)(other),
          "an encoder of a back end");
    if (check(!M(cudaMalloc, musaMalloc)((void **)&on_device, sizeof back), "memory")) {
        unsigned char *file = NULL;
        for (unsigned k = 0; k < 4; k++) {
            free(file);
            file = encode(handle, sampling[k].css, 3 + (int)k, k == 1, &size);
            if (!file)
                continue;
            check(!C(nvjpegGetImageInfo)(handle, file, size, &n, &css, w, h) && n == 3 && css == sampling[k].css &&
                      w[0] == W && h[0] == H && w[1] == (W + sampling[k].h - 1) / sampling[k].h &&
                      h[2] == (H + sampling[k].v - 1) / sampling[k].v && w[3] == 0,
                  "sampling %u: what the file says", k);
            layouts(handle, state, file, size, k == 1 ? "progressive" : "baseline");
            const struct image to = planes(PITCH);
            for (int format = 0; format < 2; format++) {
                clear();
                check(!C(nvjpegDecode)(handle, state, file, size, format, (void *)&to, NULL) &&
                          difference_yuv(sampling[k].h, sampling[k].v) <= NEAR,
                      "sampling %u: luma and chroma", k);
            }
            void *encoder = NULL, *params = NULL; /* the planes as they lie there, encoded again */
            check(!C(nvjpegEncoderStateCreate)(handle, &encoder, NULL) &&
                      !C(nvjpegEncoderParamsCreate)(handle, &params, NULL) &&
                      !C(nvjpegEncoderParamsSetQuality)(params, 95, NULL) &&
                      !C(nvjpegEncoderParamsSetSamplingFactors)(params, sampling[k].css, NULL) &&
                      !C(nvjpegEncodeYUV)(handle, encoder, params, &to, sampling[k].css, W, H, NULL) &&
                      C(nvjpegEncodeYUV)(handle, encoder, params, &to, NVJPEG_CSS_411, W, H, NULL) ==
                          NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED &&
                      !C(nvjpegEncodeRetrieveBitstream)(handle, encoder, NULL, &size, NULL),
                  "sampling %u: planes are encoded", k);
            file = realloc(file, size);
            clear();
            check(!C(nvjpegEncodeRetrieveBitstream)(handle, encoder, file, &size, NULL) &&
                      !C(nvjpegDecode)(handle, state, file, size, NVJPEG_OUTPUT_RGB, (void *)&to, NULL) &&
                      difference(3, 0, 0, W, H) <= NEAR + 4,
                  "and decoded again");
            C(nvjpegEncoderStateDestroy)(encoder);
            C(nvjpegEncoderParamsDestroy)(params);
        }
        free(file);
        file = encode(handle, NVJPEG_CSS_420, 5, 0, &size);
        if (file) {
            phases(handle, file, size);
            wrong(handle, state, file, size);
        }
        free(file);
        M(cudaFree, musaFree)(on_device);
    }
    check(!C(nvjpegJpegStateDestroy)(state) && !C(nvjpegDestroy)(handle), "and ends");
}
