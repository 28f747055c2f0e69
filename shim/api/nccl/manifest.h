/* The communication manifest: what a program's communicators and buffers have to be (CUMU_COMM_MANIFEST), and
 * what they were (CUMU_COMM_RECORD). All of it off unless one is set.
 *
 *     {"version": 2, "groups": [{"name": "world", "devices": [0, 1], "slots": [
 *         {"name": "activations", "dtype": "float16", "size": 1048576, "bits_per_element": 16,
 *          "load_from_host": false, "store_to_host": false}]}]}
 *
 * devices: by rank; empty means all. size: bytes. A communicator is the group of its commName, or else the next
 * group of the file that its device is in; its registered buffers and windows are the slots, in order. */
#ifndef CUMU_API_NCCL_MANIFEST_H
#define CUMU_API_NCCL_MANIFEST_H

#include "api/nccl/nccl.h"

struct manifest_slot {
    char *name;
    int type; /* ncclDataType_t */
    size_t size;
    bool load, store;
};

struct manifest_group {
    char *name;
    int *devices, ndevices;
    struct manifest_slot *slots;
    int nslots;
    uint64_t key; /* of the communicator it stands for; 0: none yet */
    int rank;     /* recording: the rank of this process whose buffers are written down */
};

struct manifest {
    struct manifest_group *groups;
    int ngroups;
};

/* Reads and checks one. NULL and `why` (with the names of group and field) if anything is not as it should
 * be. The other way: a whole new file in place of the old one; false if it could not be written. */
struct manifest *cumu_manifest_read(const char *path, char *why, size_t room);
bool cumu_manifest_write(const char *path, const struct manifest *m);
void cumu_manifest_free(struct manifest *m);

/* Called with MCCL's communicator not yet made: 0, or an ncclResult. `same` tells whether every rank comes to
 * this result by itself; if not, the ranks have to hear of it. */
int cumu_manifest_check(const char *call, const char *name, uint64_t key, int nranks, int rank, int device, bool *same);
/* After it was made, by every rank; `verdict` is what this one's check said. */
int cumu_manifest_joined(const char *call, struct nccl_comm *c, int verdict);
/* A buffer is registered with it. */
int cumu_manifest_buffer(const char *call, struct nccl_comm *c, size_t size);
/* Memory that was prepared for a slot of this size on the current device, or NULL. */
void *cumu_manifest_memory(size_t size);
/* Frees what was prepared for this communicator and never asked for. */
void cumu_manifest_forget(const struct nccl_comm *c);

#endif
