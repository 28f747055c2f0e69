/* cumu check: the verdict, and the report as text. */
#include "audit/audit.h"
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/report.h"
#include "core/config.h"
#include "compile/pack.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHOWN = 8 }; /* lines of one kind in the text report */
enum { FEW = 20 };  /* less than one in so many kernels is as good as none */

const char *const check_runtimes[] = {"none", "shared", "static"};

const char *check_verdict_text(enum check_verdict v)
{
    static const char *const text[] = {"will run", "will run with gaps", "will not run"};
    return text[v];
}

const char *check_verb(const struct check_symbol *s) { return s->entry ? cumu_verb_names[s->entry->verb] : "missing"; }

bool check_lost(const struct check_kernel *k) { return !k->ptx || k->problem; }

const char *check_why(const struct check_kernel *k)
{
    return k->problem ? k->problem : k->ptx ? "" : "machine code (SASS) only, no PTX";
}

const char *check_backend(const struct check_report *r)
{
    if (r->target)
        return r->target->name;
    char path[PATH_MAX];
    const char *wanted = cumu_opt_text(CUMU_OPT_BACKEND);
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    if (strcmp(wanted, "auto") != 0)
        return wanted;
    while (l && l->name && strcmp(l->name, "musa") != 0)
        l++;
    return l && l->name && cumu_sdk_library(l, path) ? "musa" : "host";
}

/* Imports that no map knows for which the audit module has stubs (shim/audit/unknown.c). */
#if defined(__x86_64__)
enum { MAX_UNKNOWN = AUDIT_STUBS };
#else
enum { MAX_UNKNOWN = 0 };
#endif

void check_judge(struct check_report *r)
{
    size_t bad = 0, sass = 0, all = 0, unknown = 0;
    for (size_t i = 0; i < r->nsymbol; i++) {
        const struct check_symbol *s = &r->symbol[i];
        if (!s->entry && (s->data || ++unknown > MAX_UNKNOWN))
            check_fatal(r, "imports %s%s, which cumu's %s does not have", s->data ? "the variable " : "", s->name,
                        s->soname);
        else if (!s->entry || s->entry->verb == CUMU_STUB)
            r->gaps++;
    }
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next, all++) {
        bad += check_lost(k);
        sass += !k->ptx;
    }
    for (size_t i = 0; i < r->nlibrary; i++) /* it may do without */
        r->gaps += r->library[i].opened && strcmp(r->library[i].how, "missing") == 0;
    r->gaps += (unsigned)bad;
    if (bad && sass == all)
        check_fatal_first(r, "machine code (SASS) only: none of its %zu kernel%s has PTX", all, all > 1 ? "s" : "");
    else if (bad && bad == all)
        check_fatal(r,
                    bad == 1 ? "its only kernel, %s, cannot be translated: %s"
                             : "none of its kernels can be translated; the first, %s: %s",
                    r->kernels->name, check_why(r->kernels));
    else if (bad && (all - bad) * FEW < all)
        check_fatal(r, "only %zu of its %zu kernels can be translated (%zu have no PTX)", all - bad, all, sass);
}

struct cumu_evidence check_evidence(const struct check_report *r, const char *soname)
{
    struct cumu_evidence e = {0};
    for (size_t i = 0; i < r->nsymbol; i++)
        if (r->symbol[i].entry && (!soname || strcmp(r->symbol[i].soname, soname) == 0))
            cumu_evidence_add(&e, r->symbol[i].entry);
    return e;
}

static void more(size_t left)
{
    if (left)
        printf("            and %zu more (--format tsv lists all)\n", left);
}

static void count_verbs(const struct check_report *r, const char *soname, size_t count[6])
{
    for (size_t i = 0; i < r->nsymbol; i++)
        if (!soname || strcmp(r->symbol[i].soname, soname) == 0)
            count[r->symbol[i].entry ? r->symbol[i].entry->verb : 5]++;
}

