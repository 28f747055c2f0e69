/* Runs a body as n ranks, be they threads of this process or processes of their own. */
#ifndef CUMU_TESTS_MCCL_TEAM_H
#define CUMU_TESTS_MCCL_TEAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

#include "../check.h"
#include "abi/mccl.h"

struct rank {
    int rank, nranks;
    mcclUniqueId id;
    pid_t maker;     /* the process that made it, and waits; 0 in a team of THREADS: this one */
    mcclComm_t comm; /* joined already, unless team_run was told not to */
    musaStream_t stream;
    void *arg;
    int wrong; /* what the body counts */
};

enum team { THREADS, PROCESSES };

/* True if no rank counted anything wrong, none died and all ended within a minute; after a team that did not,
 * report() ends the program. Teams of PROCESSES must all be run before this process uses MUSA and before it
 * has threads: they are forked. */
bool team_run(enum team kind, int nranks, bool join, void (*body)(struct rank *), void *arg);

/* Of the next team of PROCESSES: this rank may end in any way. */
void team_doom(int rank);
/* Of the next teams of PROCESSES: each rank goes into namespaces that are drawn from this; 0: none. May they? */
void team_spaces(unsigned seed);
bool team_may_spaces(void);
bool team_can_open(const char *library); /* asked in a child, since it sets handlers and opens things */
/* In a child: it ends when its parent does, however that comes. */
void team_end_with(pid_t parent);

/* In a body: counts and tells what should not be. */
#define RANK(r, condition) \
    do { \
        if (!(condition) && (r)->wrong++ < 5) \
            printf("# rank %d of %d: %s:%d: %s\n", (r)->rank, (r)->nranks, __FILE__, __LINE__, #condition); \
    } while (0)

/* The test's line. After a team that hung, the program ends. */
#define report(ok, ...) (check(ok, __VA_ARGS__), team_end_if_hung())
void team_end_if_hung(void);

/* What the process says on stderr from stderr_catch to stderr_caught, whose text is cut to `size`. */
struct caught {
    int file, old;
};
struct caught stderr_catch(void);
void stderr_caught(struct caught c, char *text, size_t size);

double seconds(void); /* of a clock that nobody sets */
int64_t now_ns(void);
void nap_us(unsigned us);
/* In a rank's own process: another one signals it after so long, in the midst of anything, and notes when; who is
 * stopped goes on when so many know, or after so long. */
void team_signal(int signal, unsigned us, _Atomic int64_t *since_ns, const _Atomic int *told, int others, unsigned ms);
int entries(const char *folder);

/* n bytes of the rank's device memory; never freed while the team lives, which makes bodies short. */
void *device_bytes(struct rank *r, size_t n);
/* Waits for the stream, at most some seconds; false if that is not enough. */
bool settled(struct rank *r);
/* The communicator's; waits for one, as long, if it is `awaited`. */
mcclResult_t async_error(struct rank *r, bool awaited);

#endif
