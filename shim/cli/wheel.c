/* Tells who can install a wheel, by the tags in its name: NAME-VERSION[-BUILD]-PYTHON-ABI-PLATFORM.whl. */
#include "cli/wheel.h"
#include "cli/cli.h"
#include "compile/tool.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAGS = 3, TAG = 128 };

/* The N of 3.N of the first python3 on PATH, which is a link; -1 if the file it leads to does not say. */
static int here(void)
{
    struct cumu_tool python = {.path = ""};
    char file[PATH_MAX];
    int minor;
    if (!cumu_tool_find(&python, "python3") || !realpath(python.path, file))
        return -1;
    const char *version = strstr(strrchr(file, '/'), "python3.");
    return version && sscanf(version, "python3.%d", &minor) == 1 ? minor : -1;
}

/* The last fields between dashes, the last one without ".whl". */
static bool tags(const char *path, char tag[TAGS][TAG])
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    const char *end = strrchr(base, '.');
    if (!end || strcmp(end, ".whl") != 0)
        return false;
    for (int i = TAGS - 1; i >= 0; i--) {
        const char *from = end;
        while (from > base && from[-1] != '-')
            from--;
        if (from == base || end - from >= TAG)
            return false;
        memcpy(tag[i], from, (size_t)(end - from));
        tag[i][end - from] = 0;
        end = from - 1;
    }
    return true;
}

/* Does a tag such as cp39, cp310.cp311, py3 take 3.`minor`? *first: the version that its first CPython tag names. */
static bool takes(const char *python, bool later_too, int minor, int *first)
{
    *first = -1;
    for (const char *s = python; *s; s += strcspn(s, "."), s += *s == '.') {
        int n;
        if (strncmp(s, "py3", 3) == 0)
            return true;
        if (sscanf(s, "cp3%d", &n) != 1)
            continue;
        if (*first < 0)
            *first = n;
        if (n == minor || (later_too && n < minor))
            return true;
    }
    return *first < 0; /* tags that are not known */
}

void cumu_wheel_look(const char *path)
{
    char tag[TAGS][TAG];
    int first;
    if (!tags(path, tag))
        return;
    if (strncmp(tag[2], "win", 3) == 0 || strncmp(tag[2], "macosx", 6) == 0)
        (void)cumu_fail(
            0,
            "%s: is for %s; take the file for manylinux_..._x86_64 (pip download --platform manylinux_2_28_x86_64 "
            "--only-binary :all: NAME)",
            path, tag[2]);
    const int minor = here();
    if (minor >= 0 && !takes(tag[0], strstr(tag[1], "abi3") != NULL, minor, &first))
        (void)cumu_fail(0,
                        "%s: is for Python 3.%d, and python3 here is 3.%d, whose pip refuses it; install it by "
                        "python3.%d -m pip, or fetch the file for yours: pip download --no-deps NAME",
                        path, first, minor, first);
}
