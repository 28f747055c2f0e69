/* Names and sizes of PTX types, and names of special registers. */
#include "ptx/front/front.h"

#include <string.h>

struct type_info {
    const char *name;
    uint8_t size, is_float, is_signed;
};

static const struct type_info types[PTX_NTYPES] = {
    [PTX_NONE] = {"none", 0, 0, 0},       [PTX_U8] = {"u8", 1, 0, 0},
    [PTX_U16] = {"u16", 2, 0, 0},         [PTX_U32] = {"u32", 4, 0, 0},
    [PTX_U64] = {"u64", 8, 0, 0},         [PTX_S8] = {"s8", 1, 0, 1},
    [PTX_S16] = {"s16", 2, 0, 1},         [PTX_S32] = {"s32", 4, 0, 1},
    [PTX_S64] = {"s64", 8, 0, 1},         [PTX_B8] = {"b8", 1, 0, 0},
    [PTX_B16] = {"b16", 2, 0, 0},         [PTX_B32] = {"b32", 4, 0, 0},
    [PTX_B64] = {"b64", 8, 0, 0},         [PTX_B128] = {"b128", 16, 0, 0},
    [PTX_F16] = {"f16", 2, 1, 1},         [PTX_F16X2] = {"f16x2", 4, 1, 1},
    [PTX_BF16] = {"bf16", 2, 1, 1},       [PTX_BF16X2] = {"bf16x2", 4, 1, 1},
    [PTX_TF32] = {"tf32", 4, 1, 1},       [PTX_F32] = {"f32", 4, 1, 1},
    [PTX_F64] = {"f64", 8, 1, 1},         [PTX_U16X2] = {"u16x2", 4, 0, 0},
    [PTX_S16X2] = {"s16x2", 4, 0, 1},     [PTX_E4M3X2] = {"e4m3x2", 2, 0, 0},
    [PTX_E5M2X2] = {"e5m2x2", 2, 0, 0},   [PTX_U4] = {"u4", 1, 0, 0},
    [PTX_S4] = {"s4", 1, 0, 1},           [PTX_B1] = {"b1", 1, 0, 0},
    [PTX_U2] = {"u2", 1, 0, 0},           [PTX_S2] = {"s2", 1, 0, 1},
    [PTX_F32X2] = {"f32x2", 8, 1, 1},     [PTX_E2M3X2] = {"e2m3x2", 2, 0, 0},
    [PTX_E3M2X2] = {"e3m2x2", 2, 0, 0},   [PTX_E2M1X2] = {"e2m1x2", 1, 0, 0},
    [PTX_UE8M0X2] = {"ue8m0x2", 2, 0, 0}, [PTX_E4M3X4] = {"e4m3x4", 4, 0, 0},
    [PTX_E5M2X4] = {"e5m2x4", 4, 0, 0},   [PTX_E2M3X4] = {"e2m3x4", 4, 0, 0},
    [PTX_E3M2X4] = {"e3m2x4", 4, 0, 0},   [PTX_E2M1X4] = {"e2m1x4", 2, 0, 0},
    [PTX_S2F6X2] = {"s2f6x2", 2, 0, 0},   [PTX_U8X4] = {"u8x4", 4, 0, 0},
    [PTX_S8X4] = {"s8x4", 4, 0, 1},       [PTX_PRED] = {"pred", 0, 0, 0},
    [PTX_TEXREF] = {"texref", 8, 0, 0},   [PTX_SAMPLERREF] = {"samplerref", 8, 0, 0},
    [PTX_SURFREF] = {"surfref", 8, 0, 0}};

const char *ptx_type_name(unsigned type) { return type < PTX_NTYPES ? types[type].name : "?"; }

unsigned ptx_type_size(unsigned type) { return type < PTX_NTYPES ? types[type].size : 0; }

bool ptx_type_is_float(unsigned type) { return type < PTX_NTYPES && types[type].is_float; }

bool ptx_type_is_signed(unsigned type) { return type < PTX_NTYPES && types[type].is_signed; }

unsigned ptx_type_kind(unsigned type)
{
    switch (type) {
    case PTX_B8:
    case PTX_B16:
    case PTX_B32:
    case PTX_B64:
    case PTX_B128: return PTX_KIND_BITS;
    case PTX_F16:
    case PTX_F16X2: return PTX_KIND_HALF;
    case PTX_F32:
    case PTX_F64: return PTX_KIND_FLOAT;
    default: return type >= PTX_U8 && type <= PTX_S64 ? PTX_KIND_INTEGER : 0;
    }
}

/* Bits hold any, integers integers of both signs, floats their own; a pair of halves is as good as bits but to other
 * floats. What instructions alone have, as bf16 and all packed types, is in registers of bits. */
