// Lifetimes of kernels and variables: libraries that come and go, several devices, a device reset, threads.
// Argument: the library to open and close.
#include <cstdio>
#include <dlfcn.h>
#include <thread>
#include <vector>

extern "C" int plugin();
__managed__ int shared_count = 1;
__device__ int own = 100;

__global__ void count(int add) {
    shared_count += 1;
    own += add;
}

static int own_value() {
    int h = -1;
    cudaMemcpyFromSymbol(&h, own, sizeof h);
    return h;
}

int main(int argc, char **argv) {
    int n = 0;
    cudaGetDeviceCount(&n);
    int first = plugin(), second = plugin();
    printf("linked %d %d\n", first, second);
    for (int i = 0; i < 3 && argc > 1; i++) {
        void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        if (!lib)
            return 1;
        printf("opened %d\n", ((int (*)())dlsym(lib, "plugin"))());
        dlclose(lib);
    }
    for (int d = 0; d < n; d++) {
        cudaSetDevice(d);
        count<<<1, 1>>>(d + 1);
        cudaDeviceSynchronize();
    }
    printf("managed %d\n", shared_count);
    for (int d = 0; d < n; d++) {
        cudaSetDevice(d);
        printf("own of device %d: %d\n", d, own_value());
    }
    cudaSetDevice(0);
    cudaDeviceReset();
    count<<<1, 1>>>(1);
    cudaDeviceSynchronize();
    printf("after reset %d %d\n", own_value(), shared_count);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.emplace_back([=] {
            cudaSetDevice(i % n);
            for (int k = 0; k < 20; k++)
                count<<<1, 1>>>(0);
            cudaDeviceSynchronize();
        });
    for (auto &t : threads)
        t.join();
    printf("%s\n", cudaGetErrorString(cudaGetLastError()));
    return 0;
}
