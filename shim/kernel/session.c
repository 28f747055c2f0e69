/* cuLink sessions: images are added to a module that is never loaded; completing it links their PTX. */
#include <stdlib.h>

#include "compile/link.h"
#include "kernel/module.h"

struct cumu_link {
    uint32_t kind; /* CUMU_H_LINK */
    struct cumu_module *module;
    struct cumu_jit_request log;
    char *text;
    size_t size;
};

int cumu_link_new(const struct cumu_jit_request *log, struct cumu_link **out)
{
    struct cumu_link *l = cumu_handle_new(CUMU_H_LINK);
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->module = cumu_module_new(&l->log, NULL);
    if (!l->module) {
        cumu_handle_free(l);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    l->log = *log;
    if (l->log.error && l->log.error_size)
        l->log.error[0] = '\0';
    if (l->log.info && l->log.info_size)
        l->log.info[0] = '\0';
    *out = l;
    return CUDA_SUCCESS;
}

int cumu_link_add(struct cumu_link *l, const void *data, size_t size)
{
    if (l->text)
        return CUDA_ERROR_INVALID_VALUE; /* complete already */
    int err = cumu_module_add(l->module, data, size);
    CUMU_EACH_UNIT(l->module, u)
    if (!err)
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

/* The PTX text that all units are when they are linked. */
static int link_text(struct cumu_module *m, char **text, size_t *size)
{
    unsigned units = 0, n = 0;
    CUMU_EACH_UNIT(m, u)
    units++;
    if (units == 0)
        return CUDA_ERROR_INVALID_VALUE;
    struct ptx_module **ptx = calloc(units, sizeof *ptx);
    if (!ptx)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUMU_EACH_UNIT(m, u)
    if (cumu_unit_ptx(u))
        ptx[n++] = cumu_unit_ptx(u);
    *text = n ? cumu_ptx_link(ptx, n, size) : NULL;
    free(ptx);
    return *text ? CUDA_SUCCESS : n ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

int cumu_link_complete(struct cumu_link *l, char **text, size_t *size)
{
    int err = l->text ? CUDA_SUCCESS : link_text(l->module, &l->text, &l->size);
    if (err)
        return err;
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
