// A muSPARSE that throws a status out of SpGEMM, from below a frame that has something to clean up.
#include <cstddef>
#include <cstdint>

enum musparseStatus { success, other = 6 };
int throwing_cleaned;
struct cleaned {
    ~cleaned() { throwing_cleaned++; }
};
static int object[2], calls;
__attribute__((noinline)) static int inner(bool loud)
{
    cleaned here;
    if (loud)
        throw other;
    return success;
}
extern "C" {
int *throwing_count() { return &throwing_cleaned; }
int musparseCreate(void **h) { return *h = object, 0; }
int musparseCreateCsr(void **a, int64_t, int64_t, int64_t, void *, void *, void *, int, int, int, int)
{
    return *a = object + 1, 0;
}
int musparseSpGEMM(void *, int, int, const void *, const void *, const void *, const void *, const void *, void *, int,
                   int, int, size_t *size, void *)
{
    *size = 99;
    return inner(calls++ % 2 == 0);
}
}
