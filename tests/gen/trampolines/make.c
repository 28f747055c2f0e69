/* Writes a random test of trampolines: a map of functions with random signatures, callees that
 * record the bytes of every argument, and callers that know what must arrive. usage: make DIR SEED
 * COUNT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Integer and vector registers, the stack, and every way a struct can travel by value. */
static const struct {
    const char *letter, *type;
} letters[] = {
    {"i", "int"},
    {"u", "unsigned"},
    {"z", "size_t"},
    {"p", "void *"},
    {"L", "long long"},
    {"H", "unsigned short"},
    {"c", "char"},
    {"f", "float"},
    {"d", "double"},
    {"dim3", "struct cumu_s12"},
    {"S8", "struct cumu_s8"},
    {"S12", "struct cumu_s12"},
    {"S16", "struct cumu_s16"},
    {"S20", "struct cumu_s20"},
    {"S24", "struct cumu_s24"},
    {"S128", "struct cumu_s128"},
    {"F8", "struct cumu_f8"},
    {"F16", "struct cumu_f16"},
    {"M16", "struct cumu_m16"},
};
enum { LETTERS = sizeof letters / sizeof *letters, ARGUMENTS = 20 };

struct function {
    int result, count, argument[ARGUMENTS];
};

static unsigned long long state;
static unsigned roll(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static FILE *create(const char *dir, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    if (!f) {
        perror(path);
        exit(1);
    }
    return f;
}

static void parameters(FILE *f, const struct function *n)
{
    for (int i = 0; i < n->count; i++)
        fprintf(f, "%s%s a%d", i ? ", " : "", letters[n->argument[i]].type, i);
    if (!n->count)
        fprintf(f, "void");
}

static void signature(FILE *f, const struct function *n)
{
    fprintf(f, "%s(", n->result < 0 ? "void" : letters[n->result].letter);
    for (int i = 0; i < n->count; i++)
        fprintf(f, "%s%s", i ? " " : "", letters[n->argument[i]].letter);
    fprintf(f, ")\n");
}

static const char *result(const struct function *n) { return n->result < 0 ? "void" : letters[n->result].type; }

/* One call through `callee`, with fresh argument bytes; `expect` compares what was recorded. */
static void call(FILE *f, const struct function *n, const char *callee, int index, int time)
{
    fprintf(f, "    start(%d, %d);\n    {\n", index, time);
    for (int i = 0; i < n->count; i++)
        fprintf(f, "        %s a%d;\n        make_value(&a%d, sizeof a%d);\n", letters[n->argument[i]].type, i, i, i);
    if (n->result >= 0)
        fprintf(f, "        %s r = ", result(n));
    else
        fprintf(f, "        ");
    fprintf(f, "%s(", callee);
    for (int i = 0; i < n->count; i++) /* dim3 has a name of its own on the MUSA side */
        fprintf(f,
                strncmp(callee, "mu.", 3) || strcmp(letters[n->argument[i]].letter, "dim3") ? "%sa%d"
                                                                                            : "%s*(dim3 *)&a%d",
                i ? ", " : "", i);
    fprintf(f, ");\n");
    if (n->result >= 0)
        fprintf(f, "        returned(&r, sizeof r);\n");
    fprintf(f, "    }\n    finish(\"%s\");\n", callee);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    int count = atoi(argv[3]);
    struct function *functions = calloc((size_t)count, sizeof *functions);
    if (!functions)
        return 2;
    state = strtoull(argv[2], NULL, 0);
    for (int i = 0; i < count; i++) {
        struct function *n = &functions[i];
        n->result = (int)roll(LETTERS + 1) - 1;
        if (n->result >= 0 && !strcmp(letters[n->result].letter, "dim3"))
            n->result = 0;
        n->count = i % 4 ? (int)roll(ARGUMENTS + 1) : (int)roll(5);
        for (int k = 0; k < n->count; k++)
            n->argument[k] = (int)roll(LETTERS);
    }

    FILE *map = create(argv[1], "toy.map");
    FILE *callees = create(argv[1], "callees.c"), *callers = create(argv[1], "callers.c");
    fprintf(map, "library toy unsupported 801 absent 35\nstub toyStub ! \"a stub\" err()\n");
    fprintf(callees, "#include \"recorder.h\"\n");
    fprintf(callers, "#include \"recorder.h\"\n#include \"mu.h\"\n");
    for (int i = 0; i < count; i++) {
        const struct function *n = &functions[i];
        fprintf(map, "jump toy%d = muToy%d !host ", i, i);
        signature(map, n);
        fprintf(callers, "%s toy%d(", result(n), i);
        parameters(callers, n);
        fprintf(callers, ");\n");
        fprintf(callees, "\n%s muToy%d(", result(n), i);
        parameters(callees, n);
        fprintf(callees, ");\n%s muToy%d(", result(n), i);
        parameters(callees, n);
        fprintf(callees, ")\n{\n");
        for (int k = 0; k < n->count; k++)
            fprintf(callees, "    record(&a%d, sizeof a%d);\n", k, k);
        if (n->result >= 0)
            fprintf(callees, "    %s r;\n    make_result(&r, sizeof r);\n    return r;\n", result(n));
        fprintf(callees, "}\n");
    }
    fprintf(callees, "\nvoid *const callees[] = {\n");
    for (int i = 0; i < count; i++)
        fprintf(callees, "    (void *)muToy%d,\n", i);
    fprintf(callees, "};\n");
    fprintf(callers, "int toyStub(void);\n\nint main(void)\n{\n");
    for (int i = 0; i < count; i++)
        for (int time = 0; time < 2; time++) { /* first through the resolver, then straight */
            char name[32];
            snprintf(name, sizeof name, "toy%d", i);
            call(callers, &functions[i], name, i, time);
            snprintf(name, sizeof name, "mu.muToy%d", i);
            call(callers, &functions[i], name, i, time);
        }
    fprintf(callers, "    check_stub(toyStub());\n    return verdict();\n}\n");
    free(functions);
    return fclose(map) || fclose(callees) || fclose(callers);
}
