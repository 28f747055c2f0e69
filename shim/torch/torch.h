/* Facades of PyTorch's CUDA libraries: what gen/ makes from mapping/torch, and the parts of libcumu-torch.so,
 * which those facades load and no process without PyTorch ever sees. */
#ifndef CUMU_TORCH_TORCH_H
#define CUMU_TORCH_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CUMU_TORCH_API __attribute__((visibility("default")))

struct cumu_torch_symbol { /* one function that a facade exports */
    const char *name;      /* "_ZN3c104cuda12device_countEv" */
    const char *target;    /* "_ZN3c104musa12device_countEv" */
    void (*wrap)(void);    /* stands before target; or NULL */
    const char *bridge;    /* function of the bridge that does; or NULL */
    const char *reason;    /* why calls fail; or NULL */
};
struct cumu_torch_data { /* one variable, of the size of a pointer */
    const char *name;
    void **address;
};
struct cumu_torch_facade { /* lives in the facade; symbols and data end with a NULL name */
    const char *soname;
    const struct cumu_torch_symbol *symbols;
    const struct cumu_torch_data *data;
    void **slots;
    void (*const *stubs)(void); /* entry i calls cumu_torch_missing(f, i) */
};

struct cumu_torch_number { /* an enumerator of DispatchKey or DeviceType, and what it becomes */
    const char *cuda, *musa;
    uint16_t from, to;
    bool device;
};
struct cumu_torch_release {
    const char *version;                     /* "2.7" */
    const struct cumu_torch_number *numbers; /* ends with cuda NULL */
};

/* Emitted by gen/; each ends with an entry of NULLs. */
extern const char *const cumu_torch_below[];
extern const struct cumu_torch_release cumu_torch_releases[];

/* A facade came into the process. */
CUMU_TORCH_API void cumu_torch_loaded(const struct cumu_torch_facade *f);
/* First call of a slot: never NULL; stores the address unless the name is not there yet. */
CUMU_TORCH_API void *cumu_torch_fill(const struct cumu_torch_facade *f, unsigned index);
/* A call that cannot be served: logs one line that names it and throws std::runtime_error into the caller,
 * as PyTorch's own functions do. */
CUMU_TORCH_API void cumu_torch_missing(const struct cumu_torch_facade *f, unsigned index);

/* Address of a function of the bridge to the loaded PyTorch; NULL if there is no bridge to it. */
void *cumu_torch_bridge(const char *name);
/* Address of a C++ name in torch_musa or PyTorch as loaded in this process; NULL if it is not there. */
void *cumu_torch_find(const char *symbol);
/* File name of the loaded library that begins so; false if there is none. */
bool cumu_torch_library(const char *prefix, char *name, size_t room);
/* Throws std::runtime_error(text). Returns only where the process has no C++ library. */
void cumu_torch_throw(const char *text);

/* What is known of the loaded PyTorch: its release in mapping/torch, checked against the names that the library
 * itself gives to the numbers. NULL, said once, when there is none or it is another. */
CUMU_TORCH_API const struct cumu_torch_release *cumu_torch_release(void);
/* What `cuda` becomes in the loaded release, by name; -1 if it is not known there. */
CUMU_TORCH_API int cumu_torch_number(const char *cuda, bool device, bool musa);

#endif
