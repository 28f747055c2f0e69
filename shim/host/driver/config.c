/* Configuration of the CPU MUSA machine: the only place of the host driver that reads the
 * environment. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/driver/callback.h"
#include "host/driver/host.h"
#include "host/driver/limits.h"
#include "ptx/tier0/tier0.h"
#include "ptx/tier0/watch.h"

static struct host_config config;
static char wrong[160];

static void mark_wrong(const char *name, const char *value, const char *expected)
{
    if (config.wrong)
        return;
    snprintf(wrong, sizeof wrong, "%s=%.24s: expected %s", name, value, expected);
    config.wrong = wrong;
}

/* The variable's text, NULL where it is unset, empty or "auto": the default then. */
static const char *given(const char *name)
{
    const char *text = secure_getenv(name);
    return text && *text && strcmp(text, "auto") != 0 ? text : NULL;
}

/* A whole number of [low, high] from the variable, else `fallback`; anything else is marked. */
static long number(const char *name, long fallback, long low, long high, const char *expected)
{
    const char *text = given(name);
    if (!text)
        return fallback;
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno || *end || value < low || value > high) {
        mark_wrong(name, text, expected);
        return fallback;
    }
    return value;
}

/* Memory of each device: bytes, or a number with K, M or G, from 1 MiB to 64 TiB, by whole pages. What is wrong is
 * said, and the default taken. */
static size_t memory(int devices)
{
    const char *text = given("CUMU_HOST_MEMORY");
    if (!text)
        return host_limit_memory(devices);
    static const struct {
        char suffix;
        int shift;
    } units[] = {{'k', 10}, {'K', 10}, {'m', 20}, {'M', 20}, {'g', 30}, {'G', 30}};
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    int shift = 0;
    for (size_t i = 0; i < sizeof units / sizeof *units && *end; i++)
        if (*end == units[i].suffix) {
            shift = units[i].shift;
            end++;
            break;
        }
    if (errno || *end || text[0] < '0' || text[0] > '9' || value > (1ull << 46) >> shift || value << shift < 1 << 20) {
        mark_wrong("CUMU_HOST_MEMORY", text, "bytes, or a number with K, M or G, 1M at least");
        return host_limit_memory(devices);
    }
    return (size_t)(value << shift) >> 12 << 12;
}

/* Digits of the beginning of a UUID, after GPU- or nothing; dashes count for nothing. The only device whose
 * UUID begins so, or -1. */
static int device_of_uuid(const char *text, size_t n)
{
    if (n > 4 && strncmp(text, "GPU-", 4) == 0) {
        text += 4;
        n -= 4;
    }
    int found = -1;
    for (int i = 0; i < config.devices; i++) {
        char digits[33];
        MUuuid uuid;
        host_uuid(i, &uuid);
        for (int k = 0; k < 16; k++)
            snprintf(digits + 2 * k, 3, "%02x", (unsigned char)uuid.bytes[k]);
        size_t given = 0, at = 0;
        while (given < n && at < 32 && (text[given] == '-' || tolower((unsigned char)text[given]) == digits[at]))
            at += text[given++] != '-';
        while (given < n && text[given] == '-')
            given++;
        if (given < n || !at)
            continue;
        if (found >= 0)
            return -1;
        found = i;
    }
    return found;
}

/* As CUDA_VISIBLE_DEVICES: a list of device numbers or UUIDs; the first unusable entry ends it. */
static void visible(void)
{
    const char *text = secure_getenv("MUSA_VISIBLE_DEVICES");
    if (!text) {
        for (int i = 0; i < config.devices; i++)
            config.visible[i] = i;
        config.nvisible = config.devices;
        return;
    }
    bool seen[HOST_MAX_DEVICES] = {false};
    while (config.nvisible < config.devices) {
        char *end;
        long value = strtol(text, &end, 10);
        if (end == text || (*end && *end != ',' && *end != ' ')) {
            end = (char *)(uintptr_t)text + strcspn(text, ", ");
            value = device_of_uuid(text, (size_t)(end - text));
        }
        if (value < 0 || value >= config.devices)
            return;
        if (seen[value]) { /* a repeated device makes the list unusable, as in CUDA */
            config.nvisible = 0;
            return;
        }
        seen[value] = true;
        config.visible[config.nvisible++] = (int)value;
        end += strspn(end, " ");
        if (*end != ',')
            return;
        text = end + 1 + strspn(end + 1, " ");
    }
}

/* CPUs of this process's affinity, and no more than its control group may use: a container is often
 * given many CPUs and little time on them. */
