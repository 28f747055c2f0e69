/* What `cumu smi` shows without a query: the table, the list, the details, processes, topology. Scripts read the places
 * of words in these, so they stand where nvidia-smi has them. */
#include "cli/smi.h"

#include <string.h>
#include <time.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static const char *process_name(unsigned pid, char *out)
{
    if (smi.SystemGetProcessName(pid, out, SMI_TEXT) || !*out)
        (void)strcpy(out, "[Not Found]");
    return out;
}

/* A text and its unit in one column; N/A has none. */
static const char *with_unit(const char *text, const char *unit, char *out)
{
    (void)snprintf(out, SMI_TEXT, "%.40s%s", text, strcmp(text, "N/A") == 0 ? "" : unit);
    return out;
}

/* ---- the table ---- */

static void print_device(FILE *f, const struct smi_device *d)
{
    char name[SMI_TEXT], bus[SMI_TEXT], a[SMI_TEXT], b[SMI_TEXT], column[3][SMI_TEXT];
    fprintf(f, "| %3u  %-24.24s %9s | %18s %3s | %20s |\n", d->index, smi_text(d, "name", name), "N/A",
            smi_text(d, "pci.bus_id", bus), "Off", smi_text(d, "ecc.mode.current", a));
    (void)snprintf(column[0], SMI_TEXT, "%.40s / %.40s", with_unit(smi_text(d, "power.draw", a), "W", column[2]),
                   smi_text(d, "power.limit", b));
    (void)snprintf(column[1], SMI_TEXT, "%.40sMiB / %6.40sMiB", smi_text(d, "memory.used", a),
                   smi_text(d, "memory.total", b));
    char fan[SMI_TEXT], warm[SMI_TEXT], state[SMI_TEXT], use[SMI_TEXT];
    fprintf(f, "| %-4.4s %4.4s %5.5s %23.23s | %22s | ", with_unit(smi_text(d, "fan.speed", a), "%", fan),
            with_unit(smi_text(d, "temperature.gpu", b), "C", warm), smi_text(d, "pstate", state), column[0],
            column[1]);
    fprintf(f, "%7.7s %12.12s |\n", with_unit(smi_text(d, "utilization.gpu", a), "%", use), "Default");
    fprintf(f, "| %39s | %22s | %20s |\n", "", "", "N/A");
}

static void print_processes(FILE *f, const struct smi_device *d, unsigned *shown)
{
    static struct nvml_process_v3 p[SMI_PROCESSES];
    int n = smi_processes(d, p);
    for (int i = 0; i < n; i++, ++*shown) {
        char name[SMI_TEXT], used[32];
        (void)snprintf(used, sizeof used, "%lluMiB", p[i].bytes >> 20);
        fprintf(f, "| %4u   N/A  N/A %15u %6s   %-35.35s %10s |\n", d->index, p[i].pid, "C",
                process_name(p[i].pid, name), used);
    }
}

/* "Mon Nov 23 09:00:23 2026", by which scripts date a listing. */
static const char *now(char *out)
{
    time_t seconds = time(NULL);
    struct tm tm;
    if (!localtime_r(&seconds, &tm) || !strftime(out, SMI_TEXT, "%a %b %e %H:%M:%S %Y", &tm))
        *out = 0;
    return out;
}

#define EDGE "+-----------------------------------------------------------------------------------------+\n"
#define SPLIT "+-----------------------------------------+------------------------+----------------------+\n"

void smi_print_table(FILE *f)
{
    char date[SMI_TEXT], driver[SMI_TEXT] = "", version[32];
    int cuda = 0;
    unsigned shown = 0;
    (void)smi.SystemGetDriverVersion(driver, sizeof driver);
    (void)smi.SystemGetCudaDriverVersion(&cuda);
    (void)snprintf(version, sizeof version, "%d.%d", cuda / 1000, cuda % 1000 / 10);
    if (smi_count)
        fprintf(f, "%s\n", now(date));
    fprintf(f, EDGE "| NVIDIA-SMI %-22.22s Driver Version: %-14.14s CUDA Version: %-8.8s |\n" SPLIT, driver, driver,
            version);
    fputs("| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |\n"
          "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |\n"
          "|                                         |                        |               MIG M. |\n"
          "|=========================================+========================+======================|\n",
          f);
    for (unsigned i = 0; i < smi_count; i++) {
        print_device(f, &smi_devices[i]);
        fputs(SPLIT, f);
    }
    fputs("\n" EDGE "| Processes:                                                                              |\n"
          "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |\n"
          "|        ID   ID                                                               Usage      |\n"
          "|=========================================================================================|\n",
          f);
    for (unsigned i = 0; i < smi_count; i++)
        print_processes(f, &smi_devices[i], &shown);
    if (!shown)
        fputs("|  No running processes found                                                             |\n", f);
    fputs(EDGE, f);
}

