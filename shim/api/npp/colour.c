/* NPP's colours: of a Bayer mosaic, and by a matrix. */
#include "api/npp/npp.h"

/* Where red lies in the 2 x 2 pixels at the start of the region, by NppiBayerGridPosition. */
static const struct {
    int x, y;
} red[] = {
    [NPPI_BAYER_BGGR] = {1, 1}, [NPPI_BAYER_RGGB] = {0, 0}, [NPPI_BAYER_GBRG] = {0, 1}, [NPPI_BAYER_GRBG] = {1, 0}};

static int debayer(enum mupp_type type, const void *from, int step, struct npp_size size, struct npp_rect part,
                   void *to, int to_step, int grid, int mode, musaStream_t stream)
{
    const int bytes = type == MUPP_8U ? 1 : 2;
    NPP_REFUSE_IF(!from || !to, NPP_NULL_POINTER_ERROR);
    NPP_REFUSE_IF(size.width < 0 || size.height < 0 || part.width < 0 || part.height < 0, NPP_SIZE_ERROR);
    NPP_PICTURE_OR_LEAVE(from, step, size.width, 1, bytes);
    NPP_PICTURE_OR_LEAVE(to, to_step, part.width, 3, bytes);
    NPP_REFUSE_IF((size.width | size.height | part.width | part.height) & 1, NPP_SIZE_ERROR);
    NPP_REFUSE_IF(grid < 0 || grid >= (int)(sizeof red / sizeof *red), NPP_BAD_ARGUMENT_ERROR);
    NPP_REFUSE_IF(mode != NPPI_INTER_UNDEFINED, NPP_INTERPOLATION_ERROR);
    NPP_REFUSE_IF(part.x < 0 || part.y < 0 || (int64_t)part.x + part.width > size.width ||
                      (int64_t)part.y + part.height > size.height,
                  NPP_WRONG_INTERSECTION_ROI_ERROR);
    if (!part.width || !part.height)
        return NPP_SUCCESS;
    const struct mupp_bayer b = {type,        {from, step}, size.width,
                                 size.height, part.x,       part.y,
                                 red[grid].x, red[grid].y,  {to, to_step, part.width, part.height}};
    return mu.muppHostBayer(stream, &b);
}
int wrap_nppiCFAToRGB_8u_C1C3R_Ctx(const void *from, int step, struct cumu_s8 size, struct cumu_s16 part, void *to,
                                   int to_step, int grid, int mode, struct cumu_s48 context)
{
    return debayer(MUPP_8U, from, step, npp_size(size), npp_rect(part), to, to_step, grid, mode, npp_stream(context));
}
int wrap_nppiCFAToRGB_16u_C1C3R_Ctx(const void *from, int step, struct cumu_s8 size, struct cumu_s16 part, void *to,
                                    int to_step, int grid, int mode, struct cumu_s48 context)
{
    return debayer(MUPP_16U, from, step, npp_size(size), npp_rect(part), to, to_step, grid, mode, npp_stream(context));
}

static int twist(int channels, const void *from, int step, void *to, int to_step, struct npp_size size,
                 const void *matrix)
{
    NPP_REFUSE_IF(!from || !to || !matrix, NPP_NULL_POINTER_ERROR);
    NPP_REFUSE_IF(size.width < 0 || size.height < 0, NPP_SIZE_ERROR);
    NPP_PICTURE_OR_LEAVE(from, step, size.width, channels, 1);
    NPP_PICTURE_OR_LEAVE(to, to_step, size.width, channels, 1);
    if (!size.width || !size.height)
        return NPP_SUCCESS;
    struct mupp_twist t = {channels, {from, step}, {{0}}, {to, to_step, size.width, size.height}};
    memcpy(t.m, matrix, sizeof t.m);
    return mu.muppHostTwist(npp_current_stream(), &t);
}
int wrap_nppiColorTwist32f_8u_C1R(const void *from, int step, void *to, int to_step, struct cumu_s8 size,
                                  const void *matrix)
{
    return twist(1, from, step, to, to_step, npp_size(size), matrix);
}
int wrap_nppiColorTwist32f_8u_C3R(const void *from, int step, void *to, int to_step, struct cumu_s8 size,
                                  const void *matrix)
{
    return twist(3, from, step, to, to_step, npp_size(size), matrix);
}
