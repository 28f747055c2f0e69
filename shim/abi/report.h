/* What cumu's own driver on the CPU exports for the shim alone: the report of a call that returned an error
 * (CUMU_CHECK=memory). Vendors' libraries do not have it. */
#ifndef CUMU_ABI_REPORT_H
#define CUMU_ABI_REPORT_H

#define CUMU_HOST_REPORT_CALL "cumu_host_report_call"
typedef void cumu_host_report_call_t(const char *function, const char *name, int error, const char *text);

#endif