/* ---- -L, -q, pmon, topo ---- */

void smi_print_list(FILE *f)
{
    for (unsigned i = 0; i < smi_count; i++) {
        char name[SMI_TEXT], uuid[SMI_TEXT];
        fprintf(f, "GPU %u: %s (UUID: %s)\n", smi_devices[i].index, smi_text(&smi_devices[i], "name", name),
                smi_text(&smi_devices[i], "uuid", uuid));
    }
}

static void print_line(FILE *f, const struct smi_device *d, int indent, const char *label, const char *field,
                       const char *unit)
{
    char text[SMI_TEXT];
    (void)smi_text(d, field, text);
    fprintf(f, "%*s%-*s: %s%s%s\n", indent, "", 42 - indent, label, text, *unit && strcmp(text, "N/A") ? " " : "",
            strcmp(text, "N/A") ? unit : "");
}

/* One section: rows up to a NULL label. */
struct detail {
    int indent;
    const char *label, *field, *unit; /* field NULL: a heading */
};

static const struct detail details[] = {
    {4, "Product Name", "name", ""},
    {4, "Display Mode", "display_mode", ""},
    {4, "Display Active", "display_active", ""},
    {4, "Persistence Mode", "persistence_mode", ""},
    {4, "Serial Number", "serial", ""},
    {4, "GPU UUID", "uuid", ""},
    {4, "Minor Number", "index", ""},
    {4, "VBIOS Version", "vbios_version", ""},
    {4, "PCI", NULL, NULL},
    {8, "Bus", "pci.bus", ""},
    {8, "Device", "pci.device", ""},
    {8, "Domain", "pci.domain", ""},
    {8, "Device Id", "pci.device_id", ""},
    {8, "Bus Id", "pci.bus_id", ""},
    {8, "Sub System Id", "pci.sub_device_id", ""},
    {4, "Fan Speed", "fan.speed", "%"},
    {4, "Performance State", "pstate", ""},
    {4, "FB Memory Usage", NULL, NULL},
    {8, "Total", "memory.total", "MiB"},
    {8, "Reserved", "memory.reserved", "MiB"},
    {8, "Used", "memory.used", "MiB"},
    {8, "Free", "memory.free", "MiB"},
    {4, "Compute Mode", "compute_mode", ""},
    {4, "Utilization", NULL, NULL},
    {8, "GPU", "utilization.gpu", "%"},
    {8, "Memory", "utilization.memory", "%"},
    {8, "Encoder", "utilization.encoder", "%"},
    {8, "Decoder", "utilization.decoder", "%"},
    {4, "ECC Mode", NULL, NULL},
    {8, "Current", "ecc.mode.current", ""},
    {8, "Pending", "ecc.mode.pending", ""},
    {4, "Temperature", NULL, NULL},
    {8, "GPU Current Temp", "temperature.gpu", "C"},
    {4, "GPU Power Readings", NULL, NULL},
    {8, "Instantaneous Power Draw", "power.draw", "W"},
    {8, "Current Power Limit", "power.limit", "W"},
    {4, "Clocks", NULL, NULL},
    {8, "Graphics", "clocks.current.graphics", "MHz"},
    {8, "SM", "clocks.current.sm", "MHz"},
    {8, "Memory", "clocks.current.memory", "MHz"},
    {4, "Max Clocks", NULL, NULL},
    {8, "Graphics", "clocks.max.graphics", "MHz"},
    {8, "SM", "clocks.max.sm", "MHz"},
    {8, "Memory", "clocks.max.memory", "MHz"},
};

