/* cumu doctor: what MUSA this machine has and how it differs from what the shim expects, as one report that is kept
 * in a file; and what such a file says. */
#include "cli/doctor.h"
#include "cli/cli.h"
#include "cli/doctor_driver.h"
#include "cli/manual.h"
#include "cli/native.h"
#include "core/config.h"
#include "compile/compile.h"
#include "compile/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void tell_file(const char *name, const char *path)
{
    char line[256] = "";
    FILE *f = fopen(path, "re");
    if (f && fgets(line, sizeof line, f))
        doctor_line(name, "%.*s", (int)strcspn(line, "\n"), line);
    else
        doctor_line(name, "none: %s is not there", path);
    if (f)
        (void)fclose(f);
}

static void describe_machine(void)
{
    struct utsname u;
    glob_t nodes = {0};
    doctor_section("machine");
    doctor_line("cumu", "%s", CUMU_VERSION);
    if (uname(&u) == 0)
        doctor_line("system", "%s %.*s %s", u.sysname, (int)strspn(u.release, "0123456789."), u.release, u.machine);
    doctor_line("processors", "%ld", sysconf(_SC_NPROCESSORS_ONLN));
    tell_file("driver", "/proc/driver/musa/version");
    tell_file("kernel module", "/sys/module/mtgpu/version");
    doctor_line("device nodes", "%zu", glob("/dev/mtgpu*", 0, NULL, &nodes) == 0 ? nodes.gl_pathc : 0);
    globfree(&nodes);
}

static void examine(unsigned arch)
{
    static const struct {
        const char *what;
        void (*part)(void);
        void (*part_for)(unsigned arch);
    } parts[] = {{"the machine", describe_machine, NULL},
                 {"the libraries' functions", cumu_doctor_names, NULL},
                 {"what they answer", cumu_doctor_ask, NULL},
                 {"the compiler", NULL, cumu_doctor_compiler},
                 {"kernels", NULL, cumu_doctor_kernels},
                 {"speed", NULL, cumu_doctor_speed},
                 {"forms of the toolkit's own", cumu_doctor_native, NULL}};
    (void)doctor_left(); /* the clock starts */
    for (unsigned k = 0; k < sizeof parts / sizeof *parts; k++) {
        cumu_progress_line("cumu: looking at %s", parts[k].what);
        if (parts[k].part)
            parts[k].part();
        else
            parts[k].part_for(arch);
    }
    cumu_progress_line("%s", "");
}

/* Into the file; "-": onto stdout, without the summary. The parts' children write to it as well, each line at once. */
static int report(const char *output, unsigned arch)
{
    bool print = strcmp(output, "-") == 0;
    struct doctor_file f;
    char why[160];
    int fd = print ? -1 : open(output, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666), c;
    FILE *to = print ? tmpfile() : fd < 0 ? NULL : fdopen(fd, "a+");
    if (!to || !doctor_write_begin(to))
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", output, strerror(errno));
    examine(arch);
    if (!doctor_write_end())
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", output, strerror(errno));
    rewind(to);
    while (print && (c = getc(to)) != EOF)
        putchar(c);
    (void)fclose(to);
    if (print)
        return 0;
    if (doctor_file_read(&f, output, why))
        cumu_doctor_explain(&f, stdout);
    doctor_file_free(&f);
    printf("\nThe whole report is in %s. It names neither you nor the machine.\n", output);
    return 0;
}

static int read_back(const char *path, const char *folder)
{
    struct doctor_file f;
    char why[160];
    int status = 0;
    if (!doctor_file_read(&f, path, why))
        status = cumu_fail(CUMU_EXIT_CANNOT_RUN, "%s: %s", path, why);
    else if (folder)
        status = cumu_doctor_fixture(&f, folder);
    else
        cumu_doctor_explain(&f, stdout);
    doctor_file_free(&f);
    return status;
}

/* Reads the verb's arguments. A compiler gets 20 seconds here unless the user set another limit, so that one that
 * hangs does not eat the report's two minutes. */
static int doctor(int argc, char **argv)
{
    const char *output = NULL, *explain = NULL, *fixture = NULL;
    unsigned arch = 31;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        const char **to = strcmp(argv[i], "-o") == 0          ? &output
                          : strcmp(argv[i], "--explain") == 0 ? &explain
                          : strcmp(argv[i], "--fixture") == 0 ? &fixture
                                                              : NULL;
        if (to && value)
            *to = argv[++i];
        else if (strcmp(argv[i], "--target") == 0 && value && strncmp(value, "mp_", 3) == 0 &&
                 cumu_arch_known((unsigned)strtoul(value + 3, NULL, 10)))
            arch = (unsigned)strtoul(argv[++i] + 3, NULL, 10);
        else
            return cumu_usage(&cumu_verb_doctor, "%s: not an option, or its value is missing or unknown", argv[i]);
    }
    if (explain && (output || fixture))
        return cumu_usage(&cumu_verb_doctor, "--explain goes alone");
    if (fixture && !output)
        return cumu_usage(&cumu_verb_doctor, "--fixture wants a folder: -o FOLDER");
    if (explain || fixture)
        return read_back(explain ? explain : fixture, fixture ? output : NULL);
    if (!cumu_tool_tables())
        return CUMU_EXIT_USAGE;
    cumu_env_default("CUMU_COMPILE_SECONDS", "20"); /* one compiler that hangs must not eat the two minutes */
    return report(output ? output : "cumu-doctor.txt", arch);
}

const struct cumu_verb_entry cumu_verb_doctor = {
    "doctor", "report what MUSA this machine has, for those who help",
    "usage: cumu doctor [-o FILE] [--target mp_21|mp_22|mp_31]\n"
    "       cumu doctor --explain FILE\n"
    "       cumu doctor --fixture FILE -o FOLDER\n"
    "\n"
    "Looks in at most two minutes at the MUSA driver, the SDK's libraries and its compiler: versions, the functions that\n"
    "the shim asks for and they lack, with the number of known programs that use each, what they answer where public\n"
    "sources do not agree, the compiler's options and output, what comes of kernels on the device, and how fast copies,\n"
    "launches and a sum over all devices are. Says in plain words what works, and writes all of it to a file, which\n"
    "names neither the user nor the machine, nor paths but the system's. Nothing is sent anywhere.\n"
    "  -o          the file to write (default cumu-doctor.txt; - for the report itself on stdout)\n"
    "  --target    architecture that the compiler is tried for where there is no device (default mp_31)\n"
    "  --explain   says in plain words what a file says\n"
    "  --fixture   writes the names that each library of the file exports into a folder, as tests/sdk has them\n",
    doctor};
