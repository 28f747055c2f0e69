#!/bin/sh
# Programs of NVIDIA's toolkit that run at run time: ours in their place, whoever starts them; what they write, and what
# they say, which callers read.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
unset CUMU_BACKEND CUMU_TOOLS || true
export CUMU_BACKEND=host

here=$(cd "$(dirname "$0")" && pwd)
tools=$(realpath "$B/libexec/cumu")
cumu=$(realpath "$cumu")
nvcc=$(command -v nvcc || ls /usr/local/cuda/bin/nvcc 2>/dev/null) || nvcc=
for p in loads starts nvidia grid registers; do
    "${CC:-cc}" -std=gnu11 -O1 -w -o "$tmp/$p" "$here/$p.c" -ldl
done
cd "$tmp"
cp "$here/add.ptx" "$here/grid.ptx" .
PATH=/usr/bin:/bin # no toolkit of this machine's

# A folder of a wheel with programs of NVIDIA's.
mkdir wheel
for p in ptxas ptxas-blackwell nvlink fatbinary cuobjdump nvdisasm nvidia-smi; do cp nvidia "wheel/$p"; done

# ---- ptxas: what it writes
check "an image" 0 -- "$tools/ptxas" -arch=sm_75 add.ptx -o add.cubin
absent "says nothing" .
check "which the driver loads and runs" 0 '^right cuModuleLoadData$' '^right cuModuleLoad$' '^right cuLibraryLoadData$' \
    -- "$cumu" run ./loads add.cubin
check "for a later architecture, with options that Triton, XLA and GCC give" 0 -- "$tools/ptxas" -lineinfo -v --fmad=false \
    --regAllocOptLevel=2 -suppress-debug-info --opt-level 0 -O3 -m64 --warn-on-spills --maxrregcount 64 \
    --gpu-name=sm_90a add.ptx -o late.cubin
check "and that one, too" 0 '^right cuModuleLoadData$' -- "$cumu" run ./loads late.cubin
check "from standard input" 0 -- sh -c '"$1" -arch=sm_75 - -o in.cubin <add.ptx && cmp -n 40 in.cubin add.cubin' - \
    "$tools/ptxas"
check "a virtual architecture: checked only" 1 -- sh -c '"$1" -arch=compute_75 add.ptx -o no.cubin; test -e no.cubin' - \
    "$tools/ptxas"
check "the default output" 0 -- sh -c '"$1" add.ptx && cmp -n 40 elf.o add.cubin' - "$tools/ptxas"
check "to a device" 0 -- "$tools/ptxas" add.ptx -c -o /dev/null
printf '%s\n' '-arch=sm_75' '"add.ptx"' '-o opt.cubin' >options
check "an options file" 0 -- sh -c '"$1" --options-file options && cmp -n 40 opt.cubin add.cubin' - "$tools/ptxas"

# ---- a limit of registers, whoever sets it
./registers ptx >limit.ptx
check "by ptxas" 0 "'free' for 'sm_75'" '^ptxas info    : Used 48 registers' -- \
    "$tools/ptxas" -v -arch=sm_75 -maxrregcount=48 limit.ptx -o limit.cubin
check "by nvcc, in a fat binary" 0 -- sh -c '"$1/ptxas" -arch=sm_70 limit.ptx -o free.cubin && "$1/fatbinary" \
    --create=limit.fatbin --cmdline=" -maxrregcount=24 " --image3=kind=ptx,sm=75,file=limit.ptx \
    --image3=kind=elf,sm=70,file=free.cubin' - "$tools"
check "kernels without launch bounds keep to it" 0 '^text: many many 40 many$' '^module: 32 many 40 32$' \
    '^text again: many many 40 many$' '^library: 32 many 40 32$' '^link: 32 many 40 32$' '^nvJitLink: 32 many 40 32$' \
    '^limit.cubin: 48 many 40 48$' '^limit.fatbin: 24 many 40 24$' -- "$cumu" run ./registers limit.cubin limit.fatbin

# ---- ptxas: what it says
check "what a kernel takes" 0 '^ptxas info    : 400 bytes gmem, 4 bytes cmem\[3\]$' \
    "^ptxas info    : Compiling entry function 'add' for 'sm_75'\$" '^ptxas info    : Function properties for add$' \
    '^    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads$' \
    '^ptxas info    : Used [0-9]+ registers, used 2 barriers, [0-9]+ bytes cumulative stack size, 512 bytes smem, 364 bytes cmem\[0\]$' \
    -- "$tools/ptxas" -v -arch=sm_75 add.ptx -o add.cubin
