/* Signatures of the map: `err(p z)` to letters, letters to C. */
#include <ctype.h>
#include <string.h>

#include "gen/map.h"

/* A letter that is not here cannot be traced, logged or converted, so the parser refuses it. */
static const struct letter letters[] = {
    {"void", "void", "void", NULL, 0, "VOID"},
    {"p", "void *", "void *", "%p", 0, "POINTER"},
    {"P", "const void *", "const void *", "%p", 0, "POINTER"},
    {"sym", "const void *", "const void *", "%p", 0, "SYMBOL"}, /* a device variable by its shadow on the host */
    {"s", "const char *", "const char *", "%s", 0, "STRING"},
    {"c", "char", "char", "%d", 0, "CHAR"},
    {"B", "unsigned char", "unsigned char", "%u", 0, "UNSIGNED"},
    {"H", "unsigned short", "unsigned short", "%u", 0, "UNSIGNED"},
    {"i", "int", "int", "%d", 0, "SIGNED"},
    {"n", "long", "int", "%d", 0, "SIGNED"}, /* a size that the MUSA side takes as int */
    {"u", "unsigned", "unsigned", "%u", 0, "UNSIGNED"},
    {"z", "size_t", "size_t", "%zu", 0, "UNSIGNED"},
    {"b", "size_t", "size_t", "%zu", 0, "LENGTH"},   /* bytes that the call moves; several: their product */
    {"b2", "size_t", "size_t", "%zu", 0, "LENGTH2"}, /* elements of two bytes */
    {"b4", "size_t", "size_t", "%zu", 0, "LENGTH4"},
    {"L", "long long", "long long", "%lld", 0, "SIGNED"},
    {"U", "unsigned long long", "unsigned long long", "%llu", 0, "UNSIGNED"},
    {"q", "unsigned long", "unsigned long", "%lu", 0, "UNSIGNED"},
    {"ci", "const int", "const int", "%d", 0, "SIGNED"},
    {"f", "float", "float", "%g", 0, "FLOAT"},
    {"d", "double", "double", "%g", 0, "DOUBLE"},
    {"D", "unsigned long long", "unsigned long long", "%#llx", 0, "ADDRESS"},
    {"dim3", "dim3", "dim3", "dim3", 12, "DIM3"},
    /* handles */
    {"st", "struct CUstream_st *", "struct MUstream_st *", "%p", 0, "STREAM"},
    {"ev", "struct CUevent_st *", "struct MUevent_st *", "%p", 0, "HANDLE"},
    {"ctx", "struct CUctx_st *", "struct MUctx_st *", "%p", 0, "HANDLE"},
    {"mod", "CUmodule", "struct MUmod_st *", "%p", 0, "HANDLE"},
    {"fn", "CUfunction", "struct MUfunc_st *", "%p", 0, "HANDLE"},
    {"lib", "CUlibrary", "void *", "%p", 0, "HANDLE"},
    {"ker", "CUkernel", "void *", "%p", 0, "HANDLE"},
    {"lnk", "CUlinkState", "void *", "%p", 0, "HANDLE"},
    {"arr", "void *", "struct MUarray_st *", "%p", 0, "ARRAY"},
    {"pool", "void *", "struct MUmemPoolHandle_st *", "%p", 0, "HANDLE"},
    {"gr", "void *", "struct MUgraph_st *", "%p", 0, "HANDLE"},
    {"gn", "void *", "struct MUgraphNode_st *", "%p", 0, "HANDLE"},
    {"gx", "void *", "struct MUgraphExec_st *", "%p", 0, "HANDLE"},
    {"b2d", "__typeof__(size_t (*)(int))", "__typeof__(size_t (*)(int))", "%p", 0, "POINTER"},
    /* structs that wrappers read through a pointer */
    {"config", "const cudaLaunchConfig_t", "musaLaunchConfig_t", NULL, 56, "BYTES"},
    {"cuconfig", "const CUlaunchConfig", "MUlaunchConfig", NULL, 56, "BYTES"},
    {"fattr", "cudaFuncAttributes", "musaFuncAttributes", NULL, 144, "BYTES"},
    {"pattr", "cudaPointerAttributes", "musaPointerAttributes", NULL, 88, "BYTES"},
    /* what a copy's struct says is read where it matters */
    {"cp3", "const void", "const void", NULL, 160, "COPY3D"},
    {"cp3peer", "const void", "const void", NULL, 176, "PEER3D"},
    {"cu2", "const void", "const void", NULL, 128, "CU_COPY2D"},
    {"cu3", "const void", "const void", NULL, 200, "CU_COPY3D"},
    /* structs by value: the size and the class of register decide how they travel */
    {"loc", "cudaMemLocation", "MUmemLocation", NULL, 8, "BYTES"},
    {"ext", "struct cumu_s24", "musaExtent", NULL, 24, "BYTES"},
    {"pitched", "struct cumu_s32", "musaPitchedPtr", NULL, 32, "BYTES"},
    {"chan", "struct cumu_s20", "musaChannelFormatDesc", NULL, 20, "BYTES"},
    {"ipcm", "struct cumu_s64", "musaIpcMemHandle_t", NULL, 64, "BYTES"},
    {"ipce", "struct cumu_s64", "musaIpcEventHandle_t", NULL, 64, "BYTES"},
    {"uid", "struct cumu_s128", "mcclUniqueId", NULL, 128, "BYTES"},
    {"S8", "struct cumu_s8", "struct cumu_s8", NULL, 8, "BYTES"},
    {"S12", "struct cumu_s12", "struct cumu_s12", NULL, 12, "BYTES"},
    {"S16", "struct cumu_s16", "struct cumu_s16", NULL, 16, "BYTES"},
    {"S20", "struct cumu_s20", "struct cumu_s20", NULL, 20, "BYTES"},
    {"S24", "struct cumu_s24", "struct cumu_s24", NULL, 24, "BYTES"},
    {"S32", "struct cumu_s32", "struct cumu_s32", NULL, 32, "BYTES"},
    {"S48", "struct cumu_s48", "struct cumu_s48", NULL, 48, "BYTES"},
    {"S64", "struct cumu_s64", "struct cumu_s64", NULL, 64, "BYTES"},
    {"S128", "struct cumu_s128", "struct cumu_s128", NULL, 128, "BYTES"},
    {"F8", "struct cumu_f8", "struct cumu_f8", NULL, 8, "FLOAT"},
    {"F16", "struct cumu_f16", "struct cumu_f16", NULL, 16, "DOUBLE"},
    {"M16", "struct cumu_m16", "struct cumu_m16", NULL, 16, "MIXED"},
};
static const struct letter enum_letter = {"e", "int", "int", "%d", 0, "ENUM"};
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

