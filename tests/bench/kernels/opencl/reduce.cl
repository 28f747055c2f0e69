// Sum of an array: grid-stride loop, then a tree in local memory (there are no shuffles).
kernel void run(global float *partial, global const float *x, int n)
{
    local float part[256];
    int t = get_local_id(0);
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        sum += x[i];
    part[t] = sum;
    for (int d = 128; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < d)
            part[t] += part[t + d];
    }
    if (t == 0)
        partial[get_group_id(0)] = part[0];
}
