/* What debuggers are told of compiled kernels: lines of the source where the PTX has them, else of the PTX; names. */
#include "check.h"
#include "ptx/tier1/tier1.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"
#define BODY(a, b) \
    ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" a "ld.param.u64 %rd1, [p];\n" b \
    "mov.u32 %r1, %tid.x;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"
static const char located[] = HEAD ".visible .entry _Z1kPj(.param .u64 p)\n{\n" BODY(
    ".loc 1 20 3\n",
    ".loc 7 31 1, function_name $x, inlined_at 1 22 5\n") ".file 1 \"/src/dir/a.cu\"\n.file 7 \"/src/dir/b.h\", 1, 2\n";
static const char plain[] = HEAD ".visible .entry memcpy(.param .u64 p)\n{\n" BODY("", "");

static char *emit(const char *ptx, const char *kernel, unsigned options)
{
    struct ptx_diag diag = {0};
    struct ptx_module *m = ptx_module_open(ptx, strlen(ptx), &diag);
    char *text = NULL;
    size_t size = 0;
    if (!m || t1_emit_as(m, kernel, T1_SHAPE_LINEAR, T1_PLAIN, options, &text, &size, &diag))
        text = NULL;
    ptx_module_close(m);
    char *whole = text ? strndup(text, size) : NULL;
    free(text);
    return whole;
}

/* What a tool of binutils says of the object. */
static bool tells(const char *text, const char *tool, const char *what)
{
    char command[3000], name[] = "/tmp/cumu-lines.XXXXXX", line[400];
    const char *cc = getenv("CC");
    int fd = mkstemp(name);
    bool found = false;
    if (fd < 0 || write(fd, text, strlen(text)) < 0 || close(fd))
        return false;
    (void)snprintf(command, sizeof command, "%s %s -g -o %s.so %s && %s %s.so", cc && *cc ? cc : "cc",
                   t1_isa_flags(T1_PLAIN), name, name, tool, name);
    FILE *f = popen(command, "r");
    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, what) != NULL;
    if (f)
        (void)pclose(f);
    (void)unlink(name);
    (void)snprintf(command, sizeof command, "%s.so", name);
    (void)unlink(command);
    return found;
}

int main(void)
{
    char *text = emit(located, "_Z1kPj", T1_EMIT_LINES);
    check(text && strstr(text, "#line 20 \"/src/dir/a.cu\"\n") && strstr(text, "#line 31 \"/src/dir/b.h\"\n"),
          "lines of the source");
    check(text && tells(text, "readelf --debug-dump=decodedline", "a.cu"), "are in the object's line table");
    check(text && tells(text, "nm", " t _Z1kPj"), "the kernel has its own name");
    free(text);
    text = emit(plain, "memcpy", T1_EMIT_LINES);
    check(text && strstr(text, "#line 8 \"module.ptx\"\n"), "lines of the PTX where it names none");
    check(text && tells(text, "nm", " t memcpy_kernel"), "a name that C may know is another's");
    free(text);
    text = emit(plain, "memcpy", 0);
    check(text && !strstr(text, "#line"), "none where nobody asks");
    free(text);
    return check_end("line tables");
}