check "local memory" 0 "^ptxas warning : Local memory used for function 'add', size of stack frame: 64 bytes\$" -- \
    "$tools/ptxas" -warn-lmem-usage add.ptx -o add.cubin

# refused NAME EDIT PATTERN: the text with an edit, the message, the status, nothing written.
refused() {
    sed "$2" add.ptx >bad.ptx
    rm -f bad.cubin
    check "$1" 255 "$3" -- "$tools/ptxas" -arch=sm_75 bad.ptx -o bad.cubin
    if [ -e bad.cubin ]; then echo "not ok $1: an image"; bad=1; fi
}
refused "an unknown instruction" 's/bar.sync/frob.sync/' \
    "^ptxas bad.ptx, line 30; error   : Not a name of any known instruction: 'frob'\$"
check "and how it ends" 255 '^ptxas fatal   : Ptx assembly aborted due to errors$' -- \
    "$tools/ptxas" -arch=sm_75 bad.ptx -o bad.cubin
refused "a missing semicolon" 's/bar.sync 1;/bar.sync 1/' "^ptxas bad.ptx, line 31; fatal   : Parsing error near '@?': syntax error\$"
refused "an unknown register" 's/ld.const.u32 %r7/ld.const.u32 %q7/' "^ptxas bad.ptx, line 42; error   : Unknown symbol '%q7'\$"
refused "an operand of another type" 's/mov.u32 %r1/mov.u64 %r1/' \
    "^ptxas bad.ptx, line 22; error   : Arguments mismatch for instruction 'mov'\$"
refused "no version" '/^.version/d' \
    "^ptxas bad.ptx, line 2; fatal   : Missing .version directive at start of file 'bad.ptx'\$"
refused "a newer target" 's/sm_75/sm_80/' \
    '^ptxas fatal   : SM version specified by .target is higher than default SM version assumed$'
refused "a function that is not there" '/^.func/,/^}/d; s/^.visible/.extern .func (.param .b32 r) twice(.param .b32 a);\n&/' \
    "^ptxas fatal   : Unresolved extern function 'twice'\$"
check "which may be linked" 0 -- "$tools/ptxas" -c bad.ptx -o half.cubin
{ cat add.ptx && printf '\0'; } >nul.ptx
check "a NUL" 255 '^ptxas fatal   : Unexpected EOF encountered on line ' -- "$tools/ptxas" nul.ptx -o bad.cubin
check "no such file" 255 "^ptxas fatal   : Input file 'none.ptx' could not be opened\$" -- "$tools/ptxas" none.ptx
check "no such folder" 255 "^ptxas fatal   : Output file 'none/x' could not be opened\$" -- \
    "$tools/ptxas" -arch=sm_75 add.ptx -o none/x
check "no such architecture" 255 "^ptxas fatal   : Value 'sm_74' is not defined for option 'gpu-name'\$" -- \
    "$tools/ptxas" -arch=sm_74 add.ptx
check "no such option" 255 "^ptxas fatal   : Unknown option '-frob'\$" -- "$tools/ptxas" --frob add.ptx
check "no such number" 255 "^ptxas fatal   : Invalid value 'x' for option 'maxrregcount'\$" -- \
    "$tools/ptxas" -maxrregcount=x add.ptx
check "an option without its value" 255 "^ptxas fatal   : argument expected after '-o'\$" -- "$tools/ptxas" add.ptx -o
if [ -e /dev/full ]; then
    check "a full disk" 255 'could not be written' -- "$tools/ptxas" add.ptx -o /dev/full
fi
check "a release" 0 'release 12\.[0-9], V12\.' -- "$tools/ptxas" --version

# ---- damage: an error of the driver's, never a crash
size=$(wc -c <add.cubin)
for cut in 63 64 200 $((size - 300)) $((size - 400)); do
    head -c "$cut" add.cubin >cut.cubin
    check "cut to $cut bytes" 3 '^error (200|209|300)$' -- "$cumu" run ./loads cut.cubin
done

# ---- the others
check "a fat binary" 0 -- "$tools/fatbinary" --create=add.fatbin --image3=kind=elf,sm=75,file=add.cubin \
    --image3=kind=ptx,sm=75,file=add.ptx
check "which runs" 0 '^right cuModuleLoadData$' '^right cuLibraryLoadData$' -- "$cumu" run ./loads add.fatbin
check "as clang and XLA have it" 0 -- "$tools/fatbinary" -64 --create old.fatbin --image=profile=sm_75,file=add.cubin
check "runs, too" 0 '^right cuModuleLoad$' -- "$cumu" run ./loads old.fatbin
check "an image that is not there" 255 "^fatbinary fatal   : Could not open input file 'none'\$" -- \
    "$tools/fatbinary" --create=x --image3=kind=elf,sm=75,file=none
