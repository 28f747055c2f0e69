/* NVTX while nobody listens: handles are given out, the rest does nothing. What a trace shows is in tests/nvtx. */
#include "snippet.h"

enum { NO_TRACKING = -2 };

void snippet_nvtx(void)
{
    C(nvtxInitialize)(NULL);
    void *domain = C(nvtxDomainCreateA)("snippet");
    EXPECT(domain && C(nvtxDomainCreateW)(L"snippet") == domain);
    EXPECT(!C(nvtxDomainCreateA)(NULL) && !C(nvtxDomainCreateW)(NULL));
    void *text = C(nvtxDomainRegisterStringA)(domain, "text");
    EXPECT(text && text != domain && C(nvtxDomainRegisterStringW)(domain, L"text") == text);
    EXPECT(C(nvtxDomainRegisterStringA)(NULL, "text") != text);
    C(nvtxDomainNameCategoryA)(domain, 1, "category");
    C(nvtxDomainNameCategoryW)(domain, 1, L"category");
    C(nvtxNameCategoryA)(1, "category");
    C(nvtxNameCategoryW)(1, L"category");
    C(nvtxNameOsThreadA)(1, "thread");
    C(nvtxNameOsThreadW)(1, L"thread");
    C(nvtxMarkA)("mark");
    C(nvtxMarkW)(L"mark");
    C(nvtxMarkEx)(NULL);
    C(nvtxDomainMarkEx)(domain, NULL);
    IS(C(nvtxRangePushA)("range"), NO_TRACKING);
    IS(C(nvtxRangePushW)(L"range"), NO_TRACKING);
    IS(C(nvtxRangePushEx)(NULL), NO_TRACKING);
    IS(C(nvtxDomainRangePushEx)(domain, NULL), NO_TRACKING);
    IS(C(nvtxRangePop)(), NO_TRACKING);
    IS(C(nvtxDomainRangePop)(domain), NO_TRACKING);
    EXPECT(!C(nvtxRangeStartA)("range") && !C(nvtxRangeStartW)(L"range") && !C(nvtxRangeStartEx)(NULL));
    EXPECT(!C(nvtxDomainRangeStartEx)(domain, NULL));
    C(nvtxRangeEnd)(0);
    C(nvtxDomainRangeEnd)(domain, 12345);
    C(nvtxDomainDestroy)(domain);
    C(nvtxDomainDestroy)(NULL);
}
