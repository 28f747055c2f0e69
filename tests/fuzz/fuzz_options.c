/* Fuzz target of what stands in the environment: values of every option, words of CUMU_LOG, the
 * trace's filter, and the lists of visible devices. The input is lines: a value, a filter, two
 * lists. */
#include "core/config.h"
#include "core/log.h"
#include "core/loginit.h"
#include "core/trace.h"
#include "core/visible.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *line[4] = {"", "", "", ""}, *text = malloc(size + 1), out[64], *rest = text;
    memcpy(text, data, size);
    text[size] = '\0';
    for (int k = 0; k < 4 && rest; k++)
        line[k] = strsep(&rest, "\n");
    for (int o = 0; o < CUMU_NOPTIONS; o++)
        (void)cumu_opt_expected((enum cumu_option)o, line[0]);
    (void)cumu_opt_known(line[0], strlen(line[0]));
    (void)cumu_trace_passes(line[1], "cudart", "cudaMalloc", 1);
    (void)cumu_trace_passes(line[1], "nccl", "ncclAllReduce", 0);
    (void)cumu_visible(*line[2] ? line[2] : NULL, *line[3] ? line[3] : NULL, out, sizeof out);
    cumu_log_configure(line[0], "/dev/null", 1);
    (void)cumu_log_on(CUMU_WARN, "cudart");
    cumu_log_configure("off", "/dev/null", 1);
    free(text);
    return 0;
}
