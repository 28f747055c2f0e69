/* Release 2 of oneDNN, whose layouts are structs that its header alone describes: where that is not here, nothing. */
#if __has_include(<oneapi/dnnl/dnnl.h>)
#include <oneapi/dnnl/dnnl.h>
#endif

#define OF_RELEASE(name) name##_2
#if defined(DNNL_ARG_SHIFT) && DNNL_VERSION_MAJOR == 2 /* 2.4 is the first with shifts by themselves */
#include "host/mudnn/onednn_release.h"
#else
#include "host/mudnn/mudnn.h"

bool OF_RELEASE(dnn_has_onednn)(void) { return false; }
bool OF_RELEASE(dnn_by_onednn)(const struct dnn_floats *f) { return (void)f, false; }
bool OF_RELEASE(dnn_product_by_onednn)(const struct dnn_product *p) { return (void)p, false; }
bool OF_RELEASE(dnn_norm_by_onednn)(const struct dnn_norm_floats *f) { return (void)f, false; }
#endif
