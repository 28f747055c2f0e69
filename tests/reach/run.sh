#!/bin/sh
# Every way in which a program may reach its CUDA libraries, opted in (cumu's facades win) and not (NVIDIA's,
# here a fake one, gets the calls).
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
: "${CC:=cc}"
run="$cumu run --backend host --"
lib=$(cd "$B/lib/cumu" && pwd)
facade=$lib/facade

compile() { # OUTPUT SOURCE FLAGS...
    out=$1 src=$2
    shift 2
    $CC -std=c11 -D_GNU_SOURCE -O1 -o "$out" "$here/$src" "$@"
}

# NVIDIA's libraries as they would stand in /usr/local/cuda/lib64.
real=$tmp/real
mkdir "$real" "$tmp/hashed"
fake() { # SONAME FILE FLAGS...
    soname=$1 file=$2
    shift 2
    compile "$real/$file" fake.c -shared -fPIC "-Wl,-soname,$soname" "$@"
    ln -sf "$file" "$real/$soname"
}
for soname in libcudart.so.11.0:11.8.89 libcudart.so.12:12.4.127 libcudart.so.13:13.0.96; do
    printf '%s { global: *; };\n' "${soname%:*}" >"$tmp/map"
    fake "${soname%:*}" "libcudart.so.${soname#*:}" "-Wl,--version-script=$tmp/map"
done
fake libcuda.so.1 libcuda.so.535.104.05 -DDRIVER
ln -s libcudart.so.12 "$real/libcudart.so"
printf 'libcudart.so.11.0 { global: *; };\n' >"$tmp/map"
compile "$tmp/hashed/libcudart-d0da41ae.so.11.0" fake.c -shared -fPIC \
    -Wl,-soname,libcudart-d0da41ae.so.11.0 "-Wl,--version-script=$tmp/map"
ln -s libcudart-d0da41ae.so.11.0 "$tmp/hashed/libcudart.so"

compile "$tmp/open" open.c
compile "$tmp/plugin" plugin.c
compile "$tmp/plain" linked.c "$real/libcudart.so.12.4.127" "$real/libcuda.so.535.104.05"
compile "$tmp/rpath" linked.c "$real/libcudart.so.12.4.127" "$real/libcuda.so.535.104.05" \
    -Wl,--disable-new-dtags "-Wl,-rpath,$real"
compile "$tmp/runpath" linked.c "$real/libcudart.so.12.4.127" "$real/libcuda.so.535.104.05" \
    -Wl,--enable-new-dtags "-Wl,-rpath,$real"
compile "$tmp/hash" linked.c "$tmp/hashed/libcudart-d0da41ae.so.11.0" "$real/libcuda.so.535.104.05" \
    -Wl,--disable-new-dtags "-Wl,-rpath,$real:$tmp/hashed"
compile "$tmp/needs12.so" linked.c -DLIBRARY -shared -fPIC "$real/libcudart.so.12.4.127" \
    "$real/libcuda.so.535.104.05" -Wl,--disable-new-dtags "-Wl,-rpath,$real"
compile "$tmp/hash.so" linked.c -DLIBRARY -shared -fPIC "$tmp/hashed/libcudart-d0da41ae.so.11.0" \
    "$real/libcuda.so.535.104.05" -Wl,--disable-new-dtags "-Wl,-rpath,$real:$tmp/hashed"
compile "$tmp/needs13" plugin.c -Wl,--no-as-needed "$real/libcudart.so.13.0.96"
compile "$tmp/open12" open.c -Wl,--no-as-needed "$real/libcudart.so.12.4.127"

# cumu's answers: the toolkit's version, and memory that is none of the fake's.
v11='version 11[0-9]{3} error 0 malloc 0 memory'
v12='version 12[0-9]{3} error 0 malloc 0 memory'
v13='version 13[0-9]{3} error 0 malloc 0 memory'

