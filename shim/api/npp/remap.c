/* NPP's remap: pictures by maps of coordinates. */
#include "api/npp/npp.h"

/* NPP's documentation has these modes of remap. Its plain cubic is taken to be Keys' convolution (1981) with -1/2, that
 * is, Catmull and Rom's; its Lanczos filter to have three lobes. */
static const struct mode {
    int mode;
    enum mupp_filter filter;
    double b, c;
} modes[] = {
    {NPPI_INTER_NN, MUPP_NEAREST, 0, 0},
    {NPPI_INTER_LINEAR, MUPP_LINEAR, 0, 0},
    {NPPI_INTER_CUBIC, MUPP_CUBIC, 0, 0.5},
    {NPPI_INTER_CUBIC2P_BSPLINE, MUPP_CUBIC, 1, 0},
    {NPPI_INTER_CUBIC2P_CATMULLROM, MUPP_CUBIC, 0, 0.5},
    {NPPI_INTER_CUBIC2P_B05C03, MUPP_CUBIC, 0.5, 0.3},
    {NPPI_INTER_LANCZOS, MUPP_LANCZOS, 0, 0},
};

static int least(int64_t a, int64_t b) { return (int)(a < b ? a : b); }

static int remap(struct mupp_remap r, struct npp_size size, struct npp_rect part, int mode, musaStream_t stream)
{
    static const int bytes[] = {[MUPP_8U] = 1, [MUPP_16U] = 2, [MUPP_16S] = 2, [MUPP_32F] = 4, [MUPP_64F] = 8};
    const int number = r.type == MUPP_64F ? 8 : 4; /* of the maps */
    const struct mode *m = modes;
    NPP_REFUSE_IF(!r.from.at || !r.x.at || !r.y.at || !r.to.at, NPP_NULL_POINTER_ERROR);
    NPP_REFUSE_IF(size.width < 0 || size.height < 0 || part.width < 0 || part.height < 0, NPP_SIZE_ERROR);
    NPP_REFUSE_IF(r.to.width < 0 || r.to.height < 0, NPP_SIZE_ERROR);
    NPP_PICTURE_OR_LEAVE(r.from.at, r.from.step, size.width, r.channels, bytes[r.type]);
    NPP_PICTURE_OR_LEAVE(r.x.at, r.x.step, r.to.width, 1, number);
    NPP_PICTURE_OR_LEAVE(r.y.at, r.y.step, r.to.width, 1, number);
    NPP_PICTURE_OR_LEAVE(r.to.at, r.to.step, r.to.width, r.channels, bytes[r.type]);
    for (; m < modes + sizeof modes / sizeof *modes && m->mode != mode; m++)
        ;
    NPP_REFUSE_IF(m == modes + sizeof modes / sizeof *modes, NPP_INTERPOLATION_ERROR);
    r.left = part.x > 0 ? part.x : 0;
    r.top = part.y > 0 ? part.y : 0;
    r.right = least(size.width, (int64_t)part.x + part.width);
    r.bottom = least(size.height, (int64_t)part.y + part.height);
    NPP_REFUSE_IF(r.left >= r.right || r.top >= r.bottom, NPP_WRONG_INTERSECTION_ROI_ERROR);
    NPP_REFUSE_IF(r.right - r.left <= 1 || r.bottom - r.top <= 1, NPP_RECTANGLE_ERROR);
    if (!r.to.width || !r.to.height)
        return NPP_SUCCESS;
    r.filter = m->filter;
    r.b = m->b;
    r.c = m->c;
    return mu.muppHostRemap(stream, &r);
}

#define REMAP(name, its_type, its_channels) \
    int wrap_nppiRemap_##name##_Ctx(const void *from, struct cumu_s8 size, int step, struct cumu_s16 part, \
                                    const void *x, int x_step, const void *y, int y_step, void *to, int to_step, \
                                    struct cumu_s8 to_size, int mode, struct cumu_s48 context) \
    { \
        const struct npp_size s = npp_size(to_size); \
        const struct mupp_remap r = {.type = its_type, \
                                     .channels = its_channels, \
                                     .from = {from, step}, \
                                     .x = {x, x_step}, \
                                     .y = {y, y_step}, \
                                     .to = {to, to_step, s.width, s.height}}; \
        return remap(r, npp_size(size), npp_rect(part), mode, npp_stream(context)); \
    }
REMAP(8u_C1R, MUPP_8U, 1)
REMAP(8u_C3R, MUPP_8U, 3)
REMAP(16u_C1R, MUPP_16U, 1)
REMAP(16u_C3R, MUPP_16U, 3)
REMAP(16s_C1R, MUPP_16S, 1)
REMAP(16s_C3R, MUPP_16S, 3)
REMAP(32f_C1R, MUPP_32F, 1)
REMAP(32f_C3R, MUPP_32F, 3)
REMAP(64f_C1R, MUPP_64F, 1)
REMAP(64f_C3R, MUPP_64F, 3)
