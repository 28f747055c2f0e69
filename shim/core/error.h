/* The shim's own per-thread last error, kept beside the one of the MUSA runtime below: wrappers that
 * fail by themselves return cumu_cuda_error(code), and cudaGetLastError looks here first. */
#ifndef CUMU_CORE_ERROR_H
#define CUMU_CORE_ERROR_H

/* Sets the calling thread's last error (0 leaves it as it is, as success does in CUDA). */
void cumu_set_error(int code);
/* The same, and hands the code back: `return cumu_cuda_error(cudaErrorInvalidValue);`. */
int cumu_cuda_error(int code);
/* Last error without and with clearing it; 0 when there is none. */
int cumu_peek_error(void);
int cumu_take_error(void);

#endif
