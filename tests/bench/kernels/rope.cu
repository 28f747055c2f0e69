// Rotary position embedding in place: pairs (i, i + SIZE / 2) of each head of each token, a thread a pair and head,
// the angle from the position, as inference programs launch it.
#define SIZE 128
extern "C" __global__ void kernel(float *x, const int *position, int heads)
{
    int i = threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    float angle = position[row / heads] * powf(10000.0f, -2.0f * i / SIZE), s, c;
    sincosf(angle, &s, &c);
    float *at = x + (size_t)row * SIZE + i;
    float u = at[0], v = at[SIZE / 2];
    at[0] = u * c - v * s;
    at[SIZE / 2] = u * s + v * c;
}