static void print_libraries(const struct check_report *r)
{
    for (size_t i = 0; i < r->nlibrary; i++) {
        const struct check_library *l = &r->library[i];
        size_t count[6] = {0};
        count_verbs(r, l->soname, count);
        printf("%-11s %s", l->opened ? "opens" : "library", l->soname);
        if (*l->node)
            printf(" (%s)", l->node);
        printf(": %s", l->how);
        static const int order[] = {CUMU_JUMP, CUMU_CONV, CUMU_WRAP, CUMU_PASS, CUMU_STUB};
        const char *sign = ";";
        for (unsigned k = 0; k < sizeof order / sizeof *order; k++)
            if (count[order[k]]) {
                printf("%s %zu %s", sign, count[order[k]], cumu_verb_names[order[k]]);
                sign = ",";
            }
        printf(count[5] ? "%s %zu missing\n" : "\n", sign, count[5]);
    }
}

static void print_symbols(const struct check_report *r)
{
    size_t count[6] = {0}, shown = 0;
    count_verbs(r, NULL, count);
    printf("symbols     %zu CUDA functions: %zu jump, %zu conv, %zu wrap, %zu pass, %zu stub", r->nsymbol,
           count[CUMU_JUMP], count[CUMU_CONV], count[CUMU_WRAP], count[CUMU_PASS], count[CUMU_STUB]);
    printf(count[5] ? ", %zu missing\n" : "\n", count[5]);
    for (size_t i = 0; i < r->nsymbol; i++) {
        const struct check_symbol *s = &r->symbol[i];
        if (s->entry && s->entry->verb != CUMU_STUB)
            continue;
        if (shown++ < SHOWN)
            printf("            %s %s: %s%s\n", check_verb(s), s->name,
                   s->entry && s->entry->reason ? s->entry->reason : s->soname,
                   s->entry  ? ""
                   : s->data ? " of cumu lacks it"
                             : ", newer than cumu: a stub answers \"not supported\"");
    }
    more(shown > SHOWN ? shown - SHOWN : 0);
}

/* A line for each library whose calls rest on more than what was seen in SDKs. */
static void print_evidence(const struct check_report *r)
{
    char text[128];
    for (size_t i = 0; i < r->nlibrary; i++) {
        const struct cumu_evidence e = check_evidence(r, r->library[i].soname);
        if (e.calls[CUMU_NAMED] + e.calls[CUMU_GUESSED] && cumu_evidence_text(&e, text, sizeof text))
            printf("evidence    %s: MUSA functions %s\n", r->library[i].soname, text);
    }
}

/* One line for all images: what kinds there are, for which architectures. */
static void print_images(const struct check_report *r)
{
    size_t ptx = 0, sass = 0, other = 0, linked = 0;
    unsigned low = 0, high = 0;
    for (size_t i = 0; i < r->nimage; i++) {
        const struct check_image *m = &r->image[i];
        bool is_ptx = strcmp(m->kind, "ptx") == 0;
        ptx += is_ptx;
        sass += strcmp(m->kind, "sass") == 0;
        other += !is_ptx && strcmp(m->kind, "sass") != 0;
        linked += m->relocatable;
        if (is_ptx && (!low || m->arch < low))
            low = m->arch;
        if (is_ptx && m->arch > high)
            high = m->arch;
    }
    if (!r->nimage)
        return;
    printf("images      %zu: %zu PTX", r->nimage, ptx);
    if (ptx)
        printf(low == high ? " (compute_%u)" : " (compute_%u to %u)", low, high);
    printf(", %zu SASS", sass);
    if (other)
        printf(", %zu others", other);
    printf(linked ? "; %zu of relocatable device code\n" : "\n", linked);
    if (r->packed)
        printf("pack        %u module%s; PTX for %zu of %zu kernels\n", r->packed, r->packed > 1 ? "s" : "",
               r->pack_kernels - r->pack_lacks, r->pack_kernels);
    else if (sass && !ptx && cumu_packs_any())
        printf("pack        none of those given is for it: they were made for other files\n");
}

static void print_kernels(const struct check_report *r)
{
    size_t all = 0, ptx = 0, bad = 0, shown = 0;
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next, all++) {
        ptx += k->ptx;
        bad += check_lost(k);
    }
    printf("kernels     %zu: %zu with PTX, %zu SASS only; %zu can %s%s\n", all, ptx, all - ptx, all - bad,
           r->target ? "run on " : "be translated", r->target ? r->target->name : "");
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next)
        if (check_lost(k) && shown++ < SHOWN)
            printf("            %s: %s\n", k->name, check_why(k));
    more(shown > SHOWN ? shown - SHOWN : 0);
}

