/* Calls: parameters and results, recursion, function pointers, device runtime functions. */
#include "tier0/kernels.h"

#define CALLER(functions, body) HEAD functions ENTRY("k") body END

/* two calls in divergent code, a structure by value, a result of 64 bits */
static const char plain[] = CALLER(
    ".func (.param .b64 r) mix(.param .align 8 .b8 s[16], .param .b32 x, .param .b8 c)\n{\n"
    ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .b16 %h<3>;\n"
    "ld.param.u32 %r1, [s]; ld.param.u64 %rd1, [s+8]; ld.param.u32 %r2, [x]; ld.param.s8 %h1, [c];\n"
    "cvt.s64.s16 %rd4, %h1; mul.wide.u32 %rd2, %r1, %r2; add.s64 %rd3, %rd2, %rd1; add.s64 %rd3, %rd3, %rd4;\n"
    "st.param.b64 [r], %rd3; ret;\n}\n",
    "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 0; mov.u32 %r3, 11; @%p1 mov.u32 %r3, 13;\n"
    "@%p1 bra X;\n"
    "{ .param .align 8 .b8 a[16]; .param .b32 b; .param .b8 c; .param .b64 v;\n"
    "st.param.u32 [a], %r1; cvt.u64.u32 %rd5, %r3; st.param.u64 [a+8], %rd5; st.param.u32 [b], 7;\n"
    "mov.u16 %h1, 0xfffe; st.param.b8 [c], %h1;\n"
    "call.uni (v), mix, (a, b, c); ld.param.u64 %rd6, [v]; }\n"
    "bra E;\n"
    "X: { .param .align 8 .b8 a[16]; .param .b32 b; .param .b8 c; .param .b64 v;\n"
    "st.param.u32 [a], %r1; cvt.u64.u32 %rd5, %r3; st.param.u64 [a+8], %rd5; st.param.u32 [b], 9;\n"
    "mov.u16 %h1, 1; st.param.b8 [c], %h1;\n"
    "call (v), mix, (a, b, c); ld.param.u64 %rd6, [v]; }\n"
    "E: cvt.u32.u64 %r4, %rd6; " STORE("%r4"));
static uint32_t plain_want(uint32_t i) { return i & 1 ? i * 7 + 11 - 2 : i * 9 + 13 + 1; }

#define FIB \
    ".func (.param .b32 r) fib(.param .b32 n)\n{\n" \
    ".reg .pred %p<2>; .reg .b32 %r<9>; .local .align 4 .b8 pad[8]; .reg .b64 %rd<3>;\n" \
    "ld.param.u32 %r1, [n]; mov.u64 %rd1, pad; st.local.u32 [%rd1+4], %r1;\n" \
    "setp.lt.u32 %p1, %r1, 2; @%p1 bra S;\n" \
    "sub.u32 %r2, %r1, 1; { .param .b32 a; .param .b32 v; st.param.b32 [a], %r2;\n" \
    "call (v), fib, (a); ld.param.b32 %r3, [v]; }\n" \
    "ld.local.u32 %r1, [%rd1+4]; sub.u32 %r4, %r1, 2;\n" \
    "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r4; call (v), fib, (a);\n" \
    "ld.param.b32 %r5, [v]; } add.u32 %r1, %r3, %r5;\n" \
    "S: st.param.b32 [r], %r1; ret;\n}\n"

/* every lane its own depth */
static const char recursion[] = CALLER(FIB,
                                       "and.b32 %r2, %r1, 15; { .param .b32 a; .param .b32 v; st.param.b32 [a], %r2;\n"
                                       "call (v), fib, (a); ld.param.b32 %r3, [v]; }\n" STORE("%r3"));
static uint32_t recursion_want(uint32_t i)
{
    uint32_t a = 0, b = 1;
    for (uint32_t n = i & 15; n; n--) {
        uint32_t c = a + b;
        a = b;
        b = c;
    }
    return a;
}

/* lanes leave a loop after different numbers of calls, which all give the same */
static const char rounds[] = CALLER(
    ".func (.param .b32 r) same(.param .b32 x) { .reg .b32 %r<3>; ld.param.u32 %r1, [x];\n"
    "st.param.b32 [r], %r1; ret; }\n",
    "ld.global.u32 %r2, [%rd1]; mov.u32 %r3, 0; mov.u32 %r4, 7; setp.eq.u32 %p2, %r2, 5; @%p2 bra X;\n"
    "L: { .param .b32 a; .param .b32 v; st.param.b32 [a], %r2; call (v), same, (a); ld.param.b32 %r4, [v]; }\n"
    "setp.eq.u32 %p2, %r2, 6; @%p2 bra X;\n"
    "add.s32 %r3, %r3, 1; and.b32 %r5, %r1, 3; setp.le.u32 %p1, %r3, %r5; @%p1 bra L;\n"
    "X: " STORE("%r4"));
