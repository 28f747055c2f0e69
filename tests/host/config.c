/* The environment: number and choice of devices, memory sizes, values that mean nothing. */
#include "device.h"

#include <sys/wait.h>
#include <unistd.h>

/* In a child with these variables: result of muInit, number of devices, MiB of device 0. */
struct seen {
    int init, count, mib;
    char said[200];
};

static struct seen ask(const char *devices, const char *memory, const char *visible)
{
    int out[2], err[2];
    struct seen s = {.init = -1, .count = -1, .mib = -1};
    if (pipe(out) || pipe(err))
        return s;
    fflush(stdout); /* TSan's _exit would write it again */
    pid_t child = fork();
    if (child == 0) {
        dup2(err[1], 2);
        if (devices)
            setenv("CUMU_HOST_DEVICES", devices, 1);
        if (memory)
            setenv("CUMU_HOST_MEMORY", memory, 1);
        if (visible)
            setenv("MUSA_VISIBLE_DEVICES", visible, 1);
        size_t bytes;
        int got[3] = {muInit(0), -1, -1};
        muDeviceGetCount(&got[1]);
        if (!muDeviceTotalMem(&bytes, 0))
            got[2] = (int)(bytes >> 20);
        ssize_t n = write(out[1], got, sizeof got);
        _exit(n != sizeof got);
    }
    close(out[1]);
    close(err[1]);
    int got[3];
    if (read(out[0], got, sizeof got) == sizeof got)
        s.init = got[0], s.count = got[1], s.mib = got[2];
    ssize_t n = read(err[0], s.said, sizeof s.said - 1);
    s.said[n > 0 ? n : 0] = 0;
    close(out[0]);
    close(err[0]);
    waitpid(child, NULL, 0);
    return s;
}

static const char *const launchers[] = {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
                                        "PMI_LOCAL_SIZE",   "SLURM_STEP_TASKS_PER_NODE",  "SLURM_NTASKS_PER_NODE"};

/* What a launcher says in its variable is the number of devices, unless the user says another. */
static void launched(const char *name)
{
    setenv(name, "4", 1);
    struct seen s = ask(NULL, NULL, NULL);
    check(s.init == 0 && s.count == 4, "%s: a device a rank", name);
    s = ask("2", NULL, NULL);
    check(s.count == 2, "%s: unless CUMU_HOST_DEVICES says another number", name);
    s = ask(NULL, NULL, "1,3");
    check(s.count == 2, "%s: of which some are visible", name);
    s = ask(NULL, NULL, "6, 7");
    check(s.count == 2, "%s: at least as many as are named as visible", name);
    static const struct {
        const char *text;
        int count;
    } said[] = {{"", 1},        {"0", 1},           {"-2", 1},         {"four", 1},
                {"2(x3", 1},    {"2 of 3", 1},      {"2(x3)", 2},      {"3,5", 5},
                {"5(x2),3", 5}, {"2(x9),3(x2)", 3}, {"2(x3),four", 1}, {"99999999999999999999999", 64}};
    for (size_t i = 0; i < sizeof said / sizeof *said; i++) {
        setenv(name, said[i].text, 1);
        s = ask(NULL, NULL, NULL);
        check(s.init == 0 && s.count == said[i].count && !s.said[0], "%s=%s: %d devices", name, said[i].text,
              said[i].count);
    }
    unsetenv(name);
}

int main(void)
{
    unsetenv("CUMU_HOST_DEVICES");
    unsetenv("CUMU_HOST_MEMORY");
    unsetenv("MUSA_VISIBLE_DEVICES");
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        unsetenv(launchers[i]);
    struct seen s = ask(NULL, NULL, NULL);
    check(s.init == 0 && s.count == 1 && !s.said[0], "one device by default, and nothing said");
    s = ask("3", "64M", NULL);
    check(s.init == 0 && s.count == 3 && s.mib == 64, "three devices of 64 MiB");
    s = ask("3", NULL, "2,GPU-63756d75-2d68-6f73-742d-637075000002");
    check(s.init == 0 && s.count == 2, "a number and a UUID");
    s = ask("3", NULL, "63756D752D686F73742D637075000001, 1");
    check(s.init == 0 && s.count == 2, "a UUID without its prefix, and a blank");
    s = ask("3", NULL, "0,GPU-63756d75,1");
    check(s.init == 0 && s.count == 1, "a beginning that three devices have ends the list");
    s = ask("3", NULL, "2,MIG-63756d75-2d68-6f73-742d-637075000001,1");
    check(s.init == 0 && s.count == 1, "a slice of a device ends the list: there are none");
    s = ask("3", NULL, "MIG-GPU-63756d75-2d68-6f73-742d-637075000001/1/0");
    check(s.init == MUSA_ERROR_NO_DEVICE && !s.said[0], "and in its older form");
    s = ask(NULL, "2G", NULL);
    check(s.mib == 2048, "gigabytes");
    s = ask("auto", "auto", NULL);
    check(s.init == 0 && s.count == 1 && !s.said[0], "auto is the default");
    s = ask("4", NULL, "2,0");
    check(s.count == 2, "two of four are visible");
    s = ask("4", NULL, "1,9,2");
    check(s.count == 1, "an unknown device ends the list");
    s = ask("4", NULL, "-1");
    check(s.init == MUSA_ERROR_NO_DEVICE && !s.said[0], "none visible: no device");
    s = ask("0", NULL, NULL);
    check(s.init == MUSA_ERROR_NO_DEVICE, "none at all");
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++)
        launched(launchers[i]);
    static const char *const bad[][2] = {{"abc", NULL},  {"-1", NULL}, {"65", NULL}, {"2x", NULL},
                                         {NULL, "lots"}, {NULL, "5X"}, {NULL, "12"}, {NULL, "99999999G"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s = ask(bad[i][0], bad[i][1], NULL);
        char what[64];
        snprintf(what, sizeof what, "%s%s is refused in one line that names it", bad[i][0] ? bad[i][0] : "memory ",
                 bad[i][1] ? bad[i][1] : "");
        const char *value = bad[i][0] ? bad[i][0] : bad[i][1], *end = strchr(s.said, '\n');
        check(s.init == MUSA_ERROR_NO_DEVICE && strstr(s.said, "CUMU_HOST_") && strstr(s.said, value) && end && !end[1],
              "%s", what);
    }
    return check_end("host config");
}
