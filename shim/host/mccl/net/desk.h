/* What the files of an id's desk share: who comes to it (desk.c), what the ranks of one host are handed (handout.c),
 * and how those of several hosts get to know each other (net/introduce.c). */
#ifndef CUMU_HOST_MCCL_NET_DESK_H
#define CUMU_HOST_MCCL_NET_DESK_H

#include "host/mccl/net/door.h"

#define MCCL_STEP_MS 30000

struct guest {
    int fd;                    /* -1: not here yet */
    int line;                  /* of one that was told to come again: open as long as it lives */
    bool unix_socket, at_home; /* at_home: it came by the socket the first time */
    struct mccl_hello hello;
};

struct caller { /* it has not said yet who it is */
    int fd;
    bool unix_socket;
    size_t got;
    int64_t since;
    struct mccl_hello hello;
};

struct desk {      /* where the ranks of one id come to */
    int door, net; /* net: by TCP, -1 if there is none */
    int spare;     /* given up so that those before the door can be told at least, when there is no other one */
    struct mccl_id id;
    int nranks, here; /* nranks: what the first one said */
    bool second;      /* they come for the second time */
    int patience_ms;  /* that ranks have for each other */
    bool local;       /* of a host's ranks, who come at once or never */
    int64_t since;    /* the first one came, or, of a local one, might have */
    int64_t beat;     /* when those by TCP were last told that this desk lives */
    int64_t scarce;   /* since then nobody can be let in, 0: the last one was */
    bool noticed;
    bool late;          /* refused before all had come: the others are to know whenever they come, */
    int64_t until;      /* until then */
    int *names, nnames; /* of a host's ranks: their numbers among all */
    struct guest *guests;
    struct caller callers[MCCL_DOOR_PENDING];
    mcclResult_t result; /* once it is not success, everybody is told so */
    char reason[MCCL_REASON];
};

/* What the program calls that rank. */
static inline int mccl_desk_name(const struct desk *d, int rank) { return rank < d->nnames ? d->names[rank] : rank; }
/* desk.c. All are told so, but the first reason counts. */
void mccl_desk_refuse(struct desk *d, mcclResult_t why, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));
/* Until all are here, or it is refused; and then tells those that are here, and those that come later. */
void mccl_desk_receive(struct desk *d);
void mccl_desk_turn_away(struct desk *d);
/* Answers one, with the memory's descriptor if it is not -1. False: it is gone. */
bool mccl_desk_reply(const struct guest *to, struct mccl_reply reply, int fd);
int mccl_step_ms(void); /* that each step may take: as long as ranks may, up to MCCL_STEP_MS */

/* handout.c. To all that are here: the memory, or why there is none. */
void mccl_desk_answer(struct desk *d);

/* introduce.c. Are the ranks that have come on several hosts? Then they come again, and learn who and where all are. */
bool mccl_desk_spans(const struct desk *d);
void mccl_desk_introduce(struct desk *d);

#endif
