/* Stands for a program of NVIDIA's: tells its name, its release, and that it takes the option --known. */
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    int version = 0;
    const char *name = strrchr(argv[0], '/');
    for (int i = 1; i < argc; i++) {
        version |= strcmp(argv[i], "--version") == 0;
        if (strcmp(argv[i], "--frob") == 0) {
            fprintf(stderr, "NVIDIA's: Unknown option '-frob'\n");
            return 255;
        }
    }
    printf("NVIDIA's %s%s\n", name ? name + 1 : argv[0], version ? ", release 11.1, V11.1.74" : "");
    return version ? 0 : 42;
}
