// Layer normalisation of each row, one group a row; sums by a tree in local memory.
static float group_sum(float v, local float *part)
{
    int t = get_local_id(0);
    part[t] = v;
    for (int d = get_local_size(0) / 2; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < d)
            part[t] += part[t + d];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    v = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

kernel void run(global float *out, global const float *in, global const float *gain, global const float *bias, int cols)
{
    local float part[256];
    global const float *row = in + (size_t)get_group_id(0) * cols;
    global float *to = out + (size_t)get_group_id(0) * cols;
    float sum = 0, squares = 0;
    for (int i = get_local_id(0); i < cols; i += get_local_size(0))
        sum += row[i];
    float mean = group_sum(sum, part) / cols;
    for (int i = get_local_id(0); i < cols; i += get_local_size(0))
        squares += (row[i] - mean) * (row[i] - mean);
    float scale = rsqrt(group_sum(squares, part) / cols + 1e-5f);
    for (int i = get_local_id(0); i < cols; i += get_local_size(0))
        to[i] = (row[i] - mean) * scale * gain[i] + bias[i];
}
