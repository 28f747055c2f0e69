/* Runs a fuzz target once over every file of the folders and files given as arguments, so that old
 * crashes stay fixed without a fuzzer at hand. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int files;

static void replay_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return;
    uint8_t *data = NULL;
    size_t size = 0, cap = 0, got;
    do {
        if (size == cap) {
            cap = cap ? cap * 2 : 4096;
            data = realloc(data, cap);
            if (!data)
                break;
        }
        got = fread(data + size, 1, cap - size, f);
        size += got;
    } while (got > 0);
    fclose(f);
    if (!data)
        return;
    /* An exact copy, so that a sanitizer sees a read past the end. */
    uint8_t *exact = malloc(size ? size : 1);
    if (exact) {
        memcpy(exact, data, size);
        LLVMFuzzerTestOneInput(exact, size);
        files++;
    }
    free(exact);
    free(data);
}

static void replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return;
    if (!S_ISDIR(st.st_mode)) {
        replay_file(path);
        return;
    }
    DIR *dir = opendir(path);
    if (!dir)
        return;
    struct dirent *e;
    while ((e = readdir(dir))) {
        char child[4096];
        if (e->d_name[0] != '.' && snprintf(child, sizeof child, "%s/%s", path, e->d_name) < (int)sizeof child)
            replay(child);
    }
    closedir(dir);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        replay(argv[i]);
    printf("%s replayed %d inputs\n", files ? "ok" : "not ok", files);
    return files ? 0 : 1;
}
