# Part of run.sh, which sources it.
# Doctor: the CPU libraries stand for an SDK, a script for its compiler.
# shellcheck shell=sh disable=SC2154
unset MUSA_HOME MUSA_PATH MUSA_INSTALL_PATH || true
tab=$(printf '\t')
export CUMU_TEST_DOCTOR_SECONDS=1000 # a machine under load is no fault
check "doctor without an SDK" 0 "^driver${tab}none" "^file${tab}not found" "^file${tab}none: no MUSA compiler" '^== end [0-9]+$' -- \
    env PATH=/usr/bin:/bin "$cumu" doctor -o -
mkdir -p "$tmp/sdk/lib" "$tmp/sdk/bin"
for f in "$B"/lib/cumu/host/*; do
    ln -s "$(cd "${f%/*}" && pwd)/${f##*/}" "$tmp/sdk/lib/"
done
# Knows the later spelling only, bundles what it makes, breaks down on one name at -O2.
cat >"$tmp/sdk/bin/mcc" <<'END'
#!/bin/sh
all=$*
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    *.mu) in=$1 ;;
    --version) echo "mcc version 4.0.1"; echo "InstalledDir: ${0%/mcc}"; exit 0 ;;
    --cuda-device-only | -fmusa-rdc) echo "mcc: error: unknown argument: '$1'"; exit 1 ;;
    esac
    shift
done
: >"$in.left"
echo "${in%/*}" >>"${0%/bin/mcc}/folders"
if grep -q __activemask "$in"; then
    echo "$in:2:1: error: use of undeclared identifier '__activemask'"
    exit 1
fi
case $all in *-O2*) if grep -q vprintf "$in"; then exit 139; fi ;; esac
printf '__CLANG_OFFLOAD_BUNDLE__\1\0\0\0\0\0\0\0\110\0\0\0\0\0\0\0\30\0\0\0\0\0\0\0\10\0\0\0\0\0\0\0musa-_31' >"$out"
printf '\177ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\375\0\1\0\0\0' >>"$out"
END
sed -i 's/musa-_31/musa-x-mp_31/; s/\\10\\0\\0\\0\\0\\0\\0\\0musa/\\14\\0\\0\\0\\0\\0\\0\\0musa/; s/BUNDLE__\\1\(\(\\0\)*\)\\110/BUNDLE__\\1\1\\104/' "$tmp/sdk/bin/mcc"
chmod +x "$tmp/sdk/bin/mcc"
export CUMU_CACHE_DIR="$tmp/doctor-cache"
check "says so in plain words" 0 'no MUSA device answers: there is no driver$' '^  - no compiler' -- \
    env PATH=/usr/bin:/bin "$cumu" doctor -o "$tmp/report"
absent "without what follows from it" 'graph|form |lacks'
check "doctor with one" 0 '^Report of cumu .*: kernels run here$' '^  - 2 devices answer; .*the CPU$' \
    '^  - the update of graphs takes three arguments, answers 0$' '/mcc compiles 21 of 22 constructs' \
    "does not take __activemask: .*undeclared identifier" 'breaks down on vprintf .*-O1 only' '^  - 43 of 43 kernels' \
    'sum over devices: right: 2 devices' 'mccl lacks [0-9]+ functions; .*mcclMemAlloc \(14\)' -- \
    env CUMU_HOST_DEVICES=2 MUSA_HOME="$tmp/sdk" "$cumu" doctor -o "$tmp/report"
check "its report" 0 "^musaRuntimeGetVersion${tab}[0-9]+$" "^device 0 attribute 75${tab}[0-9]+$" \
    "^type of musaMalloc's memory${tab}2 " "^error 1${tab}musaErrorInvalidValue$" "^musaMalloc$" \
    "^--cuda-device-only${tab}refused: status 1: mcc: error: unknown argument" "^--musa-device-only${tab}taken$" \
    "^output${tab}bundle of 1$" "^bundle's member${tab}musa-x-mp_31 at 68, 24 bytes: ELF64 of type 3 for machine 253$" \
    "^version${tab}mcc version 4.0.1$" "^textures${tab}right$" "^printf of kernels${tab}right$" \
    "^to the device, pinned${tab}[0-9.]+ GB/s$" "^a launch among many${tab}[0-9.]+ us$" \
    "^mcc: sqrtf${tab}not tried: the CPU libraries take no compiled code$" "^device${tab}none that takes compiled code$" \
    "^the toolkit's header alone${tab}[0-9]+ ms$" "^a kernel by -O2${tab}no: status 1 after [0-9]+ ms: " -- cat "$tmp/report"
