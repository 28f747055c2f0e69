/* Says something else about PyTorch than mapping/torch: another release, or other names for its dispatch keys. The
 * name of its file is one where the shim looks before it looks into PyTorch. */
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef OTHER_RELEASE
EXPORT void *config(void *out) __asm__("_ZN2at11show_configB5cxx11Ev");
EXPORT void *config(void *out)
{
    static char text[] = "Build settings: TORCH_VERSION=9.9.1, USE_CUDA=OFF";
    const char *p = text;
    memcpy(out, &p, sizeof p);
    return out;
}
#else
EXPORT const char *name_of(uint16_t key) __asm__("_ZN3c108toStringENS_11DispatchKeyE");
EXPORT const char *name_of(uint16_t key) { return key % 2 ? "Odd" : "Even"; }
#endif
