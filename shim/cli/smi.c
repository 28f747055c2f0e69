/* cumu smi, also under the name nvidia-smi on the PATH of what `cumu run` starts: the devices that CUDA programs see,
 * asked of NVML as any program asks. Options, words and exit statuses are nvidia-smi's, by its documentation. */
#include "cli/smi.h"
#include "cli/cli.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { EXIT_ARGUMENT = 2, EXIT_NOT_SUPPORTED = 3, EXIT_NOT_FOUND = 6, EXIT_DRIVER = 9, EXIT_LIBRARY = 12 };

struct smi_nvml smi;
struct smi_device smi_devices[SMI_DEVICES];
unsigned smi_count;

struct request {
    void (*show)(FILE *f);
    const struct smi_field *table; /* of a query, */
    const char *fields;            /* names with commas */
    bool csv, header, units;
    const char *devices; /* -i */
    const char *file;    /* -f */
    double every;        /* seconds, 0: once */
    long times;          /* 0: no end */
};

/* ---- NVML ---- */

/* Opened in this process, which opts in for itself. Returns an exit status. */
static int open_nvml(void)
{
    char path[PATH_MAX + 64];
    const char *dir = cumu_lib_dir();
    if (!dir || setenv("CUMU", "1", 1))
        return EXIT_LIBRARY;
    (void)snprintf(path, sizeof path, "%s/facade/libnvidia-ml.so.1", dir);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return EXIT_LIBRARY;
#define SMI_FIND(name, arguments) \
    { \
        void *p = dlsym(library, "nvml" #name); \
        if (!p) \
            return EXIT_LIBRARY; \
        memcpy(&smi.name, &p, sizeof p); \
    }
    SMI_FUNCTIONS(SMI_FIND)
#undef SMI_FIND
    return smi.Init_v2() ? EXIT_DRIVER : 0;
}

static bool chosen(const struct smi_device *d, const char *list)
{
    for (const char *s = list; s && *s;) {
        size_t n = strcspn(s, ",");
        char index[16], uuid[SMI_TEXT], bus[SMI_TEXT];
        (void)snprintf(index, sizeof index, "%u", d->index);
        const char *names[] = {index, smi_text(d, "uuid", uuid), smi_text(d, "pci.bus_id", bus), bus + 4};
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i]) == n && strncasecmp(names[i], s, n) == 0)
                return true;
        s += n + (s[n] != 0);
    }
    return !list;
}

static int find_devices(const char *list)
{
    unsigned all = 0;
    (void)smi.DeviceGetCount_v2(&all);
    for (unsigned i = 0; i < all && smi_count < SMI_DEVICES; i++) {
        struct smi_device d = {i, NULL};
        if (!smi.DeviceGetHandleByIndex_v2(i, &d.handle) && chosen(&d, list))
            smi_devices[smi_count++] = d;
    }
    if (smi_count)
        return 0;
    puts("No devices were found");
    return EXIT_NOT_FOUND;
}

/* ---- queries ---- */

static const struct smi_field *find_field(const struct smi_field *table, const char *name, size_t n)
{
    for (const struct smi_field *f = table; f->name; f++)
        if ((strlen(f->name) == n && strncmp(f->name, name, n) == 0) ||
            (f->other && strlen(f->other) == n && strncmp(f->other, name, n) == 0))
            return f;
    return NULL;
}

/* Calls `each` for every name of the list; false when one is no field, which is said. */
static bool each_field(const struct request *q, void (*each)(void *, const struct smi_field *, unsigned), void *ctx)
{
    unsigned i = 0;
    for (const char *s = q->fields; *s; i++) {
        s += strspn(s, " ");
        size_t n = strcspn(s, ","), name = n;
        while (name && s[name - 1] == ' ')
            name--;
        const struct smi_field *f = find_field(q->table, s, name);
        if (!f) {
            printf("Field \"%.*s\" is not a valid field to query.\n\n", (int)name, s);
            return false;
        }
        if (each)
            each(ctx, f, i);
        s += n + (s[n] != 0);
    }
    return i > 0;
}

struct printing {
    FILE *f;
    const struct request *q;
    struct smi_row row;
};

static void print_head(void *ctx, const struct smi_field *field, unsigned i)
{
    const struct printing *p = ctx;
    bool unit = *field->unit && p->q->units;
    fprintf(p->f, "%s%s%s%s%s", i ? ", " : "", field->name, unit ? " [" : "", unit ? field->unit : "", unit ? "]" : "");
}

