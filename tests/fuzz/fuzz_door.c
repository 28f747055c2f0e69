/* Fuzz target of what ranks of other hosts say: hellos, rosters, cards, the star's messages and visits, which anybody
 * may send. The first byte chooses what they are taken for. */
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/door.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What is accepted is read to its end, as who asks would. */
static volatile unsigned sum;

static void read_text(const char *text) { sum += (unsigned)strlen(text); }

static void read_cards(const uint8_t *data, size_t size, int nranks)
{
    size_t where[64];
    if (!mccl_cards_good(data, size, nranks, where))
        return;
    for (int i = 0; i < nranks; i++) {
        struct mccl_card card;
        memcpy(&card, data + where[i], sizeof card);
        for (uint32_t k = 0; k < card.bytes; k++)
            sum += data[where[i] + sizeof card + k];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mccl_id id = {0};
    struct mccl_hello hello = {0};
    struct mccl_saying saying = {0};
    struct mccl_frame frame = {0};
    struct mccl_visit visit = {0};
    struct mccl_outcome outcome = {0};
    int nhosts;
    if (size < 2)
        return 0;
    int what = data[0], nranks = 1 + data[1] % 64;
    data += 2;
    size -= 2;
    memcpy(id.magic, mccl_magic, sizeof id.magic);
    /* A copy of the exact size, so that a byte read beyond is seen. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    switch (what % 8) {
    case 0: /* all behind its prefix may be anything */
    case 7:
        memcpy(&hello, copy, size < sizeof hello ? size : sizeof hello);
        if (what % 8 == 7) {
            char text[MCCL_REASON];
            hello.id = id;
            hello.id.magic[7] = (char)(nranks + '0');
            if (mccl_hello_foreign(&hello, &id, text, sizeof text))
                read_text(text);
            break;
        }
        hello.id = id;
        hello.order = MCCL_ORDER;
        hello.bytes = MCCL_BYTES;
        if (mccl_hello_good(&hello, &id)) {
            read_text(hello.name);
            read_text(hello.boot);
            if (hello.rank >= hello.nranks || hello.nranks > MCCL_MAX_RANKS)
                abort();
        }
        break;
    case 1:
        if (mccl_roster_good(copy, size, nranks, &nhosts) && (nhosts < 1 || nhosts > nranks))
            abort();
        break;
    case 2: read_cards(copy, size, nranks); break;
    case 3:
        memcpy(&saying, copy, size < sizeof saying ? size : sizeof saying);
        if (mccl_saying_good(&saying, &id, nranks)) {
            read_text(saying.reason);
            if (saying.rank >= nranks || saying.waiting.awaited >= nranks)
                abort();
        }
        break;
    case 5:
        memcpy(&visit, copy, size < sizeof visit ? size : sizeof visit);
        if (mccl_visit_good(&visit, id.secret, nranks) && (visit.rank < 0 || visit.rank >= nranks))
            abort();
        break;
    case 6:
        memcpy(&outcome, copy, size < sizeof outcome ? size : sizeof outcome);
        if (mccl_outcome_good(&outcome))
            read_text(outcome.reason);
        break;
    default:
        memcpy(&frame, copy, size < sizeof frame ? size : sizeof frame);
        if (mccl_frame_good(&frame, MCCL_CARDS, 1000) && frame.bytes > 1000)
            abort();
        if (mccl_card_good(copy, size) && size < sizeof(struct mccl_card))
            abort();
    }
    free(copy);
    return 0;
}
