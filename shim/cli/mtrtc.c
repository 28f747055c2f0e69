/* cumu-tool --mtrtc LIBRARY mp_NN -o OUT IN: compiles one file by the MUSA SDK's run-time compiler. The shim calls
 * it (compile/mubin.c), people do not: what MTRTC does to a process, it does to this one. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/mtrtc.h"
#include "core/file.h"

enum { MTRTC_OK = 0, MTRTC_INVALID_OPTION = 5 }; /* as nvrtcResult (mapping/facts/musa.md N11) */

typedef void *program;
static struct {
    int (*create)(program *, const char *, const char *, int, const char *const *, const char *const *);
    int (*compile)(program, int, const char *const *);
    int (*size)(program, size_t *);
    int (*get)(program, char *);
    int (*log_size)(program, size_t *);
    int (*log)(program, char *);
} rtc;

static bool open_library(const char *path)
{
    static const struct {
        const char *name;
        void *to;
    } names[] = {{"mtrtcCreateProgram", &rtc.create},       {"mtrtcCompileProgram", &rtc.compile},
                 {"mtrtcGetFatBinSize", &rtc.size},         {"mtrtcGetFatBin", &rtc.get},
                 {"mtrtcGetProgramLogSize", &rtc.log_size}, {"mtrtcGetProgramLog", &rtc.log}};
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return cumu_fail(0, "error: %s", dlerror()), false;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        void *f = dlsym(handle, names[k].name);
        if (!f)
            return cumu_fail(0, "error: %s lacks %s", path, names[k].name), false;
        memcpy(names[k].to, &f, sizeof f);
    }
    return true;
}

/* How MTRTC is told the architecture is not public: clang's spelling, then NVRTC's, then none, where the default is
 * the one that is wanted. */
static int compile(program p, const char *arch)
{
    static const char *const spelling[] = {"--offload-arch=%s", "--gpu-architecture=%s", "-arch=%s"};
    char text[64];
    int err = MTRTC_INVALID_OPTION;
    for (size_t k = 0; k < sizeof spelling / sizeof spelling[0] && err == MTRTC_INVALID_OPTION; k++) {
        const char *const options[] = {text, "-std=c++14", "-ffp-contract=off"};
        (void)snprintf(text, sizeof text, spelling[k], arch);
        err = rtc.compile(p, 3, options);
        if (err == MTRTC_INVALID_OPTION)
            err = rtc.compile(p, 1, options);
    }
    if (err == MTRTC_INVALID_OPTION && strcmp(arch, "mp_31") == 0)
        err = rtc.compile(p, 0, NULL);
    return err;
}

static void say_log(program p)
{
    size_t n = 0;
    char *text = rtc.log_size(p, &n) == MTRTC_OK && n && n < 1 << 20 ? calloc(1, n + 1) : NULL;
    if (text && rtc.log(p, text) == MTRTC_OK)
        (void)fprintf(stderr, "%s\n", text);
    free(text);
}

static bool write_out(program p, const char *path)
{
    size_t n = 0;
    char *data = rtc.size(p, &n) == MTRTC_OK && n ? malloc(n) : NULL;
    FILE *f = data && rtc.get(p, data) == MTRTC_OK ? fopen(path, "we") : NULL;
    bool good = f && fwrite(data, 1, n, f) == n;
    if (f)
        good &= fclose(f) == 0;
    free(data);
    return good;
}

int cumu_mtrtc(int argc, char **argv)
{
    program p = NULL;
    if (argc != 6 || strcmp(argv[3], "-o") != 0)
        return cumu_fail(CUMU_EXIT_USAGE, "--mtrtc LIBRARY mp_NN -o OUT IN");
    size_t size;
    char *text = cumu_file_read(argv[5], PTRDIFF_MAX, &size);
    if (!text)
        return cumu_fail(CUMU_EXIT_CANNOT_RUN, "error: %s cannot be read", argv[5]);
    if (!open_library(argv[1]))
        return CUMU_EXIT_CANNOT_RUN;
    int err = rtc.create(&p, text, "kernel.mu", 0, NULL, NULL);
    if (!err)
        err = compile(p, argv[2]);
    if (p)
        say_log(p);
    if (err)
        return cumu_fail(1, "error: MTRTC answers %d", err);
    return write_out(p, argv[4]) ? 0 : cumu_fail(1, "error: MTRTC gives no code");
}
