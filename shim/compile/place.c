/* Where the tool lies beside this core, and what MUSA's libraries are called. */
#include "compile/tool.h"

#include <stdio.h>
#include <string.h>

#include "core/resolve.h"

bool cumu_own_tool(char path[PATH_MAX])
{
    const char *home = cumu_home(); /* <prefix>/lib/cumu */
    return home && snprintf(path, PATH_MAX, "%s/../../libexec/cumu-tool", home) < PATH_MAX;
}

const char *const *cumu_sonames(const char *library)
{
    for (const struct cumu_library *l = cumu_libraries; l->name; l++)
        if (strcmp(l->name, library) == 0)
            return l->sonames;
    return NULL;
}
