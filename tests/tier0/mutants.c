/* Instructions next to those of the census: a modifier or an operand exchanged, left out, put in, or at another place.
 * Whatever the front end says of them, no back end may end the process; and it says what ptxas says: mutants.txt has a
 * sample of them with ptxas's verdict (13.0, for sm_90a, sm_100a and sm_120a) and ours, which -u draws anew where there
 * is a ptxas; operands.txt has operands of other sizes and kinds than the instruction's, which would be read or written
 * in part. Arguments: how many, a seed. */
#include "tier0/harness.h"

#include "ptx/lir/image.h"
#include "ptx/musa/musa.h"
#include "ptx/tier1/tier1.h"
#include "tier0/opcodes.h"

#include <unistd.h>

#define SAMPLE "tests/tier0/mutants.txt"
#define OPERANDS "tests/tier0/operands.txt"
enum { MOST = 2000, LENGTH = 250, TEXT = 2600, PARTS = 40, SAMPLED = 300 };

static char seed[MOST][TEXT]; /* whole instructions, those that begin with one word together */
static unsigned nseed;
static uint64_t state;

static unsigned draw(unsigned n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 16) % n);
}

/* ---- mutants --------------------------------------------------------------------------------- */

struct parts {
    char text[PARTS][LENGTH];
    unsigned n;
};

static bool same_word(const char *a, const char *b)
{
    const size_t n = strcspn(a, ". ");
    return strcspn(b, ". ") == n && !memcmp(a, b, n);
}

/* Pieces between separators that stand outside brackets. */
static void split(struct parts *p, const char *s, char separator)
{
    unsigned depth = 0;
    size_t len = 0;
    p->n = 0;
    for (; *s; s++) {
        depth += (*s == '[' || *s == '{') - (*s == ']' || *s == '}');
        if (!depth && *s == separator) {
            p->text[p->n++][len] = '\0';
            len = 0;
        } else if ((len || *s != ' ') && len < LENGTH - 1 && p->n < PARTS - 2) {
            p->text[p->n][len++] = *s;
        }
    }
    p->text[p->n][len] = '\0';
    p->n += len > 0;
}

static void take_out(struct parts *p, unsigned at)
{
    memmove(p->text[at], p->text[at + 1], (p->n-- - at - 1) * sizeof p->text[0]);
}

static void put_in(struct parts *p, unsigned at, const char *text)
{
    if (p->n == PARTS)
        return;
    memmove(p->text[at + 1], p->text[at], (p->n++ - at) * sizeof p->text[0]);
    snprintf(p->text[at], LENGTH, "%s", text);
}

static void split_instruction(const char *text, struct parts *name, struct parts *args)
{
    char opcode[TEXT];
    snprintf(opcode, sizeof opcode, "%.*s", (int)strcspn(text, " "), text);
    split(name, opcode, '.');
    split(args, text + strlen(opcode), ',');
}

/* One of the modifiers of any instruction that begins with this word, or a type. */
static const char *draw_modifier(const char *word)
{
    static const char *const types[] = {"pred", "b8",   "b16",  "b32",  "b64",    "b128", "u8",     "u16",  "u32",
                                        "u64",  "s8",   "s16",  "s32",  "s64",    "f16",  "f16x2",  "f32",  "f32x2",
                                        "f64",  "bf16", "tf32", "e4m3", "bf16x2", "e2m1", "e5m2x2", "u8x4", "e2m1x4"};
    static struct parts name, args;
    if (draw(3))
        for (unsigned tries = 0; tries < 4000; tries++) {
            const char *other = seed[draw(nseed)];
            if (!same_word(other, word))
                continue;
            split_instruction(other, &name, &args);
            if (name.n > 1)
                return name.text[1 + draw(name.n - 1)];
        }
    return types[draw(sizeof types / sizeof types[0])];
}

static const char *draw_operand(void)
{
    static const char *const some[] = {"%p1",       "%c1",       "%h1",   "%r1",     "%d1",        "%q1",
                                       "%f1",       "0",         "1",     "-1",      "[%d1]",      "[%r1]",
                                       "_",         "%tid.x",    "!%p1",  "-%r1",    "0f3f800000", "{%r1,%r2}",
                                       "{%h1,%h2}", "{%d1,%d2}", "{%f1}", "[%d1+16]"};
    return some[draw(sizeof some / sizeof some[0])];
}

