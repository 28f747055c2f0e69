/* Stream memory operations: comparisons, widths, batches, order against other work, bad input. */
#include "device.h"

static MUdeviceptr word;

/* Does a stream whose word is `now` get past waiting for `value` in so many seconds? */
static bool gets_past(uint64_t now, uint64_t value, unsigned flags, bool wide, double patience)
{
    MUstream s;
    MUST(muStreamCreate(&s, MU_STREAM_NON_BLOCKING));
    __atomic_store_n((uint64_t *)at(word), now, __ATOMIC_SEQ_CST);
    if (wide)
        MUST(muStreamWaitValue64(s, word, value, flags));
    else
        MUST(muStreamWaitValue32(s, word, (uint32_t)value, flags));
    double end = seconds() + patience;
    bool passed = false;
    while (!passed && seconds() < end)
        passed = muStreamQuery(s) == MUSA_SUCCESS;
    /* Lets one that waits go on: one of these satisfies any comparison. */
    static const uint64_t keys[] = {0, ~0ull, 1};
    for (int i = 0; muStreamQuery(s) != MUSA_SUCCESS; i++) {
        __atomic_store_n((uint64_t *)at(word), i % 4 == 3 ? value : keys[i % 4], __ATOMIC_SEQ_CST);
        sleep_ms(1);
    }
    MUST(muStreamDestroy(s));
    return passed;
}

/* A busy machine may take long to pass; what stays needs no more than a moment to be wrong. */
static bool passes(uint64_t now, uint64_t value, unsigned flags, bool wide)
{
    return gets_past(now, value, flags, wide, 5);
}

static bool stays(uint64_t now, uint64_t value, unsigned flags, bool wide)
{
    return !gets_past(now, value, flags, wide, 0.02);
}

static void comparisons(void)
{
    enum { GEQ, EQ, AND, NOR };
    check(passes(5, 5, GEQ, false) && passes(6, 5, GEQ, false) && stays(4, 5, GEQ, false), "geq");
    check(passes(3, 0xfffffff0, GEQ, false) && stays(0xfffffff0, 3, GEQ, false), "geq is cyclic");
    check(stays(0xfffffff0, 0x1000000000, GEQ, true) && passes(0x1000000000, 0xfffffff0, GEQ, true), "geq of 64 bits");
    check(passes(7, 7, EQ, false) && stays(8, 7, EQ, false), "eq");
    check(passes(0x100000007, 7, EQ, false) && stays(0x100000007, 7, EQ, true), "eq of 32 bits looks at no more");
    check(passes(6, 2, AND, false) && stays(4, 2, AND, false), "and");
    check(passes(1, 2, NOR, false) && stays(0xffff0000, 0xffff, NOR, false), "nor");
    check(passes(0xffff0000, 0xffff, NOR, true) && stays(~1ull, 1, NOR, true), "nor of 64 bits");
}

static void batches(void)
{
    MUstream a, b;
    MUST(muStreamCreate(&a, MU_STREAM_NON_BLOCKING));
    MUST(muStreamCreate(&b, MU_STREAM_NON_BLOCKING));
    uint32_t *w = at(word);
    memset(w, 0, 64);
    MUstreamBatchMemOpParams ops[4];
    memset(ops, 0, sizeof ops);
    ops[0].value.operation = MU_STREAM_MEM_OP_WAIT_VALUE_32;
    ops[0].value.address = word;
    ops[0].value.value64 = 3;
    ops[0].value.flags = MU_STREAM_WAIT_VALUE_EQ | MU_STREAM_WAIT_VALUE_FLUSH;
    ops[1].operation = MU_STREAM_MEM_OP_BARRIER;
    ops[2].value.operation = MU_STREAM_MEM_OP_WRITE_VALUE_64;
    ops[2].value.address = word + 8;
    ops[2].value.value64 = 0x500000004;
    ops[3].operation = MU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    OK(muStreamBatchMemOp(a, 4, ops, 0));
    MUST(muStreamWriteValue32(a, word + 4, 9, MU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    sleep_ms(5);
    check(w[2] == 0 && w[1] == 0 && muStreamQuery(a) != MUSA_SUCCESS, "a batch waits in order");
    MUST(muStreamWriteValue32(b, word, 3, 0));
    MUST(muStreamSynchronize(a));
    check(w[2] == 4 && w[3] == 5 && w[1] == 9, "and writes");

    ops[1].operation = 99;
    w[1] = 0;
    ops[0].operation = MU_STREAM_MEM_OP_WRITE_VALUE_32;
    ops[0].value.address = word + 4;
    ops[0].value.flags = 0;
    IS(muStreamBatchMemOp(a, 2, ops, 0), MUSA_ERROR_INVALID_VALUE);
    MUST(muStreamSynchronize(a));
    check(w[1] == 0, "one bad operation and none is done");
    IS(muStreamBatchMemOp(a, 257, ops, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamBatchMemOp(a, 0, ops, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamBatchMemOp(a, 1, NULL, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamBatchMemOp(a, 1, ops, 1), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamBatchMemOp((MUstream)&ops, 1, ops, 0), MUSA_ERROR_INVALID_HANDLE);
    MUST(muStreamDestroy(a));
    MUST(muStreamDestroy(b));
}

int main(void)
{
    setenv("CUMU_HOST_MEMORY", "32M", 1);
    start_device();
    void *p;
    int mine = 0;
    MUST(muMemAllocHost(&p, 64));
    word = dev(p);
    comparisons();
    batches();
    IS(muStreamWaitValue32(NULL, dev(&mine), 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamWaitValue32(NULL, word + 2, 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamWaitValue64(NULL, word + 4, 0, 0), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamWaitValue32(NULL, word, 0, 4), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamWriteValue32(NULL, word, 0, 2), MUSA_ERROR_INVALID_VALUE);
    IS(muStreamWriteValue32(NULL, 0, 0, 0), MUSA_ERROR_INVALID_VALUE);
    return check_end("host memop");
}
