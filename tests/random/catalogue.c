/* Every spelling of an arithmetic instruction that tier 0 takes, from templates whose {a,b} groups
 * are expanded in all combinations. */
#include <string.h>

#include "ptx/front/front.h"
#include "ptx/lir/lir.h"
#include "random/random.h"

#define I6 "{u16,s16,u32,s32,u64,s64}"
#define INTS "{u8,s8,u16,s16,u32,s32,u64,s64}"
#define WORDS "{u16,s16,u32,s32,u64,s64}"
#define B3 "{b16,b32,b64}"
#define HALVES "{f16,f16x2,bf16,bf16x2}"
#define RND "{,.rn,.rz,.rm,.rp}"
#define US "{u32,s32}"
#define ORDERED "{eq,ne,lt,le,gt,ge}"
#define FLOATCMP "{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}"
#define LOGIC "{,.and,.or,.xor}"
#define PLUS "{,.add,.min,.max}"

static const char *const templates[] = {
    "{add,sub}." I6,
    "{add,sub}.sat.s32",
    "add.{u16x2,s16x2}",
    "{neg,abs}.{s16,s32,s64}",
    "{min,max}." I6,
    "{min,max}.relu.s32",
    "{min,max}{,.relu}.s16x2",
    "{min,max}.u16x2",
    "{mul,mad}.{lo,hi}." I6,
    "mad.hi.sat.s32",
    "{mul,mad}.wide.{u16,s16,u32,s32}",
    "{mul24,mad24}.{lo,hi}." US,
    "mad24.hi.sat.s32",
    "{sad,div,rem}." I6,
    "{addc,subc}{,.cc}.{u32,s32,u64,s64}",
    "madc.{lo,hi}{,.cc}.{u32,s32,u64,s64}",
    "{and,or,xor}." B3,
    "{and,or,xor}.pred",
    "{not,cnot}." B3,
    "not.pred",
    "shl." B3,
    "shr.{b16,b32,b64,u16,s16,u32,s32,u64,s64}",
    "{popc,clz,brev}.{b32,b64}",
    "bfi.{b32,b64}",
    "bfe.{u32,s32,u64,s64}",
    "fns.b32",
    "selp.{b16,b32,b64,u16,s32,u64}",
    "selp.{f32,f64}",
    "slct.{b16,b32,b64,f32,f64}.{s32,f32}",
    "slct.ftz.{b32,f32}.f32",
    "lop3.b32",
    "shf.{l,r}.{clamp,wrap}.b32",
    "prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16}",
    "bfind{,.shiftamt}.{u32,s32,u64,s64}",
    "bmsk.{clamp,wrap}.b32",
    "szext.{clamp,wrap}." US,
    "dp4a." US "." US,
    "dp2a.{lo,hi}." US "." US,
    "testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}",
    "setp." ORDERED LOGIC ".{u16,s16,u32,s32,u64,s64}",
    "setp.{eq,ne}" LOGIC ".{b16,b32,b64}",
    "setp.{lo,ls,hi,hs}.{u16,u32,u64}",
    "setp." FLOATCMP LOGIC "{,.ftz}.f32",
    "setp." FLOATCMP LOGIC ".f64",
    "setp." FLOATCMP "{,.ftz}.{f16,f16x2}",
    "setp." FLOATCMP ".{bf16,bf16x2}",
    "set." ORDERED LOGIC ".{u32,s32,f32}.{u32,s32,u64,s64,u16,s16}",
    "set." FLOATCMP LOGIC "{,.ftz}.{u32,s32,f32}.f32",
    "set." FLOATCMP ".{u32,s32,f32}.f64",
    "set." FLOATCMP "{,.ftz}.{f16,u16}.f16",
    "set." FLOATCMP ".f16x2.f16x2",
    "{add,sub,mul}" RND "{,.ftz}{,.sat}.f32",
    "{add,sub,mul}" RND ".f64",
    "fma{.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32",
    "{fma,mad}{.rn,.rz,.rm,.rp}.f64",
    "mad{.rn,.rz}{,.ftz}{,.sat}.f32",
    "div{.rn,.rz,.rm,.rp,.approx,.full}{,.ftz}.f32",
    "{rcp,sqrt}{.rn,.rz,.rm,.rp,.approx}{,.ftz}.f32",
    "{div,rcp,sqrt}{.rn,.rz,.rm,.rp}.f64",
    "rsqrt.approx{,.ftz}.{f32,f64}",
    "rcp.approx.ftz.f64",
    "{abs,neg}{,.ftz}.f32",
    "{abs,neg}.f64",
    "{min,max}{,.ftz}{,.NaN}.f32",
    "{min,max}{,.ftz}{,.NaN}.xorsign.abs.f32",
    "{min,max}.f64",
    "copysign.{f32,f64}",
    "{sin,cos,lg2,ex2}.approx{,.ftz}.f32",
    "tanh.approx.f32",
    "{add,sub,mul}{,.rn}{,.ftz}{,.sat}.{f16,f16x2}",
    "{add,sub,mul}.rn.{bf16,bf16x2}",
    "fma.rn{,.ftz}{,.sat,.relu}.{f16,f16x2}",
    "fma.rn{,.relu}.{bf16,bf16x2}",
    "{abs,neg}." HALVES,
    "{min,max}{,.ftz}{,.NaN}.{f16,f16x2}",
    "{min,max}{,.NaN}.{bf16,bf16x2}",
    "{min,max}.xorsign.abs.{f16,bf16}",
    "ex2.approx.{f16,f16x2}",
    "ex2.approx.ftz.{bf16,bf16x2}",
    "tanh.approx." HALVES,
    "cvt." INTS "." INTS,
    "cvt.sat.u8.{s8,u16,s16,u32,s32,u64,s64}",
    "cvt.sat.u16.{s8,s16,u32,s32,u64,s64}",
    "cvt.sat.u32.{s8,s16,s32,u64,s64}",
    "cvt.sat.u64.{s8,s16,s32,s64}",
    "cvt.sat.s8.{u8,u16,s16,u32,s32,u64,s64}",
    "cvt.sat.s16.{u16,u32,s32,u64,s64}",
    "cvt.sat.s32.{u32,u64,s64}",
    "cvt.sat.s64.u64",
    "cvt.{rni,rzi,rmi,rpi}{,.ftz}{,.sat}." INTS ".f32",
    "cvt.{rni,rzi,rmi,rpi}{,.sat}." INTS ".{f16,f64}",
    "cvt.{rni,rzi,rmi,rpi}." WORDS ".bf16",
    "cvt.{rn,rz,rm,rp}{,.sat}.{f16,f32,f64}." INTS,
    "cvt.rn.bf16." WORDS,
    "cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32.f64",
    "cvt{,.ftz}{,.sat}.f64.f32",
    "cvt{,.ftz}{,.sat}.f32.f16",
    "cvt{,.sat}.f64.f16",
    "cvt.f32.bf16",
    "cvt.{rn,rz}{,.ftz}{,.sat}.f16.f32",
    "cvt.{rn,rz}{,.relu}.f16.f32",
    "cvt.{rn,rz,rm,rp}{,.sat}.f16.f64",
    "cvt.{rn,rz}{,.relu}.bf16.f32",
    "cvt{,.rni,.rzi,.rmi,.rpi}{,.ftz}{,.sat}.f32.f32",
    "cvt{,.rni,.rzi,.rmi,.rpi}{,.sat}.f64.f64",
    "cvt{,.rni,.rzi,.rmi,.rpi}{,.sat}.f16.f16",
    "cvt.{rn,rz}{,.relu}.{f16x2,bf16x2}.f32",
    "cvt.rna.tf32.f32",
    "cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f32",
    "cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2",
    "cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2}",
    "cvt.pack.sat.{u16,s16}." US,
    "cvt.pack.sat.{u8,s8,u4,s4,u2,s2}." US ".b32",
    "{vadd,vsub,vabsdiff,vmin,vmax}." US "." US "." US "{,.sat}" PLUS,
    "{vshl,vshr}." US "." US ".u32{,.sat}{.clamp,.wrap}" PLUS,
    "{vadd2,vsub2,vabsdiff2,vmin2,vmax2,vadd4,vsub4,vabsdiff4,vmin4,vmax4}." US "." US "." US "{,.sat,.add}",
    "{vavrg2,vavrg4}." US "." US "." US "{,.add}",
    "vset." US "." US "." ORDERED PLUS,
    "{vset2,vset4}." US "." US "." ORDERED "{,.add}",
    "vmad." US "." US "." US "{,.po}{,.sat}{,.shr7,.shr15}",
    "set." FLOATCMP ".{u32,s32}.{f16x2,bf16x2}",
    "set.{eq,lt,geu,nan}{.and,.or,.xor}{,.ftz}.{f16,u32,s16}.f16",
    "set.{eq,lt}.{f16,bf16}." I6,
    "cvt.{rn,rz}{,.relu}{,.satfinite}.tf32.f32",
    "cvt.{rn,rz,rm,rp}.bf16." WORDS,
    "cvt.{rn,rz}{,.satfinite}{,.relu}.{f16x2,bf16x2}.f32",
    "cvt{,.rn,.rz,.rm,.rp}.{f32,f64}.bf16",
    "{add,sub,mul}.sat.f32",
    "{min,max}.ftz{,.NaN}.xorsign.abs.f16",
};