void smi_print_details(FILE *f)
{
    static struct nvml_process_v3 p[SMI_PROCESSES];
    char text[SMI_TEXT] = "";
    int cuda = 0;
    unsigned all = 0;
    (void)smi.SystemGetCudaDriverVersion(&cuda);
    (void)smi.SystemGetDriverVersion(text, sizeof text);
    (void)smi.DeviceGetCount_v2(&all);
    fprintf(f, "\n==============NVSMI LOG==============\n\n");
    if (smi_count)
        fprintf(f, "%-42s: %s\n", "Timestamp", now((char[SMI_TEXT]){0}));
    fprintf(f, "%-42s: %s\n%-42s: %d.%d\n\n%-42s: %u\n", "Driver Version", text, "CUDA Version", cuda / 1000,
            cuda % 1000 / 10, "Attached GPUs", all);
    for (unsigned i = 0; i < smi_count; i++) {
        const struct smi_device *d = &smi_devices[i];
        fprintf(f, "GPU %s\n", smi_text(d, "pci.bus_id", text));
        for (unsigned k = 0; k < sizeof details / sizeof *details; k++)
            if (details[k].field)
                print_line(f, d, details[k].indent, details[k].label, details[k].field, details[k].unit);
            else
                fprintf(f, "%*s%s\n", details[k].indent, "", details[k].label);
        int n = smi_processes(d, p);
        fprintf(f, "%*s%-38s%s\n", 4, "", "Processes", n > 0 ? "" : n ? ": N/A" : ": None");
        for (int k = 0; k < n; k++)
            fprintf(f, "        %-34s: %u\n            %-30s: C\n            %-30s: %s\n            %-30s: %llu MiB\n",
                    "Process ID", p[k].pid, "Type", "Name", process_name(p[k].pid, text), "Used GPU Memory",
                    p[k].bytes >> 20);
        fputc('\n', f);
    }
}

void smi_print_monitor(FILE *f)
{
    static struct nvml_process_v3 p[SMI_PROCESSES];
    fputs("# gpu         pid   type     sm    mem    enc    dec    jpg    ofa    command \n"
          "# Idx           #    C/G      %      %      %      %      %      %    name \n",
          f);
    for (unsigned i = 0; i < smi_count; i++) {
        int n = smi_processes(&smi_devices[i], p);
        for (int k = 0; k < n; k++) {
            char name[SMI_TEXT];
            fprintf(f, "%5u %11u %6s %6s %6s %6s %6s %6s %6s    %-15.15s\n", smi_devices[i].index, p[k].pid, "C", "-",
                    "-", "-", "-", "-", "-", base_name(process_name(p[k].pid, name)));
        }
        if (n <= 0)
            fprintf(f, "%5u %11s %6s %6s %6s %6s %6s %6s %6s    %-15s\n", smi_devices[i].index, "-", "-", "-", "-", "-",
                    "-", "-", "-", "-");
    }
}

/* NV and a number: so many links lead there; else by the bus, as near as PIX to as far as SYS. */
static void print_between(FILE *f, const struct smi_device *a, const struct smi_device *b)
{
    static const char *const levels[] = {"PSB", "PIX", "PXB", "PHB", "NODE", "SYS"};
    int level = -1;
    if (a == b)
        fputs("\t X ", f);
    else if (smi.DeviceGetTopologyCommonAncestor(a->handle, b->handle, &level) || level < 0 || level > 50)
        fputs("\tN/A", f);
    else
        fprintf(f, "\t%s", levels[level / 10]);
}

void smi_print_topology(FILE *f)
{
    for (unsigned i = 0; i < smi_count; i++)
        fprintf(f, "\tGPU%u", smi_devices[i].index);
    fputc('\n', f);
    for (unsigned i = 0; i < smi_count; i++) {
        fprintf(f, "GPU%u", smi_devices[i].index);
        for (unsigned k = 0; k < smi_count; k++)
            print_between(f, &smi_devices[i], &smi_devices[k]);
        fputc('\n', f);
    }
    fputs("\nLegend:\n\n  X    = Self\n  SYS  = across the interconnect between NUMA nodes\n"
          "  NODE = across host bridges of one NUMA node\n  PHB  = across one host bridge\n"
          "  PXB  = across several PCIe bridges\n  PIX  = across one PCIe bridge\n  PSB  = on one board\n",
          f);
}