static int usable_cpus(void)
{
    cpu_set_t set;
    long n = sysconf(_SC_NPROCESSORS_ONLN), quota, period;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
    char text[64];
    if (host_limit_text("/sys/fs/cgroup/cpu.max", text, sizeof text) && sscanf(text, "%ld %ld", &quota, &period) == 2 &&
        quota > 0 && period > 0 && (quota + period - 1) / period < n)
        n = (quota + period - 1) / period;
    return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

/* CUMU_CHECK's words for tools, separated by commas; the shim has words of its own there. */
static unsigned check_tools(const char *words)
{
    static const struct {
        const char *word;
        unsigned tool;
    } known[] = {{"memory", T0_MEMCHECK}, {"race", T0_RACECHECK}, {"init", T0_INITCHECK}, {"sync", T0_SYNCCHECK}};
    unsigned tools = 0;
    for (const char *s = words; s && *s; s += s[strspn(s, ",")] ? strspn(s, ",") : strlen(s)) {
        const size_t n = strcspn(s, ",");
        for (size_t k = 0; k < sizeof known / sizeof *known; k++)
            if (strlen(known[k].word) == n && !strncmp(s, known[k].word, n))
                tools |= known[k].tool;
        s += n;
    }
    return tools;
}

/* The highest number in MUSA_VISIBLE_DEVICES, which is CUDA_VISIBLE_DEVICES; -1 where it names none. */
static long highest_visible(void)
{
    long highest = -1;
    for (const char *s = secure_getenv("MUSA_VISIBLE_DEVICES"); s && *s; s += *s == ',') {
        char *end;
        const long value = strtol(s, &end, 10);
        if (end > s && strchr(", ", *end) && value > highest)
            highest = value;
        s += strcspn(s, ",");
    }
    return highest;
}

/* The largest number of a launcher's text: "4", or Slurm's list of its nodes, "4(x2),3". 0 if it is none. */
static long most_ranks(const char *text)
{
    long most = 0;
    while (text && *text) {
        char *end;
        const long ranks = strtol(text, &end, 10);
        const char *next = end + strcspn(end, ",");
        if (end == text || !strchr("(,", *end) || (*end == '(' && next[-1] != ')'))
            return 0;
        most = ranks > most ? ranks : most;
        text = next + (*next == ',');
    }
    return most;
}

/* The number of devices where no one says it: a machine on which a launcher starts several ranks has one for each, and
 * those that CUDA_VISIBLE_DEVICES names. What a launcher says is not ours to refuse. */
static long default_devices(void)
{
    static const char *const launchers[] = {
        "LOCAL_WORLD_SIZE",           /* cumu launch, torchrun */
        "OMPI_COMM_WORLD_LOCAL_SIZE", /* Open MPI */
        "MPI_LOCALNRANKS",            /* MPICH, Intel MPI */
        "PMI_LOCAL_SIZE",             /* older MPICH */
        "SLURM_STEP_TASKS_PER_NODE",  /* of an srun, which sets the next one only where it was asked for so */
        "SLURM_NTASKS_PER_NODE",
    };
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const long ranks = most_ranks(secure_getenv(launchers[i]));
        if (ranks < 1)
            continue;
        const long named = highest_visible() + 1, most = named > ranks ? named : ranks;
        return most < HOST_MAX_DEVICES ? most : HOST_MAX_DEVICES;
    }
    return 1;
}

/* CUMU_CHECK_READER: reports are read by cumu memcheck. A process is named if only its child is to be looked at. */
static void check_reader(void)
{
    const char *reader = secure_getenv("CUMU_CHECK_READER");
    config.check_marks = reader && *reader;
    const long parent = config.check_marks ? strtol(reader, NULL, 10) : 0;
    if (parent && parent != (long)getppid())
        config.check_tools = 0;
}

static const char *kept(char *room, size_t size, const char *variable)
{
    const char *text = secure_getenv(variable);
    snprintf(room, size, "%s", text ? text : ""); /* the environment may change */
    return room;
}

static void read_config(void)
{
    config.log = (int)number("CUMU_HOST_LOG", 0, 0, 3, "0 to 3");
    config.devices = (int)number("CUMU_HOST_DEVICES", default_devices(), 0, HOST_MAX_DEVICES, "0 to 64");
    config.memory = memory(config.devices);
    config.threads = (int)number("CUMU_HOST_THREADS", usable_cpus(), 1, 1024, "1 to 1024");
    config.share = number("CUMU_HOST_SHARE", 0, 0, 1, "0 or 1");
    config.strict = number("CUMU_HOST_STRICT", 0, 0, 1, "0 or 1");
    t0_baseline((enum t0_baseline)number("CUMU_HOST_BASELINE", T0_BASELINE_WHEN_HOT, 0, 2, "0, 1 or 2"));
    config.check_tools = check_tools(secure_getenv("CUMU_CHECK"));
    const char *level = secure_getenv("CUMU_CHECK_LEVEL");
    config.check_level = !level || !strcmp(level, "warn") ? T0_WARNING : !strcmp(level, "info") ? T0_INFO : T0_ERROR;
    config.unused_from = number("CUMU_CHECK_UNUSED_FROM", 0, 0, 100, "a percentage");
    config.check_copies = number("CUMU_CHECK_COPIES", 1, 0, 1, "0 or 1");
    config.check_unused = number("CUMU_CHECK_UNUSED", 0, 0, 1, "0 or 1");
    config.check_leaks = number("CUMU_CHECK_LEAKS", 0, 0, 1, "0 or 1");
    config.check_limit = (int)number("CUMU_CHECK_LIMIT", 100, 0, INT_MAX, "a number, 0 for all");
    config.check_padding = (size_t)number("CUMU_CHECK_PADDING", 0, 0, 1 << 30, "a number of bytes up to 1 GiB");
    static char path[4096], kernels[4096], launches[64];
    config.check_file = kept(path, sizeof path, "CUMU_CHECK_FILE");
    config.check_kernels = kept(kernels, sizeof kernels, "CUMU_CHECK_KERNELS");
    (void)sscanf(kept(launches, sizeof launches, "CUMU_CHECK_LAUNCHES"), "%ld,%ld", &config.check_skip,
                 &config.check_count);
    const char *after = secure_getenv("CUMU_CHECK_AFTER");
    config.check_goes_on = after && !strcmp(after, "kernel");
    check_reader();
    const char *blocking = secure_getenv("MUSA_LAUNCH_BLOCKING");
    config.launch_blocking = blocking && *blocking && strcmp(blocking, "0") != 0;
    visible();
}

const struct host_config *host_config(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_bool known; /* asked several times a call */
    if (!atomic_load_explicit(&known, memory_order_acquire)) {
        pthread_once(&once, read_config);
        atomic_store_explicit(&known, true, memory_order_release);
    }
    return &config;
}

int cumu_host_exclusive(int device)
{
    const struct host_config *c = host_config();
    return c->share || device < 0 || device >= c->nvisible ? -1 : c->visible[device];
}
