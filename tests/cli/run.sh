#!/bin/sh
# The cumu tool: what its verbs print, what they refuse, how the launcher treats its surroundings.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

# check, beyond the verdicts of the fixtures: symbols, libraries, scripts, shared objects.
check "check counts symbols by verb" 0 '^symbols +[1-9][0-9]* CUDA functions: .* 0 stub$' \
    '^library +libcudart\.so\.13 \(libcudart\.so\.13\): facade; ' '^kernels +1: 1 with PTX' -- "$cumu" check "$fix/vectoradd"
check "check, tsv: kernels and images" 0 "$(printf '^kernel\tvectoradd|^kernel\t[^\t]*\tptx\tok')" \
    "$(printf '^image\tptx\t[0-9]+\tlz4\t')" "$(printf '^verdict\twill run')" -- \
    "$cumu" check --format tsv "$fix/lz4"
check "check of a program without CUDA" 0 '^runtime +none$' 'will run$' -- "$cumu" check "$(command -v ls)"
printf '#!/bin/sh\ntrue\n' >"$tmp/script"
chmod +x "$tmp/script"
check "check of a script" 126 'a script' -- "$cumu" check "$tmp/script"
check "check of nothing" 125 'check what' -- "$cumu" check
check "check with a wrong format" 125 'text, tsv, json or html' -- "$cumu" check --format xml "$fix/vectoradd"


. "$(dirname "$0")/check_files.sh"
. "$(dirname "$0")/target.sh"
. "$(dirname "$0")/capability.sh"

# Programs that need what is not there, made by the C compiler.
build() { # NAME SOURCE FLAGS...
    out=$1
    printf '%s\n' "$2" >"$tmp/$out.c"
    shift 2
    "${CC:-cc}" -o "$tmp/$out" "$tmp/$out.c" "$@"
}
facade=$B/lib/cumu/facade
build random 'int curandGenerateUniform(); int curandSetGeneratorOrdering(); int curandGetVersion();
int main(void) { return curandGenerateUniform() + curandSetGeneratorOrdering() + curandGetVersion(); }' \
    "$facade/libcurand.so.10" -Wl,--allow-shlib-undefined
check "check says what MUSA's functions are known by" 0 \
    "^evidence +libcurand\.so\.10: MUSA functions 1 seen in SDKs, 1 guessed; 1 cumu's own$" -- "$cumu" check "$tmp/random"
check "check, tsv: what MUSA's functions are known by" 0 "$(printf '^evidence\tlibcurand.so.10\t1\t0\t1\t1$')" -- \
    "$cumu" check --format tsv "$tmp/random"
build nppif 'int nppiFilter(void) { return 0; }' -shared -fPIC -Wl,-soname,libnppif.so.12
mv "$tmp/nppif" "$tmp/libnppif.so.12"
build wants 'int nppiFilter(void); int main(void) { return nppiFilter(); }' "$tmp/libnppif.so.12"
check "check names a library that cumu lacks" 2 'libnppif\.so\.12, which cumu does not have' -- \
    "$cumu" check "$tmp/wants"
. "$(dirname "$0")/check_wheels.sh"
build stub 'int cudaGraphicsUnmapResources(int, void *, void *);
    int main(void) { return cudaGraphicsUnmapResources(0, 0, 0) != 801; }' "$facade/libcudart.so.13" \
    -Wl,--allow-shlib-undefined
check "check names a stub and its reason" 1 'stub cudaGraphicsUnmapResources: .+' 'with gaps \(1\)' -- \
    "$cumu" check "$tmp/stub"
check "which answers not supported, and says so" 0 'cumu: gap: cudart: cudaGraphicsUnmapResources: .+' -- \
    "$cumu" run --backend host "$tmp/stub"
# nvcc leaves an empty fat binary in programs that have no kernel and register nothing.
build query '__attribute__((section(".nvFatBinSegment"))) const unsigned segment[6] = {0x466243b1, 1};
    int cudaGetDeviceCount(int *); int main(void) { int n; return cudaGetDeviceCount(&n); }' "$facade/libcudart.so.13" \
    -Wl,--allow-shlib-undefined
check "check of a program without kernels" 0 '^runtime +shared$' '^verdict +will run$' -- "$cumu" check "$tmp/query"
build absent 'int cudaNoSuchThing(void); int main(void) { return cudaNoSuchThing(); }' \
    "$facade/libcudart.so.13" -Wl,--unresolved-symbols=ignore-all
# The linker gives an unresolved symbol no version, so only the loader could complain; check must not.
check "a symbol of nobody's is not CUDA's" 0 '0 CUDA functions' -- "$cumu" check "$tmp/absent"

# coverage
check "coverage counts, and names what the CPU libraries lack" 0 '^cudart +libcudart\.so\.13 +[0-9]+' \
    '^musart: [0-9]+ functions asked for$' '^  host lacks [0-9]+$' 'musaDestroyExternalMemory' -- "$cumu" coverage
