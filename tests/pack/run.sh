#!/bin/sh
# PTX packs: a program of machine code only, run by the PTX of another build of it; packs that lack kernels, are for
# other builds, or are damaged anywhere.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
sass=$fix/packed_sass
export CUMU_JIT=0

# run PACKS COMMAND...
cat >"$tmp/run" <<END
#!/bin/sh
CUMU_PTX_PACK=\$1
export CUMU_PTX_PACK
shift
exec "$cumu" run --backend host -- "\$@"
END
chmod +x "$tmp/run"

check "machine code only, without a pack" 1 'cudaErrorNoKernelImageForDevice' 'no PTX to translate; build it with' -- "$tmp/run" "" "$sass"
check "a pack of another build" 0 '^modules +1: 1 complete' '^kernels +4: PTX for 4 \(100\.0 %\), 0 missing$' -- \
    "$cumu" pack make --from "$fix/packed" --for "$sass" -o "$tmp/all.ptxpack"
check "what it holds" 0 '^kernels +4: PTX for 4' -- "$cumu" pack show "$tmp/all.ptxpack"
check "the program runs by it" 0 '^PASS packed$' -- "$tmp/run" "$tmp/all.ptxpack" "$sass"
check "an earlier pack that is not there" 0 '^PASS packed$' 'CUMU_PTX_PACK: .*/none is not there$' -- \
    "$tmp/run" "$tmp/none:$tmp/all.ptxpack" "$sass"
check "check without it" 2 'will not run: machine code \(SASS\) only' -- "$cumu" check "$sass"
check "check with it" 0 '^pack +1 module; PTX for 4 of 4 kernels$' '^verdict +will run$' -- \
    "$cumu" check --pack "$tmp/all.ptxpack" "$sass"
check "check with one that is not there" 126 'none is not there' -- "$cumu" check --pack "$tmp/none" "$sass"

# Kernels that the pack lacks: by name, by their parameters.
"$cumu" ptx "$fix/packed" 0 >"$tmp/all.ptx"
sed 's/plain/other/' "$tmp/all.ptx" >"$tmp/less.ptx"
sed 's/\.f64 plain_param_1/.f32 plain_param_1/' "$tmp/all.ptx" >"$tmp/params.ptx"
check "a pack that lacks a kernel" 1 '^  missing plain$' 'PTX for 3 \(75\.0 %\), 1 missing' -- \
    "$cumu" pack make --from "$tmp/less.ptx" --for "$sass" -o "$tmp/less.ptxpack"
check "a kernel with other parameters is missing" 1 '^  missing plain$' 'have other parameters' -- \
    "$cumu" pack make --from "$tmp/params.ptx" --for "$sass" -o "$tmp/params.ptxpack"
sed 's/table\[16\]/table[20]/' "$tmp/all.ptx" >"$tmp/sizes.ptx"
check "a module with variables of other sizes is not taken" 2 'no PTX, lacks 4 of 4' '1 modules have variables' -- \
    "$cumu" pack make --from "$tmp/sizes.ptx" --for "$sass" -o "$tmp/sizes.ptxpack"
check "the use of a kernel that it lacks ends the process" 86 \
    '^cumu: error: kernel: plain: cannot be used \(98\): the pack .*less\.ptxpack lacks it; the process ends' -- \
    "$tmp/run" "$tmp/less.ptxpack" "$sass"
check "or is an error" 1 'cudaErrorInvalidDeviceFunction' -- env CUMU_MISSING_KERNEL=error \
    "$tmp/run" "$tmp/less.ptxpack" "$sass"
check "without that kernel it runs" 0 '^PASS packed$' -- "$tmp/run" "$tmp/less.ptxpack" "$sass" less
check "check with it counts the kernel" 1 'plain: machine code \(SASS\) only, and the pack lacks it' \
    'will run with gaps' -- "$cumu" check --pack "$tmp/less.ptxpack" "$sass"