static void print_slow(const struct check_report *r)
{
    size_t slow = 0, shown = 0;
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next)
        slow += k->slow != NULL;
    if (slow)
        printf("slow        %zu kernel%s\n", slow, slow > 1 ? "s" : "");
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next)
        if (k->slow && shown++ < SHOWN)
            printf("            %s: %s\n", k->name, k->slow);
    more(shown > SHOWN ? shown - SHOWN : 0);
}

/* Of a device's memory: what the kernels name is compared with it, what launches add is theirs. */
static void print_shared(const struct check_report *r)
{
    size_t dynamic = 0;
    for (const struct check_kernel *k = r->kernels; k; k = k->hh.next)
        dynamic += k->dynamic;
    printf("device      %s (%u KiB of shared memory a block", r->target->name, r->target->shared >> 10);
    if (dynamic)
        printf(", in which %zu kernel%s more than %s, by the launch", dynamic, dynamic > 1 ? "s use" : " uses",
               dynamic > 1 ? "they name" : "it names");
    putchar(')');
}

static void print_device(const struct check_report *r)
{
    const char *devices = cumu_env("CUMU_HOST_DEVICES");
    bool host = strcmp(check_backend(r), "host") == 0;
    if (host)
        printf("device      the CPU back end (%s of them)", devices && *devices ? devices : "1");
    else if (r->target)
        print_shared(r);
    else
        printf("device      MUSA");
    printf("; claims compute capability %u.%u", r->claimed / 10, r->claimed % 10);
    if (r->needs)
        printf(", PTX is for %u.%u", r->needs / 10, r->needs % 10);
    putchar('\n');
}

/* One line: the capability to claim, and what the others would do if it is not the claimed one. */
static void print_choices(const struct check_report *r)
{
    const struct check_choice *best = check_best(r);
    if (!best)
        return;
    printf("capability  %u.%u", best->capability / 10, best->capability % 10);
    if (best->capability == r->claimed)
        printf(", as claimed,");
    if (best->translated == best->kernels)
        printf(" makes all kernels translatable");
    else
        printf(" makes most kernels translatable: %zu of %zu", best->translated, best->kernels);
    if (best->beyond)
        printf(", by PTX for other devices");
    if (best->capability != r->claimed)
        printf(" (CUMU_COMPUTE_CAPABILITY=%u.%u)", best->capability / 10, best->capability % 10);
    for (size_t i = 0; i < r->nchoice; i++) {
        const struct check_choice *c = &r->choice[i];
        if (c != best)
            printf("; %u.%u: %zu%s", c->capability / 10, c->capability % 10, c->translated,
                   c->beyond ? ", by PTX for other devices" : "");
    }
    putchar('\n');
}

/* Colours of a terminal: green, yellow, red. */
static const char *colour(enum check_verdict v)
{
    static const char *const of[] = {"\033[32m", "\033[33m", "\033[31m"};
    const char *none = cumu_env("NO_COLOR");
    return isatty(STDOUT_FILENO) && !(none && *none) ? of[v] : "";
}

void check_print_text(const struct check_report *r)
{
    printf("program     %s\n", r->program);
    printf("runtime     %s\n", check_runtimes[r->runtime]);
    if (r->unreached)
        printf("            %s has one linked in that cumu does not know; it has no kernels\n", r->unreached);
    print_libraries(r);
    print_symbols(r);
    print_evidence(r);
    print_images(r);
    print_kernels(r);
    print_slow(r);
    print_device(r);
    print_choices(r);
    enum check_verdict v = check_verdict(r);
    const char *on = colour(v);
    printf("verdict     %s%s%s", on, check_verdict_text(v), *on ? "\033[0m" : "");
    if (r->fatal)
        printf(": %s", r->fatal);
    else if (r->gaps)
        printf(" (%u)", r->gaps);
    putchar('\n');
}
