/* What copy.c and array.c share. */
#ifndef CUMU_HOST_RUNTIME_COPY_H
#define CUMU_HOST_RUNTIME_COPY_H

#include "host/runtime/rt.h"

bool rt_kind_valid(musaMemcpyKind kind);
/* Where the ends of a copy of this kind lie; Default leaves it to the addresses. */
MUmemorytype rt_source_type(musaMemcpyKind kind);
MUmemorytype rt_target_type(musaMemcpyKind kind);
/* The driver's descriptor of a 3D copy. */
MUresult rt_plan_3d(MUSA_MEMCPY3D *c, const musaMemcpy3DParms *p);
/* A 3D copy after all checks; `async` chooses between the stream and waiting. */
MUresult rt_copy_3d(const musaMemcpy3DParms *p, bool async, musaStream_t stream);

#endif
