/* The functions of UCX (libucp) that the wire calls. The library is opened when the first communicator of several hosts
 * is made. Only where UCX's headers are, which are public. */
#ifndef CUMU_HOST_MCCL_UCX_H
#define CUMU_HOST_MCCL_UCX_H

#include <ucp/api/ucp.h>

#define MCCL_UCX(F) \
    F(ucp_config_read) \
    F(ucp_config_modify) \
    F(ucp_config_release) \
    F(ucp_init_version) \
    F(ucp_cleanup) \
    F(ucp_worker_create) \
    F(ucp_worker_destroy) \
    F(ucp_worker_get_address) \
    F(ucp_worker_release_address) \
    F(ucp_worker_progress) \
    F(ucp_worker_get_efd) \
    F(ucp_worker_arm) \
    F(ucp_worker_set_am_recv_handler) \
    F(ucp_am_send_nbx) \
    F(ucp_ep_create) \
    F(ucp_ep_close_nbx) \
    F(ucp_tag_send_nbx) \
    F(ucp_tag_recv_nbx) \
    F(ucp_request_cancel) \
    F(ucp_request_free) \
    F(ucp_request_check_status) \
    F(ucs_status_string)

#define MCCL_UCX_MEMBER(f) __typeof__(f) *f;
extern struct mccl_ucx {
    MCCL_UCX(MCCL_UCX_MEMBER)
} mccl_ucx;

/* NULL, or why UCX cannot be used. */
const char *mccl_ucx_open(void);

#endif
