/* Products of an RNN's step, part of rnn_pass.h: `real` is its, and the attributes of real.h.
 *
 * A step's product is of few rows by a matrix that all steps share. BLAS would bring the matrix into its order in each,
 * which takes as long as the product; here it is done once: strips of TILE columns, each with its k rows one behind the
 * other, and zeroes beyond the last column. */
enum { TILE = 16, MOST_ROWS = 64 };

static int64_t packed_size(int64_t n, int64_t k) { return (n + TILE - 1) / TILE * TILE * k; }
/* b[k][n], or transposed b[n][k], which is read in the order in which it lies. */
static void pack(const real *b, bool transposed, int64_t n, int64_t k, real *to)
{
    for (int64_t tile = 0; tile < n; tile += TILE, to += k * TILE) {
        const int64_t columns = n - tile < TILE ? n - tile : TILE;
        if (columns < TILE)
            memset(to, 0, (size_t)(k * TILE) * sizeof *to);
        for (int64_t i = 0; !transposed && i < k; i++)
            memcpy(to + i * TILE, b + i * n + tile, (size_t)columns * sizeof *to);
        for (int64_t c = 0; transposed && c < columns; c++)
            for (int64_t i = 0; i < k; i++)
                to[i * TILE + c] = b[(tile + c) * k + i];
    }
}

/* A pointer that the compiler does not count from another one. It would keep sixteen distances between rows, more
 * than it has registers for; of four pointers and one step they are what an address may be. */
#define APART(pointer) __asm__("" : "+r"(pointer))

/* c[m][n] = a[m][k] b, plus rows of `add` (NULL: none) that are add_step apart, by vectors of so many bytes: MOST rows
 * by one strip at once, or HALF, 4, 1, whose sums stay in registers. The vectors are the CPU's own, as compilers split
 * longer ones by way of the stack. */
#define STRIP_PRODUCT(NAME, BYTES, MOST, HALF, TARGET) \
    typedef real NAME##_part __attribute__((vector_size(BYTES), aligned(sizeof(real)))); \
    static inline \
        __attribute__((always_inline)) void NAME##_rows(const int rows, int64_t k, const real *a, const real *strip, \
                                                        const real *add, int64_t add_step, real *to, int64_t step) \
    { \
        enum { PARTS = TILE * sizeof(real) / (BYTES) }; \
        NAME##_part sum[MOST][PARTS], b[PARTS]; \
        _Pragma("GCC unroll 16") for (int r = 0; r < rows; r++) \
            _Pragma("GCC unroll 16") for (int p = 0; p < PARTS; p++) sum[r][p] = (NAME##_part){0}; \
        const real *four[(MOST + 3) / 4]; /* rows */ \
        _Pragma("GCC unroll 16") for (int r = 0; r < rows; r += 4) four[r / 4] = a + r * k; \
        for (int64_t i = 0; i < k; i++, strip += TILE) { \
            __builtin_prefetch(strip + 24 * TILE); \
            _Pragma("GCC unroll 16") for (int p = 0; p < PARTS; p++) b[p] = ((const NAME##_part *)strip)[p]; \
            _Pragma("GCC unroll 16") for (int r = 0; r < rows; r++) \
                _Pragma("GCC unroll 16") for (int p = 0; p < PARTS; p++) sum[r][p] += four[r / 4][r % 4 * k] * b[p]; \
            _Pragma("GCC unroll 16") for (int r = 0; r < rows; r += 4) \
            { \
                four[r / 4]++; \
                APART(four[r / 4]); \
            } \
        } \
        _Pragma("GCC unroll 16") for (int r = 0; r < rows; r++) \
            _Pragma("GCC unroll 16") for (int p = 0; p < PARTS; p++) \
        { \
            if (add) \
                sum[r][p] += ((const NAME##_part *)(add + r * add_step))[p]; \
            ((NAME##_part *)(to + r * step))[p] = sum[r][p]; \
        } \
    } \
    TARGET static void NAME(int64_t m, int64_t n, int64_t k, const real *a, const real *packed, const real *add, \
                            int64_t add_step, real *c) \
    { \
        real sum[MOST * TILE]; \
        for (int64_t tile = 0; tile < n; tile += TILE) \
            for (int64_t row = 0, rows; row < m; row += rows) { \
                const real *strip = packed + tile * k, *from = a + row * k; \
                const int64_t columns = n - tile < TILE ? n - tile : TILE, step = columns < TILE ? TILE : n; \
                real *to = columns < TILE ? sum : c + row * n + tile; \
                const real *more = add ? add + row * add_step + tile : NULL, *in = columns < TILE ? NULL : more; \
                rows = m - row >= MOST ? MOST : m - row >= HALF ? HALF : m - row >= 4 ? 4 : 1; \
                if (rows == MOST) \
                    NAME##_rows(MOST, k, from, strip, in, add_step, to, step); \
                else if (rows == HALF) \
                    NAME##_rows(HALF, k, from, strip, in, add_step, to, step); \
                else if (rows == 4) \
                    NAME##_rows(4, k, from, strip, in, add_step, to, step); \
                else \
                    NAME##_rows(1, k, from, strip, in, add_step, to, step); \
                for (int64_t i = 0; columns < TILE && i < rows; i++) \
                    for (int64_t j = 0; j < columns; j++) \
                        c[(row + i) * n + tile + j] = sum[i * TILE + j] + (more ? more[i * add_step + j] : 0); \
            } \
    }
STRIP_PRODUCT(multiply_narrow, 32, 6, 6, REAL_NARROW)
#ifdef REAL_WIDE
STRIP_PRODUCT(multiply_wide, 64, 16, 8, REAL_WIDE)
#endif

static void multiply_packed(int64_t m, int64_t n, int64_t k, const real *a, const real *packed, const real *add,
                            int64_t add_step, real *c)
{
#ifdef REAL_WIDE
    if (__builtin_cpu_supports("x86-64-v4")) {
        multiply_wide(m, n, k, a, packed, add, add_step, c);
        return;
    }
#endif
    multiply_narrow(m, n, k, a, packed, add, add_step, c);
}
