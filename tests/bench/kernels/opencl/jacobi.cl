// One step of the five-point stencil in double precision.
kernel void run(global double *out, global const double *in, int n)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x > 0 && y > 0 && x < n - 1 && y < n - 1)
        out[y * n + x] = 0.25 * (in[y * n + x - 1] + in[y * n + x + 1] + in[(y - 1) * n + x] +
                                 in[(y + 1) * n + x]);
}
