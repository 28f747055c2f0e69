/* Fuzz target of both emitters: what the front end and tier 0 take is written as C for every class
 * of shapes and instruction set of tier 1, and as MUSA C++; nothing is compiled. */
#include "ptx/musa/musa.h"
#include "ptx/tier0/tier0.h"
#include "ptx/tier1/tier1.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void emit(const struct ptx_module *m, const char *kernel, unsigned which)
{
    struct ptx_diag diag = {0};
    struct mu_info info;
    char *text;
    void *image;
    size_t size;
    if (!t1_emit(m, kernel, which % T1_NSHAPES, which / T1_NSHAPES % T1_NISA, &text, &size, &diag)) {
        if (strlen(text) != size)
            abort();
        free(text);
    }
    if (lir_lower_kernel(m, kernel, &image, &size, &diag))
        return;
    for (int target = MU_MUSA; target <= MU_ANY_FLAT; target++)
        if (!mu_emit(m, kernel, image, (enum mu_target)target, &text, &size, &info, &diag)) {
            if (strlen(text) != size || info.prelude > size)
                abort();
            free(text);
        }
    free(image);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_diag diag;
    struct ptx_module *m = ptx_module_open((const char *)data, size, &diag);
    if (!m)
        return 0;
    unsigned which = size ? data[size / 2] : 0;
    for (uint32_t i = 0; i < m->nfunc; i++)
        if (m->func[i].is_entry && !m->func[i].is_decl)
            emit(m, m->func[i].name, which + i);
    ptx_module_close(m);
    return 0;
}
