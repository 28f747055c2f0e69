/* Numbers of functions (cbid), from mapping/cupti.tsv. */
#include "api/cupti/cupti.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern const char cumu_cupti_text[] __attribute__((visibility("hidden")));

enum { MOST = 1024 }; /* numbers of one domain; a larger one is left out */

struct row {
    char name[72];  /* CUPTI's */
    unsigned base;  /* its length without the toolkit's number */
    unsigned since; /* 7000: CUDA 7.0; of the driver 0 */
};
static struct row rows[2][MOST]; /* by domain - 1 and number */
static uint32_t last[2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* cudaMemcpy_v3020 is cudaMemcpy since 3.2; what ends in _v2 is a name of its own. */
static void split(struct row *r)
{
    char *v = NULL;
    for (char *p = r->name; (p = strstr(p, "_v")) != NULL; p += 2)
        v = p;
    r->base = (unsigned)strlen(r->name);
    if (v && strlen(v) >= 6) {
        r->base = (unsigned)(v - r->name);
        r->since = (unsigned)strtoul(v + 2, NULL, 10);
    }
}

static void read_table(void)
{
    for (const char *line = cumu_cupti_text; *line; line += strcspn(line, "\n"), line += *line != 0) {
        unsigned domain = *line == 'd' ? DOMAIN_DRIVER : DOMAIN_RUNTIME;
        const char *number = strchr(line, '\t');
        if (*line == '#' || !number)
            continue;
        char *name;
        unsigned long cbid = strtoul(number + 1, &name, 10);
        size_t n = strcspn(++name, "\n");
        if (cbid >= MOST || n >= sizeof rows[0]->name)
            continue;
        struct row *r = &rows[domain - 1][cbid];
        memcpy(r->name, name, n);
        r->name[n] = 0;
        if (domain == DOMAIN_RUNTIME)
            split(r);
        else
            r->base = (unsigned)n;
        if (cbid > last[domain - 1])
            last[domain - 1] = (uint32_t)cbid;
    }
}

uint32_t cumu_cupti_last(unsigned domain)
{
    (void)pthread_once(&once, read_table);
    return domain == DOMAIN_DRIVER || domain == DOMAIN_RUNTIME ? last[domain - 1] : 0;
}

const char *cumu_cupti_name(unsigned domain, uint32_t cbid)
{
    return cbid && cbid <= cumu_cupti_last(domain) && rows[domain - 1][cbid].name[0] ? rows[domain - 1][cbid].name
                                                                                     : NULL;
}

uint32_t cumu_cupti_cbid(unsigned domain, const char *symbol, unsigned toolkit)
{
    uint32_t best = 0, count = cumu_cupti_last(domain);
    size_t n = strlen(symbol);
    for (uint32_t i = 1; i <= count; i++) {
        const struct row *r = &rows[domain - 1][i];
        if (r->base == n && memcmp(r->name, symbol, n) == 0 && r->since < (toolkit + 1) * 1000 &&
            (!best || r->since >= rows[domain - 1][best].since))
            best = i;
    }
    return best;
}
