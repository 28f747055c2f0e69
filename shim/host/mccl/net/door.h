/* What ranks and the process that made their id say to each other: at the door, by TCP or by an abstract Unix socket.
 * All of it has fixed sizes, or a length that is checked against what there can be. */
#ifndef CUMU_HOST_MCCL_DOOR_H
#define CUMU_HOST_MCCL_DOOR_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "host/mccl/mccl.h"
#include "host/mccl/net/wire.h"

#define MCCL_NAME 64 /* bytes of a host's name */

struct mccl_id { /* what an mcclUniqueId holds */
    char magic[8];
    uint64_t key[2]; /* names the Unix socket, which others may see */
    uint64_t secret[2];
    struct mccl_place door;
    uint32_t named; /* made of NCCL_COMM_ID: rank 0 opens the door */
    uint32_t unused;
};
extern const char mccl_magic[8];
_Static_assert(sizeof(struct mccl_id) <= MCCL_UNIQUE_ID_BYTES, "an id");

struct mccl_hello { /* from a rank */
    struct mccl_id id;
    uint32_t order, bytes; /* MCCL_ORDER and MCCL_BYTES: a build that differs is turned away */
    int32_t nranks, rank;
    char release[16]; /* up to here the same in every version since magic 6 */
    int32_t device;
    int32_t second; /* 0: here I am; 1: I have heard that we are on several hosts */
    uint32_t user;
    int32_t pid;
    uint64_t pids;    /* the namespace that the pid is of */
    uint64_t process; /* the same for ranks of one process, and for no others */
    cpu_set_t cpus;
    char boot[40];        /* of the kernel that runs it, */
    uint64_t net;         /* the network namespace, where abstract sockets are known, */
    int32_t part;         /* and what a test makes of it: who could share memory */
    uint32_t lack;        /* errno of a rank that cannot come, said so that nobody waits for it; 0 */
    uint32_t interrupted; /* its threads are by a membarrier of another process (wait.c) */
    uint32_t unused;
    char name[MCCL_NAME];
};
#define MCCL_HELLO_PREFIX offsetof(struct mccl_hello, device)
#define MCCL_ORDER 0x01020304u
/* Sizes of this and of what lies in shared memory. */
#define MCCL_BYTES \
    ((uint32_t)(sizeof(struct mccl_hello) + sizeof(struct mccl_shared) + sizeof(struct mccl_member) + \
                sizeof(struct mccl_mailbox)))

extern const char mccl_release[16];

/* Also of one form in every version: who is turned away for its version reads it. */
struct mccl_reply {             /* back to it; with the memory's descriptor if result is 0 and by a Unix socket */
    mcclResult_t result;        /* or MCCL_SPANS */
    struct mccl_shared *mapped; /* where it is mapped already, in the same process */
    char reason[MCCL_REASON];
};
#define MCCL_SPANS 1000 /* come again, by TCP, saying `second` */

/* Then, by TCP, frames: a header and so many bytes. */
enum mccl_frame_type {
    MCCL_ROSTER = 1,
    MCCL_CARD,
    MCCL_CARDS,
    MCCL_REFUSAL,
    MCCL_SETTLED /* the ranks of my host have met; back: all have */
};

struct mccl_frame {
    char magic[8];
    uint32_t type, bytes;
};

struct mccl_seat { /* of a roster, which has one for each rank */
    int32_t host;  /* hosts are numbered from 0, by their lowest rank */
    int32_t pid;
    char name[MCCL_NAME];
};

struct mccl_card {          /* what a rank tells all others, and then the bytes of its worker's address */
    struct mccl_id local;   /* of the lowest rank of a host: where its ranks meet */
    struct mccl_place star; /* of rank 0: where it keeps in touch with the others */
    struct mccl_place meet; /* of every one: its door for a reunion */
    uint32_t bytes, unused;
};

enum mccl_word { MCCL_BEAT = 1, MCCL_COMES, MCCL_READY, MCCL_GO, MCCL_FAILED, MCCL_LEAVES };

struct mccl_waiting { /* of a rank: what it waits for */
    int32_t awaited;  /* a rank, -1: none */
    uint32_t kind;    /* of the call: enum mccl_kind */
    uint32_t stamp;   /* changes when it waits for something else, or something has come */
    uint32_t looks;   /* how often it has found that what it waits for is not there */
};

struct mccl_saying { /* between rank 0 and each other one, as long as the communicator lives */
    char magic[8];
    uint64_t secret[2];
    uint32_t word;
    int32_t rank;
    int32_t result;
    struct mccl_waiting waiting; /* of a beat */
    uint32_t unheard;            /* of a failure: as mccl_shared has it */
    char reason[MCCL_REASON];
};

struct mccl_visit { /* to the first one of a reunion; then, but from one that lacks something, the rank's bytes */
    char magic[8];
    uint64_t secret[2];
    uint64_t key;
    int32_t rank, n;
    uint32_t bytes;
    uint32_t lack; /* errno of a rank that cannot come, which waits for no answer; 0 */
};