static void change_name(struct parts *p)
{
    const unsigned at = p->n > 1 ? 1 + draw(p->n - 1) : 1, how = draw(8);
    char word[LENGTH];
    snprintf(word, sizeof word, "%s", draw_modifier(p->text[0]));
    if (p->n == 1 || how < 3) {
        put_in(p, 1 + draw(p->n), how ? word : p->text[draw(p->n)]);
    } else if (how < 6) {
        snprintf(p->text[at], LENGTH, "%s", word);
    } else if (how < 7 || at + 1 == p->n) {
        take_out(p, at);
    } else {
        snprintf(word, sizeof word, "%s", p->text[at]);
        take_out(p, at);
        put_in(p, at + 1, word);
    }
}

static void change_operands(struct parts *p)
{
    const unsigned how = p->n ? draw(8) : 0, at = p->n ? draw(p->n) : 0;
    if (!how)
        put_in(p, draw(p->n + 1), draw_operand());
    else if (how == 1)
        take_out(p, at);
    else
        snprintf(p->text[at], LENGTH, "%s", draw_operand());
}

static void join(char *text, size_t size, const struct parts *name, const struct parts *args)
{
    size_t n = (size_t)snprintf(text, size, "%s", name->text[0]);
    for (unsigned k = 1; k < name->n; k++)
        n += (size_t)snprintf(text + n, size - n, ".%s", name->text[k]);
    for (unsigned k = 0; k < args->n; k++)
        n += (size_t)snprintf(text + n, size - n, "%s%s", k ? ", " : " ", args->text[k]);
}

