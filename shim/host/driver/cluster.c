/* Clusters of a launch: which blocks form one, whether the kernel and the grid allow it, and what function attributes
 * say about it. */
#include "host/driver/kernel.h"
#include "ptx/lir/image.h"

enum { PORTABLE = 8 }; /* blocks of a cluster that every device takes */

static bool same(const uint32_t a[3], const uint32_t b[3]) { return a[0] == b[0] && a[1] == b[1] && a[2] == b[2]; }

/* What the kernel itself asks for, at compile time or by its attributes; zeros: nothing. */
static void required(MUfunction f, uint32_t cluster[3])
{
    for (unsigned k = 0; k < 3; k++)
        cluster[k] = f->info.cluster.dims[0] ? f->info.cluster.dims[k] : (uint32_t)f->cluster_dims[k];
}

uint32_t host_cluster_most(MUfunction f)
{
    const uint32_t most = f->large_clusters ? LIR_CLUSTER_MAX : PORTABLE, own = f->info.cluster.max;
    return own && own < most ? own : most;
}

/* The launch's own wish comes first, then the kernel's. All that is wrong about a cluster is one error, as in CUDA. A
 * grid that counts clusters (.blocksareclusters) becomes one of blocks. */
MUresult host_cluster_of(const struct host_kernel_launch *k, uint32_t grid[3], uint32_t cluster[3])
{
    const struct lir_cluster_info *info = &k->f->info.cluster;
    uint64_t size = 1;
    required(k->f, cluster);
    if (cluster[0] && info->grid_of_clusters)
        for (unsigned d = 0; d < 3; d++) {
            if ((uint64_t)grid[d] * cluster[d] > INT32_MAX)
                return MUSA_ERROR_INVALID_VALUE;
            grid[d] *= cluster[d];
        }
    if (k->cluster[0] | k->cluster[1] | k->cluster[2]) {
        if ((cluster[0] | cluster[1] | cluster[2]) && !same(cluster, k->cluster))
            return MUSA_ERROR_INVALID_CLUSTER_SIZE;
        for (unsigned d = 0; d < 3; d++)
            cluster[d] = k->cluster[d];
    }
    if (!(cluster[0] | cluster[1] | cluster[2]))
        return info->must_be_set ? MUSA_ERROR_INVALID_CLUSTER_SIZE : MUSA_SUCCESS;
    for (unsigned d = 0; d < 3; d++) {
        size *= cluster[d];
        if (!size || size > host_cluster_most(k->f) || grid[d] % cluster[d])
            return MUSA_ERROR_INVALID_CLUSTER_SIZE;
    }
    return MUSA_SUCCESS;
}

/* ---- attributes ------------------------------------------------------------------------------ */

bool host_cluster_attribute(MUfunction f, MUfunction_attribute attr, int *value)
{
    uint32_t cluster[3];
    switch (attr) {
    case MU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = f->info.cluster.must_be_set != 0; return true;
    case MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        required(f, cluster);
        *value = (int)cluster[attr - MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        return true;
    case MU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = f->large_clusters; return true;
    case MU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = f->cluster_policy; return true;
    default: return false;
    }
}

MUresult host_cluster_set_attribute(MUfunction f, MUfunction_attribute attr, int value)
{
    switch (attr) {
    case MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        if (f->info.cluster.dims[0]) /* what is fixed at compile time stays */
            return MUSA_ERROR_NOT_PERMITTED;
        if (value < 0)
            return MUSA_ERROR_INVALID_VALUE;
        f->cluster_dims[attr - MU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
        return MUSA_SUCCESS;
    case MU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        if (value != 0 && value != 1)
            return MUSA_ERROR_INVALID_VALUE;
        f->large_clusters = value;
        return MUSA_SUCCESS;
    case MU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: /* a hint */
        if (value < MU_CLUSTER_SCHEDULING_POLICY_DEFAULT || value > MU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING)
            return MUSA_ERROR_INVALID_VALUE;
        f->cluster_policy = value;
        return MUSA_SUCCESS;
    default: return MUSA_ERROR_INVALID_VALUE; /* the rest is read only */
    }
}
