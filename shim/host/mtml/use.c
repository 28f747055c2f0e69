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

/* An open file of a process that is the memory of the machine's device of this number. */
struct device_file {
    long pid;
    int number;
    char name[12]; /* in /proc/PID/fd */
};
enum { MAX_FILES = 1024, FRESH_MS = 100 };

/* The number of the device whose memory this file of a process is, -1 if it is anything else. */
static int device_of(int folder, const char *name)
{
    static const char head[] = "/memfd:" CUMU_MACHINE_FILE;
    char target[64];
    ssize_t n = readlinkat(folder, name, target, sizeof target - 1);
    if (n <= (ssize_t)sizeof head - 1 || strncmp(target, head, sizeof head - 1) != 0)
        return -1;
    target[n] = 0;
    return (int)strtol(target + sizeof head - 1, NULL, 10);
}

/* Adds a process's files of this kind. */
static unsigned add_files(long pid, struct device_file *out, unsigned n)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && n < MAX_FILES && (e = readdir(d));) {
        int number = isdigit((unsigned char)e->d_name[0]) ? device_of(dirfd(d), e->d_name) : -1;
        if (number >= 0 && strlen(e->d_name) < sizeof out->name) {
            out[n] = (struct device_file){pid, number, ""};
            strcpy(out[n++].name, e->d_name);
        }
    }
    if (d)
        closedir(d);
    return n;
}

static unsigned find_files(struct device_file *out)
{
    unsigned n = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        long pid = isdigit((unsigned char)e->d_name[0]) ? strtol(e->d_name, NULL, 10) : 0;
        if (pid > 0 && pid != getpid())
            n = add_files(pid, out, n);
    }
    if (d)
        closedir(d);
    return n;
}

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Others' files are looked for at most every FRESH_MS, for that reads all of /proc; this process's each time. A thread
 * that finds another at it looks for itself: no lock is waited for, which a fork could have left held. */
static unsigned device_files(struct device_file *out)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct device_file known[MAX_FILES];
    static unsigned count;
    static long since;
    unsigned n;
    if (pthread_mutex_trylock(&lock)) {
        n = find_files(out);
        return add_files(getpid(), out, n);
    }
    if (!since || now_ms() - since >= FRESH_MS) {
        count = find_files(known);
        since = now_ms();
    }
    memcpy(out, known, count * sizeof *out);
    n = count;
    pthread_mutex_unlock(&lock);
    return add_files(getpid(), out, n);
}

/* What a process says of its memory of the device; false if the file is its no more, or another process's. */
static bool read_books(const struct device_file *f, unsigned long long *bytes)
{
    char path[64];
    struct cumu_machine_books books;
    struct stat st;
    snprintf(path, sizeof path, "/proc/%ld/fd/%s", f->pid, f->name);
    if (device_of(AT_FDCWD, path) != f->number)
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool good = !fstat(fd, &st) && st.st_size > CUMU_MACHINE_PAGE &&
                pread(fd, &books, sizeof books, st.st_size - CUMU_MACHINE_PAGE) == sizeof books &&
                books.mark == CUMU_MACHINE_MARK && books.pid == (uint64_t)f->pid;
    close(fd);
    if (good)
        *bytes = books.used;
    return good;
}

static unsigned holders(int number, struct cumu_holder *out, unsigned room, unsigned long long *sum)
{
    struct device_file files[MAX_FILES];
    unsigned n = 0, count = device_files(files);
    *sum = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned long long bytes;
        if (files[i].number != number || !read_books(&files[i], &bytes))
            continue;
        if (n < room)
            out[n] = (struct cumu_holder){(unsigned)files[i].pid, bytes};
        n++;
        *sum += bytes;
    }
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
static long last_ms;                           /* 0: never */
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

/* The share of the time since the last answer in which the CPUs worked. Sooner than SAMPLE_MS after an answer it is
 * that answer still; the very first call takes so long. */
int mtmlGpuGetUtilization(const MtmlGpu *gpu, unsigned *percent)
{
    unsigned long long busy, all;
    int r = MTML_SUCCESS;
    if (!mtml_device(gpu) || !percent)
        return MTML_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    long ms = last_ms ? now_ms() - last_ms : -1;
    if (ms < 0 && read_ticks(&last_busy, &last_all)) {
        nanosleep(&(struct timespec){0, SAMPLE_MS * 1000000L}, NULL);
        ms = SAMPLE_MS;
    }
    if (ms >= SAMPLE_MS && read_ticks(&busy, &all)) {
        if (all > last_all && busy >= last_busy)
            last_percent = (unsigned)((busy - last_busy) * 100 / (all - last_all));
        last_busy = busy;
        last_all = all;
        last_ms = now_ms();
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
