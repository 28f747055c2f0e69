// Sorts each run of 1024 in local memory, 512 items a group, a barrier before each of 55 steps.
kernel void run(global int *data)
{
    local int s[1024];
    int t = get_local_id(0), base = get_group_id(0) * 1024;
    s[t] = data[base + t];
    s[t + 512] = data[base + t + 512];
#pragma unroll
    for (int size = 2; size <= 1024; size *= 2)
#pragma unroll
        for (int step = size / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            int i = 2 * t - (t & (step - 1)), j = i + step;
            bool up = (t & (size / 2)) == 0;
            int a = s[i], b = s[j];
            if ((a > b) == up) {
                s[i] = b;
                s[j] = a;
            }
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    data[base + t] = s[t];
    data[base + t + 512] = s[t + 512];
}