static void print_value(void *ctx, const struct smi_field *field, unsigned i)
{
    const struct printing *p = ctx;
    char text[SMI_TEXT];
    bool there = field->write(&p->row, text);
    bool unit = there && *field->unit && p->q->units;
    fprintf(p->f, "%s%s%s%s", i ? ", " : "", there ? text : "[N/A]", unit ? " " : "", unit ? field->unit : "");
}

static void print_rows(FILE *f, const struct request *q, bool head)
{
    static struct nvml_process_v3 processes[SMI_PROCESSES];
    struct printing p = {f, q, {NULL, NULL}};
    if (head && q->header) {
        each_field(q, print_head, &p);
        fputc('\n', f);
    }
    for (unsigned i = 0; i < smi_count; i++) {
        bool by_process = q->table == smi_process_fields;
        int rows = by_process ? smi_processes(&smi_devices[i], processes) : 1;
        for (int k = 0; k < rows; k++) {
            p.row = (struct smi_row){&smi_devices[i], by_process ? &processes[k] : NULL};
            each_field(q, print_value, &p);
            fputc('\n', f);
        }
    }
}

static int list_fields(const struct smi_field *table)
{
    puts("List of valid properties to query:\n");
    for (const struct smi_field *f = table; f->name; f++)
        printf("\"%s\"%s%s%s\n%s.\n\n", f->name, f->other ? " or \"" : "", f->other ? f->other : "",
               f->other ? "\"" : "", f->help);
    return 0;
}

/* ---- arguments ---- */

static int wrong(const char *format, const char *text)
{
    printf(format, text);
    puts("Please run 'nvidia-smi -h' for help.\n");
    return EXIT_ARGUMENT;
}

/* --format=csv[,noheader][,nounits] */
static bool read_format(struct request *q, const char *text)
{
    for (const char *s = text; *s;) {
        size_t n = strcspn(s, ",");
        if (n == 3 && strncmp(s, "csv", n) == 0)
            q->csv = true;
        else if (n == 8 && strncmp(s, "noheader", n) == 0)
            q->header = false;
        else if (n == 7 && strncmp(s, "nounits", n) == 0)
            q->units = false;
        else
            return false;
        s += n + (s[n] != 0);
    }
    return true;
}

/* The text of `--name=TEXT`, `--name TEXT` or `-n TEXT`; NULL if this argument is another. */
static const char *value_of(int argc, char **argv, int *i, const char *name, const char *brief)
{
    size_t n = strlen(name);
    const char *a = argv[*i];
    if (strncmp(a, name, n) == 0 && a[n] == '=')
        return a + n + 1;
    if (strcmp(a, name) != 0 && (!*brief || strcmp(a, brief) != 0))
        return NULL;
    return *i + 1 < argc ? argv[++*i] : "";
}

static bool seconds(const char *text, double unit, double *out)
{
    char *end;
    double value = strtod(text, &end);
    *out = value * unit;
    return end != text && !*end && value > 0 && value < 1e6;
}

/* Reads the options; a status that is not -1 ends the program with it. */
static int parse(struct request *q, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *a = argv[i], *v;
        double times;
        if (i == 1 && strcmp(a, "pmon") == 0)
            q->show = smi_print_monitor;
        else if (i == 1 && strcmp(a, "topo") == 0)
            q->show = smi_print_topology;
        else if (strcmp(a, "-L") == 0 || strcmp(a, "--list-gpus") == 0)
            q->show = smi_print_list;
        else if (strcmp(a, "-q") == 0 || strcmp(a, "--query") == 0)
            q->show = smi_print_details;
        else if (q->show == smi_print_topology && (strcmp(a, "-m") == 0 || strcmp(a, "--matrix") == 0))
            ;
        else if ((v = value_of(argc, argv, &i, "--query-gpu", "")))
            q->table = smi_gpu_fields, q->fields = v;
        else if ((v = value_of(argc, argv, &i, "--query-compute-apps", "")))
            q->table = smi_process_fields, q->fields = v;
        else if ((v = value_of(argc, argv, &i, "--format", ""))) {
            if (!read_format(q, v))
                return wrong("\"%s\" is not a known --format option.\n", v);
        } else if ((v = value_of(argc, argv, &i, "--id", "-i")))
            q->devices = v;
        else if ((v = value_of(argc, argv, &i, "--filename", "-f")))
            q->file = v;
        else if ((v = value_of(argc, argv, &i, "--loop-ms", "-lms"))) {
            if (!seconds(v, 1e-3, &q->every))
                return wrong("\"%s\" is not a valid interval.\n", v);
        } else if ((v = value_of(argc, argv, &i, "--loop", "-l"))) {
            if (!seconds(v, 1, &q->every))
                return wrong("\"%s\" is not a valid interval.\n", v);
        } else if (q->show == smi_print_monitor && (v = value_of(argc, argv, &i, "--delay", "-d"))) {
            if (!seconds(v, 1, &q->every))
                return wrong("\"%s\" is not a valid interval.\n", v);
        } else if (q->show == smi_print_monitor && (v = value_of(argc, argv, &i, "--count", "-c"))) {
            if (!seconds(v, 1, &times))
                return wrong("\"%s\" is not a valid count.\n", v);
            q->times = (long)times;
        } else if (strcmp(a, "-h") == 0 || strcmp(a, "--help") == 0) {
            fputs(cumu_verb_smi.usage, stdout);
            return 0;
        } else if (strcmp(a, "--help-query-gpu") == 0)
            return list_fields(smi_gpu_fields);
        else if (strcmp(a, "--help-query-compute-apps") == 0)
            return list_fields(smi_process_fields);
        else
            return wrong("Invalid combination of input arguments: \"%s\" is not recognized here.\n", a);
    }
    if (q->table && !q->csv)
        return wrong("%s", "Missing or unsupported --format: only csv is known.\n");
    if (q->show == smi_print_monitor && q->every == 0)
        q->every = 1;
    return -1;
}