check "coverage, tsv" 0 "$(printf '^cuda\tlibcuda\.so\.1\tjump\t[1-9][0-9]*$')" -- "$cumu" coverage --format tsv
"$cumu" coverage --symbols >"$tmp/symbols"
check "coverage against itself" 0 ': 0 better, 0 worse, 0 done in another way$' -- "$cumu" coverage --against "$tmp/symbols"
printf 'cudart\tlibcudart.so.13\tcudaGone\tjump\tmusaGone\t\n' >>"$tmp/symbols"
check "coverage against a build that had more" 1 "$(printf '^worse\tlibcudart\.so\.13\tcudaGone\tjump -> absent$')" -- \
    "$cumu" coverage --against "$tmp/symbols"
check "coverage against something else" 126 'not what cumu coverage' -- "$cumu" coverage --against "$0"
check "coverage of symbols: verb, MUSA function, what it is known by, file, reason" 0 '^cudaMalloc$' \
    '^  libcudart\.so\.11\.0, libcudart\.so\.12, libcudart\.so\.13: jump to musaMalloc \(seen in SDKs\)$' \
    '^  libcudart\.so\.11\.0, .*: wrap, shim/api/cudart/device\.c; ' ': conv to mublasSgemm \(seen in SDKs\)$' \
    ': stub, no interop with OpenGL, EGL or VDPAU$' -- \
    "$cumu" coverage cudaMalloc cudaGetDeviceProperties cublasSgemm_v2 cudaGLGetDevices
absent "coverage of symbols knows every wrapper's file" 'wrap$|wrap;'
check "coverage of a symbol, tsv" 0 "$(printf '^libcudart\.so\.11\.0\tcudaDeviceGetAttribute\twrap\t')" -- \
    "$cumu" coverage --format tsv cudaDeviceGetAttribute
check "coverage of a pattern" 0 '^cudaMalloc3DArray$' '^cudaMallocPitch$' -- "$cumu" coverage 'cudaMalloc*'
check "coverage of an unknown symbol names the closest" 1 \
    '^cumu: cudaMaloc: no CUDA library here has it; closest are cudaMalloc,' '^cudaFree$' -- \
    "$cumu" coverage cudaMaloc cudaFree
check "coverage of what is like nothing" 1 '^cumu: zzzzzzzzz: no CUDA library here has it$' -- "$cumu" coverage zzzzzzzzz
check "every symbol is found by its name" 0 '^0 of [1-9][0-9]{3,} are lost$' -- sh -c '
    "$1" coverage --symbols | cut -f 3 | sort -u >"$2.names"
    "$1" coverage --format tsv "*" | cut -f 2 | sort -u | comm -13 - "$2.names" |
        awk -v all="$(wc -l <"$2.names")" "END { print NR, \"of\", all, \"are lost\" }"' - "$cumu" "$tmp/symbols"
