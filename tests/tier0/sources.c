/* Faults name the line of the program's source, by the .loc and .file directives of the PTX. */
#include "tier0/kernels.h"

/* The line of the program's source is that of the .loc in front of the instruction; none in front: unknown, also
 * behind another function's. */
static void sources(void)
{
    static const struct {
        const char *name, *text, *file;
        uint32_t source, call;
    } cases[] = {
        {"the last .loc in front of it",
         HEAD ENTRY("k") ".loc 2 7 3\n mov.u32 %r2, 1;\n"
                         ".loc 1 12 1, function_name $L__info_string0, inlined_at 2 7 3\n"
                         "trap;\n.loc 2 13 1\n" END ".file 1 \"a b.cu\"\n.file 2 \"/x/y.h\", 1, 2\n",
         "a b.cu", 12, 7},
        {"none", HEAD ENTRY("k") "trap;\n.loc 1 3 1\n" END ".file 1 \"a.cu\"\n", NULL, 0, 0},
        {"none in this function",
         HEAD ".func f()\n{\n.loc 1 3 1\nret;\n}\n" ENTRY("k") "call f;\ntrap;\n" END ".file 1 \"a.cu\"\n", NULL, 0, 0},
        {"of the function called",
         HEAD ".func f()\n{\n.loc 1 4 1\ntrap;\n}\n" ENTRY("k") ".loc 1 9 1\ncall f;\n" END ".file 1 \"a.cu\"\n",
         "a.cu", 4, 0},
        {"a file without a name", HEAD ENTRY("k") ".loc 5 3 1\ntrap;\n" END, "", 3, 0},
    };
    for (unsigned k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct t0t t;
        struct t0_fault f = {0};
        struct args a = {out, in, 1};
        uint32_t one[3] = {1, 1, 1};
        bool good = t0t_open(&t, cases[k].text, "k") && t0t_run(&t, one, one, 0, &a, &f) == T0_FAULT_TRAP;
        check(good && f.source.line == cases[k].source && !f.source.file == !cases[k].file &&
                  f.source.call_line == cases[k].call && (!f.source.file || !strcmp(f.source.file, cases[k].file)),
              "source line: %s (%s:%u) %s", cases[k].name, f.source.file ? f.source.file : "-", f.source.line, t.why);
        t0t_close(&t);
    }
}

int main(void)
{
    sources();
    return t0t_done();
}
