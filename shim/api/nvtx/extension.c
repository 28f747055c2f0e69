/* Extensions of NVTX's headers: memory, payloads by schema, counters. At a program's first call of one they ask the
 * injection library for its module by InitializeInjectionNvtxExtension. Whether a domain is enabled is one of the
 * functions of payloads, which Python's nvtx asks before it makes any range: an injection library that refuses the
 * module has no domains. */
#include "api/nvtx/nvtx.h"
#include "core/core.h"

#include <stddef.h>
#include <stdint.h>

enum { MODULE_MEMORY = 1, MODULE_PAYLOAD = 2, MODULE_COUNTERS = 4 };
/* Numbers of functions of payloads, and of counters. Those that call a program's own clock (10, 11) stay the headers'
 * own, which do nothing. */
enum { SCHEMA, ENUMERATION, MARK, PUSH, POP, START, END, IS_ENABLED, NOW, CLOCK, SCOPE = 12, SYNCHRONISE };
enum { SYNCHRONISE_ALL = 14, CONVERT, SUBMIT, SUBMIT_BATCH };
enum { COUNTER, SAMPLE_INTEGER, SAMPLE_REAL, SAMPLE, SAMPLE_NONE, SAMPLE_BATCH };

/* A profiler may come later. */
static uint8_t is_enabled(const void *domain)
{
    (void)domain;
    return 1;
}

typedef void (*function)(void);
struct slot {
    size_t slot;
    function function;
};
static void take(const struct nvtx_segment *s, const struct slot *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (all[i].slot < s->count)
            __atomic_store_n(&s->slots[all[i].slot], (intptr_t)all[i].function, __ATOMIC_RELEASE);
}

static void take_payloads(const struct nvtx_segment *s)
{
    static const struct slot all[] = {
        {SCHEMA, (function)cumu_nvtx_schema},     {ENUMERATION, (function)cumu_nvtx_enumeration},
        {MARK, (function)cumu_nvtx_payload_mark}, {PUSH, (function)cumu_nvtx_payload_push},
        {POP, (function)cumu_nvtx_payload_pop},   {START, (function)cumu_nvtx_payload_start},
        {END, (function)cumu_nvtx_payload_end},   {IS_ENABLED, (function)is_enabled},
        {NOW, (function)cumu_nvtx_now},           {CLOCK, (function)cumu_nvtx_clock},
        {SCOPE, (function)cumu_nvtx_scope},       {SYNCHRONISE, (function)cumu_nvtx_synchronise},
        {SUBMIT, (function)cumu_nvtx_submit},     {SYNCHRONISE_ALL, (function)cumu_nvtx_synchronise_all},
        {CONVERT, (function)cumu_nvtx_convert},   {SUBMIT_BATCH, (function)cumu_nvtx_submit_batch}};
    take(s, all, sizeof all / sizeof *all);
}

static void take_counters(const struct nvtx_segment *s)
{
    static const struct slot all[] = {
        {COUNTER, (function)cumu_nvtx_counter},        {SAMPLE_INTEGER, (function)cumu_nvtx_count_integer},
        {SAMPLE_REAL, (function)cumu_nvtx_count_real}, {SAMPLE, (function)cumu_nvtx_count},
        {SAMPLE_NONE, (function)cumu_nvtx_count_none}, {SAMPLE_BATCH, (function)cumu_nvtx_count_batch}};
    take(s, all, sizeof all / sizeof *all);
}

CUMU_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_module *m);
int InitializeInjectionNvtxExtension(struct nvtx_module *m)
{
    if (!m || m->size < sizeof *m || !cumu_active())
        return 0;
    if (m->id == MODULE_MEMORY)
        return cumu_nvtx_memory(m);
    const bool slots = m->segments >= 1 && m->segment && m->segment->slots;
    if (m->id == MODULE_PAYLOAD && slots)
        take_payloads(m->segment);
    if (m->id == MODULE_COUNTERS && slots)
        take_counters(m->segment);
    return 1;
}
