/* What our libmusa tells our libmtml, which must not start the driver: the machine as CUMU_HOST_DEVICES and its like
 * describe it, before MUSA_VISIBLE_DEVICES hides any of it; and where a process shows how much memory it uses. */
#ifndef CUMU_HOST_MACHINE_H
#define CUMU_HOST_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct cumu_machine {
    int devices, threads;
    size_t memory; /* of each device */
};

/* A process has one file of this name, and the device's number behind it, for each device that it uses: a memfd, whose
 * last page begins with these books. Of other processes' files (IPC, a fork's) the process id tells. */
#define CUMU_MACHINE_FILE "musa-device-"
#define CUMU_MACHINE_MARK 0x6b6f6f6275736dull
enum { CUMU_MACHINE_PAGE = 4096 };
struct cumu_machine_books {
    uint64_t mark, pid, capacity, used;
};

#pragma GCC visibility push(default)
int cumu_machine_read(struct cumu_machine *m); /* not 0: a variable is unusable, which was said */
void cumu_machine_uuid(int number, unsigned char bytes[16]);
const char *cumu_machine_name(void);
#pragma GCC visibility pop

#endif