check "and leaves nothing of the compiler's" 1 -- \
    sh -c '[ ! -s "$1" ] || xargs ls -d <"$1" 2>/dev/null | grep .' - "$tmp/sdk/folders"
check "doctor --explain says the same" 0 '^  - 43 of 43 kernels' -- "$cumu" doctor --explain "$tmp/report"
check "doctor --fixture" 0 'libmusart.so.5.names: [0-9]+ names$' -- "$cumu" doctor --fixture "$tmp/report" -o "$tmp/names"
check "which is what the library exports" 0 '^musaMalloc$' -- cat "$tmp/names/libmusart.so.5.names"
# What names the person or the machine does not get into a report.
mkdir -p "$tmp/home/alice"
cp -r "$tmp/sdk" "$tmp/home/alice/"
check "doctor of a person" 0 '^== end' -- env USER=alice HOME="$tmp/home/alice" SECRET=swordfish MUSA_HOME="$tmp/home/alice/sdk" \
    CUMU_MCC_FLAGS=-Dswordfish CUMU_CACHE_DIR="$tmp/home/alice/cache" "$cumu" doctor -o -
absent "tells neither name nor folder nor environment" "alice|swordfish|$tmp|[^a-z]$(uname -n)[^a-z]"
# Reports that are none, damaged, or made to harm.
reports=$corpus/doctor
check "explain: a report of a device" 0 '^Report of cumu 0.2: kernels run here$' 'graphs cannot be updated' \
    'kernel "shuffles up": wrong: thread 32 .*functions of warps are wrong' 'neither spelling' \
    '^  - mcc: warpSize: 128$' 'lacks 2 functions; .*muMemPoolCreate \(5\);' -- "$cumu" doctor --explain "$reports/whole"
check "explain: cut off" 126 'cut: line [0-9]+: does not end; the file is cut off$' -- "$cumu" doctor --explain "$reports/cut"
check "explain: without its end" 126 'cut off: it has no end$' -- "$cumu" doctor --explain "$reports/no-end"
check "explain: lines are missing" 126 'lines are missing' -- "$cumu" doctor --explain "$reports/counted"
check "explain: more behind it" 126 'stands behind the end' -- "$cumu" doctor --explain "$reports/behind"
check "explain: a terminal's commands" 126 'line 3: holds what is not plain text' -- "$cumu" doctor --explain "$reports/escape"
check "explain: another version's" 126 'another version' -- "$cumu" doctor --explain "$reports/other-version"
check "explain: no report" 126 'no report of cumu doctor|not plain text' -- "$cumu" doctor --explain "$cumu"
check "explain: no file" 126 'No such file' -- "$cumu" doctor --explain "$tmp/nowhere"
check "fixture: names that leave the folder" 126 'not the name of a library' -- "$cumu" doctor --fixture "$reports/empty-lines" -o "$tmp/names"
check "fixture: nowhere to write" 125 'wants a folder' -- "$cumu" doctor --fixture "$reports/whole"
# A library that crashes when asked must not take the report along.
printf 'int musaRuntimeGetVersion(int *v) { return *(volatile int *)0 + *v; }\n' >"$tmp/crash.c"
rm "$tmp/sdk/lib/libmusart.so.5"
"${CC:-cc}" -shared -fPIC -o "$tmp/sdk/lib/libmusart.so.5" "$tmp/crash.c"
check "doctor outlives a library that crashes" 0 'versions: crashes: died of signal 11$' '/mcc compiles 21 of 22' -- \
    env MUSA_HOME="$tmp/sdk" "$cumu" doctor -o "$tmp/report"
check "doctor where nothing can be written" 126 'cannot|No such file' -- "$cumu" doctor -o "$tmp/nowhere/report"
check "doctor for an unknown architecture" 125 'mp_17|unknown' -- "$cumu" doctor --target mp_17
unset CUMU_CACHE_DIR CUMU_TEST_DOCTOR_SECONDS
