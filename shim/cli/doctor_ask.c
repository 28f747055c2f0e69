/* cumu doctor: what the MUSA libraries answer. They are strangers here, so children ask them. */
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor.h"
#include "cli/doctor_driver.h"
#include "cli/doctor_file.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { SECONDS = 20, ATTRIBUTES = 140, ERRORS = 1000, LIBRARIES = 16 };

static void *handle[LIBRARIES]; /* of the libraries, by number */

static void *function(const char *name)
{
    void *at = NULL;
    for (unsigned k = 0; k < LIBRARIES && !at; k++)
        at = handle[k] ? dlsym(handle[k], name) : NULL;
    return at;
}

static void load(void)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    char path[PATH_MAX];
    /* The device libraries of some count on the runtime's symbols (mapping/facts/musa.md L4). */
    for (unsigned k = 0; l && l[k].name && k < LIBRARIES; k++)
        if (cumu_sdk_library(&l[k], path) && !(handle[k] = dlopen(path, RTLD_NOW | RTLD_GLOBAL)))
            doctor_line(l[k].name, "cannot be loaded: %s", dlerror());
}

static int ask_versions(void *unused)
{
    static const char *const names[] = {"musaRuntimeGetVersion", "musaDriverGetVersion", "muDriverGetVersion",
                                        "mcclGetVersion",        "mufftGetVersion",      "murandGetVersion"};
    (void)unused;
    load();
    for (unsigned k = 0; k < sizeof names / sizeof *names; k++) {
        int (*f)(int *) = (int (*)(int *))(uintptr_t)function(names[k]);
        int value = -1, r = f ? f(&value) : 0;
        if (!f)
            doctor_line(names[k], "not there");
        else if (r)
            doctor_line(names[k], "answers %d", r);
        else
            doctor_line(names[k], "%d", value);
    }
    return 0;
}

/* Every attribute of every device by its number: what the numbers mean, and which of them an SDK has, is read from
 * the report afterwards. */
static int ask_devices(void *unused)
{
    int n = 0, value, err = doctor_driver_load() ? MU(muInit)(0) : DOCTOR_LACKS;
    char name[128];
    (void)unused;
    if (!err)
        err = MU(muDeviceGetCount)(&n);
    if (err)
        doctor_line("devices", "%s", doctor_error(err));
    else
        doctor_line("devices", "%d", n);
    for (int d = 0; d < n; d++) {
        size_t bytes = 0;
        char key[32];
        (void)snprintf(key, sizeof key, "device %d", d);
        if (!MU(muDeviceGetName)(name, sizeof name, d))
            doctor_line(key, "%.100s", name);
        if (!MU(muDeviceTotalMem)(&bytes, d))
            doctor_line(key, "%zu bytes", bytes);
        for (int a = 1; a < ATTRIBUTES; a++) {
            (void)snprintf(key, sizeof key, "device %d attribute %d", d, a);
            if (!MU(muDeviceGetAttribute)(&value, a, d))
                doctor_line(key, "%d", value);
        }
    }
    return 0;
}

static int ask_errors(void *unused)
{
    load();
    const char *(*name)(int) = (const char *(*)(int))(uintptr_t)function("musaGetErrorName");
    const char *none = name ? name(-12345) : NULL;
    char key[32];
    (void)unused;
    for (int e = 0; name && e < ERRORS; e++) {
        const char *text = name(e);
        (void)snprintf(key, sizeof key, "error %d", e);
        if (text && (!none || strcmp(text, none) != 0))
            doctor_line(key, "%.100s", text);
    }
    return 0;
}

/* Kinds of memory, which public sources give in two ways; the handles that stand for streams. */
static int ask_values(void *unused)
{
    (void)unused;
    load();
    int (*make)(void **, size_t) = (int (*)(void **, size_t))(uintptr_t)function("musaMalloc");
    int (*make_host)(void **, size_t) = (int (*)(void **, size_t))(uintptr_t)function("musaMallocHost");
    int (*attributes)(void *,
                      const void *) = (int (*)(void *, const void *))(uintptr_t)function("musaPointerGetAttributes");
    int (*query)(void *) = (int (*)(void *))(uintptr_t)function("musaStreamQuery");
    void *device = NULL, *host = NULL;
    int of[64] = {0};
    if (make && attributes && make(&device, 4096) == 0 && attributes(of, device) == 0)
        doctor_line("type of musaMalloc's memory", "%d (expected 2)", of[0]);
    if (make_host && attributes && make_host(&host, 4096) == 0 && attributes(of, host) == 0)
        doctor_line("type of musaMallocHost's memory", "%d (expected 1)", of[0]);
    if (query) {
        doctor_line("the legacy stream answers", "%d (expected 0)", query((void *)1));
        doctor_line("the per-thread stream answers", "%d (expected 0)", query((void *)2));
    }
    return 0;
}

/* The update of an executable graph has had four arguments (the node, the result) and three (a structure for both).
 * Called with four, what it writes tells: nothing here is smaller than what either form fills. */
static int ask_update(void *unused)
{
    typedef int update(MUgraphExec, MUgraph, void *, void *);
    unsigned char third[64], fourth[64], untouched[64];
    MUgraph graph;
    MUgraphNode node;
    MUgraphExec exec;
    (void)unused;
    memset(untouched, 0xa5, sizeof untouched);
    memcpy(third, untouched, sizeof third);
    memcpy(fourth, untouched, sizeof fourth);
    int err = doctor_driver_open();
    if (!err)
        err = MU(muGraphCreate)(&graph, 0);
    if (!err)
        err = MU(muGraphAddEmptyNode)(&node, graph, NULL, 0);
    if (!err)
        err = MU(muGraphInstantiate_v2)(&exec, graph, NULL, NULL, 0);
    if (err) {
        doctor_line("graph update", "not tried: %s", doctor_error(err));
        return 0;
    }
    update *f = (update *)(uintptr_t)doctor_driver_entry("muGraphExecUpdate");
    err = f(exec, graph, third, fourth);
    const char *form = memcmp(fourth, untouched, sizeof fourth) ? "takes four arguments"
                       : memcmp(third, untouched, sizeof third) ? "takes three arguments"
                                                                : "writes nothing";
    if (err == DOCTOR_LACKS)
        doctor_line("graph update", "not there");
    else
        doctor_line("graph update", "%s, answers %d", form, err);
    return 0;
}

void cumu_doctor_ask(void)
{
    static const struct {
        const char *section, *name;
        int (*ask)(void *);
    } questions[] = {{"versions", "versions", ask_versions},
                     {"devices", "the driver", ask_devices},
                     {"answers", "the runtime", ask_values},
                     {NULL, "graph update", ask_update},
                     {"error names", "error names", ask_errors}};
    for (unsigned k = 0; k < sizeof questions / sizeof *questions; k++) {
        if (questions[k].section)
            doctor_section("%s", questions[k].section);
        (void)doctor_child(questions[k].name, questions[k].ask, NULL, SECONDS);
    }
}
