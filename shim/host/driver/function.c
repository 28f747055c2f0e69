/* Function attributes: what a kernel needs and what the application asked for it. */
#include "host/driver/kernel.h"

#define ARCH 31 /* reported as binary and PTX version: mp_31 */

static int device_attribute(MUfunction f, int attribute)
{
    return host_device_attribute(f->module->ctx->device, attribute);
}

static MUresult enter(MUfunction f)
{
    MUresult r = host_enter(NULL);
    return r ? r : host_function_live(f) ? MUSA_SUCCESS : MUSA_ERROR_INVALID_HANDLE;
}

int host_function_max_dynamic(MUfunction f)
{
    int set = f->max_dynamic;
    int usual = device_attribute(f, MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) - (int)f->info.shared_size;
    return set >= 0 ? set : usual > 0 ? usual : 0;
}

/* What is known of a kernel, from the image's record. Versions are those of the architecture that programs are told.
 * */
MUresult muFuncGetAttribute(int *value, MUfunction_attribute attr, MUfunction f)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (!value)
        return MUSA_ERROR_INVALID_VALUE;
    switch (attr) {
    case MU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = (int)f->info.max_threads; break;
    case MU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = (int)f->info.shared_size; break;
    case MU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = (int)f->info.local_size; break;
    case MU_FUNC_ATTRIBUTE_NUM_REGS: *value = (int)f->info.num_regs; break;
    case MU_FUNC_ATTRIBUTE_PTX_VERSION:
    case MU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = ARCH; break;
    case MU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = host_function_max_dynamic(f); break;
    case MU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = f->carveout; break;
    case MU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: /* constant variables have modules of their own */
    case MU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    default:
        if (!host_cluster_attribute(f, attr, value))
            return MUSA_ERROR_INVALID_VALUE;
    }
    return MUSA_SUCCESS;
}

MUresult muFuncSetAttribute(MUfunction f, MUfunction_attribute attr, int value)
{
    MUresult r = enter(f);
    if (r)
        return r;
    int optin = device_attribute(f, MU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    switch (attr) {
    case MU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        if (value < 0 || value > optin - (int)f->info.shared_size)
            return MUSA_ERROR_INVALID_VALUE;
        f->max_dynamic = value;
        return MUSA_SUCCESS;
    case MU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: /* a hint, in percent */
        if (value < -1 || value > 100)
            return MUSA_ERROR_INVALID_VALUE;
        f->carveout = value;
        return MUSA_SUCCESS;
    default: return host_cluster_set_attribute(f, attr, value);
    }
}

MUresult muFuncSetCacheConfig(MUfunction f, MUfunc_cache config)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (config < MU_FUNC_CACHE_PREFER_NONE || config > MU_FUNC_CACHE_PREFER_EQUAL)
        return MUSA_ERROR_INVALID_VALUE;
    f->cache_config = config;
    return MUSA_SUCCESS;
}

MUresult muFuncSetSharedMemConfig(MUfunction f, MUsharedconfig config)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (config < MU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > MU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return MUSA_ERROR_INVALID_VALUE;
    f->shared_config = config;
    return MUSA_SUCCESS;
}

MUresult muFuncGetModule(MUmodule *module, MUfunction f)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (!module)
        return MUSA_ERROR_INVALID_VALUE;
    *module = f->module;
    return MUSA_SUCCESS;
}

MUresult muFuncGetName(const char **name, MUfunction f)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (!name)
        return MUSA_ERROR_INVALID_VALUE;
    *name = f->info.name;
    return MUSA_SUCCESS;
}

MUresult muFuncGetParamInfo(MUfunction f, size_t index, size_t *offset, size_t *size)
{
    MUresult r = enter(f);
    if (r)
        return r;
    if (!offset || index >= f->info.nparam)
        return MUSA_ERROR_INVALID_VALUE;
    *offset = f->info.param[index].offset;
    if (size)
        *size = f->info.param[index].size;
    return MUSA_SUCCESS;
}
