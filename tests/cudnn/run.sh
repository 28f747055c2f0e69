#!/bin/sh
# Programs that use cuDNN through `cumu run`, against plain loops; and its enums.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../lib/failing.sh"
here=$(dirname "$0")
types=$here/../../mapping/types

# The same program for version 8, whose statuses have other numbers.
for t in convolution layers rnn rnn.8 legacy convolution.8 legacy.8 graph graph.8 attention attention_backward blocks \
    norms pieces graph_bad heads heads.8 fused fused.8 vectors vectors.8 folds folds.8 rows response causal grouped overrides wrong \
    wrong_rnn wrong_rnn.8 wrong_sequences wrong_sequences.8 wrong_numbers wrong_fused drawn states memory programs programs.8 sequences sequences.8; do
    version=9 numbers=
    [ "$t" = "${t%.8}" ] || version=8 numbers="-DBAD=3 -DUNSUPPORTED=9 -DNOT_INITIALIZED=1"
    # shellcheck disable=SC2086
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra $numbers -I"$here" -I"$B/gen" -o "$tmp/$t" "$here/${t%.8}.c" \
        "$B/lib/cumu/facade/libcudnn.so.$version" "$B/lib/cumu/facade/libcudart.so.12" \
        -Wl,--allow-shlib-undefined -lm -pthread
    passes "$cumu" run --backend host -- "$tmp/$t"
done
# Graphs whose every step is first done wrong.
for t in $hostile_cudnn; do
    "${CC:-cc}" -std=gnu11 -O1 -w -include "$here/hostile.h" -I"$here" -I"$B/gen" -o "$tmp/$t.hostile" "$here/$t.c" \
        "$B/lib/cumu/facade/libcudnn.so.9" "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -lm
    passes "$cumu" run --backend host -- "$tmp/$t.hostile"
done
check "what is refused is named" 0 'gap: .*statistics of peers' 'gap: .*over groups' 'gap: .*a later release' \
    'gap: .*begins a tensor' -- \
    "$cumu" run --backend host -- "$tmp/graph_bad"
# While memory runs out.
for t in $failing_cudnn; do
    "${CC:-cc}" -std=gnu11 -O1 -w -I"$here" -I"$B/gen" -o "$tmp/$t.failing" "$here/$t.c" "$here/../lib/fail_at.c" \
        "$B/lib/cumu/facade/libcudnn.so.9" "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -lm
    fail_allocations "$t" 5 status_first "$cumu" run --backend host -- "$tmp/$t.failing"
done
# A program that brings a cuDNN keeps it, however it finds it, if it is told so, or runs on MUSA.
mkdir "$tmp/own"
printf 'unsigned long cudnnGetVersion(void) { return 42; }\n' >"$tmp/own.c"
"${CC:-cc}" -shared -fPIC -Wl,-soname,libcudnn.so.9 -o "$tmp/own/libcudnn.so.9" "$tmp/own.c"
cat >"$tmp/which.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    unsigned long (*version)(void) = library ? dlsym(library, "cudnnGetVersion") : NULL;
    printf("version %lu\n", version ? version() : 0);
    return 0;
}
END
"${CC:-cc}" -o "$tmp/which" "$tmp/which.c"
printf 'unsigned long cudnnGetVersion(void);\n#include <stdio.h>\nint main(void) { printf("version %%lu\\n", cudnnGetVersion()); return 0; }\n' >"$tmp/linked.c"
"${CC:-cc}" -o "$tmp/linked" "$tmp/linked.c" "$tmp/own/libcudnn.so.9" -Wl,--enable-new-dtags,-rpath,"$tmp/own"
for way in own:42 cumu:92800 auto:92800; do
    export CUMU_CUDNN="${way%%:*}"
    check "by path, ${way%%:*}" 0 "^version ${way#*:}$" -- "$cumu" run --backend host -- "$tmp/which" "$tmp/own/libcudnn.so.9"
    check "by RUNPATH, ${way%%:*}" 0 "^version ${way#*:}$" -- "$cumu" run --backend host -- "$tmp/linked"
    check "by LD_LIBRARY_PATH, ${way%%:*}" 0 "^version ${way#*:}$" -- \
        env LD_LIBRARY_PATH="$tmp/own" "$cumu" run --backend host -- "$tmp/which" libcudnn.so.9
done
check "on MUSA" 0 "^version 42$" -- "$cumu" run --backend musa -- "$tmp/linked"
CUMU_BACKEND=musa check "on MUSA, by the variable" 0 "^version 42$" -- "$cumu" run -- "$tmp/which" "$tmp/own/libcudnn.so.9"
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/cudnn.enum" "$here" "$tmp/enums" || bad=1
exit $bad
