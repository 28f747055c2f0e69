/* Which nodes there are: the devices that NVML tells of, in NVIDIA's places. */
#include "nodes/nodes.h"
#include "abi/nvml.h"
#include "core/tools.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Numbers of NVIDIA's driver; that of nvidia-uvm is given out when it is loaded. */
enum { MAJOR = 195, CONTROL = 255, UVM_MAJOR = 510, DEVICES = 64, NODES = 16 + 3 * DEVICES };

static struct node *nodes;
static unsigned count;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local bool asking; /* what NVML itself looks for is not there */

static struct node *add(enum nodes_kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
static struct node *add(enum nodes_kind kind, const char *format, ...)
{
    static struct node spare;
    struct node *n = count < NODES ? &nodes[count++] : &spare;
    va_list a;
    va_start(a, format);
    n->kind = kind;
    (void)vsnprintf(n->path, sizeof n->path, format, a);
    va_end(a);
    return n;
}

static void add_device(const char *name, unsigned major, unsigned minor)
{
    struct node *n = add(NODE_DEVICE, "/dev/%s", name);
    n->major = major;
    n->minor = minor;
}

/* NVML of the facade beside this library, opened as a program would. */
static void *open_nvml(void)
{
    char path[PATH_MAX];
    Dl_info self;
    const char *slash = dladdr(&once, &self) ? strrchr(self.dli_fname, '/') : NULL;
    if (!slash)
        return NULL;
    (void)snprintf(path, sizeof path, "%.*s/facade/libnvidia-ml.so.1", (int)(slash - self.dli_fname), self.dli_fname);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* A function of it by its name behind "nvml". */
#define ASK(library, name, arguments, ...) \
    ({ \
        void *found_ = dlsym(library, "nvml" #name); \
        int(*f_) arguments; \
        memcpy(&f_, &found_, sizeof f_); \
        found_ ? f_(__VA_ARGS__) : -1; \
    })

static void add_gpu(void *library, unsigned i)
{
    char name[96] = "", uuid[96] = "", file[32];
    struct nvml_pci_v3 pci = {0};
    void *d = NULL;
    if (ASK(library, DeviceGetHandleByIndex_v2, (unsigned, void **), i, &d) ||
        ASK(library, DeviceGetPciInfo_v3, (void *, struct nvml_pci_v3 *), d, &pci))
        return;
    (void)ASK(library, DeviceGetName, (void *, char *, unsigned), d, name, sizeof name);
    (void)ASK(library, DeviceGetUUID, (void *, char *, unsigned), d, uuid, sizeof uuid);
    (void)snprintf(file, sizeof file, "nvidia%u", i);
    add_device(file, MAJOR, i);
    for (char *c = pci.bus_id_legacy; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    (void)add(NODE_FOLDER, "/proc/driver/nvidia/gpus/%s", pci.bus_id_legacy);
    struct node *n = add(NODE_TEXT, "/proc/driver/nvidia/gpus/%s/information", pci.bus_id_legacy);
    (void)snprintf(n->text, sizeof n->text,
                   "Model: \t\t %s\nIRQ:   \t\t 0\nGPU UUID: \t %s\nVideo BIOS: \t ??.??.??.??.??\nBus Type: \t PCIe\n"
                   "DMA Size: \t 47 bits\nDMA Mask: \t 0x7fffffffffff\nBus Location: \t %s\nDevice Minor: \t %u\n"
                   "GPU Excluded:\t No\n",
                   name, uuid, pci.bus_id_legacy, i);
}

static void add_texts(const char *driver)
{
    static const char *const folders[] = {"/proc/driver/nvidia", "/proc/driver/nvidia/gpus", "/sys/module/nvidia",
                                          "/sys/module/nvidia_uvm"};
    for (unsigned i = 0; i < sizeof folders / sizeof *folders; i++)
        (void)add(NODE_FOLDER, "%s", folders[i]);
    /* Readers take the number behind "Kernel Module  ", up to the next blank. */
    struct node *n = add(NODE_TEXT, "/proc/driver/nvidia/version");
    (void)snprintf(n->text, sizeof n->text,
                   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  %s  cumu\nGCC version:  gcc version " __VERSION__
                   "\n",
                   driver);
    n = add(NODE_TEXT, "/proc/driver/nvidia/params");
    (void)snprintf(n->text, sizeof n->text,
                   "ModifyDeviceFiles: 0\nDeviceFileUID: 0\nDeviceFileGID: 0\n"
                   "DeviceFileMode: 438\n");
    (void)snprintf(add(NODE_TEXT, "/sys/module/nvidia/version")->text, NODE_TEXT_SIZE, "%s\n", driver);
    (void)snprintf(add(NODE_TEXT, "/sys/module/nvidia/initstate")->text, NODE_TEXT_SIZE, "live\n");
    (void)snprintf(add(NODE_TEXT, "/sys/module/nvidia_uvm/initstate")->text, NODE_TEXT_SIZE, "live\n");
}

static void fill(void)
{
    char driver[96] = "";
    unsigned gpus = 0;
    void *library = open_nvml();
    if (!library || ASK(library, Init_v2, (void)) || ASK(library, DeviceGetCount_v2, (unsigned *), &gpus) || !gpus ||
        !(nodes = calloc(NODES, sizeof *nodes)))
        return;
    (void)ASK(library, SystemGetDriverVersion, (char *, unsigned), driver, sizeof driver);
    add_device("nvidiactl", MAJOR, CONTROL);
    add_device("nvidia-uvm", UVM_MAJOR, 0);
    add_device("nvidia-uvm-tools", UVM_MAJOR, 1);
    add_texts(driver);
    char tool[PATH_MAX];
    if (nodes_tool("nvidia-smi", tool))
        (void)add(NODE_PROGRAM, NODES_SMI);
    for (unsigned i = 0; i < gpus && i < DEVICES; i++)
        add_gpu(library, i);
    (void)ASK(library, Shutdown, (void));
}

bool nodes_tool(const char *name, char to[PATH_MAX])
{
    const char *on = getenv("CUMU");
    Dl_info self;
    if (!on || strcmp(on, "1") != 0 || !dladdr(&once, &self))
        return false;
    const char *slash = strrchr(self.dli_fname, '/');
    int was = errno, n = snprintf(to, PATH_MAX, "%.*s/" CUMU_TOOLS_FOLDER "%s",
                                  slash ? (int)(slash - self.dli_fname) : 0, self.dli_fname, name);
    bool there = slash && n > 0 && n < PATH_MAX && access(to, X_OK) == 0;
    errno = was;
    return there;
}

/* Opted in, with nodes. */
static bool ready(void)
{
    int was = errno;
    const char *on = getenv("CUMU");
    if (asking || !on || strcmp(on, "1") != 0)
        return false;
    asking = true;
    (void)pthread_once(&once, fill);
    asking = false;
    errno = was;
    return count > 0;
}

static bool may_be_node(const char *path)
{
    return strncmp(path, "/dev/nvidia", 11) == 0 || strcmp(path, NODES_SMI) == 0 ||
           strncmp(path, "/proc/driver/nvidia", 19) == 0 || strncmp(path, "/sys/module/nvidia", 18) == 0;
}

const struct node *nodes_find(const char *path)
{
    if (!path || path[0] != '/' || !may_be_node(path) || !ready())
        return NULL;
    size_t n = strlen(path);
    bool folder = n > 1 && path[n - 1] == '/';
    for (unsigned i = 0; i < count; i++)
        if (strncmp(nodes[i].path, path, n - folder) == 0 && !nodes[i].path[n - folder] &&
            (!folder || nodes[i].kind == NODE_FOLDER))
            return &nodes[i];
    return NULL;
}

const struct node *nodes_in(const char *folder, unsigned i, const char **name)
{
    size_t n = strlen(folder);
    if (!ready())
        return NULL;
    for (unsigned k = 0; k < count; k++)
        if (strncmp(nodes[k].path, folder, n) == 0 && nodes[k].path[n] == '/' && !strchr(nodes[k].path + n + 1, '/') &&
            i-- == 0) {
            *name = nodes[k].path + n + 1;
            return &nodes[k];
        }
    return NULL;
}
