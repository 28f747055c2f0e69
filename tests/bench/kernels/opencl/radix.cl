// Runs of 2048 keys sorted by their digits of four bits: each item counts those of its 8 keys, the counts are summed
// in the order of digits and items, and the keys go where the sums say.
#define THREADS 256
#define ITEMS 8
kernel void run(global uint *data)
{
    local uint key[THREADS * ITEMS];
    local ushort count[16 * THREADS], part[THREADS];
    int t = get_local_id(0);
    global uint *to = data + (size_t)get_group_id(0) * (THREADS * ITEMS);
    for (int i = 0; i < ITEMS; i++)
        key[i * THREADS + t] = to[i * THREADS + t];
    for (int shift = 0; shift < 32; shift += 4) {
        uint mine[ITEMS];
        ushort place[ITEMS];
        for (int d = 0; d < 16; d++)
            count[d * THREADS + t] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < ITEMS; i++) {
            mine[i] = key[t * ITEMS + i];
            place[i] = count[(mine[i] >> shift & 15) * THREADS + t]++;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        ushort sum = 0;
        for (int i = 0; i < 16; i++)
            sum += count[t * 16 + i];
        part[t] = sum;
        for (int d = 1; d < THREADS; d *= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            ushort other = t >= d ? part[t - d] : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            part[t] += other;
        }
        sum = part[t] - sum;
        for (int i = 0; i < 16; i++) {
            ushort n = count[t * 16 + i];
            count[t * 16 + i] = sum;
            sum += n;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = 0; i < ITEMS; i++)
            key[count[(mine[i] >> shift & 15) * THREADS + t] + place[i]] = mine[i];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (int i = 0; i < ITEMS; i++)
        to[i * THREADS + t] = key[i * THREADS + t];
}
