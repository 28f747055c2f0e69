// Sparse matrix (CSR) times a dense one of 64 columns: two columns an item.
kernel void run(global float2 *y, global const int *start, global const int *col, global const float *val,
                global const float2 *x)
{
    int row = get_group_id(0) * get_local_size(1) + get_local_id(1), lane = get_local_id(0);
    float2 sum = 0;
    for (int i = start[row]; i < start[row + 1]; i++)
        sum += val[i] * x[(size_t)col[i] * 32 + lane];
    y[(size_t)row * 32 + lane] = sum;
}