static uint32_t rounds_want(uint32_t i) { return in[i]; }

/* a table of functions in global memory; .reg parameters; lanes call different ones */
static const char indirect[] = CALLER(
    ".func (.reg .b32 r) twice(.reg .b32 x) { add.u32 r, x, x; ret; }\n"
    ".func (.reg .b32 r) square(.reg .b32 x) { mul.lo.u32 r, x, x; ret; }\n"
    ".func (.reg .b32 r) third(.reg .b32 x) { add.u32 r, x, 1000; ret; }\n"
    ".global .align 8 .u64 tab[3] = {twice, square, third};\n",
    "rem.u32 %r2, %r1, 3; mul.wide.u32 %rd5, %r2, 8; mov.u64 %rd6, tab; add.s64 %rd6, %rd6, %rd5;\n"
    "ld.global.u64 %rd7, [%rd6]; P: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
    "call (%r3), %rd7, (%r1), P; " STORE("%r3"));
static uint32_t indirect_want(uint32_t i)
{
    uint32_t t = i;
    return t % 3 == 0 ? t * 2 : t % 3 == 1 ? t * t : t + 1000;
}

/* a pointer made by mov, called under a guard */
static const char pointer[] = CALLER(
    ".func (.param .b32 r) inc(.param .b32 x) { .reg .b32 %r<3>; ld.param.u32 %r1, [x];\n"
    "add.u32 %r1, %r1, 1; st.param.b32 [r], %r1; ret; }\n",
    "mov.u64 %rd5, inc; setp.gt.u32 %p1, %r1, 9; mov.u32 %r3, 5; P: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
    "{ .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; st.param.b32 [v], 5; @%p1 call (v), %rd5, (a), P;\n"
    "ld.param.b32 %r3, [v]; }\n" STORE("%r3"));
static uint32_t pointer_want(uint32_t i) { return i > 9 ? i + 1 : 5; }

/* exit inside a function, and threads that go on */
static const char leaves[] = CALLER(
    ".func maybe(.param .b32 x) { .reg .pred %p<2>; .reg .b32 %r<3>; ld.param.u32 %r1, [x];\n"
    "setp.lt.u32 %p1, %r1, 20; @%p1 exit; ret; }\n",
    STORE("%r1") "{ .param .b32 a; st.param.b32 [a], %r1; call maybe, (a); }\n"
                 "bar.sync 0; mov.u32 %r2, 777; " STORE("%r2"));
static uint32_t leaves_want(uint32_t i) { return i < 20 ? i : 777; }

#define VPRINTF ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
static const char print[] = CALLER(
    VPRINTF ".global .align 1 .b8 fmt[64] = \"%d|%5u|%-6x|%c|%s|%8.3f|%lld|%g|%p|%%|%+d|%*d\";\n"
            ".global .align 1 .b8 str[6] = \"hello\";\n",
    "setp.ne.u32 %p1, %r1, 3; @%p1 ret; .local .align 8 .b8 buf[96]; mov.u64 %rd5, buf;\n"
    "cvta.local.u64 %rd6, %rd5; mov.u32 %r2, -7; st.local.u32 [%rd5], %r2; mov.u32 %r2, 42;\n"
    "st.local.u32 [%rd5+4], %r2; mov.u32 %r2, 48879; st.local.u32 [%rd5+8], %r2; mov.u32 %r2, 65;\n"
    "st.local.u32 [%rd5+12], %r2; mov.u64 %rd7, str; cvta.global.u64 %rd7, %rd7;\n"
    "st.local.u64 [%rd5+16], %rd7; mov.f64 %d1, 0d400921FB54442D18; st.local.f64 [%rd5+24], %d1;\n"
    "mov.u64 %rd8, -1234567890123; st.local.u64 [%rd5+32], %rd8; mov.f64 %d2, 0d3EB0C6F7A0B5ED8D;\n"
    "st.local.f64 [%rd5+40], %d2; mov.u64 %rd8, 4096; st.local.u64 [%rd5+48], %rd8; mov.u32 %r2, 9;\n"
    "st.local.u32 [%rd5+56], %r2; st.local.u32 [%rd5+60], 6; st.local.u32 [%rd5+64], %r2;\n"
    "mov.u64 %rd9, fmt; cvta.global.u64 %rd9, %rd9;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 v; st.param.b64 [a], %rd9; st.param.b64 [b], %rd6;\n"
    "call (v), vprintf, (a, b); ld.param.b32 %r3, [v]; }\n" STORE("%r3"));

