/* The ranks of several hosts get to know each other at the desk of their id: they come a second time, by TCP, are told
 * who is where, their cards go round, and the ranks of each host meet by themselves. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/desk.h"

/* The ranks of a host miss one of theirs after a step's time, and say who it is: those who wait for it have not settled
 * either, and would be taken for lost. Twice the time between two looks of a desk. */
#define MISSED_MS 1000

/* Could the two share memory? What they say is tried by the ranks of each host, when they meet. */
static bool neighbours(const struct guest *x, const struct guest *y)
{
    const struct mccl_hello *a = &x->hello, *b = &y->hello;
    bool one = (x->at_home && y->at_home) || a->process == b->process ||
               (a->net && a->net == b->net && a->boot[0] && strcmp(a->boot, b->boot) == 0);
    return one && a->part == b->part;
}

bool mccl_desk_spans(const struct desk *d)
{
    for (int i = 0; i < d->nranks; i++)
        if (!d->guests[i].unix_socket || !neighbours(&d->guests[0], &d->guests[i]))
            return true;
    return false;
}

static void fill_roster(const struct desk *d, struct mccl_seat *seats)
{
    int nhosts = 0;
    for (int i = 0; i < d->nranks; i++) {
        int k = 0;
        while (k < i && !neighbours(&d->guests[k], &d->guests[i]))
            k++;
        seats[i].host = k < i ? seats[k].host : nhosts++;
        seats[i].pid = d->guests[i].hello.pid;
        memcpy(seats[i].name, d->guests[i].hello.name, sizeof seats[i].name);
    }
}

/* All come again, by TCP. */
static void call_again(struct desk *d)
{
    for (int i = 0; i < d->nranks; i++) {
        struct guest *g = &d->guests[i];
        mccl_desk_reply(g, (struct mccl_reply){.result = MCCL_SPANS}, -1);
        g->line = g->fd;
        g->fd = -1;
    }
    d->second = true;
    d->here = 0;
    d->since = mccl_now_ms();
    d->patience_ms = mccl_step_ms();
    mccl_desk_receive(d);
    if (d->late)
        mccl_desk_turn_away(d);
}

/* In the second part what ranks say goes by one connection each; one says nothing in time, or no more. */
static void miss_word(struct desk *d, const struct mccl_seat *seats, int i, const char *reason, int64_t end)
{
    char silent[64];
    snprintf(silent, sizeof silent, "has said nothing for %d s", mccl_step_ms() / 1000);
    mccl_desk_refuse(d, mcclRemoteError, "rank %d on host %.40s %.160s", i, seats[i].name,
                     reason[0]              ? reason
                     : mccl_now_ms() >= end ? silent
                                            : "has gone");
}

static int left_of(int64_t end)
{
    int64_t left = end - mccl_now_ms();
    return left > 0 ? (int)left : 0;
}

/* The ranks of each host meet by themselves. Who is lost meanwhile is missed here first. */
static void see_settled(struct desk *d, const struct mccl_seat *seats)
{
    struct pollfd p[MCCL_MAX_RANKS];
    int left = d->nranks;
    int64_t end = mccl_now_ms() + mccl_step_ms() + MISSED_MS;
    for (int i = 0; i < d->nranks; i++)
        p[i] = (struct pollfd){.fd = d->guests[i].fd, .events = POLLIN};
    while (left && !d->result) {
        const bool late = mccl_now_ms() >= end;
        if (mccl_poll_some(p, d->nranks, late ? 0 : 500) <= 0 && !late)
            continue;
        for (int i = 0; i < d->nranks && !d->result; i++) {
            char reason[MCCL_REASON] = "";
            size_t size;
            if (p[i].fd < 0 || (!p[i].revents && !late))
                continue;
            void *good = mccl_receive_frame(p[i].fd, MCCL_SETTLED, 0, &size, left_of(end), reason);
            if (!good)
                miss_word(d, seats, i, reason, end);
            free(good);
            p[i].fd = -1;
            left--;
        }
    }
    for (int i = 0; i < d->nranks && !d->result; i++)
        (void)mccl_send_frame(d->guests[i].fd, MCCL_SETTLED, "", 0, MCCL_STEP_MS);
}

void mccl_desk_introduce(struct desk *d)
{
    call_again(d);
    if (d->result)
        return;
    size_t n = (size_t)d->nranks, size, used = 0, most = sizeof(struct mccl_card) + MCCL_ADDRESS_MAX;
    struct mccl_seat *seats = calloc(n, sizeof *seats);
    char *cards = malloc(n * most);
    const int64_t end = mccl_now_ms() + mccl_step_ms();
    if (!seats || !cards)
        mccl_desk_refuse(d, mcclSystemError, "out of memory");
    else
        fill_roster(d, seats);
    for (int i = 0; i < d->nranks && !d->result; i++)
        if (!mccl_send_frame(d->guests[i].fd, MCCL_ROSTER, seats, n * sizeof *seats, left_of(end)))
            miss_word(d, seats, i, "", end);
    for (int i = 0; i < d->nranks && !d->result; i++) {
        char reason[MCCL_REASON] = "";
        void *card = mccl_receive_frame(d->guests[i].fd, MCCL_CARD, most, &size, left_of(end), reason);
        if (card && mccl_card_good(card, size)) {
            memcpy(cards + used, card, size);
            used += size;
        } else
            miss_word(d, seats, i, reason, end);
        free(card);
    }
    for (int i = 0; i < d->nranks && !d->result; i++)
        if (!mccl_send_frame(d->guests[i].fd, MCCL_CARDS, cards, used, MCCL_STEP_MS))
            miss_word(d, seats, i, "", INT64_MAX);
    if (!d->result)
        see_settled(d, seats);
    free(seats);
    free(cards);
}
