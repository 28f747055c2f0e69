/* cumu env: the environment of `cumu run` as shell code, for `eval "$(cumu env)"`. */
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/program.h"

#include <stdio.h>

static int env(int argc, char **argv)
{
    struct cumu_program p;
    struct cumu_launch l = {0};
    if (argc > 2)
        return cumu_usage(&cumu_verb_env, "one program at most");
    int status = argc > 1 ? cumu_program_find(&p, argv[1]) : 0;
    if (!status)
        status = cumu_launch_plan(&l, argc > 1 ? p.image : NULL, NULL);
    for (unsigned i = 0; !status && l.var[i].name; i++) {
        printf("export %s='", l.var[i].name);
        for (const char *s = l.var[i].value; *s; s++)
            if (*s == '\'')
                fputs("'\\''", stdout);
            else
                putchar(*s);
        puts("'");
    }
    cumu_launch_free(&l);
    return status;
}

const struct cumu_verb_entry cumu_verb_env = {
    "env", "print the environment that `cumu run` would set",
    "usage: cumu env [program]\n"
    "\n"
    "Prints export lines: eval \"$(cumu env ./program)\". Without a program, lines that suit any.\n",
    env};
