#!/bin/sh
# Kernels for MUSA devices ahead of time, by a stand-in for mcc that takes the documented command line; and the ways
# round: emitted source through clang or nvcc back to PTX, which tier 0 runs with the results of the kernel it came
# from.
# shellcheck disable=SC2086 # $warm and $small are words
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

export CUMU_CACHE_DIR="$tmp/cache"
unset MUSA_HOME MUSA_PATH MUSA_INSTALL_PATH CUMU_MCC || true

# What mcc would be told is kept; what it gives is an ELF file, or what the test asks for.
mkdir -p "$tmp/sdk/bin"
cat >"$tmp/sdk/bin/mcc" <<'END'
#!/bin/sh
here=${0%/bin/mcc}
echo "$@" >>"$here/calls"
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    *.mu) in=$1 ;;
    esac
    shift
done
case $(cat "$here/mode") in
fail) echo "$in: In function f:"; echo "$in:7:1: error: no such builtin"; exit 1 ;;
hang) sleep 100 ;;
empty) : >"$out"; exit 0 ;;
bundle) cp "$here/bundle" "$out"; exit 0 ;;
esac
grep -q 'CM_KERNEL.*void cumu_' "$in" || exit 3
printf '\177ELF of a kernel' >"$out"
END
chmod +x "$tmp/sdk/bin/mcc"
sdk() { echo "$1" >"$tmp/sdk/mode"; }
warm="env MUSA_HOME=$tmp/sdk $cumu cache warm --target"

sdk good
check "all kernels of a program" 0 '^7 kernels for mp_31: 7 compiled, 0 were there, 0 not' -- $warm mp_31 "$fix/language"
check "again: nothing to do" 0 ' 0 compiled, 7 were there' -- $warm mp_31 "$fix/language"
check "another architecture" 0 '^7 kernels for mp_22: 7 compiled' -- $warm mp_22 "$fix/language"
echo '# 5.2' >>"$tmp/sdk/bin/mcc"
check "another toolkit" 0 '^7 kernels for mp_31: 7 compiled' -- $warm mp_31 "$fix/language"
# Kernels share runs (tests/device counts them): the toolkit's first, and those of the other one.
runs=$(grep -c -e '--offload-arch=mp_31' "$tmp/sdk/calls")
told=$(grep -c -e '--cuda-device-only --offload-arch=mp_31 -O2 .* -ffp-contract=off -c -o [^ ]* [^ ]*\.mu$' "$tmp/sdk/calls")
if [ "$runs" -ge 2 ] && [ "$told" = "$runs" ]; then
    echo "ok the command line"
else
    echo "not ok the command line"
    bad=1
fi
check "they are listed" 0 'mp_22 .*_Z5callsPi' -- "$cumu" cache list
check "textures, too" 0 '^[0-9]* kernels for mp_31: [1-9][0-9]* compiled, 0 were there, 0 not' -- $warm mp_31 "$fix/texture"
check "and grid-wide barriers" 0 ' 0 not$' -- $warm mp_31 "$fix/waiting"
cat >"$tmp/lacks.ptx" <<'END'
.version 8.3
.target sm_90
.address_size 64
.visible .entry sizes(.param .u64 surface) {
.reg .b32 %r; .reg .u64 %d;
ld.param.u64 %d, [surface];
suq.width.b32 %r, [%d];
st.global.u32 [%d], %r;
ret;
}
END
check "what MUSA lacks is named" 2 'sizes: line 7: .*questions about a texture or surface' -- "$cumu" ptx --emit musa "$tmp/lacks.ptx"
sdk fail
check "a compiler that fails" 1 'mcc: status 1: .*error: no such builtin' '^1 kernels.* 0 compiled, 0 were there, 1 not' -- $warm mp_31 "$fix/vectoradd"
sdk empty
check "a compiler that gives nothing" 1 'mcc: its output is neither an ELF file nor a fat binary' '1 not' -- $warm mp_31 "$fix/vectoradd"
sdk hang
export CUMU_COMPILE_SECONDS=1
check "a compiler that hangs" 1 'mcc: took too long' '1 not' -- $warm mp_31 "$fix/vectoradd"
unset CUMU_COMPILE_SECONDS
if command -v python3 >/dev/null 2>&1; then
    python3 - "$tmp/sdk/bundle" <<'END'
import struct, sys
parts = [(b"host-x86_64-unknown-linux-gnu", b""), (b"musa-mtgpu-mt-musa--mp_21", b"\177ELF 21"),
         (b"musa-mtgpu-mt-musa--mp_31", b"\177ELF 31")]
at = 24 + 8 + sum(24 + len(t) for t, _ in parts)
head, body = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(parts)), b""
for t, b in parts:
    head += struct.pack("<QQQ", at + len(body), len(b), len(t)) + t
    body += b
