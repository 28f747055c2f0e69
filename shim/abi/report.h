/* What cumu's own driver on the CPU has for the rest of cumu alone, where it checks kernels: vendors' libraries do not
 * have it. */
#ifndef CUMU_ABI_REPORT_H
#define CUMU_ABI_REPORT_H

/* The report of a call that returned an error (CUMU_CHECK=memory). */
#define CUMU_HOST_REPORT_CALL "cumu_host_report_call"
typedef void cumu_host_report_call_t(const char *function, const char *name, int error, const char *text);

/* Mode of the file of reports that cumu memcheck reads, once it did not take one of them whole. */
#define CUMU_HOST_REPORTS_LOST 0700

#endif
