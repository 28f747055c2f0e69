/* JSON, read strictly: for files that people write by hand and want told what is wrong with. */
#ifndef CUMU_API_NCCL_JSON_H
#define CUMU_API_NCCL_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum json_type { JSON_NULL, JSON_BOOL, JSON_INTEGER, JSON_REAL, JSON_STRING, JSON_LIST, JSON_OBJECT };

struct json {
    enum json_type type;
    char *name; /* of an object's member; else NULL */
    int line;
    bool truth;
    long long integer;
    char *text;
    struct json *first, *next; /* members and elements, in order */
};

/* NULL, and what is wrong in `why`, unless the whole text is one value. Names of one object are distinct;
 * strings hold no control characters; nothing is deeper than 16. Freed by json_free. */
struct json *cumu_json_parse(const char *text, size_t length, char *why, size_t room);
void cumu_json_free(struct json *j);
/* Member of an object, or NULL. */
const struct json *cumu_json_member(const struct json *j, const char *name);

#endif
