#!/bin/sh
# Every command that README and GUIDE show is in the list beside this, and does what the list says when it is typed.
# A line of the list: the exit status and a pattern of the output, or `not: why it is not run here`; a tab; the command.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
top=$here/../..

# Commands in blocks begin with `$ ` or stand in those that have nothing but commands; those in the text are in `...`.
shown() {
    for f in "$top/README.md" "$top/shim/cli/GUIDE.md"; do
        awk '/^```/ { block = !block; next }
            block && /^\$ / { sub(/^\$ /, ""); print }
            block && /^(make|build\/bin\/cumu)( |$)/' "$f"
        awk '/^```/ { block = !block; next } !block' "$f" | grep -o '`[^`]*`' | tr -d '`' |
            grep -E '^(CUMU_[A-Z_]*=[^ ]+ )*cumu [a-z-]' || :
    done | sed -E 's/ {2,}#.*//; s/ +$//' | grep -E '(^|[ /])(cumu|make)( |$)' | sort -u
}
shown >"$tmp/all"
grep -vE '^cumu [a-z]+$' "$tmp/all" >"$tmp/shown"
cut -f 2 "$here/commands" | sort -u >"$tmp/listed"
check "commands that are shown are listed" 0 '^none$' -- sh -c 'comm -23 "$1/shown" "$1/listed" | grep . || echo none' - "$tmp"
check "commands that are listed are shown" 0 '^none$' -- sh -c 'comm -13 "$1/shown" "$1/listed" | grep . || echo none' - "$tmp"

check "verbs that are named exist" 0 '^none$' -- sh -c '
    grep -oE "^([^ ]*/)?cumu [a-z]+" "$1/all" | sed "s/.* //" | sort -u >"$1/verbs"
    for v in $(cat "$1/verbs"); do [ "$v" = help ] || "$2" help "$v" >/dev/null 2>&1 || echo "$v"; done | grep . || echo none' - "$tmp" "$cumu"
check "and all that exist are named" 0 '^none$' -- sh -c '
    "$2" help | sed -n "s/^  \([a-z][a-z]*\)  .*/\1/p" >"$1/exist"
    for v in $(cat "$1/exist"); do [ "$v" = version ] || grep -qx "$v" "$1/verbs" || echo "$v"; done | grep . || echo none' - "$tmp" "$cumu"

# What the commands name, in a folder of its own.
mkdir -p "$tmp/bin" "$tmp/work/other" "$tmp/work/build"
B=$(cd "$B" && pwd) fix=$B/tests/fixtures
ln -s "$B/bin/cumu" "$tmp/bin/cumu"
for name in vectoradd vectorAdd prog tests; do cp "$fix/vectoradd" "$tmp/work/$name"; done
cp "$fix/reduce" "$tmp/work/reduction"
cp "$fix/packed_sass" "$tmp/work/libfoo.so"
cp "$fix/packed" "$tmp/work/other/libfoo.so"
cp "$fix/packed_sass" "$tmp/work/program"
mkdir -p "$tmp/work/build/bin"
ln -s "$B/bin/cumu" "$tmp/work/build/bin/cumu"
tab=$(printf '\t')
while IFS=$tab read -r want command; do
    case $want in
    not:*) continue ;;
    esac
    pattern=${want#* }
    check "$command" "${want%% *}" ${pattern:+"$pattern"} -- env CUMU_CACHE_DIR="$tmp/cache" PATH="$tmp/bin:$PATH" \
        sh -c 'cd "$1" && eval "$2"' - "$tmp/work" "$command" </dev/null
done <"$here/commands"

# The job for CI: its steps as they stand, for a program without a defect and with one.
awk '/^memcheck:$/ { job = 1 } /^```/ { job = 0 }
    job && sub(/^ *(- )?run: /, "") { sub(/ +#.*/, ""); print }' "$top/shim/cli/GUIDE.md" >"$tmp/steps"
check "the job has three steps" 0 '^nvcc ' '^cumu memcheck .* ./prog$' '^cat memcheck.log$' -- cat "$tmp/steps"
PATH="$tmp/bin:$PATH:/usr/local/cuda/bin"
if command -v nvcc >/dev/null 2>&1; then
    step() { sed -n "$1p" "$tmp/steps"; }
    for n in 100 101; do
        mkdir -p "$tmp/job/src"
        cat >"$tmp/job/src/prog.cu" <<END
__global__ void fill(int *p, int n) { if (threadIdx.x < n) p[threadIdx.x] = 1; }
int main() {
    int *p;
    cudaMalloc(&p, 400);
    fill<<<1, 128>>>(p, $n);
    cudaFree(p);
    return 0;
}
END
        check "the job: build, $n elements" 0 -- sh -c 'cd "$1/job" && eval "$2"' - "$tmp" "$(step 1)"
        status=$((n - 100))
        check "the job: memcheck, $n elements" $status -- env CUMU_CACHE_DIR="$tmp/cache" \
            sh -c 'cd "$1/job" && eval "$2"' - "$tmp" "$(step 2)"
        check "the job: its log, $n elements" 0 "ERROR SUMMARY: $((status * 2)) error" -- \
            sh -c 'cd "$1/job" && eval "$2"' - "$tmp" "$(step 3)"
    done
    check "which names the line" 0 'at fill.int., int. in .*/src/prog.cu:1 ' -- cat "$tmp/job/memcheck.log"
else
    echo "skip the job for CI: no nvcc"
fi
exit "$bad"
