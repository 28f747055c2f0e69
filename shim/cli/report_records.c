/* cumu check: the report as records, for programs: tab-separated lines or JSON. One walk serves both. */
#include "cli/cli.h"
#include "cli/report.h"
#include "core/json.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMA = 1 }; /* of the JSON; a field that changes its meaning raises it */

/* A record is begun, given its fields in a fixed order, and ended. */
struct writer {
    bool json;
    const char *list;                     /* JSON: the array that is open, NULL for none */
    bool first_field, first_record, many; /* many: records of this kind stand in an array */
};

static void close_list(struct writer *w)
{
    if (w->json && w->list)
        printf("]");
    w->list = NULL;
}

/* kind: the record's name, which names the JSON array too; alone: there is one of it a file. */
static void begin(struct writer *w, const char *kind, bool alone)
{
    w->first_field = true;
    if (!w->json) {
        fputs(kind, stdout);
        return;
    }
    if (!alone && w->list && strcmp(w->list, kind) == 0) {
        fputs(", {", stdout);
        return;
    }
    close_list(w);
    printf("%s\n  \"%s\": %s{", w->first_record ? "" : ",", kind, alone ? "" : "[");
    w->first_record = false;
    w->list = alone ? NULL : kind;
}

static void key(struct writer *w, const char *name)
{
    if (w->json)
        printf("%s\"%s\": ", w->first_field ? "" : ", ", name);
    else
        putchar('\t');
    w->first_field = false;
}

static void text(struct writer *w, const char *name, const char *value)
{
    key(w, name);
    if (w->json)
        cumu_put_json(stdout, value);
    else /* what separates fields and records is no part of one */
        for (; *value; value++)
            putchar(*value == '\t' || *value == '\n' || *value == '\r' ? ' ' : *value);
}

static void number(struct writer *w, const char *name, unsigned long long value)
{
    key(w, name);
    printf("%llu", value);
}

static void end(struct writer *w) { fputs(w->json ? "}" : "\n", stdout); }

static void image(struct writer *w, const struct check_image *m)
{
    char arch[16], version[24];
    (void)snprintf(arch, sizeof arch, "%u%.1s", m->arch, &m->suffix);
    (void)snprintf(version, sizeof version, "%u.%u", m->major, m->minor);
    begin(w, "image", false);
    text(w, "kind", m->kind);
    text(w, "arch", arch);
    text(w, "compression", m->compression);
    number(w, "stored", m->stored);
    number(w, "unpacked", m->unpacked);
    text(w, "object", m->object);
    text(w, "version", version);
    text(w, "device_code", m->relocatable ? "relocatable" : "whole");
    end(w);
}

/* Writes the report as records, a kind and named fields each, by a writer for tsv or JSON: one list of fields for
 * both. */
static void records(struct writer *w, const struct check_report *r)
{
    begin(w, "file", true);
    text(w, "path", r->program);
    end(w);
    begin(w, "runtime", true);
    text(w, "linked", check_runtimes[r->runtime]);
    end(w);
    for (size_t i = 0; i < r->nlibrary; i++) {
        const struct check_library *l = &r->library[i];
        begin(w, "library", false);
        text(w, "soname", l->soname);
        text(w, "how", l->how);
        text(w, "node", l->node);
        text(w, "needed", l->opened ? "dlopen" : "linked");
        end(w);
    }
    for (size_t i = 0; i < r->nsymbol; i++) {
        const struct check_symbol *s = &r->symbol[i];
        begin(w, "symbol", false);
        text(w, "name", s->name);
        text(w, "verb", check_verb(s));
        text(w, "soname", s->soname);
        text(w, "reason", s->entry && s->entry->reason ? s->entry->reason : "");
        end(w);
    }
    for (size_t i = 0; i < r->nlibrary; i++) {
        const struct cumu_evidence e = check_evidence(r, r->library[i].soname);
        if (!e.own && !e.calls[CUMU_SURE] && !e.calls[CUMU_NAMED] && !e.calls[CUMU_GUESSED])
            continue;
        begin(w, "evidence", false);
        text(w, "soname", r->library[i].soname);
        number(w, "sure", e.calls[CUMU_SURE]);
        number(w, "named", e.calls[CUMU_NAMED]);
        number(w, "guessed", e.calls[CUMU_GUESSED]);
        number(w, "own", e.own);
        end(w);
    }
    for (size_t i = 0; i < r->nimage; i++)
        image(w, &r->image[i]);
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next) {
        begin(w, "kernel", false);
        text(w, "name", k->name);
        text(w, "code", k->ptx ? "ptx" : "sass");
        text(w, "translated", check_lost(k) ? "lost" : "ok");
        text(w, "reason", check_why(k));
        end(w);
    }
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next)
        if (k->slow) {
            begin(w, "slow", false);
            text(w, "name", k->name);
            text(w, "reason", k->slow);
            end(w);
        }
    begin(w, "device", true);
    text(w, "backend", check_backend(r));
    number(w, "claimed", r->claimed);
    number(w, "needed", r->needs);
    number(w, "best", check_best(r) ? check_best(r)->capability : 0);
    end(w);
    for (size_t i = 0; i < r->nchoice; i++) {
        begin(w, "choice", false);
        number(w, "capability", r->choice[i].capability);
        number(w, "kernels", r->choice[i].kernels);
        number(w, "translated", r->choice[i].translated);
        text(w, "ptx", r->choice[i].beyond ? "other" : "own");
        end(w);
    }
    begin(w, "verdict", true);
    text(w, "verdict", check_verdict_text(check_verdict(r)));
    text(w, "reason", r->fatal ? r->fatal : "");
    number(w, "gaps", r->gaps);
    end(w);
}

static void open_files(void) { printf("{\"schema\": %d,\n \"files\": [", SCHEMA); }

void check_print(const struct check_report *r, enum check_format format, bool first)
{
    struct writer w = {.json = format == CHECK_JSON, .first_record = true};
    if (format == CHECK_TEXT) {
        if (!first)
            putchar('\n');
        check_print_text(r);
        return;
    }
    if (w.json && first)
        open_files();
    if (w.json)
        printf("%s{", first ? "" : ",\n ");
    records(&w, r);
    close_list(&w);
    if (w.json)
        fputs("}", stdout);
}

void check_print_totals(const struct check_totals *t, enum check_format format, enum check_verdict worst)
{
    const unsigned *v = t->verdicts;
    unsigned looked = v[0] + v[1] + v[2];
    if (format == CHECK_TEXT) {
        printf("\nfiles       %u will run, %u with gaps, %u will not run; %u without CUDA", v[0], v[1], v[2],
               t->without_cuda);
        printf(t->unreadable ? "; %u could not be read\n" : "\n", t->unreadable);
        return;
    }
    if (format == CHECK_TSV) {
        printf("total\t%s\t%u\t%u\t%u\t%u\t%u\n", check_verdict_text(worst), v[0], v[1], v[2], t->without_cuda,
               t->unreadable);
        return;
    }
    if (!looked)
        open_files();
    printf("],\n \"total\": {\"verdict\": \"%s\", \"will_run\": %u, \"with_gaps\": %u, \"will_not_run\": %u, "
           "\"without_cuda\": %u, \"unreadable\": %u}}\n",
           check_verdict_text(worst), v[0], v[1], v[2], t->without_cuda, t->unreadable);
}
