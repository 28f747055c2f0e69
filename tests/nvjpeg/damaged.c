/* nvJPEG with damaged files, made of right ones of each sampling: cut off anywhere, with bits turned over, bytes of
 * noise, sizes that lie, segments put in, repeated and left out, markers that have no length. Each is decoded in every
 * format to memory of exactly the size that the library says of it, behind which nothing may be written; the answers
 * are nvJPEG's statuses. Objects that are none, another kind's, or gone. Behind all of it the right files are right. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../check.h"
#include "../xorshift.h"
#include "cuda_enums.h"
#include "cuda_functions.h"

enum { W = 37, H = 21, GUARD = 64, PLANES = 4, ROOM = 1 << 16, FORMATS = 7 };
struct image {
    unsigned char *channel[PLANES];
    size_t pitch[PLANES];
};
static void *handle, *state, *decoder, *phased, *params, *stream;
static uint64_t seed = 1;
static unsigned upto(unsigned n) { return (unsigned)(xorshift(&seed) % n); }

/* ---- right files ------------------------------------------------------------------------------- */

static unsigned char *encode(int css, bool progressive, size_t *size)
{
    unsigned char pixels[3 * W * H];
    void *encoder = NULL, *with = NULL;
    struct image from = {{NULL}, {3 * W}};
    for (int i = 0; i < 3 * W * H; i++)
        pixels[i] = (unsigned char)(i / 3 % W * 5 + i / 3 / W * 3 + i % 3 * 40);
    MUST(cudaMalloc((void **)&from.channel[0], sizeof pixels));
    OK(cudaMemcpy(from.channel[0], pixels, sizeof pixels, 1));
    OK(nvjpegEncoderStateCreate(handle, &encoder, NULL));
    OK(nvjpegEncoderParamsCreate(handle, &with, NULL));
    OK(nvjpegEncoderParamsSetSamplingFactors(with, css, NULL));
    OK(nvjpegEncoderParamsSetEncoding(with, progressive ? 0xc2 : 0xc0, NULL));
    int r = nvjpegEncodeImage(handle, encoder, with, &from, NVJPEG_OUTPUT_RGBI, W, H, NULL);
    EXPECT(!r, "status %d of encoding", r);
    unsigned char *file = NULL;
    if (!nvjpegEncodeRetrieveBitstream(handle, encoder, NULL, size, NULL) && (file = malloc(*size)) != NULL)
        OK(nvjpegEncodeRetrieveBitstream(handle, encoder, file, size, NULL));
    OK(nvjpegEncoderParamsDestroy(with));
    OK(nvjpegEncoderStateDestroy(encoder));
    OK(cudaFree(from.channel[0]));
    return file;
}

/* ---- damage ------------------------------------------------------------------------------------ */

struct file {
    unsigned char *data;
    size_t size;
};
static void insert(struct file *f, size_t at, const void *what, size_t n)
{
    memmove(f->data + at + n, f->data + at, f->size - at);
    memcpy(f->data + at, what, n);
    f->size += n;
}
/* Where a frame's header begins. */
static size_t frame_of(const struct file *f)
{
    for (size_t i = 2; i + 20 < f->size; i++)
        if (f->data[i] == 0xff && (f->data[i + 1] == 0xc0 || f->data[i + 1] == 0xc2))
            return i;
    return 2;
}
static void damage(struct file *f)
{
    const size_t frame = frame_of(f);
    unsigned char *const sof = f->data + frame;
    switch (upto(11)) {
    case 0: f->size = upto((unsigned)f->size); break; /* cut off */
    case 1:                                           /* bits */
        for (unsigned i = 1 + upto(8); i-- > 0;)
            f->data[upto((unsigned)f->size)] ^= (unsigned char)(1 << upto(8));
        break;
    case 2: /* noise */
        for (size_t i = upto((unsigned)f->size), n = upto(40); n-- > 0 && i < f->size; i++)
            f->data[i] = (unsigned char)upto(256);
        break;
    case 3: /* another size */
        for (int i = 5; i < 9; i++)
            if (upto(2))
                sof[i] = (unsigned char)(upto(3) ? upto(256) : 255 * upto(2));
        break;
    case 4:
        sof[11 + 3 * upto(3)] = (unsigned char)(upto(2) ? upto(256) : (upto(5) << 4 | upto(5)));
        break;                                                     /* sampling */
    case 5: sof[4 + 5 * upto(2)] = (unsigned char)upto(20); break; /* precision, components */
    case 6: {                                                      /* a second frame of another size */
        unsigned char copy[19];
        memcpy(copy, sof, sizeof copy);
        copy[5 + upto(4)] ^= (unsigned char)(1 << upto(8));
        insert(f, frame + (upto(2) ? 0 : sizeof copy), copy, sizeof copy);
        break;
    }
    case 7: insert(f, upto(2) ? frame : 2, (const unsigned char[]){0xff, (unsigned char)upto(256)}, 2); break;
    case 8: { /* a length that lies */
        const size_t at = upto(2) ? 2 : frame;
        f->data[at + 2] = (unsigned char)(upto(2) ? 0 : upto(256));
        f->data[at + 3] = (unsigned char)upto(256);
        break;
    }
    case 9: { /* a marker without a length, behind which a small frame hides within the length that there is none of */
        unsigned char small[19];
        const unsigned length = 0xff00u | f->data[3];
        memcpy(small, sof, sizeof small);
        small[5] = small[7] = 0, small[6] = 1 + (unsigned char)upto(4), small[8] = 1 + (unsigned char)upto(4);
        insert(f, 2, (const unsigned char[]){0xff, upto(2) ? 0x01 : (unsigned char)(0xd0 + upto(8))}, 2);
        if (f->size < 4 + length - 2) { /* far behind: in what a decoder never reads */
            memset(f->data + f->size, 0, 4 + length - 2 - f->size);
            f->size = 4 + length - 2;
        }
        insert(f, 4 + length - 2, small, sizeof small);
        insert(f, 4 + length - 2 + sizeof small, (const unsigned char[]){0xff, 0xda, 0, 2}, 4);
        break;
    }
    default: /* nothing is a file */
        f->size = upto(200);
        for (size_t i = 0; i < f->size; i++)
            f->data[i] = (unsigned char)upto(256);
        if (upto(2) && f->size > 4)
            memcpy(f->data, (const unsigned char[]){0xff, 0xd8, 0xff}, 3);
    }
}

