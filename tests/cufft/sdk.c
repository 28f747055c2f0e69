/* A muFFT that has plans over several GPUs: each call answers 40 + its number if its arguments are those that
 * descriptors.c gave. */
struct handle {
    int unused;
} one;

int mufftCreate(void **h)
{
    *h = &one;
    return 0;
}
int mufftDestroy(void *h) { return h == &one ? 0 : 1; }
int mufftXtSetGPUs(void *h, int n, const int *gpus) { return h == &one && n == 2 && gpus[1] == 7 ? 40 : 1; }
int mufftXtMalloc(void *h, void **d, int format)
{
    *d = h == &one && format == 3 ? &one : 0;
    return 41;
}
int mufftXtMemcpy(void *h, char *to, char *from, int kind) { return h == &one && to == from + 1 && kind == 2 ? 42 : 1; }
int mufftXtQueryPlan(void *h, int *answer, int kind)
{
    *answer = 5;
    return h == &one && kind == 1 ? 43 : 1;
}
int mufftXtFree(void *d) { return d == &one ? 44 : 1; }

#define BOTH_WAYS(name, code) \
    int mufftXtExecDescriptor##name(void *h, char *in, char *out, int direction) \
    { \
        return h == &one && out == in + 1 && direction == -1 ? code : 1; \
    }
BOTH_WAYS(, 45)
BOTH_WAYS(C2C, 46)
BOTH_WAYS(Z2Z, 47)
#define ONE_WAY(name, code) \
    int mufftXtExecDescriptor##name(void *h, char *in, char *out) { return h == &one && out == in + 1 ? code : 1; }
ONE_WAY(R2C, 48)
ONE_WAY(C2R, 49)
ONE_WAY(D2Z, 50)
ONE_WAY(Z2D, 51)
