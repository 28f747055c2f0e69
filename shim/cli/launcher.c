/* bin/cumu: runs programs itself, and hands the other verbs to libexec/cumu-tool. It needs nothing but the C
 * library and is linked to it statically where that is possible, for every `cumu run` waits for its start. */
#include "cli/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char tool[PATH_MAX + 32];
    if (argc > 1 && strcmp(argv[1], "run") == 0)
        return cumu_verb_run.run(argc - 1, argv + 1);
    const char *dir = cumu_lib_dir();
    if (!dir)
        return CUMU_EXIT_USAGE;
    (void)snprintf(tool, sizeof tool, "%s/../../libexec/cumu-tool", dir);
    (void)execv(tool, argv);
    return cumu_fail(CUMU_EXIT_USAGE, "%s: %s", tool, strerror(errno));
}
