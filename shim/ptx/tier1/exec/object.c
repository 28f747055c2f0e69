/* Tier 1 execution: loads objects. The dynamic linker takes files only, so an object passes through a
 * file in memory: nothing another process could exchange. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ptx/tier1/exec/object.h"

static bool write_all(int fd, const char *p, size_t n)
{
    while (n) {
        ssize_t k = write(fd, p, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* The linker takes a name it has seen for the object it has loaded, and descriptors are used again. So
 * every load spells its name differently: the serial number's bits as "/" and "./". */
static void spell(char *path, size_t room, int fd, uint64_t serial)
{
    int n = snprintf(path, room, "/proc/self/fd/");
    for (; serial; serial >>= 1)
        n += snprintf(path + n, room - (size_t)n, serial & 1 ? "./" : "/");
    snprintf(path + n, room - (size_t)n, "%d", fd);
}

static void *open_memory(const void *object, size_t size, uint64_t serial, const char **why)
{
    static _Thread_local char text[160];
    char path[256];
    void *handle = NULL;
    *why = "no memory for its object";
    int fd = memfd_create("cumu-kernel", MFD_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (write_all(fd, object, size)) {
        spell(path, sizeof path, fd, serial);
        handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            const char *reason = dlerror();
            snprintf(text, sizeof text, "%s", reason ? reason : "dlopen failed");
            *why = text;
        }
    }
    close(fd);
    return handle;
}

struct t1_object *t1_object_load(const void *object, size_t size, const char **why)
{
    static atomic_uint_fast64_t serials = 1;
    struct t1_object *o = calloc(1, sizeof *o);
    *why = "out of memory";
    if (!o)
        return NULL;
    o->serial = atomic_fetch_add(&serials, 1);
    o->handle = open_memory(object, size, o->serial, why);
    if (!o->handle)
        goto fail;
    *(void **)&o->run = dlsym(o->handle, "cumu_t1_run");
    o->info = dlsym(o->handle, "cumu_t1_info");
    *why = "not a kernel's object";
    if (!o->run || !o->info)
        goto fail;
    *why = "object of another version";
    if (o->info->version != T1_VERSION)
        goto fail;
    *why = "object for another CPU";
    if (o->info->isa > (uint32_t)t1_isa_here())
        goto fail;
    return o;
fail:
    t1_object_unload(o);
    return NULL;
}

void t1_object_unload(struct t1_object *o)
{
    if (!o)
        return;
    if (o->handle)
        dlclose(o->handle);
    free(o->externs);
    free(o);
}

bool t1_object_bind(struct t1_object *o, const struct t0_kernel *k)
{
    const struct lir_image *image = k->module->image;
    const struct lir_extern *e = LIR_AT(image, externs, struct lir_extern);
    uint64_t *all = calloc(image->externs.count + 1, sizeof *all);
    if (!all)
        return false;
    for (uint32_t i = 0; i < image->externs.count; i++)
        all[i] = e[i].address;
    free(o->externs);
    o->externs = all;
    return true;
}
