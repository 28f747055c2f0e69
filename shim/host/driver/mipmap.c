/* Mipmapped arrays: a chain of arrays, each half the size of the one before. */
#include "host/driver/internal.h"
#include "host/driver/memcheck.h"

static struct host_slab mipmaps = HOST_SLAB(struct MUmipmappedArray_st, "mipmapped array");

bool host_mipmap_live(MUmipmappedArray m) { return host_slab_live(&mipmaps, m); }

static void destroy(MUmipmappedArray m)
{
    for (unsigned k = 0; k < m->levels; k++)
        host_array_free(m->level[k]);
    host_slab_put(&mipmaps, m);
}

static size_t half(size_t n) { return n > 1 ? n / 2 : n; /* 0: the dimension is not there */ }

/* Makes an array for each level, each half as large as the one before; layers are not halved. */
MUresult muMipmappedArrayCreate(MUmipmappedArray *mipmap, const MUSA_ARRAY3D_DESCRIPTOR *desc, unsigned int levels)
{
    MUcontext ctx;
    MUresult r = host_enter(&ctx);
    if (r)
        return r;
    if (!mipmap || !desc || !levels)
        return MUSA_ERROR_INVALID_VALUE;
    bool volume = !(desc->Flags & (MUSA_ARRAY3D_LAYERED | MUSA_ARRAY3D_CUBEMAP));
    MUSA_ARRAY3D_DESCRIPTOR d = *desc;
    MUmipmappedArray m = host_slab_get(&mipmaps);
    if (!m)
        return MUSA_ERROR_OUT_OF_MEMORY;
    m->ctx = ctx;
    for (unsigned k = 0; k < levels && k < sizeof m->level / sizeof *m->level; k++) {
        r = host_array_make(ctx, &d, &m->level[k]);
        if (r) {
            destroy(m);
            return r;
        }
        m->level[k]->level = true;
        m->levels++;
        if (d.Width <= 1 && d.Height <= 1 && (!volume || d.Depth <= 1))
            break; /* more levels than there are sizes: as many as there are */
        d.Width = half(d.Width);
        d.Height = half(d.Height);
        d.Depth = volume ? half(d.Depth) : d.Depth;
    }
    size_t bytes = 0;
    for (unsigned k = 0; k < m->levels; k++)
        bytes += host_array_bytes(m->level[k]);
    host_memcheck_array(m->level[0]->data, bytes, ctx);
    *mipmap = m;
    return MUSA_SUCCESS;
}

MUresult muMipmappedArrayGetLevel(MUarray *array, MUmipmappedArray m, unsigned int level)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_mipmap_live(m))
        return MUSA_ERROR_INVALID_HANDLE;
    if (!array || level >= m->levels)
        return MUSA_ERROR_INVALID_VALUE;
    *array = m->level[level];
    return MUSA_SUCCESS;
}

MUresult muMipmappedArrayDestroy(MUmipmappedArray m)
{
    MUresult r = host_ready();
    if (r)
        return r;
    if (!host_mipmap_live(m))
        return MUSA_ERROR_INVALID_HANDLE;
    r = host_ctx_wait(m->ctx);
    destroy(m);
    return r;
}

void host_mipmaps_ctx_gone(MUcontext ctx)
{
    for (MUmipmappedArray m = NULL; (m = host_slab_next(&mipmaps, m));)
        if (m->ctx == ctx)
            destroy(m);
}
