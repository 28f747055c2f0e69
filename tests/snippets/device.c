/* Devices: properties in each runtime's layout, attributes, versions. */
#include "cuda_structs.h"
#include "snippet.h"

void snippet_device(void)
{
    int n = 0, v = 0, device = -1;
    OK(M(cudaGetDeviceCount, musaGetDeviceCount)(&n));
    EXPECT(n >= 1);
    OK(C(cudaInitDevice)(0, 0, 0));
    OK(C(cudaRuntimeGetVersion)(&v));
    IS(v / 1000, 13);
    OK(V(12, cudaRuntimeGetVersion)(&v));
    IS(v / 1000, 12);
    OK(V(11, cudaRuntimeGetVersion)(&v));
    IS(v / 1000, 11);
    OK(C(cudaDriverGetVersion)(&v));
    EXPECT(v >= 13050); /* no toolkit is newer, or its compiler makes machine code instead of PTX */
    OK(C(cuDriverGetVersion)(&v));
    EXPECT(v >= 13050);

    /* A guard behind each struct: nobody writes past the caller's version of it. */
    struct {
        union {
            struct cumu_cudaDeviceProp_v13 p;
            char raw[1008];
        } u;
        char guard[64];
    } p13;
    struct {
        char raw[1032];
        char guard[64];
    } p12;
    struct {
        char raw[728];
        char guard[64];
    } p11;
    memset(&p13, 0x5a, sizeof p13);
    memset(&p12, 0x5a, sizeof p12);
    memset(&p11, 0x5a, sizeof p11);
    OK(C(cudaGetDeviceProperties)((void *)&p13, 0));
    OK(((__typeof__(wrap_cudaGetDeviceProperties_v2) *)snippet_versioned(12, "cudaGetDeviceProperties_v2"))(
        (void *)&p12, 0));
    OK(V(11, cudaGetDeviceProperties)((void *)&p11, 0));
    for (int i = 0; i < 64; i++)
        EXPECT(p13.guard[i] == 0x5a && p12.guard[i] == 0x5a && p11.guard[i] == 0x5a);
    EXPECT(strcmp(p13.u.raw, p12.raw) == 0 && strcmp(p12.raw, p11.raw) == 0 && p13.u.raw[0] != 0);
    int mp13, mp12, mp11; /* multiProcessorCount: mapping/facts/cuda.md S1 */
    memcpy(&mp13, p13.u.raw + 384, 4);
    memcpy(&mp12, p12.raw + 388, 4);
    memcpy(&mp11, p11.raw + 388, 4);
    EXPECT(mp13 > 0 && mp13 == mp12 && mp12 == mp11);
    IS(C(cudaGetDeviceProperties)((void *)&p13, n), cudaErrorInvalidDevice);
    IS(C(cudaGetLastError)(), cudaErrorInvalidDevice);

    OK(C(cudaDeviceGetAttribute)(&v, cudaDevAttrWarpSize, 0));
    IS(v, 32);
    OK(C(cudaDeviceGetAttribute)(&v, cudaDevAttrMultiProcessorCount, 0));
    IS(v, mp13);
    int major, minor;
    OK(C(cudaDeviceGetAttribute)(&major, cudaDevAttrComputeCapabilityMajor, 0));
    OK(C(cuDeviceGetAttribute)(&v, 75, 0));
    IS(v, major);
    OK(C(cuDeviceComputeCapability)(&v, &minor, 0));
    IS(v, major);
    IS(C(cudaDeviceGetAttribute)(&v, 100000, 0), cudaErrorInvalidValue);
    (void)C(cudaGetLastError)();
    int props[14] = {0}; /* CUdevprop: maxThreadsPerBlock first */
    OK(C(cuDeviceGetProperties)(props, 0));
    IS(props[0], 1024);
    OK(C(cudaChooseDevice)(&device, &p13.u.p));
    EXPECT(device >= 0 && device < n);
}
