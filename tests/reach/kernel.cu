// vectoradd as a library for plugin.c: kernels that register and run inside a dlopen.
#define main vectoradd_main
#include "../fixtures/src/vectoradd.cu"
#undef main

extern "C" int plugin_run(void)
{
    return vectoradd_main();
}
