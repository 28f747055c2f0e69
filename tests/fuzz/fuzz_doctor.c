/* Fuzz target of reports that people send in: taken apart and explained, and what a report may not tell taken out of a
 * text. */
#include "cli/doctor.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct doctor_file f;
    char why[160] = "", tidy[300], *said = NULL, *text = malloc(size + 1);
    size_t n = 0;
    FILE *to = open_memstream(&said, &n);
    if (!text || !to)
        abort();
    bool good = doctor_file_parse(&f, (const char *)data, size, why);
    if (good == (*why != '\0')) /* a report or a reason, never both or neither */
        abort();
    if (good)
        cumu_doctor_explain(&f, to);
    (void)fclose(to);
    for (size_t k = 0; k < n; k++) /* nothing that a terminal obeys */
        if ((said[k] < ' ' && said[k] != '\n') || said[k] > '~')
            abort();
    memcpy(text, data, size);
    text[size] = '\0';
    doctor_tidy(tidy, sizeof tidy, text);
    for (const char *c = tidy; *c; c++)
        if (*c < ' ' || *c > '~')
            abort();
    doctor_file_free(&f);
    free(text);
    free(said);
    return 0;
}
