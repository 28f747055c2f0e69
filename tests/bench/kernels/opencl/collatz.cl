// Steps of the 3n+1 sequence: 64-bit integers, divergent.
kernel void run(global int *out, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    ulong v = i + 1;
    int steps = 0;
    while (v != 1) {
        v = v & 1 ? 3 * v + 1 : v / 2;
        steps++;
    }
    out[i] = steps;
}
