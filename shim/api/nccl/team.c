/* NCCL's teams, ranks of a communicator by a first one and a stride. Those that a program asks for beside all ranks are
 * of ranks that reach each other's memory by load and store, which none here does by NCCL's device-side interface: each
 * rank is such a team alone. ncclTeam_t and its arithmetic are of NCCL's public sources (BSD). */
#include <string.h>

#include "api/nccl/nccl.h"

struct team {
    int ranks, rank, stride;
};

static struct cumu_s12 answer(struct team t)
{
    struct cumu_s12 s;
    _Static_assert(sizeof s == sizeof t, "ncclTeam_t");
    memcpy(&s, &t, sizeof s);
    return s;
}

/* No team, and a line, where there is no communicator. */
static struct team all_ranks(const char *call, void *comm)
{
    struct nccl_comm *c = cumu_nccl_comm(comm);
    int state = c ? c->state : NCCL_NONE;
    if (state != NCCL_NONE && state != NCCL_ABANDONED && state != NCCL_JOINING)
        return (struct team){c->nranks, c->rank, 1};
    (void)cumu_nccl_failed(call, ncclInvalidArgument, "no communicator");
    return (struct team){0, 0, 0};
}

struct cumu_s12 wrap_ncclTeamWorld(void *comm) { return answer(all_ranks("ncclTeamWorld", comm)); }

struct cumu_s12 wrap_ncclTeamLsa(void *comm)
{
    struct team t = all_ranks("ncclTeamLsa", comm);
    return answer(t.ranks ? (struct team){1, 0, 1} : t);
}

/* The ranks of the same place in their Lsa teams: all. */
struct cumu_s12 wrap_ncclTeamRail(void *comm) { return answer(all_ranks("ncclTeamRail", comm)); }

/* A team's rank as one of the communicator's: this rank is one of the team's. */
static int rank_of(const char *call, void *comm, struct cumu_s12 team, int rank, int from)
{
    struct team t, all = all_ranks(call, comm);
    memcpy(&t, &team, sizeof t);
    if (!all.ranks)
        return -1;
    return (from < 0 ? all.rank : from) + (rank - t.rank) * t.stride;
}
int wrap_ncclTeamRankToWorld(void *comm, struct cumu_s12 team, int rank)
{
    return rank_of("ncclTeamRankToWorld", comm, team, rank, -1);
}
int wrap_ncclTeamRankToLsa(void *comm, struct cumu_s12 team, int rank)
{
    return rank_of("ncclTeamRankToLsa", comm, team, rank, 0);
}
