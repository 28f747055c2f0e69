// Accelerations of all pairs, bodies by tiles through local memory.
kernel void run(global float4 *acc, global const float4 *body, int n)
{
    local float4 tile[256];
    int t = get_local_id(0), i = get_group_id(0) * 256 + t;
    float4 me = body[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j += 256) {
        tile[t] = body[j + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < 256; k++) {
            float4 b = tile[k];
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            float r = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f), s = b.w * r * r * r;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    acc[i] = (float4)(ax, ay, az, 0);
}
