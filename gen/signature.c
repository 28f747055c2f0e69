/* Signatures of the map: `err(p z)` to letters, letters to C. */
#include <ctype.h>
#include <string.h>

#include "gen/map.h"

/* A letter that is not here cannot be traced, logged or converted, so the parser refuses it. */
static const struct letter letters[] = {
    {"void", "void", "void", NULL, 0},
    {"p", "void *", "void *", "%p", 0},
    {"P", "const void *", "const void *", "%p", 0},
    {"s", "const char *", "const char *", "%s", 0},
    {"c", "char", "char", "%d", 0},
    {"B", "unsigned char", "unsigned char", "%u", 0},
    {"H", "unsigned short", "unsigned short", "%u", 0},
    {"i", "int", "int", "%d", 0},
    {"n", "long", "int", "%d", 0}, /* a size that the MUSA side takes as int */
    {"u", "unsigned", "unsigned", "%u", 0},
    {"z", "size_t", "size_t", "%zu", 0},
    {"L", "long long", "long long", "%lld", 0},
    {"U", "unsigned long long", "unsigned long long", "%llu", 0},
    {"q", "unsigned long", "unsigned long", "%lu", 0},
    {"ci", "const int", "const int", "%d", 0},
    {"f", "float", "float", "%g", 0},
    {"d", "double", "double", "%g", 0},
    {"D", "unsigned long long", "unsigned long long", "%#llx", 0},
    {"dim3", "dim3", "dim3", "dim3", 12},
    /* handles */
    {"st", "struct CUstream_st *", "struct MUstream_st *", "%p", 0},
    {"ev", "struct CUevent_st *", "struct MUevent_st *", "%p", 0},
    {"ctx", "struct CUctx_st *", "struct MUctx_st *", "%p", 0},
    {"mod", "CUmodule", "struct MUmod_st *", "%p", 0},
    {"fn", "CUfunction", "struct MUfunc_st *", "%p", 0},
    {"lib", "CUlibrary", "void *", "%p", 0},
    {"ker", "CUkernel", "void *", "%p", 0},
    {"lnk", "CUlinkState", "void *", "%p", 0},
    {"arr", "void *", "struct MUarray_st *", "%p", 0},
    {"pool", "void *", "struct MUmemPoolHandle_st *", "%p", 0},
    {"gr", "void *", "struct MUgraph_st *", "%p", 0},
    {"gn", "void *", "struct MUgraphNode_st *", "%p", 0},
    {"gx", "void *", "struct MUgraphExec_st *", "%p", 0},
    {"b2d", "__typeof__(size_t (*)(int))", "__typeof__(size_t (*)(int))", "%p", 0},
    /* structs that wrappers read through a pointer */
    {"config", "const cudaLaunchConfig_t", "musaLaunchConfig_t", NULL, 56},
    {"cuconfig", "const CUlaunchConfig", "MUlaunchConfig", NULL, 56},
    {"fattr", "cudaFuncAttributes", "musaFuncAttributes", NULL, 144},
    {"pattr", "cudaPointerAttributes", "musaPointerAttributes", NULL, 88},
    /* structs by value: the size and the class of register decide how they travel */
    {"loc", "cudaMemLocation", "MUmemLocation", NULL, 8},
    {"ext", "struct cumu_s24", "musaExtent", NULL, 24},
    {"pitched", "struct cumu_s32", "musaPitchedPtr", NULL, 32},
    {"chan", "struct cumu_s20", "musaChannelFormatDesc", NULL, 20},
    {"ipcm", "struct cumu_s64", "musaIpcMemHandle_t", NULL, 64},
    {"ipce", "struct cumu_s64", "musaIpcEventHandle_t", NULL, 64},
    {"uid", "struct cumu_s128", "mcclUniqueId", NULL, 128},
    {"S8", "struct cumu_s8", "struct cumu_s8", NULL, 8},
    {"S12", "struct cumu_s12", "struct cumu_s12", NULL, 12},
    {"S16", "struct cumu_s16", "struct cumu_s16", NULL, 16},
    {"S20", "struct cumu_s20", "struct cumu_s20", NULL, 20},
    {"S24", "struct cumu_s24", "struct cumu_s24", NULL, 24},
    {"S32", "struct cumu_s32", "struct cumu_s32", NULL, 32},
    {"S64", "struct cumu_s64", "struct cumu_s64", NULL, 64},
    {"S128", "struct cumu_s128", "struct cumu_s128", NULL, 128},
    {"F8", "struct cumu_f8", "struct cumu_f8", NULL, 8},
    {"F16", "struct cumu_f16", "struct cumu_f16", NULL, 16},
    {"M16", "struct cumu_m16", "struct cumu_m16", NULL, 16},
};
static const struct letter enum_letter = {"e", "int", "int", "%d", 0};
enum { LETTERS = sizeof letters / sizeof *letters };

