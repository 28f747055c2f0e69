/* A muBLAS as some SDKs have it: its calls leave an error of their own launches behind (run.sh). */
extern int musaSetDevice(int);

static void leave(void) { musaSetDevice(12345); }
int mublasCreate(void **handle);
int mublasSscal(void *handle, int n, const void *alpha, void *x, int incx);
int mublasCreate(void **handle)
{
    static int place;
    leave();
    *handle = &place;
    return 0;
}
int mublasSscal(void *handle, int n, const void *alpha, void *x, int incx)
{
    (void)handle, (void)n, (void)alpha, (void)x, (void)incx;
    leave();
    return 0;
}
