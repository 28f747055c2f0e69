/* cumu memcheck: a report's lines taken apart, and written as a record of JSON or XML. */
#include "cli/memcheck_reports.h"
#include "core/json.h"

#include <stdlib.h>
#include <string.h>

static char *after(char *line, const char *prefix)
{
    const size_t n = strlen(prefix);
    return strncmp(line, prefix, n) ? NULL : line + n;
}

/* "FUNCTION in FILE:LINE (PTX line N)", the latter two if they are known. */
static void parse_source(struct memcheck_frame *f, char *s)
{
    char *ptx = strstr(s, " (PTX line "), *in = NULL, *colon;
    if (ptx)
        *ptx = 0;
    f->name = s;
    for (char *p = s; (p = strstr(p, " in ")); p += 4)
        in = p;
    colon = in ? strrchr(in, ':') : NULL;
    if (!colon)
        return;
    *in = *colon = 0;
    f->file = in + 4;
    f->line = strtoul(colon + 1, NULL, 10);
}

/* "FUNCTION [0x123] in MODULE" */
static void parse_host_frame(struct memcheck_frame *f, char *s)
{
    char *at = strrchr(s, '['), *in = at ? strstr(at, "] in ") : NULL;
    if (in)
        f->module = in + 5;
    if (at)
        at[at > s ? -1 : 0] = 0;
    f->name = *s ? s : NULL;
}

/* One line of a report behind its first one, without the prefix; *stack: the stack that frames are of. */
static void parse_line(struct memcheck_record *r, char *s, char **stack)
{
    char *rest = after(s, "at "), *what = NULL;
    if (!rest && r->notes == 0 && (what = strstr(s, " at ")) && strstr(what, " (PTX line ")) {
        *what = 0;
        rest = what + 4;
        what = s;
    }
    if (rest && r->places < MEMCHECK_PLACES) {
        r->place[r->places].what = what;
        parse_source(&r->place[r->places++].at, rest);
    } else if ((rest = after(s, "by thread ")) && r->places) {
        char *block = strstr(rest, " in block ");
        if (block)
            *block = 0;
        r->place[r->places - 1].thread = rest;
        r->place[r->places - 1].block = block ? block + 10 : NULL;
    } else if (after(s, "Saved host backtrace")) {
        *stack = s;
    } else if ((rest = after(s, "    Host Frame: ")) && r->frames < MEMCHECK_FRAMES) {
        r->frame[r->frames].stack = *stack;
        parse_host_frame(&r->frame[r->frames++].at, rest);
    } else if ((rest = after(s, "Device Frame: ")) && r->frames < MEMCHECK_FRAMES) {
        parse_source(&r->frame[r->frames++].at, rest);
    } else if (r->notes < MEMCHECK_NOTES) {
        r->note[r->notes++] = s;
    }
}

void cumu_memcheck_parse(struct memcheck_record *r, char *text)
{
    static const char prefix[] = "========= ";
    char *stack = NULL, *end;
    for (char *line = text; *line; line = end) {
        end = line + strcspn(line, "\n");
        end += *end ? (*end = 0, 1) : 0;
        char *s = after(line, prefix);
        if (!s || !*s)
            continue;
        if (!r->title)
            r->title = s;
        else if (!strncmp(s, "    ", 4))
            parse_line(r, s + 4, &stack);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_xml(FILE *f, const char *tag, const char *s)
{
    if (!s)
        return;
    fprintf(f, "<%s>", tag);
    for (; *s; s++)
        if (*s == '<')
            fputs("&lt;", f);
        else if (*s == '>')
            fputs("&gt;", f);
        else if (*s == '&')
            fputs("&amp;", f);
        else if ((unsigned char)*s >= ' ' || *s == '\t')
            fputc(*s, f);
    fprintf(f, "</%s>", tag);
}

static void put_number(FILE *f, const char *tag, unsigned long long n, bool xml)
{
    if (xml)
        fprintf(f, "<%s>%llu</%s>", tag, n, tag);
    else
        fprintf(f, ", \"%s\": %llu", tag, n);
}

/* A member behind others; nothing where there is no text. */
static void put(FILE *f, const char *tag, const char *s, bool xml)
{
    if (xml)
        put_xml(f, tag, s);
    else if (s) {
        fprintf(f, ", \"%s\": ", tag);
        cumu_put_json(f, s);
    }
}

static void put_frame(FILE *f, const struct memcheck_frame *a, bool xml)
{
    put(f, "func", a->name, xml);
    put(f, "module", a->module, xml);
    put(f, "file", a->file, xml);
    if (a->line)
        put_number(f, "line", a->line, xml);
}

/* The stacks, each a title and its frames. */
static void put_stacks(FILE *f, const struct memcheck_record *r, bool xml)
{
    const char *open = NULL, *separator = "";
    bool any = false;
    fputs(xml ? "" : ", \"stacks\": [", f);
    for (unsigned k = 0; k < r->frames; k++) {
        const char *title = r->frame[k].stack ? r->frame[k].stack : "Device";
        if (!any || strcmp(open, title) != 0) {
            if (any)
                fputs(xml ? "</stack>" : "]}, ", f);
            fputs(xml ? "\n    <stack>" : "{\"of\": ", f);
            if (xml)
                put_xml(f, "saveLocation", title);
            else
                cumu_put_json(f, title), fputs(", \"frames\": [", f);
            open = title;
            any = true;
            separator = "";
        }
        fputs(xml ? "\n      <frame>" : separator, f);
        if (!xml)
            fputs("{\"number\": ", f), fprintf(f, "%u", k);
        put_frame(f, &r->frame[k].at, xml);
        fputs(xml ? "</frame>" : "}", f);
        separator = ", ";
    }
    if (any)
        fputs(xml ? "</stack>" : "]}", f);
    fputs(xml ? "" : "]", f);
}

void cumu_memcheck_write(FILE *f, const struct memcheck_record *r, bool xml)
{
    const char *size = strstr(r->title ? r->title : "", " of size ");
    fputs(xml ? "  <record>\n    " : "  {\"kind\": ", f);
    if (xml)
        put_xml(f, "kind", r->tool);
    else
        cumu_put_json(f, r->tool);
    put_number(f, "process", (unsigned long long)r->process, xml);
    fputs(xml ? "\n    <what>" : "", f);
    put(f, "text", r->title, xml);
    if (size)
        put_number(f, "size", strtoull(size + 9, NULL, 10), xml);
    fputs(xml ? "</what>" : ", \"places\": [", f);
    for (unsigned k = 0; k < r->places; k++) {
        fputs(xml ? "\n    <where>" : k ? ", {\"number\": " : "{\"number\": ", f);
        if (!xml)
            fprintf(f, "%u", k);
        put(f, "what", r->place[k].what, xml);
        put_frame(f, &r->place[k].at, xml);
        put(f, "thread", r->place[k].thread, xml);
        put(f, "block", r->place[k].block, xml);
        fputs(xml ? "</where>" : "}", f);
    }
    fputs(xml ? "" : "], \"notes\": [", f);
    for (unsigned k = 0; k < r->notes; k++) {
        if (xml) {
            fputs("\n    ", f);
            put_xml(f, "note", r->note[k]);
        } else {
            fputs(k ? ", " : "", f);
            cumu_put_json(f, r->note[k]);
        }
    }
    fputs(xml ? "" : "]", f);
    put_stacks(f, r, xml);
    fputs(xml ? "\n  </record>\n" : "}", f);
}
