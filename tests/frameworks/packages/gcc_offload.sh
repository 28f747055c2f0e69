#!/bin/sh
# GCC: OpenMP target regions and OpenACC, compiled to PTX by Debian's GCC, loaded by libgomp's plug-in.
# package: GCC offload (OpenMP, OpenACC)
# apt: bookworm gcc-12-offload-nvptx gcc-12 libgomp-plugin-nvptx1
# cuda: driver
# what: OpenMP target: map, reduction, teams and SIMD, atomics, declare target; OpenACC: kernels, reduction, data, gangs
# check: usr/lib/x86_64-linux-gnu/libgomp-plugin-nvptx.so.1
# cpu: (compilers and host code)
mode=$1 folder=$2

# program NAME OPTION: the program on standard input, whose output on the device must be the host's
program() {
    name=$1 option=$2
    cat >"$folder/$name.c"
    echo "# running $name"
    if [ "$mode" = cpu ]; then
        if gcc-12 -O2 "$option" -foffload=disable "$folder/$name.c" -lm -o "$folder/$name.host" 2>"$folder/log" &&
            gcc-12 -O2 "$option" -foffload=nvptx-none -foffload-options=-lm "$folder/$name.c" -lm -o "$folder/$name.offload" \
                2>"$folder/log" && "$folder/$name.host" >"$folder/$name.want"; then
            echo "ok $name"
        else
            echo "not ok $name: $(tail -n 1 "$folder/log")"
        fi
        return
    fi
    if ! OMP_TARGET_OFFLOAD=MANDATORY ACC_DEVICE_TYPE=nvidia timeout 60 "$folder/$name.offload" >"$folder/$name.got" \
        2>"$folder/log"; then
        echo "not ok $name: $(grep -v 'note:' "$folder/log" | tail -n 1)"
    elif cmp -s "$folder/$name.want" "$folder/$name.got"; then
        echo "ok $name"
    else
        echo "not ok $name: '$(head -n 1 "$folder/$name.got")', want '$(head -n 1 "$folder/$name.want")'"
    fi
}

program map -fopenmp <<'C'
#include <stdio.h>
int main(void)
{
    int a[100], on_host = 0;
    for (int i = 0; i < 100; i++) a[i] = i;
#pragma omp target map(tofrom : a)
    for (int i = 0; i < 100; i++) a[i] = a[i] * 3 + 1;
    for (int i = 0; i < 100; i++) on_host += a[i];
    printf("%d\n", on_host);
}
C
program teams -fopenmp <<'C'
#include <stdio.h>
int main(void)
{
    enum { N = 5000 };
    static double x[N], y[N];
    double sum = 0;
    for (int i = 0; i < N; i++) x[i] = i, y[i] = N - i;
#pragma omp target teams distribute parallel for simd map(to : x) map(tofrom : y) reduction(+ : sum)
    for (int i = 0; i < N; i++) { y[i] += 2 * x[i]; sum += y[i]; }
    printf("%.1f %.1f %.1f\n", sum, y[0], y[N - 1]);
}
C
program atomics -fopenmp <<'C'
#include <stdio.h>
int main(void)
{
    int bins[16] = {0};
#pragma omp target teams distribute parallel for map(tofrom : bins)
    for (int i = 0; i < 3000; i++) {
#pragma omp atomic
        bins[i * 7 % 16]++;
    }
    for (int i = 0; i < 16; i++) printf("%d ", bins[i]);
    printf("\n");
}
C
program declared -fopenmp <<'C'
#include <math.h>
#include <stdio.h>
#pragma omp declare target
static int table[4] = {1, 2, 3, 4};
static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
#pragma omp end declare target
int main(void)
{
    int r = 0;
    double s = 0;
#pragma omp target map(tofrom : r, s)
    {
        r = fib(12) + table[2];
        s = floor(sqrt(1000.0) * 100);
    }
    printf("%d %.0f\n", r, s);
}
C
program parallel -fopenmp <<'C'
#include <stdio.h>
int main(void)
{
    int n = 0, a[64];
#pragma omp target map(from : a) map(tofrom : n)
    {
        for (int i = 0; i < 64; i++) a[i] = 0;
#pragma omp parallel for num_threads(4)
        for (int i = 0; i < 64; i++) a[i] = i * i;
#pragma omp parallel for reduction(+ : n)
        for (int i = 0; i < 64; i++) n += a[i];
    }
    printf("%d %d\n", n, a[63]);
}
C
program acc_kernels -fopenacc <<'C'
#include <stdio.h>
int main(void)
{
    enum { N = 4000 };
    static float a[N], b[N];
    double sum = 0;
    for (int i = 0; i < N; i++) a[i] = i % 17;
#pragma acc data copyin(a) copyout(b)
    {
#pragma acc parallel loop
        for (int i = 0; i < N; i++) b[i] = a[i] * a[i];
    }
#pragma acc parallel loop reduction(+ : sum) copyin(b)
    for (int i = 0; i < N; i++) sum += b[i];
    printf("%.0f %.0f\n", sum, b[33]);
}
C
program acc_gangs -fopenacc <<'C'
#include <stdio.h>
int main(void)
{
    static int m[40][50];
#pragma acc parallel loop gang copy(m) num_gangs(8) vector_length(32)
    for (int i = 0; i < 40; i++) {
#pragma acc loop vector
        for (int j = 0; j < 50; j++) m[i][j] = i * j;
    }
    long sum = 0;
    for (int i = 0; i < 40; i++) for (int j = 0; j < 50; j++) sum += m[i][j];
    printf("%ld\n", sum);
}
C