enum { MOST = 9000 };
static struct opcode list[MOST];
static char names[MOST * 40];
static unsigned count, bad;
static size_t used;

static void take(const char *text)
{
    struct ptx_diag diag = {0};
    struct ptx_ctx ctx = {.diag = &diag};
    struct ptx_opcode oc;
    struct lir_insn insn;
    size_t n = strlen(text) + 1;
    if (count == MOST || used + n > sizeof names)
        return;
    if (setjmp(ctx.out)) {
        bad++;
        return;
    }
    ptx_decode(&ctx, text, n - 1, 1, &oc);
    struct ptx_instr probe = oc.in; /* with operands as far as selection asks for them */
    for (const char *s = oc.sig; *s && *s != '?'; s++) {
        if (strchr("DPSQJIKWCMEV", *s))
            probe.ndst++;
        else
            probe.src[probe.nsrc++].kind = PTX_O_REG;
    }
    if (probe.op == PTX_OP_LOP3)
        probe.src[3].kind = PTX_O_IMM;
    if ((probe.op == PTX_OP_CVT && probe.type[2]) || ((probe.op == PTX_OP_SETP || probe.op == PTX_OP_SET) && probe.sub))
        probe.nsrc = 3;
    if (!lir_select_alu(&probe, &insn)) {
        bad++;
        return;
    }
    oc.in.opcode = NULL;
    list[count++] = (struct opcode){memcpy(names + used, text, n), oc.sig, oc.in, reference_knows(&oc.in)};
    used += n;
}

static void expand(const char *prefix, const char *rest)
{
    char text[128];
    const char *open = strchr(rest, '{'), *close = open ? strchr(open, '}') : NULL;
    if (!open) {
        snprintf(text, sizeof text, "%s%s", prefix, rest);
        take(text);
        return;
    }
    for (const char *p = open + 1; p <= close; p++) {
        const char *end = p + strcspn(p, ",}");
        snprintf(text, sizeof text, "%s%.*s%.*s", prefix, (int)(open - rest), rest, (int)(end - p), p);
        expand(text, close + 1);
        p = end;
    }
}

const struct opcode *catalogue(unsigned *n, unsigned *refused)
{
    if (!count)
        for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++)
            expand("", templates[i]);
    *n = count;
    *refused = bad;
    return list;
}