/* some lanes leave in a call that stands before an atomic, in a block that not all lanes run */
static const char leaves_early[] = CALLER(
    ".shared .align 4 .b8 cell[256];\n"
    ".func odd_leave(.param .b32 x) { .reg .pred %p<2>; .reg .b32 %r<3>; ld.param.u32 %r1, [x];\n"
    "and.b32 %r2, %r1, 1; setp.eq.u32 %p1, %r2, 1; @%p1 exit; ret; }\n",
    "mul.lo.u32 %r5, %r1, 37; and.b32 %r5, %r5, 63; mov.u32 %r6, cell; mad.lo.u32 %r5, %r5, 4, %r6;\n"
    "st.shared.u32 [%r5], %r1;\n"
    "setp.ge.u32 %p1, %r1, 20; @%p1 bra E; " STORE(
        "%r1") "{ .param .b32 a; st.param.b32 [a], %r1;\n"
               "call odd_leave, (a); } atom.shared.add.u32 %r2, [%r5], 100; add.u32 %r2, %r2, 100; " STORE(
                   "%r2") "E:\n");
static uint32_t leaves_early_want(uint32_t i) { return i % 64 >= 20 ? 0xeeeeeeee : i & 1 ? i : i + 100; }

static void printing(void)
{
    char want[200];
    snprintf(want, sizeof want, "%d|%5u|%-6x|%c|%s|%8.3f|%lld|%g|%p|%%|%+d|%*d", -7, 42u, 48879u, 65, "hello",
             3.141592653589793, -1234567890123ll, 1e-6, (void *)4096, 9, 6, 9);
    if (!run(print, 1, 32, NULL))
        return;
    check(!strcmp(t0t_printed, want) && out[3] == 11, "printf: %s", t0t_printed);
}

#define ALLOC ".extern .func (.param .b64 r) malloc(.param .b64 n); .extern .func free(.param .b64 p);\n"
static const char heap[] = CALLER(
    ALLOC, "cvt.u64.u32 %rd5, %r1; add.u64 %rd5, %rd5, 8;\n"
           "{ .param .b64 a; .param .b64 v; st.param.b64 [a], %rd5; call (v), malloc, (a); ld.param.b64 %rd6, [v]; }\n"
           "st.u32 [%rd6+4], %r1; setp.eq.s64 %p1, %rd6, 0; ld.u32 %r2, [%rd6+4];\n"
           "{ .param .b64 a; st.param.b64 [a], %rd6; call free, (a); }\n"
           "mov.u64 %rd5, 0x100000000000; { .param .b64 a; .param .b64 v; st.param.b64 [a], %rd5;\n"
           "call (v), malloc, (a); ld.param.b64 %rd7, [v]; }\n"
           "setp.eq.s64 %p2, %rd7, 0; @%p2 add.u32 %r2, %r2, 5; " STORE("%r2"));
static uint32_t heap_want(uint32_t i) { return i + 5; }

static const char assertion[] = CALLER(
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
    ".global .align 1 .b8 msg[6] = \"x > 0\"; .global .align 1 .b8 file[5] = \"a.cu\";\n"
    ".global .align 1 .b8 fn[2] = \"f\";\n",
    "setp.ne.u32 %p1, %r1, 21; @%p1 bra E;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
    "mov.u64 %rd5, msg; cvta.global.u64 %rd5, %rd5; st.param.b64 [a], %rd5;\n"
    "mov.u64 %rd5, file; st.param.b64 [b], %rd5; st.param.b32 [c], 17; mov.u64 %rd5, fn;\n"
    "st.param.b64 [d], %rd5; st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); }\n"
    "E: " STORE("%r1"));

/* Every third thread claims, in a function and in a branch; the others meet at a barrier and write. Then one
 * waits for what another, which has claimed, would have written. */
static const char claims[] = CALLER(
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"
    ".global .align 1 .b8 msg[6] = \"x > 0\"; .global .align 1 .b8 file[5] = \"a.cu\";\n"
    ".global .align 1 .b8 fn[2] = \"f\"; .global .u32 flag;\n"
    ".func claim(.param .b32 x) { .reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<6>; ld.param.u32 %r1, [x];\n"
    "setp.ne.u32 %p1, %r1, 0; @%p1 bra F;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
    "mov.u64 %rd5, msg; st.param.b64 [a], %rd5;\n"
    "mov.u64 %rd5, file; st.param.b64 [b], %rd5; st.param.b32 [c], 17; mov.u64 %rd5, fn;\n"
    "st.param.b64 [d], %rd5; st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); }\n"
    "F: ret; }\n",
    "rem.u32 %r2, %r1, 3; setp.eq.u32 %p1, %r2, 1; @%p1 bra S;\n"
    "{ .param .b32 a; st.param.b32 [a], %r2; call claim, (a); }\n"
    "S: bar.sync 0;\n" STORE("%r0") "setp.ne.u32 %p1, %r0, 49; @%p1 bra E; mov.u64 %rd5, flag;\n"
                                    "W: ld.volatile.u32 %r4, [%rd5]; setp.eq.u32 %p2, %r4, 0; @%p2 bra W;\n"
                                    "E: ");

