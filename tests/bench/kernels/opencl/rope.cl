// Rotary position embedding in place, an item a pair and head.
#define SIZE 128
kernel void run(global float *x, global const int *position, int heads)
{
    int i = get_local_id(0), row = get_global_id(1);
    float angle = position[row / heads] * pow(10000.0f, -2.0f * i / SIZE), c, s = sincos(angle, &c);
    global float *at = x + (size_t)row * SIZE + i;
    float u = at[0], v = at[SIZE / 2];
    at[0] = u * c - v * s;
    at[SIZE / 2] = u * s + v * c;
}
