/* Extensions of NVTX's headers: memory, payloads by schema, counters. At a program's first call of one they ask the
 * injection library for its module by InitializeInjectionNvtxExtension. Whether a domain is enabled is one of the
 * functions of payloads, which Python's nvtx asks before it makes any range: an injection library that refuses the
 * module has no domains. */
#include "api/nvtx/nvtx.h"
#include "core/core.h"
#include "core/log.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { MODULE_MEMORY = 1, MODULE_PAYLOAD = 2 };
/* Numbers of functions of payloads. */
enum { MARK = 2, PUSH, POP, START, END, IS_ENABLED };

static void not_shown(void)
{
    static _Atomic bool said;
    if (!atomic_exchange(&said, true))
        cumu_gap("nvtx", "nvtxRangePushPayload", "ranges and marks of payloads by schemas are not shown");
}
static void payload_mark(void) { not_shown(); }
static int payload_stack(void)
{
    not_shown();
    return NVTX_NO_TRACKING;
}
static uint64_t payload_start(void)
{
    not_shown();
    return 0;
}
/* A profiler may come later. */
static uint8_t is_enabled(const void *domain)
{
    (void)domain;
    return 1;
}

static void take_payloads(const struct nvtx_segment *s)
{
    static const struct {
        size_t slot;
        void (*function)(void);
    } all[] = {{MARK, payload_mark},
               {PUSH, (void (*)(void))payload_stack},
               {POP, (void (*)(void))payload_stack},
               {START, (void (*)(void))payload_start},
               {END, payload_mark},
               {IS_ENABLED, (void (*)(void))is_enabled}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].slot < s->count)
            __atomic_store_n(&s->slots[all[i].slot], (intptr_t)all[i].function, __ATOMIC_RELEASE);
}

CUMU_EXPORT int InitializeInjectionNvtxExtension(struct nvtx_module *m);
int InitializeInjectionNvtxExtension(struct nvtx_module *m)
{
    if (!m || m->size < sizeof *m || !cumu_active())
        return 0;
    if (m->id == MODULE_MEMORY)
        return cumu_nvtx_memory(m);
    if (m->id == MODULE_PAYLOAD && m->segments >= 1 && m->segment && m->segment->slots)
        take_payloads(m->segment);
    return 1;
}
