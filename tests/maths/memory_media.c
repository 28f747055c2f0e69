/* Sequences of libraries that move pictures, files and pruned matrices, for the test of memory that runs out. */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "../cufile/types.h"
#include "memory.h"

enum { W = 24, H = 16, PLANE = W * H };
struct image {
    unsigned char *channel[4];
    size_t pitch[4];
};

/* A smooth picture is encoded, and decoded by a call, in a batch and in phases. */
int pictures(void)
{
    static unsigned char colours[3 * PLANE], file[4096];
    void *handle = NULL, *state = NULL, *encoder = NULL, *params = NULL, *stream = NULL, *decoder = NULL, *phase = NULL;
    void *how = NULL, *turbo = dlopen("libturbojpeg.so.0", RTLD_NOW);
    size_t size = 0;
    if (!turbo)
        return *results = 1, 0; /* the wrappers answer so, too (snippets/nvjpeg.c) */
    for (int i = 0; i < 3 * PLANE; i++)
        colours[i] = (unsigned char)(i % W * 4 + i / W);
    unsigned char *from = fresh(colours, sizeof colours), *to = fresh(NULL, 3 * sizeof colours);
    struct image in = {{from, from + PLANE, from + 2 * PLANE}, {W, W, W}}, out[3];
    for (int k = 0; k < 3; k++)
        out[k] = (struct image){{to + k * 3 * PLANE, to + (k * 3 + 1) * PLANE, to + (k * 3 + 2) * PLANE}, {W, W, W}};
    TRY(nvjpegCreateSimple(&handle));
    TRY(nvjpegJpegStateCreate(handle, &state));
    TRY(nvjpegEncoderStateCreate(handle, &encoder, NULL));
    TRY(nvjpegEncoderParamsCreate(handle, &params, NULL));
    TRY(nvjpegEncoderParamsSetQuality(params, 90, NULL));
    TRY(nvjpegEncoderParamsSetSamplingFactors(params, 0, NULL));
    TRY(nvjpegEncodeImage(handle, encoder, params, &in, 3, W, H, NULL));
    TRY(nvjpegEncodeRetrieveBitstream(handle, encoder, NULL, &size, NULL));
    EXPECT(size <= sizeof file, "%zu", size);
    TRY(nvjpegEncodeRetrieveBitstream(handle, encoder, file, &size, NULL));
    TRY(nvjpegDecode(handle, state, file, size, 3, &out[0], NULL));
    TRY(nvjpegDecodeBatchedInitialize(handle, state, 1, 1, 3));
    TRY(nvjpegDecodeBatched(handle, state, (const unsigned char *[]){file}, &size, &out[1], NULL));
    TRY(nvjpegJpegStreamCreate(handle, &stream));
    TRY(nvjpegDecoderCreate(handle, 0, &decoder));
    TRY(nvjpegDecoderStateCreate(handle, decoder, &phase));
    TRY(nvjpegDecodeParamsCreate(handle, &how));
    TRY(nvjpegDecodeParamsSetOutputFormat(how, 3));
    TRY(nvjpegJpegStreamParse(handle, file, size, 0, 0, stream));
    TRY(nvjpegDecodeJpegHost(handle, decoder, phase, how, stream));
    TRY(nvjpegDecodeJpegTransferToDevice(handle, decoder, phase, stream, NULL));
    TRY(nvjpegDecodeJpegDevice(handle, decoder, phase, &out[2], NULL));
    GIVE(to, 9 * PLANE);
    memcpy(results + 9 * PLANE, file, size);
    TRY(nvjpegJpegStreamDestroy(stream));
    TRY(nvjpegJpegStateDestroy(phase));
    TRY(nvjpegJpegStateDestroy(state));
    TRY(nvjpegEncoderStateDestroy(encoder));
    TRY(nvjpegEncoderParamsDestroy(params));
    return nvjpegDestroy(handle);
}

static int move(void *file, char *memory)
{
    long long zero = 0, moved = 0;
    size_t some = 500;
    struct request r[2] = {{1, memory, 0, 1000, 700, file, 0, NULL}, {1, memory, 100, 2000, 50, file, 0, NULL}};
    struct event e[2];
    unsigned n = 2;
    void *batch = NULL;
    if (cuFileWrite(file, memory, 1000, 0, 0) != 1000 || cuFileRead(file, memory, 900, 50, 3000) != 900)
        return 1;
    TRY((int)cuFileBatchIOSetUp(&batch, 2));
    int r1 = (int)cuFileBatchIOSubmit(batch, 2, r, 0), r2 = (int)cuFileBatchIOGetStatus(batch, 2, &n, e, NULL);
    cuFileBatchIODestroy(batch);
    if (r1 || r2 || e[0].result != 700 || e[1].result != 50)
        return 1;
    TRY((int)cuFileReadAsync(file, memory, &some, &zero, &zero, &moved, NULL));
    TRY(cudaDeviceSynchronize());
    return moved != 500;
}
/* A file that is read and written at once, in a batch and on a stream. */
int files(void)
{
    struct {
        int type, pad, fd, pad2;
        const void *operations;
    } d = {.type = 1, .fd = memfd_create("file", 0)};
    void *file = NULL;
    char *memory = (char *)floats(1024);
    int r = (int)cuFileHandleRegister(&file, &d);
    if (!r) {
        r = move(file, memory);
        cuFileHandleDeregister(file);
    }
    close(d.fd);
    last_status = r;
    if (!r)
        GIVE(memory, 4096);
    return r;
}

/* A pruned and compressed matrix by a dense one. */
int structured_products(void)
{
    typedef struct {
        char data[512];
    } opaque;
    enum { SIDE = 32, F32 = 0, ROW = 2, TF32 = 3 };
    static opaque lt, a, b, matmul, choice, plan;
    size_t size = 0, space = 0;
    void *x = floats(SIDE * SIDE), *y = floats(SIDE * SIDE), *pruned = fresh(NULL, SIDE * SIDE * 4), *stream = NULL;
    void *c = fresh(NULL, SIDE * SIDE * 4);
    TRY(cusparseLtInit(&lt));
    TRY(cusparseLtStructuredDescriptorInit(&lt, &a, SIDE, SIDE, SIDE, 16, F32, ROW, 0));
    TRY(cusparseLtDenseDescriptorInit(&lt, &b, SIDE, SIDE, SIDE, 16, F32, ROW));
    TRY(cusparseLtMatmulDescriptorInit(&lt, &matmul, 0, 0, &a, &b, &b, &b, TF32));
    TRY(cusparseLtMatmulAlgSelectionInit(&lt, &choice, &matmul, 0));
    TRY(cusparseLtMatmulPlanInit(&lt, &plan, &matmul, &choice));
    TRY(cusparseLtSpMMAPrune(&lt, &matmul, x, pruned, 1, NULL));
    TRY(cusparseLtSpMMACompressedSize(&lt, &plan, &size, &space));
    void *packed = fresh(NULL, size), *buffer = fresh(NULL, space + 16);
    TRY(cusparseLtSpMMACompress(&lt, &plan, pruned, packed, buffer, NULL));
    TRY(cusparseLtMatmul(&lt, &plan, &one, packed, y, &zero, c, c, NULL, &stream, 1));
    TRY(cudaDeviceSynchronize());
    GIVE(c, SIDE * SIDE * 4);
    TRY(cusparseLtMatmulPlanDestroy(&plan));
    return cusparseLtDestroy(&lt);
}
