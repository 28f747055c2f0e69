// A library with a kernel and a variable: linked, and opened and closed at run time.
__device__ int state = 3;

__global__ void bump(int *out) {
    *out = ++state;
}

extern "C" int plugin() {
    int *d, h = -1;
    cudaMalloc(&d, sizeof h);
    bump<<<1, 1>>>(d);
    cudaMemcpy(&h, d, sizeof h, cudaMemcpyDeviceToHost);
    cudaFree(d);
    return h;
}
