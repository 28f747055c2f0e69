/* Plans of cuDNN's graphs as text and back: JSON with the bytes of tensors and nodes in hexadecimal digits. Who reads
 * it is the library that wrote it; what is read is checked as if it were new. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/cudnn/graph/graph.h"

/* Of what is below: a plan that another release wrote is refused. */
enum { FORMAT = 4, MOST = 1 << 16 };
static const char head[] = "{\"cumu_cudnn_plan\": %d, \"sizes\": [%zu, %zu], \"tensors\": %u, \"nodes\": %u, "
                           "\"check\": \"%016llx\", \"data\": \"";
static const char tail[] = "\"}";

/* FNV-1a: tells damage, not malice. */
static unsigned long long digest(unsigned long long h, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 0x100000001b3ull;
    return h;
}
static unsigned long long digest_plan(const struct graph_plan *p)
{
    unsigned long long h = digest(0xcbf29ce484222325ull, p->tensor, p->tensors * sizeof *p->tensor);
    return digest(h, p->node, p->nodes * sizeof *p->node);
}

static char *write_bytes(char *to, const void *from, size_t n)
{
    const unsigned char *p = from;
    for (size_t i = 0; i < n; i++) {
        *to++ = "0123456789abcdef"[p[i] >> 4];
        *to++ = "0123456789abcdef"[p[i] & 15];
    }
    return to;
}

char *graph_write(const struct graph_plan *p, size_t *length)
{
    size_t tensors = p->tensors * sizeof *p->tensor, nodes = p->nodes * sizeof *p->node;
    size_t room = sizeof head + 128 + 2 * (tensors + nodes) + sizeof tail;
    char *text = malloc(room), *at = text;
    if (!text)
        return NULL;
    at += snprintf(at, room, head, FORMAT, sizeof *p->tensor, sizeof *p->node, p->tensors, p->nodes, digest_plan(p));
    at = write_bytes(at, p->tensor, tensors);
    at = write_bytes(at, p->node, nodes);
    memcpy(at, tail, sizeof tail - 1);
    *length = (size_t)(at - text) + sizeof tail - 1;
    return text;
}

static int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }
static bool read_bytes(void *to, const char *from, size_t n)
{
    unsigned char *p = to;
    for (size_t i = 0; i < n; i++) {
        int high = digit(from[2 * i]), low = digit(from[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        p[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* Numbers that are indices, or lengths. */
static bool is_sound(const struct graph_plan *p)
{
    for (unsigned i = 0; i < p->tensors; i++) {
        const struct mudnn_tensor *t = &p->tensor[i].t;
        if (p->tensor[i].ragged < -1 || p->tensor[i].ragged >= (int)p->tensors || t->n < 1 || t->n > MUDNN_DIMS ||
            (unsigned)p->tensor[i].place > GRAPH_CONSTANT || p->tensor[i].ragged_unit < 0 ||
            p->tensor[i].ragged_unit >= MUDNN_LIMIT)
            return false;
        if (t->vector != 1 && ((t->vector != 4 && t->vector != 32) || t->n < 3 || t->dim[1] % t->vector))
            return false;
        for (int d = 0; d < t->n; d++)
            if (t->dim[d] < 1 || t->stride[d] < 0)
                return false;
        if (!mudnn_within(t->n, t->dim, t->stride))
            return false;
    }
    for (unsigned i = 0; i < p->nodes; i++) {
        const struct graph_node *n = &p->node[i];
        const struct graph_kind *k = graph_kind_of(n->kind);
        int slot = 0;
        if (!k || !k->operation || !k->known || n->spatial < 0 || n->spatial > MUDNN_DIMS)
            return false;
        for (unsigned r = 0; r < k->rules; r++) {
            const struct graph_rule *rule = &k->rule[r];
            if (!(rule->flags & (GRAPH_INPUT | GRAPH_OUTPUT)))
                continue;
            if ((rule->flags & GRAPH_NEEDED) && n->operand[slot] < 0)
                return false;
            slot += rule->most;
        }
        for (int m = 0; m < GRAPH_OPERANDS; m++)
            if (n->operand[m] < -1 || n->operand[m] >= (int)p->tensors || (m >= slot && n->operand[m] != -1))
                return false;
    }
    return true;
}

int graph_read(const char *text, size_t length, struct graph_plan **out)
{
    struct graph_plan *p = calloc(1, sizeof *p);
    char first[256] = "";
    int format = 0, begin = 0, r = CUDNN_STATUS_BAD_PARAM;
    size_t sizes[2] = {0, 0};
    unsigned long long check = 0;
    if (!p)
        return CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    memcpy(first, text, length < sizeof first - 1 ? length : sizeof first - 1);
    if (sscanf(first,
               "{\"cumu_cudnn_plan\": %d, \"sizes\": [%zu, %zu], \"tensors\": %u, \"nodes\": %u, \"check\": \"%llx\", "
               "\"data\": \"%n",
               &format, &sizes[0], &sizes[1], &p->tensors, &p->nodes, &check, &begin) != 6 ||
        !begin)
        goto out;
    r = CUDNN_STATUS_SERIALIZATION_VERSION_MISMATCH;
    if (format != FORMAT || sizes[0] != sizeof *p->tensor || sizes[1] != sizeof *p->node)
        goto out;
    r = CUDNN_STATUS_BAD_PARAM;
    size_t tensors = p->tensors * sizeof *p->tensor, nodes = p->nodes * sizeof *p->node;
    if (p->tensors > MOST || p->nodes > MOST || length < (size_t)begin + 2 * (tensors + nodes))
        goto out;
    p->tensor = calloc(p->tensors + 1, sizeof *p->tensor);
    p->node = calloc(p->nodes + 1, sizeof *p->node);
    r = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
    if (!p->tensor || !p->node)
        goto out;
    r = CUDNN_STATUS_BAD_PARAM;
    if (read_bytes(p->tensor, text + begin, tensors) && read_bytes(p->node, text + begin + 2 * tensors, nodes) &&
        digest_plan(p) == check && is_sound(p))
        r = graph_arrange(p);
out:
    if (r)
        graph_plan_free(p);
    else
        *out = p;
    return r;
}
