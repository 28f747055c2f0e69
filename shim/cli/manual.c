/* cumu help man, cumu help completion: the manual page and the shell's completion, from the verbs' own help and
 * the table of options. */
#include "cli/cli.h"
#include "cli/manual.h"
#include "core/config.h"

#include <stdio.h>
#include <string.h>

/* Text that roff takes as it is: no line begins with its control characters, no backslash is one. */
static void roff(const char *s)
{
    for (bool start = true; *s; start = *s++ == '\n') {
        if (start && (*s == '.' || *s == '\''))
            fputs("\\&", stdout);
        if (*s == '\\')
            fputs("\\e", stdout);
        else if (*s == '-')
            fputs("\\-", stdout);
        else
            putchar(*s);
    }
}

static void print_options(void)
{
    static const struct {
        const char *name, *help;
    } rows[] = {
#define OPTION(id, name, kind, value, help) {name, help},
#include "core/config.def"
#undef OPTION
    };
    puts(".SH ENVIRONMENT");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        printf(".TP\n.B %s\n", rows[i].name);
        roff(rows[i].help);
        putchar('\n');
    }
}

int cumu_manual_page(void)
{
    puts(
        ".TH CUMU 1 \"\" \"cumu " CUMU_VERSION "\" \"User Commands\"\n"
        ".SH NAME\n"
        "cumu \\- run unmodified CUDA programs on Moore Threads MUSA, or on the CPU\n"
        ".SH SYNOPSIS\n"
        ".B cumu\n"
        ".I verb\n"
        "[\\fIoptions\\fR] [\\fB\\-\\-\\fR] \\fIprogram\\fR [\\fIarguments\\fR]\n"
        ".SH DESCRIPTION\n"
        "cumu is preloaded into a program that asks for it. Calls to the CUDA libraries become calls to the MUSA ones,\n"
        "and the PTX inside the program is translated, so that its kernels run too. On a machine without a MUSA GPU the\n"
        "same calls reach cumu's own MUSA libraries for the CPU.\n"
        ".SH VERBS");
    for (const struct cumu_verb_entry *const *v = cumu_verbs; *v; v++) {
        printf(".SS %s\n", (*v)->name);
        roff((*v)->synopsis);
        puts("\n.PP\n.nf");
        roff((*v)->usage);
        puts(".fi");
    }
    print_options();
    puts(
        ".SH EXIT STATUS\n"
        "Of \\fBrun\\fR, \\fBlaunch\\fR and \\fBtrace\\fR, the program's own; 125 wrong use, 126 the program cannot be served, 127 not found.\n"
        "Of \\fBcheck\\fR, 0 will run, 1 will run with gaps, 2 will not run.\n"
        ".SH SEE ALSO\n"
        ".BR ld.so (8)");
    return 0;
}

/* The words of a verb's help that begin with a dash: its options. */
static void print_words(const char *usage)
{
    char seen[512] = " ";
    for (const char *s = usage; (s = strchr(s, '-')); s += strcspn(s, " ,|]=\n")) {
        char word[40];
        size_t n = strspn(s, "-abcdefghijklmnopqrstuvwxyz");
        bool starts = s > usage && strchr(" [|", s[-1]) && n > 1 && n < sizeof word - 2 && strchr(" ,|]=\n", s[n]);
        (void)snprintf(word, sizeof word, " %.*s ", (int)n, s);
        if (!starts || (n == 2 && s[1] == '-') || strstr(seen, word) || strlen(seen) + n + 2 > sizeof seen)
            continue;
        strcat(seen, word + 1);
        printf(" %.*s", (int)n, s);
    }
}

int cumu_manual_completion(void)
{
    puts("# bash completion of cumu; made by `cumu help completion`\n"
         "_cumu()\n"
         "{\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} words\n"
         "    if ((COMP_CWORD == 1)); then");
    fputs("        words='", stdout);
    for (const struct cumu_verb_entry *const *v = cumu_verbs; *v; v++)
        printf("%s%s", v == cumu_verbs ? "" : " ", (*v)->name);
    puts("'\n"
         "    else\n"
         "        case $verb in");
    for (const struct cumu_verb_entry *const *v = cumu_verbs; *v; v++) {
        printf("        %s) words='", (*v)->name);
        print_words((*v)->usage);
        if (strcmp((*v)->name, "help") == 0)
            for (const struct cumu_verb_entry *const *h = cumu_verbs; *h; h++)
                printf(" %s", (*h)->name);
        if (strcmp((*v)->name, "cache") == 0)
            fputs(" list clear path warm", stdout);
        puts("' ;;");
    }
    puts(
        "        esac\n"
        "    fi\n"
        "    # A dash asks for options; anything else may be a file.\n"
        "    if ((COMP_CWORD == 1)) || [[ $word == -* ]] || [[ $verb == help || $verb == cache && $COMP_CWORD == 2 ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
        "    elif [[ $verb == coverage && ${COMP_WORDS[COMP_CWORD - 1]} != --against ]]; then\n"
        "        words=$(\"${COMP_WORDS[0]}\" coverage --symbols 2>/dev/null | cut -f 3 | sort -u)\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
        "    else\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\"; compgen -c -- \"$word\")\n"
        "    fi\n"
        "}\n"
        "complete -o filenames -F _cumu cumu");
    return 0;
}