/* All threads of block 1, in the kernel itself. */
static const char whole_block[] = CALLER(
    ".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n",
    "setp.ne.u32 %p1, %r50, 1; @%p1 bra E;\n"
    "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
    "st.param.b64 [a], 0; st.param.b64 [b], 0; st.param.b32 [c], 17;\n"
    "st.param.b64 [d], 0; st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); }\n"
    "E: bar.sync 0;\n" STORE("%r1"));

static void collecting(void)
{
    struct t0_fault f;
    bool good = true;
    unsigned seen[96] = {0};
    t0t_collect = &t0t_asserted;
    t0t_nclaims = 0;
    memset(out, 0xcc, sizeof out);
    run(claims, 2, 48, &f);
    t0t_collect = NULL;
    for (unsigned k = 0; k < t0t_nclaims && k < 96; k++) {
        const struct t0_fault *c = &t0t_claims[k];
        unsigned i = c->block[0] * 48 + c->thread[0];
        good = good && i < 96 && i % 3 == 0 && !seen[i]++ && c->kind == T0_FAULT_ASSERT &&
               !strcmp(c->text, "a.cu:17: f: Assertion `x > 0` failed.") && !strcmp(c->kernel, "k");
    }
    check(good && t0t_nclaims == 32 && f.kind == T0_STOPPED, "each thread's assertion: %u, fault %d", t0t_nclaims,
          f.kind);
    for (unsigned i = 0; i < 96; i++)
        good = good && out[i] == (i % 3 ? i : 0xcccccccc);
    check(good && t0t_asserted, "and the others go on");
    t0t_collect = &t0t_asserted;
    t0t_asserted = false;
    t0t_nclaims = 0;
    memset(out, 0xcc, sizeof out);
    run(whole_block, 3, 40, &f);
    t0t_collect = NULL;
    for (unsigned i = 0; i < 120; i++)
        good = good && out[i] == (i / 40 == 1 ? 0xcccccccc : i % 40);
    check(good && t0t_nclaims == 40 && f.kind == T0_OK, "all of a block: %u, fault %d", t0t_nclaims, f.kind);
}

static const char endless[] = CALLER(
    ".func down(.param .b32 x) { .reg .b32 %r<3>; ld.param.u32 %r1, [x]; add.u32 %r1, %r1, 1;\n"
    "{ .param .b32 a; st.param.b32 [a], %r1; call down, (a); } ret; }\n",
    "setp.ne.u32 %p1, %r1, 6; @%p1 ret; { .param .b32 a; st.param.b32 [a], 0; call down, (a); }\n");

static const char wild[] = CALLER("", "mov.u64 %rd5, 4660; setp.lt.u32 %p1, %r1, 8; @%p1 ret; P: .callprototype _ ();\n"
                                      "call %rd5, P;\n");

static void undefined(void)
{
    static const char text[] = CALLER(".extern .func nowhere(.param .b32 x);\n",
                                      "{ .param .b32 a; st.param.b32 [a], 0; call nowhere, (a); }\n");
    struct t0t t;
    check(!t0t_open(&t, text, "k") && strstr(t.why, "nowhere"), "undefined function: %s", t.why);
    t0t_close(&t);
}

int main(void)
{
    struct t0_fault f;
    expect("calls in divergent code", plain, 1, 64, plain_want);
    for (uint32_t i = 0; i < 64; i++)
        in[i] = i * 40503 + 977;
    expect("calls in a loop that lanes leave apart", rounds, 1, 64, rounds_want);
    expect("recursion", recursion, 2, 64, recursion_want);
    expect("calls through a table", indirect, 1, 96, indirect_want);
    expect("guarded call through a pointer", pointer, 1, 64, pointer_want);
    expect("exit inside a function", leaves, 1, 64, leaves_want);
    expect("exit in a call before an atomic", leaves_early, 1, 64, leaves_early_want);
    printing();
    expect("malloc and free", heap, 1, 64, heap_want);
    run(assertion, 2, 64, &f);
    check(f.kind == T0_FAULT_ASSERT && f.thread[0] == 21 && strstr(f.text, "x > 0") && strstr(f.text, "a.cu:17"),
          "assert: %s", f.text);
    collecting();
    expect_fault("endless recursion", endless, 1, 32, T0_FAULT_STACK, 0, 6, 0);
    expect_fault("call of something that is no function", wild, 1, 32, T0_FAULT_INVALID_PC, 0, 8, 4660);
    undefined();
    return t0t_done();
}
