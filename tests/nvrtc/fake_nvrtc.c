/* Stands for NVIDIA's NVRTC: its "PTX" names the architecture it was asked for, and it has no cubin for a
 * virtual one, as the real one has none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct program {
    char ptx[256], cubin[8];
};

int nvrtcVersion(int *major, int *minor)
{
    *major = 12;
    *minor = 77; /* nobody else answers that */
    return 0;
}

int nvrtcCreateProgram(struct program **p, const char *text, const char *name, int n, const char *const *contents,
                       const char *const *names)
{
    (void)text, (void)name, (void)n, (void)contents, (void)names;
    *p = calloc(1, sizeof **p);
    return *p ? 0 : 1;
}

int nvrtcDestroyProgram(struct program **p)
{
    free(*p);
    *p = NULL;
    return 0;
}

int nvrtcCompileProgram(struct program *p, int n, const char *const *options)
{
    p->ptx[0] = '\0';
    for (int i = 0; i < n; i++)
        snprintf(p->ptx + strlen(p->ptx), sizeof p->ptx - strlen(p->ptx), "%s;", options[i]);
    strcpy(p->cubin, strstr(p->ptx, "sm_") ? "SASS" : "");
    return strstr(p->ptx, "--bad") ? 6 : 0;
}

int nvrtcGetPTXSize(const struct program *p, size_t *size)
{
    *size = strlen(p->ptx) + 1;
    return 0;
}

int nvrtcGetPTX(const struct program *p, char *text)
{
    strcpy(text, p->ptx);
    return 0;
}

int nvrtcGetCUBINSize(const struct program *p, size_t *size)
{
    *size = strlen(p->cubin);
    return 0;
}

int nvrtcGetCUBIN(const struct program *p, char *image)
{
    memcpy(image, p->cubin, strlen(p->cubin));
    return 0;
}
