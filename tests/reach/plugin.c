/* Opens a library, which has or needs a CUDA runtime, and calls its plugin_run. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int bad = 0;
    for (int i = 1; i < argc; i++) {
        void *lib = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        int (*run)(void) = lib ? (int (*)(void))dlsym(lib, "plugin_run") : NULL;
        if (!run)
            printf("%s\n", dlerror());
        bad |= !run || run();
    }
    return bad;
}