static void draw_mutant(char *text, size_t size)
{
    static struct parts name, args;
    unsigned k;
    do { /* as many of each first word */
        k = draw(nseed);
    } while (k && same_word(seed[k], seed[k - 1]) && draw(6));
    split_instruction(seed[k], &name, &args);
    for (unsigned changes = draw(5) ? 1 : 2; changes; changes--)
        if (draw(3))
            change_name(&name);
        else
            change_operands(&args);
    join(text, size, &name, &args);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

static char text[9000], mutant[4000];

static void name_mutant(int sig)
{
    (void)!write(1, "# ", 2);
    (void)!write(1, mutant, strlen(mutant));
    (void)!write(1, "\n", 1);
    signal(sig, SIG_DFL);
    raise(sig);
}

/* Through all that reads it. True: the front end and the interpreter's lowering take it. */
static bool taken(void)
{
    struct ptx_diag d = {0}, other;
    struct mu_info info;
    void *image = NULL;
    char *c = NULL;
    size_t size;
    make_kernel(text, sizeof text, "sm_100a", mutant);
    struct ptx_module *m = ptx_module_open(text, strlen(text), &d);
    const bool good = m && !lir_lower_kernel(m, "k", &image, &size, &d);
    EXPECT(good || (d.msg[0] && d.line), "%s: refused without a word: \"%s\" of line %u", mutant, d.msg, d.line);
    for (unsigned isa = 0; m && isa < T1_NISA; isa++) {
        if (!t1_emit(m, "k", isa % T1_NSHAPES, isa, &c, &size, &other))
            free(c);
    }
    if (good && !mu_emit(m, "k", image, MU_MUSA, &c, &size, &info, &other))
        free(c);
    free(image);
    ptx_module_close(m);
    return good;
}

/* ---- order of modifiers ---------------------------------------------------------------------- */

/* Whether the word means something by where among its like it stands. */
static bool has_place(const char *word)
{
    static const char *const others[] = {"row",  "col",  "e4m3",  "e5m2",  "e2m3",
                                         "e3m2", "e2m1", "ue8m0", "ue4m3", "L2::evict_first"};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        if (!strcmp(word, others[k]))
            return true;
    return ptx_type_find(word, strlen(word)) != PTX_NONE;
}

/* What tier 0 runs of an instruction; NULL if it is refused. */
static void *lowered(const struct parts *name, const struct parts *args)
{
    struct ptx_diag d;
    void *image = NULL;
    size_t size;
    join(mutant, sizeof mutant, name, args);
    make_kernel(text, sizeof text, "sm_100a", mutant);
    struct ptx_module *m = ptx_module_open(text, strlen(text), &d);
    if (m && lir_lower_kernel(m, "k", &image, &size, &d))
        image = NULL;
    ptx_module_close(m);
    return image;
}

/* All but the names that faults are given. */
static bool same(const struct lir_image *a, const struct lir_image *b)
{
#define SAME(field, type) \
    (a->field.count == b->field.count && \
     !memcmp(LIR_AT(a, field, void), LIR_AT(b, field, void), a->field.count * sizeof(type)))
    return SAME(code, struct lir_insn) && SAME(rows, struct lir_row) && SAME(matrices, struct lir_matrix) &&
           SAME(operands, uint32_t) && SAME(tiles, struct lir_tile);
#undef SAME
}

/* One modifier after the other goes to another place: where the instruction is still one, it is the same. */
static unsigned walk(const char *base)
{
    static struct parts name, next, args;
    unsigned orders = 0;
    split_instruction(base, &name, &args);
    void *image = lowered(&name, &args);
    for (unsigned step = 0; image && name.n > 2 && step < 12; step++) {
        const unsigned from = 1 + draw(name.n - 1);
        if (has_place(name.text[from]))
            continue;
        next = name;
        take_out(&next, from);
        put_in(&next, 1 + draw(next.n), name.text[from]);
        void *moved = lowered(&next, &args);
        if (!moved)
            continue;
        EXPECT(same(image, moved), "%s: not the same as %s", mutant, base);
        free(moved);
        name = next;
        orders++;
    }
    free(image);
    return orders;
}

/* ---- what ptxas says ------------------------------------------------------------------------- */

static bool ptxas_takes(void)
{
    static const char *const targets[] = {"sm_90a", "sm_100a", "sm_120a"};
    for (unsigned k = 0; k < 3; k++) {
        char command[200];
        snprintf(command, sizeof command, "ptxas -arch %s -O0 -o /dev/null - >/dev/null 2>&1", targets[k]);
        FILE *p = popen(command, "w");
        make_kernel(text, sizeof text, targets[k], mutant);
        if (p && fputs(text, p) >= 0 && !pclose(p))
            return true;
    }
    return false;
}

static void write_sample(void)
{
    FILE *f = fopen(SAMPLE, "w");
    if (!check(f, "%s can be written", SAMPLE))
        return;
    for (unsigned k = 0; k < SAMPLED; k++) {
        draw_mutant(mutant, sizeof mutant);
        fprintf(f, "%s\t%s\t%s\n", ptxas_takes() ? "takes" : "refuses", taken() ? "taken" : "refused", mutant);
    }
    fclose(f);
}

static unsigned check_sample(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[sizeof mutant + 40], theirs[20], ours[20];
    unsigned same = 0, all = 0;
    if (!check(f, "%s can be read", path))
        return 0;
    while (fgets(line, sizeof line, f)) {
        int at = 0;
        line[strcspn(line, "\n")] = '\0';
        if (!EXPECT(sscanf(line, "%19s\t%19s\t%n", theirs, ours, &at) == 2, "%s", line))
            continue;
        snprintf(mutant, sizeof mutant, "%s", line + at);
        EXPECT(taken() == !strcmp(ours, "taken"), "%s: no longer %s; ptxas %s it", mutant, ours, theirs);
        same += !strcmp(theirs, "takes") == !strcmp(ours, "taken");
        all++;
    }
    fclose(f);
    check(all && same * 100 >= all * 98, "%u of %u verdicts in %s are ptxas's", same, all, path);
    return all;
}

static int by_text(const void *a, const void *b) { return strcmp(a, b); }

static void read_seeds(void)
{
    FILE *census = fopen(CENSUS, "r");
    char opcode[LENGTH];
    if (!check(census, "%s can be read", CENSUS))
        return;
    while (nseed < MOST && fgets(opcode, sizeof opcode, census)) {
        opcode[strcspn(opcode, "\n")] = '\0';
        make_operands(opcode);
        if (strncmp(opcode, "call", 4) && strncmp(opcode, "br", 2))
            snprintf(seed[nseed++], TEXT, "%s %s", opcode, operands);
    }
    fclose(census);
    for (size_t k = 0; nseed < MOST && k < sizeof rare / sizeof rare[0]; k++)
        snprintf(seed[nseed++], TEXT, "%s", rare[k]);
    qsort(seed, nseed, sizeof seed[0], by_text);
}

int main(int argc, char **argv)
{
    const bool rewrite = argc > 1 && !strcmp(argv[1], "-u");
    const unsigned count = argc > 1 && !rewrite ? (unsigned)atoi(argv[1]) : 4000;
    unsigned good = 0, orders = 0;
    state = argc > 2 ? strtoull(argv[2], NULL, 0) * 2 + 1 : 88172645463325252;
    read_seeds();
    signal(SIGSEGV, name_mutant);
    signal(SIGABRT, name_mutant);
    signal(SIGFPE, name_mutant);
    if (rewrite)
        write_sample();
    check(check_sample(SAMPLE) == SAMPLED, "%u mutants are in the sample", SAMPLED);
    check_sample(OPERANDS);
    for (unsigned k = 0; k < count; k++) {
        draw_mutant(mutant, sizeof mutant);
        good += taken();
    }
    check(good && good < count, "%u of %u mutants are taken, and none ended the process", good, count);
    for (unsigned k = 0; k < nseed; k++)
        orders += walk(seed[k]);
    check(orders > nseed, "%u other orders of modifiers are the same instructions", orders);
    return check_end("mutants");
}
