/* Ranks meet, sum up and part, again and again: `meet [RANKS [ROUNDS]]`, for whatever the environment says about hosts,
 * addresses and the place of the id. */
#include "team.h"

static void body(struct rank *r)
{
    int *x = device_bytes(r, 4000);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 1000; k++)
            x[k] = r->rank + k;
        RANK(r, mcclAllReduce(x, x, 1000, mcclInt32, mcclSum, r->comm, r->stream) == mcclSuccess);
        RANK(r, musaStreamSynchronize(r->stream) == musaSuccess);
        for (int k = 0; k < 1000; k++)
            RANK(r, x[k] == r->nranks * (r->nranks - 1) / 2 + r->nranks * k);
    }
}

int main(int count, char **arguments)
{
    int nranks = count > 1 ? atoi(arguments[1]) : 3, rounds = count > 2 ? atoi(arguments[2]) : 2;
    setenv("CUMU_HOST_DEVICES", "2", 1);
    setenv("CUMU_HOST_SHARE", "1", 1);
    for (int i = 0; i < rounds; i++)
        report(team_run(PROCESSES, nranks, true, body, NULL), "%d ranks, round %d", nranks, i);
    return check_end("mccl meet");
}
