/* Names and descriptions of MUresult values. */
#include "host/driver/host.h"

#include "abi/text.h"
#include "musa_texts.h"

static const struct cumu_text errors[] = {CUMU_TEXTS_MUresult};

MUresult muGetErrorName(MUresult error, const char **str)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    if (!str)
        return MUSA_ERROR_INVALID_VALUE;
    *str = e ? e->name : NULL;
    return e ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}

MUresult muGetErrorString(MUresult error, const char **str)
{
    const struct cumu_text *e = CUMU_TEXT_FIND(errors, error);
    if (!str)
        return MUSA_ERROR_INVALID_VALUE;
    *str = e ? e->text : NULL;
    return e ? MUSA_SUCCESS : MUSA_ERROR_INVALID_VALUE;
}
