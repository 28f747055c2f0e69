/* cuLink sessions: images are added to a module that is never loaded; completing it links their PTX. */
#include <stdlib.h>

#include "kernel/module.h"
#include "compile/link.h"

struct cumu_link {
    uint32_t kind; /* CUMU_H_LINK */
    struct cumu_module *module;
    struct cumu_jit_log log;
    char *text;
    size_t size;
};

int cumu_link_new(const struct cumu_jit_log *log, struct cumu_link **out)
{
    struct cumu_link *l = cumu_handle_new(CUMU_H_LINK);
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->module = cumu_module_new();
    if (!l->module) {
        cumu_handle_free(l);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    l->log = *log;
    if (l->log.error && l->log.error_size)
        l->log.error[0] = '\0';
    if (l->log.info && l->log.info_size)
        l->log.info[0] = '\0';
    l->module->log = &l->log;
    *out = l;
    return CUDA_SUCCESS;
}

int cumu_link_add(struct cumu_link *l, const void *data, size_t size)
{
    if (l->text)
        return CUDA_ERROR_INVALID_VALUE; /* complete already */
    int err = cumu_module_add(l->module, data, size);
    for (struct cumu_unit *u = l->module->units; u && !err; u = u->next)
        err = cumu_unit_open(u);
    return err;
}

int cumu_link_add_file(struct cumu_link *l, const char *path)
{
    char *data;
    size_t size;
    int err = cumu_read_file(path, &data, &size);
    if (err)
        return err;
    err = cumu_link_add(l, data, size);
    free(data);
    return err;
}

int cumu_link_complete(struct cumu_link *l, char **text, size_t *size)
{
    struct ptx_module **units = NULL;
    unsigned n = 0;
    if (!l->text) {
        for (struct cumu_unit *u = l->module->units; u; u = u->next)
            n++;
        if (n == 0)
            return CUDA_ERROR_INVALID_VALUE;
        units = calloc(n, sizeof *units);
        if (!units)
            return CUDA_ERROR_OUT_OF_MEMORY;
        n = 0;
        for (struct cumu_unit *u = l->module->units; u; u = u->next)
            if (u->ptx)
                units[n++] = u->ptx;
        l->text = n ? cumu_ptx_link(units, n, &l->size) : NULL;
        free(units);
        if (!l->text)
            return n ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    *text = l->text;
    *size = l->size + 1;
    return CUDA_SUCCESS;
}

void cumu_link_free(struct cumu_link *l)
{
    cumu_module_unload(l->module);
    free(l->text);
    cumu_handle_free(l);
}
