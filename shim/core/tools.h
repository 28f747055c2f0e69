/* The programs of NVIDIA's toolkit and driver that frameworks start, and that cumu has its own of, in libexec/cumu. A
 * header of its own without a C library: the audit module reads it, too. */
#ifndef CUMU_CORE_TOOLS_H
#define CUMU_CORE_TOOLS_H

/* Name of a program, name of ours. The Makefile makes a link of each of the latter. */
static const struct cumu_tool_name {
    const char *name, *ours;
} cumu_tool_names[] = {
    {"ptxas", "ptxas"},       {"ptxas-blackwell", "ptxas"}, /* Triton's second one */
    {"nvlink", "nvlink"},     {"fatbinary", "fatbinary"},   {"cuobjdump", "cuobjdump"},
    {"nvdisasm", "nvdisasm"}, {"nvidia-smi", "nvidia-smi"},
};

/* Where the programs lie, seen from the folder of cumu's libraries (PREFIX/lib/cumu). */
#define CUMU_TOOLS_FOLDER "../../libexec/cumu/"

static inline const char *cumu_base_name(const char *path)
{
    const char *base = path;
    for (const char *c = path; *c; c++)
        if (*c == '/')
            base = c + 1;
    return base;
}

/* The name of ours for the program at this path, NULL if it is none of them. */
static inline const char *cumu_tool_named(const char *path)
{
    const char *base = cumu_base_name(path);
    for (unsigned i = 0; i < sizeof cumu_tool_names / sizeof *cumu_tool_names; i++) {
        const char *a = base, *b = cumu_tool_names[i].name;
        while (*a && *a == *b)
            a++, b++;
        if (*a == *b)
            return cumu_tool_names[i].ours;
    }
    return (const char *)0;
}

#endif
