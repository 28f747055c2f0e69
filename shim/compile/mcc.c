/* mcc's command line, and a ladder of others for kernels that it breaks down on: less optimisation, flattened control
 * flow. Each object is kept under the command and the text that made it, so that later processes go straight there. */
#include "compile/mcc.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/config.h"
#include "compile/tool.h"

/* Public builds of SDK 3.1 to 5.x say the first, one of 4.0.1 the second. */
enum { SPELLINGS = CUMU_MCC_SPELLINGS, RUNGS = CUMU_MCC_RUNGS };
static const char *const device_only[SPELLINGS] = {"--cuda-device-only", "--musa-device-only"};

/* Its optimiser ends or loops on kernels that it compiles with less, on nested conditions above all; its back end for
 * -O0 is another, which has faults of its own (mapping/facts/musa.md D7). */
static const struct rung {
    const char *level;
    bool flat;
} rungs[RUNGS] = {{"-O2", false}, {"-O1", false}, {"-O2", true}, {"-O0", false}, {"-O0", true}};

/* The spelling that the compiler has taken, in this process or in another that left its number in the cache. The first
 * one is kept nowhere: it is tried first anyway. */
static atomic_uint spelling;
static struct cumu_key spelling_key;
static pthread_once_t spelling_once = PTHREAD_ONCE_INIT;

static void recall_spelling(void)
{
    void *data = NULL;
    size_t size = 0;
    unsigned kept;
    cumu_tool_key(&spelling_key, 1, cumu_musa_identity(), "spelling of device-only", "", 0);
    if (cumu_cache_get(&spelling_key, &data, &size) && size == sizeof kept) {
        memcpy(&kept, data, sizeof kept);
        spelling = kept % SPELLINGS;
    }
    free(data);
}

static void keep_spelling(unsigned taken)
{
    const struct cumu_entry e = {.kernel = "(spelling of device-only)"};
    if (atomic_exchange(&spelling, taken) != taken)
        cumu_cache_put(&spelling_key, &e, &taken, sizeof taken);
}

struct climb { /* of one kernel */
    struct cumu_recipe *r;
    const struct cumu_musa_source *s;
    char flags[CUMU_MCC_FLAGS_MAX];
    char *flat; /* text, once it was asked for */
    size_t flat_size;
    bool asked;
};

/* If-conversion and scheduling, as libraries of the vendor's are built (mapping/facts/musa.md D6). Their options that
 * change results are not among these. */
static const char vendor[] = "-mllvm -mtgpu-if-convert=1 -mllvm -mtgpu-load-store-opt -mllvm -misched=mtgpu-max-ilp";

const char *cumu_mcc_rung(unsigned rung, bool *flat)
{
    *flat = rungs[rung].flat;
    return rungs[rung].level;
}

void cumu_mcc_words(char *to, size_t room, unsigned spelled, unsigned arch, unsigned rung)
{
    const char *given = cumu_opt_text(CUMU_OPT_MCC_FLAGS), *own = strcmp(given, "vendor") == 0 ? vendor : given;
    (void)snprintf(to, room, "-mtgpu %s --offload-arch=mp_%u %s -std=c++14 -ffp-contract=off%s%s -c",
                   device_only[spelled], arch, rungs[rung].level, *own ? " " : "", own);
}

static void spell_flags(struct climb *c, unsigned spelled, unsigned rung)
{
    cumu_mcc_words(c->flags, sizeof c->flags, spelled, c->r->entry.isa, rung);
}

/* The text for a rung; NULL: it has none of its own. */
static const char *text_of(struct climb *c, unsigned rung, size_t *size)
{
    *size = c->s->size;
    if (!rungs[rung].flat)
        return c->s->text;
    if (!c->asked && c->s->flat && !c->s->flat(c->s->ctx, &c->flat, &c->flat_size))
        c->flat = NULL;
    c->asked = true;
    *size = c->flat_size;
    return c->flat;
}

/* The user wants it flattened at once: what the compiler gets wrong without a word. */
bool cumu_mcc_listed(const char *kernel)
{
    char list[1024], *save = NULL;
    (void)snprintf(list, sizeof list, "%s", cumu_opt_text(CUMU_OPT_MUSA_FLAT));
    for (char *p = strtok_r(list, ",", &save); p; p = strtok_r(NULL, ",", &save))
        if (fnmatch(p, kernel, 0) == 0)
            return true;
    return false;
}

