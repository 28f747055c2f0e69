/* oneDNN of the release that is here: 3, else 2. */
#include "host/mudnn/mudnn.h"

#define RELEASE(n) \
    bool dnn_has_onednn_##n(void); \
    bool dnn_product_by_onednn_##n(const struct dnn_product *p); \
    bool dnn_by_onednn_##n(const struct dnn_floats *f); \
    bool dnn_norm_by_onednn_##n(const struct dnn_norm_floats *f);
RELEASE(2)
RELEASE(3)

bool dnn_has_onednn(void) { return dnn_has_onednn_3() || dnn_has_onednn_2(); }

bool dnn_product_by_onednn(const struct dnn_product *p)
{
    return dnn_has_onednn_3() ? dnn_product_by_onednn_3(p) : dnn_product_by_onednn_2(p);
}

bool dnn_by_onednn(const struct dnn_floats *f) { return dnn_has_onednn_3() ? dnn_by_onednn_3(f) : dnn_by_onednn_2(f); }

bool dnn_norm_by_onednn(const struct dnn_norm_floats *f)
{
    return dnn_has_onednn_3() ? dnn_norm_by_onednn_3(f) : dnn_norm_by_onednn_2(f);
}
