#!/bin/sh
# Kernels for MUSA devices ahead of time, by a stand-in for mcc that takes the documented command line; and the way
# round: emitted source through nvcc back to PTX, which tier 0 runs with the results of the kernel it came from.
# shellcheck disable=SC2086 # $warm is words
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
if [ "$(grep -c -e '--musa-device-only --offload-arch=mp_31 -O2 .* -ffp-contract=off -c -o [^ ]* [^ ]*\.mu$' "$tmp/sdk/calls")" = 14 ]; then
    echo "ok the command line"
else
    echo "not ok the command line"
    bad=1
fi
check "they are listed" 0 'mp_22 .*_Z5callsPi' -- "$cumu" cache list
check "what MUSA lacks is named" 1 'fetch_2d.*has no code for mp_31: PTX line [0-9]+: tex' ' not$' -- $warm mp_31 "$fix/texture"
sdk fail
check "a compiler that fails" 1 'mcc: status 1: .*error: no such builtin' '^1 kernels.* 0 compiled, 0 were there, 1 not' -- $warm mp_31 "$fix/vectoradd"
sdk empty
check "a compiler that gives nothing" 1 'mcc: its output holds no code for mp_31' '1 not' -- $warm mp_31 "$fix/vectoradd"
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
    check "a bundle without ours" 1 'holds no code for mp_22' '1 not' -- $warm mp_22 "$fix/vectoradd"
fi
check "an architecture that nobody knows" 125 'is none of mp_21, mp_22, mp_31' -- "$cumu" cache warm --target mp_99 "$fix/vectoradd"
check "no compiler" 126 'no MUSA compiler' -- env PATH=/nowhere "$cumu" cache warm --target mp_31 "$fix/vectoradd"
check "a compiler that is none" 126 'CUMU_MCC names no program' -- env CUMU_MCC=/nowhere/mcc "$cumu" cache warm --target mp_31 "$fix/vectoradd"

# ---- the way round ----
if command -v nvcc >/dev/null 2>&1; then
    for t in control calls async insn_half; do
        check "by nvcc and back: $t" 0 '^# [1-9][0-9]* kernels compiled' -- env MUSA_BY=nvcc "$B/tests/musa/$t"
    done
else
    echo "# skipped: no nvcc, the way round is not gone"
fi
exit $bad
