/* Which program the tool is, by the name that it was started under, and what all of them answer alike. */
#include "cli/cli.h"
#include "core/config.h"
#include "core/tools.h"
#include "tools/tools.h"

#include <string.h>
#include <sys/auxv.h>

static int smi(const struct tool *t, int argc, char **argv)
{
    (void)t;
    return cumu_verb_smi.run(argc, argv);
}

static const struct tool tools[] = {
    {"ptxas", "Ptx optimizing assembler", tool_ptxas},
    {"nvlink", "Cuda linker", tool_nvlink},
    {"fatbinary", "Cuda fat binary constructor", tool_fatbinary},
    {"cuobjdump", "cuda object dump", tool_cuobjdump},
    {"nvdisasm", "Cuda disassembler", tool_nvdisasm},
    {"nvidia-smi", "", smi},
};

/* The file that was executed, which the caller's argv[0] may be other than: that of NVIDIA's program, where ours was
 * run in its place. */
const struct tool *tool_of(char **argv)
{
    const char *file = (const char *)getauxval(AT_EXECFN);
    const char *name = file ? cumu_tool_named(file) : NULL;
    if (!name)
        name = argv[0] ? cumu_tool_named(argv[0]) : NULL;
    for (unsigned i = 0; name && i < sizeof tools / sizeof *tools; i++)
        if (strcmp(tools[i].name, name) == 0)
            return &tools[i];
    return NULL;
}

/* NVIDIA's own says best what it is, where it is. */
int tool_run(const struct tool *t, int argc, char **argv)
{
    static const char *const words[] = {"--version", "-V", "--help", "-h", "--list-version", "-version-ls"};
    bool asks = false;
    for (int i = 1; i < argc && t->run != smi; i++)
        for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
            asks |= strcmp(argv[i], words[k]) == 0;
    if (asks)
        tool_become_real(t, argv);
    for (int i = 1; asks && i < argc; i++)
        if (strcmp(argv[i], "--version") == 0 || strcmp(argv[i], "-V") == 0)
            return tool_version(t);
    return t->run(t, argc, argv);
}
