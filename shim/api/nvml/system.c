/* What NVML tells of the system: versions, and the things that no system below has. */
#include "api/nvml/nvml.h"
#include "wraps.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The driver that brought a CUDA version, by NVIDIA's release notes; the last rows by the releases of nvidia-ml-py.
 * Programs hold a CUDA version against the driver's number, so both must be of one release. */
static const struct {
    int cuda;
    const char *driver;
} drivers[] = {
    {11000, "450.36.06"}, {11010, "455.23"},    {11020, "460.27.03"}, {11030, "465.19.01"}, {11040, "470.42.01"},
    {11050, "495.29.05"}, {11060, "510.39.01"}, {11070, "515.43.04"}, {11080, "520.61.05"}, {12000, "525.60.13"},
    {12010, "530.30.02"}, {12020, "535.54.03"}, {12030, "545.23.06"}, {12040, "550.54.14"}, {12050, "555.42.02"},
    {12060, "560.28.03"}, {12070, "565.57.01"}, {12080, "570.86.10"}, {12090, "575.51.03"}, {13000, "580.65.06"},
    {13010, "590.44.01"}, {13020, "595.45.04"}, {13030, "610.43.02"}, {13050, "615.71.01"},
};

static int claimed_cuda(void)
{
    int version = 0;
    return wrap_cuDriverGetVersion(&version) ? 0 : version;
}

static const char *driver_version(void)
{
    int cuda = claimed_cuda();
    const char *text = drivers[0].driver;
    for (unsigned i = 0; i < sizeof drivers / sizeof *drivers && drivers[i].cuda <= cuda; i++)
        text = drivers[i].driver;
    return text;
}

int wrap_nvmlSystemGetDriverVersion(void *version, unsigned length)
{
    int r = cumu_nvml_ready();
    return r ? r : cumu_nvml_text(version, length, driver_version());
}

/* The CUDA version's major number, then the driver's. */
int wrap_nvmlSystemGetNVMLVersion(void *version, unsigned length)
{
    char text[80];
    (void)snprintf(text, sizeof text, "%d.%s", claimed_cuda() / 1000, driver_version());
    return cumu_nvml_text(version, length, text); /* also before nvmlInit */
}

int wrap_nvmlSystemGetDriverBranch(void *info, unsigned length)
{
    struct nvml_branch *out = info;
    int r = cumu_nvml_ready();
    if (r || !out)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    if (out->version != NVML_VERSION(nvml_branch, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    char text[16];
    (void)snprintf(text, sizeof text, "r%.3s_00", driver_version());
    return cumu_nvml_text(out->branch, length < sizeof out->branch ? length : sizeof out->branch, text);
}

int wrap_nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    if (!version)
        return NVML_ERROR_INVALID_ARGUMENT;
    *version = claimed_cuda();
    return NVML_SUCCESS;
}

int wrap_nvmlSystemGetCudaDriverVersion(int *version) { return wrap_nvmlSystemGetCudaDriverVersion_v2(version); }

/* As much of the name as there is space for: documented so, other than for the rest. */
int wrap_nvmlSystemGetProcessName(unsigned pid, void *name, unsigned length)
{
    char path[64], text[1024];
    int r = cumu_nvml_ready();
    if (r || !name || !length)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    (void)snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NVML_ERROR_NOT_FOUND;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = 0; /* arguments end with a NUL each: the first is the program */
    (void)snprintf(name, length, "%s", text);
    return NVML_SUCCESS;
}

static int none(unsigned *count)
{
    int r = cumu_nvml_ready();
    if (r || !count)
        return r ? r : NVML_ERROR_INVALID_ARGUMENT;
    *count = 0;
    return NVML_SUCCESS;
}

int wrap_nvmlUnitGetCount(unsigned *count) { return none(count); }

int wrap_nvmlSystemGetHicVersion(unsigned *count, void *entries)
{
    (void)entries;
    return none(count);
}

int wrap_nvmlGetExcludedDeviceCount(unsigned *count) { return none(count); }
