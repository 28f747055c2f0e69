/* What is cut out of tier 1's prelude compiles: all functions that the preprocessor leaves for an instruction set, some
 * at a time, with nothing but what the cut says they need. */
#include "check.h"
#include "ptx/arena.h"
#include "ptx/tier1/emit/cut.h"
#include "ptx/tier1/emit/emit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GROUP = 16, MOST = 2000 };
static char source[64], output[64];

/* Settings as a kernel with everything has them. */
static int parts; /* of the block wait at a barrier of the kernel */
static const char settings[] = "#define T1_VERSION 0u\n#define T1_SHAPE 0\n#define T1_FIBRES 1\n#define T1_CLUSTERS 1\n"
                               "#define T1_DYNAMIC 0u\n#define T1_STACK 65536\n"
                               "#define T1_KERNEL static __attribute__((noinline)) void\n";

static bool compile(enum t1_isa isa, unsigned watched, const char *flags, const char *text, size_t size,
                    const char *use)
{
    const char *cc = getenv("CC");
    char command[2048], isa_flags[1024];
    (void)snprintf(isa_flags, sizeof isa_flags, "%s ", t1_isa_flags(isa));
    char *quiet = strstr(isa_flags, " -w "); /* with it nothing is an error that is a warning */
    if (quiet)
        memset(quiet, ' ', 3);
    FILE *f = fopen(source, "w");
    if (!f)
        return false;
    bool good = fprintf(f, "%s#define T1_PARTS %d\n#define T1_WATCHED %u\n", settings, parts, watched) > 0 &&
                fwrite(text, 1, size, f) == size && fputs(use, f) >= 0;
    good = !fclose(f) && good;
    (void)snprintf(command, sizeof command, "%s %s -Werror=implicit-function-declaration %s -o %s %s",
                   cc && *cc ? cc : "cc", isa_flags, flags, output, source);
    return good && system(command) == 0;
}

static struct ptx_text cut(const char *use, bool whole)
{
    struct t1_emit e = {.whole = whole, .matrices = true};
    e.arena = ptx_arena_new();
    t1_put_prelude(&e, use, strlen(use));
    ptx_arena_free(e.arena);
    return e.text;
}

/* The functions that are left of the whole prelude. */
static unsigned functions(enum t1_isa isa, unsigned watched, char *name[MOST])
{
    static char bytes[1 << 22];
    struct ptx_text whole = cut("", true);
    FILE *f = compile(isa, watched, "-E -P", whole.p, whole.n, "") ? fopen(output, "r") : NULL;
    const size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    unsigned count = 0;
    enum cut_kind kind;
    struct span s = {bytes, size};
    for (struct cut_found found; (kind = cut_next(&s, &found)) != CUT_NONE && count < MOST;)
        if (kind == CUT_FUNCTION && (name[count] = strndup(found.word.p, found.word.n)))
            count++;
    if (f)
        (void)fclose(f);
    free(whole.p);
    return count;
}

int main(void)
{
    (void)snprintf(source, sizeof source, "/tmp/cumu-prelude-%d.c", (int)getpid());
    (void)snprintf(output, sizeof output, "/tmp/cumu-prelude-%d.o", (int)getpid());
    const char *every = getenv("TIER1_EVERY"); /* for sanitizers, which see the cut and no compiler */
    const unsigned step = GROUP * (every && atoi(every) > 1 ? (unsigned)atoi(every) : 1);
    for (unsigned k = 0; k < 5; k++) {
        const enum t1_isa isa = k < 3 ? (enum t1_isa)k : T1_AVX2;
        const unsigned watched = k < 3 ? 0 : k == 3 ? T1_EMIT_WATCHED : T1_EMIT_RACED;
        char *name[MOST], use[GROUP * 80];
        const unsigned count = functions(isa, watched, name);
        check(count > 300 && count < MOST, "isa %d, watched %u: %u functions", (int)isa, watched, count);
        for (unsigned from = 0; from < count; from += step) {
            int n = snprintf(use, sizeof use, "const void *const used[] = {");
            for (unsigned j = from; j < count && j < from + GROUP; j++)
                n += snprintf(use + n, sizeof use - (size_t)n, "%s, ", name[j]);
            (void)snprintf(use + n, sizeof use - (size_t)n, "};\n");
            struct ptx_text text = cut(use, false);
            check(compile(isa, watched, "-fsyntax-only", text.p, text.n, use), "isa %d, watched %u: %s", (int)isa,
                  watched, use);
            free(text.p);
        }
        for (unsigned j = 0; j < count; j++)
            free(name[j]);
        static const char kernel[] =
            "#define T1_NAME name\nstruct t1_args { int none; };\n"
            "static void t1_args_of(struct t1_args *a, const uint8_t *p) { (void)p; a->none = 0; }\n"
            "T1_KERNEL kernel(struct t1_block *b, const struct t1_block *g, const struct t1_args *a, uint32_t w, "
            "uint32_t live) { t1_bar(b, 0, live); }\nT1_MAIN(kernel)\n";
        for (parts = 1; parts >= 0; parts--) {
            struct ptx_text text = cut(kernel, false);
            check(compile(isa, watched, "-fsyntax-only", text.p, text.n, kernel),
                  "isa %d, watched %u, parts %d: a kernel", (int)isa, watched, parts);
            free(text.p);
        }
        parts = 0;
    }
    unlink(source);
    unlink(output);
    return check_end("prelude");
}
