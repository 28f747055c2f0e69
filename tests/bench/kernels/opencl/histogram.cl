// 256 bins by atomics on local memory, then on global memory.
kernel void run(global uint *bins, global const uchar *x, int n)
{
    local uint mine[256];
    int t = get_local_id(0);
    mine[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_add(&mine[x[i]], 1u);
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[t], mine[t]);
}
