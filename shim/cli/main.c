/* The cumu tool: finds the verb and runs it. */
#include "cli/cli.h"
#include "cli/mtrtc.h"
#include "cli/native.h"
#include "tools/tools.h"

#include <stdio.h>
#include <string.h>

const struct cumu_verb_entry *const cumu_verbs[] = {
    &cumu_verb_run,  &cumu_verb_check,  &cumu_verb_trace,    &cumu_verb_memcheck, &cumu_verb_env,
    &cumu_verb_ptx,  &cumu_verb_cache,  &cumu_verb_coverage, &cumu_verb_doctor,   &cumu_verb_smi,
    &cumu_verb_pack, &cumu_verb_launch, &cumu_verb_help,     &cumu_verb_version,  NULL};

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    const struct tool *tool = argc ? tool_of(argv) : NULL;
    if (tool)
        return tool_run(tool, argc, argv);
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        name = "help";
    if (strcmp(name, "--version") == 0)
        name = "version";
    if (strcmp(name, "--mtrtc") == 0)
        return cumu_mtrtc(argc - 1, argv + 1);
    if (strcmp(name, "--native") == 0)
        return cumu_native(argc - 1, argv + 1);
    const char *first = argc > 2 ? argv[2] : "";
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0)
        return cumu_verb_help.run(2, (char *[]){(char[]){"help"}, argv[1], NULL});
    for (const struct cumu_verb_entry *const *v = cumu_verbs; *v; v++)
        if (strcmp((*v)->name, name) == 0)
            return (*v)->run(argc - 1, argv + 1);
    if (*name)
        return cumu_fail(CUMU_EXIT_USAGE, "no verb \"%s\"; see cumu help", name);
    char *help[] = {(char[]){"help"}, NULL};
    (void)cumu_verb_help.run(1, help);
    return CUMU_EXIT_USAGE;
}
