/* What muBLAS leaves as the last error is none of the program's; what the program did before stays. */
#include <stdio.h>

#include "cuda_functions.h"

int main(void)
{
    void *handle;
    float x = 1;
    int created = cublasCreate_v2(&handle), after = cudaPeekAtLastError();
    int scaled = cublasSscal_v2(handle, 1, &x, &x, 1), then = cudaGetLastError();
    int own = cudaSetDevice(99);
    cublasSscal_v2(handle, 1, &x, &x, 1);
    int kept = cudaGetLastError(), last = cudaGetLastError();
    int good = !created && !after && !scaled && !then && own == 101 && kept == 101 && !last;
    printf("%s no error of the library's own is seen: %d %d %d %d, %d %d %d\n", good ? "ok" : "not ok", created, after,
           scaled, then, own, kept, last);
    return !good;
}