check "every wrapper is in a file of shim/api" 0 '^0 wrappers without$' -- sh -c '
    "$1" coverage --format tsv "*" | awk -F "\t" "\$3 == \"wrap\" && \$6 !~ /^shim\/api\/.*\.c\$/ { n++ }
        END { print n + 0, \"wrappers without\" }"' - "$cumu"
check "coverage of symbols as a document" 125 'as text or tsv' -- "$cumu" coverage --format markdown cudaMalloc
check "coverage with a wrong format" 125 'text, tsv or markdown' -- "$cumu" coverage --format xml

. "$(dirname "$0")/doctor.sh"
. "$(dirname "$0")/launch.sh"

# ptx
check "ptx lists images" 0 "$(printf '^0\tptx\t[0-9]+\tlz4\t')" -- "$cumu" ptx "$fix/lz4"
check "ptx extracts text" 0 '^\.version' '\.entry' -- "$cumu" ptx "$fix/lz4" 0
check "ptx of an image that is not there" 2 'images' -- "$cumu" ptx "$fix/lz4" 99
check "ptx of no ELF" 2 'not an ELF' -- "$cumu" ptx "$tmp/script"

# run: the surroundings.
check "run follows #!" 0 -- "$cumu" run "$tmp/script"
printf '#!/no/such/interpreter\n' >"$tmp/orphan"
chmod +x "$tmp/orphan"
check "an interpreter that is not there" 126 'interpreter' -- "$cumu" run "$tmp/orphan"
: >"$tmp/plain"
check "a file that is not executable" 126 'not executable' -- "$cumu" run "$tmp/plain"
check "a wrong back end" 125 'auto, musa or host' -- "$cumu" run --backend gpu true
check "arguments after -- are the program's" 0 '^-v$' -- "$cumu" run -- printf '%s\n' -v
check "no SDK here: its error, and a line" 1 'no MUSA library found' '^FAIL' -- \
    "$cumu" run --backend musa "$fix/vectoradd"
check "a program that names no runtime gets no facade preloaded" 0 'LD_AUDIT=' -- "$cumu" run -n true
absent "no facade" 'LD_PRELOAD=[^ ]*/facade/'
LD_PRELOAD=/lib/x86_64-linux-gnu/libm.so.6 check "the caller's preloads are kept, after ours" 0 \
    'libcudart\.so\.13:[^:]*/libcumu-nodes\.so:/lib/x86_64-linux-gnu/libm\.so\.6' -- "$cumu" run -n "$fix/vectoradd"
check "cumu run inside cumu run" 0 '^PASS vectoradd$' -- \
    "$cumu" run --backend host -- "$cumu" run --backend host -- "$fix/vectoradd"
mkdir -p "$tmp/a b/bin" "$tmp/a b/lib"
cp "$cumu" "$tmp/a b/bin/"
cp -r "$B/lib/cumu" "$tmp/a b/lib/"
check "installed in a folder with a blank" 0 '^PASS vectoradd$' -- \
    "$tmp/a b/bin/cumu" run --backend host "$fix/vectoradd"
(cd "$tmp" && "$OLDPWD/$cumu" run --backend host -- sh -c "cd / && '$OLDPWD/$fix/vectoradd'") >"$tmp/cd" 2>&1 || :
check "a child in another folder" 0 '^PASS vectoradd$' -- cat "$tmp/cd"
build asan 'int cudaGetDeviceCount(int *); int main(void) { int n = 0; return cudaGetDeviceCount(&n) || n < 1; }' \
    -fsanitize=address "$facade/libcudart.so.13" -Wl,--allow-shlib-undefined 2>/dev/null && {
    check "a program built with a sanitizer" 0 -- "$cumu" run --backend host "$tmp/asan"
} || echo "skip a program built with a sanitizer: no runtime for it"

# fork: CUDA that was used does not survive it; CUDA that was not, does.
build forks '#include <stdio.h>
#include <unistd.h>
#include <sys/wait.h>
int cudaGetDeviceCount(int *);
int cudaGetLastError(void);
int main(int argc, char **argv) {
    int n = -1, first = argc > 1 && *argv[1] ? cudaGetDeviceCount(&n) : 0, status;
    if (fork() == 0) {
        int m = -1, e = cudaGetDeviceCount(&m), last = cudaGetLastError();
        printf("child %d %d %d\n", e, m, last);
        return 0;
    }
    wait(&status);
    printf("parent %d %d\n", first, cudaGetDeviceCount(&n));
    return 0;
}' "$facade/libcudart.so.13" -Wl,--allow-shlib-undefined
check "fork before use" 0 '^child 0 1 0$' '^parent 0 0$' -- "$cumu" run --backend host "$tmp/forks"
check "fork after use" 0 '^child 3 -1 3$' '^parent 0 0$' -- "$cumu" run --backend host "$tmp/forks" used

# Names that programs open at run time.
build opens '#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        void *h = dlopen(argv[i], RTLD_NOW);
        if (h && !strstr(argv[i], "cudart"))
            continue;
        int n = -1, (*f)(int *) = h ? (int (*)(int *))dlsym(h, "cudaGetDeviceCount") : 0;
        if (!f || f(&n) != 0 || n != 1)
            return printf("%s: %s\\n", argv[i], h ? "no device" : dlerror()), 1;
    }
    return 0;
}' -ldl
check "dlopen of every name of the runtime" 0 -- "$cumu" run --backend host "$tmp/opens" libcudart.so \
    libcudart.so.13 libcudart.so.12 libcudart.so.11.0
# shellcheck disable=SC2046  # a name each
check "dlopen of every library without its version" 0 -- "$cumu" run --backend host "$tmp/opens" \
    $(ls "$B/lib/cumu/facade" | sed 's/\.so.*/.so/' | sort -u | grep -v -e libnvrtc -e libnvJitLink)

# Not opted in: the next library of that name on the search path is the real one.
mkdir "$tmp/nvidia"
build libcudart.so.13 'int cudaGetDeviceCount(int *n) { *n = 7; return 0; }
    int cudaGetLastError(void) { return 0; }' -shared -fPIC -Wl,-soname,libcudart.so.13
mv "$tmp/libcudart.so.13" "$tmp/nvidia/"
"$cumu" env "$tmp/forks" >"$tmp/env"
check "not opted in: calls pass to the real library" 0 '^child 0 7 0$' '^parent 0 0$' -- \
    sh -c ". '$tmp/env' && unset CUMU && LD_LIBRARY_PATH=$PWD/$facade:$tmp/nvidia '$tmp/forks' used"
absent "and cumu is silent" 'cumu'

check "help" 0 'run .*run a CUDA program' -- "$cumu" help
check "help of a verb" 0 '^usage: cumu ptx' -- "$cumu" help ptx
check "help options" 0 'CUMU_BACKEND' -- "$cumu" help options
check "no such verb" 125 'no verb' -- "$cumu" frobnicate
check "version" 0 '^cumu [0-9]' -- "$cumu" --version
exit "$bad"