static int version(void)
{
    char driver[SMI_TEXT] = "", library[SMI_TEXT] = "";
    int cuda = 0;
    (void)smi.SystemGetDriverVersion(driver, sizeof driver);
    (void)smi.SystemGetNVMLVersion(library, sizeof library);
    (void)smi.SystemGetCudaDriverVersion(&cuda);
    printf("NVIDIA-SMI version  : %s (cumu's)\nNVML version        : %s\nDRIVER version      : %s\n"
           "CUDA Version        : %d.%d\n",
           driver, library, driver, cuda / 1000, cuda % 1000 / 10);
    return 0;
}

static int run(int argc, char **argv)
{
    struct request q = {.show = smi_print_table, .header = true, .units = true};
    bool tell_version = argc == 2 && strcmp(argv[1], "--version") == 0;
    int status = tell_version ? -1 : parse(&q, argc, argv);
    if (status >= 0)
        return status;
    if (q.table && !each_field(&q, NULL, NULL))
        return EXIT_ARGUMENT;
    status = open_nvml();
    if (status) {
        puts("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver: cumu found no MUSA device "
             "and no library that manages one.\n");
        return status;
    }
    if (tell_version)
        return version();
    if ((status = find_devices(q.devices)))
        return status;
    FILE *f = q.file ? fopen(q.file, "w") : stdout;
    if (!f)
        return wrong("Failed to open \"%s\".\n", q.file);
    for (long n = 0;; n++) {
        if (q.table)
            print_rows(f, &q, n == 0);
        else
            q.show(f);
        if (fflush(f) || q.every == 0 || (q.times && n + 1 >= q.times))
            break;
        (void)usleep((useconds_t)(q.every * 1e6));
    }
    bool failed = ferror(f) != 0;
    if (f != stdout)
        failed = fclose(f) != 0 || failed;
    return failed ? 255 : 0;
}

const struct cumu_verb_entry cumu_verb_smi = {
    "smi", "show the devices, as nvidia-smi does",
    "usage: cumu smi [-L | -q | pmon | topo -m] [-i DEVICE,...] [-l SECONDS] [-f FILE]\n"
    "       cumu smi --query-gpu=FIELD,... --format=csv[,noheader][,nounits]\n"
    "       cumu smi --query-compute-apps=FIELD,... --format=csv[,noheader][,nounits]\n"
    "\n"
    "Without options: a table of the devices and the processes that hold memory of them. What `cumu run` starts\n"
    "finds this under the name nvidia-smi.\n"
    "\n"
    "  -L, --list-gpus   names and UUIDs\n"
    "  -q, --query       all that is known of each device\n"
    "  pmon [-c N]       processes, each second; topo -m: how near devices are to each other\n"
    "  -i, --id          these devices alone: numbers, UUIDs or places on the bus\n"
    "  -l, -lms          again every so many seconds, or milliseconds\n"
    "  -f, --filename    write to a file\n"
    "  --help-query-gpu, --help-query-compute-apps   the fields\n"
    "\n"
    "What a device does not tell is [N/A]. Exit status: 0, 2 wrong arguments, 6 no such device, 9 no driver.\n",
    run};