/* ---- decoding ---------------------------------------------------------------------------------- */

static bool known(int r)
{
    return r == NVJPEG_STATUS_SUCCESS || r == NVJPEG_STATUS_BAD_JPEG || r == NVJPEG_STATUS_JPEG_NOT_SUPPORTED ||
           r == NVJPEG_STATUS_INCOMPLETE_BITSTREAM || r == NVJPEG_STATUS_INVALID_PARAMETER ||
           r == NVJPEG_STATUS_ALLOCATOR_FAILURE || r == NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED;
}
static int decode(const struct file *f, int format, bool in_phases, const struct image *to)
{
    if (!in_phases)
        return nvjpegDecode(handle, state, f->data, f->size, format, (void *)to, NULL);
    int r = nvjpegJpegStreamParse(handle, f->data, f->size, 0, 0, stream);
    OK(nvjpegDecodeParamsSetOutputFormat(params, format));
    OK(nvjpegDecodeParamsSetROI(params, 0, 0, -1, -1));
    if (!r)
        r = nvjpegDecodeJpegHost(handle, decoder, phased, params, stream);
    if (!r)
        r = nvjpegDecodeJpegTransferToDevice(handle, decoder, phased, stream, NULL);
    return r ? r : nvjpegDecodeJpegDevice(handle, decoder, phased, (void *)to, NULL);
}
/* Into memory of the size that is told; *sum: of what came. The status. */
static int attempt(const struct file *f, int format, bool in_phases, uint64_t *sum)
{
    int components = 0, css = 0, width[PLANES] = {0}, height[PLANES] = {0};
    struct image to = {{NULL}, {0}};
    unsigned char *host = NULL;
    size_t size[PLANES] = {0};
    int told = nvjpegGetImageInfo(handle, f->data, f->size, &components, &css, width, height);
    EXPECT(known(told), "told: %d", told);
    const bool planes = format == NVJPEG_OUTPUT_UNCHANGED || format == NVJPEG_OUTPUT_YUV;
    for (int k = 0; k < PLANES; k++) {
        const int w = planes ? width[k] : width[0], h = planes ? height[k] : height[0];
        to.pitch[k] = (size_t)(w > 0 ? w : 1) * (format >= NVJPEG_OUTPUT_RGBI ? 3 : 1);
        size[k] = told || h <= 0 || (int64_t)to.pitch[k] * h > 1 << 22 ? 0 : to.pitch[k] * (size_t)h;
        MUST(cudaMalloc((void **)&to.channel[k], size[k] + GUARD));
        OK(cudaMemset(to.channel[k], 0x5a, size[k] + GUARD));
    }
    if (!told && !size[0]) { /* large: whether it is decoded is not looked at, but that memory is not written */
        for (int k = 0; k < PLANES; k++)
            to.pitch[k] = 0;
    }
    int r = decode(f, format, in_phases, &to);
    EXPECT(known(r), "%s: %d", in_phases ? "in phases" : "at once", r);
    *sum = 14695981039346656037ull;
    for (int k = 0; k < PLANES; k++) {
        host = malloc(size[k] + GUARD);
        MUST(host == NULL);
        OK(cudaMemcpy(host, to.channel[k], size[k] + GUARD, 2));
        for (int i = 0; i < GUARD; i++)
            EXPECT(host[size[k] + (size_t)i] == 0x5a, "format %d: written behind channel %d", format, k);
        for (size_t i = 0; i < size[k]; i++)
            *sum = (*sum ^ host[i]) * 1099511628211ull;
        OK(cudaFree(to.channel[k]));
        free(host);
    }
    return r;
}

/* ---- objects ----------------------------------------------------------------------------------- */

