// Sparse matrix (CSR) times vector, one row an item: gathers.
kernel void run(global float *y, global const int *start, global const int *col,
                global const float *val, global const float *x, int rows)
{
    int r = get_global_id(0);
    if (r >= rows)
        return;
    float sum = 0;
    for (int i = start[r]; i < start[r + 1]; i++)
        sum += val[i] * x[col[i]];
    y[r] = sum;
}
