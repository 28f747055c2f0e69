/* Which facade stands for a name that somebody gives to the loader. */
#include "audit/audit.h"

#include <string.h>
#include <unistd.h>

/* "libcudart.so.12.4.127" -> stem "libcudart", major "12"; "libcudart-d0da41ae.so.11.0" (a wheel's copy
 * with a hash in its name) has the stem too. */
struct name {
    const char *stem, *major;
    size_t stem_size, major_size;
};

static bool is_hash(const char *s)
{
    size_t n = 0;
    while ((s[n] >= '0' && s[n] <= '9') || (s[n] >= 'a' && s[n] <= 'f'))
        n++;
    return n == 8 && s[n] == '.';
}

static bool parse(const char *path, struct name *n)
{
    const char *slash = strrchr(path, '/'), *s = slash ? slash + 1 : path;
    *n = (struct name){.stem = s};
    if (strncmp(s, "lib", 3) != 0)
        return false;
    for (; *s && strncmp(s, ".so", 3) != 0; s++)
        if (*s == '-' && is_hash(s + 1))
            n->stem_size = (size_t)(s - n->stem);
    if (!*s)
        return false;
    if (!n->stem_size)
        n->stem_size = (size_t)(s - n->stem);
    s += 3;
    if (*s && *s != '.')
        return false;
    n->major = *s ? s + 1 : s;
    while (n->major[n->major_size] >= '0' && n->major[n->major_size] <= '9')
        n->major_size++;
    return true;
}

static bool same(const char *a, size_t n, const char *b, size_t m) { return n == m && memcmp(a, b, n) == 0; }

int audit_facade_for(const char *name, bool (*loaded)(int facade))
{
    struct name want, have;
    int best = -1, rows = 0;
    char real[AUDIT_PATH];
    if (!parse(name, &want))
        return -1;
    for (int i = 0; audit_facades[i].soname; i++) {
        if (!parse(audit_facades[i].soname, &have) || !same(want.stem, want.stem_size, have.stem, have.stem_size))
            continue;
        rows++;
        if (want.major_size && same(want.major, want.major_size, have.major, have.major_size))
            return i;
        /* Without a version: one that is there already, else the newest. */
        if (best < 0 || (!loaded(best) && loaded(i)))
            best = i;
    }
    if (best < 0 || want.major_size) /* the driver's own file has its own version: libcuda.so.535.104 */
        return rows == 1 && want.major_size > 2 ? best : -1;
    /* A link tells which version the program would have got. */
    ssize_t n = strrchr(name, '/') ? readlink(name, real, sizeof real - 1) : -1;
    if (n > 0) {
        real[n] = 0;
        if (parse(real, &have) && have.major_size)
            return audit_facade_for(real, loaded);
    }
    return best;
}

int audit_facade_of(const char *library, int version)
{
    size_t n = strlen(library);
    for (int i = 0; audit_facades[i].soname; i++)
        if (audit_facades[i].version == version && strncmp(audit_facades[i].soname, library, n) == 0 &&
            audit_facades[i].soname[n] == '.')
            return i;
    return -1;
}

/* How the functions of a library begin, by the start of its soname. */
static const struct {
    const char *library, *prefix;
} beginnings[] = {
    {"libcudart.", "cuda"},
    {"libcudart.", "__cuda"},
    {"libcuda.", "cu"},
    {"libnccl.", "nccl"},
    {"libnccl.", "pnccl"},
    {"libcublas.", "cublas"},
    {"libcublasLt.", "cublasLt"},
    {"libcudnn.", "cudnn"},
    {"libcudnn_", "cudnn"},
    {"libcufft.", "cufft"},
    {"libcufftw.", "fftw"},
    {"libcufile.", "cuFile"},
    {"libnvjpeg.", "nvjpeg"},
    {"libnpp", "npp"},
    {"libnvshmem_host.", "nvshmem"},
    {"libcurand.", "curand"},
    {"libcusolver.", "cusolver"},
    {"libcusolverMg.", "cusolverMg"},
    {"libcusparse.", "cusparse"},
    {"libcusparseLt.", "cusparseLt"},
    {"libnvrtc.", "nvrtc"},
    {"libnvJitLink.", "nvJitLink"},
    {"libnvJitLink.", "__nvJitLink"},
    {"libnvidia-ml.", "nvml"},
    {"libnvcuvid.", "cuvid"},
    {"libnvidia-encode.", "NvEnc"},
};

bool audit_name_of(const char *soname, const char *name)
{
    for (unsigned i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        const char *l = beginnings[i].library, *p = beginnings[i].prefix;
        size_t n = strlen(p);
        if (strncmp(soname, l, strlen(l)) == 0 && strncmp(name, p, n) == 0)
            return n > 2 || (name[n] >= 'A' && name[n] <= 'Z'); /* cuInit, and not cudaMalloc or current */
    }
    return false;
}
