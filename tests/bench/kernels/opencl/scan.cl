// Inclusive sums of a whole array in one pass with look-back; sums of a group by doubling in local memory.
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#define ITEMS 8
kernel void run(global int *out, volatile global ulong *state, global const int *in)
{
    local int part[2][256], before, group;
    int t = get_local_id(0), n = get_local_size(0), at = 0;
    if (!t)
        group = (int)atom_add(state, 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    size_t first = ((size_t)group * n + t) * ITEMS;
    int v[ITEMS];
    for (int k = 0; k < ITEMS; k++)
        v[k] = in[first + k] + (k ? v[k - 1] : 0);
    part[0][t] = v[ITEMS - 1];
    for (int d = 1; d < n; d *= 2, at ^= 1) {
        barrier(CLK_LOCAL_MEM_FENCE);
        part[at ^ 1][t] = part[at][t] + (t >= d ? part[at][t - d] : 0);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (!t) {
        volatile global ulong *word = state + 1;
        uint total = (uint)part[at][n - 1], sums = 0;
        word[group] = 1ul << 32 | total;
        for (int k = group - 1; k >= 0;) {
            ulong w = word[k];
            if (!(w >> 32))
                continue;
            sums += (uint)w;
            if (w >> 33)
                break;
            k--;
        }
        word[group] = 2ul << 32 | (sums + total);
        before = (int)sums;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int base = before + part[at][t] - v[ITEMS - 1];
    for (int k = 0; k < ITEMS; k++)
        out[first + k] = base + v[k];
}
