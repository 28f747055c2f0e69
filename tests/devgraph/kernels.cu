// Kernels of graphs that launch graphs; kernels.ptx is what nvcc 13.0 makes of this:
// nvcc -arch=compute_80 -rdc=true --ptx -o kernels.ptx kernels.cu (without its comments).
// log[0] counts what follows; a kernel of one thread each.
__device__ void put(int *log, int what) { log[1 + atomicAdd(log, 1)] = what; }

extern "C" __global__ void note(int *log, int what) { put(log, what); }

// Launches two graphs, each if its stream is not 0, and notes what it is.
extern "C" __global__ void launch(int *log, int what, cudaGraphExec_t a, unsigned long long sa, cudaGraphExec_t b,
                                  unsigned long long sb, int *status)
{
    if (sa)
        status[0] = cudaGraphLaunch(a, (cudaStream_t)sa);
    if (sb)
        status[1] = cudaGraphLaunch(b, (cudaStream_t)sb);
    put(log, what);
}

// Waits until so much has been noted.
extern "C" __global__ void until(int *log, int n, int what)
{
    while (*(volatile int *)log < n)
        ;
    put(log, what);
}

// Its own graph again, behind itself, until it has run n times.
extern "C" __global__ void again(int *log, int n)
{
    put(log, (int)(cudaGetCurrentGraphExec() != 0));
    if (log[0] < n && cudaGraphLaunch(cudaGetCurrentGraphExec(), cudaStreamGraphTailLaunch))
        put(log, -1);
}

extern "C" __global__ void self(unsigned long long *out) { *out = (unsigned long long)cudaGetCurrentGraphExec(); }

// Many graphs beside this one; counts[0]: how many launches were accepted.
extern "C" __global__ void many(cudaGraphExec_t *graphs, int n, int *accepted)
{
    for (int k = 0; k < n; k++)
        *accepted += cudaGraphLaunch(graphs[k], cudaStreamGraphFireAndForget) == cudaSuccess;
}

extern "C" __global__ void bad(int *null) { *null = 1; }