struct mccl_outcome { /* of it, and then everybody's bytes if result is 0; mcclInProgress: of another one, come again */
    char magic[8];
    int32_t result;
    uint32_t unused;
    char reason[MCCL_REASON];
};

/* parse.c: is what came what it should be? Nothing outside of the bytes given is read. */
bool mccl_hello_good(const struct mccl_hello *h, const struct mccl_id *id);
/* Is this, of which the prefix has come, a hello to that door from another build of cumu? Then the text says so. */
bool mccl_hello_foreign(const struct mccl_hello *h, const struct mccl_id *id, char *text, size_t size);
/* The same of an id that a rank is given. */
bool mccl_id_foreign(const struct mccl_id *id, char *text, size_t size);
bool mccl_frame_good(const struct mccl_frame *f, uint32_t type, size_t most);
bool mccl_roster_good(const void *at, size_t bytes, int nranks, int *nhosts);
bool mccl_card_good(const void *at, size_t bytes);
/* Finds the nranks cards in the bytes. False: there are not so many, or one is wrong. */
bool mccl_cards_good(const void *at, size_t bytes, int nranks, size_t *where);
bool mccl_saying_good(const struct mccl_saying *s, const struct mccl_id *id, int nranks);
/* Is it a visit to any reunion of that communicator? To this one? */
bool mccl_visit_good(const struct mccl_visit *v, const uint64_t secret[2], int nranks);
bool mccl_visit_meant(const struct mccl_visit *v, const struct mccl_visit *mine);
bool mccl_outcome_good(const struct mccl_outcome *o);
bool mccl_same_id(const struct mccl_id *a, const struct mccl_id *b);

/* place.c */
enum {
    MCCL_DOOR_PENDING = 32,
    MCCL_SCARCE_MS = 700 /* how long there may be no descriptor where one is needed */
};
/* Listens on an address by which other hosts reach this one (NCCL_SOCKET_IFNAME, NCCL_SOCKET_FAMILY), or on the one
 * given, if it has a family. The descriptor, -1 if there is none. */
int mccl_listen(struct mccl_place *at);
/* The same for ranks of this host, by a Unix socket with a name of the kernel's choice. */
int mccl_listen_here(struct mccl_place *at);
/* A descriptor connected to that place, tried for so long; -1. */
int mccl_connect(const struct mccl_place *to, int patience_ms);
/* Waits, at most so long, until the kernel says that the interface of this connection runs: after it came up it carries
 * data for some time, up to a second, before it is said to. False: it does not. True, too, if nothing is known. */
bool mccl_await_link(int fd, int patience_ms);
/* NCCL_COMM_ID as a place; false if it is not set or no address. */
bool mccl_place_of_id(struct mccl_place *at);
void mccl_place_text(const struct mccl_place *at, char *text, size_t size);

/* Whole messages by a stream socket, within so long. */
bool mccl_send_all(int fd, const void *from, size_t n, int patience_ms);
bool mccl_receive_all(int fd, void *to, size_t n, int patience_ms);
/* Closes it. What it has said meanwhile is taken in: else closing resets the connection, and what has just been sent to
 * it is lost. */
void mccl_hang_up(int fd);
bool mccl_send_frame(int fd, uint32_t type, const void *from, size_t n, int patience_ms);
/* The payload of the next frame, which the caller frees; NULL, with the other side's words in `reason` if it had any,
 * when another one or none comes. */
void *mccl_receive_frame(int fd, uint32_t type, size_t most, size_t *bytes, int patience_ms, char *reason);
int64_t mccl_now_ms(void);
/* poll(2), at most MCCL_POLLS, many of which may be -1: the kernel takes none longer than a process may have open. */
enum { MCCL_POLLS = MCCL_MAX_RANKS + 64 };
struct pollfd;
int mccl_poll_some(struct pollfd *p, int n, int ms);
/* poll(2) until then, -1: for ever, unless the thread gives up (cumu_mccl_while). */
int mccl_poll(struct pollfd *p, unsigned n, int64_t end);
bool mccl_given_up(void);

/* who.c: fills in who this process is. */
void mccl_who(struct mccl_hello *h);

/* config.c */
struct mccl_settings {
    char interfaces[256]; /* NCCL_SOCKET_IFNAME */
    char id[300];         /* NCCL_COMM_ID */
    bool transports;      /* UCX_TLS is set */
    bool rendezvous;      /* UCX_RNDV_THRESH is */
    bool segments;        /* UCX_TCP_RX_SEG_SIZE is */
    int family;           /* NCCL_SOCKET_FAMILY: AF_INET, AF_INET6, 0 */
    int part;             /* CUMU_NCCL_HOST_RANKS, a test: so many ranks are a host; 0 */
    int join_ms;          /* CUMU_NCCL_JOIN_SECONDS: how long ranks wait for the last one */
    int silence_ms;       /* CUMU_NCCL_SILENCE_MS: how long a rank of another host may be silent */
};
const struct mccl_settings *mccl_settings(void);

#endif
