/* cumu doctor: the driver under its several names, and the children that call it. */
#include "cli/doctor_driver.h"
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor_file.h"
#include "core/config.h"
#include "ptx/tier0/tier0.h"

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WHOLE = 115 }; /* seconds: two minutes less what ending takes */

static void *driver;
static const char *lacking;

static int lacks(void) { return DOCTOR_LACKS; }

void *doctor_driver_entry(const char *name)
{
    char other[80];
    size_t n = strlen(name);
    bool v2 = n > 3 && strcmp(name + n - 3, "_v2") == 0;
    (void)snprintf(other, sizeof other, v2 ? "%.*s" : "%.*s_v2", (int)(v2 ? n - 3 : n), name);
    void *at = driver ? dlsym(driver, v2 ? name : other) : NULL;
    if (!at && driver)
        at = dlsym(driver, v2 ? other : name);
    if (at)
        return at;
    lacking = name;
    return (void *)(uintptr_t)lacks;
}

const char *doctor_error(int err)
{
    static char text[96];
    if (err != DOCTOR_LACKS)
        (void)snprintf(text, sizeof text, "the driver answers %d", err);
    else if (driver)
        (void)snprintf(text, sizeof text, "the driver lacks %s", lacking);
    else
        (void)snprintf(text, sizeof text, "there is no driver");
    return text;
}

bool doctor_driver_load(void)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    char path[PATH_MAX];
    while (l && l->name && strcmp(l->name, "musa") != 0)
        l++;
    if (!driver && l && l->name && cumu_sdk_library(l, path))
        driver = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    return driver != NULL;
}

int doctor_driver_open(void)
{
    MUdevice device = 0;
    MUcontext ctx;
    int err = doctor_driver_load() ? MU(muInit)(0) : DOCTOR_LACKS;
    if (!err)
        err = MU(muDeviceGet)(&device, 0);
    return err ? err : MU(muCtxCreate)(&ctx, 0, device);
}

unsigned doctor_driver_arch(void)
{
    int major = 0, minor = 0;
    (void)MU(muDeviceGetAttribute)(&major, MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
    (void)MU(muDeviceGetAttribute)(&minor, MU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0);
    return (unsigned)(10 * major + minor);
}

bool doctor_driver_is_host(void) { return driver && dlsym(driver, LIR_TAKES_IMAGES); }

/* ---- children ------------------------------------------------------------------------------------ */

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

unsigned doctor_left(void)
{
    static double end;
    const char *less = cumu_env("CUMU_TEST_DOCTOR_SECONDS");
    double t = now();
    if (end <= 0)
        end = t + (less ? atoi(less) : WHOLE);
    return t < end ? (unsigned)(end - t) : 0;
}

/* A child that hangs in the kernel of a sick machine cannot even be killed: it is left behind. */
static int wait_for(pid_t pid, unsigned seconds, bool *late)
{
    const struct timespec pause = {0, 1000000};
    int status = 0;
    double end = now() + seconds;
    for (*late = false; waitpid(pid, &status, WNOHANG) == 0; (void)nanosleep(&pause, NULL)) {
        if (now() < end)
            continue;
        if (*late)
            return SIGKILL;
        *late = true;
        end = now() + 2;
        (void)kill(pid, SIGKILL);
    }
    return status;
}

int doctor_child(const char *name, int (*work)(void *), void *ctx, unsigned seconds)
{
    bool late;
    unsigned left = doctor_left();
    if (!left) {
        doctor_line(name, "not tried: no time was left");
        return DOCTOR_LATE;
    }
    seconds = seconds < left ? seconds : left;
    pid_t pid = fork();
    if (pid == 0)
        _exit(work(ctx) & 127);
    int status = pid < 0 ? SIGKILL : wait_for(pid, seconds, &late);
    if (pid > 0 && WIFEXITED(status))
        return WEXITSTATUS(status);
    if (pid < 0)
        doctor_line(name, "not tried: no process could be started");
    else if (late)
        doctor_line(name, "hangs: not done in %u seconds", seconds);
    else
        doctor_line(name, "crashes: died of signal %d", WTERMSIG(status));
    return DOCTOR_DIED;
}
