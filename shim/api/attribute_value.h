/* Values of launch attributes on their way between programs and MUSA, whose unions may have other sizes.
 *
 * A union has 32 bytes up to CUDA 11.7 and at MUSA 3.1.0, 64 in newer ones (mapping/facts/musa.md S3); no value takes
 * more than 32. A symbol of libcudart.so.12 or later belongs to a caller of 64; one of libcuda.so.1 or
 * libcudart.so.11.0 may belong to either. So MUSA gets 64 bytes of ours: the attribute's own, and zeroes, as what lies
 * behind them is nothing that the caller can have meant; and the caller gets the attribute's own and zeroes as far as
 * its union surely reaches. */
#ifndef CUMU_API_ATTRIBUTE_VALUE_H
#define CUMU_API_ATTRIBUTE_VALUE_H

#include "api/api.h"

#include <string.h>

/* Bytes of the attribute's own value; those of a whole small union where the attribute is not known. */
size_t cumu_attribute_size(int id);

#define CUMU_ATTRIBUTE_GET(call, on, id, value, sure) \
    ({ \
        MUlaunchAttributeValue full_ = {{0}}; \
        int err_ = call((void *)(on), id, &full_); \
        if (!err_) { \
            memset(value, 0, sure); \
            memcpy(value, &full_, cumu_attribute_size(id)); \
        } \
        err_; \
    })
#define CUMU_ATTRIBUTE_SET(call, on, id, value) \
    ({ \
        MUlaunchAttributeValue full_ = {{0}}; \
        memcpy(&full_, value, cumu_attribute_size(id)); \
        call((void *)(on), id, &full_); \
    })

#endif