bool ptx_type_holds(unsigned have, unsigned type)
{
    const unsigned a = ptx_type_kind(have), b = ptx_type_kind(type);
    if (have == PTX_PRED || type == PTX_PRED || a == PTX_KIND_BITS || b == PTX_KIND_BITS)
        return (have == PTX_PRED) == (type == PTX_PRED);
    if (have == PTX_F16X2 && (b == PTX_KIND_INTEGER || type == PTX_U16X2 || type == PTX_S16X2))
        return true;
    return have == type || (a == PTX_KIND_INTEGER && b == PTX_KIND_INTEGER);
}

bool ptx_type_mixes(unsigned a, unsigned b)
{
    const unsigned x = ptx_type_kind(a), y = ptx_type_kind(b);
    return ptx_type_size(a) == ptx_type_size(b) && (x == y || x == PTX_KIND_BITS || y == PTX_KIND_BITS);
}

bool ptx_type_is_address(unsigned type)
{
    return ptx_type_kind(type) & (PTX_KIND_BITS | PTX_KIND_INTEGER) && ptx_type_size(type) <= 8;
}

unsigned ptx_type_find(const char *s, size_t len)
{
    for (unsigned i = 1; i < PTX_NTYPES; i++)
        if (*types[i].name == *s && strlen(types[i].name) == len && !memcmp(types[i].name, s, len))
            return i;
    return PTX_NONE;
}

// clang-format off
static const char *const sregs[PTX_NSREGS] = {
    [PTX_SR_TID_X] = "%tid.x", "%tid.y", "%tid.z", "%ntid.x", "%ntid.y", "%ntid.z",
    "%ctaid.x", "%ctaid.y", "%ctaid.z", "%nctaid.x", "%nctaid.y", "%nctaid.z",
    [PTX_SR_LANEID] = "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid",
    [PTX_SR_LANEMASK_EQ] = "%lanemask_eq", "%lanemask_le", "%lanemask_lt", "%lanemask_ge",
    "%lanemask_gt",
    [PTX_SR_CLOCK] = "%clock", "%clock_hi", "%clock64", "%globaltimer", "%globaltimer_lo",
    "%globaltimer_hi",
    [PTX_SR_DYNAMIC_SMEM_SIZE] = "%dynamic_smem_size", "%total_smem_size",
    [PTX_SR_ENVREG0] = "%envreg0", "%envreg1", "%envreg2", "%envreg3", "%envreg4", "%envreg5",
    "%envreg6", "%envreg7", "%envreg8", "%envreg9", "%envreg10", "%envreg11", "%envreg12",
    "%envreg13", "%envreg14", "%envreg15", "%envreg16", "%envreg17", "%envreg18", "%envreg19",
    "%envreg20", "%envreg21", "%envreg22", "%envreg23", "%envreg24", "%envreg25", "%envreg26",
    "%envreg27", "%envreg28", "%envreg29", "%envreg30", "%envreg31",
    [PTX_SR_CLUSTERID_X] = "%clusterid.x", "%clusterid.y", "%clusterid.z", "%nclusterid.x",
    "%nclusterid.y", "%nclusterid.z", "%cluster_ctaid.x", "%cluster_ctaid.y", "%cluster_ctaid.z",
    "%cluster_nctaid.x", "%cluster_nctaid.y", "%cluster_nctaid.z",
    [PTX_SR_CLUSTER_CTARANK] = "%cluster_ctarank", "%cluster_nctarank", "%is_explicit_cluster",
    [PTX_SR_CURRENT_GRAPH_EXEC] = "%current_graph_exec", "%aggr_smem_size",
    [PTX_SR_RESERVED_SMEM_BEGIN] = "%reserved_smem_offset_begin", "%reserved_smem_offset_end",
    "%reserved_smem_offset_cap", "%reserved_smem_offset_0", "%reserved_smem_offset_1",
    [PTX_SR_PM0] = "%pm0", "%pm1", "%pm2", "%pm3", "%pm4", "%pm5", "%pm6", "%pm7",
    [PTX_SR_PM0_64] = "%pm0_64", "%pm1_64", "%pm2_64", "%pm3_64", "%pm4_64", "%pm5_64", "%pm6_64",
    "%pm7_64"
};
// clang-format on

const char *ptx_sreg_name(unsigned sreg) { return sreg < PTX_NSREGS ? sregs[sreg] : "?"; }

int ptx_sreg_find(const char *s, size_t len)
{
    for (int i = 0; i < PTX_NSREGS; i++)
        if (len > 1 && sregs[i][1] == s[1] && strlen(sregs[i]) == len && !memcmp(sregs[i], s, len))
            return i;
    return -1;
}
