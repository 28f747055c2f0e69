# Part of run.sh, which sources it.
# Which compute capability suits a program: what check says of it, and what then happens when it runs.
# shellcheck shell=sh disable=SC2154
mkdir "$tmp/capability"

# ptx NUMBER TARGET TEXT RANK: a text of two kernels; `plain` leaves NUMBER, plus its block's rank in a cluster.
ptx() {
    cat >"$tmp/capability/$2.ptx" <<END
.version 8.7
.target $2
.address_size 64
.visible .entry plain(.param .u64 out)
{
.reg .u64 %d<2>; .reg .u32 %r<2>;
ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
mov.u32 %r1, $1; $4 st.global.u32 [%d0], %r1; ret;
}
.visible .entry other(.param .u64 out) { .reg .u64 %d; ld.param.u64 %d, [out]; $3 ret; }
END
}
rank='mov.u32 %r0, %cluster_ctarank; add.u32 %r1, %r1, %r0;'
# A comparison of depths, which no back end has.
refused='.reg .f32 %f; tex.2d.v4.f32.f32 {%f, %f, %f, %f}, [%d, {%f, %f}], %f;'
ptx 70 sm_70 "$refused" ''
ptx 90 sm_90a '' "$rank"
ptx 100 sm_100a '' "$rank"

# image TARGET NUMBER FLAGS: one entry of a fat binary, as nvcc writes it.
image() {
    cat <<END
1:
.short 1, 0x101
.long 64
.quad 3f - 2f
.quad 0
.long 0, $2
.long 64, 0
.quad $3, 0, 0
2:
.incbin "$tmp/capability/$1.ptx"
.byte 0
.balign 8
3:
END
}

cat >"$tmp/capability/main.c" <<'END'
#include <stdio.h>
extern const char fatbin[];
int cuInit(unsigned), cuDevicePrimaryCtxRetain(void *, int), cuCtxSetCurrent(void *), cuModuleLoadData(void *, const void *);
int cuModuleGetFunction(void *, void *, const char *), cuLaunchKernelEx(const void *, void *, void **, void **);
int cuMemAlloc_v2(void *, unsigned long), cuMemcpyDtoH_v2(void *, unsigned long, unsigned long);
struct attribute { int id, pad; unsigned value[16]; };
struct config { unsigned grid[3], block[3], shared; void *stream; struct attribute *attrs; unsigned n; };
int main(int argc, char **argv)
{
    static const char *const names[] = {"plain", "other"};
    struct attribute cluster = {4, 0, {2, 1, 1}};
    unsigned got[2] = {0}, failed = 0;
    unsigned long out;
    void *context, *module, *f, *args[] = {&out};
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context) || cuMemAlloc_v2(&out, 8) ||
        cuModuleLoadData(&module, fatbin))
        return 9;
    for (int i = 0; i < 2; i++) {
        struct config c = {{2, 1, 1}, {1, 1, 1}, 0, NULL, &cluster, argc > 1};
        failed += cuModuleGetFunction(&f, module, names[i]) || cuLaunchKernelEx(&c, f, args, NULL);
    }
    if (cuMemcpyDtoH_v2(got, out, sizeof got))
        return 9;
    printf("left %u %u, %u failed\n", got[0], got[1], failed);
    return failed != 0;
}
END

# container < entries: a fat binary.
container() {
    printf '%s\n' '.balign 8' '.long 0xba55ed50' '.short 1, 16' '.quad 9f - 8f' '8:'
    cat
    echo 9:
}

# program NAME < containers: the same program with other fat binaries.
program() {
    {
        printf '%s\n' '.section .note.GNU-stack,"",@progbits' '.section .nv_fatbin,"a"' '.balign 8' '.globl fatbin' \
            'fatbin:'
        cat
    } >"$tmp/capability/$1.s"
    "${CC:-cc}" -no-pie -o "$tmp/capability/$1" "$tmp/capability/main.c" "$tmp/capability/$1.s" \
        "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined
}
{
    image sm_70 70 0
    image sm_90a 90 0x100000
} | container | program both
{
    image sm_90a 90 0x100000
    image sm_100a 100 0x100000
} | container | program special

# agree NAME CAPABILITY STATUS CHECKED RAN [ARGS]: check's status is the program's own, and each says so.
agree() {
    what=$1 claim=$2 status=$3 checked=$4 ran=$5
    shift 5
    CUMU_COMPUTE_CAPABILITY=$claim
    export CUMU_COMPUTE_CAPABILITY
    check "check of PTX, $what, at $claim" "$status" "$checked" -- "$cumu" check "$tmp/capability/$what"
    check "and what runs of it" "$status" "$ran" -- "$cumu" run --backend host "$tmp/capability/$what" "$@"
}
agree both 8.0 1 '^capability  9.0 makes all kernels translatable .CUMU_COMPUTE_CAPABILITY=9.0.; 8.0: 1$' '^left 70 70, 1 failed'
check "clusters of PTX for 7.0 at 8.0" 1 'clusters need PTX for 9.0 or CUMU_COMPUTE_CAPABILITY=9.0' \
    '2 failed' -- "$cumu" run --backend host "$tmp/capability/both" clusters
check "check, tsv: the capability to claim" 1 "$(printf '^device\thost\t80\t70\t90$')" \
    "$(printf '^choice\t80\t2\t1\town$')" "$(printf '^choice\t90\t2\t2\town$')" -- \
    "$cumu" check --format tsv "$tmp/capability/both"
check "check, json: the capability to claim" 1 '"best": 90' \
    '"choice": .*"capability": 90, "kernels": 2, "translated": 2, "ptx": "own"' -- \
    "$cumu" check --format json "$tmp/capability/both"
check "check of PTX by itself" 0 '^capability  10.0 makes all' -- "$cumu" check "$tmp/capability/sm_100a.ptx"
agree special 8.0 0 '^capability  9.0 makes all.*; 8.0: 2, by PTX for other devices; 10.0: 2$' '^left 90 91, 0 failed' clusters
agree both 9.0 0 '^capability  9.0, as claimed, makes all kernels translatable$' '^left 90 91, 0 failed' clusters
agree both 10.0 1 '^capability  9.0 makes all.*; 8.0: 1; 10.0: 1$' '^left 70 70, 1 failed'
agree special 10.0 0 '^capability  10.0, as claimed, makes all' '^left 100 101, 0 failed' clusters
agree special 12.0 0 '^capability  9.0 makes all.*; 10.0: 2; 12.0: 2, by PTX for other devices$' '^left 100 101, 0 failed' clusters
unset CUMU_COMPUTE_CAPABILITY

# A container whose image suits every capability beside one that is read for each: its kernels are translated once.
if script -qec true /dev/null >/dev/null 2>&1; then
    printf '%s\n' .version\ 8.7 .target\ sm_70 .address_size\ 64 >"$tmp/capability/many.ptx"
    for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        echo ".visible .entry k$n() { ret; }" >>"$tmp/capability/many.ptx"
    done
    {
        image many 70 0 | container
        {
            image sm_70 70 0
            image sm_90a 90 0x100000
            image sm_100a 100 0x100000
        } | container
    } | program many
    check "check of many kernels" 1 '; 8.0: 21; 10.0: 22' -- "$cumu" check "$tmp/capability/many"
    lines=$(script -qec "'$cumu' check '$tmp/capability/many'" /dev/null | tr '\r' '\n' | grep -c ': kernel 16 of 20' || true)
    check "kernels of one image are translated once, with progress on a terminal" 0 -- test "$lines" = 1
else
    echo "skip kernels of one image are translated once: script(1) makes no terminal here"
fi