static void objects(const struct file *f)
{
    struct image to = {{NULL}, {0}};
    int n;
    void *gone = NULL, *noise[] = {NULL, (void *)"noise, which is no object", (void *)(uintptr_t)0x1234, &to};
    OK(nvjpegJpegStateCreate(handle, &gone));
    OK(nvjpegJpegStateDestroy(gone));
    for (int i = 0; i < 6; i++) {
        void *const bad = i < 4 ? noise[i] : i == 4 ? gone : params;
        IS(nvjpegDecode(bad, state, f->data, f->size, 3, &to, NULL), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegDecode(handle, bad, f->data, f->size, 3, &to, NULL), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegJpegStreamParse(bad, f->data, f->size, 0, 0, stream), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegJpegStreamParse(handle, f->data, f->size, 0, 0, bad), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegJpegStreamGetJpegEncoding(bad, &n), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegDecodeJpegHost(handle, decoder, phased, bad == params ? handle : bad, stream),
           NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegDecodeJpegHost(handle, bad, phased, params, stream), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegJpegStateDestroy(bad), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegJpegStreamDestroy(bad), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegDestroy(bad), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegEncoderStateDestroy(bad), NVJPEG_STATUS_INVALID_PARAMETER);
        IS(nvjpegBufferPinnedDestroy(bad), NVJPEG_STATUS_INVALID_PARAMETER);
    }
}

int main(int argc, char **argv)
{
    enum { FILES = 12 };
    static const int samplings[] = {NVJPEG_CSS_444, NVJPEG_CSS_422, NVJPEG_CSS_420,
                                    NVJPEG_CSS_440, NVJPEG_CSS_411, NVJPEG_CSS_GRAY};
    const int rounds = argc > 1 ? 12 : 4000;
    struct file right[FILES];
    uint64_t want[FILES][FORMATS];
    int status[FILES][FORMATS], statuses[16] = {0};
    (void)argv;
    const char *text = getenv("SEED");
    seed = text ? strtoull(text, NULL, 10) * 2654435761u + 1 : 20261128;
    MUST(nvjpegCreateSimple(&handle));
    MUST(nvjpegJpegStateCreate(handle, &state));
    MUST(nvjpegDecoderCreate(handle, 0, &decoder));
    MUST(nvjpegDecoderStateCreate(handle, decoder, &phased));
    MUST(nvjpegDecodeParamsCreate(handle, &params));
    MUST(nvjpegJpegStreamCreate(handle, &stream));
    for (int i = 0; i < FILES; i++) {
        right[i].data = encode(samplings[i % 6], i >= 6, &right[i].size);
        if (!right[i].data)
            return check_end("no file");
        for (int format = 0; format < FORMATS; format++) {
            const bool grey = i % 6 == 5;
            int r = status[i][format] = attempt(&right[i], format, format % 2, &want[i][format]);
            EXPECT(!r || (grey && r != NVJPEG_STATUS_ALLOCATOR_FAILURE), "status %d of file %d, format %d", r, i,
                   format);
        }
    }
    for (int round = 0; round < rounds; round++) {
        const struct file *of = &right[upto(FILES)];
        struct file f = {malloc(of->size + 2 * ROOM), of->size};
        uint64_t sum;
        MUST(f.data == NULL);
        memcpy(f.data, of->data, of->size);
        for (unsigned k = 1 + upto(2); k-- > 0;)
            if (f.size > 40 && f.size < ROOM)
                damage(&f);
        unsigned char *exact = malloc(f.size + 1); /* sanitizers see who reads more */
        MUST(exact == NULL);
        memcpy(exact, f.data, f.size);
        free(f.data);
        f.data = exact;
        int r = attempt(&f, (int)upto(FORMATS), upto(2), &sum);
        statuses[r >= 0 && r < 16 ? r : 15]++;
        free(f.data);
    }
    for (int i = 0; i < FILES; i++)
        for (int format = 0; format < FORMATS; format++) {
            uint64_t sum;
            int r = attempt(&right[i], format, format % 2, &sum);
            EXPECT(r == status[i][format], "status %d of file %d, format %d, at the end", r, i, format);
            EXPECT(sum == want[i][format], "file %d, format %d, is another at the end", i, format);
        }
    EXPECT(argc > 1 || (statuses[0] > 100 && statuses[NVJPEG_STATUS_BAD_JPEG] > 100), "%d right, %d bad", statuses[0],
           statuses[NVJPEG_STATUS_BAD_JPEG]);
    objects(&right[0]);
    OK(nvjpegJpegStreamDestroy(stream));
    OK(nvjpegDecodeParamsDestroy(params));
    OK(nvjpegJpegStateDestroy(phased));
    OK(nvjpegDecoderDestroy(decoder));
    OK(nvjpegJpegStateDestroy(state));
    OK(nvjpegDestroy(handle));
    IS(nvjpegDestroy(handle), NVJPEG_STATUS_INVALID_PARAMETER);
    for (int i = 0; i < FILES; i++)
        free(right[i].data);
    return check_end("damaged pictures");
}
