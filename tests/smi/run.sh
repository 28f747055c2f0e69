#!/bin/sh
# What `cumu smi` shows, also as nvidia-smi from inside of a program: what scripts read of it, and what it refuses.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
unset CUMU_BACKEND CUMU_HOST_DEVICES CUMU_HOST_MEMORY || true
export CUMU_BACKEND=host CUMU_HOST_MEMORY=1G

uuid='GPU-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
check "the list" 0 "^GPU 0: .* \(UUID: $uuid\)$" "^GPU 1: " -- env CUMU_HOST_DEVICES=2 "$cumu" smi -L
check "a query" 0 '^index, name, memory.total \[MiB\], memory.used \[MiB\], temperature.gpu$' \
    '^0, cumu host CPU, 1024 MiB, [0-9]+ MiB, \[N/A\]$' -- \
    "$cumu" smi --query-gpu=index,name,memory.total,memory.used,temperature.gpu --format=csv
check "bare" 0 '^1024, 8\.[0-9]$' -- "$cumu" smi --query-gpu memory.total,compute_cap --format=csv,noheader,nounits
absent "without a head" memory
check "CUDA_VISIBLE_DEVICES hides nothing" 0 '^1$' -- env CUMU_HOST_DEVICES=2 CUDA_VISIBLE_DEVICES= \
    "$cumu" smi -i 1 --query-gpu=index --format=csv,noheader
check "devices by UUID" 0 '^1$' -- sh -c '
    export CUMU_HOST_DEVICES=2
    id=$("$1" smi -i 1 --query-gpu=uuid --format=csv,noheader)
    "$1" smi --id="$id" --query-gpu=index --format=csv,noheader' - "$cumu"
check "every field is known to itself" 0 -- sh -c '
    fields=$("$1" smi --help-query-gpu | sed -n "s/^\"\([^\"]*\)\".*/\1/p" | paste -sd,)
    test "$("$1" smi --query-gpu="$fields" --format=csv,noheader | tr "," "\n" | wc -l)" = \
        "$(echo "$fields" | tr "," "\n" | wc -l)"' - "$cumu"
check "an unknown field" 2 '^Field "nonsense" is not a valid field to query\.$' -- \
    "$cumu" smi --query-gpu=name,nonsense --format=csv
check "a query without a format" 2 'format' -- "$cumu" smi --query-gpu=name
check "an unknown format" 2 'xml' -- "$cumu" smi --query-gpu=name --format=xml
check "an unknown option" 2 'not recognized' -- "$cumu" smi --frobnicate
check "an unknown device" 6 '^No devices were found$' -- "$cumu" smi -i 7
check "no device" 6 '^No devices were found$' -- env CUMU_HOST_DEVICES=0 "$cumu" smi -L
check "a machine that is described wrongly" 9 'failed because' -- env CUMU_HOST_DEVICES=x "$cumu" smi
check "the table" 0 '^\| NVIDIA-SMI [0-9.]+ +Driver Version: [0-9.]+ +CUDA Version: [0-9]+\.[0-9]+ ' '\| +00000000:01:00.0 Off \|' \
    '^[A-Z][a-z]{2} [A-Z][a-z]{2} [ 0-9]{2} [0-9:]{8} 2[0-9]{3}$' '^\| .* +[0-9]+MiB / +1024MiB \|' '^\| Processes: +\|$' -- "$cumu" smi
check "the details" 0 '^Attached GPUs +: 1$' '^ +GPU UUID +: GPU-' '^ +Total +: 1024 MiB$' -- "$cumu" smi -q
check "topology" 0 '^GPU0.* X .*PSB' -- env CUMU_HOST_DEVICES=2 "$cumu" smi topo -m
check "versions" 0 '^DRIVER version +: [0-9]+\.' -- "$cumu" smi --version
check "to a file" 0 '^GPU 0: ' -- sh -c '"$1" smi -L -f "$2/list" && cat "$2/list"' - "$cumu" "$tmp"
check "again and again, until told" 0 '^3$' -- \
    sh -c '"$1" smi -lms 100 --query-gpu=index --format=csv,noheader | head -n 3 | grep -c "^0$"' - "$cumu"

# Other programs may run at the same time and be listed.
# From inside: sh finds the name on PATH; a program that holds memory is listed with it.
"${CC:-cc}" -w -o "$tmp/holds" -x c - -ldl <<'C'
#include <dlfcn.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    void *p, *cuda = dlopen("libcudart.so.13", RTLD_NOW);
    if (!cuda || ((int (*)())dlsym(cuda, "cudaMalloc"))(&p, 96ul << 20))
        return 1;
    return system(argv[1]) != 0;
}
C
check "nvidia-smi of a program's shell" 0 '^GPU 0: ' -- "$cumu" run --backend host sh -c 'nvidia-smi -L'
check "processes that hold memory" 0 '^[0-9]+, .*/holds, 96 MiB$' -- "$cumu" run --backend host "$tmp/holds" \
    'nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv,noheader'
check "in the table" 0 '^\| +0 +N/A +N/A +[0-9]+ +C .*holds +96MiB \|$' -- \
    "$cumu" run --backend host "$tmp/holds" nvidia-smi
check "whose lines are as wide as each other" 0 '^91$' -- "$cumu" run --backend host "$tmp/holds" \
    'nvidia-smi | grep "^[|+]" | awk "{print length}" | sort -u'
absent "all of them" '^[^9]|^9[^1]'
check "in the monitor" 0 '^ +0 +[0-9]+ +C .* holds' -- "$cumu" run --backend host "$tmp/holds" 'nvidia-smi pmon -c 1'
check "cumu run inside cumu run" 0 '^1$' -- "$cumu" run --backend host "$cumu" run --backend host sh -c \
    'echo "$PATH" | tr : "\n" | grep -c libexec/cumu'
exit "$bad"
