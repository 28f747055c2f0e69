/* Writes ranges, marks and counters of NVTX, in each of the formats: with domain, category, colour and payload. */
#include "core/trace.h"

#include <stdio.h>
#include <string.h>

enum { NAME = 1024 };

/* Colours that Chrome's viewer has names for; it takes no others (catapult, color_scheme.html). Perfetto chooses by
 * itself and shows the number among the arguments. */
static const struct {
    const char *name;
    uint8_t red, green, blue;
} palette[] = {{"good", 0, 125, 0},
               {"bad", 180, 125, 0},
               {"terrible", 180, 0, 0},
               {"black", 0, 0, 0},
               {"grey", 221, 221, 221},
               {"white", 255, 255, 255},
               {"yellow", 255, 255, 0},
               {"olive", 100, 100, 0},
               {"rail_response", 67, 135, 253},
               {"rail_animation", 244, 74, 63},
               {"rail_idle", 238, 142, 0},
               {"rail_load", 13, 168, 97},
               {"generic_work", 125, 125, 125}};

static int square(int a) { return a * a; }

static const char *nearest_color(uint32_t argb)
{
    unsigned best = 0;
    int least = 1 << 30;
    for (unsigned i = 0; i < sizeof palette / sizeof *palette; i++) {
        int far = square((int)(argb >> 16 & 255) - palette[i].red) + square((int)(argb >> 8 & 255) - palette[i].green) +
                  square((int)(argb & 255) - palette[i].blue);
        if (far < least) {
            least = far;
            best = i;
        }
    }
    return palette[best].name;
}

static void quoted(struct cumu_writer *w, const char *s) { cumu_write_quoted(w, s, strnlen(s, NAME)); }

static const char *name_of(const struct cumu_event *e)
{
    return e->kind == CUMU_EVENT_MARK ? "mark" : e->kind == CUMU_EVENT_COUNTER ? "counter" : "range";
}

void cumu_range_text(struct cumu_writer *w, const struct cumu_event *e)
{
    const struct cumu_annotation *a = e->annotation;
    cumu_write(w, "%s ", name_of(e));
    quoted(w, e->name);
    if (a->domain) {
        cumu_write(w, " domain ");
        quoted(w, a->domain);
    }
    if (a->scope) {
        cumu_write(w, " scope ");
        quoted(w, a->scope);
    }
    if (a->category) {
        cumu_write(w, " category ");
        quoted(w, a->category);
    } else if (a->category_number) {
        cumu_write(w, " category %u", a->category_number);
    }
    if (a->colored)
        cumu_write(w, " #%06x", a->color & 0xffffff);
    if (a->payload)
        cumu_write(w, "%s%s", e->kind == CUMU_EVENT_COUNTER ? " = " : " payload ", a->payload);
}

/* The members of a JSON object, each with ", " before it. */
static void members(struct cumu_writer *w, const struct cumu_annotation *a)
{
    if (a->domain) {
        cumu_write(w, ", \"domain\": ");
        quoted(w, a->domain);
    }
    if (a->scope) {
        cumu_write(w, ", \"scope\": ");
        quoted(w, a->scope);
    }
    if (a->category) {
        cumu_write(w, ", \"category\": ");
        quoted(w, a->category);
    } else if (a->category_number) {
        cumu_write(w, ", \"category\": %u", a->category_number);
    }
    if (a->colored)
        cumu_write(w, ", \"color\": \"#%06x\"", a->color & 0xffffff);
    if (a->payload) { /* as text: JSON has neither infinities nor integers of 64 bits */
        cumu_write(w, ", \"payload\": ");
        quoted(w, a->payload);
    }
}

void cumu_range_jsonl(struct cumu_writer *w, const struct cumu_event *e)
{
    members(w, e->annotation);
    if (e->annotation->id)
        cumu_write(w, ", \"id\": %llu", (unsigned long long)e->annotation->id);
}

static void chrome_line(struct cumu_writer *w, const struct cumu_event *e, const char *phase, uint64_t at)
{
    const struct cumu_annotation *a = e->annotation;
    cumu_write(w, "{\"name\": ");
    quoted(w, e->name);
    cumu_write(w, ", \"cat\": \"nvtx\", \"ph\": \"%s\", \"ts\": %.3f, \"pid\": %ld, \"tid\": %u", phase,
               (double)at / 1e3, e->process, e->thread);
    if (*phase == 'X')
        cumu_write(w, ", \"dur\": %.3f", (double)e->duration / 1e3);
    if (*phase == 'i')
        cumu_write(w, ", \"s\": \"t\"");
    if (a->id)
        cumu_write(w, ", \"id\": %llu", (unsigned long long)a->id);
    if (a->colored)
        cumu_write(w, ", \"cname\": \"%s\"", nearest_color(a->color));
    cumu_write(w, ", \"args\": {\"nvtx\": \"%s\"", name_of(e));
    members(w, a);
    cumu_write(w, "}},");
}

/* A track of the process, of its domain's and scope's; JSON has no infinities. */
static void chrome_counter(struct cumu_writer *w, const struct cumu_event *e)
{
    const struct cumu_annotation *a = e->annotation;
    if (strpbrk(a->payload, "ni")) /* nan, inf */
        return;
    cumu_write(w, "{\"name\": ");
    quoted(w, e->name);
    cumu_write(w, ", \"cat\": \"nvtx\", \"ph\": \"C\", \"ts\": %.3f, \"pid\": %ld, \"tid\": %u", (double)e->start / 1e3,
               e->process, e->thread);
    if (a->domain || a->scope) {
        char id[NAME];
        (void)snprintf(id, sizeof id, "%s%s%s", a->domain ? a->domain : "", a->domain && a->scope ? "/" : "",
                       a->scope ? a->scope : "");
        cumu_write(w, ", \"id\": ");
        quoted(w, id);
    }
    cumu_write(w, ", \"args\": {\"value\": %s}},", a->payload);
}

/* Ranges of a thread nest, as complete events must; those of the process are asynchronous ones, a pair of lines. */
void cumu_range_chrome(struct cumu_writer *w, const struct cumu_event *e)
{
    if (e->kind == CUMU_EVENT_COUNTER) {
        chrome_counter(w, e);
    } else if (e->kind == CUMU_EVENT_MARK) {
        chrome_line(w, e, "i", e->start);
    } else if (!e->annotation->id) {
        chrome_line(w, e, "X", e->start);
    } else {
        chrome_line(w, e, "b", e->start);
        cumu_write(w, "\n");
        chrome_line(w, e, "e", e->start + e->duration);
    }
}
