/* What compile/place.c tells the core, for the tool itself. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "core/symbols.h"
#include "compile/tool.h"

bool cumu_own_tool(char path[PATH_MAX]) { return cumu_self(path); }

const char *const *cumu_sonames(const char *library)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    while (l && l->name && strcmp(l->name, library) != 0)
        l++;
    return l && l->name ? l->sonames : NULL;
}
