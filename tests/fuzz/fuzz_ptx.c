/* Fuzz target of the PTX front end: opens a module and takes every function through all steps; what can
 * be dumped is dumped. */
#include "ptx/ir.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ptx_shape shapes[] = {{{256, 1, 1}, true}, {{16, 16, 1}, true}};
    static FILE *sink;
    struct ptx_diag diag;
    struct ptx_module *m = ptx_module_open((const char *)data, size, &diag);
    if (!m)
        return 0;
    if (!sink)
        sink = fopen("/dev/null", "w");
    for (uint32_t i = 0; i < m->nfunc; i++) {
        struct ptx_func *f = &m->func[i];
        if (ptx_analyse(f, &shapes[i % 2], &diag))
            continue;
        if (sink)
            ptx_dump_func(f, sink);
    }
    if (sink)
        ptx_dump_module(m, sink);
    ptx_module_close(m);
    return 0;
}
