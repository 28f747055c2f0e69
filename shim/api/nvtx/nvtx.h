/* NVTX: ranges and marks that a program names itself. Its functions are reached in two ways, by the facades
 * (libnvToolsExt.so.1, libnvtx3interop.so.1) and by the pointers that NVTX 3's headers hand to an injection library
 * (inject.c); both lead to the wrappers here, and what they hear goes to the tracer. Layouts and numbers: NVTX's
 * public headers (NVIDIA/NVTX, Apache 2.0 with LLVM exceptions). */
#ifndef CUMU_API_NVTX_H
#define CUMU_API_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { NVTX_NO_TRACKING = -2 }; /* of push and pop while nobody listens, as the headers answer */
enum { NVTX_COLOR_ARGB = 1 };
enum { NVTX_MESSAGE_ASCII = 1, NVTX_MESSAGE_UNICODE, NVTX_MESSAGE_REGISTERED };
enum {
    NVTX_PAYLOAD_U64 = 1,
    NVTX_PAYLOAD_I64,
    NVTX_PAYLOAD_DOUBLE,
    NVTX_PAYLOAD_U32,
    NVTX_PAYLOAD_I32,
    NVTX_PAYLOAD_FLOAT
};

struct nvtx_attributes { /* nvtxEventAttributes_t, versions 1 to 3 */
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double d;
        uint32_t u32;
        int32_t i32;
        float f;
    } payload;
    int32_t message_type;
    const void *message; /* char, wchar_t or a handle */
};

/* ---- names (names.c) ------------------------------------------------------------------------- */

/* A handle for the text, the same for the same one: of a domain (`domain` is NULL), or of a string that is
 * registered in a domain. NULL without memory. */
void *cumu_nvtx_register(const char *text, const void *domain);
/* The text of such a handle, which stays; NULL of any other. */
const char *cumu_nvtx_text(const void *handle, bool of_domain);
void cumu_nvtx_name_category(const void *domain, uint32_t category, const char *text);
const char *cumu_nvtx_category(const void *domain, uint32_t category); /* NULL: it has no name */
/* Wide characters as UTF-8, malloc'ed; NULL if s is, or without memory. */
char *cumu_nvtx_narrow(const wchar_t *s);

/* ---- who listens ----------------------------------------------------------------------------- */

/* Whether ranges and marks are wanted by anybody; while not, they cost a look. */
bool cumu_nvtx_wanted(void);
/* From now on they are wanted (CUPTI's markers), or no longer by who said so before. */
void cumu_nvtx_want(bool on);
/* inject.c: points the functions of the headers that came here to the wrappers. */
void cumu_nvtx_attach(void);
/* What InitializeInjectionNvtx2 does: 1, or 0 when nothing was taken. */
int cumu_nvtx_inject(void *export_table);

/* ---- CUPTI's markers (api/cupti/record.c) ------------------------------------------------------- */

struct nvtx_marker {
    uint64_t id, at;                          /* at: of the tracer's clock */
    const char *name, *domain;                /* they stay; domain NULL: the default one */
    uint32_t flags;                           /* CUPTI's: 1 a mark, 2 a begin, 4 an end */
    bool thread;                              /* a range of its thread's, not of the process */
    const struct nvtx_attributes *attributes; /* of what has any; else NULL */
};
void cumu_cupti_marker(const struct nvtx_marker *m);
void cumu_cupti_lose_marker(void); /* counts one that there was no memory for */

/* Payloads by schemas (payload.c), as the headers of NVTX's extension call them. */
uint64_t cumu_nvtx_schema(const void *domain, const void *attributes);
uint64_t cumu_nvtx_enumeration(const void *domain, const void *attributes);
void cumu_nvtx_payload_mark(void *domain, const void *payloads, size_t count);
int cumu_nvtx_payload_push(void *domain, const void *payloads, size_t count);
int cumu_nvtx_payload_pop(void *domain, const void *payloads, size_t count);
uint64_t cumu_nvtx_payload_start(void *domain, const void *payloads, size_t count);
void cumu_nvtx_payload_end(void *domain, uint64_t id, const void *payloads, size_t count);

/* Counters (counter.c), in the same way. */
uint64_t cumu_nvtx_counter(const void *domain, const void *attributes);
void cumu_nvtx_count_integer(const void *domain, uint64_t id, int64_t value);
void cumu_nvtx_count_real(const void *domain, uint64_t id, double value);
void cumu_nvtx_count(const void *domain, uint64_t id, const void *value, size_t size);
void cumu_nvtx_count_none(const void *domain, uint64_t id, uint8_t reason);

/* Extensions of NVTX: slots of functions, which their headers call where they are set. */
struct nvtx_segment {
    size_t id, count;
    intptr_t *slots;
};
struct nvtx_module {
    uint16_t version, size, id, compatible;
    size_t segments;
    struct nvtx_segment *segment;
};
/* Takes the memory API's functions; false where no tool wants them. */
int cumu_nvtx_memory(struct nvtx_module *m);

#endif
