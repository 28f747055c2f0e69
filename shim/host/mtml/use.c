/* Our libmtml: how much of the machine is in use, and by whom. Processes that hold device memory have a file for it
 * (machine.h), which is found among their open files in /proc: of processes of another user, or of another container,
 * nothing is seen. */
#include "host/mtml/mtml.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- memory ----------------------------------------------------------------------------------- */

/* The books that a file shows, if it is a device's and of this process; false if it is anything else. */
static bool read_books(int folder, const char *name, long pid, int number, unsigned long long *bytes)
{
    char target[64], want[64];
    struct cumu_machine_books books;
    struct stat st;
    ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
    if (n <= 0)
        return false;
    target[n] = 0;
    snprintf(want, sizeof want, "/memfd:" CUMU_MACHINE_FILE "%d (deleted)", number);
    if (strcmp(target, want) != 0)
        return false;
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = !fstat(fd, &st) && st.st_size > CUMU_MACHINE_PAGE &&
                pread(fd, &books, sizeof books, st.st_size - CUMU_MACHINE_PAGE) == sizeof books &&
                books.mark == CUMU_MACHINE_MARK && books.pid == (uint64_t)pid;
    close(fd);
    if (good)
        *bytes = books.used;
    return good;
}

/* One process's: whether it holds the device, and how much of its memory. */
static bool holds(long pid, int number, unsigned long long *bytes)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    DIR *d = opendir(path);
    if (!d)
        return false;
    bool found = false;
    for (struct dirent *e; !found && (e = readdir(d));)
        found = isdigit((unsigned char)e->d_name[0]) && read_books(dirfd(d), e->d_name, pid, number, bytes);
    closedir(d);
    return found;
}

static unsigned holders(int number, struct cumu_holder *out, unsigned room, unsigned long long *sum)
{
    unsigned n = 0;
    *sum = 0;
    DIR *d = opendir("/proc");
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d));) {
        unsigned long long bytes;
        long pid = isdigit((unsigned char)e->d_name[0]) ? strtol(e->d_name, NULL, 10) : 0;
        if (pid <= 0 || !holds(pid, number, &bytes))
            continue;
        if (n < room)
            out[n] = (struct cumu_holder){(unsigned)pid, bytes};
        n++;
        *sum += bytes;
    }
    closedir(d);
    return n;
}

unsigned cumu_mtml_holders(const MtmlDevice *dev, struct cumu_holder *out, unsigned room)
{
    const struct mtml_device *d = mtml_device(dev);
    unsigned long long sum;
    return d ? holders(d->number, out, room, &sum) : 0;
}

int mtmlMemoryGetTotal(const MtmlMemory *mem, unsigned long long *bytes)
{
    if (!mtml_device(mem) || !bytes)
        return MTML_ERROR_INVALID_ARGUMENT;
    *bytes = mtml_machine()->memory;
    return MTML_SUCCESS;
}

int mtmlMemoryGetUsed(const MtmlMemory *mem, unsigned long long *bytes)
{
    const struct mtml_device *d = mtml_device(mem);
    if (!d || !bytes)
        return MTML_ERROR_INVALID_ARGUMENT;
    holders(d->number, NULL, 0, bytes);
    if (*bytes > mtml_machine()->memory) /* each process has a device's memory to itself */
        *bytes = mtml_machine()->memory;
    return MTML_SUCCESS;
}

int mtmlMemoryGetUtilization(const MtmlMemory *mem, unsigned *percent)
{
    unsigned long long used = 0, total = 1;
    if (!percent)
        return MTML_ERROR_INVALID_ARGUMENT;
    int r = mtmlMemoryGetTotal(mem, &total);
    if (!r)
        r = mtmlMemoryGetUsed(mem, &used);
    if (!r)
        *percent = (unsigned)(used * 100 / (total ? total : 1));
    return r;
}

