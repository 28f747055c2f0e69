/* Checks of what comes by the network. Who sent it may be anybody, so that no number in it is believed before it was
 * compared with what there can be. */
#include <stdio.h>
#include <string.h>

#include "host/mccl/net/door.h"

const char mccl_magic[8] = "cumumcc6"; /* 6: the version of all that is in door.h and in shared memory */
const char mccl_release[16] = CUMU_VERSION;
#define VERSION_AT (sizeof mccl_magic - 1)

/* In a time that does not tell how many bytes were right. */
bool mccl_same_id(const struct mccl_id *a, const struct mccl_id *b)
{
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    unsigned differ = 0;
    for (size_t i = 0; i < sizeof *a; i++)
        differ |= x[i] ^ y[i];
    return !differ;
}

static bool ends(const char *text, size_t size) { return memchr(text, 0, size) != NULL; }

bool mccl_hello_good(const struct mccl_hello *h, const struct mccl_id *id)
{
    return mccl_same_id(&h->id, id) && h->order == MCCL_ORDER && h->bytes == MCCL_BYTES && h->nranks >= 1 &&
           h->nranks <= MCCL_MAX_RANKS && h->rank >= 0 && h->rank < h->nranks && ends(h->boot, sizeof h->boot) &&
           ends(h->name, sizeof h->name) && ends(h->release, sizeof h->release) && (h->second == 0 || h->second == 1);
}

bool mccl_hello_foreign(const struct mccl_hello *h, const struct mccl_id *id, char *text, size_t size)
{
    struct mccl_id same = h->id; /* which each rank makes for itself if NCCL_COMM_ID names the door */
    char theirs = h->id.magic[VERSION_AT], mine = mccl_magic[VERSION_AT];
    same.magic[VERSION_AT] = id->magic[VERSION_AT];
    if (!mccl_same_id(&same, id) || (theirs == mine && h->order == MCCL_ORDER && h->bytes == MCCL_BYTES))
        return false;
    if (h->order != MCCL_ORDER)
        snprintf(text, size, "a rank comes from a machine of another byte order");
    else if (theirs < '6' || theirs > '~' || !ends(h->release, sizeof h->release))
        snprintf(text, size, "rank %d runs an older version of cumu, protocol %c; who made the id runs %s, protocol %c",
                 h->rank, theirs >= ' ' && theirs <= '~' ? theirs : '?', mccl_release, mine);
    else
        snprintf(text, size,
                 "rank %d runs cumu %s, protocol %c, layout %u; who made the id runs %s, protocol %c, layout %u",
                 h->rank, h->release, theirs, (unsigned)h->bytes, mccl_release, mine, (unsigned)MCCL_BYTES);
    for (char *c = text; *c; c++) /* it is printed */
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    return true;
}

bool mccl_id_foreign(const struct mccl_id *id, char *text, size_t size)
{
    char theirs = id->magic[VERSION_AT];
    if (memcmp(id->magic, mccl_magic, VERSION_AT) != 0 || theirs == mccl_magic[VERSION_AT])
        return false;
    snprintf(text, size, "another version of cumu made the id, protocol %c; this is %s, protocol %c",
             theirs >= ' ' && theirs <= '~' ? theirs : '?', mccl_release, mccl_magic[VERSION_AT]);
    return true;
}

bool mccl_frame_good(const struct mccl_frame *f, uint32_t type, size_t most)
{
    return memcmp(f->magic, mccl_magic, sizeof f->magic) == 0 && f->type == type && f->bytes <= most;
}

/* Hosts are numbered in the order of their lowest ranks. */
bool mccl_roster_good(const void *at, size_t bytes, int nranks, int *nhosts)
{
    struct mccl_seat seat;
    *nhosts = 0;
    if (bytes != (size_t)nranks * sizeof seat)
        return false;
    for (int i = 0; i < nranks; i++) {
        memcpy(&seat, (const char *)at + (size_t)i * sizeof seat, sizeof seat);
        if (seat.host < 0 || seat.host > *nhosts || !ends(seat.name, sizeof seat.name))
            return false;
        *nhosts += seat.host == *nhosts;
    }
    return true;
}

static bool of_tcp(const struct mccl_place *p) { return !p->family || p->family == AF_INET || p->family == AF_INET6; }

bool mccl_card_good(const void *at, size_t bytes)
{
    struct mccl_card card;
    if (bytes < sizeof card)
        return false;
    memcpy(&card, at, sizeof card);
    return card.bytes <= MCCL_ADDRESS_MAX && bytes == sizeof card + card.bytes && of_tcp(&card.star) &&
           of_tcp(&card.meet);
}

bool mccl_cards_good(const void *at, size_t bytes, int nranks, size_t *where)
{
    struct mccl_card card;
    size_t next = 0;
    for (int i = 0; i < nranks; i++) {
        if (bytes - next < sizeof card)
            return false;
        memcpy(&card, (const char *)at + next, sizeof card);
        if (bytes - next - sizeof card < card.bytes ||
            !mccl_card_good((const char *)at + next, sizeof card + card.bytes))
            return false;
        where[i] = next;
        next += sizeof card + card.bytes;
    }
    return next == bytes;
}

bool mccl_saying_good(const struct mccl_saying *s, const struct mccl_id *id, int nranks)
{
    uint64_t differ = 0;
    for (int i = 0; i < 2; i++)
        differ |= s->secret[i] ^ id->secret[i];
    return memcmp(s->magic, mccl_magic, sizeof s->magic) == 0 && !differ && s->word >= MCCL_BEAT &&
           s->word <= MCCL_LEAVES && s->rank >= 0 && s->rank < nranks && s->result >= 0 &&
           s->result <= mcclInProgress && s->waiting.awaited >= -1 && s->waiting.awaited < nranks &&
           ends(s->reason, sizeof s->reason);
}

bool mccl_visit_good(const struct mccl_visit *v, const uint64_t secret[2], int nranks)
{
    uint64_t differ = (v->secret[0] ^ secret[0]) | (v->secret[1] ^ secret[1]);
    return memcmp(v->magic, mccl_magic, sizeof v->magic) == 0 && !differ && v->rank >= 0 && v->rank < nranks;
}

bool mccl_visit_meant(const struct mccl_visit *v, const struct mccl_visit *mine)
{
    return v->key == mine->key && v->n == mine->n && v->bytes == mine->bytes;
}

bool mccl_outcome_good(const struct mccl_outcome *o)
{
    return memcmp(o->magic, mccl_magic, sizeof o->magic) == 0 && o->result >= 0 && o->result <= mcclInProgress &&
           ends(o->reason, sizeof o->reason);
}
