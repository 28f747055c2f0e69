#!/bin/sh
# The static part of the checks: layers, style, what is cited, shell, the options table, a build by each compiler.
# usage: scripts/lint.sh [quick]     quick: without the builds, on what the last one left
# shellcheck disable=SC2317  # the steps are called through step()
set -eu
cd "$(dirname "$0")/.."
: "${B:=build}"
bad=0

step() { # NAME COMMAND...
    name=$1
    shift
    if "$@"; then
        echo "ok   lint $name"
    else
        echo "FAIL lint $name"
        bad=1
    fi
}

shells() {
    git ls-files -co --exclude-standard -- scripts .ci tests |
        grep -E '^scripts/|^\.ci/|^tests/run$|\.sh$' | grep -v '\.py$' |
        xargs shellcheck -x -P SCRIPTDIR -S warning
}

# GUIDE's table of options is what the tool prints.
options() {
    "$B/bin/cumu" help options --markdown >"$B/options.md"
    sed -n '/<!-- options:/,/<!-- end of options -->/p' shim/cli/GUIDE.md | sed '1d;$d' |
        diff -u - "$B/options.md" || {
        echo "shim/cli/GUIDE.md: the options table differs; scripts/guide writes it"
        return 1
    }
}

build() { # COMPILER FOLDER [VARIABLE=...]
    cc=$1 folder=$2
    shift 2
    make -s -j"$(nproc)" B="$folder" CC="$cc" "$@" all >"$B/lint.log" 2>&1 || {
        grep -vE '^(cc|as|ld|gen) ' "$B/lint.log" | head -n 40
        return 1
    }
}

mkdir -p "$B"
step layers scripts/layers
step style scripts/style
step cited scripts/cited
step format scripts/format --check
if command -v shellcheck >/dev/null 2>&1; then
    step shell shells
else
    echo "skip lint shell: no shellcheck"
fi
if [ "${1-}" != quick ]; then
    step "build by gcc" build gcc "$B"
fi
if [ -x "$B/bin/cumu" ]; then
    step "layers of objects" scripts/link-layers "$B"
    step options options
fi
if [ "${1-}" != quick ]; then
    if command -v clang >/dev/null 2>&1; then
        step "build by clang" build clang "$B/clang" PLAIN="$B" QUICK=1
    else
        echo "skip lint build by clang: no clang"
    fi
fi
exit "$bad"
