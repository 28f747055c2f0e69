/* Products of an RNN's step, part of rnn_pass.h: `real` and REAL_VECTOR are its.
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

typedef real strip_row __attribute__((vector_size(TILE * sizeof(real)), aligned(sizeof(real))));
/* So many rows by one strip. The sums stay in registers, which is why there are no fewer rows at once. */
static inline __attribute__((always_inline)) void multiply_rows(const int rows, int64_t k, const real *a,
                                                                const real *strip, strip_row *to)
{
    strip_row sum[8];
    for (int r = 0; r < rows; r++)
        sum[r] = (strip_row){0};
    for (int64_t i = 0; i < k; i++) {
        const strip_row b = *(const strip_row *)(strip + i * TILE);
        for (int r = 0; r < rows; r++)
            sum[r] += a[r * k + i] * b;
    }
    for (int r = 0; r < rows; r++)
        to[r] = sum[r];
}

/* c[m][n] = a[m][k] b, or added to it. */
REAL_VECTOR static void multiply_packed(int64_t m, int64_t n, int64_t k, const real *a, const real *packed, bool add,
                                        real *c)
{
    strip_row sum[8];
    for (int64_t tile = 0; tile < n; tile += TILE)
        for (int64_t row = 0, rows; row < m; row += rows) {
            const real *strip = packed + tile * k, *from = a + row * k;
            int64_t columns = n - tile < TILE ? n - tile : TILE;
            rows = m - row >= 8 ? 8 : m - row >= 4 ? 4 : 1;
            if (rows == 8)
                multiply_rows(8, k, from, strip, sum);
            else if (rows == 4)
                multiply_rows(4, k, from, strip, sum);
            else
                multiply_rows(1, k, from, strip, sum);
            for (int64_t i = 0; i < rows; i++)
                for (int64_t j = 0; j < columns; j++) {
                    real *to = c + (row + i) * n + tile + j;
                    *to = sum[i][j] + (add ? *to : 0);
                }
        }
}