/* What an earlier process made of the kernel on this rung, in whichever spelling. */
static enum cumu_made find_made(struct cumu_compiled *o, struct climb *c, unsigned rung)
{
    enum cumu_made made = CUMU_MADE_ABSENT;
    size_t size;
    const char *text = text_of(c, rung, &size);
    for (unsigned k = 0; text && k < SPELLINGS && made == CUMU_MADE_ABSENT; k++) {
        spell_flags(c, (k + spelling) % SPELLINGS, rung);
        made = cumu_tool_make(o, c->r, text, size, false);
    }
    return made;
}

/* Compiles on one rung, in the spelling that the compiler knows. */
static enum cumu_made try_rung(struct cumu_compiled *o, struct climb *c, unsigned rung, const char *text, size_t size)
{
    enum cumu_made made = CUMU_MADE_FAILED;
    for (unsigned k = 0, first = spelling; k < SPELLINGS; k++) {
        unsigned spelled = (first + k) % SPELLINGS;
        spell_flags(c, spelled, rung);
        made = cumu_tool_make(o, c->r, text, size, true);
        if (made != CUMU_MADE_FAILED || o->fault != CUMU_FAULT_FLAGS) {
            keep_spelling(spelled);
            break;
        }
    }
    return made;
}

/* Down the ladder, as long as it is the compiler itself that breaks down. One that did not end has half the time on
 * each rung below, so that a kernel takes no more than three times what is allowed. */
static enum cumu_made climb(struct cumu_compiled *o, struct climb *c, unsigned first)
{
    char why[sizeof o->why] = "";
    enum cumu_made made = CUMU_MADE_FAILED;
    size_t size;
    for (unsigned rung = first; rung < RUNGS; rung++) {
        const char *text = text_of(c, rung, &size);
        if (!text || (rungs[first].flat && !rungs[rung].flat))
            continue;
        made = try_rung(o, c, rung, text, size);
        if (made != CUMU_MADE_FAILED) {
            if (rung != first)
                (void)snprintf(o->why, sizeof o->why, "compiled with %s%s only: %.380s", rungs[rung].level,
                               rungs[rung].flat ? " and flattened control flow" : "", why);
            return made;
        }
        if (rung == first)
            memcpy(why, o->why, sizeof why); /* the usual command's is the one that is told */
        if (o->fault != CUMU_FAULT_TOOL)
            break;
        c->r->hurried |= o->timed_out;
    }
    memcpy(o->why, why, sizeof why);
    return made;
}

enum cumu_made cumu_mcc_make(struct cumu_compiled *o, struct cumu_recipe *r, const struct cumu_musa_source *s,
                             bool compile)
{
    struct climb c = {.r = r, .s = s};
    const unsigned first = s->flat && cumu_mcc_listed(s->kernel) ? 2 : 0;
    enum cumu_made made = CUMU_MADE_ABSENT;
    (void)pthread_once(&spelling_once, recall_spelling);
    r->flags = c.flags;
    for (unsigned rung = first; rung < RUNGS && made == CUMU_MADE_ABSENT; rung++)
        if (!rungs[first].flat || rungs[rung].flat)
            made = find_made(o, &c, rung);
    if (made == CUMU_MADE_ABSENT && compile)
        made = climb(o, &c, first);
    free(c.flat);
    return made;
}

enum cumu_made cumu_mcc_make_once(struct cumu_compiled *o, struct cumu_recipe *r, const struct cumu_musa_source *s,
                                  char flags[CUMU_MCC_FLAGS_MAX])
{
    struct climb c = {.r = r, .s = s};
    (void)pthread_once(&spelling_once, recall_spelling);
    r->flags = c.flags;
    enum cumu_made made = find_made(o, &c, 0);
    if (made == CUMU_MADE_ABSENT)
        made = try_rung(o, &c, 0, s->text, s->size);
    memcpy(flags, c.flags, sizeof c.flags);
    r->flags = flags;
    return made;
}
