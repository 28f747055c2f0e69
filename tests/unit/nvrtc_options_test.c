/* Which options of nvrtcCompileProgram are rewritten, and to what. */
#include "api/nvrtc/nvrtc.h"
#include "unit/unit.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    const char *from, *to, *without; /* options between '|'; without: as MTRTC gets them */
    bool real;
} cases[] = {
    {"--gpu-architecture=sm_86|-O3", "--gpu-architecture=compute_86|-O3", "-O3", true},
    {"-arch=sm_90a", "-arch=compute_90a", "", true},
    {"-arch|sm_100f|-G", "-arch|compute_100f|-G", "-G", true},
    {"--gpu-architecture sm_75", "--gpu-architecture compute_75", "", true},
    {"--gpu-architecture|compute_75", "--gpu-architecture|compute_75", "", false},
    {"-arch=compute_80|-dlto", "-arch=compute_80|-dlto", "-dlto", false},
    {"-DNAME=sm_86|-I/sm_86|sm_86", "-DNAME=sm_86|-I/sm_86|sm_86", "-DNAME=sm_86|-I/sm_86|sm_86", false},
    {"-archer=sm_86", "-archer=sm_86", "-archer=sm_86", false},
    {"-arch", "-arch", "", false}, /* nothing follows: the compiler says so itself */
    {"-arch=sm_86_with_a_name_that_no_architecture_has", "-arch=sm_86_with_a_name_that_no_architecture_has", "", false},
    {"", "", "", false},
};

static void one(const char *from, const char *want, bool keep, bool want_real)
{
    char copy[256], got[256] = "";
    const char *options[8];
    int n = 0;
    bool real = !want_real;
    strcpy(copy, from);
    for (char *w = strtok(copy, "|"); w; w = strtok(NULL, "|"))
        options[n++] = w;
    const char **out = cumu_nvrtc_options(options, &n, keep, &real);
    for (int i = 0; out && i < n; i++) {
        strcat(got, i ? "|" : "");
        strcat(got, out[i]);
    }
    check(out != NULL, "%s", from);
    check_text(got, want, from);
    if (keep)
        check(real == want_real, "%s", from);
    free(out);
}

int main(void)
{
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        one(cases[i].from, cases[i].to, true, cases[i].real);
        one(cases[i].from, cases[i].without, false, cases[i].real);
    }
    const char *hole[] = {NULL, "-arch=sm_80"};
    int n = 2;
    bool real;
    const char **out = cumu_nvrtc_options(hole, &n, true, &real);
    check(out && n == 2 && !out[0] && real, "a NULL among the options is left to the compiler");
    free(out);
    n = -1;
    out = cumu_nvrtc_options(NULL, &n, true, &real);
    check(out && n == 0 && !real, "no options");
    free(out);
    return check_end("unit nvrtc_options");
}
