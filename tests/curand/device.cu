// cuRAND's device header (curand_kernel.h), compiled by nvcc and run as kernels, against the library: the numbers of
// curand_init(seed, lane, 0) are those that the library lays out in lanes.
#include <curand.h>
#include <curand_kernel.h>
#include <cstdio>
#include <cstdlib>

enum { LANES = 64, DRAWS = 8 };

template <class State> __device__ double first_double(State *s) { return curand_uniform_double(s); }
// Its single doubles have 32 random bits; the library's are those that come in pairs.
template <> __device__ double first_double(curandStatePhilox4_32_10_t *s) { return curand_uniform2_double(s).x; }

template <class State> __global__ void draw(unsigned *bits, double *precise, unsigned long long seed)
{
    State s, t;
    curand_init(seed, threadIdx.x, 0, &s);
    t = s;
    for (int k = 0; k < DRAWS; k++)
        bits[threadIdx.x * DRAWS + k] = curand(&s);
    precise[threadIdx.x] = first_double(&t);
}

static int failures;

// A group of `four` lanes shares one state of the header's; rows are `row` lanes long.
template <class State> static void compare(const char *name, curandRngType_t type, unsigned row, int four)
{
    unsigned *device, *mine;
    double *precise, *doubles;
    cudaMallocManaged(&device, LANES * DRAWS * sizeof *device);
    cudaMallocManaged(&precise, LANES * sizeof *precise);
    cudaMalloc(&mine, sizeof *mine * row * DRAWS / four);
    cudaMalloc(&doubles, sizeof *doubles * LANES * four);
    unsigned *bits = (unsigned *)malloc(sizeof *bits * row * DRAWS / four);
    double found[LANES * 4];
    for (unsigned long long seed = 0; seed < 3; seed++) {
        unsigned long long key = seed * 0x123456789abcdefull;
        curandGenerator_t g;
        draw<State><<<1, LANES>>>(device, precise, key);
        int bad = curandCreateGenerator(&g, type) || curandSetPseudoRandomGeneratorSeed(g, key) ||
                  curandGenerate(g, mine, (size_t)row * DRAWS / four) || curandSetGeneratorOffset(g, 0) ||
                  curandGenerateUniformDouble(g, doubles, LANES * four) || curandDestroyGenerator(g);
        cudaMemcpy(bits, mine, sizeof *bits * row * DRAWS / four, cudaMemcpyDeviceToHost);
        cudaMemcpy(found, doubles, sizeof *found * LANES * four, cudaMemcpyDeviceToHost);
        int differ = 0;
        for (int lane = 0; lane < LANES; lane++) {
            for (int k = 0; k < DRAWS; k++)
                differ += bits[(size_t)row * (k / four) + lane * four + k % four] != device[lane * DRAWS + k];
            differ += found[lane * four] != precise[lane];
        }
        if (bad || differ) {
            printf("not ok %s seed %llx: %d numbers differ%s\n", name, key, differ, bad ? ", a call failed" : "");
            failures++;
        }
    }
    free(bits);
}

int main()
{
    compare<curandStateXORWOW_t>("XORWOW", CURAND_RNG_PSEUDO_XORWOW, 4096, 1);
    compare<curandStateMRG32k3a_t>("MRG32k3a", CURAND_RNG_PSEUDO_MRG32K3A, 81920, 1);
    compare<curandStatePhilox4_32_10_t>("Philox", CURAND_RNG_PSEUDO_PHILOX4_32_10, 4 * 65536, 4);
    printf("%s cuRAND's device header and the library agree\n", failures ? "not ok" : "ok");
    return failures != 0;
}
