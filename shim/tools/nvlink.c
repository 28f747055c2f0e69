/* nvlink: links cubins that carry PTX into one (compile/link.h). Of host objects the device code stays where it is,
 * since our loader links it when the program registers it; only their register calls are written. Where no input is of
 * ours, NVIDIA's own does it. */
#include "compile/devrt.h"
#include "compile/link.h"
#include "core/file.h"
#include "fatbin/fatbin.h"
#include "tools/tools.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ARCH = 1, OUTPUT, REGISTER };

static const struct tool_option options[] = {
    {"arch", "arch", TOOL_TEXT, ARCH},
    {"output-file", "o", TOOL_TEXT, OUTPUT},
    {"register-link-binaries", "register-link-binaries", TOOL_TEXT, REGISTER},
    {"machine", "m", TOOL_JOINED, 0},
    {NULL, "L", TOOL_WORDS, 0}, /* folders of libraries, and libraries, as one list */
    {NULL, "l", TOOL_WORDS, 0},
    {"cpu-arch", "cpu-arch", TOOL_TEXT, 0},
    {"host-ccbin", "ccbin", TOOL_TEXT, 0},
    {"debug", "g", TOOL_FLAG, 0},
    {"disable-infos", "disable-infos", TOOL_FLAG, 0},
    {"disable-warnings", "w", TOOL_FLAG, 0},
    {"extra-warnings", "extrawarn", TOOL_FLAG, 0},
    {"ignore-host-info", "ignore-host-info", TOOL_FLAG, 0},
    {"keep-system-libraries", "keep-system-libraries", TOOL_FLAG, 0},
    {"kernels-used", "kernels-used", TOOL_TEXT, 0},
    {"maxrregcount", "maxrregcount", TOOL_NUMBER, 0},
    {"preserve-relocs", "preserve-relocs", TOOL_FLAG, 0},
    {"report-arch", "report-arch", TOOL_FLAG, 0},
    {"suppress-debug-info", "suppress-debug-info", TOOL_FLAG, 0},
    {"suppress-stack-size-warning", "suppress-stack-size-warning", TOOL_FLAG, 0},
    {"verbose", "v", TOOL_FLAG, 0},
};

struct inputs {
    const struct tool *tool;
    unsigned arch;
    struct ptx_module **unit;
    unsigned n;
    FILE *calls; /* of host objects, one a translation unit */
    unsigned ncalls;
};

static int add_text(struct inputs *in, const char *path, const char *text, size_t len)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(text, len, &diag);
    struct ptx_module **more = m ? realloc(in->unit, (in->n + 2) * sizeof *more) : NULL;
    if (!m)
        return tool_fatal(in->tool, "%s: line %u: %s: %s", path, diag.line, diag.what, diag.msg);
    if (!more) {
        ptx_module_close(m);
        return tool_fatal(in->tool, "Memory allocation failure");
    }
    in->unit = more;
    in->unit[in->n++] = m;
    return 0;
}

/* Names of a host object's translation units, each with a NUL, if it has code that is to be linked. */
static void add_calls(struct inputs *in, const char *data, size_t size)
{
    size_t len;
    const char *code = fatbin_cubin_section(data, size, "__nv_relfatbin", &len);
    const char *id = code ? fatbin_cubin_section(data, size, "__nv_module_id", &len) : NULL;
    for (const char *end = id + (id ? len : 0); id && id < end; id += strnlen(id, (size_t)(end - id)) + 1)
        if (*id && in->calls) {
            fprintf(in->calls, "DEFINE_REGISTER_FUNC(%.*s)\n", (int)strnlen(id, (size_t)(end - id)), id);
            in->ncalls++;
        }
}

/* Objects of a static library; that of CUDA's device runtime is PTX of ours where kernels are linked here. */
static int add_archive(struct inputs *in, const char *path, const char *data, size_t size)
{
    struct fatbin_member member = {0};
    if (cumu_is_device_runtime(path))
        return in->n ? add_text(in, path, cumu_device_runtime, strlen(cumu_device_runtime)) : 0;
    for (size_t at = 0; fatbin_archive_next(data, size, &at, &member);)
        add_calls(in, member.data, member.size);
    return 0;
}

