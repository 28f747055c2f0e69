#!/bin/sh
# Programs that use cuSOLVER through `cumu run`: factors multiply back to their matrices, by plain loops; the same over
# stand-ins for older SDKs' libraries; and the tables of its enums, which no change survives.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0") types=$(dirname "$0")/../../mapping/types

build() {
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Wno-deprecated-non-prototype -I"$here" -I"$B/gen" -I"$here/../cublas" \
        -o "$tmp/$1" "$here/$1.c" "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -ldl -lm
}
for t in factor orthogonal eigen svd wide general sparse kept mg; do
    build "$t"
    passes "$cumu" run --backend host -- "$tmp/$t"
done
passes env CUMU_HOST_DEVICES=3 "$cumu" run --backend host -- "$tmp/mg"

if [ -e "$B/lib/cumu/host/libmusolver.so.1" ]; then
    build old
    for sdk in 3 4; do
        lib=$tmp/sdk$sdk/lib
        mkdir -p "$lib"
        cp "$B"/lib/cumu/host/libmusart.so.5 "$B"/lib/cumu/host/libmusa.so.1 "$B"/lib/cumu/host/libmublas.so.1 "$lib/"
        "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -Wno-strict-prototypes -Wno-deprecated-non-prototype -fPIC -shared \
            -DSDK=$sdk -o "$lib/libmusolver.so" "$here/sdk.c" -lopenblas
        passes env MUSA_HOME="$tmp/sdk$sdk" "$cumu" run --backend musa -- "$tmp/old" $sdk
    done
fi
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/cusolver.enum" "$here" "$tmp/enums" || bad=1
exit $bad
