// Softmax of each row, one group a row; sums and maxima by a tree in local memory.
static float group_reduce(float v, bool want_max, local float *part)
{
    int t = get_local_id(0);
    part[t] = v;
    for (int d = get_local_size(0) / 2; d > 0; d /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (t < d)
            part[t] = want_max ? fmax(part[t], part[t + d]) : part[t] + part[t + d];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    v = part[0];
    barrier(CLK_LOCAL_MEM_FENCE);
    return v;
}

kernel void run(global float *out, global const float *in, int cols)
{
    local float part[256];
    global const float *row = in + (size_t)get_group_id(0) * cols;
    global float *to = out + (size_t)get_group_id(0) * cols;
    float top = -INFINITY, sum = 0;
    for (int i = get_local_id(0); i < cols; i += get_local_size(0))
        top = fmax(top, row[i]);
    top = group_reduce(top, true, part);
    for (int i = get_local_id(0); i < cols; i += get_local_size(0)) {
        float e = exp(row[i] - top);
        to[i] = e;
        sum += e;
    }
    float scale = 1 / group_reduce(sum, false, part);
    for (int i = get_local_id(0); i < cols; i += get_local_size(0))
        to[i] *= scale;
}
