#!/bin/sh
# CUDA extensions of PyTorch beside torch_musa: the rewriting of names; with libtorch also the extensions.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")
top=$here/../..
gen=$B/bin/gen

# A rewritten name, demangled, is the demangled name with the same renames: c++filt knows nothing of ours.
renamed() { # NAME RULES SED-SCRIPT: names are in $tmp/names
    "$gen" torch-names "$2" <"$tmp/names" >"$tmp/new"
    c++filt <"$tmp/names" | sed "$3" >"$tmp/want"
    c++filt <"$tmp/new" >"$tmp/got"
    # What c++filt cannot read is left out: vectorised mathematics, and few others.
    n=$(paste "$tmp/names" "$tmp/want" "$tmp/got" | awk -F '\t' '
        $3 ~ /^[?]/ { print "not read: " $1; bad++; next }
        $2 ~ /^_Z/ || $3 ~ /^_Z/ { skipped++; next }
        $2 != $3 { print $2 "\n" $3; bad++ }
        END { print NR + 0, bad + 0, skipped + 0 }' | tee "$tmp/out" | tail -n 1)
    # shellcheck disable=SC2086  # three numbers
    set -- "$1" $n
    if [ "$2" -gt 20 ] && [ "$3" = 0 ] && [ "$4" -le $(($2 / 10)) ]; then
        echo "ok torch/names: $1, $2 names"
    else
        echo "not ok torch/names: $1: $2 names, $3 wrong, $4 not read by c++filt"
        head -n 6 "$tmp/out" | cut -c1-200 | sed 's/^/    /'
        bad=1
    fi
}

stress='s/Tensor/Blob/g;s/c10/abcdefghijklm/g;s/cuda/musa/g;s/CUDA/MUSA/g;s/Cuda/Musa/g'
rules='s/CUDA/MUSA/g;s/cuda/musa/g;s/Cuda/Musa/g
s/\bCUstream_st/MUstream_st/g;s/\bCUevent_st/MUevent_st/g
s/\bcublasContext\b/_mublasHandle_t/g;s/getCurrentMUSASparseHandle/getCurrentCUDASparseHandle/'
for list in libc10_cuda.so libtorch_cuda.so; do
    grep -v '^#' "$top/mapping/torch/$list.exports" >"$tmp/names"
    renamed "$list as the map renames it" "$top/mapping/torch/names.rules" "$rules"
done
found=
for l in libc10 libtorch_cpu libtorch_python; do
    for file in "/usr/lib/$(uname -m)-linux-gnu/$l.so" "${TORCH_LIB:-/none}/$l.so"; do
        [ -e "$file" ] || continue
        found=1
        nm -D "$file" | awk '{ print $NF }' | sed 's/@.*//' | grep '^_Z' | sort -u >"$tmp/names"
        renamed "$l.so with other renames" "$here/stress.rules" "$stress"
    done
done
if [ -z "$found" ]; then
    echo "skip torch: no libtorch-dev: the names of a whole library"
fi

# What the map cannot say.
expect_error() { # NAME PATTERN: the rules file is on standard input
    cat >"$tmp/bad.rules"
    printf '_ZN3c104cuda12device_countEv\n' >"$tmp/libtoy.so.exports"
    check "$1" 1 "$2" -- "$gen" emit "$tmp/gen" "$tmp/bad.rules" "$tmp/libtoy.so.exports"
}
expect_error torch/rules-unknown-name 'bad.rules:1: _ZN1xE: in no list of exports' <<'EOF'
stub _ZN1xE ! "x"
EOF
expect_error torch/rules-endless "bad.rules:1: a: 'ba' holds 'a'" <<'EOF'
rename a ba
EOF
expect_error torch/rules-twice 'bad.rules:2: .*: second line; expected it only at .*:1' <<'EOF'
stub _ZN3c104cuda12device_countEv ! "x"
name _ZN3c104cuda12device_countEv = y
EOF
printf '_ZN3c104cu\n' >"$tmp/libtoy.so.exports"
check torch/exports-cut-name 1 "libtoy.so.exports:1: _ZN3c104cu: not understood at '4cu'" -- \
    "$gen" emit "$tmp/gen" "$tmp/libtoy.so.exports"

if [ ! -e "$B/tests/torch/host" ]; then
    echo "skip torch: no libtorch-dev: extensions beside torch_musa"
    exit "$bad"
fi
t=$B/tests/torch
run="$cumu run --backend host --"
export CUMU_HOST_DEVICES=2
LD_LIBRARY_PATH=$(cd "$B/lib/cumu/host" && pwd) # where the stand-in for torch_musa finds MUSA
export LD_LIBRARY_PATH

# shellcheck disable=SC2086
{
    status=0
    timeout 120 $run "$t/host" "$t/libmusa_python.so" "$t/extension.so" >"$tmp/out" 2>&1 || status=$?
    cat "$tmp/out"
    if [ "$status" != 0 ] || [ "$(grep -c '^ok ' "$tmp/out")" -lt 24 ]; then
        echo "not ok torch/extension: exit $status"
        bad=1
    fi
    if /usr/bin/python3 -c 'import torch' 2>/dev/null; then
        $run /usr/bin/python3 "$here/devices.py" "$t/libmusa_python.so" "$t" >"$tmp/out" 2>&1 || bad=1
        cat "$tmp/out"
        if [ "$(grep -c '^ok ' "$tmp/out")" -lt 9 ] || grep -q '^not ok' "$tmp/out"; then
            echo "not ok torch/python"
            bad=1
        fi
    else
        echo "skip torch: no python3-torch: devices between Python and an extension"
    fi
    check torch/name-without-counterpart 1 \
        '^cumu: error: torch: _ZN3c104cuda21warn_or_error_on_syncEv: .* lacks _ZN3c104musa21warn_or' \
        'exception: cumu: torch: _ZN3c104cuda21warn_or_error_on_syncEv' -- \
        $run "$t/host" "$t/libmusa_python.so" "$t/extension.so" lacking
    check torch/key-out-of-range 1 'exception: cumu: torch: dispatch key 40000 is none of PyTorch [12]' -- \
        $run "$t/host" "$t/libmusa_python.so" "$t/extension.so" bad-key
    check torch/unknown-release 1 '^cumu: error: torch: PyTorch 9.9.1 is not known' \
        '^cumu: error: torch: scale: not registered' "exception: Could not find|exception: .*toy::scale" -- \
        $run "$t/host" "$t/libmusa_python.so" "$t/extension.so" call "$t/libmusa_python.so.9"
    check torch/unknown-release-allocator 1 'exception: cumu: torch: .*not one that cumu serves|exception: c10::cuda::CUDAC' -- \
        $run "$t/host" "$t/libmusa_python.so" "$t/extension.so" allocator "$t/libmusa_python.so.9"
    check torch/other-numbers 1 '^cumu: error: torch: PyTorch [12].* calls dispatch keys [0-9]+ and [0-9]+ Even and Even' -- \
        $run "$t/host" "$t/libmusa_python.so" "$t/extension.so" call "$t/libmusa_python.so.names"
    check torch/not-opted-in 2 'libc10_cuda.so|libcudart' -- "$t/host" "$t/libmusa_python.so" "$t/extension.so"
}

exit "$bad"
