/* The wire of a build without UCX's headers: it cannot be opened, so that communicators end at the host, with a line
 * that says why. */
#include <stdio.h>

#include "host/mccl/net/wire.h"

#if !__has_include(<ucp/api/ucp.h>)

struct mccl_wire *mccl_wire_open(int nranks, int rank, char *text, size_t size)
{
    (void)nranks, (void)rank;
    snprintf(text, size, "this build of cumu was made without UCX's headers (Debian: libucx-dev)");
    return NULL;
}
const void *mccl_wire_address(const struct mccl_wire *w, size_t *bytes)
{
    (void)w;
    *bytes = 0;
    return NULL;
}
bool mccl_wire_peer(struct mccl_wire *w, int peer, const void *address, size_t bytes)
{
    return (void)w, (void)peer, (void)address, (void)bytes, false;
}
void mccl_wire_send(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, const void *from, size_t bytes)
{
    (void)w, (void)f, (void)peer, (void)tag, (void)from, (void)bytes;
}
void mccl_wire_receive(struct mccl_wire *w, struct mccl_flight *f, int peer, uint64_t tag, uint64_t mask, void *to,
                       size_t bytes)
{
    (void)w, (void)f, (void)peer, (void)tag, (void)mask, (void)to, (void)bytes;
}
bool mccl_wire_progress(struct mccl_wire *w) { return (void)w, false; }
void mccl_wire_drain(struct mccl_wire *w) { (void)w; }
bool mccl_wire_greet(struct mccl_wire *w, const bool *peers, int patience_ms, bool (*give_up)(void *), void *arg,
                     int *who, const char **why)
{
    return (void)w, (void)peers, (void)patience_ms, (void)give_up, (void)arg, (void)who, (void)why, false;
}
int mccl_wire_descriptor(const struct mccl_wire *w) { return (void)w, -1; }
bool mccl_wire_arm(struct mccl_wire *w) { return (void)w, false; }
unsigned mccl_wire_moves(const struct mccl_wire *w) { return (void)w, 0; }
void mccl_wire_cancel(struct mccl_wire *w) { (void)w; }
void mccl_wire_flush(struct mccl_wire *w, const _Atomic bool *gone, int patience_ms, bool (*give_up)(void *), void *arg)
{
    (void)w, (void)gone, (void)patience_ms, (void)give_up, (void)arg;
}
void mccl_wire_close(struct mccl_wire *w) { (void)w; }
void mccl_wire_put(struct mccl_wire *w, struct mccl_flight *f, int peer, const struct mccl_put *put, const void *from,
                   size_t bytes)
{
    (void)w, (void)f, (void)peer, (void)put, (void)from, (void)bytes;
}
void mccl_wire_take(struct mccl_wire *w, void (*take)(void *, const struct mccl_put *, const void *, size_t), void *arg)
{
    (void)w, (void)take, (void)arg;
}
uint64_t mccl_wire_taken(const struct mccl_wire *w, int peer) { return (void)w, (void)peer, 0; }
void mccl_wire_known(struct mccl_wire *w, bool known) { (void)w, (void)known; }
void mccl_wire_settled(struct mccl_wire *w) { (void)w; }
const char *mccl_wire_error(int status) { return (void)status, ""; }
bool mccl_wire_truncated(int status) { return (void)status, false; }

#endif
