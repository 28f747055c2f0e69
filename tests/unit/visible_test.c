/* The device variables of CUDA and of containers, as MUSA's. */
#include <stdio.h>
#include <string.h>

#include "../check.h"
#include "core/visible.h"

static const struct {
    const char *cuda, *nvidia, *want;
} cases[] = {{NULL, NULL, NULL},          {"", NULL, ""},       {"1,0", NULL, "1,0"}, {"GPU-63", NULL, "GPU-63"},
             {NULL, "all", NULL},         {NULL, "void", NULL}, {NULL, "", NULL},     {NULL, "none", ""},
             {"0", "none", ""},           {NULL, "2,3", "2,3"}, {"1", "2,3", "3"},    {"1,0", "2, 3", "3,2"},
             {"1,5,0", "2,3", "3"},       {"-1", "2,3", ""},    {"", "2,3", ""},      {"1", "GPU-a,GPU-b", "GPU-b"},
             {"GPU-b,0", "2", "GPU-b,2"}, {"0,", "4,5", "4"},   {"00", "7", "7"}};

int main(void)
{
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char room[64];
        const char *got = cumu_visible(cases[i].cuda, cases[i].nvidia, room, sizeof room);
        bool good = got && cases[i].want ? strcmp(got, cases[i].want) == 0 : got == cases[i].want;
        check(good, "CUDA %s, container %s: %s", cases[i].cuda ? cases[i].cuda : "-",
              cases[i].nvidia ? cases[i].nvidia : "-", got ? got : "-");
    }
    char small[4];
    const char *got = cumu_visible("0,1,2", "10,11,12", small, sizeof small);
    check(got && strcmp(got, "10,11,12") == 0, "a list without room");
    return check_end("device lists");
}