ln -s "$cumu" fatbinary
check "the launcher by a tool's name does not start itself for NVIDIA's" 0 -- \
    timeout 60 ./fatbinary --create=text.fatbin --image3=kind=ptx,sm=75,file=add.ptx
for file in add.cubin add.fatbin add.ptx text.fatbin; do
    check "check of $file" 0 '^kernels +[0-9]+: [1-9][0-9]* with PTX, 0 SASS only' '^verdict +will run$' -- "$cumu" check "$file"
done
head -c 700 add.cubin >damaged.cubin
check "check of a damaged cubin" 2 '^verdict +will not run: a damaged cubin$' -- "$cumu" check damaged.cubin
sed -n '1,/^}/p' add.ptx | sed 's/^.func/.visible .func/' >twice.ptx
"$tools/ptxas" -c twice.ptx -o twice.cubin
check "a link" 0 -- "$tools/nvlink" -arch=sm_75 half.cubin twice.cubin -o linked.cubin
check "which runs, linked" 0 '^right cuModuleLoadData$' -- "$cumu" run ./loads linked.cubin
check "the PTX of an image" 0 '^Fatbin ptx code:$' '^arch = sm_75$' '^.visible .entry add' -- "$tools/cuobjdump" -ptx add.cubin
check "its symbols and resources" 0 'STO_ENTRY      add$' '^ Function add:$' '^  REG:[0-9]+ STACK:64 SHARED:512' -- \
    "$tools/cuobjdump" -symbols -res-usage add.fatbin
check "its functions" 0 '^	\.section	\.text\.add' 'bar\.sync 1' -- "$tools/nvdisasm" add.cubin
check "nothing of ours" 255 'not made by' -- "$tools/nvdisasm" loads

# ---- CUDA's device runtime library, of which only the names count here
printf 'machine code' >cuda_device_runtime.o
cp cuda_device_runtime.o other_object.o
ar rc libcudadevrt.a cuda_device_runtime.o
ar rc libnothing.a other_object.o
check "blocks that wait for each other" 0 '^archive 0$' '^0 wrong$' -- "$cumu" run ./grid grid.ptx libcudadevrt.a
check "an archive without device code" 3 '^archive 209$' -- "$cumu" run ./grid grid.ptx libnothing.a
for cut in 8 60 90 140; do
    head -c "$cut" libcudadevrt.a >cut.a
    check "an archive cut to $cut bytes" 3 '^archive 209$' -- "$cumu" run ./grid grid.ptx cut.a
done
"$tools/ptxas" -c grid.ptx -o grid.cubin
check "linked by nvlink" 0 -- "$tools/nvlink" --arch=sm_75 grid.cubin libcudadevrt.a -o whole.cubin
check "the library's functions are there" 0 'STO_ENTRY      turns' ' cudaCGSynchronize' -- \
    "$tools/cuobjdump" -symbols whole.cubin

# ---- nvcc: a program that it builds here runs here
if [ -n "$nvcc" ]; then
    cat >one.cu <<'CU'
#include <cstdio>
#ifdef APART
extern __device__ int twice(int);
#else
__device__ int twice(int i) { return 2 * i; }
#endif
__global__ void add(int *p) { p[threadIdx.x] += twice(threadIdx.x); }
int main() { int *p, h[32]; cudaMalloc(&p, sizeof h); cudaMemset(p, 0, sizeof h); add<<<1, 32>>>(p);
cudaMemcpy(h, p, sizeof h, cudaMemcpyDeviceToHost); printf("last is %d\n", h[31]); return h[31] != 62; }
CU
    echo '__device__ int twice(int i) { return 2 * i; }' >two.cu
    check "nvcc, machine code only" 0 '^last is 62$' -- "$cumu" run sh -c \
        '"$1" -gencode arch=compute_75,code=sm_75 -cudart shared -o one one.cu && ./one' - "$nvcc"
    check "nvcc, linked device code" 0 '^last is 62$' -- "$cumu" run sh -c \
        '"$1" -DAPART -gencode arch=compute_75,code=sm_75 -rdc=true -cudart shared -o both one.cu two.cu && ./both' - "$nvcc"
    check "nvcc, linked device code of a library" 0 '^last is 62$' -- "$cumu" run sh -c '
        "$1" -gencode arch=compute_75,code=sm_75 -rdc=true -lib -o wheel/libtwice.a two.cu
        "$1" -DAPART -gencode arch=compute_75,code=sm_75 -rdc=true -cudart shared -o with one.cu -Lwheel -ltwice && ./with' - "$nvcc"
