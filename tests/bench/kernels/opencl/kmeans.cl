// A step of k-means: each point's nearest of 64 centres, an item a point; sums by atomics, which OpenCL has for floats
// as a loop of compare and exchange.
#define DIMS 16
#define CENTRES 64
static void add_local(volatile local float *p, float v)
{
    union { uint u; float f; } old, new;
    do {
        old.f = *p;
        new.f = old.f + v;
    } while (atomic_cmpxchg((volatile local uint *)p, old.u, new.u) != old.u);
}
static void add_global(volatile global float *p, float v)
{
    union { uint u; float f; } old, new;
    do {
        old.f = *p;
        new.f = old.f + v;
    } while (atomic_cmpxchg((volatile global uint *)p, old.u, new.u) != old.u);
}

kernel void run(global int *nearest, global float *sums, global int *counts, global const float *points,
                global const float *centres, int n)
{
    local float centre[CENTRES * DIMS], sum[CENTRES * DIMS];
    local int count[CENTRES];
    int i = get_global_id(0), t = get_local_id(0);
    for (int k = t; k < CENTRES * DIMS; k += get_local_size(0)) {
        centre[k] = centres[k];
        sum[k] = 0;
    }
    if (t < CENTRES)
        count[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) {
        float point[DIMS], least = 3e38f;
        int best = 0;
        for (int d = 0; d < DIMS; d++)
            point[d] = points[(size_t)d * n + i];
        for (int c = 0; c < CENTRES; c++) {
            float distance = 0;
            for (int d = 0; d < DIMS; d++) {
                float u = point[d] - centre[c * DIMS + d];
                distance += u * u;
            }
            if (distance < least) {
                least = distance;
                best = c;
            }
        }
        nearest[i] = best;
        for (int d = 0; d < DIMS; d++)
            add_local(&sum[best * DIMS + d], point[d]);
        atomic_inc(&count[best]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = t; k < CENTRES * DIMS; k += get_local_size(0))
        add_global(&sums[k], sum[k]);
    if (t < CENTRES)
        atomic_add(&counts[t], count[t]);
}
