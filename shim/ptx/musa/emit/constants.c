/* The MUSA emitter: the numbers that modifiers of emitted operations are made of. The prelude has no copy. */
#include "ptx/musa/emit/emit.h"
#include "ptx/lir/alu_aux.h"
#include "ptx/lir/matrix.h"

// clang-format off
static const struct { const char *name; uint32_t value; } constants[] = {
    {"FTZ", LIR_FTZ}, {"SAT", LIR_SAT}, {"NANPROP", LIR_NANPROP}, {"XORSIGN", LIR_XORSIGN}, {"RELU", LIR_RELU},
    {"RND_SHIFT", LIR_RND_SHIFT}, {"RZ", PTX_RZ}, {"RM", PTX_RM}, {"RP", PTX_RP}, {"RNA", PTX_RNA},
    {"RNI", PTX_RNI}, {"RZI", PTX_RZI}, {"RMI", PTX_RMI}, {"RPI", PTX_RPI},
    {"CMP_SHIFT", LIR_CMP_SHIFT}, {"BOOL_SHIFT", LIR_BOOL_SHIFT}, {"CMP_NOTC", LIR_CMP_NOTC},
    {"EQ", PTX_EQ}, {"NE", PTX_NE}, {"LT", PTX_LT}, {"LE", PTX_LE}, {"GT", PTX_GT}, {"GE", PTX_GE},
    {"EQU", PTX_EQU}, {"NEU", PTX_NEU}, {"LTU", PTX_LTU}, {"LEU", PTX_LEU}, {"GTU", PTX_GTU},
    {"GEU", PTX_GEU}, {"NUM", PTX_NUM},
    {"DST_SHIFT", LIR_CVT_DST_SHIFT}, {"SIGNED", LIR_CVT_DST_SIGNED}, {"CVT_RELU", LIR_CVT_RELU},
    {"SATFINITE", LIR_CVT_SATFINITE},
    {"A_ADD", PTX_SUB_ADD}, {"A_AND", PTX_SUB_AND}, {"A_OR", PTX_SUB_OR}, {"A_XOR", PTX_SUB_XOR},
    {"A_EXCH", PTX_SUB_EXCH}, {"A_CAS", PTX_SUB_CAS}, {"A_INC", PTX_SUB_INC}, {"A_DEC", PTX_SUB_DEC},
    {"A_MIN", PTX_SUB_MIN},
    {"B16", PTX_B16}, {"U16", PTX_U16}, {"U32", PTX_U32}, {"S32", PTX_S32}, {"B64", PTX_B64},
    {"U64", PTX_U64}, {"S64", PTX_S64}, {"TF32_", PTX_F32}, {"TF64_", PTX_F64}, {"TF16", PTX_F16},
    {"TF16X2", PTX_F16X2}, {"TBF16", PTX_BF16}, {"TBF16X2", PTX_BF16X2},
    {"SHFL_UP", PTX_SUB_UP}, {"SHFL_DOWN", PTX_SUB_DOWN}, {"SHFL_BFLY", PTX_SUB_BFLY},
    {"VOTE_ALL", PTX_SUB_ALL}, {"VOTE_ANY", PTX_SUB_ANY}, {"VOTE_BALLOT", PTX_SUB_BALLOT}
}, video[] = {
    {"V_ADD", LIR_VADD}, {"V_SUB", LIR_VSUB}, {"V_AVRG", LIR_VAVRG}, {"V_ABSDIFF", LIR_VABSDIFF},
    {"V_MIN", LIR_VMIN}, {"V_MAX", LIR_VMAX}, {"V_SHL", LIR_VSHL}, {"V_SHR", LIR_VSHR}, {"V_SET", LIR_VSET},
    {"V_DS", LIR_VIDEO_DS}, {"V_AS", LIR_VIDEO_AS}, {"V_BS", LIR_VIDEO_BS}, {"V_SAT", LIR_VIDEO_SAT},
    {"V_SECOND", LIR_VIDEO_SECOND}, {"V_PLUS", LIR_VIDEO_PLUS}, {"V_SECOND_MIN", LIR_VIDEO_MIN},
    {"V_WRAP", LIR_VIDEO_WRAP}, {"M_PO", LIR_VMAD_PO}, {"M_MINUS_AB", LIR_VMAD_MINUS_AB},
    {"M_MINUS_C", LIR_VMAD_MINUS_C}, {"M_SHR7", LIR_VMAD_SHR7}, {"M_SHR15", LIR_VMAD_SHR15}
}, packed[] = {
    {"PACKED_F16", LIR_PACKED_F16}, {"PACKED_BF16", LIR_PACKED_BF16}, {"PACKED_E5M2", LIR_PACKED_E5M2},
    {"PACKED_E2M1", LIR_PACKED_E2M1}, {"PACKED_UE8M0", LIR_PACKED_UE8M0},
    {"PACKED_S2F6", LIR_PACKED_S2F6}
}, matrix[] = {
#define LIR_MX(id, name, bits, product) {"MX_" #id, LIR_MX_##id},
#include "ptx/lir/matrix.def"
#undef LIR_MX
    {"MX_COL", LIR_MX_COL}, {"MX_COL_B", LIR_MX_COL_B}, {"MX_LIMIT", LIR_MX_SATFINITE}, {"MX_AND", LIR_MX_AND},
    {"MX_SPARSE", LIR_MX_SPARSE}, {"MX_SELECTOR", LIR_MX_SELECTOR_SHIFT},
};
// clang-format on

#define PUT(e, list) \
    for (size_t k = 0; k < sizeof(list) / sizeof(list)[0]; k++) \
    mu_put(e, "#define CM_%s %uu\n", (list)[k].name, (list)[k].value)

void mu_constants(struct mu_emit *e)
{
    PUT(e, constants);
    if (e->parts & MU_VIDEO)
        PUT(e, video);
    if (e->parts & MU_PACKED)
        PUT(e, packed);
    if (e->parts & MU_MATRIX)
        PUT(e, matrix);
}