else
    echo "skip nvcc: not here"
fi

# ---- NVIDIA's, where it lies
check "its release is told" 0 'release 11\.1' -- "$cumu" run wheel/ptxas --version
check "an option that only it knows" 0 -- "$cumu" run wheel/ptxas --known add.ptx -o add.cubin
check "and one that it does not" 255 "^NVIDIA's: Unknown option '-frob'\$" -- "$cumu" run wheel/ptxas --frob add.ptx
check "files that it made" 42 "^NVIDIA's nvdisasm\$" -- "$cumu" run wheel/nvdisasm loads

# ---- whoever starts it
for how in execve execv execvp execvpe execl execlp execle posix_spawn posix_spawnp vfork; do
    check "$how" 0 '^GPU 0: ' -- "$cumu" run ./starts "$how" "$tmp/wheel/nvidia-smi"
done
check "system" 0 '^GPU 0: ' -- "$cumu" run ./starts system "$tmp/wheel/nvidia-smi -L"
check "popen" 0 '^GPU 0: ' -- "$cumu" run ./starts popen "wheel/nvidia-smi -L"
check "by a variable" 0 '^GPU 0: ' -- env "SMI=$tmp/wheel/nvidia-smi" "$cumu" run sh -c '"$SMI" -L'
check "by the loader alone, without the preloaded library" 0 '^GPU 0: ' -- \
    "$cumu" run env -u LD_PRELOAD ./starts execve "$tmp/wheel/nvidia-smi"
check "before others on PATH" 0 '^GPU 0: ' -- "$cumu" run env "PATH=$tmp/wheel:$PATH" nvidia-smi -L
check "a relative path" 0 -- "$cumu" run sh -c 'cd wheel && ./ptxas ../add.ptx -o ../rel.cubin && cmp -n 40 ../rel.cubin ../add.cubin'
check "Triton's other name" 0 -- "$cumu" run wheel/ptxas-blackwell -arch=sm_120 add.ptx -o b.cubin
check "in a thread's child" 0 '^right cuModuleLoadData$' -- "$cumu" run sh -c \
    'rm -f add.cubin; wheel/ptxas -arch=sm_75 add.ptx -o add.cubin && ./loads add.cubin'
if command -v python3 >/dev/null 2>&1; then
    check "Python" 0 '^GPU 0: ' -- "$cumu" run python3 -c '
import subprocess, sys
print(subprocess.check_output([sys.argv[1], "-L"], text=True))
print(subprocess.run(sys.argv[1] + " -L", shell=True, check=True))' "$tmp/wheel/nvidia-smi"
fi
if [ ! -e /usr/bin/nvidia-smi ]; then
    check "the driver's own path" 0 '^GPU 0: ' -- "$cumu" run sh -c 'test -x /usr/bin/nvidia-smi && /usr/bin/nvidia-smi -L'
fi
check "a path where nothing is" 127 -- "$cumu" run sh -c './none/ptxas add.ptx'

# ---- and who is left alone
check "CUMU_TOOLS=real" 42 "^NVIDIA's ptxas\$" -- env CUMU_TOOLS=real "$cumu" run wheel/ptxas add.ptx
check "for a child alone" 42 "^NVIDIA's another-name\$" -- "$cumu" run env CUMU_TOOLS=real ./starts vfork wheel/ptxas
check "a process that has not opted in" 42 "^NVIDIA's ptxas\$" -- wheel/ptxas add.ptx
check "nor with our libraries in it" 42 "^NVIDIA's another-name\$" -- sh -c \
    'eval "$("$1" env)"; export CUMU=0; ./starts execv wheel/ptxas' - "$cumu"
check "other programs" 42 "^NVIDIA's another-name\$" -- "$cumu" run sh -c 'cp nvidia ptxas2; ./starts execv ./ptxas2; exit $?'
if [ "$(id -u)" = 0 ] && chown nobody starts 2>/dev/null && chmod u+s starts && [ -u starts ]; then
    chmod 755 "$tmp" wheel
    check "a program with rights of its own" 42 "^NVIDIA's another-name\$" -- \
        "$cumu" run sh -c './starts execv "$1"; exit $?' - "$tmp/wheel/ptxas"
else
    echo "skip a program with rights of its own: only root can make one"
fi
exit "$bad"
