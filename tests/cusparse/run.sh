#!/bin/sh
# Programs that use cuSPARSE through `cumu run`, against plain loops; and the tables of its enums, which no change
# survives.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
here=$(dirname "$0")

for t in generic spgemm formats legacy blocks pruning eleven; do
    "${CC:-cc}" -std=gnu11 -O1 -Wall -Wextra -I"$here" -I"$B/gen" -o "$tmp/$t" "$here/$t.c" \
        "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -ldl -lm
    if "$cumu" run --backend host -- "$tmp/$t" >"$tmp/out" 2>&1; then
        tail -n 1 "$tmp/out"
    else
        grep -v gap: "$tmp/out" | head -n 20
        bad=1
    fi
done

# A stand-in for an SDK whose SpMV has another shape.
mkdir "$tmp/sdk"
ln -s "$(realpath "$B")"/lib/cumu/host/libmusa*.so* "$tmp/sdk/"
"${CC:-cc}" -shared -fPIC -w -Wl,-soname,libmusparse.so -o "$tmp/sdk/libmusparse.so" "$here/older_sdk.c" \
    "$tmp/sdk/libmusart.so.5" "$tmp/sdk/libmusa.so.1"
"${CC:-cc}" -std=gnu11 -Wall -Wextra -I"$B/gen" -o "$tmp/older" "$here/older.c" "$B/lib/cumu/facade/libcusparse.so.12" \
    "$B/lib/cumu/facade/libcudart.so.12" -Wl,--allow-shlib-undefined -ldl
LD_LIBRARY_PATH=$tmp/sdk "$cumu" run --backend musa -- "$tmp/older" || bad=1

# One that throws C++ exceptions out of a product of sparse matrices, as SDK 4.3.5's does.
if command -v "${CXX:-c++}" >/dev/null 2>&1; then
    "${CXX:-c++}" -shared -fPIC -w -Wl,-soname,libmusparse.so -o "$tmp/sdk/libmusparse.so" "$here/throwing_sdk.cpp"
    "${CC:-cc}" -std=gnu11 -Wall -Wextra -I"$B/gen" -o "$tmp/throwing" "$here/throwing.c" \
        "$B/lib/cumu/facade/libcusparse.so.12" -Wl,--allow-shlib-undefined
    LD_LIBRARY_PATH=$tmp/sdk "$cumu" run --backend musa -- "$tmp/throwing" 2>"$tmp/said" || bad=1
    grep -q 'gap: cusparse: cusparseSpGEMM: .*exception' "$tmp/said" || {
        echo "not ok an exception is said"
        bad=1
    }
else
    echo "skip an SDK that throws: no C++ compiler"
fi

types=$here/../../mapping/types
sh "$here/../lib/enums.sh" "${CC:-cc}" "$B/bin/gen" "$types/cusparse.enum" "$here" "$tmp/enums" || bad=1
exit $bad
