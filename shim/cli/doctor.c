/* cumu doctor: what MUSA this machine has and how it differs from what the shim expects, as one report. */
#include "cli/cli.h"
#include "cli/coverage.h"
#include "cli/doctor.h"
#include "cli/manual.h"
#include "compile/compile.h"

#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

static void head(const char *title)
{
    printf("\n== %s\n", title);
}

static void machine(void)
{
    struct utsname u;
    char line[256] = "";
    glob_t nodes = {0};
    printf("cumu %s\n", CUMU_VERSION);
    if (uname(&u) == 0)
        printf("%s %s %s\n", u.sysname, u.release, u.machine);
    FILE *f = fopen("/proc/driver/musa/version", "re");
    if (f && fgets(line, sizeof line, f))
        printf("driver: %s", line);
    else
        puts("driver: none (/proc/driver/musa/version is not there)");
    if (f)
        (void)fclose(f);
    printf("device nodes: %zu\n", glob("/dev/mtgpu*", 0, NULL, &nodes) == 0 ? nodes.gl_pathc : 0);
    globfree(&nodes);
}

/* Where each library was found; with --record its functions' names, for mapping/known. */
static int libraries(const char *record)
{
    const struct cumu_library *l = cumu_tool_symbol("cumu_libraries");
    char path[PATH_MAX], real[PATH_MAX], to[PATH_MAX];
    if (record && mkdir(record, 0777) != 0 && errno != EEXIST)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", record, strerror(errno));
    for (; l && l->name; l++) {
        if (!cumu_sdk_library(l, path)) {
            printf("%-10s not found\n", l->name);
            continue;
        }
        printf("%-10s %s", l->name, path);
        printf(realpath(path, real) && strcmp(real, path) != 0 ? " (%s)\n" : "\n", real);
        const char *base = strrchr(path, '/');
        if (record && snprintf(to, sizeof to, "%s/%s.symbols", record, base ? base + 1 : path) < (int)sizeof to &&
            !cumu_write_exports(path, to))
            return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: cannot be written", to);
    }
    return 0;
}

static int report(const char *record, unsigned arch)
{
    machine();
    head("MUSA libraries");
    int status = libraries(record);
    head("Functions that the shim asks for");
    cumu_coverage_below();
    head("What the libraries answer");
    cumu_doctor_ask();
    head("Compiler");
    cumu_doctor_compiler(arch);
    head("Kernels");
    cumu_doctor_kernels(arch);
    return status;
}

static int doctor(int argc, char **argv)
{
    const char *record = NULL, *output = NULL;
    unsigned arch = 31;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--record") == 0 && value)
            record = argv[++i];
        else if (strcmp(argv[i], "-o") == 0 && value)
            output = argv[++i];
        else if (strcmp(argv[i], "--target") == 0 && value && strncmp(value, "mp_", 3) == 0 &&
                 cumu_arch_known((unsigned)strtoul(value + 3, NULL, 10)))
            arch = (unsigned)strtoul(argv[++i] + 3, NULL, 10);
        else
            return cumu_usage(&cumu_verb_doctor, "%s: not an option, or its value is missing or unknown", argv[i]);
    }
    if (!cumu_tool_tables())
        return CUMU_EXIT_USAGE;
    if (output && !freopen(output, "we", stdout))
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", output, strerror(errno));
    int status = report(record, arch);
    if (output && fflush(stdout) == 0)
        (void)fprintf(stderr, "cumu: the report is in %s\n", output);
    return status;
}

const struct cumu_verb_entry cumu_verb_doctor = {
    "doctor", "report what MUSA this machine has, for those who help",
    "usage: cumu doctor [-o FILE] [--record FOLDER] [--target mp_21|mp_22|mp_31]\n"
    "\n"
    "Looks for the MUSA driver, the SDK's libraries and its compiler: versions, the functions that the shim asks for\n"
    "and they lack, the values that could not be confirmed without hardware, and which of the names that translated\n"
    "kernels use the compiler takes, and what comes of kernels on the device. Nothing is sent anywhere.\n"
    "  -o         write the report to a file\n"
    "  --record   write the names of each library's functions into a folder, as mapping/known has them\n"
    "  --target   architecture that the compiler is tried for (default mp_31)\n",
    doctor};
