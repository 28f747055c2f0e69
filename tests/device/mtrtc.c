/* Stand-in for the MUSA SDK's libmtrtc: hands the source to the stand-in for mcc (rtc/mcc beside lib/), and knows
 * one spelling of the architecture. rtc/how says how it fails. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define API __attribute__((visibility("default")))
enum { OK = 0, INVALID_OPTION = 5, COMPILATION = 6 };

struct program {
    char *source, *code;
    size_t size;
    const char *log;
};
API int mtrtcCreateProgram(struct program **p, const char *source, const char *name, int n, const char *const *headers,
                           const char *const *names);
API int mtrtcCompileProgram(struct program *p, int n, const char *const *options);
API int mtrtcGetFatBinSize(struct program *p, size_t *size);
API int mtrtcGetFatBin(struct program *p, char *to);
API int mtrtcGetProgramLogSize(struct program *p, size_t *size);
API int mtrtcGetProgramLog(struct program *p, char *to);

/* The SDK's folder. */
static const char *home(void)
{
    static char dir[4096];
    Dl_info info;
    if (!*dir && dladdr((void *)(size_t)&home, &info)) {
        snprintf(dir, sizeof dir, "%s", info.dli_fname);
        for (int k = 0; k < 2; k++)
            *strrchr(dir, '/') = '\0';
    }
    return dir;
}

int mtrtcCreateProgram(struct program **p, const char *source, const char *name, int n, const char *const *headers,
                       const char *const *names)
{
    (void)name, (void)n, (void)headers, (void)names;
    *p = calloc(1, sizeof **p);
    (*p)->source = strdup(source);
    return OK;
}

int mtrtcCompileProgram(struct program *p, int n, const char *const *options)
{
    char command[8192], how[16] = "", in[] = "/tmp/cumu-mtrtc-XXXXXX.mu", out[sizeof in + 4];
    const char *arch = NULL;
    for (int k = 0; k < n; k++)
        if (!strncmp(options[k], "--gpu-architecture=", 19))
            arch = options[k] + 19;
        else if (!strncmp(options[k], "--offload-arch", 14))
            return INVALID_OPTION;
    snprintf(command, sizeof command, "%s/rtc/how", home());
    FILE *f = fopen(command, "r");
    if (f && !fgets(how, sizeof how, f))
        *how = '\0';
    if (f)
        fclose(f);
    if (!strncmp(how, "hang", 4))
        sleep(100);
    if (!strncmp(how, "crash", 5))
        abort();
    p->log = "kernel.mu:3:1: error: MTRTC does not like it";
    if (!arch || !strncmp(how, "fail", 4))
        return COMPILATION;
    int fd = mkstemps(in, 3);
    if (fd < 0 || write(fd, p->source, strlen(p->source)) < 0)
        return COMPILATION;
    close(fd);
    snprintf(out, sizeof out, "%s.so", in);
    snprintf(command, sizeof command, "%s/rtc/bin/mcc --offload-arch=%s -c -o %s %s", home(), arch, out, in);
    int failed = system(command);
    f = failed ? NULL : fopen(out, "r");
    p->code = f ? malloc(1 << 20) : NULL;
    p->size = p->code ? fread(p->code, 1, 1 << 20, f) : 0;
    if (f)
        fclose(f);
    unlink(in);
    unlink(out);
    snprintf(command, sizeof command, "%s.cc", in);
    unlink(command);
    p->log = "";
    return p->size ? OK : COMPILATION;
}

int mtrtcGetFatBinSize(struct program *p, size_t *size)
{
    *size = p->size;
    return OK;
}

int mtrtcGetFatBin(struct program *p, char *to)
{
    memcpy(to, p->code, p->size);
    return OK;
}

int mtrtcGetProgramLogSize(struct program *p, size_t *size)
{
    *size = strlen(p->log) + 1;
    return OK;
}

int mtrtcGetProgramLog(struct program *p, char *to)
{
    strcpy(to, p->log);
    return OK;
}
