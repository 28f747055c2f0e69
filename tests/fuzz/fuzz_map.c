/* Fuzz target: the parsers of mapping/ and the checks over what they made. The input is one text
 * that each parser reads in turn, so a corpus file is an ordinary map, enum or struct file. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "gen/emit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char types[] = "enum cudaError = musaError equal\ncudaSuccess 0\n"
                                "enum CUresult = MUresult equal\nCUDA_SUCCESS 0\n";
    static const char sonames[] = "facade toy libtoy.so.12 libtoy.so.12 12\n"
                                  "facade toy libtoy.so.13 - 13\nbelow mutoy mu 801 35 libmutoy.so.1\n";
    struct arena a = {0};
    struct errors e = {0};
    struct map m = {0};
    char *text = arena_copy(&a, (const char *)data, size);
    parse_enums(&m.types, &a, &e, "types", types, sizeof types - 1);
    parse_sonames(&m, &a, &e, "sonames", sonames, sizeof sonames - 1);
    e.count = 0; /* of what follows only */
    if (size > 5 && text[0] == 'e')
        parse_enums(&m.types, &a, &e, "enum", text, size);
    else if (size > 5 && text[0] == 's' && text[2] == 'r')
        parse_structs(&m.types, &a, &e, "struct", text, size);
    else if (size > 5 && (text[0] == 'f' || text[0] == 'b'))
        parse_sonames(&m, &a, &e, "sonames", text, size);
    else if (size > 5 && text[0] == 'v')
        parse_versions(&m, &a, &e, "versions", text + 1, size - 1);
    else
        parse_map(&m, &a, &e, "map", text, size);
    check_map(&m, &a, &e);
    FILE *sink = e.count ? NULL : fopen("/dev/null", "w");
    if (sink) { /* a map without errors must also be emitted without trouble */
        emit_enums(&m.types, sink, sink);
        emit_structs(&m.types, sink, sink);
        fclose(sink);
    }
    arena_free(&a);
    return 0;
}
