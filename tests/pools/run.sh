#!/bin/sh
# Stream-ordered allocation where the MUSA runtime has it, and where it lacks musaMallocAsync.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"

"${CC:-cc}" -I"$B/gen" -o "$tmp/client" "$(dirname "$0")/client.c" "$B/lib/cumu/facade/libcudart.so.13" \
    "$B/lib/cumu/facade/libcuda.so.1" -Wl,--allow-shlib-undefined
export CUMU_HOST_MEMORY=64M
check "the runtime's own" 0 '^ok pools' -- "$cumu" run --backend host -- "$tmp/client"

# An SDK of before 5.0: the same files, where the function goes by a name that nobody asks for.
mkdir -p "$tmp/old/lib" "$tmp/old/bin"
cp -RL "$B/lib/cumu" "$tmp/old/lib/"
cp "$cumu" "$tmp/old/bin/"
for f in "$tmp"/old/lib/cumu/host/libmusart.so*; do
    LC_ALL=C sed 's/musaMallocAsync/nusaMallocAsync/g' "$f" >"$f.new"
    mv "$f.new" "$f"
done
check "emulated" 0 '^ok pools' -- "$tmp/old/bin/cumu" run --backend host -- "$tmp/client"
absent "and nothing is missing" 'gap'
exit $bad
