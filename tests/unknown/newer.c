/* Stands for NVIDIA's libraries of a release to come: what a program is linked with, never what it runs with when it
 * has opted in. */
#ifdef RUNTIME
int cudaGetDeviceCount(int *count) { return *count = 7, 0; }
int cudaFuture(int a, double b) { return a + (int)b; }
int cudaFutureData = 5;
#elif defined NCCL
int ncclFuture(int a) { return a; }
#elif defined DRIVER
int cuFuture(void) { return 4; }
#elif defined MINE
int ncclMine(void) { return 77; }
#else
int cublasFuture(void) { return 6; }
#endif
