/* Tests of the PTX front end. tests/ptxfront/cases/NAME.ptx holds a module and, in comments behind
 * it, the expected dump ("//= "); tests/ptxfront/errors/NAME.ptx holds bad modules between "//#"
 * lines and the expected message ("//! line: what: message"). "//: 16 16" sets the block shape of
 * the analysis. With file arguments: opens, builds and verifies those modules instead; -u rewrites
 * expectations. */
#include "../check.h"
#include "verify.h"

#include "ptx/front/front.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER "tests/ptxfront/"
enum { VERIFY_BLOCKS = 400, VERIFY_CELLS = 4 << 20 };

static void result(bool ok, const char *what, const char *why)
{
    check(ok, "%s%s%s", what, ok ? "" : ": ", ok ? "" : why);
}

static char *slurp(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    *len = text ? fread(text, 1, (size_t)n, f) : 0;
    if (text)
        text[*len] = 0;
    fclose(f);
    return text;
}

/* All steps on every function; dump goes to out when given. 0, or -1 with why. */
static int run_module(const char *text, size_t len, const struct ptx_shape *shape, FILE *out, char *why, size_t size)
{
    struct ptx_diag d;
    char bad[256];
    int status = 0;
    struct ptx_module *m = ptx_module_open(text, len, &d);
    if (m && out)
        ptx_dump_module(m, out);
    for (uint32_t i = 0; m && i < m->nfunc && !status; i++) {
        struct ptx_func *f = &m->func[i];
        if (f->is_decl)
            continue;
        status = ptx_analyse(f, shape, &d);
        if (status)
            break;
        if (out) {
            fprintf(out, "\n");
            ptx_dump_func(f, out);
        }
        if (f->nblock > VERIFY_BLOCKS || (uint64_t)f->nblock * f->nreg > VERIFY_CELLS)
            continue;
        if (verify_ssa(f, bad, sizeof bad)) {
            snprintf(why, size, "%s: %s", f->name, bad);
            ptx_module_close(m);
            return -1;
        }
    }
    if (!m || status)
        snprintf(why, size, "%u: %s: %s", d.line, d.what, d.msg);
    ptx_module_close(m);
    return m && !status ? 0 : -1;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static struct ptx_shape shape_of(const char *text)
{
    struct ptx_shape s = {.block = {256, 1, 1}, .exact = true};
    const char *at = strstr(text, "//: ");
    if (at)
        sscanf(at, "//: %u %u %u", &s.block[0], &s.block[1], &s.block[2]);
    return s;
}

static char *strip_marks(const char *expected)
{
    char *out = malloc(strlen(expected) + 1), *w = out;
    for (const char *p = expected; *p;) {
        size_t n = strcspn(p, "\n");
        const char *from = p + (strncmp(p, "//= ", 4) ? 3 : 4);
        if (from < p + n) {
            memcpy(w, from, (size_t)(p + n - from));
            w += p + n - from;
        }
        *w++ = '\n';
        p += n + (p[n] == '\n');
    }
    *w = 0;
    return out;
}

static void write_marks(const char *path, const char *text, size_t len, const char *dump)
{
    FILE *f = fopen(path, "wb");
    if (!f)
        return;
    fwrite(text, 1, len, f);
    for (const char *p = dump; *p;) {
        size_t n = strcspn(p, "\n");
        fprintf(f, "//=%s%.*s\n", n ? " " : "", (int)n, p);
        p += n + (p[n] == '\n');
    }
    fclose(f);
}

static void first_difference(const char *want, const char *got, char *why, size_t size)
{
    while (*want && *got) {
        size_t a = strcspn(want, "\n"), b = strcspn(got, "\n");
        if (a != b || memcmp(want, got, a)) {
            snprintf(why, size, "expected \"%.*s\", got \"%.*s\"", (int)(a < 150 ? a : 150), want,
                     (int)(b < 150 ? b : 150), got);
            return;
        }
        want += a + (want[a] == '\n');
        got += b + (got[b] == '\n');
    }
    snprintf(why, size, "one dump is longer: \"%.60s\" / \"%.60s\"", want, got);
}

static void run_case(const char *path, const char *name, bool rewrite)
{
    char why[512] = "", *dump = NULL;
    size_t len, dump_len;
    char *text = slurp(path, &len);
    char *mark = text ? strstr(text, "//=") : NULL;
    size_t source = mark ? (size_t)(mark - text) : len;
    struct ptx_shape shape = shape_of(text);
    FILE *out = open_memstream(&dump, &dump_len);
    int status = run_module(text, source, &shape, out, why, sizeof why);
    fclose(out);
    char *want = strip_marks(mark ? mark : "");
    bool ok = !status && !strcmp(want, dump);
    if (!status && !ok)
        first_difference(want, dump, why, sizeof why);
    if (!status && rewrite)
        write_marks(path, text, source, dump);
    result(ok, name, why);
    free(want);
    free(dump);
    free(text);
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* One piece: "//# name", PTX, and its "//! " line. Lines count from the name, which is a comment.
 */
static void run_error(const char *piece, size_t len, const char *name)
{
    char *text = strndup(piece, len), *mark = strstr(text, "//! ");
    char why[512], got[512] = "no error", what[512];
    snprintf(what, sizeof what, "%s: %.*s", name, (int)(strcspn(piece + 4, "\n") % 200), piece + 4);
    struct ptx_shape shape = {.block = {256, 1, 1}, .exact = true};
    if (mark) {
        mark[strcspn(mark, "\n")] = 0;
        run_module(text, (size_t)(mark - text), &shape, NULL, got, sizeof got);
        snprintf(why, sizeof why, "got \"%.400s\"", got);
        result(!strcmp(mark + 4, got), what, why);
    } else {
        result(false, what, "no expectation");
    }
    free(text);
}

static void run_errors(const char *path, const char *name)
{
    size_t len;
    char *text = slurp(path, &len), *p = text ? strstr(text, "\n//# ") : NULL;
    result(p, name, "no pieces");
    for (char *next; p; p = next) {
        next = strstr(p + 4, "\n//# ");
        run_error(p + 1, next ? (size_t)(next - p) : strlen(p + 1), name);
    }
    free(text);
}

static void each_file(const char *folder, bool errors, bool rewrite)
{
    char path[512];
    struct dirent **list;
    int n = scandir(folder, &list, NULL, alphasort);
    if (n < 0)
        result(false, folder, "cannot be read");
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name, *dot = strrchr(name, '.');
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (dot && !strcmp(dot, ".ptx")) {
            if (errors)
                run_errors(path, name);
            else
                run_case(path, name, rewrite);
        }
        free(list[i]);
    }
    if (n >= 0)
        free(list);
}

/* ---- opcodes that programs use --------------------------------------------------------------- */

static void run_opcodes(void)
{
    size_t len;
    unsigned n = 0;
    struct ptx_diag d;
    char *text = slurp(FOLDER "opcodes.txt", &len), why[256] = "";
    for (char *line = text ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"), n++)
        if (ptx_decode_check(line, &d) && !*why)
            snprintf(why, sizeof why, "%.80s: %.160s", line, d.msg);
    result(n > 700 && !*why, "every opcode of the census decodes", *why ? why : "list is missing");
    free(text);
}

int main(int argc, char **argv)
{
    bool rewrite = argc > 1 && !strcmp(argv[1], "-u");
    char why[512];
    if (argc > 1 && !rewrite) {
        for (int i = 1; i < argc; i++) {
            size_t len;
            char *text = slurp(argv[i], &len);
            struct ptx_shape shape = {.block = {256, 1, 1}, .exact = true};
            result(text && !run_module(text, len, &shape, NULL, why, sizeof why), argv[i],
                   text ? why : "cannot be read");
            free(text);
        }
        return check_end("ptxfront");
    }
    each_file(FOLDER "cases", false, rewrite);
    each_file(FOLDER "errors", true, false);
    run_opcodes();
    return check_end("ptxfront");
}
