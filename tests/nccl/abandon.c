/* A non-blocking communicator whose other rank never comes, aborted: what waited for that rank is gone. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <time.h>

struct id {
    char internal[128];
};
struct config { /* ncclConfig_t up to NCCL 2.18's fields */
    size_t size;
    unsigned magic, version;
    int blocking, cluster, least, most;
    const char *net;
    int split, traffic;
};
int ncclGetUniqueId(struct id *id);
int ncclCommInitRankConfig(void **comm, int nranks, struct id id, int rank, struct config *config);
int ncclCommAbort(void *comm);
int cudaSetDevice(int device);

static int entries(const char *folder)
{
    DIR *d = opendir(folder);
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void nap(void) { nanosleep(&(struct timespec){0, 20000000}, NULL); }

int main(void)
{
    struct config g = {40, 0xcafebeef, 21805, 0, INT_MIN, INT_MIN, INT_MIN, NULL, INT_MIN, INT_MIN};
    int files = 0, threads = 0, bad = cudaSetDevice(0);
    for (int i = 0; i < 4; i++) {
        void *comm = NULL;
        struct id id;
        bad += ncclGetUniqueId(&id) != 0;
        int r = ncclCommInitRankConfig(&comm, 2, id, 0, &g);
        bad += (r != 0 && r != 7) || !comm;
        for (int k = 0; k < 10; k++) /* until it waits */
            nap();
        bad += ncclCommAbort(comm) != 0;
        for (int k = 0; k < 100 && (!i || entries("/proc/self/fd") > files || entries("/proc/self/task") > threads);
             k++)
            nap();
        if (!i) {
            files = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
        }
        bad += entries("/proc/self/fd") > files || entries("/proc/self/task") > threads;
        printf("%d files, %d threads, %d wrong\n", entries("/proc/self/fd"), entries("/proc/self/task"), bad);
    }
    puts(bad ? "FAIL abandon" : "PASS abandon");
    return bad != 0;
}
