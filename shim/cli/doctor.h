/* What the files of `cumu doctor` share: each part writes its sections into the report (doctor_file.h). */
#ifndef CUMU_CLI_DOCTOR_H
#define CUMU_CLI_DOCTOR_H

#include "cli/doctor_file.h"

/* The libraries: where they are, what they export, what of what the shim asks for they lack. */
void cumu_doctor_names(void);
/* What the libraries of this machine answer: versions, devices, the values that public sources do not settle. */
void cumu_doctor_ask(void);
/* The compiler: its version, the options that it takes, what it makes, and tiny kernels for the architecture, each with
 * one name that toolkits may lack. */
void cumu_doctor_compiler(unsigned arch);
/* Runs kernels on the first device, by way of MUSA C++ and the compiler, and compares their results. arch: what to
 * compile for on a device of no known architecture. */
void cumu_doctor_kernels(unsigned arch);
/* Copies and launches, and a sum over all devices where there are several. */
void cumu_doctor_speed(unsigned arch);

/* Says in plain words what of a report works, what does not, and what to do. */
void cumu_doctor_explain(const struct doctor_file *f, FILE *to);
/* Writes the names that each library of the report exports into a folder, as tests/sdk has them. An exit status. */
int cumu_doctor_fixture(const struct doctor_file *f, const char *folder);

#endif