static int add_input(struct inputs *in, const char *path)
{
    size_t size, len;
    char *data = cumu_file_read(path, PTRDIFF_MAX, &size);
    if (!data)
        return tool_fatal(in->tool, "Could not open input file '%s'", path);
    struct fatbin_list list;
    const char *text = fatbin_carried(data, size, &len);
    char *unpacked = NULL;
    int status = 0;
    if (text)
        status = add_text(in, path, text, len);
    else if (fatbin_list_make(&list, data, size, in->arch) == FATBIN_OK) {
        status = fatbin_unpack(&list.entry[0], &unpacked, &len) ? tool_fatal(in->tool, "%s: damaged image", path)
                                                                : add_text(in, path, unpacked, len);
        fatbin_list_free(&list);
    } else if (fatbin_is_archive(data, size))
        status = add_archive(in, path, data, size);
    else if (fatbin_is_elf(data, size))
        add_calls(in, data, size);
    else
        status = add_text(in, path, data, size);
    free(unpacked);
    free(data);
    return status;
}

/* The static library of "lNAME", in the first of the folders that has one; what lies nowhere holds no device code. */
static int add_library(struct inputs *in, const struct tool_line *l, const char *name)
{
    char path[PATH_MAX];
    for (unsigned i = 0; i < l->nlist; i++) {
        int n = snprintf(path, sizeof path, "%s/lib%s.a", l->list[i] + 1, name);
        if (l->list[i][0] == 'L' && n > 0 && n < (int)sizeof path && access(path, R_OK) == 0)
            return add_input(in, path);
    }
    return 0;
}

static bool any_ours(const struct tool_line *l)
{
    bool ours = false;
    for (unsigned i = 0; i < l->ninput && !ours; i++) {
        size_t size;
        char *data = cumu_file_read(l->input[i], PTRDIFF_MAX, &size);
        ours = data && tool_is_ours(data, size);
        free(data);
    }
    return ours;
}

static int write_output(const struct inputs *in, const struct tool_line *l, char **argv)
{
    static const char empty[] = ".version 7.0\n.target sm_50\n.address_size 64\n";
    size_t size = sizeof empty - 1;
    struct ptx_diag diag;
    char *text = in->n ? cumu_ptx_link(in->unit, in->n, &size) : strdup(empty), *cubin = NULL;
    struct ptx_module *m = text ? ptx_module_open(text, size, &diag) : NULL;
    size_t bytes;
    if (m)
        cubin = tool_cubin(m, in->arch, false, argv, &bytes);
    int status = cubin ? 0 : tool_fatal(in->tool, "Memory allocation failure");
    if (cubin && !tool_write(in->tool, l->value[OUTPUT] ? l->value[OUTPUT] : "a.out", cubin, bytes))
        status = TOOL_FAILED;
    free(cubin);
    if (m)
        ptx_module_close(m);
    free(text);
    return status;
}

static int link_inputs(const struct tool *t, const struct tool_line *l, char **argv)
{
    char suffix, *calls = NULL, *head = NULL;
    bool code;
    size_t size = 0;
    struct inputs in = {.tool = t};
    if (!l->value[ARCH])
        return tool_fatal(t, "arch must be specified");
    in.arch = tool_arch(l->value[ARCH], &suffix, &code);
    if (!in.arch)
        return tool_fatal(t, "Value '%s' is not defined for option 'arch'", l->value[ARCH]);
    in.calls = open_memstream(&calls, &size);
    int status = in.calls ? 0 : tool_fatal(t, "Memory allocation failure");
    for (unsigned i = 0; !status && i < l->ninput; i++)
        status = add_input(&in, l->input[i]);
    for (unsigned i = 0; !status && i < l->nlist; i++)
        if (l->list[i][0] == 'l')
            status = add_library(&in, l, l->list[i] + 1);
    if (!status)
        status = write_output(&in, l, argv);
    if (in.calls)
        (void)fclose(in.calls);
    if (!status && l->value[REGISTER]) {
        int n = asprintf(&head, "#define NUM_PRELINKED_OBJECTS %u\n%s", in.ncalls, calls);
        if (n < 0 || !tool_write(t, l->value[REGISTER], head, (size_t)n))
            status = TOOL_FAILED;
        free(n < 0 ? NULL : head);
    }
    free(calls);
    for (unsigned i = 0; i < in.n; i++)
        ptx_module_close(in.unit[i]);
    free(in.unit);
    return status;
}

int tool_nvlink(const struct tool *t, int argc, char **argv)
{
    struct tool_line l;
    int status = tool_line_read(t, options, sizeof options / sizeof *options, argc, argv, &l);
    if (!status && l.ninput && any_ours(&l))
        status = link_inputs(t, &l, argv);
    else if (!status) {
        tool_become_real(t, argv);
        status = l.ninput ? link_inputs(t, &l, argv) : tool_fatal(t, "no input files");
    }
    tool_line_free(&l);
    return status;
}