static bool parse_value(struct value *v, const char *word, const struct types *types)
{
    while (*word == '*' && v->stars < 8) {
        v->stars++;
        word++;
    }
    if (!strncmp(word, "e.", 2)) {
        v->letter = &enum_letter;
        v->values = find_enum(types, word + 2);
        return v->values != NULL;
    }
    for (unsigned i = 0; i < LETTERS; i++)
        if (!strcmp(letters[i].name, word)) {
            v->letter = &letters[i];
            return i > 0 || !v->stars;
        }
    return false;
}

static bool parse_result(struct signature *s, const char *word, const struct types *types)
{
    static const struct {
        const char *name, *type;
    } codes[] = {{"err", "cudaError"}, {"res", "CUresult"}};
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++)
        if (!strcmp(word, codes[i].name)) {
            s->result = (struct value){&enum_letter, find_enum(types, codes[i].type), 0};
            s->status = true;
            return true;
        }
    if (!parse_value(&s->result, word, types))
        return false;
    s->status = s->result.values && !s->result.stars;
    return true;
}

const struct signature *parse_signature(struct arena *a, struct errors *e, struct place at,
                                        const char *symbol, const char *text,
                                        const struct types *types)
{
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open || close[1]) {
        error_at(e, at, symbol, "bad signature `%s'; expected RESULT(LETTERS)", text);
        return NULL;
    }
    struct signature *s = arena_alloc(a, sizeof *s);
    s->text = text;
    bool good = true;
    const char *result = arena_copy(a, text, (size_t)(open - text));
    if (!parse_result(s, result, types)) {
        error_at(e, at, symbol,
                 "unknown result `%s' in signature; expected err, res, void, e.ENUM or "
                 "a letter of gen/README.md",
                 result);
        good = false;
    }
    for (const char *p = open + 1; p < close;) {
        while (p < close && isspace((unsigned char)*p))
            p++;
        const char *start = p;
        while (p < close && !isspace((unsigned char)*p))
            p++;
        if (p == start)
            break;
        const char *word = arena_copy(a, start, (size_t)(p - start));
        struct value v = {0};
        if (!parse_value(&v, word, types) || is_void(&v)) {
            error_at(e, at, symbol,
                     "unknown letter `%s' in signature; expected e.ENUM of mapping/types "
                     "or a letter of gen/README.md",
                     word);
            good = false;
        } else if (s->count == ARGUMENTS) {
            error_at(e, at, symbol, "too many arguments; expected at most %d", ARGUMENTS);
            return NULL;
        } else {
            s->argument[s->count++] = v;
        }
    }
    return good ? s : NULL;
}

bool narrowed(const struct value *v)
{
    return !v->stars && !strcmp(v->letter->cuda, "long") && !strcmp(v->letter->musa, "int");
}

bool is_void(const struct value *v)
{
    return v->letter == &letters[0] && !v->stars;
}

const char *c_type(struct arena *a, const struct value *v, bool musa)
{
    const char *base = musa ? v->letter->musa : v->letter->cuda;
    char stars[16] = "";
    memset(stars, '*', v->stars);
    return arena_print(a, "%s%s%s", base, v->stars && base[strlen(base) - 1] != '*' ? " " : "",
                       stars);
}

const char *c_parameters(struct arena *a, const struct signature *s, bool musa)
{
    const char *text = s->count ? "" : "void";
    for (unsigned i = 0; i < s->count; i++) {
        const char *type = c_type(a, &s->argument[i], musa);
        text = arena_print(a, "%s%s%s%sa%u", text, i ? ", " : "", type,
                           type[strlen(type) - 1] == '*' ? "" : " ", i);
    }
    return text;
}

const char *c_arguments(struct arena *a, const struct signature *s)
{
    const char *text = "";
    for (unsigned i = 0; i < s->count; i++)
        text = arena_print(a, "%s%sa%u", text, i ? ", " : "", i);
    return text;
}
