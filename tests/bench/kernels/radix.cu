// Runs of 2048 keys sorted by CUB's radix sort of a block, 8 keys a thread.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>
#define THREADS 256
#define ITEMS 8
extern "C" __global__ void __launch_bounds__(THREADS) kernel(unsigned *data)
{
    typedef cub::BlockLoad<unsigned, THREADS, ITEMS, cub::BLOCK_LOAD_TRANSPOSE> load;
    typedef cub::BlockStore<unsigned, THREADS, ITEMS, cub::BLOCK_STORE_TRANSPOSE> store;
    typedef cub::BlockRadixSort<unsigned, THREADS, ITEMS> sort;
    __shared__ union {
        typename load::TempStorage load;
        typename store::TempStorage store;
        typename sort::TempStorage sort;
    } temp;
    unsigned key[ITEMS], *run = data + (size_t)blockIdx.x * (THREADS * ITEMS);
    load(temp.load).Load(run, key);
    __syncthreads();
    sort(temp.sort).Sort(key);
    __syncthreads();
    store(temp.store).Store(run, key);
}
