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

/* ---- schemas (schema.c) ------------------------------------------------------------------------ */

#define NVTX_DYNAMIC_ID ((uint64_t)1 << 32) /* from here on numbers are ours, below them the program's */
enum {
    NVTX_TYPE_INT64 = 17,
    NVTX_TYPE_DOUBLE = 20,
    NVTX_TYPE_CATEGORY = 68,
    NVTX_TYPE_COLOR = 69,
    NVTX_TYPE_SCOPE = 70,
    NVTX_TYPE_TEXT = 75, /* to 78: characters of other sizes */
    NVTX_TYPE_TEXT_UTF8 = 76,
    NVTX_TYPE_TEXT_UTF32 = 78,
    NVTX_TYPE_REGISTERED = 80
};
/* Flags of members: what they are, and to which part of an event they belong. */
enum {
    NVTX_IS_POINTER = 1 << 1,
    NVTX_IS_ARRAY = 7 << 4,
    NVTX_KIND = 3 << 10,
    NVTX_IS_MESSAGE = 1 << 10,
    NVTX_IS_TIME = 2 << 10,
    NVTX_ROLE = 7 << 12,
    NVTX_IS_BEGIN = 1 << 12,
    NVTX_IS_END = 2 << 12,
    NVTX_IS_MARK = 3 << 12,
    NVTX_IS_COUNTER = 4 << 12
};
/* A member whose place is known. name: NULL: it has none. clock: whose times it has. scope: by its semantics, or 0. */
struct nvtx_member {
    const char *name;
    uint64_t type, flags, detail, clock, scope;
    size_t offset, size;
};
struct nvtx_schema {
    const char *name;
    uint64_t flags;
    size_t size, alignment, count; /* size: 0 where it is not known beforehand */
    struct nvtx_member *members;
};
/* The next of the numbers that are ours. */
uint64_t cumu_nvtx_new_id(void);
/* What a program registered, which stays; NULL: no such one. */
const struct nvtx_schema *cumu_nvtx_schema_of(const void *domain, uint64_t id);
/* A member's first `n` bytes in a payload of `size` at `at`; false where it has fewer. */
bool cumu_nvtx_read(const struct nvtx_member *m, const void *at, size_t size, void *to, size_t n);
/* The scope that is a member's value; 0: none. */
uint64_t cumu_nvtx_scope_in(const struct nvtx_member *m, const void *at, size_t size);
/* The number that a list of semantics has under this one of its own, of a clock or a scope; or 0. */
enum { NVTX_SEMANTICS_SCOPE = 1, NVTX_SEMANTICS_TIME = 2 };
uint64_t cumu_nvtx_said(const void *semantics, unsigned id);
/* A scope's path, which stays; NULL: it has none (scope.c). */
enum { NVTX_SCOPE_THREAD = 22 };
const char *cumu_nvtx_scope_of(const void *domain, uint64_t id);
/* A number of a predefined type as text; its size, or 0: it is none, or there are fewer bytes. at NULL: only the
 * size. */
size_t cumu_nvtx_number(uint64_t type, const void *at, size_t size, char text[32]);

/* An event that a program tells behind its time (ranges.c): a range, or with an end of 0 a mark. Of the tracer's
 * clock. scope: its path, or NULL. */
void cumu_nvtx_tell(const void *domain, const struct nvtx_attributes *a, const char *scope, uint64_t start,
                    uint64_t end);
/* Those that it tells at their time. */
void cumu_nvtx_mark(const void *domain, const struct nvtx_attributes *a, const char *scope);
int cumu_nvtx_push(const void *domain, const struct nvtx_attributes *a, const char *scope);
uint64_t cumu_nvtx_start(const void *domain, const struct nvtx_attributes *a, const char *scope);

/* A time of a clock as one of the tracer's; false: nobody knows that clock (clock.c). */
bool cumu_nvtx_time(const void *domain, uint64_t clock, int64_t ticks, uint64_t *ns);

/* ---- functions of the extensions, as their headers call them ------------------------------------ */

/* Payloads by schemas (schema.c, payload.c). */
uint64_t cumu_nvtx_schema(const void *domain, const void *attributes);
uint64_t cumu_nvtx_enumeration(const void *domain, const void *attributes);
void cumu_nvtx_payload_mark(void *domain, const void *payloads, size_t count);
int cumu_nvtx_payload_push(void *domain, const void *payloads, size_t count);
int cumu_nvtx_payload_pop(void *domain, const void *payloads, size_t count);
uint64_t cumu_nvtx_payload_start(void *domain, const void *payloads, size_t count);
void cumu_nvtx_payload_end(void *domain, uint64_t id, const void *payloads, size_t count);
void cumu_nvtx_submit(const void *domain, const void *payloads, size_t count);
void cumu_nvtx_submit_batch(const void *domain, const void *batch);

/* Clocks and scopes (clock.c, scope.c). */
int64_t cumu_nvtx_now(void);
uint64_t cumu_nvtx_scope(const void *domain, const void *attributes);
uint64_t cumu_nvtx_clock(const void *domain, const void *attributes);
void cumu_nvtx_synchronise(const void *domain, uint64_t one, uint64_t other, int64_t at_one, int64_t at_other);
void cumu_nvtx_synchronise_all(const void *domain, uint64_t from, uint64_t to, const void *points, size_t count);
void cumu_nvtx_convert(const void *domain, uint64_t from, uint64_t to, double slope, int64_t at_from, int64_t at_to);

/* Counters (counter.c). */
uint64_t cumu_nvtx_counter(const void *domain, const void *attributes);
void cumu_nvtx_count_integer(const void *domain, uint64_t id, int64_t value);
void cumu_nvtx_count_real(const void *domain, uint64_t id, double value);
void cumu_nvtx_count(const void *domain, uint64_t id, const void *value, size_t size);
void cumu_nvtx_count_none(const void *domain, uint64_t id, uint8_t reason);
void cumu_nvtx_count_batch(const void *domain, const void *batch);

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
