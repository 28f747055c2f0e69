// cuRAND's device header (curand_kernel.h), compiled by nvcc and run as kernels, against the library: the numbers of
// curand_init(seed, lane, 0) are those that the library lays out in lanes.
#include <curand.h>
#include <curand_kernel.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>

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

// Sobol states of the header, on the library's direction vectors: one a dimension, from an offset on.
enum { DIMENSIONS = 64, POINTS = 40, OFFSET = 12345 };
template <class State, class Vector, class Number>
__global__ void points(const Vector *vectors, const Number *shifts, Number *out)
{
    State s;
    Vector v;
    memcpy(v, vectors[threadIdx.x], sizeof v);
    if constexpr (std::is_same<State, curandStateScrambledSobol64_t>::value)
        curand_init(v, shifts[threadIdx.x], OFFSET, &s);
    else
        curand_init(v, OFFSET, &s);
    for (int i = 0; i < POINTS; i++)
        out[threadIdx.x * POINTS + i] = curand(&s);
}

template <class State, class Vector, class Number>
static void quasi(const char *name, curandRngType_t type, const Vector *vectors, const Number *shifts,
                  curandStatus_t (*generate)(curandGenerator_t, Number *, size_t))
{
    enum { N = DIMENSIONS * POINTS };
    Vector *table;
    Number *constants, *device, *mine, bits[2][N];
    curandGenerator_t g;
    cudaMalloc(&table, DIMENSIONS * sizeof *table);
    cudaMalloc(&constants, DIMENSIONS * sizeof *constants);
    cudaMalloc(&device, sizeof bits[0]);
    cudaMalloc(&mine, sizeof bits[1]);
    cudaMemcpy(table, vectors, DIMENSIONS * sizeof *table, cudaMemcpyHostToDevice);
    if (shifts)
        cudaMemcpy(constants, shifts, DIMENSIONS * sizeof *constants, cudaMemcpyHostToDevice);
    points<State, Vector, Number><<<1, DIMENSIONS>>>(table, constants, device);
    int bad = curandCreateGenerator(&g, type) || curandSetQuasiRandomGeneratorDimensions(g, DIMENSIONS) ||
              curandSetGeneratorOffset(g, OFFSET) || generate(g, mine, N) || curandDestroyGenerator(g);
    cudaMemcpy(bits[0], device, sizeof bits[0], cudaMemcpyDeviceToHost);
    cudaMemcpy(bits[1], mine, sizeof bits[1], cudaMemcpyDeviceToHost);
    if (bad || memcmp(bits[0], bits[1], sizeof bits[0])) {
        printf("not ok %s: points differ%s\n", name, bad ? ", a call failed" : "");
        failures++;
    }
}

static void all_quasi()
{
    curandDirectionVectors32_t *narrow;
    curandDirectionVectors64_t *wide;
    unsigned long long *shifts;
    if (curandGetDirectionVectors32(&narrow, CURAND_DIRECTION_VECTORS_32_JOEKUO6) ||
        curandGetDirectionVectors64(&wide, CURAND_DIRECTION_VECTORS_64_JOEKUO6)) {
        puts("not ok direction vectors");
        failures++;
        return;
    }
    quasi<curandStateSobol32_t>("Sobol32", CURAND_RNG_QUASI_SOBOL32, narrow, (unsigned *)nullptr, curandGenerate);
    quasi<curandStateSobol64_t>("Sobol64", CURAND_RNG_QUASI_SOBOL64, wide, (unsigned long long *)nullptr,
                                curandGenerateLongLong);
    if (curandGetDirectionVectors64(&wide, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6) ||
        curandGetScrambleConstants64(&shifts)) {
        puts("not ok scrambled vectors");
        failures++;
        return;
    }
    quasi<curandStateScrambledSobol64_t>("scrambled Sobol64", CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, wide, shifts,
                                         curandGenerateLongLong);
}

int main()
{
    all_quasi();
    compare<curandStateXORWOW_t>("XORWOW", CURAND_RNG_PSEUDO_XORWOW, 4096, 1);
    compare<curandStateMRG32k3a_t>("MRG32k3a", CURAND_RNG_PSEUDO_MRG32K3A, 81920, 1);
    compare<curandStatePhilox4_32_10_t>("Philox", CURAND_RNG_PSEUDO_PHILOX4_32_10, 4 * 65536, 4);
    printf("%s cuRAND's device header and the library agree\n", failures ? "not ok" : "ok");
    return failures != 0;
}
