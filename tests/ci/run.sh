#!/bin/sh
# What people who live in Python or on a CI runner meet: the wheel, and the recipe for a hosted runner.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
export B
here=$(cd "$(dirname "$0")" && pwd)
scripts=$here/../../scripts

# As on a machine with nothing but Python: no library of the system's that the C library does not bring.
if python3 -m venv "$tmp/venv" >/dev/null 2>&1 && command -v patchelf >/dev/null 2>&1; then
    OUT="$tmp" VERSION=9.9 WHEEL_LEVEL=1 WHEEL_WITH="" python3 "$scripts/wheel.py" >"$tmp/made" 2>&1 || { cat "$tmp/made"; bad=1; }
    check "pip installs the wheel" 0 -- "$tmp/venv/bin/pip" install --no-index --disable-pip-version-check "$tmp"/cumu-9.9-*.whl
    check "a program runs from it" 0 '^PASS vectoradd$' -- "$tmp/venv/bin/cumu" run --backend host "$fix/vectoradd"
    check "so by Python's -m" 0 '^PASS vectoradd$' -- "$tmp/venv/bin/python" -m cumu run --backend host -- "$fix/vectoradd"
    check "with every kind of container" 0 '^PASS' -- "$tmp/venv/bin/cumu" run --backend host "$fix/lz4"
    check "the tool has what it reads with inside" 0 '^verdict +will run$' -- "$tmp/venv/bin/cumu" check "$fix/vectoradd"
    check "a name without a version is the facade" 0 '^0 1$' -- "$tmp/venv/bin/cumu" run --backend host -- python3 -c '
import ctypes
n = ctypes.c_int()
print(ctypes.CDLL("libcudart.so").cudaGetDeviceCount(ctypes.byref(n)), n.value)'
    check "NVIDIA's names start the tool" 0 '^GPU 0: ' -- "$tmp/venv/bin/cumu" run nvidia-smi -L
    check "only the C library is needed" 0 '^none$' -- sh -c '
        for f in "$1"/lib/cumu/libcumu-core.so "$1"/libexec/cumu-tool; do readelf -d "$f"; done |
            sed -n "s/.*(NEEDED).*\[\(.*\)\]/\1/p" | grep -vE "^(lib(c|m)\.so|ld-linux)" || echo none' - "$tmp/venv"

    # ---- the recipe's steps, one after another, as a runner would take them ----
    mkdir -p "$tmp/project/build/tests" "$tmp/runner"
    cp "$fix/vectoradd" "$fix/language" "$fix/reduce" "$tmp/project/build/tests/"
    : >"$tmp/path"
    # step NAME: the lines of its `run:`, one a script.
    step() {
        awk -v name="$1" '
            /^      - / { here = 0; block = 0 }
            $0 == "      - name: " name { here = 1; next }
            here && /^        run: \|$/ { block = 1; next }
            here && /^        run: / { sub(/^        run: /, ""); print; next }
            here && block { sub(/^          /, ""); print }' "$here/cuda-without-gpu.yml" >"$tmp/step"
        check "recipe: $1" "$2" -- env WHEEL="$(echo "$tmp"/cumu-9.9-*.whl)" CUMU_CACHE_DIR="$tmp/project/.cumu-cache" \
            CUMU_JIT=wait TESTS=build/tests RUNNER_TEMP="$tmp/runner" GITHUB_PATH="$tmp/path" \
            PATH="$(cat "$tmp/path" | paste -sd:)${tmp:+:$PATH}" sh -ec 'cd "$1/project" && . "$1/step"' - "$tmp"
    }
    PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1
    export PIP_NO_INDEX PIP_DISABLE_PIP_VERSION_CHECK
    step "Install cumu" 0
    step "Will they run" 0
    step "Run them" 0
    check "its kernels are kept" 0 '^[1-9]' -- sh -c 'find "$1/project/.cumu-cache" -type f | wc -l' - "$tmp"
    step "Look at every access of every thread" 0
    cp "$fix/sass_only" "$tmp/project/build/tests/"
    step "Will they run" 2
    rm "$tmp/project/build/tests/sass_only"
    cp "$fix/faults" "$tmp/project/build/tests/"
    step "Look at every access of every thread" 1
    check "uninstalling leaves nothing of it" 0 '^0$' -- sh -c '
        "$1/bin/pip" uninstall -qy cumu >/dev/null && find "$1" -path "*cumu*" ! -type d | wc -l' - "$tmp/venv"
else
    echo "skip the wheel: no venv or no patchelf"
fi
exit "$bad"
