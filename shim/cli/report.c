/* cumu check: the verdict, and the report as text or as records. */
#include "cli/report.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 8 }; /* lines of one kind in the text report */

static const char *const verbs[] = {"jump", "conv", "wrap", "stub", "pass"};
static const char *const runtimes[] = {"none", "shared", "static"};
static const char *const verdicts[] = {"will run", "will run with gaps", "will not run"};

static const char *verb(const struct check_symbol *s)
{
    return s->entry ? verbs[s->entry->verb] : "missing";
}

static bool lost(const struct check_kernel *k)
{
    return !k->ptx || k->problem;
}

static const char *why(const struct check_kernel *k)
{
    return k->problem ? k->problem : k->ptx ? "" : "machine code (SASS) only, no PTX";
}

void check_judge(struct check_report *r)
{
    size_t bad = 0;
    for (size_t i = 0; i < r->nsymbol; i++) {
        if (!r->symbol[i].entry)
            check_fatal(r, "imports %s, which cumu's %s does not have", r->symbol[i].name,
                        r->symbol[i].soname);
        else if (r->symbol[i].entry->verb == CUMU_STUB)
            r->gaps++;
    }
    for (size_t i = 0; i < r->nkernel; i++)
        bad += lost(&r->kernel[i]);
    r->gaps += (unsigned)bad;
    if (bad && bad == r->nkernel)
        check_fatal(r, bad == 1 ? "its only kernel, %s, cannot be translated: %s"
                                : "none of its kernels can be translated; the first, %s: %s",
                    r->kernel[0].name, why(&r->kernel[0]));
}

static void more(size_t left)
{
    if (left)
        printf("            and %zu more (--format tsv lists all)\n", left);
}

static void print_symbols(const struct check_report *r)
{
    size_t count[5] = {0}, stubs = 0, missing = 0;
    for (size_t i = 0; i < r->nsymbol; i++)
        if (r->symbol[i].entry)
            count[r->symbol[i].entry->verb]++;
        else
            missing++;
    printf("symbols     %zu CUDA functions: %zu jump, %zu conv, %zu wrap, %zu pass, %zu stub", r->nsymbol,
           count[CUMU_JUMP], count[CUMU_CONV], count[CUMU_WRAP], count[CUMU_PASS], count[CUMU_STUB]);
    printf(missing ? ", %zu missing\n" : "\n", missing);
    for (size_t i = 0; i < r->nsymbol; i++) {
        const struct check_symbol *s = &r->symbol[i];
        if (s->entry && s->entry->verb != CUMU_STUB)
            continue;
        if (stubs++ < SHOWN)
            printf("            %s %s: %s\n", verb(s), s->name,
                   s->entry && s->entry->reason ? s->entry->reason : s->soname);
    }
    more(stubs > SHOWN ? stubs - SHOWN : 0);
}

static void print_kernels(const struct check_report *r)
{
    size_t ptx = 0, bad = 0, shown = 0;
    for (size_t i = 0; i < r->nkernel; i++) {
        ptx += r->kernel[i].ptx;
        bad += lost(&r->kernel[i]);
    }
    printf("kernels     %zu: %zu with PTX, %zu SASS only; %zu can be translated\n", r->nkernel, ptx,
           r->nkernel - ptx, r->nkernel - bad);
    for (size_t i = 0; i < r->nkernel; i++)
        if (lost(&r->kernel[i]) && shown++ < SHOWN)
            printf("            %s: %s\n", r->kernel[i].name, why(&r->kernel[i]));
    more(shown > SHOWN ? shown - SHOWN : 0);
}

void check_print_text(const struct check_report *r)
{
    printf("program     %s\n", r->program);
    printf("runtime     %s\n", runtimes[r->runtime]);
    for (size_t i = 0; i < r->nlibrary; i++)
        printf("library     %s: %s\n", r->library[i].soname, r->library[i].how);
    print_symbols(r);
    print_kernels(r);
    enum check_verdict v = check_verdict(r);
    printf("verdict     %s", verdicts[v]);
    if (r->fatal)
        printf(": %s", r->fatal);
    else if (r->gaps)
        printf(" (%u)", r->gaps);
    putchar('\n');
}

/* Tabs and newlines would break the records. */
static void field(const char *s)
{
    putchar('\t');
    for (; *s; s++)
        putchar(*s == '\t' || *s == '\n' ? ' ' : *s);
}

void check_print_tsv(const struct check_report *r)
{
    printf("runtime\t%s\n", runtimes[r->runtime]);
    for (size_t i = 0; i < r->nlibrary; i++)
        printf("library\t%s\t%s\n", r->library[i].soname, r->library[i].how);
    for (size_t i = 0; i < r->nsymbol; i++) {
        const struct check_symbol *s = &r->symbol[i];
        printf("symbol\t%s\t%s\t%s", s->name, verb(s), s->soname);
        field(s->entry && s->entry->reason ? s->entry->reason : "");
        putchar('\n');
    }
    for (size_t i = 0; i < r->nimage; i++) {
        const struct check_image *m = &r->image[i];
        printf("image\t%s\t%u%.1s\t%s\t%llu\t%llu", m->kind, m->arch, &m->suffix, m->compression,
               (unsigned long long)m->stored, (unsigned long long)m->unpacked);
        field(m->object);
        putchar('\n');
    }
    for (size_t i = 0; i < r->nkernel; i++) {
        const struct check_kernel *k = &r->kernel[i];
        printf("kernel\t%s\t%s\t%s", k->name, k->ptx ? "ptx" : "sass", lost(k) ? "lost" : "ok");
        field(why(k));
        putchar('\n');
    }
    printf("verdict\t%s", verdicts[check_verdict(r)]);
    field(r->fatal ? r->fatal : "");
    putchar('\n');
}
