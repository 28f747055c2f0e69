# Part of run.sh, which sources it.
# Check of Python environments: where other wheels keep libraries; machine code only; trampolines and static runtimes.
# shellcheck shell=sh disable=SC2154
site=$tmp/python/lib/python3/site-packages
mkdir -p "$site/pkg/sub" "$site/pkg.libs" "$site/other/lib" "$site/nvidia/thing/lib" "$tmp/elsewhere/lib"
# library NAME FOLDER: one that exports NAME, in the folder as libNAME.so.1
library() {
    build "$1" "int $1(void) { return 0; }" -shared -fPIC "-Wl,-soname,lib$1.so.1"
    mv "$tmp/$1" "$2/lib$1.so.1"
}
library bundled "$site/pkg.libs"
library neighbour "$site/other/lib"
library vendored "$site/nvidia/thing/lib"
library away "$tmp/elsewhere/lib"
# user NAME LIBRARY: an extension in pkg/sub that needs it, with no path that leads there
user() {
    found=$(find "$tmp/python" "$tmp/elsewhere" -name "lib$2.so.1")
    build "$1" "int $2(void); int f(void) { return $2(); }" -shared -fPIC "$found"
    mv "$tmp/$1" "$site/pkg/sub/$1.so"
}
for name in bundled neighbour vendored; do
    user "needs_$name" "$name"
    check "check finds a library of the environment ($name)" 0 '^verdict +will run$' -- \
        "$cumu" check "$site/pkg/sub/needs_$name.so"
done
mkdir -p "$site/plugged.libs/lib/plugins"
for folder in lib lib/plugins; do
    library plug "$site/plugged.libs/$folder"
    user needs_plug plug
    mv "$site/pkg/sub/needs_plug.so" "$site/plugged.libs/lib/plugins"
    check "check finds what a plug-in's package has loaded ($folder)" 0 '^verdict +will run$' -- \
        "$cumu" check "$site/plugged.libs/lib/plugins/needs_plug.so"
    rm "$site/plugged.libs/$folder/libplug.so.1"
done
user needs_away away
check "check does not find one outside of it" 2 'needs libaway\.so\.1, which is not found' -- \
    "$cumu" check "$site/pkg/sub/needs_away.so"

# Machine code alone outweighs whatever else is wrong.
objcopy -O binary -j .nv_fatbin --set-section-flags .nv_fatbin=alloc "$fix/sass_only" "$tmp/sass.fatbin"
build sass '__asm__(".section .nv_fatbin,\"a\"\n.incbin \"'"$tmp"'/sass.fatbin\"\n.text");
    int nppiFilter(void); int main(void) { return nppiFilter(); }' "$tmp/libnppif.so.12"
check "machine code only comes first in the verdict" 2 \
    '^verdict +will not run: machine code \(SASS\) only: .*; needs libnppif\.so\.12' -- "$cumu" check "$tmp/sass"

# XLA and TensorFlow register their device code by trampolines that open the runtime.
registers='__attribute__((section(".nvFatBinSegment"))) const unsigned segment[6] = {0x466243b1, 1};
    const char *name = "libcudart.so.";'
build jumps.so "$registers"' static __attribute__((used)) void _cudart_tramp_resolve(void) {}' -shared -fPIC
check "trampolines are no static runtime" 0 '^runtime +shared$' '^opens +libcudart\.so: facade$' '^verdict +will run$' -- \
    "$cumu" check "$tmp/jumps.so"
# A name may follow a table, which ends in no zero; the newest library has the name without a version (DALI).
build after.so '__asm__(".section .rodata\n.byte 0x19, 0xed, 0xff\n.asciz \"libcufft.so.11\"\n.asciz \"libcufft.so\"\n.text");' \
    -shared -fPIC
check "names of libraries after a table" 0 '^opens +libcufft\.so\.11: facade$' '^opens +libcufft\.so: facade$' -- \
    "$cumu" check "$tmp/after.so"
build inside.so "$registers" -shared -fPIC -s
check "a stripped runtime is named with its library" 2 "inside\.so has the CUDA runtime linked in, is stripped" -- \
    "$cumu" check "$tmp/inside.so"
build quiet '_Thread_local char page[4096] __attribute__((aligned(4096))); char *f(void) { return page; }' -shared -fPIC \
    -Wl,-soname,libquiet.so.1 -s
mv "$tmp/quiet" "$tmp/elsewhere/lib/libquiet.so.1"
build loud 'char *f(void); int main(void) { return *f(); }' "$tmp/elsewhere/lib/libquiet.so.1" -Wl,-rpath,"$tmp/elsewhere/lib"
check "such a library without kernels is a gap of its program" 1 'libquiet\.so\.1 has one linked in that cumu does not know' \
    '^verdict +will run with gaps \(1\)$' -- "$cumu" check "$tmp/loud"