/* Is 0 of this enum a call's success? cusparseGetMatType answers with an enum that is no status. */
static bool tells_success(const struct enum_type *t)
{
    for (unsigned i = 0; i < t->rows.count; i++) {
        const char *name = t->rows.at[i].cuda;
        if (name && !t->rows.at[i].cuda_value && (strstr(name, "SUCCESS") || strstr(name, "Success")))
            return true;
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
    s->status = s->result.values && !s->result.stars && tells_success(s->result.values);
    return true;
}

const struct signature *parse_signature(struct arena *a, struct errors *e, struct place at, const char *symbol,
                                        const char *text, const struct types *types)
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

unsigned scalar_size(const struct value *v)
{
    static const struct {
        const char *type;
        unsigned size;
    } small[] = {{"char", 1},     {"unsigned char", 1}, {"unsigned short", 2}, {"int", 4},
                 {"unsigned", 4}, {"const int", 4},     {"float", 4},          {"void", 0}};
    for (unsigned i = 0; i < sizeof small / sizeof *small; i++)
        if (!strcmp(v->letter->cuda, small[i].type))
            return small[i].size;
    return v->letter->size ? v->letter->size : 8;
}

bool is_void(const struct value *v) { return v->letter == &letters[0] && !v->stars; }

const char *c_type(struct arena *a, const struct value *v, bool musa)
{
    const char *base = musa ? v->letter->musa : v->letter->cuda;
    char stars[16] = "";
    memset(stars, '*', v->stars);
    return arena_print(a, "%s%s%s", base, v->stars && base[strlen(base) - 1] != '*' ? " " : "", stars);
}

const char *c_parameters(struct arena *a, const struct signature *s, bool musa)
{
    const char *text = s->count ? "" : "void";
    for (unsigned i = 0; i < s->count; i++) {
        const char *type = c_type(a, &s->argument[i], musa);
        text = arena_print(a, "%s%s%s%sa%u", text, i ? ", " : "", type, type[strlen(type) - 1] == '*' ? "" : " ", i);
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
