/* Resolves every name of a list in a library, by its version node too. usage: names SONAME NODE|- LIST */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    FILE *list = argc == 4 ? fopen(argv[3], "r") : NULL;
    void *lib = list ? dlopen(argv[1], RTLD_NOW) : NULL;
    char name[256];
    int found = 0, missing = 0;
    if (!lib)
        return printf("%s\n", list ? dlerror() : "no list"), 1;
    while (fgets(name, sizeof name, list)) {
        name[strcspn(name, "\n")] = 0;
        void *p = dlsym(lib, name);
        if (p && strcmp(argv[2], "-") != 0 && dlvsym(lib, name, argv[2]) != p)
            p = NULL;
        if (!p)
            printf("missing %s\n", name);
        p ? found++ : missing++;
    }
    printf("found %d missing %d\n", found, missing);
    return missing || !found;
}
