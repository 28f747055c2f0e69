// Accelerations of all pairs, bodies by tiles through shared memory.
extern "C" __global__ void kernel(float4 *acc, const float4 *body, int n)
{
    __shared__ float4 tile[256];
    int i = blockIdx.x * 256 + threadIdx.x;
    float4 me = body[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; j += 256) {
        tile[threadIdx.x] = body[j + threadIdx.x];
        __syncthreads();
        for (int k = 0; k < 256; k++) {
            float4 b = tile[k];
            float dx = b.x - me.x, dy = b.y - me.y, dz = b.z - me.z;
            float r = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f), s = b.w * r * r * r;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        __syncthreads();
    }
    acc[i] = make_float4(ax, ay, az, 0);
}
