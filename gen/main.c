/* The generator: reads mapping/, writes build/gen. `gen emit DIR FILE...`. */
#include <string.h>

#include "gen/output.h"
#include "gen/types.h"

static bool ends(const char *text, const char *tail)
{
    size_t n = strlen(text), t = strlen(tail);
    return n >= t && !strcmp(text + n - t, tail);
}

int main(int argc, char **argv)
{
    struct arena a = {0};
    struct errors e = {stderr, 0};
    struct types types = {0};
    if (argc < 3 || strcmp(argv[1], "emit")) {
        fprintf(stderr, "usage: gen emit DIR FILE...\n");
        return 2;
    }
    for (int i = 3; i < argc; i++) {
        size_t length;
        char *text = read_file(&a, &e, argv[i], &length);
        if (!text)
            continue;
        if (ends(argv[i], ".enum"))
            parse_enums(&types, &a, &e, argv[i], text, length);
        else if (ends(argv[i], ".struct"))
            parse_structs(&types, &a, &e, argv[i], text, length);
    }
    check_types(&types, &e);
    if (!e.count) {
        struct output c = output_open(&a, &e, argv[2], "cuda_enums.h", "//", "typefile.c from mapping/types (enum files)");
        struct output m = output_open(&a, &e, argv[2], "musa_enums.h", "//", "typefile.c from mapping/types (enum files)");
        fprintf(c.file, "#pragma once\n");
        fprintf(m.file, "#pragma once\n");
        emit_enums(&types, c.file, m.file);
        output_close(&c);
        output_close(&m);
        c = output_open(&a, &e, argv[2], "cuda_structs.h", "//", "typefile.c from mapping/types (struct files)");
        m = output_open(&a, &e, argv[2], "musa_structs.h", "//", "typefile.c from mapping/types (struct files)");
        fprintf(c.file, "#pragma once\n");
        fprintf(m.file, "#pragma once\n");
        emit_structs(&types, c.file, m.file);
        output_close(&c);
        output_close(&m);
    }
    arena_free(&a);
    return e.count ? 1 : 0;
}
