/* Configuration of the CPU MUSA machine: the only place of the host driver that reads the
 * environment. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/driver/host.h"

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

static bool read_text(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, room - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

static size_t read_size_file(const char *path)
{
    char text[64];
    if (!read_text(path, text, sizeof text) || text[0] < '0' || text[0] > '9')
        return SIZE_MAX;
    return strtoull(text, NULL, 10);
}

/* Half of what this process may use, shared by the devices; the backing is sparse, so this costs
 * nothing until it is written. */
static size_t default_memory(int devices)
{
    size_t total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    size_t limit = read_size_file("/sys/fs/cgroup/memory.max");
    size_t old_limit = read_size_file("/sys/fs/cgroup/memory/memory.limit_in_bytes");
    limit = limit < old_limit ? limit : old_limit;
    total = (total < limit ? total : limit) / 2 / (size_t)(devices > 0 ? devices : 1);
    size_t least = (size_t)64 << 20;
    return (total > least ? total : least) >> 20 << 20;
}

/* Memory of each device: bytes, or a number with K, M or G, from 1 MiB to 64 TiB, by whole pages. What is wrong is
 * said, and the default taken. */
static size_t memory(int devices)
{
    const char *text = given("CUMU_HOST_MEMORY");
    if (!text)
        return default_memory(devices);
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
        return default_memory(devices);
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
    if (read_text("/sys/fs/cgroup/cpu.max", text, sizeof text) && sscanf(text, "%ld %ld", &quota, &period) == 2 &&
        quota > 0 && period > 0 && (quota + period - 1) / period < n)
        n = (quota + period - 1) / period;
    return n < 1 ? 1 : n > 1024 ? 1024 : (int)n;
}

static void read_config(void)
{
    config.log = (int)number("CUMU_HOST_LOG", 0, 0, 3, "0 to 3");
    config.devices = (int)number("CUMU_HOST_DEVICES", 1, 0, HOST_MAX_DEVICES, "0 to 64");
    config.memory = memory(config.devices);
    config.threads = (int)number("CUMU_HOST_THREADS", usable_cpus(), 1, 1024, "1 to 1024");
    config.strict = number("CUMU_HOST_STRICT", 0, 0, 1, "0 or 1");
    const char *blocking = secure_getenv("MUSA_LAUNCH_BLOCKING");
    config.launch_blocking = blocking && *blocking && strcmp(blocking, "0") != 0;
    visible();
}

const struct host_config *host_config(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_config);
    return &config;
}
