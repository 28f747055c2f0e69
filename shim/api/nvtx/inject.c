/* NVTX as headers alone: at a program's first call they open what NVTX_INJECTION64_PATH names (this library, under
 * cumu run) and call InitializeInjectionNvtx2, which finds the pointers that their functions go through. Functions of
 * names are taken at once, those of ranges when somebody wants them: until then a range is a look at a null pointer. */
#include "api/nvtx/nvtx.h"
#include "core/core.h"
#include "wraps.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef void (*function)(void);

enum { CALLBACKS_TABLE = 1 };
enum { MODULE_CORE = 1, MODULE_CORE2 = 5 };

struct callbacks { /* NvtxExportTableCallbacks */
    size_t size;
    int (*module)(int module, function ***table, unsigned *count);
};

struct instance { /* one copy of the headers: a program and each of its libraries may have its own */
    struct instance *next;
    function **table[2]; /* of core and core2 */
    unsigned count[2];
};
static struct instance *instances;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* By NVTX's numbers of callbacks; a name says what the wrapper is called. */
#define F(name) ((function)wrap_nvtx##name)
static const function core[] = {NULL,
                                F(MarkEx),
                                F(MarkA),
                                F(MarkW),
                                F(RangeStartEx),
                                F(RangeStartA),
                                F(RangeStartW),
                                F(RangeEnd),
                                F(RangePushEx),
                                F(RangePushA),
                                F(RangePushW),
                                F(RangePop),
                                F(NameCategoryA),
                                F(NameCategoryW),
                                F(NameOsThreadA),
                                F(NameOsThreadW)};
static const function core2[] = {NULL,
                                 F(DomainMarkEx),
                                 F(DomainRangeStartEx),
                                 F(DomainRangeEnd),
                                 F(DomainRangePushEx),
                                 F(DomainRangePop),
                                 NULL, /* resources */
                                 NULL,
                                 F(DomainNameCategoryA),
                                 F(DomainNameCategoryW),
                                 F(DomainRegisterStringA),
                                 F(DomainRegisterStringW),
                                 F(DomainCreateA),
                                 F(DomainCreateW),
                                 F(DomainDestroy)};
#undef F
static const struct {
    int number;
    const function *functions;
    unsigned count, names; /* names: the first of those that are taken at once */
} modules[2] = {{MODULE_CORE, core, sizeof core / sizeof *core, 12},
                {MODULE_CORE2, core2, sizeof core2 / sizeof *core2, 8}};

static void take(const struct instance *n, bool ranges)
{
    for (unsigned m = 0; m < 2; m++)
        for (unsigned i = 1; i < modules[m].count && i < n->count[m]; i++)
            if (n->table[m][i] && modules[m].functions[i] && (ranges || i >= modules[m].names))
                __atomic_store_n(n->table[m][i], modules[m].functions[i], __ATOMIC_RELEASE);
}

void cumu_nvtx_attach(void)
{
    pthread_mutex_lock(&lock);
    for (const struct instance *n = instances; n; n = n->next)
        take(n, true);
    pthread_mutex_unlock(&lock);
}

/* The object stays loaded: its pointers may be written later. */
static void pin(const void *(*export)(uint32_t))
{
    Dl_info where;
    void *address;
    memcpy(&address, &export, sizeof address);
    if (dladdr(address, &where) && where.dli_fname)
        (void)dlopen(where.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

int cumu_nvtx_inject(void *export_table)
{
    const void *(*export)(uint32_t);
    memcpy(&export, &export_table, sizeof export);
    const struct callbacks *c = export_table && cumu_active() ? export(CALLBACKS_TABLE) : NULL;
    struct instance *n = c && c->size >= sizeof *c && c->module ? calloc(1, sizeof *n) : NULL;
    if (!n)
        return 0;
    for (unsigned m = 0; m < 2; m++)
        if (!c->module(modules[m].number, &n->table[m], &n->count[m]) || !n->table[m])
            n->count[m] = 0;
    pin(export);
    pthread_mutex_lock(&lock);
    n->next = instances;
    instances = n;
    take(n, cumu_nvtx_wanted());
    pthread_mutex_unlock(&lock);
    return 1;
}

int wrap_InitializeInjectionNvtx2(void *export_table) { return cumu_nvtx_inject(export_table); }

CUMU_EXPORT int InitializeInjectionNvtx2(void *export_table);
int InitializeInjectionNvtx2(void *export_table) { return cumu_nvtx_inject(export_table); }