# shellcheck disable=SC2086
{
for way in local deepbind global noload newlm; do
    check "$way by soname" 0 "$v12" -- $run "$tmp/open" $way libcudart.so.12
    check "$way by path" 0 "$v12" -- $run "$tmp/open" $way "$real/libcudart.so.12"
done
check "the driver is open once the runtime works" 0 "memory and a driver" -- $run "$tmp/open" driver libcudart.so.12
check "by the path of the file itself" 0 "$v11" -- $run "$tmp/open" "$real/libcudart.so.11.8.89"
check "by a path that is not there" 0 "$v11" -- $run "$tmp/open" /usr/local/cuda/lib64/libcudart.so.11.0
check "by libcudart.so: the newest" 0 "$v13" -- $run "$tmp/open" libcudart.so
check "by libcudart.so: the one that the program has" 0 "$v12" -- $run "$tmp/open12" libcudart.so
check "by the path of libcudart.so: the one that it leads to" 0 "$v12" -- $run "$tmp/open" "$real/libcudart.so"
check "DT_NEEDED" 0 "$v12" -- $run "$tmp/plain"
check "DT_RPATH to the real one" 0 "$v12" -- $run "$tmp/rpath"
check "DT_RUNPATH to the real one" 0 "$v12" -- $run "$tmp/runpath"
check "a library with DT_RPATH, opened later" 0 "$v12" -- $run "$tmp/plugin" "$tmp/needs12.so"
check "a wheel's hashed copy" 0 "$v11" -- $run "$tmp/hash"
check "a hashed copy, opened later" 0 "$v11" -- $run "$tmp/plugin" "$tmp/hash.so"
check "a hashed copy beside another runtime" 0 "$v12" "$v11" -- $run "$tmp/plugin" "$tmp/needs12.so" "$tmp/hash.so"
compile "$tmp/moved.so" linked.c -DLIBRARY -shared -fPIC "$real/libcudart.so.12.4.127" \
    "$real/libcuda.so.535.104.05" -Wl,--section-start=.dynstr=0x400000
check "a library whose names were moved, as patchelf does" 0 "$v12" -- $run "$tmp/plugin" "$tmp/moved.so"
check "children inherit" 0 "$v12" -- $run sh -c "'$tmp/rpath'; exit \$?"
}

# cudaRuntimeGetVersion is that of the file which the program would have got: what its link leads to, or the wheel that it
# is of; a name that tells nothing is the newest of its major version.
wheel=$tmp/lib/site-packages
mkdir -p "$wheel/nvidia/cuda_runtime/lib" "$wheel/nvidia_cuda_runtime_cu12-12.6.77.dist-info" \
    "$wheel/nvidia_cuda_runtime_cu11-11.7.99.dist-info" "$tmp/bare"
cp "$real/libcudart.so.12.4.127" "$wheel/nvidia/cuda_runtime/lib/libcudart.so.12"
cp "$real/libcudart.so.12.4.127" "$tmp/bare/libcudart.so.12"
cp "$real/libcudart.so.11.8.89" "$tmp/bare/libcudart.so.11.0"
compile "$tmp/leads" plugin.c -Wl,--enable-new-dtags "-Wl,-rpath,$tmp/bare"
# shellcheck disable=SC2016
compile "$tmp/wheel" linked.c "$real/libcudart.so.12.4.127" "$real/libcuda.so.535.104.05" \
    '-Wl,-rpath,$ORIGIN/lib/site-packages/nvidia/cuda_runtime/lib'
# shellcheck disable=SC2086
{
check "version behind DT_RUNPATH" 0 '^version 12040 ' -- $run "$tmp/runpath"
check "version behind DT_RPATH" 0 '^version 12040 ' -- $run "$tmp/rpath"
check "version behind the RPATH of a library, not of the program" 0 '^version 12040 ' -- $run "$tmp/leads" "$tmp/needs12.so"
check "version behind LD_LIBRARY_PATH" 0 '^version 12040 ' -- env LD_LIBRARY_PATH="$real" $run "$tmp/plain"
check "version behind a path" 0 '^version 11080 ' -- $run "$tmp/open" "$real/libcudart.so.11.0"
check "version behind a path without a version" 0 '^version 12040 ' -- $run "$tmp/open" "$real/libcudart.so"
check "version of a wheel" 0 '^version 12060 ' -- $run "$tmp/wheel"
check "version of a wheel, by path" 0 '^version 12060 ' -- \
    $run "$tmp/open" "$wheel/nvidia/cuda_runtime/lib/libcudart.so.12"
check "a file that tells nothing" 0 '^version 12090 ' -- env LD_LIBRARY_PATH="$tmp/bare" $run "$tmp/plain"
check "a soname that tells nothing" 0 '^version 11080 ' -- $run "$tmp/open" "$tmp/bare/libcudart.so.11.0"
check "version as asked for" 0 '^version 12010 ' -- env CUMU_RUNTIME_VERSION=12.1 $run "$tmp/runpath"
check "version as asked for of another runtime" 0 '^version 12040 ' -- env CUMU_RUNTIME_VERSION=13.1 $run "$tmp/runpath"
}

