/* Descriptors by which a gradient of data with strides becomes one without: blocks of the image as channels. */
#include "api/cudnn/dnn.h"

enum { SPACE = 2, DIMS = SPACE + 2 };

/* What each side is padded with in front and behind, before it is folded by the strides. */
struct padding {
    int64_t before[DIMS], after[DIMS];
};

static int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/* cuDNN's own numbers are ints. */
static bool narrow(const int64_t *from, int n, int *to)
{
    bool good = true;
    for (int i = 0; i < n; i++) {
        good = good && from[i] >= -INT32_MAX && from[i] <= INT32_MAX;
        to[i] = good ? (int)from[i] : 0;
    }
    return good;
}

static int set_transform(void *desc, int format, const struct padding *p, const unsigned *fold, int direction)
{
    int before[DIMS], after[DIMS];
    if (!narrow(p->before, DIMS, before) || !narrow(p->after, DIMS, after))
        return CUDNN_STATUS_NOT_SUPPORTED;
    return wrap_cudnnSetTensorTransformDescriptor(desc, DIMS, format, before, after, fold, direction);
}

/* y's place p and tap r of the window lie on x's row p s - pad + r. The filter is padded in front by b so that pad + b
 * is a multiple of the stride s; then row and tap are each a block and a place in it, and the blocks are those of a
 * convolution without stride. Maps are padded to a multiple of 8, channels to floor(roundup(C s s, 8) / (s s)), as in
 * NVIDIA's (mapping/facts/cuda.md F11). */
int wrap_cudnnGetFoldedConvBackwardDataDescriptors(void *handle, void *w, void *dy, void *desc, void *dx, int format,
                                                   void *folded_w, void *padded_dy, void *folded_desc, void *folded_dx,
                                                   void *fold_w, void *pad_dy, void *fold_dx, void *unfold_dx)
{
    static const unsigned once[SPACE] = {1, 1};
    const struct dnn_convolution *d = desc;
    struct mudnn_convolution c;
    struct padding wp = {{0}, {0}}, yp = wp, xp = wp, back = wp;
    int64_t wd[DIMS], yd[DIMS], xd[DIMS], pads[SPACE];
    int w_dims[DIMS], y_dims[DIMS], x_dims[DIMS], pad[SPACE];
    unsigned fold[SPACE];
    DNN_HANDLE_OR_LEAVE(handle);
    DNN_BAD_UNLESS(dnn_is(DNN_FILTER, folded_w) && dnn_is(DNN_TENSOR, padded_dy) && dnn_is(DNN_TENSOR, folded_dx) &&
                   dnn_is(DNN_CONVOLUTION, folded_desc));
    DNN_BAD_UNLESS(dnn_is(DNN_TRANSFORM, fold_w) && dnn_is(DNN_TRANSFORM, pad_dy) && dnn_is(DNN_TRANSFORM, fold_dx) &&
                   dnn_is(DNN_TRANSFORM, unfold_dx) && (unsigned)format <= CUDNN_TENSOR_NCHW_VECT_C);
    int r = dnn_convolution_of(&c, desc, dx, w, dy);
    if (r)
        return r;
    if (c.spatial != SPACE || c.groups != 1 || c.flip || c.x.vector > 1 || c.w.vector > 1 || c.y.vector > 1 ||
        format == CUDNN_TENSOR_NCHW_VECT_C || c.dilation[0] != 1 || c.dilation[1] != 1 || c.stride[0] > INT16_MAX ||
        c.stride[1] > INT16_MAX)
        return CUDNN_STATUS_NOT_SUPPORTED;
    const int64_t places = c.stride[0] * c.stride[1], maps = c.w.dim[0], channels = c.x.dim[1];
    wd[0] = yd[1] = round_up(maps, 8);
    wp.after[0] = yp.after[1] = wd[0] - maps;
    wd[1] = xd[1] = round_up(channels * places, 8) / places * places;
    wp.after[1] = xp.after[1] = wd[1] / places - channels;
    xd[0] = yd[0] = c.x.dim[0];
    for (int i = 0; i < SPACE; i++) {
        const int64_t s = c.stride[i];
        const int k = i + 2;
        wp.before[k] = round_up(c.pad[i], s) - c.pad[i];
        int64_t taps = c.w.dim[k] + wp.before[k], rows = c.x.dim[k];
        wp.after[k] = round_up(taps, s) - taps;
        xp.after[k] = round_up(rows, s) - rows;
        wd[k] = (taps + wp.after[k]) / s;
        xd[k] = (rows + xp.after[k]) / s;
        pads[i] = (c.pad[i] + wp.before[k]) / s;
        yd[k] = xd[k] + 2 * pads[i] - wd[k] + 1;
        yp.after[k] = yd[k] - c.y.dim[k];
        fold[i] = (unsigned)s;
    }
    for (int i = 0; i < DIMS; i++)
        back.after[i] = -xp.after[i];
    if (!narrow(wd, DIMS, w_dims) || !narrow(yd, DIMS, y_dims) || !narrow(xd, DIMS, x_dims) ||
        !narrow(pads, SPACE, pad))
        return CUDNN_STATUS_NOT_SUPPORTED;
    const int given = ((const struct dnn_tensor *)w)->given;
    if ((r = wrap_cudnnSetFilterNdDescriptor(folded_w, given, format, DIMS, w_dims)) ||
        (r = wrap_cudnnSetTensorNdDescriptorEx(padded_dy, format, given, DIMS, y_dims)) ||
        (r = wrap_cudnnSetTensorNdDescriptorEx(folded_dx, format, given, DIMS, x_dims)) ||
        (r = wrap_cudnnSetConvolutionNdDescriptor(folded_desc, SPACE, pad, (const int[]){1, 1}, (const int[]){1, 1},
                                                  d->mode, d->compute)) ||
        (r = set_transform(fold_w, format, &wp, fold, CUDNN_TRANSFORM_FOLD)) ||
        (r = set_transform(pad_dy, format, &yp, once, CUDNN_TRANSFORM_FOLD)) ||
        (r = set_transform(fold_dx, format, &xp, fold, CUDNN_TRANSFORM_FOLD)) ||
        (r = set_transform(unfold_dx, format, &back, fold, CUDNN_TRANSFORM_UNFOLD)))
        return r;
    struct dnn_convolution *made = folded_desc;
    made->groups = 1;
    made->math = d->math;
    made->reorder = d->reorder;
    return CUDNN_STATUS_SUCCESS;
}
