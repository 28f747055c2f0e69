/* What the files of `cumu doctor` share. */
#ifndef CUMU_CLI_DOCTOR_H
#define CUMU_CLI_DOCTOR_H

/* Asks the MUSA libraries of this machine, in a child that may crash or hang: versions, devices, the values that
 * mapping/facts/musa.md could not confirm. */
void cumu_doctor_ask(void);
/* Compiles tiny kernels for the architecture, each with one name that toolkits may lack. */
void cumu_doctor_compiler(unsigned arch);
/* Runs kernels on the first device, by way of MUSA C++ and the compiler, and compares their results. arch: what to
 * compile for on a device of no known architecture. */
void cumu_doctor_kernels(unsigned arch);

#endif
