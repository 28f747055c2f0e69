// Iterations until escape: a loop that items leave one by one.
kernel void run(global int *out, int n, int limit)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= n || y >= n)
        return;
    float cr = -2.0f + 3.0f * x / n, ci = -1.5f + 3.0f * y / n, zr = 0, zi = 0;
    int i = 0;
    while (i < limit && zr * zr + zi * zi < 4.0f) {
        float t = zr * zr - zi * zi + cr;
        zi = 2.0f * zr * zi + ci;
        zr = t;
        i++;
    }
    out[y * n + x] = i;
}