open(sys.argv[1], "wb").write(head + body)
END
    sdk bundle
    check "a bundle with code for several" 0 ' 1 compiled' -- $warm mp_31 "$fix/vectoradd"
    check "a bundle without ours" 1 'its output (has no code for mp_22|is a damaged bundle|is a bundle without)' '1 not' -- $warm mp_22 "$fix/vectoradd"
fi
check "an architecture that nobody knows" 125 'is none of mp_21, mp_22, mp_31 and above' -- "$cumu" cache warm --target mp_17 "$fix/vectoradd"
check "no compiler" 126 'no MUSA compiler' -- env PATH=/nowhere "$cumu" cache warm --target mp_31 "$fix/vectoradd"
check "a compiler that is none" 126 'CUMU_MCC names no program' -- env CUMU_MCC=/nowhere/mcc "$cumu" cache warm --target mp_31 "$fix/vectoradd"

# ---- every kernel of the fixtures to clang's CUDA front end, as the MUSA half of the prelude has it ----
if "${CLANGXX:-clang++}" --print-targets 2>/dev/null | grep -q nvptx64; then
    mkdir -p "$tmp/clang/bin"
    realpath "$(dirname "$0")/toolkit" >"$tmp/clang/toolkit"
    cat >"$tmp/clang/bin/mcc" <<'END'
#!/bin/sh
set -eu
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    --offload-arch=mp_*) arch=${1#--offload-arch=mp_}0 ;;
    *.mu) in=$1 ;;
    esac
    shift
done
"${CLANGXX:-clang++}" -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-gpu-arch=sm_80 -Wno-unknown-cuda-version \
    -D__MUSA_ARCH__="$arch" -isystem "$(cat "${0%/bin/mcc}/toolkit")" -Wall -Werror -Wno-unused -std=c++14 -fsyntax-only "$in"
printf '\177ELF of a kernel' >"$out"
END
    chmod +x "$tmp/clang/bin/mcc"
    for f in capture errors faults graphs histogram language mandelbrot matmul nbody pipeline print reduce symbols \
        texture waiting; do
        check "clang takes the kernels of $f" 0 '^[1-9][0-9]* kernels.* 0 not$' -- \
            env MUSA_HOME="$tmp/clang" "$cumu" cache warm --target mp_31 "$fix/$f"
    done
    for f in language reduce waiting; do
        check "clang takes the kernels of $f for 128 lanes" 0 '^[1-9][0-9]* kernels.* 0 not$' -- \
            env MUSA_HOME="$tmp/clang" "$cumu" cache warm --target mp_22 "$fix/$f"
    done
else
    echo "# skipped: no clang with a PTX back end, kernels are not read by a second front end"
fi

# ---- the ways round: to PTX again, by what there is ----
# by TOOL TEST...: the last lines of a test's own output say what was wrong.
by() {
    tool=$1
    shift
    for t in "$@"; do
        got=0
        MUSA_BY=$tool "$B/tests/musa/$t" >"$tmp/out" 2>&1 || got=$?
        case $got in
        0) echo "ok by $tool and back: $t: $(grep -o '[0-9]* kernels, .*' "$tmp/out")" ;;
        77) echo "# skipped: by $tool and back: $(tail -n 1 "$tmp/out")"; return 0 ;;
        *) echo "not ok by $tool and back: $t"; grep -v '^ok' "$tmp/out" | sed 's/^/    /' | head -n 8; bad=1 ;;
        esac
    done
}
# as NAME SETTING TEST...: with another setting of on_musa.h.
as() {
    name=$1 setting=$2
    shift 2
    for t in "$@"; do
        got=0
        env "$setting" "$B/tests/musa/$t" >"$tmp/out" 2>&1 || got=$?
        case $got in
        0) echo "ok $name: $t: $(grep -o '[0-9]* kernels, .*' "$tmp/out")" ;;
        77) echo "# skipped: $name: $(tail -n 1 "$tmp/out")"; return 0 ;;
        *) echo "not ok $name: $t"; grep -v '^ok' "$tmp/out" | sed 's/^/    /' | head -n 8; bad=1 ;;
        esac
    done
}
# Every form of shim/ptx/musa/native.def, by stand-ins for what a toolkit has (native.h).
native=$(sed -n 's/^MU_NATIVE(\([A-Z0-9_]*\),.*/-DCM_USE_\1/p' "$(dirname "$0")/../../shim/ptx/musa/native.def" | tr '\n' ' ')
as "native forms" MUT_FLAGS="$native" atomics collectives insn_float insn_half memory wmma
as flattened MUSA_FLAT=1 async atomics barriers barriers_soft calls control flow insn_bits
small='async atomics barriers bulk calls control flow insn_bits insn_float insn_half memory odd texture'
by clang $small collectives insn_int sparse wmma
by clang22 $small collectives
by nvcc async calls control insn_half
exit $bad
