/* The release of the CUDA runtime that a program is told. */
#ifndef CUMU_API_CUDART_RELEASE_H
#define CUMU_API_CUDART_RELEASE_H

/* CUDART_VERSION (12040 for 12.4) of the runtime that the program would have got of this major version; `newest`, that
 * of the facade, where nothing tells. CUMU_RUNTIME_VERSION goes before. The first call looks for files. */
int cumu_runtime_release(int newest);

#endif
