/* ncclConfig_t as every release of NCCL has had it: fields were only ever appended. */
#include "api/nccl/nccl.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG_LEAST = 24, UNDEFINED = INT_MIN };
#define CONFIG_MAGIC 0xcafebeefu

struct config { /* 2.28.9 */
    size_t size;
    unsigned magic, version;
    int blocking, cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share, traffic_class;
    const char *comm_name;
    int collnet_enable, cta_policy, shrink_share, nvls_ctas;
    int channels_per_net_peer, nvlink_centric_sched;
};
_Static_assert(sizeof(struct config) == 80, "mapping/facts/cuda.md S6");

/* Those whose wrong values NCCL refuses. What is right is taken and, but for `blocking`, means nothing here. */
static const struct field {
    const char *name;
    size_t at, since; /* since: the size of the first struct that has it; in a shorter one padding may be there */
    int least, most;
} fields[] = {
    {"blocking", offsetof(struct config, blocking), 24, 0, 1},
    {"cgaClusterSize", offsetof(struct config, cga_cluster_size), 40, 0, 8},
    {"minCTAs", offsetof(struct config, min_ctas), 40, 1, INT_MAX},
    {"maxCTAs", offsetof(struct config, max_ctas), 40, 1, INT_MAX},
    {"splitShare", offsetof(struct config, split_share), 48, 0, 1},
    {"collnetEnable", offsetof(struct config, collnet_enable), 72, 0, 1},
    {"shrinkShare", offsetof(struct config, shrink_share), 72, 0, 1},
    {"nvlsCTAs", offsetof(struct config, nvls_ctas), 72, 1, INT_MAX},
};

/* Reads a caller's configuration, as much of it as its release had: fields were only ever appended, and `since` is
 * the size from which on a field is there (mapping/facts/cuda.md S6). */
int cumu_nccl_config(const char *call, const void *config, struct nccl_config *out)
{
    struct config c = {0};
    size_t size;
    if (!config)
        return ncclSuccess;
    memcpy(&size, config, sizeof size);
    if (size < CONFIG_LEAST)
        return cumu_nccl_failed(call, ncclInvalidArgument, "config: size %zu is none of NCCL's", size);
    memcpy(&c, config, size < sizeof c ? size : sizeof c);
    if (c.magic != CONFIG_MAGIC)
        return cumu_nccl_failed(call, ncclInvalidArgument, "config was not set to NCCL_CONFIG_INITIALIZER");
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++) {
        const struct field *f = &fields[i];
        int value = UNDEFINED;
        if (size >= f->since)
            memcpy(&value, (const char *)&c + f->at, sizeof value);
        if (value != UNDEFINED && (value < f->least || value > f->most))
            return cumu_nccl_failed(call, ncclInvalidArgument, "config: %s is %d", f->name, value);
    }
    if (size >= 40 && c.min_ctas > c.max_ctas && c.max_ctas != UNDEFINED)
        return cumu_nccl_failed(call, ncclInvalidArgument, "config: minCTAs %d is more than maxCTAs %d", c.min_ctas,
                                c.max_ctas);
    if (size >= 72 && c.comm_name)
        (void)snprintf(out->name, sizeof out->name, "%s", c.comm_name);
    if (c.blocking != UNDEFINED)
        out->blocking = c.blocking;
    return ncclSuccess;
}