# The program's own cuDNN lies behind the facades' folder on the search path. The loader must go on to it from there,
# whatever errno was: where an audit module answers NULL for an entry, glibc does so if errno is ENOENT by chance.
own=$tmp/own
mkdir "$own"
printf 'libcudnn.so.9 { global: *; };\n' >"$tmp/map"
compile "$own/libcudnn.so.9" fake.c -shared -fPIC -Wl,-soname,libcudnn.so.9 "-Wl,--version-script=$tmp/map"
for way in local stale; do
    # shellcheck disable=SC2086
    check "the program's own cuDNN, errno $way" 0 '^version 4242 error 0 malloc 0 fake$' -- \
        env CUMU_CUDNN=own LD_LIBRARY_PATH="$own" $run "$tmp/open" $way libcudnn.so.9
done

# Every name that NVIDIA's libraries export, in the facade and under its version node.
compile "$tmp/names" names.c
for list in "$here"/../../mapping/known/*.symbols; do
    soname=$(basename "$list" .symbols)
    node=$(awk -v s="$soname" '$1 == "facade" && $3 == s {print $4}' "$here/../../mapping/sonames.map")
    # shellcheck disable=SC2086
    check "every known name of $soname" 0 "found $(wc -l <"$list") missing 0" -- \
        $run "$tmp/names" "$soname" "$node" "$list"
done

# Python, as PyTorch (paths, RTLD_GLOBAL), vLLM and SGLang (the path found in /proc/self/maps) do it.
if command -v python3 >/dev/null 2>&1 && python3 -c 'import ctypes' 2>/dev/null; then
    cat >"$tmp/version.py" <<'END'
import ctypes, sys
def version(lib):
    v = ctypes.c_int()
    error = lib.cudaRuntimeGetVersion(ctypes.byref(v))
    print("version", v.value, "error", error)
version(ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL))
maps = [line.split()[-1] for line in open("/proc/self/maps") if "libcudart" in line]
assert maps and maps[0].rpartition("/")[-1].rpartition(".so")[0].startswith("libcudart"), maps
version(ctypes.CDLL(maps[0]))
version(ctypes.CDLL("libcudart.so.12"))
version(ctypes.CDLL(None))
END
    for soname in libcudart.so.12 "$real/libcudart.so.12" "$real/libcudart.so"; do
        # shellcheck disable=SC2086
        check "ctypes, ${soname##*/}" 0 'version 12040 error 0' -- env LD_LIBRARY_PATH="$real" $run python3 "$tmp/version.py" "$soname"
        absent "ctypes, ${soname##*/}: no other version" '4242|version 1[13]'
    done
else
    echo "skip ctypes: no python3"
fi

