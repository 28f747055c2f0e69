# Part of run.sh, which sources it.
# Check of many files: folders, wheels, what hostile archives hold.
# shellcheck shell=sh disable=SC2154
corpus=$(cd "$(dirname "$0")/../fuzz/corpus" && pwd)
mkdir -p "$tmp/tree/sub" "$tmp/empty" "$tmp/unpacked"
export TMPDIR="$tmp/unpacked"
cp "$fix/vectoradd" "$tmp/tree/b"
cp "$(command -v ls)" "$tmp/tree/plain"
cp "$corpus/elf/small.so" "$tmp/tree/sub/small.so"
ln -s .. "$tmp/tree/sub/loop"
head -c 100 "$fix/vectoradd" >"$tmp/tree/sub/cut"
check "check of a folder, a loop of links in it" 2 '^program +.*/tree/b$' '^program +.*/tree/sub/small\.so$' \
    '^program +.*/tree/sub/cut$' '^files +1 will run, 0 with gaps, 2 will not run; 1 without CUDA$' -- "$cumu" check "$tmp/tree"
check "check, tsv: the total of a folder" 2 "$(printf '^total\twill not run\t1\t0\t2\t1\t0$')" -- \
    "$cumu" check --format tsv "$tmp/tree"
# A static runtime that has symbols tells by the names of its own functions: those of 12.2 and newer, and of before.
for name in libcudart_static_17 __cudart17 __cudartx; do
    printf '.type %s, @function\n%s: ret\n.size %s, 1\n.section .note.GNU-stack, ""\n' "$name" "$name" "$name" |
        ${CC:-cc} -shared -x assembler -o "$tmp/$name.so" -
done
check "check by names of a static runtime" 0 '^runtime +static$' -- "$cumu" check "$tmp/libcudart_static_17.so"
check "check by names of an older one" 0 '^runtime +static$' -- "$cumu" check "$tmp/__cudart17.so"
check "check of a name like them" 0 '^runtime +none$' -- "$cumu" check "$tmp/__cudartx.so"
# few.ptx OTHERS: a kernel that nothing keeps from running, and those that use a comparison of depths, which no back end has.
few() {
    printf '%s\n' .version\ 8.7 .target\ sm_70 .address_size\ 64 '.visible .entry fine() { ret; }'
    for n in $(seq "$1"); do
        echo ".visible .entry k$n() { .reg .f32 %f; .reg .u64 %d; tex.2d.v4.f32.f32 {%f, %f, %f, %f}, [%d, {%f, %f}], %f; ret; }"
    done
}
few 19 >"$tmp/few.ptx"
check "check of 20 kernels, one of which can be translated" 1 '^verdict +will run with gaps \(19\)$' -- "$cumu" check "$tmp/few.ptx"
few 20 >"$tmp/few.ptx"
check "check of 21 kernels, one of which can be translated" 2 \
    '^verdict +will not run: only 1 of its 21 kernels can be translated \(0 have no PTX\)$' -- "$cumu" check "$tmp/few.ptx"
# What is cut off, as by a download, has no say in what it needs.
size=$(wc -c <"$fix/vectoradd")
for part in 2 4 9; do
    head -c "$((size * part / 10))" "$fix/vectoradd" >"$tmp/part"
    check "check of $part tenths of a program" 2 '^verdict +will not run: .*(a truncated ELF file|is cut off)' -- "$cumu" check "$tmp/part"
done
head -c "$((size - 100))" "$fix/vectoradd" >"$tmp/part"
check "check of a program without its last section headers" 2 'will not run: .* is cut off: its section headers' -- \
    "$cumu" check "$tmp/part"
check "ptx of a program without its last section headers" 2 'is cut off: its section headers' -- "$cumu" ptx "$tmp/part"
{ head -c 40 "$fix/vectoradd"; printf '\0\0\0\0\0\0\0\0'; tail -c +49 "$fix/vectoradd" | head -c 12; printf '\0\0\0\0'
  tail -c +65 "$fix/vectoradd"; } >"$tmp/part"
check "check of a program without section headers" 2 'will not run: .* has no section headers' -- "$cumu" check "$tmp/part"
check "check of an empty folder" 126 'no ELF file' -- "$cumu" check "$tmp/empty"
check "check names libraries that are opened later" 2 '^opens +libcublas\.so\.12: (facade|missing)$' -- \
    "$cumu" check "$corpus/elf/small.so"
check "check of a wheel" 2 '^program +.*good\.zip/pkg/a\.so$' 'is truncated' -- "$cumu" check "$corpus/zip/good.zip"
check "check of a wheel whose names leave it" 2 '\.\./up\.so has a name that leaves' 'link\.so is a symbolic link' \
    'fine\.so File exists' '; 5 could not be read' -- "$cumu" check "$corpus/zip/evil.zip"
check "check of a damaged wheel" 126 'pkg/a\.so is damaged' -- "$cumu" check "$corpus/zip/damaged.zip"
head -c 500 "$corpus/zip/good.zip" >"$tmp/cut.whl"
check "check of a truncated wheel" 126 'without its directory' -- "$cumu" check "$tmp/cut.whl"
check "check of one that is there and one that is not" 1 '^verdict +will run$' 'cannot be read' '1 could not be read' -- \
    "$cumu" check "$fix/vectoradd" "$tmp/nothing"
check "check leaves no files behind" 0 -- rmdir "$tmp/unpacked"
unset TMPDIR
if command -v python3 >/dev/null 2>&1; then
    check "check, json: a schema, files, a verdict" 0 '^1 _Z3addPKf ptx ok will run 1$' -- sh -c '
        "$1" check --format json "$2" | python3 -c "
import json, sys
d = json.load(sys.stdin)
f = d[\"files\"][0]
k = f[\"kernel\"][0]
print(d[\"schema\"], k[\"name\"][:9], k[\"code\"], k[\"translated\"], f[\"verdict\"][\"verdict\"], d[\"total\"][\"will_run\"])"' \
        - "$cumu" "$fix/vectoradd"
else
    echo "skip check, json: no python3"
fi

# A wheel for another Python, or for another system, says so; its contents are looked at all the same.
mkdir "$tmp/python"
: >"$tmp/python/python3.11"
chmod +x "$tmp/python/python3.11"
ln -s python3.11 "$tmp/python/python3"
wheel() { # NAME
    cp "$corpus/zip/good.zip" "$tmp/$1.whl"
    PATH="$tmp/python:$PATH" "$cumu" check "$tmp/$1.whl" 2>&1 >"$tmp/report" | sed "s|.*whl: ||" >"$tmp/said" || :
}
for tag in cp39-cp39-manylinux_2_28_x86_64 cp312-abi3-linux_x86_64 1-cp310.cp312-cp310-linux_x86_64; do
    wheel "a-1-$tag"
    check "a wheel $tag" 0 '^is for Python 3\.[0-9]+, and python3 here is 3\.11,.* pip download' -- cat "$tmp/said"
done
for tag in cp311-cp311-manylinux_2_28_x86_64 cp38-abi3-linux_x86_64 py3-none-any py2.py3-none-linux_x86_64 cp310.cp311-cp310-linux_x86_64 odd; do
    wheel "a-1-$tag"
    check "a wheel $tag" 0 '^none$' -- sh -c 'grep "is for" "$1" || echo none' - "$tmp/said"
done
wheel a-1-py3-none-win_amd64
check "a wheel for Windows" 0 '^is for win_amd64; take the file for manylinux' -- cat "$tmp/said"
