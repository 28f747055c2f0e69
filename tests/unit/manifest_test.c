/* The communication manifest as a file: what is refused and how that is said, and what is written is read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "api/nccl/manifest.h"

#define SLOT(type, size, bits, load) \
    "{\"name\": \"s\", \"dtype\": " type ", \"size\": " size ", \"bits_per_element\": " bits \
    ", \"load_from_host\": " load ", \"store_to_host\": false}"
#define GROUP(devices, slots) \
    "{\"version\": 2, \"groups\": [{\"name\": \"g\", \"devices\": [" devices "], \"slots\": [" slots "]}]}"

static const struct {
    const char *text, *why; /* NULL: is good */
} cases[] = {
    {"{\"version\": 2, \"groups\": []}", NULL},
    {GROUP("", ""), NULL},
    {GROUP("0, 1", SLOT("\"float16\"", "64", "16", "true")), NULL},
    {"", "line 1: expected a value"},
    {"{\"version\": 2,\n \"groups\": [}", "line 2: expected a value"},
    {"{\"version\": 2, \"groups\": []} x", "after the end"},
    {"{\"version\": 2, \"version\": 2, \"groups\": []}", "has already"},
    {"{\"version\": true, \"groups\": []}", "version: is something else; expected a whole number"},
    {"{\"version\": 2.0, \"groups\": []}", "version"},
    {"{\"version\": 1, \"groups\": []}", "version: is not 2"},
    {"{\"version\": 02, \"groups\": []}", "expected a value"},
    {"{\"version\": 2}", "groups: is missing"},
    {"{\"version\": 2, \"groups\": [], \"more\": 1}", "more: is no field"},
    {"{\"version\": 2, \"groups\": [7]}", "groups: holds something"},
    {"{\"version\": 2, \"groups\": [{\"name\": \"\", \"devices\": [], \"slots\": []}]}", "name: is empty"},
    {"{\"version\": 2, \"groups\": [{\"name\": \"a\\tb\\u0041\", \"devices\": [], \"slots\": []}]}", NULL},
    {"{\"version\": 2, \"groups\": [{\"name\": \"a\tb\", \"devices\": [], \"slots\": []}]}", "control"},
    {"{\"version\": 2, \"groups\": [{\"name\": \"w\\u00f2\\u20ac\303\262\", \"devices\": [], \"slots\": []}]}", NULL},
    {"{\"version\": 2, \"groups\": [{\"name\": \"wo\362ld\", \"devices\": [], \"slots\": []}]}", "not UTF-8"},
    {"{\"version\": 2, \"groups\": [{\"name\": \"\\ud800\", \"devices\": [], \"slots\": []}]}", "escape"},
    {"{\"version\": 2, \"groups\": [{\"name\": \"\\u0000\", \"devices\": [], \"slots\": []}]}", "escape"},
    {"{\"version\": 2, \"groups\": [{\"name\": \"a\", \"devices\": [], \"slots\": []},"
     " {\"name\": \"a\", \"devices\": [], \"slots\": []}]}",
     "group \"a\", name: is another"},
    {GROUP("true", ""), "group \"g\", devices: holds"},
    {GROUP("-1", ""), "group \"g\", devices: holds"},
    {GROUP("0", SLOT("\"float17\"", "64", "16", "true")), "group \"g\", slot \"s\", dtype: is no data type"},
    {GROUP("0", SLOT("16", "64", "16", "true")), "slot \"s\", dtype: is something else; expected a string"},
    {GROUP("0", SLOT("\"float16\"", "63", "16", "true")), "size: is no number of bytes"},
    {GROUP("0", SLOT("\"float16\"", "true", "16", "true")), "size: is something else"},
    {GROUP("0", SLOT("\"float16\"", "64", "32", "true")), "bits_per_element: does not agree"},
    {GROUP("0", SLOT("\"float16\"", "64", "16", "1")), "load_from_host: is something else; expected true"},
    {"[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", "too deep"},
};

static char path[] = "/tmp/cumu-manifest-XXXXXX";

static void refusals(void)
{
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char why[240] = "";
        FILE *f = fopen(path, "w");
        fputs(cases[i].text, f);
        fclose(f);
        struct manifest *m = cumu_manifest_read(path, why, sizeof why);
        EXPECT(cases[i].why ? !m && strstr(why, cases[i].why) : m != NULL, "%s: %s", cases[i].text, why);
        cumu_manifest_free(m);
    }
}

static void round_trip(void)
{
    char why[240] = "";
    int devices[] = {3, 1};
    char group[] = "all of \"it\"\n\\", name[] = "x";
    struct manifest_slot slot = {.name = name, .type = 9, .size = 4096, .store = true};
    struct manifest_group g = {.name = group, .devices = devices, .ndevices = 2, .slots = &slot, .nslots = 1};
    struct manifest *m;
    EXPECT(cumu_manifest_write(path, &(struct manifest){&g, 1}), "write");
    m = cumu_manifest_read(path, why, sizeof why);
    EXPECT(m && m->ngroups == 1 && strcmp(m->groups->name, group) == 0 && m->groups->ndevices == 2 &&
               m->groups->devices[0] == 3 && m->groups->nslots == 1 && m->groups->slots->type == 9 &&
               m->groups->slots->size == 4096 && !m->groups->slots->load && m->groups->slots->store,
           "%s: %s", "what was written is read", why);
    cumu_manifest_free(m);
    EXPECT(!cumu_manifest_write("/nonexistent/x", &(struct manifest){&g, 1}), "nowhere to write");
    EXPECT(!cumu_manifest_read("/nonexistent/x", why, sizeof why) && strstr(why, "read"), "%s: %s", "nothing to read",
           why);
}

int main(void)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    refusals();
    round_trip();
    unlink(path);
    return check_end("manifests");
}