# The runtime linked in, as nvcc does by default: NVIDIA's code, so built here or not at all.
cuda=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
archive=$(dirname "$(dirname "$cuda")")/lib64/libcudart_static.a
[ -r "$archive" ] || archive=${archive%lib64/*}lib/libcudart_static.a
# shellcheck disable=SC2086
if [ -x "$cuda" ] && [ -r "$archive" ]; then
    nv() { # SOURCE OUTPUT FLAGS...
        src=$1 out=$2
        shift 2
        "$cuda" -cudart static -gencode arch=compute_75,code=compute_75 -O2 "$here/$src" -o "$out" "$@"
    }
    nv ../fixtures/src/vectoradd.cu "$tmp/static"
    nv kernel.cu "$tmp/static.so" -shared -Xcompiler -fPIC
    strip -o "$tmp/stripped" "$tmp/static"
    strip -o "$tmp/stripped.so" "$tmp/static.so"
    compile "$tmp/nokernel" linked.c -DNO_DRIVER -s "$archive" -ldl -lrt -lpthread
    for object in static stripped; do
        check "$object runtime" 0 '^PASS vectoradd$' -- $run "$tmp/$object"
        check "$object runtime, one line of check" 0 'static' 'will run' -- "$cumu" check "$tmp/$object"
        check "$object runtime in a library opened later" 0 '^PASS vectoradd$' -- \
            $run "$tmp/plugin" "$tmp/$object.so"
        check "$object runtime beside a shared one of another version" 0 "$v12" '^PASS vectoradd$' -- \
            $run "$tmp/plugin" "$tmp/needs12.so" "$tmp/$object.so"
        check "$object runtime beside a facade that the program has" 0 '^PASS vectoradd$' "$v12" -- \
            $run "$tmp/needs13" "$tmp/$object.so" "$tmp/needs12.so"
    done
    check "stripped runtime without kernels" 0 'error 0 malloc 0 memory' -- $run "$tmp/nokernel"
    release=$("$cuda" --version | sed -n 's/.*release \([0-9]*\)\.\([0-9]*\),.*/\1 \2/p')
    compile "$tmp/symbols" linked.c -DNO_DRIVER "$archive" -ldl -lrt -lpthread
    for object in nokernel symbols; do
        check "the version of a runtime linked in, $object" 0 "^version ${release% *}0${release#* }0 " -- $run "$tmp/$object"
    done
    check "stripped runtime without the audit module: one line" 1 'cuGetExportTable: a CUDA runtime that is linked in' \
        -- env CUMU=1 CUMU_BACKEND=host LD_PRELOAD="$facade/libcuda.so.1" "$tmp/stripped"
    # One byte of one function differs: no release that is known.
    cp "$tmp/stripped" "$tmp/unknown"
    at=$(printf '%d' "0x$(nm "$tmp/static" | sed -n 's/ [tT] cudaMalloc$//p')")
    base=$(readelf -lW "$tmp/unknown" | awk '$1 == "LOAD" && $0 ~ / R E / {print $2, $3; exit}')
    patch_bytes "$tmp/unknown" $((at - ${base#* } + ${base% *})) c3
    check "a release that is not known: check says so" 2 'not known' 'will not run' -- "$cumu" check "$tmp/unknown"
    check "a release that is not known: one line" 1 "audit: .*exe: has the CUDA runtime linked in" -- $run "$tmp/unknown"
else
    echo "skip static runtime: no nvcc"
fi

# Not opted in: the facades are in the process, and pass every call on.
preload=$facade/libcudart.so.12:$facade/libcudart.so.11.0:$facade/libcuda.so.1
fake='version 4242 error 0 malloc 0 fake'
args='launch 4242 string fake string driver 4242 launch 4242'
pass() { # NAME PATTERN COMMAND...
    name=$1 pattern=$2
    shift 2
    check "not opted in: $name" 0 "$pattern" "$args" -- env REACH_FAKE=1 LD_PRELOAD="$preload" "$@"
    absent "not opted in, and quiet: $name" cumu
}
pass "LD_LIBRARY_PATH" "$fake" LD_LIBRARY_PATH="$real" "$tmp/plain"
pass "facades first on LD_LIBRARY_PATH" "$fake" LD_LIBRARY_PATH="$facade:$real" "$tmp/plain"
pass "RPATH of the program" "$fake" "$tmp/rpath"
pass "RUNPATH of the program" "$fake" "$tmp/runpath"
pass "RPATH of a library" "$fake" "$tmp/plugin" "$tmp/needs12.so"
pass "CUMU=0" "$fake" CUMU=0 "$tmp/rpath"
pass "with the audit module" "$fake" LD_AUDIT="$lib/libcumu-audit.so" "$tmp/rpath"
check "not opted in: by path" 0 "$fake" -- env LD_PRELOAD="$preload" "$tmp/open" "$real/libcudart.so.12"
check "not opted in: a child of an opted-out shell" 0 "$fake" -- env LD_PRELOAD="$preload" sh -c "'$tmp/rpath'; exit \$?"
if ldconfig -p 2>/dev/null | grep -q 'libcudart.so.12 ' || [ -e /usr/local/cuda/lib64/libcudart.so.12 ]; then
    echo "skip not opted in, and no NVIDIA library: there is one here"
else
    check "not opted in, and no NVIDIA library: one line" 0 'version 0 error 35 malloc 35 nothing' \
        'cumu: error: .*not opted in .*no NVIDIA libcudart.so.12' -- \
        env LD_PRELOAD="$preload" "$tmp/plain"
    if [ "$(grep -c cumu "$tmp/out")" = 1 ]; then
        echo "ok not opted in: and no second line"
    else
        echo "not ok not opted in: more than one line"
        bad=1
    fi
fi
exit $bad