# A pack for another program, nothing to take, nothing to serve.
check "a pack with no kernel of the program" 2 'no PTX, lacks 1 of 1' -- \
    "$cumu" pack make --from "$fix/packed" --for "$fix/sass_only" -o "$tmp/other.ptxpack"
check "a pack of another program" 1 'cudaErrorNoKernelImageForDevice' 'no pack of CUMU_PTX_PACK is for it' -- \
    "$tmp/run" "$tmp/other.ptxpack" "$sass"
check "check with a pack of another program" 2 'none of those given is for it' -- \
    "$cumu" check --pack "$tmp/other.ptxpack" "$sass"
check "no PTX to take" 126 'no PTX in it' -- "$cumu" pack make --from "$sass" --for "$sass" -o "$tmp/x"
check "nothing to serve" 126 'no module of machine code only' -- \
    "$cumu" pack make --from "$fix/packed" --for "$fix/packed" -o "$tmp/x"
check "a file that is not there" 127 'none: cannot be read' -- \
    "$cumu" pack make --from "$tmp/none" --for "$sass" -o "$tmp/x"
check "a word too many" 125 'what is --to' -- "$cumu" pack make --to "$sass"

# A cubin alone, by the driver API.
"$cumu" ptx "$sass" 1 >"$tmp/alone.cubin"
"${CC:-cc}" -std=gnu11 -I"$here/../../shim" -I"$B/gen" -o "$tmp/load" "$here/load.c" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined
"$cumu" pack make --from "$fix/packed" --for "$tmp/alone.cubin" -o "$tmp/alone.ptxpack" >"$tmp/made"
check "a cubin" 1 '^load 209$' -- "$tmp/run" "" "$tmp/load" "$tmp/alone.cubin"
check "a cubin with a pack" 0 '^result 22$' -- "$tmp/run" "$tmp/alone.ptxpack" "$tmp/load" "$tmp/alone.cubin"

# Files that others could change, and damage: named, and CUDA's error as if there were no pack; never a wrong value.
cp "$tmp/all.ptxpack" "$tmp/open.ptxpack"
chmod g+w "$tmp/open.ptxpack"
check "a pack that others could write" 1 'open\.ptxpack could be written by others' 'cudaErrorNoKernelImage' -- \
    "$tmp/run" "$tmp/open.ptxpack" "$sass"
check "a folder" 1 'is no file' -- "$tmp/run" "$tmp" "$sass"
size=$(stat -c %s "$tmp/all.ptxpack")
wrong=0
for at in 0 7 71 72 80 $((size / 3)) $((size / 2)) $((size - 1)); do
    head -c "$at" "$tmp/all.ptxpack" >"$tmp/cut.ptxpack"
    "$tmp/run" "$tmp/cut.ptxpack" "$sass" >"$tmp/out" 2>&1 && wrong=1
    grep -qE 'cut\.ptxpack is (truncated|empty|no PTX pack)' "$tmp/out" || wrong=1
done
[ "$wrong" = 0 ] && echo "ok truncated anywhere" || { echo "not ok truncated anywhere"; bad=1; }
at=0
while [ "$at" -lt "$size" ]; do
    cp "$tmp/all.ptxpack" "$tmp/bad.ptxpack"
    patch_bytes "$tmp/bad.ptxpack" "$at" "$(od -An -tx1 -j "$at" -N 1 "$tmp/bad.ptxpack" | sed 's/ 0/ 1/; s/ [2-9a-f]/ 0/; s/ //g')"
    status=0
    "$tmp/run" "$tmp/bad.ptxpack" "$sass" >"$tmp/out" 2>&1 || status=$?
    cmp -s "$tmp/all.ptxpack" "$tmp/bad.ptxpack" || case $status in
    1 | 86) grep -qE 'is damaged|is no PTX pack|is truncated|another version|it is longer' "$tmp/out" || wrong=$at ;;
    *) wrong=$at ;;
    esac
    at=$((at + 47))
done
[ "$wrong" = 0 ] && echo "ok a byte changed anywhere" || { echo "not ok a byte changed at $wrong"; bad=1; }
exit $bad
