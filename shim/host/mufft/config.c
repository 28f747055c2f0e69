/* What the environment says about the CPU muFFT. */
#include <stdlib.h>
#include <string.h>

#include "host/mufft/fftw.h"

bool mufft_may_use(const char *library)
{
    const char *text = secure_getenv("CUMU_HOST_FFT");
    return !text || !*text || strcmp(text, "auto") == 0 || strcmp(text, library) == 0;
}
