# Part of run.sh, which sources it.
# Doctor: the CPU libraries stand for an SDK, a script for its compiler.
# shellcheck shell=sh disable=SC2154
unset MUSA_HOME MUSA_PATH MUSA_INSTALL_PATH || true
check "doctor without an SDK" 0 '^driver: ' '^musart +not found$' '^no MUSA compiler' -- env PATH=/usr/bin:/bin "$cumu" doctor
mkdir -p "$tmp/sdk/lib" "$tmp/sdk/bin"
for f in "$B"/lib/cumu/host/*; do
    ln -s "$(cd "${f%/*}" && pwd)/${f##*/}" "$tmp/sdk/lib/"
done
cat >"$tmp/sdk/bin/mcc" <<'END'
#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o) out=$2; shift ;;
    *.mu) in=$1 ;;
    esac
    shift
done
if grep -q __activemask "$in"; then
    echo "$in:2:1: error: use of undeclared identifier '__activemask'"
    exit 1
fi
printf '\177ELF of a probe' >"$out"
END
chmod +x "$tmp/sdk/bin/mcc"
check "doctor with one" 0 '^musart +.*/sdk/lib/libmusart\.so\.5' '^  musa lacks [0-9]+$' '^musaRuntimeGetVersion +[0-9]+ \(status 0\)$' \
    '^device 0 attribute 75 +[0-9]+$' 'musaMalloc has type +2 ' '^error 1 +musaErrorInvalidValue$' '^a kernel +yes$' \
    "^__activemask +no: .*undeclared identifier" '^21 of 22$' -- \
    env CUMU_CACHE_DIR="$tmp/doctor-cache" MUSA_HOME="$tmp/sdk" "$cumu" doctor --record "$tmp/names"
check "doctor --record writes what mapping/known has" 0 '^musaMalloc$' -- cat "$tmp/names/libmusart.so.5.symbols"
# A library that crashes when asked must not take the report along.
printf 'int musaRuntimeGetVersion(int *v) { return *(volatile int *)0 + *v; }\n' >"$tmp/crash.c"
rm "$tmp/sdk/lib/libmusart.so.5"
"${CC:-cc}" -shared -fPIC -o "$tmp/sdk/lib/libmusart.so.5" "$tmp/crash.c"
check "doctor outlives a library that crashes" 0 '^the libraries died of signal 11$' '^21 of 22$' -- \
    env CUMU_CACHE_DIR="$tmp/doctor-cache" MUSA_HOME="$tmp/sdk" "$cumu" doctor
check "doctor into a file" 0 'the report is in' -- env MUSA_HOME=/nonexistent "$cumu" doctor -o "$tmp/report"
check "doctor for an unknown architecture" 125 'mp_17|unknown' -- "$cumu" doctor --target mp_17
