/* cumu pack: PTX for programs that hold machine code only, taken from another build of the same sources. */
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/pack_make.h"
#include "compile/pack.h"

enum { EXIT_INCOMPLETE = 1, EXIT_EMPTY = 2 };

/* One line a module that lacks something, one a kernel, and what share of all the pack has. */
static int show(const char *path)
{
    const char *why, *name;
    size_t kernels = 0, lacking = 0, whole = 0, without = 0;
    struct cumu_pack *p = cumu_pack_open(path, &why);
    if (!p)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s %s", path, why);
    for (uint32_t i = 0; i < cumu_pack_count(p); i++) {
        const struct cumu_pack_module *m = cumu_pack_at(p, i);
        kernels += m->kernels;
        lacking += m->lacking;
        whole += !m->lacking;
        without += !m->stored;
        if (m->lacking)
            printf("module %u of %s: %s, lacks %u of %u kernels\n", m->number, cumu_pack_file(p, m),
                   m->stored ? "PTX" : "no PTX", m->lacking, m->kernels);
        for (uint32_t k = 0; (name = cumu_pack_missing(p, m, k)); k++)
            printf("  missing %s\n", name);
    }
    printf("pack        %s\n", path);
    printf("modules     %u: %zu complete, %zu in part, %zu without PTX\n", cumu_pack_count(p), whole,
           cumu_pack_count(p) - whole - without, without);
    printf("kernels     %zu: PTX for %zu (%.1f %%), %zu missing\n", kernels, kernels - lacking,
           kernels ? 100.0 * (double)(kernels - lacking) / (double)kernels : 0.0, lacking);
    cumu_pack_close(p);
    return lacking == kernels ? EXIT_EMPTY : lacking ? EXIT_INCOMPLETE : 0;
}

static int make(struct pack_job *job, const char *path)
{
    unsigned tied = 0;
    if (!job->to.count)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "--for: no module of machine code only; nothing needs a pack");
    if (!job->from.count)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "--from: no PTX in it (build with -gencode "
                                               "arch=compute_80,code=compute_80)");
    pack_match(job);
    for (uint32_t i = 0; i < job->to.count; i++)
        tied += job->to.module[i].tied;
    int status = job->nomem ? cumu_fail(CUMU_EXIT_CANNOT_RUN, "out of memory") : pack_write(job, path);
    if (!status && tied)
        (void)cumu_fail(0, "%u modules have the names of several others, and were taken by their order", tied);
    return status ? status : show(path);
}

/* --from FILE... --for FILE... -o FILE, in any order. */
static int read_and_make(int argc, char **argv)
{
    struct pack_job job = {0};
    const char *path = NULL;
    int side = -1, status = 0;
    for (int i = 2; i < argc && !status; i++) {
        const char *a = argv[i];
        if (strcmp(a, "--from") == 0)
            side = 1;
        else if (strcmp(a, "--for") == 0)
            side = 0;
        else if (strcmp(a, "-o") == 0 && i + 1 < argc && !path)
            path = argv[++i];
        else if (a[0] == '-' || side < 0)
            status = cumu_usage(&cumu_verb_pack, "--from FILE..., --for FILE... and -o FILE; what is %s?", a);
        else
            status = pack_read(&job, side == 1, a);
    }
    if (!status && !path)
        status = cumu_usage(&cumu_verb_pack, "-o wants the file to be written");
    if (!status)
        status = make(&job, path);
    pack_free(&job);
    return status;
}

static int pack(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "make") == 0)
        return read_and_make(argc, argv);
    if (argc == 3 && strcmp(argv[1], "show") == 0)
        return show(argv[2]);
    return cumu_usage(&cumu_verb_pack, "make or show?");
}

const struct cumu_verb_entry cumu_verb_pack = {
    "pack", "PTX for programs of machine code only, from another build",
    "usage: cumu pack make --from file... --for file... -o FILE\n"
    "       cumu pack show FILE\n"
    "\n"
    "A program that holds machine code (SASS) only has nothing that could be translated. Where another build of the\n"
    "same sources holds PTX, a pack takes it from there: --from names that build, --for the program, each by files,\n"
    "folders or wheels (--from also by PTX text, --for by cubins). Modules belong together if they share most names\n"
    "of kernels and variables; the compiler's hashes in names are exchanged. A kernel must have the same name and\n"
    "parameters in both. Of several PTX texts the one for CUMU_COMPUTE_CAPABILITY is taken.\n"
    "\n"
    "    CUMU_PTX_PACK=FILE[:FILE] cumu run -- program\n"
    "\n"
    "The sources must be the same release, which names do not prove. Using a kernel that the pack lacks ends the\n"
    "process with its name (CUMU_MISSING_KERNEL=error: an error, which some libraries take for success).\n"
    "Both forms list the kernels that are missing. Exit status: 0 the pack has every kernel, 1 some, 2 none;\n"
    "125 and above: there is no pack.\n",
    pack};