/* ---- processors: the devices are the machine's CPUs, and as busy as those ----------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long long last_busy, last_all; /* ticks of /proc/stat */
static struct timespec last_time;
static unsigned last_percent;

enum { SAMPLE_MS = 100 }; /* ten ticks of every CPU */

static bool read_ticks(unsigned long long *busy, unsigned long long *all)
{
    char line[256];
    unsigned long long t[8] = {0};
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t n = read(fd, line, sizeof line - 1);
    close(fd);
    line[n > 0 ? n : 0] = 0;
    if (sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", t, t + 1, t + 2, t + 3, t + 4, t + 5, t + 6,
               t + 7) < 4)
        return false;
    *all = 0;
    for (int i = 0; i < 8; i++)
        *all += t[i];
    *busy = *all - t[3] - t[4]; /* idle, and idle while a disk works */
    return true;
}

static long since_last(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return last_time.tv_sec || last_time.tv_nsec
               ? (now.tv_sec - last_time.tv_sec) * 1000 + (now.tv_nsec - last_time.tv_nsec) / 1000000
               : -1;
}

/* The share of the time since the last answer in which the CPUs worked. Sooner than SAMPLE_MS after an answer it is
 * that answer still; the very first call takes so long. */
int mtmlGpuGetUtilization(const MtmlGpu *gpu, unsigned *percent)
{
    unsigned long long busy, all;
    int r = MTML_SUCCESS;
    if (!mtml_device(gpu) || !percent)
        return MTML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    long ms = since_last();
    if (ms < 0 && read_ticks(&last_busy, &last_all)) {
        nanosleep(&(struct timespec){0, SAMPLE_MS * 1000000L}, NULL);
        ms = SAMPLE_MS;
    }
    if (ms >= SAMPLE_MS && read_ticks(&busy, &all)) {
        if (all > last_all && busy >= last_busy)
            last_percent = (unsigned)((busy - last_busy) * 100 / (all - last_all));
        last_busy = busy;
        last_all = all;
        clock_gettime(CLOCK_MONOTONIC, &last_time);
    } else if (ms < 0) {
        r = MTML_ERROR_NOT_SUPPORTED; /* no /proc */
    }
    *percent = last_percent;
    pthread_mutex_unlock(&lock);
    return r;
}

int mtmlDeviceCountGpuCores(const MtmlDevice *dev, unsigned *count)
{
    if (!mtml_device(dev) || !count)
        return MTML_ERROR_INVALID_ARGUMENT;
    *count = (unsigned)mtml_machine()->threads; /* the multiprocessors of the driver's attribute */
    return MTML_SUCCESS;
}

/* The CPUs that this process may use are those that its kernels run on. */
int mtmlDeviceGetCpuAffinityWithinNode(const MtmlDevice *dev, unsigned words, unsigned long *set)
{
    cpu_set_t cpus;
    if (!mtml_device(dev) || !words || !set)
        return MTML_ERROR_INVALID_ARGUMENT;
    CPU_ZERO(&cpus);
    if (sched_getaffinity(0, sizeof cpus, &cpus))
        return MTML_ERROR_NOT_SUPPORTED;
    memset(set, 0, words * sizeof *set);
    memcpy(set, &cpus, words * sizeof *set < sizeof cpus ? words * sizeof *set : sizeof cpus);
    return MTML_SUCCESS;
}

/* Memory of every node: pages lie where they are first written. */
int mtmlDeviceGetMemoryAffinityWithinNode(const MtmlDevice *dev, unsigned words, unsigned long *set)
{
    enum { WORD = 8 * sizeof *set };
    if (!mtml_device(dev) || !words || !set)
        return MTML_ERROR_INVALID_ARGUMENT;
    memset(set, 0, words * sizeof *set);
    for (unsigned node = 0; node < words * WORD; node++) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u", node);
        if (node && access(path, F_OK))
            break;
        set[node / WORD] |= 1ul << node % WORD;
    }
    return MTML_SUCCESS;
}
