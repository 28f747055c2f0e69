/* What the users of CUPTI among these tests share: a kernel, and CUPTI's structures as its documentation has them. */
#ifndef CUMU_TESTS_CUPTI_USER_H
#define CUMU_TESTS_CUPTI_USER_H

#include <stdint.h>

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                          ".visible .entry add(.param .u64 p, .param .u32 v)\n{\n"
                          ".reg .u64 %a;\n.reg .u32 %r, %t;\n.reg .u64 %b;\n"
                          "ld.param.u64 %a, [p];\nld.param.u32 %r, [v];\nmov.u32 %t, %tid.x;\nmul.wide.u32 %b, %t, 4;\n"
                          "add.u64 %a, %a, %b;\nst.global.u32 [%a], %r;\nret;\n}\n";

union record {
    uint32_t word[48]; /* of the longest */
    uint64_t two[24];
};

struct data { /* CUpti_CallbackData */
    int site;
    const char *function;
    const void *params;
    void *result;
    const char *symbol;
    void *context;
    uint32_t context_id;
    uint64_t *kept;
    uint32_t correlation;
};

#endif
