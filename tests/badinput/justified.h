/* What the sweep finds and CUDA does, too: function (a * at the end: any so beginning), way (-1: all, NULLS: any
 * single null), reason. */
static const struct {
    const char *name;
    char what; /* s: succeeds, d: dies, w: writes and fails */
    int way;
    const char *why;
} justified[] = {
    /* success */
    {"cuCtxGetStreamPriorityRange", 's', NOTHING, "documented: a null pointer is not written"},
    {"cudaDeviceGetStreamPriorityRange", 's', NOTHING, "documented: a null pointer is not written"},
    {"cuCtxPopCurrent*", 's', NOTHING, "the context that was popped need not be asked for"},
    {"cuDevicePrimaryCtxGetState", 's', NOTHING, "both results are optional"},
    {"cuMemGetInfo*", 's', NOTHING, "both results are optional"},
    {"cudaMemGetInfo", 's', NOTHING, "both results are optional"},
    {"cuMemcpy*", 's', NOTHING, "no bytes are copied"},
    {"cudaMemcpy*", 's', NOTHING, "no bytes are copied"},
    {"cudaMemset*", 's', NOTHING, "no bytes are set"},
    {"cuMemFreeHost", 's', NOTHING, "freeing nothing"},
    {"cudaFree*", 's', NOTHING, "documented: freeing nothing does nothing"},
    {"cudaSetValidDevices", 's', NOTHING, "documented: an empty list is the default one"},
    {"__cudaRegisterUnifiedTable", 's', NOTHING, "there is nothing for it to do"},
    /* death: the program's own bytes are said to be where they are not */
    {"cuMemcpy", 'd', GARBAGE, "an unknown address is pageable memory of the host"},
    {"cuMemcpy_ptds", 'd', GARBAGE, "an unknown address is pageable memory of the host"},
    {"cuMemcpy*", 'd', HUGE, "the buffers are not that large"},
    {"cudaMemcpy*", 'd', HUGE, "the buffers are not that large"},
    {"cuLaunch*", 'd', UNKNOWN, "an argument list of null pointers"},
    {"cuLaunch*", 'd', NULLS, "an argument list of null pointers"},
    /* failure that is documented to write, or whose first result says so */
    {"cuGetErrorName", 'w', -1, "documented: the name is null"},
    {"cuGetErrorString", 'w', -1, "documented: the text is null"},
    {"cuGetExportTable", 'w', -1, "the table is null"},
    {"cuGetProcAddress*", 'w', -1, "documented: the address is null, the status says why"},
    {"cudaGetDriverEntryPoint*", 'w', -1, "documented: the address is null, the status says why"},
    {"cuGraphExecUpdate*", 'w', -1, "documented: the result says why"},
    {"cudaGraphExecUpdate*", 'w', -1, "documented: the result says why"},
    {"cuGraphInstantiate*", 'w', -1, "the node that fails, the log and the result"},
    {"cudaGraphInstantiate*", 'w', -1, "the node that fails, the log and the result"},
    {"cuMemcpyBatchAsync*", 'w', -1, "documented: the index that fails"},
    {"cudaMemcpyBatchAsync*", 'w', -1, "documented: the index that fails"},
    {"cuMemcpy3DBatchAsync*", 'w', -1, "documented: the index that fails"},
    {"cudaMemcpy3DBatchAsync*", 'w', -1, "documented: the index that fails"},
    {"cuStreamEndCapture*", 'w', -1, "documented: the graph of a capture that fails is null"},
    {"cudaStreamEndCapture*", 'w', -1, "documented: the graph of a capture that fails is null"},
};
