/* Looks up, as ffmpeg's and GStreamer's loaders do, what a driver must have or be refused whole; what is graphics or
 * video answers that it is not there. */
#include <dlfcn.h>
#include <stdio.h>

static const char *const driver[] = {"cuInit",
                                     "cuCtxCreate_v2",
                                     "cuMemcpy2DAsync_v2",
                                     "cuDevicePrimaryCtxRetain",
                                     "cuTexObjectCreate",
                                     "cuGLGetDevices_v2",
                                     "cuGraphicsGLRegisterImage",
                                     "cuGraphicsGLRegisterBuffer",
                                     "cuGraphicsEGLRegisterImage",
                                     "cuGraphicsUnregisterResource",
                                     "cuGraphicsMapResources",
                                     "cuGraphicsUnmapResources",
                                     "cuGraphicsSubResourceGetMappedArray",
                                     "cuGraphicsResourceGetMappedPointer_v2",
                                     "cuGraphicsResourceGetMappedEglFrame",
                                     "cuEGLStreamProducerConnect",
                                     "cuEGLStreamProducerPresentFrame",
                                     "cuEGLStreamConsumerConnect",
                                     "cuImportExternalMemory",
                                     "cuVDPAUGetDevice",
                                     NULL};
static const char *const decoder[] = {"cuvidGetDecoderCaps",
                                      "cuvidCreateDecoder",
                                      "cuvidMapVideoFrame64",
                                      "cuvidCtxLockCreate",
                                      "cuvidCreateVideoParser",
                                      "cuvidCreateVideoSource",
                                      NULL};
static const char *const encoder[] = {"NvEncodeAPICreateInstance", "NvEncodeAPIGetMaxSupportedVersion", NULL};

static int all(const char *soname, const char *const *name)
{
    void *library = dlopen(soname, RTLD_LAZY);
    int missing = 0;
    for (; *name; name++)
        if (!library || !dlsym(library, *name)) {
            printf("%s lacks %s\n", soname, *name);
            missing++;
        }
    return missing;
}

int main(void)
{
    unsigned version = 0, count = 7;
    int devices[4], claimed = 0;
    if (all("libcuda.so.1", driver) + all("libnvcuvid.so.1", decoder) + all("libnvidia-encode.so.1", encoder))
        return 1;
    void *cuda = dlopen("libcuda.so.1", RTLD_LAZY), *encode = dlopen("libnvidia-encode.so.1", RTLD_LAZY);
    void *cuvid = dlopen("libnvcuvid.so.1", RTLD_LAZY);
    int (*gl)(unsigned *, int *, unsigned, unsigned) = (int (*)(unsigned *, int *, unsigned, unsigned))dlsym(cuda,
                                                                                                             driver[5]);
    int (*caps)(void *) = (int (*)(void *))dlsym(cuvid, decoder[0]);
    int (*create)(void *) = (int (*)(void *))dlsym(encode, encoder[0]);
    int (*newest)(unsigned *) = (int (*)(unsigned *))dlsym(encode, encoder[1]);
    int (*release)(int *) = (int (*)(int *))dlsym(cuda, "cuDriverGetVersion");
    release(&claimed);
    printf("driver %d gl %d caps %d create %d newest %d\n", claimed, gl(&count, devices, 4, 1), caps(devices),
           create(devices), newest(&version));
    return 0;
}
