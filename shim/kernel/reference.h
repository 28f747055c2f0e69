/* Texture and surface references of CUDA up to 11: variables of a module that hold the handle of a texture
 * or surface object (ptx/front/expand.c reads them so). What the program sets becomes an object at once, whose
 * handle is stored into the variable of the current context. */
#ifndef CUMU_KERNEL_REFERENCE_H
#define CUMU_KERNEL_REFERENCE_H

#include "kernel/kernel.h"

/* What a reference is bound to; type: MU_RESOURCE_TYPE_*, CUMU_UNBOUND: nothing. */
enum { CUMU_UNBOUND = -1 };
struct cumu_binding {
    int type;
    int format; /* MUarray_format and channels of an element */
    unsigned channels;
    union {
        MUarray array;
        MUmipmappedArray mipmap;
        MUdeviceptr address;
    };
    size_t size;                 /* bytes of linear memory */
    size_t width, height, pitch; /* of pitched memory: elements, rows, bytes of a row */
};

struct cumu_sampling { /* the members of MUSA_TEXTURE_DESC that are not reserved */
    int address[3], filter;
    unsigned flags, anisotropy;
    int mip_filter;
    float bias, low, high, border[4];
};

struct cumu_reference {
    uint32_t kind; /* CUMU_H_REFERENCE */
    bool surface;
    struct cumu_module *module; /* NULL: made by cuTexRefCreate, no kernel sees it */
    const char *name;           /* owned */
    struct cumu_binding to;
    struct cumu_sampling how;
    struct reference_object *objects; /* one a context */
    struct cumu_reference *next;      /* of the module */
};

struct cumu_reference *cumu_as_reference(const void *p); /* NULL when p is none */
/* The module's texture or surface reference of this name; CUDA_ERROR_NOT_FOUND. */
int cumu_reference_get(struct cumu_module *m, const char *name, bool surface, struct cumu_reference **out);
/* The same by the address of the program's variable; *as_float: a texture that was declared to read integers
 * as floats. */
int cumu_host_reference(const void *host, bool surface, struct cumu_reference **out, bool *as_float);
/* One that belongs to no module; NULL on out of memory. */
struct cumu_reference *cumu_reference_new(void);
void cumu_reference_free(struct cumu_reference *r);
/* Binds r for the current context. On an error (no such array, memory that does not fit) r stays as it was. */
int cumu_reference_bind(struct cumu_reference *r, const struct cumu_binding *to);
/* What changed in r->how takes effect. */
int cumu_reference_apply(struct cumu_reference *r);
/* Format and channels of an array's elements into *to. */
int cumu_reference_format(MUarray array, struct cumu_binding *to);
/* The module goes. */
void cumu_references_drop(struct cumu_module *m);

#endif
