/* The kernels that `cumu doctor` runs: what each must give, and what it means to programs if it does not. */
#ifndef CUMU_CLI_DOCTOR_PROBES_H
#define CUMU_CLI_DOCTOR_PROBES_H

#include <stddef.h>
#include <stdint.h>

enum { DOCTOR_THREADS = 128, DOCTOR_TEXTURE_WIDTH = 8 };
enum doctor_needs { DOCTOR_NEEDS_NOTHING, DOCTOR_NEEDS_TEXTURE, DOCTOR_PRINTS };

struct doctor_probe {
    const char *name;
    const char *ptx;  /* a module with the kernel `probe`, which goes the way that programs' kernels go; or */
    const char *musa; /* statements of MUSA C++ that make `r` of the thread's number `t`: what a toolkit could do */
    uint32_t (*want)(uint32_t thread); /* NULL: the values are told, nothing is known of them */
    uint32_t tolerance;                /* in units of the result */
    enum doctor_needs needs;
    const char *means; /* of programs' kernels, where it is not right */
};
extern const struct doctor_probe doctor_probes[]; /* ends with name NULL */
#define DOCTOR_PRINTED "cumu 42\n"                /* what the kernel that prints prints */

const struct doctor_probe *doctor_probe_named(const char *name); /* NULL if there is none */

#endif
