/* JSON strings: what must be escaped is, UTF-8 stays, and bytes that are none do not come through. */
#include "core/json.h"
#include "unit/unit.h"

#include <stdlib.h>

static const struct {
    const char *name, *text, *json;
} cases[] = {
    {"empty", "", "\"\""},
    {"plain", "lib.so", "\"lib.so\""},
    {"quote and backslash", "a\"b\\c", "\"a\\\"b\\\\c\""},
    {"control bytes", "\n\x1f", "\"\\u000a\\u001f\""},
    {"delete is plain", "\x7f", "\"\x7f\""},
    {"two, three and four bytes", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\x89", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x8e\x89\""},
    {"last before and first after the surrogates", "\xed\x9f\xbf\xee\x80\x80", "\"\xed\x9f\xbf\xee\x80\x80\""},
    {"last code point", "\xf4\x8f\xbf\xbf", "\"\xf4\x8f\xbf\xbf\""},
    {"Latin-1", "\xe9t\xe9", "\"\\ufffdt\\ufffd\""},
    {"a continuation alone", "\x80", "\"\\ufffd\""},
    {"overlong slash", "\xc0\xaf", "\"\\ufffd\\ufffd\""},
    {"overlong in three", "\xe0\x9f\xbf", "\"\\ufffd\\ufffd\\ufffd\""},
    {"overlong in four", "\xf0\x8f\xbf\xbf", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    {"surrogate", "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
    {"past the last code point", "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
    {"cut short by the end", "\xe2\x82", "\"\\ufffd\\ufffd\""},
    {"cut short by a letter", "\xf0\x9f\x8ez", "\"\\ufffd\\ufffd\\ufffdz\""},
};

int main(void)
{
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *got = NULL;
        size_t size;
        FILE *f = open_memstream(&got, &size);
        if (f) {
            cumu_put_json(f, cases[i].text);
            (void)fclose(f);
        }
        check_text(got, cases[i].json, cases[i].name);
        free(got);
    }
    return check_end("unit json");
}
